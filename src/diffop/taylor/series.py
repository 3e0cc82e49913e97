"""Arithmetic of truncated Taylor series x(t) = x_0 + x_1 t + … + x_K t^K along a family of curves.

Coefficients are Taylor coefficients (no factorials), so products are plain convolutions. In every
formula order K splits into the part linear in the operands' own top coefficients, which are
collapsed already, and the rest, products of lower coefficients, which the family contracts.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .arithmetic import bilinear_map, densify, multiplication, total
from .bundle import Family, Pair
from .coefficients import Blocks, Coefficient, Dense, Series, Zero, blocks, is_zero, scale
from .equation import BilinearMap


def leibniz(family: Family, product: BilinearMap, left: Series, right: Series) -> Series:
    """The series of B(a(t), b(t)) for a bilinear B: y_k = Σ_i B(a_i, b_{k−i})."""
    first, second = (Dense(jnp.asarray(primal)) for primal in product.operands)
    result = []
    for order in range(1, family.order + 1):
        lead = family.lead(order)
        terms = [
            bilinear_map(product, left[order - 1], second, (lead, 0)),
            bilinear_map(product, first, right[order - 1], (0, lead)),
            _inner(family, product, left, right, order),
        ]
        result.append(total(terms, lead, product.output))
    return tuple(result)


def _inner(
    family: Family, product: BilinearMap, left: Series, right: Series, order: int
) -> Coefficient:
    """Σ_{0<i<k} B(a_i, b_{k−i}), collapsed at the top order."""
    pairs = [(1, left[i - 1], right[order - i - 1]) for i in range(1, order)]
    return _combined(family, product, pairs, order)


def _combined(
    family: Family, product: BilinearMap, pairs: Sequence[Pair], order: int
) -> Coefficient:
    pairs = [pair for pair in pairs if not (is_zero(pair[1]) or is_zero(pair[2]))]
    if not pairs:
        return Zero()
    if order == family.order:
        return family.contract(product, pairs)
    return family.products(product, pairs)


def quotient(
    family: Family,
    product: BilinearMap,
    solve: Callable[[Coefficient, int], Coefficient],
    left: Series,
    right: Series,
) -> Series:
    """The series of y(t) with B(a(t), y(t)) = b(t): y_k = solve(b_k − Σ_{0<i≤k} B(a_i, y_{k−i})),
    solve inverting B(a_0, ·) behind leading axes. The operands of `product` are a and y.

    Divisions and triangular solves are of this kind: K steps of quadratic cost, and the primal is
    reused.
    """
    solution = Dense(jnp.asarray(product.operands[1]))
    result: list[Coefficient] = []
    for order in range(1, family.order + 1):
        lead = family.lead(order)
        known = tuple(result) + (Zero(),) * (family.order - len(result))
        terms = [
            right[order - 1],
            scale(bilinear_map(product, left[order - 1], solution, (lead, 0)), -1),
            scale(_inner(family, product, left, known, order), -1),
        ]
        remainder = total(terms, lead, product.output)
        result.append(Zero() if is_zero(remainder) else solve(remainder, lead))
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

    With δ(t) = x(t) − x_0: y_k = Σ_j c_j [t^k] δ(t)^j. The c_j belong to the point, not to the
    direction, so the top order collapses the powers before it multiplies by c_j.
    """
    powers = _powers(family, multiplication(primal), series)
    result = []
    for order in range(1, family.order + 1):
        lead = family.lead(order)
        terms = [times(j, powers[j - 1][order - 1], lead) for j in range(1, order + 1)]
        result.append(total(terms, lead, primal))
    return tuple(result)


def _powers(family: Family, product: BilinearMap, series: Series) -> list[Series]:
    """[t^k] δ(t)^j for j, k = 1 … K."""
    powers = [series]
    for power in range(2, family.order + 1):
        previous = powers[-1]
        powers.append(
            tuple(
                _combined(family, product, _pairs(series, previous, order, power == 2), order)
                if order >= power
                else Zero()
                for order in range(1, family.order + 1)
            )
        )
    return powers


def _pairs(left: Series, right: Series, order: int, symmetric: bool) -> list[Pair]:
    """The products of Σ_{0<i<k} a_i b_{k−i}; half of them where a is b."""
    pairs = []
    for i in range(1, order):
        j = order - i
        if not symmetric or i <= j:
            pairs.append((2 if symmetric and i < j else 1, left[i - 1], right[j - 1]))
    return pairs
