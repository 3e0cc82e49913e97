"""Arithmetic of truncated Taylor series x(t) = x_0 + Σ_γ x_γ t^γ along a family of jets.

Coefficients are Taylor coefficients (no factorials), so products are plain convolutions. A sum over
α + β = γ means a sum over all products of basis elements that contain γ, with their numbers, as the
algebra lists them; with one parameter, γ = 1 … K. D is a derivation of the algebra, and w_γ the
rate by which it multiplies γ; without relations these are some t_i ∂_i and γ_i. In every formula a
top γ (order K) splits into two parts: one that is linear in the operands' own top coefficients,
which are collapsed already, and products of lower coefficients, which the family collapses.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..algebra.algebra import Algebra, Exponents
from ..arrays import as_array
from ..coefficients.blocks import Blocks
from .arithmetic import bilinear_map, known_scalar, multiplication, total
from .bundle import Family
from .coefficients import (
    Coefficient,
    Full,
    Image,
    Series,
    Zero,
    scale,
    without_notes,
)
from .equation import BilinearMap
from .primitive import Form


def leibniz(family: Family, product: BilinearMap, left: Series, right: Series) -> Series:
    """The series of B(a(t), b(t)) for a bilinear B: y_γ = Σ_{α+β=γ} B(a_α, b_β). If a is b and B
    symmetric, each product is formed once.
    """
    result = []
    for place in family.places:
        lead = family.lead(place)
        first = _times_primal(product, 0, left[place], lead)
        if product.is_square:
            second, rest = first, _square(family, product, left, place)
        else:
            second = _times_primal(product, 1, right[place], lead)
            rest = _inner(family, product, left, right, place)
        result.append(total([first, second, rest], lead, product.output))
    return tuple(result)


def _times_primal(product: BilinearMap, side: int, moving: Coefficient, lead: int) -> Coefficient:
    """B of a coefficient of one operand and the other operand itself."""
    still = product.operands[1 - side]
    number = known_scalar(still) if product.form is Form.ENTRYWISE else None
    if number is not None:
        return scale(moving, number)
    source = product.sources[1 - side]
    primal = Full(as_array(still), 1, None if source is None else Image(source))
    if side == 0:
        return bilinear_map(product, moving, primal, (lead, 0))
    return bilinear_map(product, primal, moving, (0, lead))


def _inner(
    family: Family, product: BilinearMap, left: Series, right: Series, place: int
) -> Coefficient:
    """Σ B(a_α, b_β) over α + β = γ, both nonzero; collapsed at a top place."""
    return family.combine(product, family.algebra.products(place), left, right, place)


def _square(family: Family, product: BilinearMap, series: Series, place: int) -> Coefficient:
    """[t^γ] δ(t)²."""
    return family.combine(product, family.algebra.powers(place, 2), series, series, place)


def quotient(
    family: Family,
    product: BilinearMap,
    solve: Callable[[Coefficient, int], Coefficient],
    left: Series,
    right: Series,
) -> Series:
    """The series of y(t) with B(a(t), y(t)) = b(t): y_γ = solve(b_γ − Σ_{0≠α≤γ} B(a_α, y_{γ−α})),
    where solve inverts B(a_0, ·) with leading axes. The operands of `product` are a and y.

    Divisions and triangular solves have this form: a step for each monomial, with the cost of a
    product, and the primal is reused.
    """
    solution = Full(as_array(product.operands[1]))
    result: list[Coefficient] = []
    for place in family.places:
        lead = family.lead(place)
        terms = [
            right[place],
            scale(bilinear_map(product, left[place], solution, (lead, 0)), -1),
            scale(_inner(family, product, left, tuple(result), place), -1),
        ]
        remainder = total(terms, lead, product.output)
        result.append(Zero() if isinstance(remainder, Zero) else solve(remainder, lead))
    return tuple(result)


Multiplier: TypeAlias = Callable[[int, Coefficient, int], Coefficient]
"""`times(j, coefficient, lead)`: c_j times a coefficient."""


def powers(family: Family, primal: Any, series: Series, degree: int) -> Sequence[Series]:
    """[t^γ] δ(t)^j with δ(t) = x(t) − x_0, for j = 1 … K, or up to the degree if that is less."""
    product, terms, found = multiplication(primal), family.algebra.powers, [series]
    for power in range(2, min(family.order, degree) + 1):
        previous = found[-1]
        found.append(
            tuple(
                family.combine(product, terms(place, power), series, previous, place)
                for place in family.places
            )
        )
    return found[:degree]


def faa_di_bruno(
    family: Family, times: Multiplier, primal: Any, powers: Sequence[Series]
) -> Series:
    """The series of φ(x(t)) for an elementwise φ with Taylor coefficients c_j = φ^{(j)}(x_0)/j!,
    from the `powers` of x(t) − x_0: `times(j, coefficient, lead)` is c_j times a coefficient. The
    c_j of higher powers are zero.

    With δ(t) = x(t) − x_0: y_γ = Σ_j c_j [t^γ] δ(t)^j. The c_j belong to the point, not to the
    direction, so a top place collapses the powers before it multiplies them by c_j.

    Numbers and powers are computed separately. This is accurate if the c_j have about the size of
    φ, as for polynomials, exp, sin, tanh. If φ has a pole or a branch point at a distance ρ of x_0,
    the c_j grow like ρ^{−j} while δ^j is small like ρ^j, and both leave the range of numbers before
    their product does; `integral` and `ratio_power` never compute them.
    """
    result = []
    for place, depth in enumerate(family.algebra.depths):
        lead = family.lead(place)
        most = min(depth, len(powers))
        terms = [times(j, powers[j - 1][place], lead) for j in range(1, most + 1)]
        result.append(total(terms, lead, primal))
    return tuple(result)


def logarithm(
    family: Family, times: Multiplier, primal: Any, series: Series, rate: float
) -> Series:
    """The series of φ(x(t)) up to order two, for an elementwise φ with φ″ = −λ φ′²:
    y_γ = φ′ x_γ − λ/2 [t^γ] (y − y_0)².

    The number that is squared has no unit. x itself may be as small as a density in its tail, where
    x² is out of the type's range.
    """
    product = multiplication(primal)
    result: list[Coefficient] = []
    for place in family.places:
        lead = family.lead(place)
        square = _square(family, product, tuple(result), place)
        terms = [times(1, series[place], lead), scale(square, -rate / 2)]
        result.append(total(terms, lead, primal))
    return tuple(result)


def integral(family: Family, slope: Array, slopes: Series, series: Series) -> Series:
    """The series of y = ∫ p dx for a p(t) with the primal `slope`, that of y = φ(x(t)) if
    p(t) = φ′(x(t)): y_γ = Σ (w_α/w_γ) x_α p_β, by D y = p D x for any one derivation D.

    The series of p belongs to `family.below`. Every product is one term of a derivative of φ along
    these jets, so it has about the size of the result.
    """
    product, own = multiplication(slope), Full(slope)
    factors = family.series_above(slopes)
    rates = _rates(family.algebra, series)
    result = []
    for place in family.places:
        lead = family.lead(place)
        linear = bilinear_map(product, own, series[place], (0, lead))
        rest = _integrated(family, product, rates, factors, place)
        result.append(total([linear, rest], lead, slope))
    return tuple(result)


def solution(
    family: Family,
    primal: Any,
    series: Series,
    by_slope: Callable[[Coefficient, int], Coefficient],
    by_turn: Callable[[Coefficient, int], Coefficient],
    square: int,
    slopes_below: bool = False,
) -> tuple[Series, Series]:
    """The series of y = φ(x(t)) and of p = φ′(x(t)), for an elementwise φ that solves the equation
    p = a + λ y + μ y², where μ is the `square`; x has no top coefficients.

    `by_slope(coefficient, lead)` is p_0 times a coefficient, `by_turn` is λ + 2 μ y_0 times it. By
    D y = p D x for any one derivation D,

        w_γ y_γ = w_γ p_0 x_γ + Σ w_α x_α p_β,    p_γ = (λ + 2μ y_0) y_γ + μ [t^γ] (y − y_0)²,

    in turns. y_γ needs only lower orders of p, so top places of p may be left out (`slopes_below`).
    Every term is one of a derivative of φ along these jets, so it has about the size of the result.
    """
    product, rates = multiplication(primal), _rates(family.algebra, series)
    values: list[Coefficient] = []
    slopes: list[Coefficient] = []
    for place in family.places:
        lead = family.lead(place)
        rest = _integrated(family, product, rates, tuple(slopes), place)
        values.append(_summed([by_slope(series[place], lead), rest], lead, primal))
        if slopes_below and family.is_top(place):
            slopes.append(Zero())
            continue
        bent = scale(_square(family, product, tuple(values), place), square) if square else Zero()
        slopes.append(_summed([by_turn(values[place], lead), bent], lead, primal))
    return tuple(values), tuple(slopes)


def _summed(terms: Sequence[Coefficient], lead: int, primal: Any) -> Coefficient:
    """The sum of coefficients that enter many products: its number is no longer kept apart."""
    return without_notes(total(terms, lead, primal))


Rates: TypeAlias = Callable[[int, Exponents], Coefficient]


def _rates(algebra: Algebra, series: Series) -> Rates:
    """The coefficients w_α x_α of a derivative D x, each made once."""
    return functools.cache(lambda i, along: without_notes(scale(series[i], algebra.rate(i, along))))


def _integrated(
    family: Family, product: BilinearMap, rates: Rates, slopes: Series, place: int
) -> Coefficient:
    """Σ_α (w_α/w_γ) x_α p_β over the products α β that contain γ, for a derivation with
    weights w.
    """
    algebra = family.algebra
    derivation = algebra.derivation(place)
    terms = [term for term in algebra.products(place) if algebra.rate(term[1], derivation)]
    along = {i: rates(i, derivation) for _, i, _ in terms}
    summed = family.combine(product, terms, along, slopes, place)
    return scale(summed, 1 / algebra.rate(place, derivation))


def ratio_power(family: Family, exponent: float, primal: Array, ratios: Series) -> Series:
    """The series of y = x(t)^a from that of x/x_0.

    By x D y = a y D x, y_γ = Σ ((a + 1) w_α/w_γ − 1) q_α y_β with q_α = x_α/x_0. The factors are
    numbers without a unit and derivatives of a lower order, which are in range if the result is.
    For an a near 1, 2, … the sum would cancel, so a has to be below ½ here.
    """
    product, own = multiplication(primal), Full(primal)
    result: list[Coefficient] = []
    for place in family.places:
        lead = family.lead(place)
        shares = zip(family.algebra.shares(place), family.algebra.products(place), strict=True)
        terms = [(n * ((exponent + 1) * share - 1), i, j) for share, (n, i, j) in shares]
        rest = family.combine(product, terms, ratios, tuple(result), place)
        linear = scale(bilinear_map(product, own, ratios[place], (0, lead)), exponent)
        result.append(total([linear, rest], lead, primal))
    return tuple(result)


def divided(coefficient: Coefficient, lead: int, denominator: Any, primal: Any) -> Coefficient:
    """A coefficient divided by a primal, as the coefficient of a value like another primal."""
    inverse = _known_inverse(denominator)
    if inverse is not None:
        return scale(coefficient, inverse)
    if isinstance(coefficient, Blocks):
        array = Full(jnp.ones((), primal.dtype) / jnp.asarray(denominator))
        return bilinear_map(multiplication(primal), coefficient, array, (lead, 0))
    if not isinstance(coefficient, Full):
        return coefficient

    def quotient_of(array: Array) -> Array:
        return lax.div(array, denominator)

    for _ in range(lead):
        quotient_of = jax.vmap(quotient_of)
    return Full(quotient_of(coefficient.array))


def _known_inverse(denominator: Any) -> float | None:
    """1/a of a number known while tracing, if a's type holds it in full precision."""
    number = known_scalar(denominator)
    if not number:
        return None
    limits, inverse = jnp.finfo(jnp.result_type(denominator)), 1 / number
    return inverse if float(limits.tiny) <= abs(inverse) <= float(limits.max) else None
