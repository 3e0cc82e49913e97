"""What the coefficients of a jet contain, in exact arithmetic.

Push x(t) = x + Σ_β v_β t^β / β! through u, with one parameter t or several. Which derivatives of u
are in ∂_t^γ u(x(t)) at t = 0? Write ξ for the symbol of ∇. Taylor's theorem says u(x + δ) =
exp(δ·ξ) u, so

    Σ_γ B_γ t^γ / γ! = exp(Σ_β (v_β·ξ) t^β / β!),        B_γ a polynomial in ξ:

B_γ(∇) u is the output. Differentiation with respect to a parameter t_i that γ contains gives the
recurrence

    B_γ = Σ_{β ≤ γ, β_i > 0} C(γ − e_i, β − e_i) (v_β·ξ) B_{γ−β},        B_0 = 1,

where C is a product of binomial coefficients. For one parameter these are the complete Bell
polynomials, and their coefficients are the prefactors of Faà di Bruno's formula: the number of ways
to divide k things into blocks of given sizes. For example v_2 = e_i, v_3 = e_j gives B_7 = 105
ξ_i² ξ_j: the only way to write 7 with twos and threes is 2 + 2 + 3.
"""

import functools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, final

from ..algebra.algebra import Exponents
from ..notation import variable_symbol
from ..scalars import plain

Direction: TypeAlias = tuple[tuple[Hashable, int], ...]
"""Σ a e_variable, as pairs (variable, a)."""
Pattern: TypeAlias = tuple[tuple[Exponents, Direction], ...]
"""Tangents: for each β its direction v_β."""
Alpha: TypeAlias = tuple[tuple[Hashable, int], ...]
"""A mixed derivative ∂^α, as pairs (variable, order), sorted."""


def alpha_of(derivative: Any) -> Alpha:
    """A mixed derivative from a mapping {variable: order} or a word of variables, such as "xxy"."""
    orders: dict[Hashable, int] = {}
    if isinstance(derivative, Mapping):
        orders = {plain(variable): order for variable, order in derivative.items() if order}
    else:
        for variable in map(plain, derivative):
            orders[variable] = orders.get(variable, 0) + 1
    return tuple(sorted(orders.items(), key=_rank))


def word_of(alpha: Alpha) -> tuple[Hashable, ...]:
    """A mixed derivative as a word of variables, the inverse of `alpha_of`."""
    return tuple(variable for variable, order in alpha for _ in range(order))


def _rank(item: tuple[Hashable, int]) -> tuple[str, Any]:
    """Variables of one kind in their own order, kinds apart."""
    return type(item[0]).__name__, item[0]


def alpha_text(alpha: Alpha) -> str:
    """∂₀²∂₁, or ∂_x²∂_y."""
    return "".join(variable_symbol(variable, order) for variable, order in alpha) or "I"


def sum_text(terms: Iterable[tuple[int | Fraction, str]]) -> str:
    """A sum of things with numbers, as mathematics writes it."""
    parts = [what if number == 1 else f"{number} {what}" for number, what in terms]
    return " + ".join(parts).replace("+ -", "− ")


@final
class Expansion(Mapping[Alpha, int]):
    """A sum of mixed derivatives with integer coefficients: the contents of an output of a jet.

    It is a mapping from $∂^α$ to its coefficient. Look it up with a mapping {variable: order}, or
    with a word of variables. It prints as mathematics.

    !!! example

        ```python
        import diffop as do

        order_7 = do.schemes.expand({2: "i", 3: "j"}, 7)
        order_7["iij"], str(order_7)  # 105, "105 ∂_i²∂_j"
        ```
    """

    def __init__(self, terms: Mapping[Alpha, int]) -> None:
        self._terms = {alpha: n for alpha, n in terms.items() if n}

    def __getitem__(self, derivative: Any) -> int:
        if isinstance(derivative, tuple) and derivative in self._terms:
            return self._terms[derivative]
        return self._terms[alpha_of(derivative)]

    def __iter__(self) -> Iterator[Alpha]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def __repr__(self) -> str:
        return sum_text((n, alpha_text(alpha)) for alpha, n in self._terms.items()) or "0"


def expand(pattern: Mapping[Any, Any], order: int | Iterable[int]) -> Expansion:
    """The derivatives of u in one output coefficient of a jet with given tangents, exactly.

    **Arguments:**

    - `pattern`: for each order k the tangent $v_k$, as the k-th derivative of the curve: a variable
        for its basis vector, or a mapping {variable: integer}. Variables are any names or
        coordinates. For jets with several parameters, exponents $(k_1, …, k_m)$ replace k.
    - `order`: which output, as $d^k/dt^k$ at 0: k, or exponents.

    **Returns:**

    The [`diffop.schemes.Expansion`][] of that derivative.

    **Raises:** `ValueError` for an order below one, or exponents that differ in length.

    Source: STDE, equation `eqn:faa-di-bruno-multi`; computed by Bell polynomials.

    !!! example

        ```python
        import diffop as do

        do.schemes.expand({1: "x", 2: "y"}, 4)  # ∂_x⁴ + 6 ∂_x²∂_y + 3 ∂_y²
        do.schemes.expand({(1, 0): "x", (0, 1): "y"}, (3, 1))  # ∂_x³∂_y
        ```
    """
    tangents = pattern_of(pattern)
    exponents = exponents_of(order, tangents)
    return Expansion(dict(bell(tangents, exponents)))


def pattern_of(pattern: Mapping[Any, Any]) -> Pattern:
    """Tangents in canonical form."""
    if not isinstance(pattern, Mapping) or not pattern:
        raise ValueError(
            "a pattern of tangents must be a mapping from orders to directions, such as "
            f"{{2: 'x', 3: 'y'}}; got {pattern!r}."
        )
    tangents = tuple(sorted((exponents_of(k), direction_of(v)) for k, v in pattern.items()))
    if len({len(exponents) for exponents, _ in tangents}) > 1:
        raise ValueError(
            f"the tangents of a jet must have the same parameters; got {[k for k, _ in tangents]}."
        )
    return tangents


def exponents_of(order: Any, tangents: Pattern | None = None) -> Exponents:
    """An order k as (k,), exponents unchanged."""
    exponents = tuple(order) if isinstance(order, Iterable) else (order,)
    whole = all(hasattr(k, "__index__") and k >= 0 for k in exponents)
    if not whole or not any(exponents):
        raise ValueError(
            "an order of a jet must be a positive integer, or a tuple of exponents that are not "
            f"all zero; got {order!r}."
        )
    if tangents is not None and len(exponents) != len(tangents[0][0]):
        raise ValueError(
            f"an order of this jet must have {len(tangents[0][0])} exponent(s), one for each "
            f"parameter; got {order!r}."
        )
    return tuple(k.__index__() for k in exponents)


def direction_of(direction: Any) -> Direction:
    """A direction from a mapping {variable: integer}, or from a variable for its basis vector."""
    if not isinstance(direction, Mapping):
        return ((plain(direction), 1),)
    entries = {plain(variable): plain(a) for variable, a in direction.items() if a}
    if not all(isinstance(a, int) for a in entries.values()):
        raise ValueError(f"the entries of a direction must be integers; got {direction!r}.")
    return tuple(sorted(entries.items(), key=_rank))


@functools.cache
def bell(pattern: Pattern, exponents: Exponents) -> tuple[tuple[Alpha, int], ...]:
    """B_γ, as pairs (α, coefficient)."""
    if not any(exponents):
        return (((), 1),)
    parameter = next(p for p, exponent in enumerate(exponents) if exponent)
    result: dict[Alpha, int] = {}
    for tangent, direction in pattern:
        if not tangent[parameter] or any(a > b for a, b in zip(tangent, exponents, strict=True)):
            continue
        ways = math.prod(
            math.comb(b - (p == parameter), a - (p == parameter))
            for p, (a, b) in enumerate(zip(tangent, exponents, strict=True))
        )
        rest = tuple(b - a for a, b in zip(tangent, exponents, strict=True))
        for alpha, number in bell(pattern, rest):
            for variable, entry in direction:
                longer = _times(alpha, variable)
                result[longer] = result.get(longer, 0) + ways * number * entry
    return tuple((alpha, number) for alpha, number in result.items() if number)


@functools.cache
def _times(alpha: Alpha, variable: Hashable) -> Alpha:
    orders = dict(alpha)
    orders[variable] = orders.get(variable, 0) + 1
    return tuple(sorted(orders.items(), key=_rank))
