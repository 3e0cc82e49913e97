"""Apolar algebras: the smallest algebra that carries operators with constant coefficients.

An operator with constant coefficients is p(∂) for a polynomial p. From u(x + Σ t_i v_i) in R[t]/I
it is read as p(∂_t) at t = 0, a linear functional of the series. It can be read if this functional
vanishes on I. The largest ideal on which it vanishes is

    Ann(p) = {g : g(∂) p = 0},

since g h is mapped to (h(∂) g(∂) p)(0), and a polynomial all of whose derivatives vanish at 0 is
0. So no pass of this kind carries fewer coefficients than R[t]/Ann(p) has. A monomial t^α
corresponds to the polynomial ∂^α p: monomials are equal to sums of others if their polynomials are,
which is linear algebra in fractions. Several operators are read in R[t] modulo the intersection of
their ideals, where t^α corresponds to the list of ∂^α p_k.

    Δ in d dimensions             d + 1 coefficients: the forward Laplacian
    Σ_r w_r ∂_r^K                 n (K − 1) + 1: collapsed Taylor mode
    Δ² in d dimensions            d + d (d+1)/2 + d + 1
    u_ty + u_xxxy                 t is ⅙ x³

A polynomial with parts of different degrees is read part by part, so that the algebra is graded
(`grading.py` finds degrees for which most parts agree).

Numbers of relations may have different signs, so that derivatives cancel in them even if they do
not in the operator. The amplification bounds the effect. It assumes that all Taylor coefficients
have size one, and compares the sum of the magnitudes of everything added up in a product of two
series, and in reading one, with the same sum without relations.
"""

import functools
import heapq
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from .algebra import Algebra, Combination, Exponents, raised, weighted_degree
from .grading import gradings
from .span import ExactVector, Span

Polynomial: TypeAlias = Mapping[Exponents, Fraction | int | float]
"""Numbers by monomials."""
PolynomialTerms: TypeAlias = tuple[tuple[Exponents, Fraction], ...]

LARGEST = 16
"""The largest amplification for which relations are used."""


def apolar(polynomials: Sequence[Polynomial], most: int | float = math.inf) -> Algebra:
    """The smallest algebra in which operators with constant coefficients can be read; without
    relations if these would cost too many digits.

    **Arguments:**

    - `polynomials`: at least one that is not 0: numbers by exponents, with the same number of
        parameters.
    - `most`: the largest number in a relation, and the largest inverse of one.

    **Returns:** a [`diffop.taylor.Algebra`][]. p(∂) is the sum of the derivatives at the monomials
    of p that are in its basis, times their numbers.

    Source: Macaulay's inverse systems.

    !!! example

        ```python
        import diffop as do
        from diffop.algebra.apolar import apolar

        square = {(4, 0): 1, (2, 2): 2, (0, 4): 1}  # Δ² in the plane
        len(apolar([square])), len(do.taylor.Algebra.closure(square))  # 8, 12
        ```
    """
    return _apolar(tuple(map(_terms, polynomials)), most)


def least(polynomials: Iterable[Polynomial], most: int | float = math.inf) -> int:
    """How many coefficients beside the primal any pass has to carry to read all p(∂).

    **Arguments:**

    - `polynomials`: as for `apolar`.
    - `most`: counting stops above this number.

    **Returns:** the dimension of the algebra, without the constant.

    !!! example

        ```python
        from diffop.algebra.apolar import least

        least([{(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 2): 1}])  # 4
        ```
    """
    return _least(tuple(map(_terms, polynomials)), most)


@functools.lru_cache(maxsize=1024)
def _least(polynomials: tuple[PolynomialTerms, ...], most: int | float) -> int:
    return len(_basis(polynomials, lambda m: (sum(m), m), most)[0])


def _terms(polynomial: Polynomial) -> PolynomialTerms:
    """The terms in a fixed order, the largest number first."""
    exact = {monomial: Fraction(number) for monomial, number in polynomial.items() if number}
    return tuple(sorted(exact.items(), key=lambda term: (-abs(term[1]), term[0])))


@functools.lru_cache(maxsize=1024)
def _apolar(polynomials: tuple[PolynomialTerms, ...], most: int | float) -> Algebra:
    monomials = [[monomial for monomial, _ in terms] for terms in polynomials]
    plain = Algebra.closure(itertools.chain(*monomials))
    if all(len(each) == 1 for each in monomials):
        return plain
    found = [
        _graded(polynomials, plain, grading, sign)
        for grading in gradings(monomials, len(monomials[0][0]))
        for sign in (1, -1)
    ]
    losses = [amplification(each, map(dict, polynomials)) for each in found]
    loss, algebra = min(zip(losses, found, strict=True), key=lambda each: (len(each[1]), each[0]))
    numbers = [abs(number) for _, terms in algebra.relations for _, number in terms]
    in_range = all(1 / most <= number <= most for number in numbers)
    return algebra if in_range and loss <= LARGEST else plain


def _graded(
    polynomials: Sequence[PolynomialTerms], plain: Algebra, grading: Exponents, sign: int
) -> Algebra:
    """The algebra for a grading. Its basis consists of the first monomials of a degree, or the
    last.
    """

    def rank(monomial: Exponents) -> tuple[int, Exponents]:
        return weighted_degree(grading, monomial), tuple(sign * exponent for exponent in monomial)

    parts = [part for terms in polynomials for part in _parts(terms, grading)]
    basis, span = _basis(parts, rank)
    places = {monomial: place for place, monomial in enumerate(basis)}
    relations: list[tuple[Exponents, Combination]] = []
    for monomial in plain.monomials:
        sums = span.coordinates(_derivatives(parts, monomial))
        assert sums is not None  # the basis spans everything
        if monomial not in places and sums:
            terms = (
                (places[each], int(c) if c.denominator == 1 else float(c))
                for each, c in sums.items()
            )
            relations.append((monomial, tuple(sorted(terms))))
    return Algebra(basis, tuple(relations), grading)


def _parts(terms: PolynomialTerms, grading: Exponents) -> list[PolynomialTerms]:
    """The homogeneous parts of a polynomial."""
    parts: dict[int, list[tuple[Exponents, Fraction]]] = {}
    for monomial, number in terms:
        parts.setdefault(weighted_degree(grading, monomial), []).append((monomial, number))
    return [tuple(part) for part in parts.values()]


def _basis(
    polynomials: Sequence[PolynomialTerms],
    rank: Callable[[Exponents], Any],
    most: int | float = math.inf,
) -> tuple[tuple[Exponents, ...], Span]:
    """The basis: monomials, in an order that multiplication preserves, that are not in the span of
    earlier ones. Only multiples of these have to be tried, and their divisors are basis elements.
    """
    constant: Exponents = tuple(0 for _ in polynomials[0][0][0])
    span, basis = Span(), list[Exponents]()
    waiting, seen = [(rank(constant), constant)], {constant}
    while waiting and len(basis) <= most + 1:
        _, monomial = heapq.heappop(waiting)
        if span.add(monomial, _derivatives(polynomials, monomial)):
            basis.append(monomial)
            for multiple in {raised(monomial, i) for i in range(len(monomial))} - seen:
                seen.add(multiple)
                heapq.heappush(waiting, (rank(multiple), multiple))
    return tuple(basis[1:]), span


def _derivatives(polynomials: Sequence[PolynomialTerms], by: Exponents) -> ExactVector:
    """∂^α of each polynomial, in divided powers t^γ/γ!."""
    return {
        (k, tuple(map(operator.sub, monomial, by))): number
        * math.prod(map(math.factorial, monomial))
        for k, terms in enumerate(polynomials)
        for monomial, number in terms
        if all(map(operator.le, by, monomial))
    }


def amplification(algebra: Algebra, polynomials: Iterable[Polynomial]) -> float:
    """The largest factor by which rounding errors may grow compared with no relations:
    see above.
    """
    size, plain = [0.0] * len(algebra), [0.0] * len(algebra)
    for monomial, terms in algebra.sums.items():
        # how many products of two nonconstant monomials are this one
        pairs = math.prod(exponent + 1 for exponent in monomial) - 2
        for place, number in terms:
            size[place] += abs(number)
            plain[place] += abs(number) * pairs
    made = [
        sum(abs(n) * size[i] * size[j] for n, i, j in algebra.products(place))
        for place in range(len(algebra))
    ]
    ratios = [a / b for a, b in zip(made, plain, strict=True) if b]
    for polynomial in polynomials:
        parts = {m: abs(c) * math.prod(map(math.factorial, m)) for m, c in polynomial.items()}
        read = sum(c * size[algebra.places[m]] for m, c in parts.items() if m in algebra.places)
        ratios.append(float(read / sum(parts.values())))
    return max(ratios)
