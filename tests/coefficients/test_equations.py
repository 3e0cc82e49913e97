"""Each way of solving an equation, beside all places one by one."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.coefficients.blocks import dense
from diffop.coefficients.coordinate import Coordinate
from diffop.coefficients.equations import solve_equations
from diffop.coefficients.index import Index
from diffop.coefficients.tied_product import TiedProduct, Unstructured
from diffop.taylor import Blocks, Range, Source, Table, Traced

from .blocks import Rng, flag, number, numbers

pytestmark = pytest.mark.usefixtures("x64")


class Given(NamedTuple):
    """Axes of some sizes, arrays at sums of them, equations between sums, and sums that come out.
    An index is a range, a table, or an array that is known when run, as a list.
    """

    sizes: list[int]
    arrays: list[tuple[np.ndarray, list[Coordinate]]]
    equations: list[tuple[Coordinate, Coordinate]]
    outputs: list[Coordinate]
    mask: tuple[np.ndarray, list[Coordinate]] | None = None

    def at(self, total: Coordinate, places: tuple[int, ...]) -> int:
        terms = total.terms.items()
        return total.const + sum(int(numbers(i, self.sizes[n])[places[n]]) for n, i in terms)

    @property
    def shape(self) -> tuple[int, ...]:
        every = [*itertools.product(*map(range, self.sizes))]
        return tuple(1 + max(self.at(total, places) for places in every) for total in self.outputs)

    def expected(self) -> np.ndarray:
        """Σ of the products of arrays over all places that fulfil the equations."""
        array = np.zeros(self.shape)
        for places in itertools.product(*map(range, self.sizes)):
            if any(
                self.at(left, places) != self.at(right, places) for left, right in self.equations
            ):
                continue
            product = 1.0
            masked = [] if self.mask is None else [self.mask]
            for values, sums in (*self.arrays, *masked):
                entry = tuple(self.at(total, places) for total in sums)
                inside = all(0 <= k < size for k, size in zip(entry, values.shape, strict=True))
                product *= values[entry] if inside else 0
            array[tuple(self.at(total, places) for total in self.outputs)] += product
        return array

    def solved(self, arrays: list[Any]) -> Any:
        product, sources = TiedProduct(), {}
        names = [product.new_axis(size) for size in self.sizes]

        def named(total: Coordinate) -> Coordinate:
            return Coordinate(
                total.const, {names[n]: _when_run(i, sources) for n, i in total.terms.items()}
            )

        for array, (_, sums) in zip(arrays, self.arrays, strict=True):
            product.add_array(array, [named(total) for total in sums])
        if self.mask is not None:
            product.add_mask(self.mask[0], [named(total) for total in self.mask[1]])
        for left, right in self.equations:
            product.equate(named(left), named(right))
        product.outputs = [named(total) for total in self.outputs]
        solve_equations(product)
        block = product.result(np.dtype("float64"))
        return dense(Blocks(() if block is None else (block,), self.shape), np.dtype("float64"))


class Later(NamedTuple):
    """Numbers that are known when run."""

    array: np.ndarray


def _when_run(index: Any, sources: dict[int, Source]) -> Index:
    if not isinstance(index, Later):
        return index
    low, high = int(index.array.min()), int(index.array.max())
    source = sources.setdefault(id(index.array), Source())
    return Traced(jnp.asarray(index.array), source, low, high)


def along(name, step=1, start=0):
    return Coordinate(start, {name: Range(0, step)})


def index_of(rng: Rng, size: int, high: int, kinds: str = "rtl") -> Any:
    """A range, a table, or what is known later, of numbers from about 0 to about `high`."""
    kind = kinds[number(rng, 0, len(kinds) - 1)]
    if kind == "r":
        return Range(number(rng, -1, 1), [-1, 1, 1, 2, 3][number(rng, 0, 4)])
    array = rng.integers(0, high + 1, size).astype(np.int32)
    if kind == "t" and size <= high and flag(rng):
        array = rng.permutation(high + 1)[:size].astype(np.int32)
    return Table(array) if kind == "t" else Later(array)


def carried(rng: Rng, sizes: list[int]) -> list[tuple[np.ndarray, list[Coordinate]]]:
    """Arrays along some of the axes."""
    some = [n for n in range(len(sizes)) if flag(rng)]
    arrays = [(rng.normal(size=[sizes[n] for n in some]), [along(n) for n in some])]
    if flag(rng):
        n = number(rng, 0, len(sizes) - 1)
        arrays.append((rng.normal(size=sizes[n]), [along(n)]))
    return arrays


def outputs(rng: Rng, sizes: list[int]) -> list[Coordinate]:
    return [along(n) for n in range(len(sizes)) if number(rng, 0, 2)] or [along(0)]


def match(rng):
    sizes = [number(rng, 1, 5), number(rng, 1, 5)]
    left = Coordinate(number(rng, -1, 2), {0: index_of(rng, sizes[0], 4, "rt")})
    right = Coordinate(0, {1: index_of(rng, sizes[1], 4, "rt")})
    return Given(sizes, carried(rng, sizes), [(left, right)], outputs(rng, sizes))


def keep(rng):
    """One axis, and a number."""
    sizes = [number(rng, 1, 5), 3]
    left = Coordinate(number(rng, -2, 2), {0: index_of(rng, sizes[0], 3)})
    given = [(left, Coordinate(number(rng, 0, 2), {}))]
    return Given(sizes, carried(rng, sizes), given, outputs(rng, sizes))


def numeral(names, sizes, factor=1):
    """Row-major numbers."""
    terms, step = {}, factor
    for n in reversed(names):
        terms[n] = Range(0, step)
        step *= sizes[n]
    return terms


def digits(rng):
    """Row-major numbers of two shapes are equal."""
    parts = [[2, 2, 3], [3, 2], [2, 4], [5], [6, 2]][number(rng, 0, 4)]
    before = [int(np.prod(part, dtype=int)) for part in np.array_split(parts, number(rng, 1, 2))]
    after = [int(np.prod(part, dtype=int)) for part in np.array_split(parts, number(rng, 1, 3))]
    sizes, split = [*before, *after], len(before)
    left, right = range(split), range(split, len(sizes))
    equation = (
        Coordinate(number(rng, 0, 1), numeral(left, sizes)),
        Coordinate(0, numeral(right, sizes)),
    )
    return Given(sizes, carried(rng, sizes), [equation], outputs(rng, sizes))


def divide(rng):
    """Row-major numbers, and those of an index that is known when run."""
    sizes = [number(rng, 2, 4), number(rng, 1, 4), number(rng, 2, 4)]
    row = sizes[2] - 1 if sizes[2] > 2 and flag(rng) else sizes[2]  # or there are more than a row
    steps = numeral([1, 2], [0, sizes[1], row])
    index = Later(rng.integers(-1, sizes[1] * sizes[2] + 1, sizes[0]).astype(np.int32))
    equation = Coordinate(number(rng, -1, 1), {0: index}), Coordinate(0, steps)
    if flag(rng):
        equation = equation[::-1]
    return Given(sizes, carried(rng, sizes), [equation], outputs(rng, sizes))


def substitution(rng):
    """As of a convolution: an entry at step times one place, and step times another."""
    sizes = [number(rng, 2, 6), number(rng, 1, 4), number(rng, 1, 4)]
    reached = Coordinate(
        number(rng, -2, 1), {1: Range(0, number(rng, 1, 2)), 2: index_of(rng, sizes[2], 3, "rrrl")}
    )
    equation = along(0, [1, 1, -1, 2][number(rng, 0, 3)], number(rng, 0, 2)), reached
    return Given(sizes, carried(rng, sizes), [equation], outputs(rng, sizes))


def fusion(rng):
    """Sums with tables on both sides."""
    sizes = [number(rng, 1, 3) for _ in range(4)]
    left = Coordinate(0, {n: index_of(rng, sizes[n], 2, "t") for n in (0, 1)})
    right = Coordinate(number(rng, 0, 1), {n: index_of(rng, sizes[n], 2, "tr") for n in (2, 3)})
    return Given(sizes, carried(rng, sizes), [(left, right)], outputs(rng, sizes))


def comparison(rng):
    """What is known when run, on both sides."""
    sizes = [number(rng, 1, 4), number(rng, 1, 4), number(rng, 1, 3)]
    left = Coordinate(0, {0: index_of(rng, sizes[0], 3, "l")})
    right = Coordinate(
        0, {n: index_of(rng, sizes[n], 2, "lt") for n in (1, 2)[: number(rng, 1, 2)]}
    )
    return Given(sizes, carried(rng, sizes), [(left, right)], outputs(rng, sizes))


def same_axis(rng):
    """On both sides, known, or one of them known when run."""
    sizes = [number(rng, 2, 5), number(rng, 1, 3)]
    left = Coordinate(0, {0: index_of(rng, sizes[0], 3)})
    right = Coordinate(number(rng, 0, 1), {0: index_of(rng, sizes[0], 3)})
    if flag(rng):
        right.terms[1] = index_of(rng, sizes[1], 2)
    return Given(sizes, carried(rng, sizes), [(left, right)], outputs(rng, sizes))


def several(rng):
    """Two equations, and sums of axes that come out; some places are masked."""
    sizes = [number(rng, 1, 4) for _ in range(4)]
    equations = []
    for _ in range(number(rng, 1, 2)):
        order = [int(n) for n in rng.permutation(4)]
        left, right = order[: number(rng, 1, 2)], order[2 : 2 + number(rng, 1, 2)]
        sides = [{n: index_of(rng, sizes[n], 3) for n in each} for each in (left, right)]
        equations.append((Coordinate(number(rng, -1, 1), sides[0]), Coordinate(0, sides[1])))
    out = [along(n, number(rng, 1, 2)) for n in range(3)]
    out[number(rng, 0, 2)].terms[3] = Range(0, 1)
    mask = None
    if flag(rng):
        n = number(rng, 0, 3)
        mask = rng.integers(0, 2, sizes[n]).astype(bool), [along(n)]
    return Given(sizes, carried(rng, sizes), equations, out, mask)


WAYS: dict[str, Callable[[Rng], Given]] = {
    f.__name__: f
    for f in (match, keep, digits, divide, substitution, fusion, comparison, same_axis, several)
}
CASES = 12


def compared(way: str, seeds: range) -> int:
    """How many are solved, and no array."""
    cases = [WAYS[way](np.random.default_rng([seed, *way.encode()])) for seed in seeds]
    arrays = [[np.asarray(array) for array, _ in case.arrays] for case in cases]

    def every(arrays):
        found = []
        for case, own in zip(cases, arrays, strict=True):
            try:
                found.append(case.solved(own))
            except Unstructured:
                found.append(None)
        return found

    found = jax.jit(every)(arrays)
    for case, array in zip(cases, found, strict=True):
        if array is not None:
            np.testing.assert_allclose(array, case.expected(), atol=1e-12, err_msg=str(case))
    return sum(array is not None for array in found)


@pytest.mark.parametrize("way", WAYS)
def test_equations(way):
    assert compared(way, range(CASES)) > CASES // 2


def test_what_is_too_large_is_an_array():
    """Two sums of as many places as no table is made for."""
    sizes = [2100, 2100, 2, 2]
    table = lambda size: Table(np.arange(size) ** 2 % 7)
    sides = [Coordinate(0, {n: table(sizes[n]) for n in pair}) for pair in ((0, 1), (2, 3))]
    product = TiedProduct()
    for size in sizes:
        product.new_axis(size)
    product.equate(*sides)
    product.outputs = [along(0)]
    with pytest.raises(Unstructured):
        solve_equations(product)
