"""Algebras: what jets are computed in, that is, which coefficients a value carries.

A curve x(t) has one parameter and carries the orders 1 … K. A jet with several parameters,

    x(t) = x + Σ_γ v_γ t^γ / γ!,        t = (t_1, …, t_m),

is computed in R[t]/I for an ideal I: every value of a program is a sum of basis elements, with a
Taylor coefficient for each. The basis consists of monomials t^γ and contains their divisors. All
other monomials are 0, except those that a relation makes a sum of basis elements.

Without relations I is spanned by monomials. With v_{e_j} = y_j and no other tangents, the
coefficient of t^γ is then Π_j (y_j·∇)^{γ_j} u / γ!, a mixed derivative by itself. So the basis
{t_1, t_1², t_2, t_1 t_2, t_1² t_2} is a jet of order one of a jet of order two, in one pass. With
relations coefficients are sums of mixed derivatives (`apolar.py` says which ones are useful).

A basis element that vanishes when it is multiplied by any nonconstant one is a *top*. No product
has another nonconstant factor beside it, so its coefficient enters every rule linearly. Therefore
its weighted sum over directions can be carried instead (the collapse).

A derivation of the algebra is D = Σ_i w_i t_i ∂_i with integer weights for which all relations are
homogeneous: it multiplies each basis element by its weighted degree, its *rate*. Series are
integrated by D y = φ'(x) D x. Without relations every single t_i ∂_i is a derivation.
"""

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import TypeAlias, final

Exponents: TypeAlias = tuple[int, ...]
ProductTerm: TypeAlias = tuple[int | float, int, int]
"""A number and the places of two factors."""
Combination: TypeAlias = tuple[tuple[int, int | float], ...]
"""A sum of basis elements: places with numbers."""


@final
@dataclasses.dataclass(frozen=True)
class Algebra:
    """Polynomials of parameters $t$ modulo an ideal: a basis of monomials $t^γ$ without the
    constant one, and relations.

    **Arguments:**

    - `monomials`: the exponents $γ$ of the basis, each after all of its divisors.
        `Algebra.closure` makes them from the maximal ones.
    - `relations`: pairs `(exponents, ((place, number), …))`: monomials that are not in the basis,
        as sums of basis elements at these places. All others are 0. Relations that follow by
        multiplication have to be included: `algebra/apolar.py` makes such sets.
    - `grading`: a positive integer for each parameter, for which all relations are homogeneous; by
        default ones.

    **Raises:** `ValueError` if a divisor is missing, or a monomial stands before its divisors; for
    a relation that is not homogeneous, or that contradicts its multiple by a parameter; and, with
    relations, for a basis that is not in the order of its degrees.

    Source: Macaulay's inverse systems; forward Laplacians and collapsed Taylor mode are examples.

    !!! example

        ```python
        import diffop as do

        do.taylor.Algebra.closure([(2, 1)]).monomials  # (0,1), (1,0), (1,1), (2,0), (2,1)
        do.taylor.Algebra(((1, 0), (0, 1), (2, 0)), (((0, 2), ((2, 1),)),))  # t_2² = t_1²
        ```
    """

    monomials: tuple[Exponents, ...]
    relations: tuple[tuple[Exponents, Combination], ...] = ()
    grading: Exponents = ()

    def __post_init__(self) -> None:
        seen: set[Exponents] = set()
        for monomial in self.monomials:
            missing = [divisor for divisor in _divided(monomial) if divisor not in seen]
            if missing or not sum(monomial):
                found = (
                    f"without {missing} before {monomial}" if missing else "with the constant one"
                )
                raise ValueError(
                    "an algebra has nonconstant monomials for a basis, each behind all its "
                    f"divisors, which Algebra.closure adds; got {self.monomials}, {found}."
                )
            seen.add(monomial)
        if not self.grading and self.monomials:
            object.__setattr__(self, "grading", (1,) * len(self.monomials[0]))
        for monomial, terms in self.relations:
            self._check_relation(monomial, terms)

    def _check_relation(self, monomial: Exponents, terms: Combination) -> None:
        degrees = [weighted_degree(self.grading, each) for each in self.monomials]
        homogeneous = {degrees[place] for place, _ in terms} == {
            weighted_degree(self.grading, monomial)
        }
        if not homogeneous or degrees != sorted(degrees) or not self._is_ideal(monomial, terms):
            raise ValueError(
                f"a relation must be homogeneous by the grading {self.grading} of a basis in the "
                "order of its degrees, and hold after multiplication with each parameter; got that "
                f"of {monomial} with {terms}."
            )

    def _is_ideal(self, monomial: Exponents, terms: Combination) -> bool:
        """Whether a relation holds after multiplication: if a multiple of a monomial is not 0, the
        monomial is not 0 either, and both sides agree up to the rounding of their numbers.
        """
        if any(divisor not in self.sums for divisor in _divided(monomial)):
            return False
        for parameter in range(len(monomial)):
            left = dict(self.sums.get(raised(monomial, parameter), ()))
            right, size = dict.fromkeys(left, 0.0), {at: abs(c) for at, c in left.items()}
            for place, number in terms:
                for at, c in self.sums.get(raised(self.monomials[place], parameter), ()):
                    right[at] = right.get(at, 0.0) + number * c
                    size[at] = size.get(at, 0.0) + abs(number * c)
            if any(abs(left.get(at, 0) - right[at]) > 1e-9 * size[at] for at in right):
                return False
        return True

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.monomials, self.relations, self.grading))

    @classmethod
    @functools.cache
    def curve(cls, order: int) -> "Algebra":
        """The orders 1 … K of one parameter."""
        return cls(tuple((k,) for k in range(1, order + 1)))

    @classmethod
    def closure(cls, maximal: Iterable[Exponents]) -> "Algebra":
        """The monomials that divide one of these, and no relations."""
        return _closure(frozenset(maximal))

    @classmethod
    @functools.cache
    def squares(cls, parameters: int) -> "Algebra":
        """Parameters of which each two have the same product, $t_i t_j = t_1²$: the algebra of a
        quadratic form, whose matrix weights the products.
        """
        single = units(parameters)
        pairs = itertools.combinations_with_replacement(single, 2)
        square, *others = (tuple(map(operator.add, *each)) for each in pairs)
        return cls((*single, square), tuple((each, ((parameters, 1),)) for each in others))

    def __len__(self) -> int:
        return len(self.monomials)

    @functools.cached_property
    def places(self) -> dict[Exponents, int]:
        """The place of each monomial of the basis."""
        return {monomial: place for place, monomial in enumerate(self.monomials)}

    @functools.cached_property
    def sums(self) -> dict[Exponents, Combination]:
        """Every monomial that is not 0 as a sum of basis elements."""
        own = {monomial: ((place, 1),) for monomial, place in self.places.items()}
        return own | dict(self.relations)

    @functools.cached_property
    def degree(self) -> int:
        """The largest number of nonconstant factors of a nonzero product: K for a curve, whatever
        the grading.
        """
        return max(self.depths, default=0)

    @functools.cached_property
    def depths(self) -> tuple[int, ...]:
        """For each basis element the largest number of nonconstant factors of a product that
        contains it. Without relations this is its total degree.
        """
        depths: list[int] = []
        for place in range(len(self)):
            depths.append(
                max((depths[i] + depths[j] for _, i, j in self.products(place)), default=1)
            )
        return tuple(depths)

    @functools.cached_property
    def tops(self) -> frozenset[int]:
        """The places of the basis elements that vanish when they are multiplied."""
        multiples = (
            (raised(monomial, parameter) for parameter in range(len(monomial)))
            for monomial in self.monomials
        )
        return frozenset(
            at for at, each in enumerate(multiples) if self.sums.keys().isdisjoint(each)
        )

    def factorial(self, place: int) -> int:
        """$γ!$, the factor from a Taylor coefficient to a derivative."""
        return math.prod(map(math.factorial, self.monomials[place]))

    @functools.cached_property
    def _table(self) -> tuple[tuple[ProductTerm, ...], ...]:
        """For each basis element the products of two nonconstant ones that contain it."""
        table: list[list[ProductTerm]] = [[] for _ in self.monomials]
        for i, first in enumerate(self.monomials):
            for j, second in enumerate(self.monomials):
                whole = tuple(a + b for a, b in zip(first, second, strict=True))
                for place, number in self.sums.get(whole, ()):
                    table[place].append((number, i, j))
        return tuple(map(tuple, table))

    def products(self, place: int) -> tuple[ProductTerm, ...]:
        """The products of two nonconstant basis elements that contain a basis element, in both
        orders: $[b] xy = Σ number · x_i y_j$.
        """
        return self._table[place]

    def powers(self, place: int, power: int) -> tuple[ProductTerm, ...]:
        """The products of $[b] δ^j = Σ number · δ_i [b_k] δ^{j−1}$, as few as possible.

        The square is symmetric. Higher powers use a derivation: by $D δ^j = j δ^{j−1} D δ$ only the
        $δ_i$ with a nonzero rate contribute. If all do, the plain product has smaller numbers. An
        element of depth less than j − 1 is in no product of j − 1 factors.
        """
        return _powers(self, place, power)

    def shares(self, place: int) -> tuple[float, ...]:
        """For each of `products` the first factor's share of the rate, by `derivation(place)`."""
        derivation = self.derivation(place)
        whole = self.rate(place, derivation)
        return tuple(self.rate(i, derivation) / whole for _, i, _ in self.products(place))

    def derivation(self, place: int) -> Exponents:
        """The weights of a derivation for which a basis element has a positive rate, the smallest
        possible; most other elements then have rate 0.
        """
        rates = ((self.rate(place, each), each) for each in self._derivations)
        return min((rate, each) for rate, each in rates if rate)[1]

    @functools.cached_property
    def _derivations(self) -> tuple[Exponents, ...]:
        """Weights of the grading for parameters that relations connect, and 0 for all others: t_i
        ∂_i for a parameter that is in no relation.
        """
        apart = [{parameter} for parameter in range(len(self.grading))]
        for monomial, terms in self.relations:
            for place, _ in terms:
                pairs = enumerate(zip(monomial, self.monomials[place], strict=True))
                changed = {parameter for parameter, (a, b) in pairs if a != b}
                together = changed.union(*(each for each in apart if each & changed))
                apart = [*(each for each in apart if not each & changed), together]
        return tuple(
            tuple(weight if i in each else 0 for i, weight in enumerate(self.grading))
            for each in apart
        )

    def rate(self, place: int, derivation: Exponents) -> int:
        """The factor by which a derivation multiplies a basis element."""
        return weighted_degree(derivation, self.monomials[place])

    @functools.cached_property
    def below(self) -> "Algebra":
        """The algebra without the tops: what has to be known of a factor that multiplies others."""
        kept = [place for place in range(len(self)) if place not in self.tops]
        now = {place: number for number, place in enumerate(kept)}
        relations = (
            (monomial, tuple((now[place], number) for place, number in terms if place in now))
            for monomial, terms in self.relations
        )
        monomials = tuple(self.monomials[place] for place in kept)
        return _of(monomials, tuple(each for each in relations if each[1]), self.grading)

    @functools.cached_property
    def free(self) -> "Algebra":
        """The algebra of all nonzero monomials, without relations. This one is a quotient of it:
        identities in the free algebra hold here as well, by `sums`.
        """
        return self if not self.relations else _closure(frozenset(self.sums))

    def derivative(self, parameter: int) -> "Algebra":
        """The algebra of a derivative with respect to one parameter, if there are no relations:
        $γ − e_i$ for each $γ$ with $γ_i > 0$.
        """
        lowered = (_lowered(monomial, parameter) for monomial in self.monomials)
        return _of(tuple(m for m in lowered if m is not None and any(m)))


@functools.cache
def _of(
    monomials: tuple[Exponents, ...],
    relations: tuple[tuple[Exponents, Combination], ...] = (),
    grading: Exponents = (),
) -> Algebra:
    """An algebra, checked once and then cached."""
    return Algebra(monomials, relations, grading)


@functools.cache
def _closure(maximal: frozenset[Exponents]) -> Algebra:
    kept = {
        divisor
        for monomial in maximal
        for divisor in itertools.product(*(range(power + 1) for power in monomial))
    }
    return _of(tuple(sorted(filter(any, kept), key=lambda monomial: (sum(monomial), monomial))))


@functools.cache
def units(parameters: int) -> tuple[Exponents, ...]:
    """The exponents of each single parameter."""
    return tuple(tuple(int(p == place) for p in range(parameters)) for place in range(parameters))


def weighted_degree(weights: Sequence[int], monomial: Exponents) -> int:
    return sum(weight * exponent for weight, exponent in zip(weights, monomial, strict=True))


def raised(monomial: Exponents, parameter: int) -> Exponents:
    """t^γ t_i."""
    return (*monomial[:parameter], monomial[parameter] + 1, *monomial[parameter + 1 :])


def _lowered(monomial: Exponents, parameter: int) -> Exponents | None:
    if not monomial[parameter]:
        return None
    return (*monomial[:parameter], monomial[parameter] - 1, *monomial[parameter + 1 :])


def _divided(monomial: Exponents) -> list[Exponents]:
    """The nonconstant monomials t^γ / t_i."""
    lowered = (_lowered(monomial, parameter) for parameter in range(len(monomial)))
    return [each for each in lowered if each is not None and any(each)]


@functools.cache
def _powers(algebra: Algebra, place: int, power: int) -> tuple[ProductTerm, ...]:
    products = algebra.products(place)
    if power == 2:
        return tuple((n if i == j else 2 * n, i, j) for n, i, j in products if i <= j)
    derivation = algebra.derivation(place)
    whole = algebra.rate(place, derivation)
    rates = [algebra.rate(i, derivation) for _, i, _ in products]
    fewer = not all(rates)
    return tuple(
        (n * power * rate / whole if fewer else n, i, j)
        for rate, (n, i, j) in zip(rates, products, strict=True)
        if algebra.depths[j] >= power - 1 and (rate or not fewer)
    )
