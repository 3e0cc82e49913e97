"""Gradings: degrees of parameters for which polynomials are homogeneous.

u_ty + u_xxxy is homogeneous if t has degree 3; this shows that t may be carried as a multiple of
x³.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from .algebra import Exponents
from .span import ExactVector, Span


def gradings(polynomials: Iterable[Iterable[Exponents]], parameters: int) -> list[Exponents]:
    """Positive integers for the parameters for which large parts of polynomials are homogeneous:
    one grading, or two.

    The last one is all ones. The other gives each monomial, the highest first, the degree of an
    earlier one, as far as the equations for monomials before it allow; monomials for which they do
    not are `apart`.
    """
    equations: list[ExactVector] = []
    ones = found = (1,) * parameters
    for monomials in polynomials:
        apart: list[Exponents] = []
        for monomial in sorted(monomials, key=sum, reverse=True):
            for other in apart:
                more = [*equations, _difference(other, monomial)]
                if (solution := _positive(more, parameters)) is not None:
                    equations, found = more, solution
                    break
            else:
                apart.append(monomial)
    return list(dict.fromkeys([found, ones]))


def _difference(first: Exponents, other: Exponents) -> ExactVector:
    pairs = enumerate(zip(first, other, strict=True))
    return {i: Fraction(a - b) for i, (a, b) in pairs if a != b}


def _positive(equations: Sequence[ExactVector], parameters: int) -> Exponents | None:
    """Positive integers w with Σ_i a_i w_i = 0 for each equation a, with all free parameters equal,
    if they exist. Parameters of low degree in the monomials depend on the others, not the others on
    them: their columns come first into the span, and columns within it belong to free parameters.
    """
    columns = {
        i: {number: equation[i] for number, equation in enumerate(equations) if i in equation}
        for i in range(parameters)
    }
    sizes = {
        i: max(map(abs, column.values()), default=Fraction(0)) for i, column in columns.items()
    }
    span = Span()
    free = [i for i in sorted(columns, key=lambda i: sizes[i]) if not span.add(i, columns[i])]
    rest: ExactVector = {}
    for i in free:
        rest |= {number: rest.get(number, Fraction(0)) - c for number, c in columns[i].items()}
    solved = span.coordinates(rest)
    assert solved is not None  # the span contains every free column
    weights = [solved.get(i, Fraction(int(i in free))) for i in range(parameters)]
    if min(weights) <= 0:
        return None
    whole = math.lcm(*(weight.denominator for weight in weights))
    numbers = [int(weight * whole) for weight in weights]
    return tuple(number // math.gcd(*numbers) for number in numbers)
