"""Programs pushed with families whose directions may be replaced on the way (`moments`).

Three things happen here. Pairs e_i, Ce_i are replaced at once: C is the second moment of the input
itself. Steps are reordered so that the input dies early: whatever reads a structured coefficient
(the basis vectors, before the first dense layer) runs as soon as it can. Then only what is behind
the first layers is live, and directions are replaced where that pays (`cost`).

Inside `jax.shard_map` a moment knows the directions of one device. A sum over devices has products
of directions on two of them in its derivatives, so nothing is replaced before the last collective
of values that move.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ...devices import is_divided
from ..arithmetic import densify
from ..bundle import Bundle, Families, Family, Value, bundle
from ..coefficients import (
    ByEntry,
    Coefficient,
    Full,
    Image,
    Series,
    Sets,
    Structured,
    Zero,
    all_zero,
    each_set,
)
from ..interpreter import Walk, interpret
from ..program import Program, Step, flatten, stretches
from ..sparsity import by_entry
from ..truncation import Truncation
from .cost import MORE, SHARED, Live, best_cuts
from .second_moments import SecondMoment, is_separate, replaced_moments, unit_of


def interpret_replacing(
    closed: jex.ClosedJaxpr, families: Families, operands: Sequence[Value]
) -> list[Value]:
    """Push operands through a program, replacing directions where a family allows it."""
    replaceable = [index for index, family in enumerate(families) if family.replaceable]
    if not replaceable:
        return interpret(closed.jaxpr, closed.consts, families, operands)
    walk = Walk(flatten(closed.jaxpr, closed.consts), families, operands)
    return _Replacement(walk, replaceable).outputs()


@final
class _Replacement:
    """A walk through a program on which directions are replaced."""

    def __init__(self, walk: Walk, replaceable: Sequence[int]) -> None:
        self.walk = walk
        self.replaceable = replaceable
        self.mixing = {n for n, step in enumerate(walk.program.steps) if step.mixing}
        self.begun: set[int] = set()
        """Families whose directions were replaced by the input's basis vectors."""

    def outputs(self) -> list[Value]:
        self._replace_pairs()
        remaining = self._front()
        cuts: dict[int, list[tuple[int, Live]]] = {}
        for index in self.replaceable:
            for live in _plan(remaining, self, index):
                cuts.setdefault(live.step, []).append((index, live))
        for number, steps in stretches(remaining, cuts):
            for index, live in cuts.get(number, []):
                self._replace(index, live)
            self.walk.push_together(steps)
        return self.walk.outputs()

    def _front(self) -> list[Step]:
        """Run what reads structured coefficients, and what does not move, as long as there is
        such a step; return the others in order.
        """
        steps = self.walk.program.steps
        waiting = [sum(v not in self.walk.values for v in set(step.variables)) for step in steps]
        ready = [number for number, count in enumerate(waiting) if count == 0]
        later: set[int] = set(range(len(steps)))
        heapq.heapify(ready)
        while ready:
            number = heapq.heappop(ready)
            step = steps[number]
            if not self._is_first(step):
                continue
            self.walk.push(step)
            later.discard(number)
            if later.isdisjoint(self.mixing):
                self._merge()
            for variable in step.writes:
                for reader in self.walk.uses.readers.get(variable, ()):
                    waiting[reader] -= 1
                    if waiting[reader] == 0:
                        heapq.heappush(ready, reader)
        return [steps[number] for number in sorted(later)]

    def _is_first(self, step: Step) -> bool:
        moving = [v for v in step.variables if v in self.walk.moving]
        return not moving or any(
            (_is_of_input if index in self.begun else _is_structured)(self._lower(v, index))
            for v in moving
            for index in self.replaceable
        )

    def _replace_pairs(self) -> None:
        """Where all directions of one side of a pair are basis vectors and those of the other an
        array, the array is the second moment of the input: Σ_i e_i ⊗ Ce_i = C.

        That takes half as many directions as there are in the pairs, and nothing to form.
        """
        for index in self.replaceable if not self.mixing else ():
            moment = self.walk.families[index].moment
            if moment is None:
                continue
            lower = {v: self._lower(v, index) for v in sorted(self.walk.moving)}
            found = {
                v: c.parts for v, c in lower.items() if isinstance(c, Sets) and not all_zero((c,))
            }
            kinds = [c for parts in found.values() for c in parts if not isinstance(c, Zero)]
            sides = {isinstance(c, Structured) for c in kinds}
            if sides != {True, False}:
                continue
            sizes = tuple(_real_size(self.walk.values[v].primal) for v in found)
            if sum(sizes) <= sum(moment.sizes) and not any(map(self._is_divided, found)):
                self._replace(index, Live(0, tuple(found), sizes))
                self.begun.add(index)

    def _merge(self) -> None:
        """Where weights are shared by blocks of the input, the directions of a block by one.

        Entries that no direction moves together have a diagonal moment: as many weighted directions
        as there are entries, a block's part of all. That always pays.
        """
        for index in self.replaceable:
            family = self.walk.families[index]
            if family.moment is not None:
                continue
            first = {v: self._lower(v, index) for v in sorted(self.walk.moving)}
            structured = [v for v, c in first.items() if isinstance(c, Structured)]
            if len(structured) != 1 or not _is_merging(first[structured[0]]):
                continue
            moving = tuple(v for v, c in first.items() if not isinstance(c, Zero))
            if any(map(self._is_divided, moving)):
                continue
            sizes = tuple(_real_size(self.walk.values[v].primal) for v in moving)
            if sum(sizes) <= max(sizes) + _SCALARS:
                self._replace(index, Live(0, moving, sizes))

    def _replace(self, index: int, live: Live) -> None:
        """The directions of one family by the basis vectors of what is live."""
        family = self.walk.families[index]
        moving = [v for v in live.variables if self._moves(v, index)]
        if not moving:
            return
        given = family.moment or SecondMoment.curves(family.weights)
        parts = [_real_parts(_in_sets(self._lower(v, index)), self._primal(v)) for v in moving]
        lower, primals = zip(*itertools.chain(*parts), strict=True)
        pairs = given.is_of_pairs
        lengths = [unit_of(*each, pairs) if len(of) == 1 else None for of in parts for each in of]
        moment = replaced_moments(given, lower, primals, lengths)
        self.walk.families[index] = Family(None, Truncation.curve(2), None, moment)
        places = itertools.accumulate(map(len, parts), initial=0)
        units = {
            variable: _units(self._primal(variable), place, moment.sizes, lengths)
            for place, variable in zip(places, moving, strict=False)
        }
        for variable in sorted(self.walk.moving):
            value = self.walk.values[variable]
            series = units.get(variable, Zero()), value.series[index][-1]
            self.walk.store(variable, _with(value, index, series))

    def _lower(self, variable: int, index: int) -> Coefficient:
        """The coefficient of order one."""
        value = self.walk.values[variable]
        return value.series[index][0] if isinstance(value, Bundle) else Zero()

    def _moves(self, variable: int, index: int) -> bool:
        return not all_zero((self._lower(variable, index),))

    def _primal(self, variable: int) -> Any:
        return self.walk.values[variable].primal

    def _is_divided(self, variable: int) -> bool:
        return is_divided(jax.typeof(self.walk.values[variable].primal))


def _is_structured(coefficient: Coefficient) -> bool:
    """Whether what reads it runs first."""
    return any(isinstance(part, Structured) for part in _in_sets(coefficient).parts)


def _in_sets(coefficient: Coefficient) -> Sets:
    """A coefficient along curves is one along one set of them."""
    return coefficient if isinstance(coefficient, Sets) else Sets((coefficient,))


def _is_of_input(coefficient: Coefficient) -> bool:
    """Whether a coefficient along the input's own basis vectors is still one entry by entry."""
    parts = coefficient.parts if isinstance(coefficient, Sets) else ()
    return any(isinstance(part, ByEntry) and part.numbers.count == 1 for part in parts)


def _with(value: Bundle, index: int, series: Series) -> Value:
    """A value with another series along one family."""
    return bundle(value.primal, [*value.series[:index], series, *value.series[index + 1 :]])


_SCALARS = 4
"""So many entries beside those that are merged are no more than a few numbers."""


def _is_merging(coefficient: Coefficient) -> bool:
    """Whether entries are moved by several directions each, and by different ones."""
    several = isinstance(coefficient, ByEntry) and coefficient.numbers.count > 1
    return several and is_separate(coefficient)


def _real_size(primal: Any) -> int:
    """How many real numbers a value is."""
    return math.prod(primal.shape) * (2 if jnp.iscomplexobj(primal) else 1)


def _real_parts(lower: Sets, primal: Any) -> list[tuple[Sets, Any]]:
    """A complex value is replaced as two real ones, x + iy: what follows need not be analytic in
    it, and then Σ a ⊗ a does not say what Σ a ⊗ ā is.
    """
    if not jnp.iscomplexobj(primal):
        return [(lower, primal)]
    dense = each_set(lambda c: densify(c, 1, primal), lower)

    def part_of(part: Callable[[Any], Any]) -> tuple[Sets, Any]:
        def of_array(c: Coefficient) -> Coefficient:
            return Full(part(c.array)) if isinstance(c, Full) else c

        return _in_sets(each_set(of_array, dense)), part(primal)

    return [part_of(jnp.real), part_of(jnp.imag)]


def _units(
    primal: Any, place: int, sizes: Sequence[int], lengths: Sequence[Array | None]
) -> Coefficient:
    """A live value as the block of directions at a place; a complex one as that and the next."""
    shape, dtype, length = primal.shape, primal.dtype, lengths[place]
    size = math.prod(shape)
    one = jnp.ones((1, *shape), dtype)
    unit: Any = Full(one if length is None else one * length)
    if size > 1:
        unit = by_entry.identity(size, shape)
    units = {place: unit}
    if jnp.iscomplexobj(primal):
        units[place + 1] = _times_i(unit, dtype)
    return Sets(tuple(units.get(other, Zero()) for other in range(len(sizes))))


def _times_i(unit: Full | ByEntry, dtype: Any) -> Full | ByEntry:
    if isinstance(unit, Full):
        return Full(unit.base * jnp.asarray(1j, dtype))
    return by_entry.times_array(unit, jnp.asarray(1j, dtype))


def _plan(remaining: Sequence[Step], run: _Replacement, index: int) -> list[Live]:
    """The cuts of one family, none where live values are divided over devices: their moment would
    be divided twice along one axis.
    """
    moving = {
        v: _real_size(run.walk.values[v].primal) for v in run.walk.moving if run._moves(v, index)
    }
    divided = set(filter(run._is_divided, moving))
    for step in remaining:
        if any(v in moving for v in step.variables):
            avals: list[Any] = [var.aval for var in step.eqn.outvars]
            for variable, aval in zip(step.writes, avals, strict=True):
                if jnp.issubdtype(aval.dtype, jnp.inexact):
                    moving[variable] = _real_size(aval)
                    if is_divided(aval):
                        divided.add(variable)
    family = run.walk.families[index]
    mixed = [number for number, step in enumerate(remaining) if step.mixing]
    earliest = 1 + max(mixed, default=-1)
    most = MORE * _directions(family)
    candidates = _live(remaining, run.walk.program, moving, divided, most, earliest)
    share = 1.0
    if candidates and candidates[0].step == 0 and _is_shared(run, candidates[0], index):
        share = SHARED
    dense = family.moment is not None and not family.moment.is_diagonal
    return best_cuts(remaining, candidates, set(moving), _directions(family), share, dense)


def _directions(family: Family) -> int:
    """How many coefficients of order one a value has."""
    if family.moment is not None:
        return sum(family.moment.sizes)
    assert family.size is not None
    return family.size


def _is_shared(run: _Replacement, live: Live, index: int) -> bool:
    """Whether the largest live value moves along rows that do not depend on the point."""
    if not live.variables:
        return False
    largest = max(zip(live.sizes, live.variables, strict=True))[1]
    parts = _in_sets(run._lower(largest, index)).parts
    moving = [part for part in parts if not isinstance(part, Zero)]
    return all(isinstance(part, Full) and isinstance(part.image, Image) for part in moving)


def _live(
    remaining: Sequence[Step],
    program: Program,
    moving: dict[int, int],
    divided: set[int],
    most: int,
    earliest: int,
) -> list[Live]:
    """What is live and moves before each step, from the `earliest` on, before which it is smaller
    than `most`, and than before all steps that precede it; where none of it is divided over
    devices.
    """
    last = {v: number for number, step in enumerate(remaining) for v in step.variables}
    last.update({atom: len(remaining) for atom in program.outputs if isinstance(atom, int)})
    dying: list[list[int]] = [[] for _ in range(len(remaining) + 1)]
    for variable, number in last.items():
        dying[number].append(variable)
    made = {v for step in remaining for v in step.writes}
    born = [[v for v in moving if v in last and v not in made]]
    born += [[v for v in step.writes if v in moving and v in last] for step in remaining]
    live: set[int] = set()
    size, result = 0, []
    for number in range(len(remaining)):
        live.update(born[number])
        size += sum(moving[v] for v in born[number])
        if number >= earliest and 0 < size < most and live.isdisjoint(divided):
            variables = tuple(sorted(live))
            result.append(Live(number, variables, tuple(moving[v] for v in variables)))
            most = size
        dead = live.intersection(dying[number])
        live -= dead
        size -= sum(moving[v] for v in dead)
    return result
