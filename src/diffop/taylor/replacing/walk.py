"""Walks through programs with families whose directions may be replaced (see `second_moments`).

Steps that read a structured coefficient (the basis vectors, before the first dense layer) are
pushed first, so that the input dies early. Which steps these are depends on the kinds of
coefficients, so they are pushed as they are found. A `Schedule` is made for all remaining steps,
and then followed. After the first layers few values are live, and directions are replaced where
that pays.

Inside `jax.shard_map` a moment knows the directions of one device. The derivatives of a sum over
devices contain products of directions on two devices, so nothing is replaced before the last
collective of values that move.
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

from ...arrays import has_symbols
from ...coefficients.blocks import Blocks, moves_several
from ...devices import is_divided
from ..arithmetic import densify
from ..bundle import Bundle, Families, Family, Value, bundle
from ..coefficients import (
    Coefficient,
    Full,
    Series,
    Zero,
    all_zero,
    on_array,
    zeros,
)
from ..interpreter import Walk, run_program
from ..program import Step, flatten, stretches
from ..seeds import basis
from .cost import Live
from .live_moments import is_separate, live_moments, unit_of
from .schedule import Carried, Schedule, real_size, scheduled
from .second_moments import SecondMoment


def interpret_replacing(
    closed: jex.ClosedJaxpr, families: Families, operands: Sequence[Value]
) -> tuple[list[Value], Families]:
    """Pushes operands through a program, replacing directions where a family allows it; with the
    families of the outputs.
    """
    replaceable = [index for index, family in enumerate(families) if family.replaceable]
    program = flatten(closed.jaxpr, closed.consts)
    unknown = any(has_symbols(var.aval) for step in program.steps for var in step.eqn.outvars)
    if unknown or not replaceable:
        return run_program(program, families, operands), families
    walk = Walk(program, families, operands)
    return _Replacement(walk, replaceable).outputs(), tuple(walk.families)


@final
class _Replacement:
    """A walk through a program on which directions are replaced."""

    def __init__(self, walk: Walk, replaceable: Sequence[int]) -> None:
        self.walk = walk
        self.replaceable = replaceable
        self.mixing = {n for n, step in enumerate(walk.program.steps) if step.mixing}

    def outputs(self) -> list[Value]:
        schedule = self.schedule(self._front())
        for number, steps in stretches(schedule.steps, schedule.cuts):
            for index, live in schedule.cuts.get(number, ()):
                self._replace(index, live)
            self.walk.push_together(steps)
        return self.walk.outputs()

    def schedule(self, steps: Sequence[Step]) -> Schedule:
        """The order of the remaining steps, and where directions are replaced."""
        families = {index: self._carried(index) for index in self.replaceable}
        divided = frozenset(filter(self._is_divided, self.walk.moving))
        return scheduled(steps, self.walk.program, families, divided)

    def _carried(self, index: int) -> Carried:
        family = self.walk.families[index]
        lower = {v: self._lower(v, index) for v in self.walk.moving if self._moves(v, index)}
        moving = {v: real_size(self._primal(v)) for v in lower}
        shared = {v for v, series in lower.items() if _is_shared(series)}
        matrix = _meets_by_matrix(family)
        return Carried(_directions(family), matrix, moving, shared, family.price)

    def _front(self) -> list[Step]:
        """Runs steps that read structured coefficients, or that do not move, as long as there are
        any; returns the others in order.
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
            _is_read_first(self._lower(v, index), self.walk.families[index])
            for v in moving
            for index in self.replaceable
        )

    def _merge(self) -> None:
        """If blocks of the input share weights, replaces the directions of a block by one.

        Entries that no direction moves together have a diagonal moment: as many weighted directions
        as entries, with one part for each block. This always pays.
        """
        for index in self.replaceable:
            family = self.walk.families[index]
            if family.moment is not None or len(family.below.algebra) > 1:
                continue
            first = {v: self._lower(v, index) for v in sorted(self.walk.moving)}
            structured = [v for v, c in first.items() if _is_read_first(c, family)]
            if len(structured) != 1 or not all(map(_is_merging, first[structured[0]])):
                continue
            moving = tuple(v for v, c in first.items() if not all_zero(c))
            if any(map(self._is_divided, moving)):
                continue
            sizes = tuple(real_size(self._primal(v)) for v in moving)
            if sum(sizes) <= max(sizes) + _SCALARS:
                self._replace(index, Live(0, moving, sizes))

    def _replace(self, index: int, live: Live) -> None:
        """Replaces the directions of one family by the basis vectors of the live values."""
        family = self.walk.families[index]
        moving = [v for v in live.variables if self._moves(v, index)]
        if not moving:
            return
        given = family.moment or SecondMoment.weighted(family.algebra, family.weights)
        parts = [_real_parts(self._lower(v, index), self._primal(v)) for v in moving]
        lower, primals = zip(*itertools.chain(*parts), strict=True)
        pairs = family.moment is None and len(given.sizes) > 1
        # a complex number is two parts, which have no common length
        lengths = [unit_of(*each, pairs) if len(of) == 1 else None for of in parts for each in of]
        moment = live_moments(given, lower, primals, lengths)
        self.walk.families[index] = Family.by_moment(moment)
        places = itertools.accumulate(map(len, parts), initial=0)
        units = {
            variable: _units(self._primal(variable), place, lengths)
            for place, variable in zip(places, moving, strict=False)
        }
        for variable in sorted(self.walk.moving):
            value = self.walk.values[variable]
            series = units.get(variable, zeros(len(moment.sizes)))
            self.walk.store(variable, _with(value, index, (*series, value.series[index][-1])))

    def _lower(self, variable: int, index: int) -> Series:
        """The coefficients below the top."""
        value = self.walk.values[variable]
        return value.series[index][:-1] if isinstance(value, Bundle) else ()

    def _moves(self, variable: int, index: int) -> bool:
        return not all_zero(self._lower(variable, index))

    def _primal(self, variable: int) -> Any:
        return self.walk.values[variable].primal

    def _is_divided(self, variable: int) -> bool:
        return is_divided(jax.typeof(self._primal(variable)))


def _is_read_first(lower: Series, family: Family) -> bool:
    """Whether steps that read it run first: if it is structured. If directions meet through a
    matrix, it must not have several directions for an entry, since each two of them would meet.
    """
    structured = [c for c in lower if isinstance(c, Blocks)]
    if family.moment is None or family.moment.is_diagonal:
        return bool(structured)
    return not all(map(moves_several, structured))


def _meets_by_matrix(family: Family) -> bool:
    return family.moment is not None and not family.moment.is_diagonal


def _is_shared(lower: Series) -> bool:
    """Whether a value moves along rows that do not depend on the point."""
    moving = [c for c in lower if not isinstance(c, Zero)]
    return all(isinstance(c, Full) and c.image is not None for c in moving)


def _with(value: Bundle, index: int, series: Series) -> Value:
    """A value with another series along one family."""
    return bundle(value.primal, [*value.series[:index], series, *value.series[index + 1 :]])


_SCALARS = 4
"""This many entries beside those that are merged count as only a few numbers."""


def _is_merging(coefficient: Coefficient) -> bool:
    """Whether entries are moved by several directions each, and by different ones."""
    several = isinstance(coefficient, Blocks) and moves_several(coefficient)
    return several and is_separate(coefficient)


def _real_parts(lower: Series, primal: Any) -> list[tuple[Series, Any]]:
    """A value with its series below the top; a complex one as two real ones, x + iy. Later
    functions need not be analytic in it, and then Σ a ⊗ a does not determine Σ a ⊗ ā.
    """
    if not jnp.iscomplexobj(primal):
        return [(lower, primal)]
    dense = [densify(c, 1, primal) for c in lower]

    def part_of(part: Callable[[Any], Any]) -> tuple[Series, Any]:
        return tuple(on_array(part, c) for c in dense), part(primal)

    return [part_of(jnp.real), part_of(jnp.imag)]


def _units(primal: Any, place: int, lengths: Sequence[Array | None]) -> Series:
    """A live value as the directions at a place; a complex one as those and the ones at the next
    place.
    """
    shape, dtype, length = primal.shape, primal.dtype, lengths[place]
    size = math.prod(shape)
    one = jnp.ones((1, *shape), dtype)
    unit: Any = Full(one if length is None else one * length)
    if size > 1:
        unit = basis(shape)
    units = {place: unit}
    if jnp.iscomplexobj(primal):
        units[place + 1] = _times_i(unit, dtype)
    return tuple(units.get(other, Zero()) for other in range(len(lengths)))


def _times_i(unit: Full | Blocks, dtype: Any) -> Coefficient:
    if isinstance(unit, Full):
        return Full(unit.base * jnp.asarray(1j, dtype))
    parts = [part.with_values(jnp.full((1,) * len(part.axes), 1j, dtype)) for part in unit.parts]
    return Blocks(tuple(parts), unit.shape)


def _directions(family: Family) -> int:
    """How many coefficients of order one a value has."""
    return sum(math.prod(family.below.lead_shape(place)) for place in family.below.places)
