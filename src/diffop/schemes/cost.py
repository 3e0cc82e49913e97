"""The cost of a scheme, in work and in digits.

The unit is one coefficient of one value, which a dense layer multiplies by its weights, so a plain
evaluation of u costs one. These are counted:

- coefficients: the nonzero ones of each jet; the top order of several jets of one shape is
  collapsed to as many sums as are read from it;
- products: the multiplications of two coefficients in a nonlinearity, Σ_γ Σ_j (the products of
  [t^γ] δ^j, and one by the derivative of order j);
- arrays: coefficients of jets of one shape lie in one array, and are one matrix product.

Products are cheaper than coefficients by about the width of a layer, but they are bound by memory.
A readout whose terms cancel loses log₁₀ of its amplification in digits; float32 has seven.
"""

import functools
import math
from collections.abc import Set
from fractions import Fraction
from typing import NamedTuple, TypeAlias, final

from ..algebra.algebra import Algebra, Exponents
from .scheme import Jet, Scheme

# Chosen by hand for layers about a hundred wide, to one digit; no tested plan depends on more.
PRODUCT = 0.08
ARRAY = 0.3
DIGITS = 8
"""The number of lost digits that doubles the price."""

Shape: TypeAlias = tuple[tuple[Exponents, ...], Algebra]
"""The places of the tangents and the algebra: jets of one shape are pushed side by side."""


@final
class Cost(NamedTuple):
    """What a scheme costs; its `score` is what plans are ranked by.

    - `coefficients`: how many are carried beside the primal.
    - `products`: of two coefficients, in one nonlinearity.
    - `arrays`: in which the coefficients lie.
    - `amplification`: of rounding errors, see [`diffop.schemes.Scheme`][].

    !!! example

        ```python
        import diffop as do

        (planned,) = do.Mixed({0: 2, 1: 1}).jets().planned
        planned.cost.coefficients, planned.cost.score  # 5, 7.62
        ```
    """

    coefficients: int
    products: int
    arrays: int
    amplification: Fraction

    @property
    def score(self) -> float:
        """The work in coefficients, increased in proportion to the digits lost."""
        work = self.coefficients + PRODUCT * self.products + ARRAY * self.arrays
        return work * (1 + math.log10(self.amplification) / DIGITS)


def shapes(scheme: Scheme) -> dict[Shape, list[Jet]]:
    """The jets of a scheme, grouped by what can be pushed side by side."""
    result: dict[Shape, list[Jet]] = {}
    for jet, kept in scheme.jets.items():
        result.setdefault((tuple(k for k, _ in jet.tangents), kept), []).append(jet)
    return result


def cost(scheme: Scheme) -> Cost:
    """The cost of pushing and reading a scheme."""
    coefficients = products = arrays = 0
    for (tangents, kept), jets in shapes(scheme).items():
        depths = _depths(tangents, kept)
        moving = [place for place, depth in enumerate(depths) if depth]
        tops = [place for place in moving if place in kept.tops]
        rows = sum(min(len(jets), _readers(scheme, set(jets), kept, place)) for place in tops)
        coefficients += len(jets) * (len(moving) - len(tops)) + rows
        products += len(jets) * _products(depths, kept)
        arrays += len(moving)
    return Cost(coefficients, products, arrays, scheme.amplification)


def _readers(scheme: Scheme, jets: Set[Jet], kept: Algebra, place: int) -> int:
    """How many different sums are read from one output."""
    output = kept.monomials[place]
    return sum(
        any(jet in jets and order == output for _, jet, order in readout.terms)
        for readout in scheme.readouts.values()
    )


@functools.cache
def _depths(tangents: tuple[Exponents, ...], kept: Algebra) -> tuple[int, ...]:
    """For each place the largest number of tangents that add up to it; 0 if nothing moves there.

    [t^γ] δ^j is nonzero for all j up to it, as soon as products have filled the places between.
    """
    depths: list[int] = []
    for whole in kept.monomials:
        found = [0]
        for tangent in tangents:
            rest = tuple(a - b for a, b in zip(whole, tangent, strict=True))
            below = depths[kept.places[rest]] if rest in kept.places else 0
            if below or not any(rest):
                found.append(1 + below)
        depths.append(max(found))
    return tuple(depths)


@functools.cache
def _products(depths: tuple[int, ...], kept: Algebra) -> int:
    """The products of a nonlinearity in the middle of u."""
    total = 0
    for place, depth in enumerate(depths):
        total += depth
        for power in range(2, depth + 1):
            pairs = kept.powers(place, power)
            total += sum(depths[i] > 0 and depths[j] >= power - 1 for _, i, j in pairs)
    return total
