"""Factors of entries that all directions share: derivatives of the primal."""

from collections.abc import Hashable
from typing import final

import jax
from jax import lax
from jaxtyping import Array

from ...arrays import is_finite, product_of, zeros_like


@final
class EntryFactor:
    """A number for each entry, which multiplies coefficients of all orders."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._behind = {0: array}
        self._where: dict[int, Array] = {}
        self._zeros: dict[Hashable, Array] = {}

    def behind(self, lead: int) -> Array:
        """The same with leading axes of size one; a single number needs none."""
        if self.array.ndim == 0:
            return self.array
        if lead not in self._behind:
            self._behind[lead] = lax.expand_dims(self.array, tuple(range(lead)))
        return self._behind[lead]

    def times(self, values: Array, lead: int) -> Array:
        """Values with leading axes, times it."""
        return product_of(self.behind(lead), values)

    def masked(self, values: Array, whole: bool) -> Array:
        """Values that it will multiply, masked where it vanishes, see `masks.masked`."""
        lead, shape = values.ndim - self.array.ndim, values.shape
        if lead not in self._where:
            self._where[lead] = lax.ne(self.behind(lead), self.array.dtype.type(0))
        counts = self._where[lead]
        if not whole:
            counts = lax.bitwise_or(counts, is_finite(values))
        elif counts.shape != shape:
            axes = tuple(range(values.ndim - counts.ndim, values.ndim))
            counts = lax.broadcast_in_dim(counts, shape, axes)
        kind = jax.typeof(values)
        if kind not in self._zeros:
            self._zeros[kind] = zeros_like(values)
        return lax.select(counts, values, self._zeros[kind])
