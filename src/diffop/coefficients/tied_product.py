"""Products of arrays over named axes. Places of arrays and of the result are coordinates: sums of
indices of these axes.

Every linear or bilinear map of blocks has this form, together with equations between coordinates,
which `equations.py` solves. It does so by the changes of axes that are here: each changes all
arrays, masks and coordinates at once, and keeps the product at the places where an equation holds.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from ..arrays import at_run_time
from .block import Axis, Block, coordinates
from .coordinate import Coordinate, along, at
from .index import Index, Range, Table, known, sum_of_indices, taken
from .operands import Operand, contracted, laid

_MOST = 1 << 22
"""The largest number of places of tables and masks."""


class Unstructured(Exception):
    """There are no blocks that would be smaller than an array."""


@final
class TiedProduct:
    """A product of operands, times a `number`, over axes with some `sizes`, at the places where all
    masks and conditions are true and all equations hold; it is `empty` if there are no such places.
    The coordinates of the result are `outputs`. It is a block if it has fewer places than `most`.
    """

    def __init__(self, most: int | float = math.inf) -> None:
        self.most = most
        self.sizes: dict[int, int] = {}
        self.operands: list[Operand] = []
        self.masks: list[Operand] = []
        self.conditions: list[Operand] = []
        self.equations: list[tuple[Coordinate, Coordinate]] = []
        self.outputs: list[Coordinate] = []
        self.number: float | int = 1
        self.empty = False
        self._fresh = itertools.count()

    # what it consists of

    def new_axis(self, size: int) -> int:
        """The name of a new axis."""
        name = next(self._fresh)
        self.sizes[name] = size
        return name

    def add_block(self, block: Block) -> list[Coordinate]:
        """Adds a block as an operand, and returns its coordinates."""
        names = [self.new_axis(axis.size) for axis in block.axes]
        self.number *= block.factor
        if block.values is not None:
            self.operands.append(_squeezed(block.values, names))
        return [self.normal(each.named(names)) for each in coordinates(block)]

    def add_array(self, array: Any, coordinates: Sequence[Coordinate]) -> None:
        """Adds an array as an operand at a coordinate for each of its axes."""
        names = [self.new_axis(size) for size in jnp.shape(array)]
        operand = _squeezed(array, names)
        self.operands.append(operand)
        for name, coordinate in zip(names, coordinates, strict=True):
            if name in operand.names:
                self.equate(along(name), coordinate)

    def add_mask(self, array: Any, coordinates: Sequence[Coordinate]) -> None:
        """Adds a condition that has to hold at some places. It is the program's own, where values
        may be infinite.
        """
        self.add_array(array, coordinates)
        self.conditions.append(self.operands.pop())

    def equate(self, left: Coordinate, right: Coordinate) -> None:
        """Adds an equation."""
        self.equations.append((left, right))

    # what is known of it

    @property
    def is_empty(self) -> bool:
        """Whether there are no places, or none at which the equations solved so far hold."""
        return self.empty or 0 in self.sizes.values()

    def is_carried(self, name: int) -> bool:
        """Whether an operand or a mask has an axis."""
        every = (*self.operands, *self.masks, *self.conditions)
        return any(name in each.names for each in every)

    def is_free(self, name: int) -> bool:
        """Whether an axis occurs in coordinates only by its steps."""
        every = (*self.outputs, *itertools.chain(*self.equations))
        return all(isinstance(each.terms.get(name, Range()), Range) for each in every)

    def bounds(self, total: Coordinate) -> tuple[int, int]:
        """The least and the largest number of a coordinate."""
        ends = [index.bounds(self.sizes[n]) for n, index in total.terms.items()]
        return total.const + sum(e[0] for e in ends), total.const + sum(e[1] for e in ends)

    def numbers(self, total: Coordinate, names: Collection[int]) -> Any:
        """The numbers of a coordinate at all places of some axes."""
        sizes = {n: self.sizes[n] for n in names}
        shape = tuple(sizes.values())
        if math.prod(shape) > _MOST:
            raise Unstructured
        numbers = total.numbers(sizes)
        return (np if isinstance(numbers, np.ndarray) else jnp).broadcast_to(numbers, shape)

    def normal(self, total: Coordinate) -> Coordinate:
        """The same coordinate without indices that are constant along their axis, and with ranges
        from 0 on.
        """
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
        return Coordinate(const, kept)

    # changes of axes

    def take(self, name: int, index: Index, size: int) -> None:
        """Replaces an axis by its `size` places at an index."""
        if index == Range() and size == self.sizes[name]:
            return
        self._each_operand([name], lambda each: each.taken(name, index, size))
        self._each_coordinate(name, lambda own: at(name, taken(own, index, size)))
        self.sizes[name] = size

    def unify(self, old: int, new: int) -> None:
        """Replaces an axis by another one of its size."""
        self._each_operand([old], lambda each: each.renamed(old, new))
        self._each_coordinate(old, lambda index: at(new, index))
        del self.sizes[old]

    def express(self, name: int, places: Coordinate) -> None:
        """Replaces an axis by a sum of others: the entries along it are taken at these places."""
        if len(places.terms) == 1:
            ((other, index),) = places.terms.items()
            self.take(name, index.scaled(1, places.const), self.sizes[other])
            self.unify(name, other)
            return
        if self.is_carried(name):
            steps, names = places.steps, tuple(places.terms)
            if steps is None:
                numbers = self.numbers(places, names)
                self._each_operand([name], lambda o: o.looked_up(name, numbers, names))
            else:
                self._each_operand(
                    [name], lambda o: o.window(name, steps, places.const, self.sizes)
                )

        def by_others(index: Index) -> Coordinate:
            assert isinstance(index, Range)  # the axis is free
            return places.scaled(index.step, index.start)

        self._each_coordinate(name, by_others)
        del self.sizes[name]

    def fuse(self, names: tuple[int, ...]) -> None:
        """Makes one axis of several."""
        sizes = [self.sizes[n] for n in names]
        size = math.prod(sizes)
        if size > _MOST:
            raise Unstructured
        new = self.new_axis(size)
        self._each_operand(names, lambda each: each.fused(names, new, self.sizes))
        for name, places in zip(names, np.indices(sizes, np.int32), strict=True):
            table = known(places.reshape(-1))
            self._each_coordinate(name, lambda own, table=table: at(new, taken(own, table, size)))
            del self.sizes[name]

    def mask_where(self, total: Coordinate, holds: Callable[[Any], Any]) -> None:
        """Keeps the places at which something holds for the numbers of a coordinate."""
        self.mask_by(total.terms, holds(self.numbers(total, total.terms)))

    def mask_by(self, names: Iterable[int], mask: Any) -> None:
        """Keeps the places of some axes at which an array is true."""
        if not (isinstance(mask, np.ndarray) and mask.all()):
            self.masks.append(Operand(mask, tuple(names)))

    def _each_operand(self, names: Collection[int], by: Callable[[Operand], Operand]) -> None:
        """Replaces the operands and masks that have one of these axes."""
        for own in (self.operands, self.masks, self.conditions):
            own[:] = [each if set(names).isdisjoint(each.names) else by(each) for each in own]

    def _each_coordinate(self, name: int, by: Callable[[Index], Coordinate]) -> None:
        """Replaces an axis in all coordinates: its index by the sum that a function makes of it."""

        def changed(total: Coordinate) -> Coordinate:
            if name not in total.terms:
                return total
            terms = dict(total.terms)
            const, others = by(terms[name])
            if name not in others:
                del terms[name]
            for n, index in others.items():
                both = n in terms and n != name
                terms[n] = sum_of_indices(terms[n], index, self.sizes[n]) if both else index
            return Coordinate(total.const + const, terms)

        self.outputs = [changed(total) for total in self.outputs]
        self.equations = [(changed(left), changed(right)) for left, right in self.equations]

    # the result

    def result(self, dtype: Any, **how: Any) -> Block | None:
        """The block of the result, once there are no more equations; None if it is zero."""
        if self.is_empty:
            return None
        outputs = [self.normal(total) for total in self.outputs]
        kept = sorted({n for total in outputs for n in total.terms}, key=partial(_order, outputs))
        for name, size in self.sizes.items():
            if name not in kept and not self.is_carried(name):
                self.number *= size
        if dtype is None and self.operands:  # the type of the values
            dtype = jnp.result_type(*(each.array for each in self.operands))
        operands = [_typed(each, dtype) for each in self.operands]
        for masks, always in ((self.conditions, True), (self.masks, False)):
            for mask in masks:
                operands = _masked(operands, mask, dtype, always)
        few = math.prod(self.sizes[n] for n in kept) <= self.most
        twins = _twins(kept, operands, outputs) if few else []
        values = None
        if operands:
            whole = contracted(operands, kept, **how)
            for x, y in twins:
                whole = self._united(whole, x, y)
                kept.remove(y)
            values = jnp.asarray(laid(whole, kept))
        axes = tuple(
            Axis(self.sizes[n], tuple(total.terms.get(n) for total in outputs)) for n in kept
        )
        return Block(values, axes, tuple(total.const for total in outputs), self.number)

    def _united(self, whole: Operand, x: int, y: int) -> Operand:
        """Makes one axis of two that add the same to all coordinates."""
        rest = tuple(n for n in whole.names if n not in (x, y))
        self.sizes[x] += self.sizes[y] - 1
        return Operand(_skew_sum(laid(whole, (x, y, *rest))), (x, *rest))


def _twins(
    kept: Sequence[int], operands: Sequence[Operand], outputs: Sequence[Coordinate]
) -> list[tuple[int, int]]:
    """Axes of operands that add the same to all coordinates as an earlier one, with that one:
    windows of windows.
    """
    first: dict[Any, int] = {}
    found: list[tuple[int, int]] = []
    for name in kept:
        adds = tuple(total.terms.get(name) for total in outputs)
        steps = all(add is None or isinstance(add, Range) for add in adds)
        if steps and any(name in each.names for each in operands):
            twin = first.setdefault(adds, name)
            found += [(twin, name)] if twin != name else []
    return found


def _squeezed(array: Any, names: Sequence[int]) -> Operand:
    """An operand without the axes of size one, along which it has the same values everywhere."""
    shape = jnp.shape(array)
    spread = [i for i, size in enumerate(shape) if size == 1]
    kept = tuple(n for i, n in enumerate(names) if i not in spread)
    return Operand(jnp.squeeze(array, spread) if spread else array, kept)


def _skew_sum(array: Any) -> Any:
    """Σ_{i + j = k} a_ij along the first two axes: rows one entry longer, shifted by one each."""
    first, second, *rest = array.shape
    padded = jnp.pad(array, [(0, 0), (0, first), *[(0, 0)] * len(rest)])
    flat = padded.reshape(first * (first + second), *rest)[: first * (first + second - 1)]
    return jnp.sum(flat.reshape(first, first + second - 1, *rest), axis=0)


def _typed(operand: Operand, dtype: Any) -> Operand:
    array = operand.array
    return operand if array.dtype == dtype else Operand(array.astype(dtype), operand.names)


def _masked(operands: list[Operand], mask: Operand, dtype: Any, always: bool) -> list[Operand]:
    """Zeros where a mask is false. They are selected in an operand that has all of the mask's axes,
    or `always`, because 0 · ∞ is not zero.
    """
    array = at_run_time(mask.array)
    lacking = [tuple(n for n in mask.names if n not in each.names) for each in operands]
    i = min(range(len(operands)), key=lambda i: len(lacking[i]), default=None)
    if i is None or (lacking[i] and not always):
        return [*operands, Operand(array.astype(dtype), mask.names)]
    names = (*operands[i].names, *lacking[i])
    where, values = (laid(each, names) for each in (Operand(array, mask.names), operands[i]))
    chosen = Operand(jnp.where(where, values, jnp.zeros((), dtype)), names)
    return [*operands[:i], chosen, *operands[i + 1 :]]


def _order(outputs: Sequence[Coordinate], name: int) -> Any:
    """A common order of axes for all blocks: by coordinates, then by steps, large ones first."""
    indices = [total.terms.get(name) for total in outputs]
    steps = [index.step if isinstance(index, Range) else 0 for index in indices]
    return [index is None for index in indices], [-abs(step) for step in steps], steps, name
