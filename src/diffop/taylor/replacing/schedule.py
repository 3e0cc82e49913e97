"""Schedules: the order of a program's remaining steps, and where directions are replaced. A
schedule is made first, can be printed, and is then followed.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, final

import jax.numpy as jnp

from ...devices import is_divided
from ..program import Program, Step
from .cost import SHARED, Live, best_cuts
from .forms import form_cost


def real_size(value: Any) -> int:
    """How many real numbers a value has."""
    return math.prod(value.shape) * (2 if jnp.iscomplexobj(value) else 1)


@final
class Carried(NamedTuple):
    """What a schedule needs to know of a family, before the rest of a program.

    - `directions`: how many coefficients of order one a value has.
    - `matrix`: whether directions meet through a matrix.
    - `moving`: the variables that move along the directions, and their sizes.
    - `shared`: those whose coefficients do not depend on the point.
    - `price`: the multiply-adds of other computations if directions are replaced.
    """

    directions: int
    matrix: bool
    moving: Mapping[int, int]
    shared: Collection[int]
    price: float = 0.0


@final
class Schedule(NamedTuple):
    """Steps in order. For the number of a step, `cuts` gives the families whose directions become
    the basis vectors of the values that are live before it.
    """

    steps: Sequence[Step]
    cuts: Mapping[int, Sequence[tuple[int, Live]]]

    def __str__(self) -> str:
        lines = []
        for number, step in enumerate(self.steps):
            for family, live in self.cuts.get(number, ()):
                entries = " + ".join(map(str, live.sizes))
                lines.append(f"family {family}: basis vectors of {entries} entries")
            outputs: list[Any] = [var.aval for var in step.eqn.outvars]
            made = ", ".join(each.str_short() for each in outputs)
            lines.append(f"{number:>4} {step.eqn.primitive.name} → {made}")
        return "\n".join(lines)


def scheduled(
    steps: Sequence[Step],
    program: Program,
    families: Mapping[int, Carried],
    divided: Collection[int],
) -> Schedule:
    """The rest of a program, with the cheapest cuts of each replaceable family; `divided` are
    variables that lie on several devices.
    """
    cuts: dict[int, list[tuple[int, Live]]] = {}
    for index, carried in families.items():
        for live in _cuts(steps, program, carried, divided):
            cuts.setdefault(live.step, []).append((index, live))
    return Schedule(steps, cuts)


def _cuts(
    steps: Sequence[Step], program: Program, carried: Carried, divided: Collection[int]
) -> list[Live]:
    """The cuts of one family. There are none if live values are divided over devices, since their
    moment would be divided twice along one axis.
    """
    moving, apart = dict(carried.moving), set(divided)
    for step in steps:
        if any(v in moving for v in step.variables):
            avals: list[Any] = [var.aval for var in step.eqn.outvars]
            for variable, aval in zip(step.writes, avals, strict=True):
                if jnp.issubdtype(aval.dtype, jnp.inexact):
                    moving[variable] = real_size(aval)
                    if is_divided(aval):
                        apart.add(variable)
    candidates = _candidates(steps, program, moving, apart, carried.directions)
    if not candidates:
        return []
    _, largest = max(zip(candidates[0].sizes, candidates[0].variables, strict=True))
    return best_cuts(
        steps,
        candidates,
        set(moving),
        carried.directions,
        first=SHARED if largest in carried.shared else 1.0,
        price=carried.price,
        is_moment=carried.matrix,
    )


def _candidates(
    steps: Sequence[Step],
    program: Program,
    moving: Mapping[int, int],
    divided: Collection[int],
    directions: int,
) -> list[Live]:
    """The live, moving values before each step after the last mixing one, if they are smaller than
    those before all earlier steps, and not divided over devices. There are no more of them than
    directions, or as many more as products by halves make up for.
    """
    earliest = 1 + max((n for n, step in enumerate(steps) if step.mixing), default=-1)
    last = {v: number for number, step in enumerate(steps) for v in step.variables}
    last.update({atom: len(steps) for atom in program.outputs if isinstance(atom, int)})
    dying: list[list[int]] = [[] for _ in range(len(steps) + 1)]
    for variable, number in last.items():
        dying[number].append(variable)
    made = {v for step in steps for v in step.writes}
    born = [[v for v in moving if v in last and v not in made]]
    born += [[v for v in step.writes if v in moving and v in last] for step in steps]
    live: set[int] = set()
    size, most, result = 0, math.inf, []
    for number in range(len(steps)):
        live.update(born[number])
        size += sum(moving[v] for v in born[number])
        few = form_cost(size, size) <= directions * size**2
        if number >= earliest and 0 < size < most and few and live.isdisjoint(divided):
            variables = tuple(sorted(live))
            result.append(Live(number, variables, tuple(moving[v] for v in variables)))
            most = size
        dead = live.intersection(dying[number])
        live -= dead
        size -= sum(moving[v] for v in dead)
    return result
