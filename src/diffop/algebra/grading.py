"""Degrees of parameters by which polynomials are homogeneous.

u_ty + u_xxxy is, where t is of degree 3: that t may be carried as a multiple of x³ is seen then.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from .algebra import Exponents
from .span import Span, Vector


def gradings(polynomials: Iterable[Iterable[Exponents]], parameters: int) -> list[Exponents]:
    """Positive integers for the parameters, by which large parts of polynomials are homogeneous:
    ones, and those that are found by making each monomial, the highest first, of one degree with
    another before it, where all that came before allows that.
    """
    equations: list[Vector] = []
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


def _difference(first: Exponents, other: Exponents) -> Vector:
    pairs = enumerate(zip(first, other, strict=True))
    return {i: Fraction(a - b) for i, (a, b) in pairs if a != b}


def _positive(equations: Sequence[Vector], parameters: int) -> Exponents | None:
    """Positive integers that solve equations, if there are any where all that these leave free are
    the same. Parameters of low degree in the monomials depend on others rather than these on them.
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
    rest: Vector = {}
    for i in free:
        rest |= {number: rest.get(number, Fraction(0)) - c for number, c in columns[i].items()}
    solved = span.coordinates(rest)
    assert solved is not None  # every free column is in the span
    weights = [solved.get(i, Fraction(int(i in free))) for i in range(parameters)]
    if min(weights) <= 0:
        return None
    whole = math.lcm(*(weight.denominator for weight in weights))
    numbers = [int(weight * whole) for weight in weights]
    return tuple(number // math.gcd(*numbers) for number in numbers)
