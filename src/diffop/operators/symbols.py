"""Symbols of operators: their values at a point as polynomials in the frequency ξ.

Let p(y) = ξ·(y − x), which vanishes at x. Then ∂^α e^{ip} = (iξ)^α at x. For p^m/m! the derivatives
of order m are ξ^α at x, and all others vanish. So symbols are values of the operator itself, and
exact for compositions and variable coefficients.
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Inexact, PyTree

from ..array_types import Vector
from ..jets.point import Point
from ..terms.coefficients import coefficient_at, number_of, times_scalar
from ..terms.evaluate import apply, as_floating_leaf, sum_of_two
from ..terms.term import Part, Term, factor_term, leading_part, merged


def highest_order(terms: Sequence[Term]) -> int:
    """The highest order of a term; one less if all terms of that order cancel when coefficients
    are taken out of derivatives.

    **Raises:** `ValueError` for an integral term, which is no polynomial in the frequency.
    """
    for segment in (segment for term in terms for segment in term.word if segment.sees_all):
        raise ValueError(
            f"{segment.text} sees all of u, and has no order and no principal symbol here; take "
            "those of what is made of derivatives at a point by itself."
        )
    highest = max(map(_order, terms), default=0)
    leading = _leading(terms)
    return highest if leading or not terms else highest - 1


def _order(term: Term) -> int:
    return sum(segment.order for segment in term.word)


def _leading(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of the highest order with their coefficients in front, if each value of u is
    treated separately.
    """
    highest = max(map(_order, terms), default=0)
    leading = [term for term in terms if _order(term) == highest]
    segments = [segment for term in leading for segment in term.word]
    separate = all(s.componentwise and not s.entries for s in segments)
    return merged(map(leading_part, leading)) if separate else tuple(leading)


def symbol(terms: Sequence[Term], xi: PyTree, point: Point, values: tuple[int, ...]) -> PyTree:
    """e^{−iξ·x} L e^{iξ·x}."""
    phase = _phase(xi, point)

    def wave(*at: Any) -> Array:
        p = phase(*at)
        return jnp.exp(jax.lax.complex(-jnp.imag(p), jnp.real(p)))

    return _of_each(terms, wave, point, values)


def principal_symbol(
    terms: Sequence[Term], xi: PyTree, point: Point, values: tuple[int, ...]
) -> PyTree:
    """Σ_{|α| = m} C_α(x) (iξ)^α."""
    m, phase = highest_order(terms), _phase(xi, point)
    value = _of_each(terms, lambda *at: phase(*at) ** m / math.factorial(m), point, values)
    return jax.tree.map(lambda leaf: times_scalar(leaf, 1j**m), value)


def _phase(xi: PyTree, point: Point) -> Callable[..., Array]:
    """The function ξ·(y − x)."""
    frequency = (xi,) if len(point.args) == 1 else xi
    at = jax.tree.map(jnp.asarray, point.args)
    shapes = [[jnp.shape(leaf) for leaf in jax.tree.leaves(each)] for each in (frequency, at)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "a symbol expects a frequency xi like the point, of several arguments a tuple of "
            f"these; got arrays of shapes {shapes[0]} at a point of shapes {shapes[1]}."
        )
    origin = jax.tree.leaves(at)
    waves = list(map(jnp.asarray, jax.tree.leaves(frequency)))

    def phase(*args: Any) -> Array:
        along = zip(waves, jax.tree.leaves(args), origin, strict=True)
        return reduce(sum_of_two, [_sum_of_products(k, y - x) for k, y, x in along])

    return phase


def _sum_of_products(k: Array, x: Array) -> Array:
    """k·x in the precision of x; complex if one of them is."""
    if jnp.iscomplexobj(x):
        return jnp.sum(k.astype(x.dtype) * x)
    real = jnp.sum(jnp.real(k).astype(x.dtype) * x)
    if not jnp.iscomplexobj(k):
        return real
    return jax.lax.complex(real, jnp.sum(jnp.imag(k).astype(x.dtype) * x))


def _of_each(
    terms: Sequence[Term], wave: Callable[..., Array], point: Point, values: tuple[int, ...]
) -> PyTree:
    """For a wave times each unit of u's values, which are the last axes of the result."""
    if values == ():
        return _value(terms, wave, point)
    size, dtype = math.prod(values), jax.eval_shape(wave, *point.args).dtype

    def of_unit(unit: Array) -> PyTree:
        return _value(terms, lambda *at: unit * wave(*at), point)

    units = jnp.eye(size, dtype=dtype).reshape(size, *values)
    found = jax.vmap(of_unit, out_axes=-1)(units)
    return jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:-1], *values), found)


def _value(terms: Sequence[Term], function: Callable[..., Array], point: Point) -> Any:
    return apply([Part(tuple(terms), None)], function, point)


def is_elliptic(terms: Sequence[Term], point: Point) -> Bool[Array, ""]:
    """Whether the principal symbol has no real zero but ξ = 0, up to rounding.

    For order two the quadratic form has to be definite. In the plane the symbol is a polynomial in
    the slope of ξ and must have no real root. For a product each factor has to be elliptic.
    """
    order = highest_order(terms)
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, point.args))
    point = Point(unravel(flat), point.kwargs)

    def of_form(form: Callable[[Vector], Array]) -> Array:
        return _value(terms, lambda *y: form(ravel_pytree(y)[0] - flat), point)

    def along(direction: Vector) -> Array:
        return of_form(lambda y: (direction @ y) ** order / math.factorial(order))

    if jax.eval_shape(along, flat).shape:
        raise ValueError(
            "is_elliptic is decided for operators with one value at a point, whose symbol is a "
            "number; got one with several, such as a gradient."
        )
    if flat.size == 1 or order == 0:
        return along(jnp.ones_like(flat)) != 0
    if flat.size == 2:
        return _has_no_real_root(jnp.stack([of_form(each) for each in _monomials(order)]))
    if order == 1:  # b·ξ vanishes for some ξ in three coordinates, even if b is complex
        return jnp.zeros_like(along(flat), bool)
    if order == 2 and not jnp.iscomplexobj(along(flat)):
        return _is_definite(jax.hessian(along)(flat))
    leading = _leading(terms)
    if len(leading) == 1 and all(f.order < max(order, 3) for f in leading[0].head.factors):
        return _is_product_elliptic(leading[0], point)
    raise ValueError(
        "is_elliptic is decided for real operators of order two, in the plane, and for products of "
        f"such; got one of order {order} in {flat.size} coordinates."
    )


def _monomials(order: int) -> list[Callable[[Vector], Array]]:
    """y₀^{m−k} y₁^k / ((m−k)! k!), whose derivatives give C_{(m−k, k)}."""

    def monomial(k: int) -> Callable[[Vector], Array]:
        scale = math.factorial(order - k) * math.factorial(k)
        return lambda y: y[0] ** (order - k) * y[1] ** k / scale

    return [monomial(k) for k in range(order + 1)]


def _has_no_real_root(coefficients: Inexact[Array, " n"]) -> Bool[Array, ""]:
    """Whether Σ_k a_k s^k has no real root, also at infinity. A root of multiplicity m is known to
    the m-th root of the precision.
    """
    degree, magnitudes = len(coefficients) - 1, jnp.abs(coefficients)
    epsilon = float(jnp.finfo(coefficients.dtype).eps)
    ends = (magnitudes[0] > 0) & (magnitudes[-1] > 0)
    first, last = (jnp.where(ends, magnitudes[k], jnp.ones_like(magnitudes[k])) for k in (0, -1))
    unit = jnp.log(first / last) / degree  # in which both ends have one size
    powers = jnp.exp(unit * jnp.arange(degree + 1, dtype=unit.dtype)) / first
    scaled = coefficients * powers.astype(coefficients.dtype)
    monic = jnp.where(ends, scaled, jnp.ones_like(scaled))
    monic = monic / monic[-1]
    companion = jnp.eye(degree, k=-1, dtype=coefficients.dtype).at[:, -1].set(-monic[:-1])
    roots = jnp.linalg.eigvals(companion)
    close = jnp.abs(jnp.imag(roots)) <= epsilon ** (1 / degree) * (1 + jnp.abs(roots))
    return ends & ~jnp.any(close)


def _is_definite(matrix: Array) -> Bool[Array, ""]:
    """Whether it is definite, after scaling the diagonal to ±1: its units may differ."""
    diagonal = jnp.abs(jnp.diag(matrix))
    units = jax.lax.rsqrt(jnp.where(diagonal > 0, diagonal, jnp.ones_like(diagonal)))
    values = jnp.linalg.eigvalsh(units[:, None] * matrix * units[None])
    least = len(values) * float(jnp.finfo(values.dtype).eps) * jnp.max(jnp.abs(values))
    return jnp.all(values > least) | jnp.all(values < -least)


def _is_product_elliptic(term: Term, point: Point) -> Bool[Array, ""]:
    head = term.head
    numbers = [number_of(term.coefficient), *(coefficient_at(c, point) for c in head.functions)]
    scaled = [jnp.asarray(number) != 0 for number in numbers]
    factors = [is_elliptic((factor_term(factor),), point) for factor in head.factors]
    return jnp.all(jnp.stack([*scaled, *factors]))


def at_zero(xi: PyTree) -> tuple[Any, ...]:
    """Any point, for operators with constant coefficients."""
    args = xi if isinstance(xi, tuple) else (xi,)
    return jax.tree.map(lambda k: jnp.zeros_like(as_floating_leaf(jnp.real(k))), args)


def has_constant_terms(terms: Sequence[Term]) -> bool:
    """Whether the coefficients are the same at every point."""
    return all(segment.constant for term in terms for segment in term.word)
