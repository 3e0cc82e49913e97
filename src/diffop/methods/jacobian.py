"""The derivatives of residuals with respect to all parameters, a row for each residual."""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .vector import Block, Residuals, Vector

Rows = Float[Array, "rows parameters"]
Function: TypeAlias = Callable[[Vector], Float[Array, " entries"]]


def jacobian(residuals: Residuals, chunk: int | None) -> tuple[Float[Array, " rows"], Rows]:
    """The residuals and their derivatives.

    **Arguments:**

    - `residuals`: at their parameters.
    - `chunk`: of how many points at once, or residuals if they belong to no points; all at once if
        it is None.
    """
    pairs = [_of_block(block, residuals, chunk) for block in residuals.blocks]
    values, rows = zip(*pairs, strict=True)
    return jnp.concatenate(values), jnp.concatenate(rows)


def _of_block(
    block: Block, residuals: Residuals, chunk: int | None
) -> tuple[Float[Array, " rows"], Rows]:
    theta, unravel = residuals.theta, residuals.unravel
    if block.points is None:
        return _all_at_once(lambda theta: block(unravel(theta)), theta, chunk)

    def at_point(point: PyTree) -> tuple[Float[Array, " entries"], Rows]:
        return _with_rows(lambda theta: block.function(unravel(theta), point), theta)

    if chunk is None:
        values, rows = jax.vmap(at_point)(block.points)
    else:
        values, rows = jax.lax.map(at_point, block.points, batch_size=chunk)
    return values.reshape(-1), rows.reshape(-1, theta.size)


def _with_rows(function: Function, theta: Vector) -> tuple[Float[Array, " entries"], Rows]:
    values, backwards = jax.vjp(function, theta)
    (rows,) = jax.vmap(backwards)(jnp.eye(values.size, dtype=values.dtype))
    return values, rows


def _all_at_once(
    function: Function, theta: Vector, chunk: int | None
) -> tuple[Float[Array, " rows"], Rows]:
    values, backwards = jax.vjp(function, theta)
    unit_vectors = jnp.eye(values.size, dtype=values.dtype)
    (rows,) = jax.lax.map(backwards, unit_vectors, batch_size=chunk or values.size)
    return values, rows
