"""The residual of an equation, and its derivatives along some coordinates.

A residual is R(v, x), where v are the values at x of the operators D of the equation. Along
coordinate j these values change by ∂_j D u, which is another operator applied to u. So by the chain
rule

    ∂_j [R(v(x), x)] = Σ_D ∂R/∂v_D · (∂_j ∘ D) u(x) + ∂R/∂x_j,

the derivative of `residual` along ((∂_j ∘ D) u for every D, e_j). All operators are evaluated
together, so they share their jets: ∂_i² and ∂_j ∂_i² are estimated on the same coordinates i.

A reverse pass over R gives all ∂_j R at once, for a few times the price of R: d numbers for a point
instead of one. The draw of jets does not depend on x, so ∂_j R̂ has the mean ∂_j R, and its draws
are ∂_j of the draws of R̂.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, PyTree

from ..equations.equation import AbstractEquation
from ..equations.points import OnePoint
from ..equations.residual import residual_of
from ..estimators.norms import norm_over_first
from ..operators.base import Operator
from ..terms.arguments import is_operator
from ..terms.evaluate import floating
from .enhancement import Coordinates, OneCoordinate
from .weights import weighted_residual


@final
class Residual(NamedTuple):
    """The residual at a point, and its derivatives along the wanted coordinates.

    - `value`: a scalar; for a system an array, or a pytree of arrays.
    - `gradient`: in the same structure, coordinates along the first axes; None without any.
    """

    value: PyTree
    gradient: PyTree


def with_gradient(function: Callable[[OnePoint], PyTree]) -> Callable[[OnePoint], Residual]:
    """A function of a point with its derivatives along all coordinates, by one reverse pass for
    each number that it returns.

    **Raises:** at the call, `ValueError` for a function without a reverse mode.
    """

    def flat(x: OnePoint) -> tuple[Array, PyTree]:
        value = function(x)
        return _ravelled(value)[0], value

    def at(x: OnePoint) -> Residual:
        try:
            entries, pull, value = jax.vjp(flat, x, has_aux=True)
            rows = _rows(pull, entries)
        except (TypeError, ValueError) as error:
            if "everse" not in str(error) and "custom_jvp" not in str(error):
                raise
            raise ValueError(
                "gpinn takes the residual's gradient by reverse mode, and there is none of this "
                f"u or equation: {error} Say gpinn_terms=4, or another number, to take so many of "
                "its components by jets."
            ) from error
        _, unravel = _ravelled(value)
        return Residual(value, jax.vmap(unravel)(rows.T.astype(entries.dtype)))

    return at


def _rows(pull: Callable, entries: Inexact[Array, " entries"]) -> Inexact[Array, "entries dim"]:
    """The derivatives of each entry. For a real x the pull of c is Re(c ∂f/∂x)."""
    basis = jnp.eye(entries.size, dtype=entries.dtype)

    def row(basis: Array) -> Array:
        return _ravelled(pull(basis))[0]

    def pulled(basis: Array) -> Array:
        # without an axis for the single entry of a scalar
        return row(basis[0])[None] if entries.size == 1 else jax.vmap(row)(basis)

    real = pulled(basis)
    return jax.lax.complex(real, pulled(-1j * basis)) if jnp.iscomplexobj(entries) else real


def operators(equation: AbstractEquation, derivatives: Sequence[Operator]) -> PyTree:
    """The operators of the equation, and their derivatives, such as `along` some coordinates."""
    own = equation.operators()

    def derivative(outer: Operator) -> PyTree:
        return jax.tree.map(lambda inner: outer @ inner, own, is_leaf=is_operator)

    return {"own": own, "derivatives": [derivative(outer) for outer in derivatives]}


def residual(
    equation: AbstractEquation,
    u: Callable,
    weights: PyTree,
    coordinates: Coordinates,
    values: PyTree,
    point: OnePoint,
) -> Residual:
    """The residual at a point, affine in all the values in which the equation's residual is.

    **Arguments:**

    - `equation`, `u`: the equation, and the function to which it is applied.
    - `weights`: of the squares, as for [`diffop.losses.ResidualLoss`][]; None for ones.
    - `coordinates`: the coordinates along which the derivatives are taken.
    - `values`: those of `operators` of the equation at the point.
    - `point`: the point.
    """
    value, derivative = jax.linearize(
        floating(weighted_residual(residual_of(equation, u), weights)), values["own"], point
    )
    gradient = [
        derivative(tangents, _unit(j, point))
        for j, tangents in zip(coordinates, values["derivatives"], strict=True)
    ]
    return Residual(
        value, jax.tree.map(lambda *leaves: jnp.stack(leaves), *gradient) if gradient else None
    )


def _unit(coordinate: OneCoordinate, point: OnePoint) -> OnePoint:
    """e_j, with the structure of a point."""
    flat, unravel = _ravelled(point)
    return unravel(jax.nn.one_hot(coordinate, flat.size, dtype=flat.dtype))


def norm_of(residual: PyTree) -> Float[Array, ""]:
    """The Euclidean norm of a residual at a point."""
    return norm_over_first(_ravelled(residual)[0])


def _ravelled(tree: PyTree) -> tuple[Array, Callable[[Array], PyTree]]:
    """All entries in their common type, and the way back; residuals may be real and complex."""
    with jax.numpy_dtype_promotion("standard"):
        return jax.flatten_util.ravel_pytree(tree)
