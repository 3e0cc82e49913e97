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
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp

from . import diagonal
from .arithmetic import densify
from .binding import is_divided
from .bundle import Bundle, Families, Family, Value, bundle
from .coefficients import (
    Blocks,
    Coefficient,
    Dense,
    Diagonal,
    Image,
    Series,
    Structured,
    Zero,
    all_zero,
    blocks,
    scale,
    zeros,
)
from .cost import SHARED, Live, best_cuts
from .interpreter import interpret, push_equation
from .moments import Moment, compressed, is_separate, moments
from .program import Known, Program, Region, Step, flatten
from .truncation import Truncation


def interpret_replacing(
    closed: jex.ClosedJaxpr, families: Families, operands: Sequence[Value]
) -> list[Value]:
    """Push operands through a program, replacing directions where a family allows it."""
    replaceable = [index for index, family in enumerate(families) if family.replaceable]
    if not replaceable:
        return interpret(closed.jaxpr, closed.consts, families, operands)
    return _Run(flatten(closed), families, operands, replaceable).outputs()


@final
class _Run:
    """The state of a program that is being pushed."""

    def __init__(
        self,
        program: Program,
        families: Families,
        operands: Sequence[Value],
        replaceable: Sequence[int],
    ) -> None:
        self.program = program
        self.given = families
        self.families = list(families)
        self.replaceable = replaceable
        self.uses = _Uses(program)
        self.mixing = {n for n, step in enumerate(program.steps) if step.mixing}
        self.begun: set[int] = set()
        """Families whose directions were replaced by the input's basis vectors."""
        self.values: dict[int, Value] = {}
        self.moving: set[int] = set()
        for variable, value in enumerate(operands):
            if self.uses.is_read(variable):
                self._store(variable, value)

    def outputs(self) -> list[Value]:
        self._replace_pairs()
        remaining = self._front()
        cuts: dict[int, list[tuple[int, Live]]] = {}
        for index in self.replaceable:
            for live in _plan(remaining, self, index):
                cuts.setdefault(live.step, []).append((index, live))
        for number, steps in _stretches(remaining, set(cuts)):
            for index, live in cuts.get(number, []):
                self._replace(index, live)
            if steps[0].region is None:
                self._push(steps[0])
            else:
                self._push_region(steps, steps[0].region)
        return [self._as_given(self._read(atom)) for atom in self.program.outputs]

    def _front(self) -> list[Step]:
        """Run what reads structured coefficients, and what does not move, as long as there is
        such a step; return the others in order.
        """
        steps = self.program.steps
        waiting = [sum(v not in self.values for v in set(step.variables)) for step in steps]
        ready = [number for number, count in enumerate(waiting) if count == 0]
        later: set[int] = set(range(len(steps)))
        heapq.heapify(ready)
        while ready:
            number = heapq.heappop(ready)
            step = steps[number]
            if not self._is_first(step):
                continue
            self._push(step)
            later.discard(number)
            if later.isdisjoint(self.mixing):
                self._merge()
            for variable in step.writes:
                for reader in self.uses.readers.get(variable, ()):
                    waiting[reader] -= 1
                    if waiting[reader] == 0:
                        heapq.heappush(ready, reader)
        return [steps[number] for number in sorted(later)]

    def _is_first(self, step: Step) -> bool:
        moving = [v for v in step.variables if v in self.moving]
        return not moving or any(
            any(map(_is_of_input if index in self.begun else _is_structured, self._lower(v, index)))
            for v in moving
            for index in self.replaceable
        )

    def _read(self, atom: Any) -> Value:
        return atom.value if isinstance(atom, Known) else self.values[atom]

    def _push(self, step: Step) -> None:
        outputs = push_equation(
            tuple(self.families), step.eqn, [self._read(atom) for atom in step.reads]
        )
        for variable, value in zip(step.writes, outputs, strict=True):
            self._store(variable, value)
        for variable in self.uses.done(step):
            self._forget(variable)

    def _store(self, variable: int, value: Value) -> None:
        self.values[variable] = value
        if isinstance(value, Bundle):
            self.moving.add(variable)

    def _forget(self, variable: int) -> None:
        self.values.pop(variable, None)
        self.moving.discard(variable)

    def _push_region(self, steps: Sequence[Step], region: Region) -> None:
        """Steps that the user asked to rematerialise, as one function that is."""
        made = {v for step in steps for v in step.writes}
        dead = {v for step in steps for v in self.uses.done(step)}
        reads = sorted({v for step in steps for v in step.variables} - made)
        families = tuple(self.families)

        def push(values: list[Value]) -> dict[int, Value]:
            local = dict(zip(reads, values, strict=True))
            for step in steps:
                operands = [a.value if isinstance(a, Known) else local[a] for a in step.reads]
                outputs = push_equation(families, step.eqn, operands)
                local.update(zip(step.writes, outputs, strict=True))
            return {v: local[v] for v in made - dead}

        pushed = jax.checkpoint(push, prevent_cse=region.prevent_cse, policy=region.policy)
        for variable, value in pushed([self.values[v] for v in reads]).items():
            self._store(variable, value)
        for variable in dead:
            self._forget(variable)

    def _replace_pairs(self) -> None:
        """Where all directions of one side of a pair are basis vectors and those of the other an
        array, the array is the second moment of the input: Σ_i e_i ⊗ Ce_i = C.

        That takes half as many directions as there are in the pairs, and nothing to form.
        """
        for index in self.replaceable if not self.mixing else ():
            family = self.families[index]
            lower = {v: self._lower(v, index) for v in sorted(self.moving)}
            found = {v: series for v, series in lower.items() if not all_zero(series)}
            kinds = [c for series in found.values() for c in series if not isinstance(c, Zero)]
            sides = {isinstance(c, Structured) for c in kinds}
            if family.truncation != Truncation.pair() or sides != {True, False}:
                continue
            sizes = tuple(_real_size(self.values[v].primal) for v in found)
            assert family.size is not None
            if sum(sizes) <= 2 * family.size and not any(map(self._is_divided, found)):
                self._replace(index, Live(0, tuple(found), sizes))
                self.begun.add(index)

    def _merge(self) -> None:
        """Where weights are shared by blocks of the input, the directions of a block by one.

        Entries that no direction moves together have a diagonal moment: as many weighted directions
        as there are entries, a block's part of all. That always pays.
        """
        for index in self.replaceable:
            family = self.families[index]
            if family.moment is not None or not family.truncation.is_curve:
                continue
            first = {v: self._lower(v, index)[0] for v in sorted(self.moving)}
            structured = [v for v, c in first.items() if isinstance(c, Structured)]
            if len(structured) != 1 or not _is_merging(first[structured[0]]):
                continue
            moving = tuple(v for v, c in first.items() if not isinstance(c, Zero))
            if any(map(self._is_divided, moving)):
                continue
            sizes = tuple(_real_size(self.values[v].primal) for v in moving)
            if sum(sizes) <= max(sizes) + _SCALARS:
                self._replace(index, Live(0, moving, sizes))

    def _replace(self, index: int, live: Live) -> None:
        """The directions of one family by the basis vectors of what is live."""
        family = self.families[index]
        moving = [v for v in live.variables if self._moves(v, index)]
        if not moving:
            return
        parts = [_real_parts(self._lower(v, index), self.values[v].primal) for v in moving]
        moment = _moment(family, *zip(*itertools.chain(*parts), strict=True))
        self.families[index] = Family(None, Truncation.curve(2), None, moment)
        places = itertools.accumulate(map(len, parts), initial=0)
        units = {
            variable: _units(self.values[variable].primal, place, moment.sizes)
            for place, variable in zip(places, moving, strict=False)
        }
        half = 1 if family.truncation.is_curve else 1 / 2  # of D²u(a, b) is a curve's coefficient
        for variable in sorted(self.moving):
            value = self.values[variable]
            top = scale(value.series[index][-1], half)
            self._store(variable, _with(value, index, (units.get(variable, Zero()), top)))

    def _as_given(self, value: Value) -> Value:
        """A value with the series of the families that were given."""
        for index in self.replaceable if isinstance(value, Bundle) else ():
            given = self.given[index].truncation
            if given != self.families[index].truncation:
                top = scale(value.series[index][-1], 2)
                value = _with(value, index, (*zeros(len(given) - 1), top))
                if not isinstance(value, Bundle):
                    break
        return value

    def _lower(self, variable: int, index: int) -> Series:
        """The coefficients of order one: one along curves, two along pairs."""
        value = self.values[variable]
        return value.series[index][:-1] if isinstance(value, Bundle) else ()

    def _moves(self, variable: int, index: int) -> bool:
        return not all_zero(self._lower(variable, index))

    def _is_divided(self, variable: int) -> bool:
        return is_divided(jax.typeof(self.values[variable].primal))


def _is_structured(coefficient: Coefficient) -> bool:
    """Whether what reads it runs first."""
    return isinstance(coefficient, Structured)


def _is_of_input(coefficient: Coefficient) -> bool:
    """Whether a coefficient along the input's own basis vectors is still one entry by entry."""
    parts = coefficient.parts if isinstance(coefficient, Blocks) else ()
    return any(isinstance(part, Diagonal) and part.numbers.count == 1 for part in parts)


def _with(value: Bundle, index: int, series: Series) -> Value:
    """A value with another series along one family."""
    return bundle(value.primal, [*value.series[:index], series, *value.series[index + 1 :]])


def _stretches(steps: Sequence[Step], cuts: set[int]) -> Iterator[tuple[int, list[Step]]]:
    """Steps one by one, those of a region together up to the next cut; each with its number."""
    start = 0
    while start < len(steps):
        stop, region = start + 1, steps[start].region
        while (
            region is not None
            and stop < len(steps)
            and steps[stop].region is region
            and stop not in cuts
        ):
            stop += 1
        yield start, list(steps[start:stop])
        start = stop


_SCALARS = 4
"""So many entries beside those that are merged are no more than a few numbers."""


def _is_merging(coefficient: Coefficient) -> bool:
    """Whether entries are moved by several directions each, and by different ones."""
    several = isinstance(coefficient, Diagonal) and coefficient.numbers.count > 1
    return several and is_separate(coefficient)


def _moment(family: Family, lower: Sequence[Series], primals: Sequence[Any]) -> Moment:
    if family.moment is None:
        return moments(family.weights, lower, primals)
    return compressed(family.moment, [series[0] for series in lower], primals)


def _real_size(primal: Any) -> int:
    """How many real numbers a value is."""
    return math.prod(primal.shape) * (2 if jnp.iscomplexobj(primal) else 1)


def _real_parts(lower: Series, primal: Any) -> list[tuple[Series, Any]]:
    """A complex value is replaced as two real ones, x + iy: what follows need not be analytic in
    it, and then Σ a ⊗ a does not say what Σ a ⊗ ā is.
    """
    if not jnp.iscomplexobj(primal):
        return [(lower, primal)]
    dense = [densify(each, 1, primal) for each in lower]
    return [
        (tuple(_each_array(part, each) for each in dense), part(primal))
        for part in (jnp.real, jnp.imag)
    ]


def _each_array(function: Callable, coefficient: Any) -> Coefficient:
    if isinstance(coefficient, Blocks):
        return blocks([_each_array(function, part) for part in coefficient.parts])
    return coefficient if isinstance(coefficient, Zero) else Dense(function(coefficient.array))


def _units(primal: Any, place: int, sizes: Sequence[int]) -> Coefficient:
    """A live value as the block of directions at a place; a complex one as that and the next."""
    shape, dtype = primal.shape, primal.dtype
    size = math.prod(shape)
    unit: Any = Dense(jnp.ones((1, *shape), dtype))
    if size > 1:
        unit = diagonal.identity(size, shape)
    units = {place: unit}
    if jnp.iscomplexobj(primal):
        units[place + 1] = _times_i(unit, dtype)
    return Blocks(tuple(units.get(other, Zero()) for other in range(len(sizes))))


def _times_i(unit: Dense | Diagonal, dtype: Any) -> Dense | Diagonal:
    if isinstance(unit, Dense):
        return Dense(unit.base * jnp.asarray(1j, dtype))
    return diagonal.times_array(unit, jnp.asarray(1j, dtype))


@final
class _Uses:
    """Who reads a variable, and when it is no longer needed."""

    def __init__(self, program: Program) -> None:
        self.readers: dict[int, list[int]] = {}
        self._left: dict[int, int] = {}
        for number, step in enumerate(program.steps):
            for variable in set(step.variables):
                self.readers.setdefault(variable, []).append(number)
                self._left[variable] = self._left.get(variable, 0) + 1
        for atom in program.outputs:
            if isinstance(atom, int):
                self._left[atom] = self._left.get(atom, 0) + 1

    def is_read(self, variable: int) -> bool:
        """Whether any step is still to read it, or the caller."""
        return self._left.get(variable, 0) > 0

    def done(self, step: Step) -> list[int]:
        """The variables that nothing needs after a step."""
        for variable in set(step.variables):
            self._left[variable] -= 1
        return [v for v in {*step.variables, *step.writes} if not self.is_read(v)]


def _plan(remaining: Sequence[Step], run: _Run, index: int) -> list[Live]:
    """The cuts of one family, none where live values are divided over devices: their moment would
    be divided twice along one axis.
    """
    moving = {v: _real_size(run.values[v].primal) for v in run.moving if run._moves(v, index)}
    divided = set(filter(run._is_divided, moving))
    for step in remaining:
        if any(v in moving for v in step.variables):
            avals: list[Any] = [var.aval for var in step.eqn.outvars]
            for variable, aval in zip(step.writes, avals, strict=True):
                if jnp.issubdtype(aval.dtype, jnp.inexact):
                    moving[variable] = _real_size(aval)
                    if is_divided(aval):
                        divided.add(variable)
    family = run.families[index]
    mixed = [number for number, step in enumerate(remaining) if step.mixing]
    earliest = 1 + max(mixed, default=-1)
    candidates = _live(remaining, run.program, moving, divided, _directions(family), earliest)
    share = 1.0
    if candidates and candidates[0].step == 0 and _is_shared(run, candidates[0], index):
        share = SHARED
    return best_cuts(
        remaining, candidates, set(moving), _directions(family), share, family.moment is not None
    )


def _directions(family: Family) -> int:
    """How many coefficients of order one a value has."""
    if family.moment is not None:
        return sum(family.moment.sizes)
    assert family.size is not None
    return family.size * (len(family.truncation) - 1)


def _is_shared(run: _Run, live: Live, index: int) -> bool:
    """Whether the largest live value moves along rows that do not depend on the point."""
    if not live.variables:
        return False
    largest = max(zip(live.sizes, live.variables, strict=True))[1]
    first = run._lower(largest, index)[0]
    return isinstance(first, Dense) and isinstance(first.image, Image)


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
