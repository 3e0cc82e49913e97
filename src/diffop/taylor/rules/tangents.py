"""The derivative of a function at a point, as a linear map of coefficients."""

from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..coefficients import Coefficient, Full, Sets, Zero, all_zero, sets


@final
class Tangents:
    """The jvp of a function at a point, as a linear map of coefficients."""

    def __init__(
        self, function: Callable[..., list[Any]], point: Sequence[Array], outputs: Sequence[Any]
    ) -> None:
        self._function = function
        self._point = tuple(point)
        self._outputs = outputs

    def map(self, coefficients: Sequence[Coefficient], lead: int) -> list[Coefficient]:
        if all_zero(coefficients):
            return [Zero() for _ in self._outputs]
        counts = {len(c.parts) for c in coefficients if isinstance(c, Sets)}
        if counts:
            columns = [
                self.map([c.parts[i] if isinstance(c, Sets) else c for c in coefficients], 1)
                for i in range(counts.pop())
            ]
            return [sets(parts) for parts in zip(*columns, strict=True)]
        axes = tuple(0 if isinstance(c, Full) else None for c in coefficients)
        arrays = [
            c.array if isinstance(c, Full) else jnp.zeros_like(x)
            for c, x in zip(coefficients, self._point, strict=True)
        ]

        def tangent(*tangents: Array) -> list[Any]:
            return jax.jvp(self._function, self._point, tangents)[1]

        for _ in range(lead):
            tangent = jax.vmap(tangent, in_axes=axes)
        return [Full(jnp.asarray(array)) for array in tangent(*arrays)]
