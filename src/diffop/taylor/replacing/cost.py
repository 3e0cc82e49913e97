"""When to replace directions: an estimate of multiply-adds, and the cheapest sequence of cuts.

The derivation is in docs/devdocs/replacing.md. Costs are those of one point. In a contraction, a
coefficient of n directions costs n times as much as the primal. Where values meet (a product, a
nonlinearity) it costs n·size with weights, and n²·size with a moment (M a). After a cut the
directions are the basis vectors of the live values, and until the next contraction each entry has
one direction, so n drops out.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.extend.core as jex

from ...versions import inner_programs
from ..primitive import Inner, of
from ..program import Step
from .forms import form_cost

SHARED = 1 / 32
"""The fraction of the cost that counts for moments of rows which all points share."""
_WORTHWHILE = 0.9
"""A cut has to save a tenth; the estimate is not accurate enough for less."""
_CANDIDATES = 8


class Live(NamedTuple):
    """What later steps still need before a step: the variables that move, and their sizes."""

    step: int
    variables: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.sizes)


def best_cuts(
    steps: Sequence[Step],
    candidates: Sequence[Live],
    moving: set[int],
    size: int,
    first: float,
    price: float,
    is_moment: bool,
) -> list[Live]:
    """The cuts that make the rest of a program cheapest, for a family of `size` directions.

    `first` is the fraction of the full cost that the moment of the first candidate takes, `price`
    the additional cost if there are any cuts.
    """
    chosen = candidates[:_CANDIDATES]
    plans: dict[int, tuple[float, list[Live]]] = {}

    def best(start: int, directions: int, moment: bool, after: int) -> tuple[float, list[Live]]:
        """The cheapest way from a step to the end; cuts are among chosen[after:].

        A cut forgets the directions before it, so the cheapest way behind it, plans[index], does
        not depend on how the cut was reached.
        """
        # only behind a cut, where after > 0, are directions the basis vectors of live values
        single = moving if after else set()
        plan = (_work(steps[start:], moving, single, directions, moment), [])
        for index in range(after, len(chosen)):
            cut = chosen[index]
            if index not in plans:
                plans[index] = best(cut.step, cut.size, True, index + 1)
            share = first if cut.step == 0 else 1.0
            spent = _work(steps[start : cut.step], moving, single, directions, moment)
            spent += _moment_cost(cut.sizes, directions, moment) * share
            if spent + plans[index][0] < _WORTHWHILE * plan[0]:
                plan = (spent + plans[index][0], [cut, *plans[index][1]])
        return plan

    spent, cuts = best(0, size, is_moment, 0)
    without = _work(steps, moving, set(), size, is_moment)
    return cuts if spent + price < _WORTHWHILE * without else []


def evaluation(jaxpr: jex.Jaxpr) -> float:
    """The multiply-adds of a program without derivatives."""
    return sum((_step(eqn, 1, 1, False, False) for eqn in jaxpr.eqns), 0.0)


def _moment_cost(sizes: Sequence[int], directions: int, moment: bool) -> float:
    total = sum(sizes)
    pairs = sum(a * b for i, a in enumerate(sizes) for b in sizes[i:])
    cost = directions * pairs + (directions * directions * total if moment else 0)
    return float(cost)


def _work(
    steps: Sequence[Step], moving: set[int], single: set[int], directions: int, moment: bool
) -> float:
    """The multiply-adds of pushing directions through steps. Values in `single` begin with one
    direction for each of their entries.
    """
    produced: set[int] = set()
    total = 0.0
    for step in steps:
        operands = [v for v in step.variables if v in moving]
        if not operands:
            continue
        fresh = all(v in single and v not in produced for v in operands)
        total += _step(step.eqn, len(operands), directions, moment, fresh)
        if not fresh or of(step.eqn).summed is not None:
            produced.update(step.writes)
    return total


def _step(eqn: jex.JaxprEqn, operands: int, directions: int, moment: bool, fresh: bool) -> float:
    record = of(eqn)
    outputs: list[Any] = [var.aval for var in eqn.outvars]
    size = sum(math.prod(output.shape) for output in outputs)
    programs = list(inner_programs(eqn))
    if programs and record.inner is not Inner.DECLARED:
        repeats = eqn.params.get("length", 1)
        equations = [e for program in programs for e in program.eqns]
        once = sum(_step(e, len(e.invars), directions, moment, fresh) for e in equations)
        return float(repeats * once)
    if record.summed is not None:
        total = float(directions * size * (1 if fresh else record.summed(eqn)))
    else:
        total = float(size if fresh else directions * size)
    if record.multiplies(operands):
        met = form_cost(directions, size) if moment else directions * size
        total += size if fresh else met
    return total
