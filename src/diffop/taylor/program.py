"""A jaxpr as one flat list of steps, with the calls of inner programs inlined."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import jax.extend.core as jex

from ..kept import own_policy
from ..versions import named_axes
from .binding import where
from .primitive import Following, Inner, of


@final
class Constant:
    """An input that is not a variable."""

    def __init__(self, value: Any) -> None:
        self.value = value


Atom: TypeAlias = int | Constant
"""A variable of the flat program, by number, or a known value."""


class Step(NamedTuple):
    """One equation, with the atoms that it reads, the variables among them, the variables that it
    writes, and its region: the call of `jax.checkpoint` that it belongs to. It is `mixing` if it
    has `named_axes`. If it stops a number on which the outputs do not depend, `shifted` is the
    variable from which that number is subtracted.
    """

    eqn: jex.JaxprEqn
    reads: tuple[Atom, ...]
    variables: tuple[int, ...]
    writes: tuple[int, ...]
    region: jex.JaxprEqn | None
    mixing: bool
    shifted: int | None = None


class Program(NamedTuple):
    """Steps in order; the inputs are the variables 0, 1, …."""

    steps: list[Step]
    outputs: tuple[Atom, ...]


def flatten(
    jaxpr: jex.Jaxpr,
    consts: Sequence[Any],
    as_written: Callable[[jex.JaxprEqn], bool] | None = None,
) -> Program:
    """The live equations of a program and of everything that it calls, rematerialised or not. If an
    equation is to be differentiated `as_written`, this includes functions with declared
    derivatives.
    """
    flat = _Flattening(as_written)
    inputs: list[Atom] = [next(flat.numbers) for _ in jaxpr.invars]
    outputs = flat.inline(jaxpr, consts, inputs, None)
    steps = flat.steps
    for number in flat.stopping:
        steps[number] = steps[number]._replace(shifted=_shifted(steps[number:], outputs))
    return Program(steps, tuple(outputs))


def _shifted(steps: Sequence[Step], outputs: Sequence[Atom]) -> int | None:
    """The variable from which the output of the first step is subtracted, if adding anything to it
    has no effect: softmax and similar functions are functions of differences.
    """
    first, *later = steps
    following: dict[Atom, Following] = {first.writes[0]: Following(added=1)}
    shifted = None
    for step in later:
        if following.keys().isdisjoint(step.variables):
            continue
        rule = of(step.eqn).under_shift
        operands = [following.get(atom, Following()) for atom in step.reads]
        found = None if rule is None else rule(step.eqn, operands)
        if found is None:
            return None
        if found == Following(added=-1) and shifted is None:
            shifted = next((v for v in step.variables if v not in following), None)
        if found != Following():
            following[step.writes[0]] = found
    return shifted if following.keys().isdisjoint(outputs) else None


def live_equations(jaxpr: jex.Jaxpr) -> list[jex.JaxprEqn]:
    """The equations that the outputs need, in order, and those with side effects."""
    needed = set(map(id, jaxpr.outvars))
    live = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(map(id, eqn.outvars)):
            live.append(eqn)
            needed.update(map(id, eqn.invars))
    return live[::-1]


@final
class _Flattening:
    def __init__(self, as_written: Callable[[jex.JaxprEqn], bool] | None) -> None:
        self.steps: list[Step] = []
        self.stopping: list[int] = []
        """The steps whose output is their operand, a single number, with derivative zero. With
        several numbers it would matter which of them meet: the numbers of one row may not be common
        to a sum over all.
        """
        self.numbers = itertools.count()
        self._as_written = as_written

    def inline(
        self,
        jaxpr: jex.Jaxpr,
        consts: Sequence[Any],
        inputs: Sequence[Atom],
        region: jex.JaxprEqn | None,
        caller: jex.JaxprEqn | None = None,
    ) -> list[Atom]:
        names: dict[jex.Var, Atom] = dict(zip(jaxpr.constvars, map(Constant, consts), strict=True))
        names.update(zip(jaxpr.invars, inputs, strict=True))

        def atom(each: Any) -> Atom:
            return Constant(each.val) if isinstance(each, jex.Literal) else names[each]

        for eqn in live_equations(jaxpr):
            reads = [atom(each) for each in eqn.invars]
            if caller is not None:
                eqn = eqn.replace(source_info=caller.source_info)
            record = of(eqn)
            inner_program = record.inner
            as_written = self._as_written is not None and self._as_written(eqn)
            if as_written or inner_program is Inner.CALLED:
                inner = called(eqn)
                outer = None if _has_lines(inner.jaxpr) else eqn
                outputs = self.inline(inner.jaxpr, inner.consts, reads, region, outer)
            elif inner_program is Inner.REMATERIALISED:
                own = eqn.params["policy"] is own_policy
                inside = region if own else region or eqn
                outputs = self.inline(eqn.params["jaxpr"], (), reads, inside)
            else:
                outputs = [next(self.numbers) for _ in eqn.outvars]
                variables = tuple(each for each in reads if isinstance(each, int))
                mixing = bool(named_axes([eqn], lambda each: of(each).mixes))
                if record.stops and _is_one_number(eqn.outvars[0]):
                    self.stopping.append(len(self.steps))
                step = Step(eqn, tuple(reads), variables, tuple(outputs), region, mixing)
                self.steps.append(step)
            names.update(zip(eqn.outvars, outputs, strict=True))
        return [atom(each) for each in jaxpr.outvars]


def _has_lines(jaxpr: jex.Jaxpr) -> bool:
    """Whether equations know their line of the user's program. Those that JAX has traced before,
    such as `jnp.linalg.eigvals`, do not.
    """
    return not jaxpr.eqns or bool(where(jaxpr.eqns[0]))


def _is_one_number(var: Any) -> bool:
    return math.prod(var.aval.shape) == 1


@final
class Uses:
    """The readers of each variable, and how many are `left`: later steps, and the caller."""

    def __init__(self, program: Program) -> None:
        self.readers: dict[int, list[int]] = {}
        self.left = Counter(atom for atom in program.outputs if isinstance(atom, int))
        for number, step in enumerate(program.steps):
            for variable in set(step.variables):
                self.readers.setdefault(variable, []).append(number)
                self.left[variable] += 1

    def done(self, step: Step) -> list[int]:
        """The variables that nothing needs after a step."""
        self.left.subtract(set(step.variables))
        return [v for v in {*step.variables, *step.writes} if not self.left[v]]


def stretches(
    steps: Sequence[Step], cuts: Collection[int] = ()
) -> Iterator[tuple[int, list[Step]]]:
    """Steps one by one, with their numbers; the steps of a region together, up to the next cut
    before one of them.
    """
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


def called(eqn: jex.JaxprEqn) -> jex.ClosedJaxpr:
    """The inner program of a call."""
    return eqn.params["jaxpr"] if "jaxpr" in eqn.params else eqn.params["call_jaxpr"]
