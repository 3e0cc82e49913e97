"""The derivatives of residuals by all parameters, a row for each residual."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .vector import Block, Residuals, Vector

Rows = Float[Array, "rows parameters"]


def jacobian(residuals: Residuals, chunk: int | None) -> tuple[Float[Array, " rows"], Rows]:
    """The residuals and their derivatives.

    **Arguments:**

    - `residuals`: at their parameters.
    - `chunk`: of how many points, or of how many residuals where they belong to no points, at once;
        of all if it is None.
    """
    pairs = [_of_block(block, residuals.theta, chunk) for block in residuals.blocks]
    values, rows = zip(*pairs, strict=True)
    return jnp.concatenate(values), jnp.concatenate(rows)


def _of_block(block: Block, theta: Vector, chunk: int | None) -> tuple[Float[Array, " rows"], Rows]:
    if block.points is None:
        return _all_at_once(block, theta, chunk)
    at_point = partial(_with_rows, block.function, theta)
    if chunk is None:
        values, rows = jax.vmap(at_point)(block.points)
    else:
        values, rows = jax.lax.map(at_point, block.points, batch_size=chunk)
    return values.reshape(-1), rows.reshape(-1, theta.size)


def _with_rows(function, theta: Vector, point) -> tuple[Float[Array, " entries"], Rows]:
    values, backwards = jax.vjp(lambda theta: function(theta, point), theta)
    (rows,) = jax.vmap(backwards)(jnp.eye(values.size, dtype=values.dtype))
    return values, rows


def _all_at_once(
    block: Block, theta: Vector, chunk: int | None
) -> tuple[Float[Array, " rows"], Rows]:
    values, backwards = jax.vjp(block, theta)
    unit_vectors = jnp.eye(values.size, dtype=values.dtype)
    (rows,) = jax.lax.map(backwards, unit_vectors, batch_size=chunk or values.size)
    return values, rows
