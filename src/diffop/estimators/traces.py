"""Second-order operators and the divergence as traces of matrices that are known by products.

With H the Hessian of u in the coordinates acted on and J the Jacobian of a vector-valued u,

    Δu = tr H,    Σ C_ij ∂_i∂_j u = tr(HC),    ½ tr(σσᵀH) = tr(½ σᵀHσ),    div u = tr J.

A product with H is a derivative of the gradient along a direction; one with J a derivative of u.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from ..array_types import ScalarArray, SubRows, Vector
from ..devices import own_copy, varying_over
from ..jets.field_terms import QuadraticTerms, by_identity
from ..jets.index_terms import PowerSum
from ..jets.point import Point
from ..jets.terms import Factor
from ..jets.vector_terms import DivergenceTerms
from ..terms.first_derivatives import grad, linearized
from ..terms.term import Term
from ..versions import varying_axes
from .trace_estimators import Products

Trace: TypeAlias = PowerSum | QuadraticTerms | DivergenceTerms


def as_trace(term: Term) -> Trace | None:
    """The factor of a term that is, up to coefficients, the trace of a matrix; otherwise None."""
    if len(term.word) != 1 or term.word[0].powers != (1,):
        return None
    (factor,) = term.word[0].factors
    if isinstance(factor, PowerSum):
        return factor if factor.power == 2 else None
    if isinstance(factor, QuadraticTerms | DivergenceTerms):
        return factor
    return None


def is_exact(term: Term) -> bool:
    """Whether nothing has to be estimated: order at most one, or a single derivative."""
    factors = [factor for segment in term.word for factor in segment.factors]
    return sum(segment.order for segment in term.word) <= 1 or all(map(_is_single, factors))


def _is_single(factor: Factor) -> bool:
    return factor.single


def hessian_products(factor: Trace, function: Callable[..., ScalarArray], point: Point) -> Products:
    """Products with H, HC, ½σᵀHσ, or FᵀHF diag(s) for C = F diag(s) Fᵀ, for a scalar function.

    The Hessian of z ↦ u(x + σz) at z = 0 is σᵀHσ, so products with σᵀ are not needed.
    """
    left = right = by_identity
    if isinstance(factor, QuadraticTerms):
        left, right = factor.split(point)
    moved = _moved(factor, function, point, left)
    origin = own_copy(moved, _origin(factor, point))
    return _products(lambda z: grad(moved, z), origin, right, point.chunk)


def jacobian_products(factor: Trace, u: Callable[..., PyTree], point: Point) -> Products:
    """Products with the Jacobian of u, restricted to the coordinates acted on.

    **Raises:** `ValueError` if u has another number of values than there are coordinates.
    """
    size, values = point.size(factor.argnum, factor.symbol), _count(u, point)
    if values not in (size, factor.count(point)):
        raise ValueError(
            f"{factor.symbol} needs a vector-valued u with one value for each of the {size} "
            f"coordinates of argument {factor.argnum}; got {values} value(s)."
        )
    whole = values != factor.count(point)  # one value for each coordinate, of which some are read
    rows = np.asarray(factor.dims) if whole else np.arange(values)
    moved = _moved(factor, lambda *args: ravel_pytree(u(*args))[0][rows], point, by_identity)
    origin = own_copy(moved, _origin(factor, point))
    return _products(moved, origin, by_identity, point.chunk)


def _count(u: Callable[..., PyTree], point: Point) -> int:
    """How many values u has at a point."""
    shapes = jax.tree.leaves(jax.eval_shape(lambda: point.value_of(u)))
    return sum(leaf.size for leaf in shapes)


def _moved(
    factor: Trace, function: Callable[..., Array], point: Point, left: Callable[[Vector], Vector]
) -> Callable[[Vector], Array]:
    """z ↦ function(x + left z)."""
    argnum, positions = factor.argnum, factor.dims
    flat, unravel = ravel_pytree(point.args[argnum])

    def moved(z: Vector) -> Array:
        step = jnp.asarray(left(z)).astype(flat.dtype)
        here = flat + step if positions is None else flat.at[np.asarray(positions)].add(step)
        return point.replaced(argnum, unravel(here)).value_of(function)

    return moved


def _origin(factor: Trace, point: Point) -> Vector:
    return jnp.zeros(factor.count(point), point.dtype(factor.argnum))


def _products(
    function: Callable[[Vector], Array],
    origin: Vector,
    right: Callable[[Vector], Vector],
    chunk: int | None,
) -> Products:
    """Derivatives at the origin along `right` of each row, in the rows' own precision, for
    several rows at once.
    """
    axes = varying_axes(origin)
    tangent = linearized(function, origin)

    def product(v: Vector) -> Any:
        step = jnp.asarray(right(v.astype(origin.dtype))).astype(origin.dtype)
        return tangent(varying_over(step, axes)).astype(v.dtype)

    def products(rows: SubRows) -> SubRows:
        if chunk is None:
            return jax.vmap(product)(rows)
        return jax.lax.map(product, rows, batch_size=chunk)

    return products
