"""Arithmetic of truncated Taylor series x(t) = x_0 + Σ_γ x_γ t^γ along a family of jets.

Coefficients are Taylor coefficients (no factorials), so products are plain convolutions. With one
parameter, γ = 1 … K. In every formula a maximal γ (order K) splits into the part linear in the
operands' own top coefficients, which are collapsed already, and the rest, products of lower
coefficients, which the family collapses.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .arithmetic import bilinear_map, densify, multiplication, total
from .bundle import Family, Pair
from .coefficients import Blocks, Coefficient, Dense, Series, Zero, blocks, scale, zeros
from .equation import BilinearMap


def leibniz(family: Family, product: BilinearMap, left: Series, right: Series) -> Series:
    """The series of B(a(t), b(t)) for a bilinear B: y_γ = Σ_{α+β=γ} B(a_α, b_β)."""
    first, second = (Dense(jnp.asarray(primal)) for primal in product.operands)
    result = []
    for place in family.places:
        lead = family.lead(place)
        terms = [
            bilinear_map(product, left[place], second, (lead, 0)),
            bilinear_map(product, first, right[place], (0, lead)),
            _inner(family, product, left, right, place),
        ]
        result.append(total(terms, lead, product.output))
    return tuple(result)


def _inner(
    family: Family, product: BilinearMap, left: Series, right: Series, place: int
) -> Coefficient:
    """Σ B(a_α, b_β) over α + β = γ, neither of them 0; collapsed at a top place."""
    pairs = [(k, left[i], right[j]) for k, i, j in family.truncation.products(place)]
    return family.combine(product, pairs, place)


def quotient(
    family: Family,
    product: BilinearMap,
    solve: Callable[[Coefficient, int], Coefficient],
    left: Series,
    right: Series,
) -> Series:
    """The series of y(t) with B(a(t), y(t)) = b(t): y_γ = solve(b_γ − Σ_{0≠α≤γ} B(a_α, y_{γ−α})),
    solve inverting B(a_0, ·) behind leading axes. The operands of `product` are a and y.

    Divisions and triangular solves are of this kind: a step for each monomial, of the cost of a
    product, and the primal is reused.
    """
    solution = Dense(jnp.asarray(product.operands[1]))
    result: list[Coefficient] = []
    for place in family.places:
        lead = family.lead(place)
        known = tuple(result) + zeros(len(family.truncation) - len(result))
        terms = [
            right[place],
            scale(bilinear_map(product, left[place], solution, (lead, 0)), -1),
            scale(_inner(family, product, left, known, place), -1),
        ]
        remainder = total(terms, lead, product.output)
        result.append(Zero() if isinstance(remainder, Zero) else solve(remainder, lead))
    return tuple(result)


def mapped(
    function: Callable[[Array], Array], coefficient: Coefficient, lead: int, primal: Any
) -> Coefficient:
    """A linear function of an array, behind leading axes."""
    if isinstance(coefficient, Blocks):
        return blocks([mapped(function, part, 1, primal) for part in coefficient.parts])
    array = densify(coefficient, lead, primal)
    if not isinstance(array, Dense):
        return Zero()
    for _ in range(lead):
        function = jax.vmap(function)
    return Dense(function(array.array))


Multiplier: TypeAlias = Callable[[int, Coefficient, int], Coefficient]


def faa_di_bruno(family: Family, times: Multiplier, primal: Any, series: Series) -> Series:
    """The series of φ(x(t)) for an elementwise φ with Taylor coefficients c_j = φ^{(j)}(x_0)/j!:
    `times(j, coefficient, lead)` is c_j times a coefficient.

    With δ(t) = x(t) − x_0: y_γ = Σ_j c_j [t^γ] δ(t)^j. The c_j belong to the point, not to the
    direction, so a top place collapses the powers before it multiplies by c_j.
    """
    powers = _powers(family, multiplication(primal), series)
    result = []
    for place, monomial in enumerate(family.truncation.monomials):
        lead = family.lead(place)
        terms = [times(j, powers[j - 1][place], lead) for j in range(1, sum(monomial) + 1)]
        result.append(total(terms, lead, primal))
    return tuple(result)


def _powers(family: Family, product: BilinearMap, series: Series) -> list[Series]:
    """[t^γ] δ(t)^j for j = 1 … K."""
    powers = [series]
    for power in range(2, family.order + 1):
        previous = powers[-1]
        powers.append(
            tuple(
                family.combine(product, _pairs(family, series, previous, place, power), place)
                for place in family.places
            )
        )
    return powers


def _pairs(family: Family, left: Series, right: Series, place: int, power: int) -> list[Pair]:
    return [(k, left[i], right[j]) for k, i, j in family.truncation.powers(place, power)]
