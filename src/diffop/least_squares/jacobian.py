"""The derivatives of residuals with respect to all parameters, a row for each residual."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .vector import ParameterVector, ResidualBlock, Residuals

JacobianRows = Float[Array, "rows parameters"]


def jacobian(residuals: Residuals, chunk: int | None) -> tuple[Float[Array, " rows"], JacobianRows]:
    """The residuals and their derivatives, those of `chunk` points at once, or of `chunk` residuals
    if they belong to no points; of all if it is None.
    """
    pairs = [_of_block(block, residuals, chunk) for block in residuals.blocks]
    values, rows = zip(*pairs, strict=True)
    return jnp.concatenate(values), jnp.concatenate(rows)


def _of_block(
    block: ResidualBlock, residuals: Residuals, chunk: int | None
) -> tuple[Float[Array, " rows"], JacobianRows]:
    theta, unravel = residuals.theta, residuals.unravel
    if block.points is None:
        return _with_rows(lambda theta: block(unravel(theta)), theta, chunk)

    def at_point(point: PyTree) -> tuple[Float[Array, " entries"], JacobianRows]:
        return _with_rows(lambda theta: block.function(unravel(theta), point), theta)

    values, rows = _mapped(at_point, block.points, chunk)
    return values.reshape(-1), rows.reshape(-1, theta.size)


def _with_rows(
    function: Callable[[ParameterVector], Float[Array, " entries"]],
    theta: ParameterVector,
    chunk: int | None = None,
) -> tuple[Float[Array, " entries"], JacobianRows]:
    values, backwards = jax.vjp(function, theta)
    (rows,) = _mapped(backwards, jnp.eye(values.size, dtype=values.dtype), chunk)
    return values, rows


def _mapped(function: Callable[..., PyTree], over: PyTree, chunk: int | None) -> PyTree:
    return (
        jax.vmap(function)(over) if chunk is None else jax.lax.map(function, over, batch_size=chunk)
    )
