"""Which derivatives a jet carries: monomials of its parameters, closed under division.

A curve x(t) has one parameter and carries the orders 1 … K. A jet with several parameters,

    x(t) = x + Σ_γ v_γ t^γ / γ!,        t = (t_1, …, t_m),

carries one Taylor coefficient for each monomial t^γ that is kept. Any set of monomials will do that
holds the divisors of its members: what it leaves out is an ideal, so sums and products of such
series are computed from the coefficients that are kept. With v_{e_j} = y_j and no other tangents
the coefficient of t^γ is Π_j (y_j·∇)^{γ_j} u / γ!, a mixed derivative by itself. So the set {t_1,
t_1², t_2, t_1 t_2, t_1² t_2} is a jet of order one of a jet of order two, in one pass.

A maximal monomial divides no other one that is kept: no product has a nonconstant factor besides
it, so its coefficient enters every rule linearly. That is what allows its weighted sum over
directions to be carried in its stead (the collapse).
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable
from typing import TypeAlias, final

Exponents: TypeAlias = tuple[int, ...]
Product: TypeAlias = tuple[int | float, int, int]
"""A number and the places of two factors."""


@final
@dataclasses.dataclass(frozen=True)
class Truncation:
    """A set of monomials without the constant one, closed under division.

    **Arguments:**

    - `monomials`: their exponents $γ$, ascending in total degree. `Truncation.closure` makes them
        from the maximal ones.

    **Raises:** `ValueError` where a divisor is missing, or a monomial stands before its divisors.

    !!! example

        ```python
        import diffop as do

        do.taylor.Truncation.closure([(2, 1)]).monomials  # (0,1), (1,0), (1,1), (2,0), (2,1)
        ```
    """

    monomials: tuple[Exponents, ...]

    def __post_init__(self) -> None:
        seen: set[Exponents] = set()
        for monomial in self.monomials:
            missing = [divisor for divisor in _divided(monomial) if divisor not in seen]
            if missing or not sum(monomial):
                found = f"{missing} before {monomial}" if missing else "the constant one"
                raise ValueError(
                    "a truncation holds nonconstant monomials, each behind all its divisors; got "
                    f"{self.monomials}, "
                    + (
                        f"without {found}. Truncation.closure adds what is missing."
                        if missing
                        else f"with {found}."
                    )
                )
            seen.add(monomial)

    @classmethod
    def curve(cls, order: int) -> "Truncation":
        """The orders 1 … K of one parameter."""
        return _curve(order)

    @classmethod
    def closure(cls, maximal: Iterable[Exponents]) -> "Truncation":
        """The monomials that divide one of these."""
        return _closure(frozenset(maximal))

    def __len__(self) -> int:
        return len(self.monomials)

    @functools.cached_property
    def places(self) -> dict[Exponents, int]:
        """Where each monomial stands."""
        return {monomial: place for place, monomial in enumerate(self.monomials)}

    @functools.cached_property
    def degree(self) -> int:
        """The largest total degree."""
        return max(map(sum, self.monomials), default=0)

    @functools.cached_property
    def tops(self) -> frozenset[int]:
        """The places of the maximal monomials."""
        divisors = {divisor for monomial in self.monomials for divisor in _divided(monomial)}
        return frozenset(self.places[m] for m in self.monomials if m not in divisors)

    @property
    def is_curve(self) -> bool:
        """Whether there is one parameter."""
        return not self.monomials or len(self.monomials[0]) == 1

    def factorial(self, place: int) -> int:
        """$γ!$: a derivative is so many Taylor coefficients."""
        return math.prod(map(math.factorial, self.monomials[place]))

    def products(self, place: int) -> tuple[Product, ...]:
        """The products of two nonconstant monomials that are $t^γ$, in both orders."""
        return _products(self, place)

    def powers(self, place: int, power: int) -> tuple[Product, ...]:
        """The products of $[t^γ] δ^j = Σ δ_α [t^{γ−α}] δ^{j−1}$, as few as there can be.

        The square is symmetric. For higher powers differentiate by a parameter:
        $γ_i [t^γ] δ^j = j Σ_α α_i δ_α [t^{γ−α}] δ^{j−1}$, where only those $α$ count that contain
        the parameter. With one parameter all of them do, and the plain product has smaller numbers.
        """
        return _powers(self, place, power)

    def shares(self, place: int) -> tuple[Product, ...]:
        """`products` with the first factor's share of one parameter's exponent, $α_i/γ_i$: for the
        parameter that makes most of them zero.
        """
        return _shares(self, place)

    def parameter(self, place: int) -> int:
        """The one that `shares` are of: with the smallest exponent of those in a monomial."""
        return _least(self.monomials[place])

    @functools.cached_property
    def below(self) -> "Truncation":
        """All but the maximal monomials: what a factor of these is known to."""
        return _of(tuple(m for i, m in enumerate(self.monomials) if i not in self.tops))

    def derivative(self, parameter: int) -> "Truncation":
        """What a derivative by one parameter is known to: $γ − e_i$ for each $γ$ with $γ_i > 0$."""
        lowered = (_lowered(monomial, parameter) for monomial in self.monomials)
        return _of(tuple(m for m in lowered if m is not None and any(m)))


@functools.cache
def _of(monomials: tuple[Exponents, ...]) -> Truncation:
    """A truncation, checked once, however often it is asked for."""
    return Truncation(monomials)


@functools.cache
def _curve(order: int) -> Truncation:
    return _of(tuple((k,) for k in range(1, order + 1)))


@functools.cache
def _closure(maximal: frozenset[Exponents]) -> Truncation:
    kept = {
        divisor
        for monomial in maximal
        for divisor in itertools.product(*(range(power + 1) for power in monomial))
    }
    return _of(tuple(sorted(filter(any, kept), key=lambda monomial: (sum(monomial), monomial))))


def _lowered(monomial: Exponents, parameter: int) -> Exponents | None:
    if not monomial[parameter]:
        return None
    return (*monomial[:parameter], monomial[parameter] - 1, *monomial[parameter + 1 :])


def _divided(monomial: Exponents) -> list[Exponents]:
    """The nonconstant monomials t^γ / t_i."""
    lowered = (_lowered(monomial, parameter) for parameter in range(len(monomial)))
    return [each for each in lowered if each is not None and any(each)]


@functools.cache
def _products(truncation: Truncation, place: int) -> tuple[Product, ...]:
    whole, places = truncation.monomials[place], truncation.places
    result = []
    for first, monomial in enumerate(truncation.monomials):
        rest = _quotient(whole, monomial)
        if rest in places:
            result.append((1, first, places[rest]))
    return tuple(result)


def _quotient(whole: Exponents, part: Exponents) -> Exponents:
    return tuple(a - b for a, b in zip(whole, part, strict=True))


@functools.cache
def _powers(truncation: Truncation, place: int, power: int) -> tuple[Product, ...]:
    whole, monomials = truncation.monomials[place], truncation.monomials
    products = _products(truncation, place)
    if power == 2:
        return tuple((2 if i < j else 1, i, j) for _, i, j in products if i <= j)
    present = [parameter for parameter, exponent in enumerate(whole) if exponent]
    least = _least(whole)
    weights = [power * monomials[i][least] / whole[least] for _, i, _ in products]
    return tuple(
        (weight if len(present) > 1 else 1, i, j)
        for weight, (_, i, j) in zip(weights, products, strict=True)
        if sum(monomials[j]) >= power - 1 and (weight or len(present) == 1)
    )


@functools.cache
def _shares(truncation: Truncation, place: int) -> tuple[Product, ...]:
    whole, monomials = truncation.monomials[place], truncation.monomials
    least = _least(whole)
    return tuple(
        (monomials[i][least] / whole[least], i, j) for _, i, j in _products(truncation, place)
    )


def _least(monomial: Exponents) -> int:
    """The parameter with the smallest exponent of those that a monomial contains."""
    present = [parameter for parameter, exponent in enumerate(monomial) if exponent]
    return min(present, key=lambda parameter: monomial[parameter])
