"""Products of even power sums, such as Δ^m, as sums of powers of single directions.

P = Π_k Σ_i ∂_i^{p_k} with even p_k does not change where coordinates are exchanged or change their
sign. So directions are taken in whole orbits: all (±v_1, …, ±v_r) at all r of the d coordinates, up
to the common sign, with one weight for each orbit,

    P = Σ_v w_v Σ_{a ∈ orbit of v} (a·∇)^{2M},        2M = Σ_k p_k.

Both sides are sums of ∂^{2λ} over partitions λ of M with at most d parts, so that there is one
equation for each partition instead of one for each product of derivatives. An orbit of r nonzero
entries has no ∂^{2λ} of more than r parts, so the equations are solved from the longest partitions
down: as many orbits of r entries as there are partitions with r parts. The coefficients are

    [∂^{2λ}] Σ_a (a·∇)^{2M} = (2M)!/(2λ)! · 2^{r−1} Σ_π Π_i π_i^{2λ_i},

π over the different ways to lay out v and zeros on d coordinates. For Δ^m at d = 3 these are 9, 13,
25, 37, 61, 73 directions for m = 2, 3, …, 7, and O(d^m) for fixed m.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ..algebra.span import Span
from .directions import SparseRows
from .index_terms import PowerSum
from .point import Point
from .probes.base import Factors
from .weighted_jets import WeightedJets, terms_along

Parts: TypeAlias = tuple[int, ...]
"""Positive integers, descending: a partition, or the entries of a direction."""


def even_powers(factors: Factors, point: Point) -> WeightedJets | None:
    """The jets of a product of several even power sums over the same coordinates; None for others.

    **Arguments:**

    - `factors`: factors with their powers.
    - `point`: where, for the number of coordinates.

    **Returns:** powers of single directions with integer entries.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        (jets,) = do.PolyLaplacian(5).jets(jnp.ones(3))  # 37 directions
        ```
    """
    orders, (first, _) = _orders(factors), factors[0]
    if orders is None or not isinstance(first, PowerSum):
        return None
    coordinates = first.positions(point)
    orbits = _orbits(orders, len(coordinates))
    width = max((len(entries) for entries, _ in orbits), default=1)
    rows = [_directions(entries, len(coordinates)) for entries, _ in orbits]
    places = np.concatenate([_filled(where, width) for where, _ in rows])
    values = np.concatenate([_filled(entries, width) for _, entries in rows])
    weights = [np.full(len(each[0]), float(w)) for each, (_, w) in zip(rows, orbits, strict=True)]
    positions = np.where(values == 0, 0, np.asarray(coordinates)[places]).astype(np.int32)
    directions = {first.argnum: SparseRows(positions, values)}
    return terms_along([directions], np.concatenate(weights), (2 * sum(orders),))


def orbits_in_d(factors: Factors) -> tuple[Parts, ...]:
    """The entries of each orbit's directions where d is large; none for other products. A weight,
    which is a polynomial in d, may be 0 at some d: that of e_i in Δ² is at d = 4.
    """
    orders = _orders(factors)
    if orders is None:
        return ()
    large = range(sum(orders) + 1, sum(orders) + 4)
    return tuple(dict.fromkeys(v for d in large for v, _ in _orbits(orders, d)))


def size_in_d(orbits: Sequence[Parts]) -> str:
    """How many directions there are, as a formula: 2^{r−1} signs of r entries, laid out on r of d
    coordinates in all different ways.
    """
    number: Counter[int] = Counter()
    for entries in orbits:
        repeats = math.prod(map(math.factorial, Counter(entries).values()))
        number[len(entries)] += 2 ** (len(entries) - 1) * math.factorial(len(entries)) // repeats
    return " + ".join(
        ("" if n == 1 else str(n)) + ("d" if r == 1 else f"C(d, {r})")
        for r, n in sorted(number.items())
    )


def _orders(factors: Factors) -> Parts | None:
    """Half the orders of a product of several even power sums over the same coordinates; None for
    others.
    """
    first, orders = factors[0][0], list[int]()
    for factor, power in factors:
        if not isinstance(first, PowerSum) or not isinstance(factor, PowerSum):
            return None
        if factor.power % 2 or (factor.argnum, factor.dims) != (first.argnum, first.dims):
            return None
        orders += [factor.power // 2] * power
    return tuple(sorted(orders))


@functools.cache
def _orbits(orders: Parts, d: int) -> tuple[tuple[Parts, Fraction], ...]:
    """The entries of each orbit's directions, and its weight."""
    half = sum(orders)
    found: list[tuple[Parts, Fraction]] = []
    for length in range(min(half, d), 0, -1):
        partitions = list(_partitions(half, length))
        rest = {
            part: Fraction(_multiplicity(orders, part))
            - sum(w * _coefficient(v, part, d) for v, w in found)
            for part in partitions
        }
        found += _solved(rest, d)
    return tuple((v, w) for v, w in reversed(found) if w)


def _solved(target: dict[Parts, Fraction], d: int) -> list[tuple[Parts, Fraction]]:
    """Orbits of as many entries as the partitions have parts, short vectors first."""
    vectors = _vectors(len(next(iter(target))))
    chosen = list(itertools.islice(vectors, len(target) - 1))
    solution = None
    while solution is None:
        chosen.append(next(vectors))
        columns = ({part: Fraction(_coefficient(v, part, d)) for part in target} for v in chosen)
        solution = Span(zip(chosen, columns, strict=True)).coordinates(target)
    return [(v, solution.get(v, Fraction(0))) for v in chosen]


def _partitions(total: int, length: int, largest: int | None = None) -> Iterator[Parts]:
    """Descending positive integers, so many, with this sum."""
    if length == 0:
        if total == 0:
            yield ()
        return
    most = total - length + 1 if largest is None else min(largest, total - length + 1)
    for first in range(most, 0, -1):
        for rest in _partitions(total - first, length - 1, first):
            yield (first, *rest)


def _vectors(length: int) -> Iterator[Parts]:
    """Descending positive entries without a common divisor, short vectors first."""
    for square in itertools.count(length):
        for entries in _with_square(square, length, math.isqrt(square)):
            if math.gcd(*entries) == 1:
                yield entries


def _with_square(square: int, length: int, largest: int) -> Iterator[Parts]:
    """Descending positive entries with this sum of squares."""
    if length == 0:
        if square == 0:
            yield ()
        return
    for first in range(min(largest, math.isqrt(max(square, 0))), 0, -1):
        for rest in _with_square(square - first**2, length - 1, first):
            yield (first, *rest)


@functools.cache
def _multiplicity(orders: Parts, parts: Parts) -> int:
    """The coefficient of Π_i y_i^{parts_i} in Π_k Σ_i y_i^{orders_k}."""
    if not orders:
        return int(not any(parts))
    first, rest = orders[0], orders[1:]
    return sum(
        _multiplicity(rest, tuple(sorted((*parts[:i], part - first, *parts[i + 1 :]))))
        for i, part in enumerate(parts)
        if part >= first
    )


def _coefficient(entries: Parts, parts: Parts, d: int) -> int:
    """The coefficient of ∂^{2 parts} in the sum over an orbit."""
    ways = math.factorial(2 * sum(parts))
    for part in parts:
        ways //= math.factorial(2 * part)
    return ways * 2 ** (len(entries) - 1) * _laid_out(entries, parts, d)


@functools.cache
def _laid_out(entries: Parts, parts: Parts, d: int) -> int:
    """Σ Π_i π_i^{2 parts_i} over the different ways π to lay out entries and zeros on d places."""
    if not parts:
        repeats = (*Counter(entries).values(), d - len(entries))
        return math.factorial(d) // math.prod(map(math.factorial, repeats))
    return sum(
        entry ** (2 * parts[0]) * _laid_out(_without(entries, entry), parts[1:], d - 1)
        for entry in set(entries)
    )


def _without(entries: Parts, entry: int) -> Parts:
    place = entries.index(entry)
    return entries[:place] + entries[place + 1 :]


def _directions(entries: Parts, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The places and the values of all directions of an orbit, one for each pair ±a."""
    length = len(entries)
    places = np.array(list(itertools.combinations(range(d), length)))
    orders = np.array(sorted(set(itertools.permutations(entries)), reverse=True))
    signs = np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=length - 1)])
    values = (orders[:, None] * signs[None]).reshape(-1, length)
    return np.repeat(places, len(values), axis=0), np.tile(values, (len(places), 1))


def _filled(array: np.ndarray, width: int) -> np.ndarray:
    """Rows with zeros at the end."""
    return np.pad(array, ((0, 0), (0, width - array.shape[1])))
