"""The power scheme: powers of single directions, (v·∇)^k along curves x + t v.

A mixed derivative of order k is a sum of k-th powers of linear forms (Waring's problem). Three ways
to find directions are tried:

- directions that are present already, for derivatives of higher order or other derivatives;
- for two variables the fewest possible over the reals: x^a y^b is a sum of a + b powers
  (x + s y)^k with slopes s = ±1, ±2, … in pairs, and 0 or ∞ by parity. For the form
  Π_s (∂_y − s ∂_x) annihilates all these powers, and must not contain x^a y^b: pairs make it even
  or odd in ∂_x, so every other coefficient of it vanishes;
- central differences (`polarisation`), for any number of variables.

Weights solve linear equations in rational numbers. Over the complex numbers a + 1 directions along
roots of unity are enough for x^a y^b, a ≥ b. But each has a real and an imaginary part, u would
have to take complex tangents at real points, and a jet with two parameters has even fewer
coefficients: (a + 1)(b + 1) − 1 against (a + 1)(a + b − 1) + 1.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction

from ..algebra.span import Span
from .expansion import Alpha, Direction, bell, direction_of, word_of
from .polarisation import polarisation
from .scheme import Jet, Readout, Scheme


def power(wanted: Sequence[Alpha]) -> Scheme:
    """The scheme of a set of mixed derivatives."""
    directions: list[Direction] = []
    readouts: dict[Alpha, Readout] = {}
    for alpha in sorted(wanted, key=lambda a: -sum(order for _, order in a)):
        weights = _weights(alpha, directions)
        if weights is None:
            weights = _own(alpha)
        directions += [d for d in weights if d not in directions]
        order = sum(order for _, order in alpha)
        readouts[alpha] = Readout(
            tuple((w, Jet({1: dict(d)}), (order,)) for d, w in weights.items())
        )
    return Scheme({word_of(alpha): readouts[alpha] for alpha in wanted}, "power")


def _weights(alpha: Alpha, directions: Sequence[Direction]) -> dict[Direction, Fraction] | None:
    """∂^α as a sum of powers of given directions, if it is one.

    (v·∇)^k = Σ_β k!/β! v^β ∂^β is the output k of the curve along v. Directions with variables that
    α does not have are left out, since other directions would have to cancel what they bring.
    """
    variables = [variable for variable, _ in alpha]
    usable = [d for d in directions if all(v in variables for v, _ in d)]
    order = (sum(order for _, order in alpha),)
    powers = {direction: bell((((1,), direction),), order) for direction in usable}
    span = Span((d, {beta: Fraction(n) for beta, n in power}) for d, power in powers.items())
    found = span.coordinates({alpha: Fraction(1)})
    return None if found is None else {d: found[d] for d in usable if d in found}


@functools.cache
def _own(alpha: Alpha) -> dict[Direction, Fraction]:
    """The directions for one derivative by itself."""
    if len(alpha) == 2:
        weights = _weights(alpha, _slopes(alpha))
        if weights is not None:
            return weights
    variables = [variable for variable, _ in alpha]
    return {
        direction_of(dict(zip(variables, combination, strict=True))): weight
        for combination, weight in polarisation(tuple(order for _, order in alpha))
    }


def _slopes(alpha: Alpha) -> list[Direction]:
    """a + b directions for ∂_x^a ∂_y^b; pairs first, then 0 and ∞."""
    (x, a), (y, b) = alpha
    pairs, rest = divmod(a + b, 2)
    fill = [(1, 0)] if rest and b % 2 == 0 else [(0, 1)] if rest else []
    if not rest and b % 2 == 0:
        pairs, fill = pairs - 1, [(1, 0), (0, 1)]
    slopes = [(1, sign * s) for s in range(1, pairs + 1) for sign in (1, -1)]
    return [direction_of({x: first, y: second}) for first, second in (*slopes, *fill)]
