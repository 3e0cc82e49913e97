"""Arithmetic of truncated Taylor series x(t) = x_0 + x_1 t + … + x_K t^K along a family of curves.

Coefficients are Taylor coefficients (no factorials), so products are plain convolutions. In every
formula order K splits into the part linear in the operands' own top coefficients, which are
collapsed already, and the rest, which is formed curve by curve and then collapsed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from .bundle import Family
from .coefficients import Coefficient, Dense, Series, Zero, bilinear_map, scale, total


def leibniz(
    family: Family,
    product: Callable[[Array, Array], Array],
    primals: tuple[Any, Any],
    left: Series,
    right: Series,
) -> Series:
    """The series of B(a(t), b(t)) for a bilinear B: y_k = Σ_i B(a_i, b_{k−i})."""
    first, second = (Dense(jnp.asarray(primal)) for primal in primals)
    result = []
    for order in range(1, family.order + 1):
        lead = family.lead(order)
        result.append(
            total(
                [
                    bilinear_map(product, left[order - 1], second, (lead, 0)),
                    bilinear_map(product, first, right[order - 1], (0, lead)),
                    _inner(family, product, left, right, order),
                ]
            )
        )
    return tuple(result)


def _inner(
    family: Family,
    product: Callable[[Array, Array], Array],
    left: Series,
    right: Series,
    order: int,
) -> Coefficient:
    """Σ_{0<i<k} B(a_i, b_{k−i}), collapsed at the top order."""
    leads = (family.curves, family.curves)
    terms = total(
        [bilinear_map(product, left[i - 1], right[order - i - 1], leads) for i in range(1, order)]
    )
    return family.collapse(terms) if order == family.order else terms


def quotient(
    family: Family,
    product: Callable[[Array, Array], Array],
    solve: Callable[[Array], Array],
    solution: Array,
    left: Series,
    right: Series,
) -> Series:
    """The series of y(t) with B(a(t), y(t)) = b(t): y_k = solve(b_k − Σ_{0<i≤k} B(a_i, y_{k−i})),
    solve inverting B(a_0, ·).

    Divisions and triangular solves are of this kind: K steps of quadratic cost, and the primal is
    reused.
    """
    result: list[Coefficient] = []
    for order in range(1, family.order + 1):
        lead = family.lead(order)
        known = tuple(result) + (Zero(),) * (family.order - len(result))
        remainder = total(
            [
                right[order - 1],
                scale(bilinear_map(product, left[order - 1], Dense(solution), (lead, 0)), -1),
                scale(_inner(family, product, left, known, order), -1),
            ]
        )
        if isinstance(remainder, Dense):
            inverse = solve
            for _ in range(lead):
                inverse = jax.vmap(inverse)
            remainder = Dense(inverse(remainder.array))
        result.append(remainder)
    return tuple(result)


def faa_di_bruno(family: Family, derivatives: Sequence[Coefficient], series: Series) -> Series:
    """The series of φ(x(t)) for an elementwise φ with Taylor coefficients c_j = φ^{(j)}(x_0)/j!
    (`derivatives`).

    With δ(t) = x(t) − x_0: y_k = Σ_j c_j [t^k] δ(t)^j. The c_j belong to the point, not to the
    direction, so the top order collapses the powers before it multiplies by c_j.
    """
    top = family.order
    powers = _powers(family, series)
    result = []
    for order in range(1, top + 1):
        lead = family.lead(order)
        terms = []
        for power in range(1, order + 1):
            coefficient = powers[power - 1][order - 1]
            if power > 1 and order == top:
                coefficient = family.collapse(coefficient)
            terms.append(bilinear_map(lax.mul, derivatives[power - 1], coefficient, (0, lead)))
        result.append(total(terms))
    return tuple(result)


def _powers(family: Family, series: Series) -> list[Series]:
    """[t^k] δ(t)^j for j, k = 1 … K, curve by curve except for j = 1."""
    powers = [series]
    for power in range(2, family.order + 1):
        previous = powers[-1]
        powers.append(
            tuple(
                _convolve(family, series, previous, order, symmetric=power == 2)
                if order >= power
                else Zero()
                for order in range(1, family.order + 1)
            )
        )
    return powers


def _convolve(
    family: Family, left: Series, right: Series, order: int, symmetric: bool
) -> Coefficient:
    """Σ_{0<i<k} a_i b_{k−i}, elementwise; half of the products where a is b."""
    leads = (family.curves, family.curves)
    terms = []
    for i in range(1, order):
        j = order - i
        if symmetric and i > j:
            continue
        factor = 2 if symmetric and i < j else 1
        terms.append(scale(bilinear_map(lax.mul, left[i - 1], right[j - 1], leads), factor))
    return total(terms)
