"""Pushes the derivatives that arguments already have."""

from collections.abc import Sequence

import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ...arrays import at_run_time
from ...precision import full_precision
from ...taylor import Full
from ...taylor.coefficients import Series, scale
from .arrays import FwdLaplArray, cast, with_rows
from .plan import GradientRows, by_plan


def continued(
    program: jex.ClosedJaxpr, point: Sequence[FwdLaplArray]
) -> list[FwdLaplArray | Array]:
    """The results of a program for arguments that are results themselves. If one of them has fewer
    coordinates than another, it does not depend on the last ones, as in folx.
    """
    size = max(leaf.jacobian.max_n for leaf in point)
    jacobians = [with_rows(leaf.jacobian.dense_array, size) for leaf in point]
    series = [_along(*each) for each in zip(point, jacobians, strict=True)]

    @full_precision()
    def along(rows: GradientRows) -> Array:
        pairs = zip(rows, jacobians, strict=True)
        return sum(_contracted(*each) for each in pairs)  # pyright: ignore

    real = not any(jnp.iscomplexobj(leaf.x) for leaf in point)
    values = [leaf.x for leaf in point]
    return by_plan(program, values, series, size, along if real else None)


def _along(leaf: FwdLaplArray, jacobian: Array) -> Series:
    first, second = (
        Full(at_run_time(cast(array, leaf.x, name)))
        for array, name in ((jacobian, "Jacobian"), (leaf.laplacian, "Laplacian"))
    )
    return first, scale(second, 1 / 2)


def _contracted(row: Array, jacobian: Array) -> Array:
    """The derivatives with respect to an argument's entries times the entries' own derivatives."""
    axes = jacobian.ndim - 1
    own = [*range(row.ndim - axes, row.ndim)]
    return jnp.tensordot(jacobian.astype(row.dtype), row, (list(range(1, axes + 1)), own))
