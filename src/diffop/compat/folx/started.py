"""Pushes all coordinates of the arguments."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ...taylor import Block, Blocks, basis
from ...taylor.coefficients import Series, Zero, zeros
from .arrays import FwdLaplArray, cast
from .plan import GradientRows, by_plan


def started(
    program: jex.ClosedJaxpr, point: Sequence[Array], weights: Sequence[Any]
) -> list[FwdLaplArray | Array]:
    """The results of a program for arrays, with respect to their coordinates over weights."""
    sizes = [x.size for x in point]
    size, starts = sum(sizes), accumulate(sizes, initial=0)
    weights = [_like(*each) for each in zip(weights, point, strict=True)]
    series = [_basis(*each, size) for each in zip(point, weights, starts, strict=False)]

    def along(rows: GradientRows) -> Array:
        parts = [_by_entry(*each) for each in zip(rows, point, weights, strict=True)]
        return jnp.moveaxis(jnp.concatenate(parts, axis=-1), -1, 0)

    return by_plan(program, point, series, size, along)


def _like(weight: Any, x: Array) -> Array | None:
    return None if weight is None else jnp.broadcast_to(cast(weight, x, "weights"), x.shape)


def _basis(x: Array, weight: Array | None, start: int, size: int) -> Series:
    if not x.size:
        return zeros(2)
    (part,) = basis(x.shape).parts
    part = Block(weight, part.axes, (start, *part.origin[1:]))
    return Blocks((part,), (size, *x.shape)), Zero()


def _by_entry(row: Array, x: Array, weight: Array | None) -> Array:
    """Derivatives with respect to the entries of an argument, as the last axis."""
    if weight is not None:
        row = row * jnp.broadcast_to(weight.astype(row.dtype), row.shape)
    return row.reshape(*row.shape[: row.ndim - x.ndim], x.size)
