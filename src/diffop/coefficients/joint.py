"""Products of arrays whose places are tied together by equations between sums of indices.

Every linear or bilinear map of blocks has this form. A slice says i = start + stride · o, a gather
i = table[o], a reshape equates row-major numbers, a convolution says i = stride · o + k − pad, and
a product says that two entries are one. Equations are solved one by one, the easiest first. Each
solution expresses an axis by others, or keeps the places that satisfy the equation:

- *match*: one axis on each side. The places that agree are known, and the axes become one.
- *digits*: all steps are multiples of some q, except those that add up to less. Both parts agree.
- *substitution*: an axis with step one, alone on its side, is the sum of the others. Values along
    it are looked up there; places outside are masked.
- *fusion*: several axes become one with a table, which is then a match.
- *comparison*: a mask, if numbers are known only at run time.

If the solution would be too large, `Unstructured` is raised, and the coefficient becomes an array.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import jax.numpy as jnp
import numpy as np

from ..arrays import at_run_time
from .block import Axis, Block
from .index import Index, Range, Table, Traced, known, places_of, plus, taken
from .operands import Operand, contracted, laid

_MOST = 1 << 22
"""The largest number of places of tables and masks."""


class Unstructured(Exception):
    """There are no blocks that would be smaller than an array."""


@final
class Sum(NamedTuple):
    """A coordinate: a number plus an index of each of some axes."""

    const: int
    terms: dict[int, Index]

    def scaled(self, factor: int, shift: int = 0) -> "Sum":
        terms = {n: index.scaled(factor, 0) for n, index in self.terms.items()}
        return Sum(factor * self.const + shift, terms)


def along(name: int, step: int = 1, start: int = 0) -> Sum:
    return Sum(start, {name: Range(0, step)})


@final
class Joint:
    """A product of operands over named axes with some `sizes`, and the equations between their
    coordinates.
    """

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.operands: list[Operand] = []
        self.masks: list[Operand] = []
        self.equations: list[tuple[Sum, Sum]] = []
        self.outputs: list[Sum] = []
        self.number: float | int = 1
        self.empty = False
        self._fresh = itertools.count()

    def axis(self, size: int) -> int:
        """A new axis."""
        name = next(self._fresh)
        self.sizes[name] = size
        return name

    def block(self, block: Block) -> list[Sum]:
        """Adds a block as an operand, and returns its coordinates."""
        names = [self.axis(axis.size) for axis in block.axes]
        self.number *= block.factor
        if block.values is not None:
            shape = jnp.shape(block.values)
            spread = [i for i, size in enumerate(shape) if size == 1]
            array = jnp.squeeze(block.values, spread) if spread else block.values
            self.operands.append(
                Operand(array, tuple(n for i, n in enumerate(names) if i not in spread))
            )
        coordinates = []
        for c, first in enumerate(block.origin):
            adds = [(n, axis.adds[c]) for n, axis in zip(names, block.axes, strict=True)]
            terms = {n: index for n, index in adds if index is not None}
            coordinates.append(self._normal(Sum(first, terms)))
        return coordinates

    def array(self, array: Any, coordinates: Sequence[Sum]) -> None:
        """Adds an array as an operand; its places along each axis are given by sums."""
        shape = jnp.shape(array)
        spread = [i for i, size in enumerate(shape) if size == 1]
        names = [self.axis(size) for size in shape if size != 1]
        wide = [each for i, each in enumerate(coordinates) if i not in spread]
        self.operands.append(Operand(jnp.squeeze(array, spread) if spread else array, tuple(names)))
        for name, coordinate in zip(names, wide, strict=True):
            self.equate(along(name), coordinate)

    def mask(self, array: Any, coordinates: Sequence[Sum]) -> None:
        """Adds a condition that has to hold at some places."""
        self.array(array, coordinates)
        self.masks.append(self.operands.pop())

    def equate(self, left: Sum, right: Sum) -> None:
        self.equations.append((left, right))

    # solving

    def solve(self) -> None:
        """Solves all equations."""
        while self.equations and not self.empty and 0 not in self.sizes.values():
            self.equations = [self._simple(*each) for each in self.equations]
            easiest = min(self.equations, key=_difficulty)
            self.equations.remove(easiest)
            self._solve(*easiest)

    def _simple(self, left: Sum, right: Sum) -> tuple[Sum, Sum]:
        """The same equation with each axis on one side only, and numbers on the left."""
        left, right = self._normal(left), self._normal(right)
        mine, other = dict(left.terms), dict(right.terms)
        for name in set(mine) & set(other):
            first, second = mine[name], other.pop(name)
            del mine[name]
            if first == second:
                continue
            if first.is_traced or second.is_traced:
                mine[name], other[name] = first, second
                continue
            mine[name] = plus(first, second.scaled(-1, 0), self.sizes[name])
        total = self._normal(Sum(left.const - right.const, mine))
        return total, Sum(0, other)

    def _normal(self, total: Sum) -> Sum:
        """A sum without indices that are constant along their axis."""
        const, terms = total
        kept: dict[int, Index] = {}
        for name, index in terms.items():
            size = self.sizes[name]
            if isinstance(index, Range):
                const, index = const + index.start, Range(0, index.step)
                if index.step and size > 1:
                    kept[name] = index
            elif isinstance(index, Table) and size == 1:
                const += int(index.array[0])
            else:
                kept[name] = index
        return Sum(const, kept)

    def _solve(self, left: Sum, right: Sum) -> None:
        names = [*left.terms, *(n for n in right.terms if n not in left.terms)]
        if not names:
            self.empty = self.empty or left.const != 0
            return
        static = not any(i.is_traced for s in (left, right) for i in s.terms.values())
        if len(names) == 1:
            return self._keep(names[0], left, right) if static else self._compare(left, right)
        if static and len(names) == 2:
            total = _difference(left, right)
            (x, ix), (y, iy) = total.terms.items()
            return self._match(x, ix.scaled(1, total.const), y, iy.scaled(-1, 0))
        shared = set(left.terms) & set(right.terms)
        solved = not shared and any(
            way(_difference(left, right))
            for way in (self._digits, self._divide, self._look_up, self._substitute)
        )
        if not solved:
            self._fuse(left, right) if static else self._compare(left, right)
        return None

    def _keep(self, name: int, left: Sum, right: Sum) -> None:
        """Keeps the places along one axis that satisfy an equation."""
        (index,) = _difference(left, right).terms.values()
        if isinstance(index, Range):
            place, rest = divmod(-left.const, index.step)
            if rest or not 0 <= place < self.sizes[name]:
                self.empty = True
            else:
                self._take(name, Range(place), 1)
            return
        places = np.flatnonzero(index.numbers(self.sizes[name]) == -left.const)
        self.empty = self.empty or places.size == 0
        if places.size:
            self._take(name, known(places), places.size)

    def _match(self, x: int, ix: Index, y: int, iy: Index) -> None:
        """Makes one axis of two: the places at which their numbers agree."""
        of_x, of_y, size = self._places(x, ix, y, iy)
        if size == 0:
            self.empty = True
            return
        self._take(x, of_x, size)
        self._take(y, of_y, size)
        self._unify(y, x)

    def _places(self, x: int, ix: Index, y: int, iy: Index) -> tuple[Index, Index, int]:
        nx, ny = self.sizes[x], self.sizes[y]
        if isinstance(ix, Range) and (ix, nx) == (iy, ny):
            return Range(), Range(), nx
        first, second = ix.numbers(nx), iy.numbers(ny)
        ways = [(first, iy, ny, False), (second, ix, nx, True)]
        for numbers, index, size, flip in ways[::-1] if isinstance(ix, Range) else ways:
            assert not isinstance(index, Traced)
            places = places_of(numbers, index, size)
            if places is not None:
                there = np.flatnonzero(places >= 0)
                own, other = known(there), known(places[there])
                return (other, own, there.size) if flip else (own, other, there.size)
        order = np.argsort(second, kind="stable")
        starts = np.searchsorted(second[order], first, "left")
        counts = np.searchsorted(second[order], first, "right") - starts
        if counts.sum() > 4 * (nx + ny):
            raise Unstructured
        of_x = np.repeat(np.arange(nx), counts)
        rank = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return known(of_x), known(order[np.repeat(starts, counts) + rank]), int(counts.sum())

    def _digits(self, total: Sum) -> bool:
        """Σ high + Σ low = 0, with high multiples of q and low smaller than q: both are 0."""
        steps = _steps(total)
        if steps is None:
            return False
        for q in sorted({abs(step) for step in steps.values() if abs(step) > 1}, reverse=True):
            low = {n: step for n, step in steps.items() if step % q}
            high = {n: step // q for n, step in steps.items() if step % q == 0}
            for rest in (total.const % q, total.const % q - q):
                least, most = self._bounds(Sum(rest, _ranges(low)))
                if low and -q < least and most < q:
                    self.equations.append(_sided(rest, low))
                    self.equations.append(_sided((total.const - rest) // q, high))
                    return True
        return False

    def _divide(self, total: Sum) -> bool:
        """The same if a number known only at run time stands on one side: it is divided by q."""
        traced = [n for n, index in total.terms.items() if index.is_traced]
        steps = _steps(Sum(0, {n: i for n, i in total.terms.items() if n not in traced}))
        if len(traced) != 1 or not steps or len({step > 0 for step in steps.values()}) > 1:
            return False
        sign = -1 if min(steps.values()) > 0 else 1  # index = Σ of the others
        index = total.terms[traced[0]].scaled(sign, sign * total.const)
        steps = {n: abs(step) for n, step in steps.items()}
        units = [n for n, step in steps.items() if step == 1]
        q = min((step for step in steps.values() if step > 1), default=0)
        rest = [step for step in steps.values() if step > 1]
        if len(units) > 1 or not q or any(step % q for step in rest):
            return False
        assert isinstance(index, Traced)
        whole, below = index.divided(q)
        lowest = Sum(0, {})
        for unit in units:
            del steps[unit]
            if self.sizes[unit] > q:
                if not self._is_free(unit):
                    return False
                high, unit = self._split(unit, q)
                steps[high] = q
            lowest = along(unit)
        self.equate(Sum(0, {traced[0]: below}), lowest)
        above = {n: step // q for n, step in steps.items()}
        self.equate(Sum(0, {traced[0]: whole}), Sum(0, _ranges(above)))
        return True

    def _look_up(self, total: Sum) -> bool:
        """The same if the other side is a table without repetitions."""
        if len(total.terms) != 2:
            return False
        (y, table), (x, index) = sorted(total.terms.items(), key=lambda term: term[1].is_traced)
        if not isinstance(table, Table) or not isinstance(index, Traced):
            return False
        index = index.scaled(-1, -total.const)
        places = places_of(np.arange(index.low, index.high + 1), table, self.sizes[y])
        if places is None:
            return False
        place = taken(known(places), index.scaled(1, -index.low), self.sizes[x])
        self.equate(Sum(0, {x: place}), along(y))
        return True

    def _substitute(self, total: Sum) -> bool:
        """x = Σ of the others, for an axis x of step one."""
        found = []
        for name, index in total.terms.items():
            if not (isinstance(index, Range) and abs(index.step) == 1):
                continue
            rest = Sum(total.const, {n: i for n, i in total.terms.items() if n != name})
            expression, carried = rest.scaled(-index.step), self._is_carried(name)
            several = len(rest.terms) > 1
            if several and not self._is_free(name):
                continue
            least, most = self._bounds(expression)
            inside = 0 <= least and most < self.sizes[name]
            filled = self.sizes[name] / (most - least + 1)
            if several and 2 * filled < 1:
                continue
            found.append((not inside, carried, -filled, name, expression))
        if not found:
            return False
        outside, carried, _, name, expression = min(found, key=lambda each: each[:3])
        windows = carried and len(expression.terms) > 1 and _steps(expression) is not None
        if outside and not windows:  # windows already have zeros around
            size = self.sizes[name]
            self._mask(expression, lambda numbers: (numbers >= 0) & (numbers < size))
            expression = _within(expression, size - 1)
        self._name_by(name, expression)
        return True

    def _fuse(self, left: Sum, right: Sum) -> None:
        """Makes one axis of each side, with tables."""
        self.equate(left, right)
        for side in (left, right):
            if len(side.terms) > 1:
                self._fused(tuple(side.terms))

    def _compare(self, left: Sum, right: Sum) -> None:
        names = {**left.terms, **right.terms}
        self._mask_of(names, self._numbers(left, names) == self._numbers(right, names))

    # changes of all operands, masks and equations

    def _each_sum(self, function: Callable[[Sum], Sum]) -> None:
        self.outputs = [function(total) for total in self.outputs]
        self.equations = [(function(left), function(right)) for left, right in self.equations]

    def _each_operand(self, function: Callable[[Operand], Operand]) -> None:
        self.operands = [function(each) for each in self.operands]
        self.masks = [function(each) for each in self.masks]

    def _take(self, name: int, index: Index, size: int) -> None:
        """Replaces an axis by its places at an index."""
        if index == Range() and size == self.sizes[name]:
            return
        self._each_operand(lambda each: each.taken(name, index, size))

        def change(total: Sum) -> Sum:
            if name not in total.terms:
                return total
            return Sum(total.const, {**total.terms, name: taken(total.terms[name], index, size)})

        self._each_sum(change)
        self.sizes[name] = size

    def _unify(self, old: int, new: int) -> None:
        """Replaces an axis by another one."""
        self._each_operand(lambda each: each.renamed(old, new))
        self._each_sum(lambda total: self._replaced(total, old, lambda i: Sum(0, {new: i})))
        del self.sizes[old]

    def _name_by(self, name: int, expression: Sum) -> None:
        """Expresses an axis by a sum of others."""
        if len(expression.terms) == 1:
            ((other, index),) = expression.terms.items()
            self._take(name, index.scaled(1, expression.const), self.sizes[other])
            self._unify(name, other)
            return
        if self._is_carried(name):
            steps, names = _steps(expression), tuple(expression.terms)
            if steps is None:
                places = self._numbers(expression, names)
                self._each_operand(lambda o: o.looked_up(name, places, names))
            else:
                self._each_operand(lambda o: o.window(name, steps, expression.const, self.sizes))

        def at(index: Index) -> Sum:
            assert isinstance(index, Range)
            return expression.scaled(index.step, index.start)

        self._each_sum(lambda total: self._replaced(total, name, at))
        del self.sizes[name]

    def _fused(self, names: tuple[int, ...]) -> None:
        """Makes one axis of several."""
        sizes = [self.sizes[n] for n in names]
        if math.prod(sizes) > _MOST:
            raise Unstructured
        new, places = self.axis(math.prod(sizes)), np.indices(sizes, np.int32)
        self._each_operand(lambda each: each.fused(names, new, self.sizes))
        for name, place in zip(names, places, strict=True):
            table, size = known(place.reshape(-1)), self.sizes[new]
            self._each_sum(
                lambda total, name=name, table=table: self._replaced(
                    total, name, lambda index: Sum(0, {new: taken(index, table, size)})
                )
            )
            del self.sizes[name]

    def _split(self, name: int, by: int) -> tuple[int, int]:
        """Makes two axes of one, with places by · high + low."""
        size = self.sizes[name]
        high, low = self.axis(-(-size // by)), self.axis(by)
        if size % by and not self._is_carried(name):
            self._mask(Sum(0, _ranges({high: by, low: 1})), lambda numbers: numbers < size)
        self._each_operand(lambda each: each.split(name, high, low, by))
        self._each_sum(
            lambda total: self._replaced(
                total,
                name,
                lambda i: Sum(i.start, _ranges({high: by * i.step, low: i.step})),  # pyright: ignore
            )
        )
        del self.sizes[name]
        return high, low

    def _replaced(self, total: Sum, name: int, by: Callable[[Index], Sum]) -> Sum:
        """A sum with one of its terms replaced by another sum."""
        if name not in total.terms:
            return total
        terms = dict(total.terms)
        const, others = by(terms.pop(name))
        for n, index in others.items():
            terms[n] = plus(terms[n], index, self.sizes[n]) if n in terms else index
        return Sum(total.const + const, terms)

    def _mask(self, total: Sum, holds: Callable[[Any], Any]) -> None:
        self._mask_of(total.terms, holds(self._numbers(total, total.terms)))

    def _mask_of(self, names: Iterable[int], mask: Any) -> None:
        if not (isinstance(mask, np.ndarray) and mask.all()):
            self.masks.append(Operand(mask, tuple(names)))

    def _numbers(self, total: Sum, names: Collection[int]) -> Any:
        """The numbers of a sum at all places of some axes."""
        shape = tuple(self.sizes[n] for n in names)
        if math.prod(shape) > _MOST:
            raise Unstructured
        numbers: Any = np.full((1,) * len(shape), total.const, np.int32)
        for n, index in total.terms.items():
            own = index.numbers(self.sizes[n])
            numbers = numbers + own.reshape([-1 if m == n else 1 for m in names])
        return (np if isinstance(numbers, np.ndarray) else jnp).broadcast_to(numbers, shape)

    def _bounds(self, total: Sum) -> tuple[int, int]:
        ends = [index.bounds(self.sizes[n]) for n, index in total.terms.items()]
        return total.const + sum(e[0] for e in ends), total.const + sum(e[1] for e in ends)

    def _is_carried(self, name: int) -> bool:
        return any(name in each.names for each in (*self.operands, *self.masks))

    def _is_free(self, name: int) -> bool:
        """Whether it occurs in sums only by its steps."""
        sums = (*self.outputs, *itertools.chain(*self.equations))
        return all(isinstance(s.terms.get(name, Range()), Range) for s in sums)

    # the result

    def result(self, dtype: Any, **how: Any) -> Block | None:
        """The block of the result; None if it is zero."""
        self.solve()
        if self.empty or 0 in self.sizes.values():
            return None
        outputs = [self._normal(total) for total in self.outputs]
        kept = sorted({n for total in outputs for n in total.terms}, key=partial(_order, outputs))
        for name, size in self.sizes.items():
            if name not in kept and not self._is_carried(name):
                self.number *= size
        operands = _masked(
            [Operand(_typed(o, dtype), o.names) for o in self.operands], self.masks, dtype
        )
        values = None
        if operands:
            whole = contracted(operands, kept, **how)
            whole, kept = self._united(whole, kept, outputs)
            values = jnp.asarray(laid(whole, kept))
        axes = tuple(
            Axis(self.sizes[n], tuple(total.terms.get(n) for total in outputs)) for n in kept
        )
        return Block(values, axes, tuple(total.const for total in outputs), self.number)

    def _united(self, whole: Operand, kept: list[int], outputs: Sequence[Sum]) -> Any:
        """Makes one axis of two that add the same to all coordinates: windows of windows."""
        for x, y in itertools.combinations(kept, 2):
            adds = [(total.terms.get(x), total.terms.get(y)) for total in outputs]
            same = all(a == b and not isinstance(a, Traced | Table) for a, b in adds)
            if same and x in whole.names and y in whole.names:
                size = self.sizes[x] + self.sizes[y] - 1
                array = _skew_sum(laid(whole, (x, y, *(n for n in whole.names if n not in (x, y)))))
                self.sizes[x] = size
                names = (x, *(n for n in whole.names if n not in (x, y)))
                return self._united(Operand(array, names), [n for n in kept if n != y], outputs)
        return whole, kept


def _skew_sum(array: Any) -> Any:
    """Σ_{i + j = k} a_ij along the first two axes."""
    first, second, *rest = array.shape
    padded = jnp.pad(array, [(0, 0), (0, first), *[(0, 0)] * len(rest)])
    flat = padded.reshape(first * (first + second), *rest)[: first * (first + second - 1)]
    return jnp.sum(flat.reshape(first, first + second - 1, *rest), axis=0)


def _typed(operand: Operand, dtype: Any) -> Any:
    return operand.array if operand.array.dtype == dtype else operand.array.astype(dtype)


def _masked(operands: list[Operand], masks: Sequence[Operand], dtype: Any) -> list[Operand]:
    """Zeros where a mask is false. They are selected in an operand that has all of the mask's axes,
    because 0 · ∞ is not zero.
    """
    for mask in masks:
        fitting = [i for i, each in enumerate(operands) if set(mask.names) <= set(each.names)]
        array = at_run_time(mask.array)
        if not fitting:
            operands.append(Operand(array.astype(dtype), mask.names))
            continue
        each = operands[fitting[0]]
        where = laid(Operand(array, mask.names), each.names)
        chosen = jnp.where(where, each.array, jnp.zeros((), dtype))
        operands[fitting[0]] = Operand(chosen, each.names)
    return operands


def _order(outputs: Sequence[Sum], name: int) -> Any:
    """A common order of axes for all blocks: by coordinates, then by steps, large ones first."""
    indices = [total.terms.get(name) for total in outputs]
    steps = [index.step if isinstance(index, Range) else 0 for index in indices]
    return [index is None for index in indices], [-abs(step) for step in steps], steps, name


def _within(total: Sum, most: int) -> Sum:
    """A sum clipped to 0 … `most`, if nothing else depends on it."""
    if len(total.terms) != 1:
        return total
    ((name, index),) = total.terms.items()
    index = index.scaled(1, total.const)
    return Sum(0, {name: index.within(most)}) if index.is_traced else total  # pyright: ignore


def _difference(left: Sum, right: Sum) -> Sum:
    negative = {n: index.scaled(-1, 0) for n, index in right.terms.items()}
    return Sum(left.const - right.const, {**left.terms, **negative})


def _steps(total: Sum) -> dict[int, int] | None:
    """The steps of a sum of ranges; None for other sums."""
    steps = {n: index.step for n, index in total.terms.items() if isinstance(index, Range)}
    return steps if len(steps) == len(total.terms) else None


def _ranges(steps: dict[int, int]) -> dict[int, Index]:
    return {n: Range(0, step) for n, step in steps.items()}


def _sided(const: int, steps: dict[int, int]) -> tuple[Sum, Sum]:
    """The equation that a sum is 0, with positive steps on both sides."""
    left = Sum(const, _ranges({n: step for n, step in steps.items() if step > 0}))
    return left, Sum(0, _ranges({n: -step for n, step in steps.items() if step < 0}))


def _difficulty(equation: tuple[Sum, Sum]) -> tuple[int, bool]:
    left, right = equation
    indices = [*left.terms.values(), *right.terms.values()]
    return len(indices), any(each.is_traced for each in indices)
