"""The interpreter: it pushes values with coefficients through a program, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer
from jax.extend import source_info_util

from ..arrays import has_symbols
from ..coefficients.blocks import Blocks
from ..devices import computed_at_once, is_divided
from ..source import Source
from .arithmetic import densify
from .binding import bind
from .bundle import (
    Bundle,
    Families,
    Family,
    Value,
    bundle,
    dense_value,
    each_term,
    is_inexact,
    is_moving,
    laid_out,
    primal_of,
)
from .coefficients import Coefficient, Full
from .primitive import of, rule_of
from .program import Atom, Constant, Program, Step, Uses, flatten, stretches


def interpret(
    jaxpr: jex.Jaxpr, consts: Sequence[Any], families: Families, operands: Sequence[Value]
) -> list[Value]:
    """Pushes operands through a jaxpr, whether they move or not.

    **Arguments:**

    - `jaxpr`, `consts`: the program.
    - `families`: the curves along which bundles carry coefficients.
    - `operands`: one value for each input: a `Bundle` or a plain array.

    **Returns:**

    One value for each output.
    """
    return run_program(flatten(jaxpr, consts), families, operands)


def run_program(program: Program, families: Families, operands: Sequence[Value]) -> list[Value]:
    """Pushes operands through a program, in the program's order."""
    walk = Walk(program, families, operands)
    for _, steps in stretches(walk.program.steps):
        walk.push_together(steps)
    return walk.outputs()


@final
class Walk:
    """A walk through a program: it holds the values that later steps will read. The caller decides
    in which order steps are pushed, and how `families` change between them.
    """

    def __init__(self, program: Program, families: Families, operands: Sequence[Value]) -> None:
        self.program = program
        self.families = list(families)
        self.uses = Uses(program)
        self.values: dict[int, Value] = {}
        self.moving: set[int] = set()
        self._token = object()
        for variable, value in enumerate(operands):
            if self.uses.left[variable]:
                self.store(variable, value)

    def push(self, step: Step) -> None:
        for variable, value in self._pushed(step, self.values):
            self.store(variable, value)
        for variable in self.uses.done(step):
            self._forget(variable)

    def push_together(self, steps: Sequence[Step]) -> None:
        """Pushes one step, or several that the user asked to rematerialise together: these as one
        rematerialised function.
        """
        region = steps[0].region
        if region is None:
            return self.push(*steps)
        made = {v for step in steps for v in step.writes}
        dead = {v for step in steps for v in self.uses.done(step)}
        reads = sorted({v for step in steps for v in step.variables} - made)
        kept = sorted(made - dead)

        def push(values: Sequence[Value]) -> list[Value]:
            local = dict(zip(reads, values, strict=True))
            for step in steps:
                local.update(self._pushed(step, local))
            return [local[v] for v in kept]

        how = {name: region.params[name] for name in ("prevent_cse", "policy")}
        again = jax.checkpoint(push, **how)
        for variable, value in zip(kept, again([self.values[v] for v in reads]), strict=True):
            self.store(variable, value)
        for variable in dead:
            self._forget(variable)

    def _pushed(self, step: Step, values: Mapping[int, Value]) -> list[tuple[int, Value]]:
        """What a step writes. A number that it stops, and on which no output of the program
        depends, may move all the same (`Step.shifted`). Values are named here, and not only where
        they are stored, since those inside a region are not.
        """
        outputs = push_equation(tuple(self.families), step.eqn, _read(step.reads, values))
        if step.shifted is not None and _takes_rows(values.get(step.shifted)):
            outputs = [_following_largest(outputs[0], values[step.shifted], self.families)]
        return [(v, self._named(v, y)) for v, y in zip(step.writes, outputs, strict=True)]

    def outputs(self) -> list[Value]:
        return _read(self.program.outputs, self.values)

    def store(self, variable: int, value: Value) -> None:
        self.values[variable] = self._named(variable, value)
        if is_moving(value):
            self.moving.add(variable)

    def _named(self, variable: int, value: Value) -> Value:
        """A value that moves, with a source: its own or that of the variable."""
        if not isinstance(value, Bundle) or value.source is not None:
            return value
        return Bundle(value.primal, value.series, Source((self._token, variable)))

    def _forget(self, variable: int) -> None:
        self.values.pop(variable, None)
        self.moving.discard(variable)


def _read(atoms: Sequence[Atom], values: Mapping[int, Value]) -> list[Value]:
    return [atom.value if isinstance(atom, Constant) else values[atom] for atom in atoms]


_FEW = 64
"""At most this many entries may change along as many directions, where each entry had one."""


def _takes_rows(value: Value | None) -> bool:
    """Whether a row of numbers may be subtracted from the coefficients of a value. They have to be
    arrays, or few, and one of them has to be looked up, which JAX refuses if they are divided.
    """
    if not isinstance(value, Bundle) or jnp.iscomplexobj(value.primal):
        return False
    if is_divided(jax.typeof(value.primal)):
        return False
    terms = [term for series in value.series for term in series]
    return not any(isinstance(term, Blocks) for term in terms) or value.primal.size <= _FEW


def _following_largest(stopped: Any, value: Bundle, families: Sequence[Family]) -> Value:
    """A number that is subtracted from all entries of a value, and affects only digits: the maximum
    in a softmax, which JAX stops. It is given the coefficients of the largest entry. Any would be
    correct, but with these the largest exponential stays constant, and no large numbers are
    subtracted from each other. (JAX's derivative of a maximum divides by the number of entries that
    equal it. A program that computes these twice, with different roundings, may find none.)
    """
    place = jnp.argmax(value.primal)

    def at_place(term: Coefficient, lead: int) -> Coefficient:
        term = densify(term, lead, value.primal)
        if not isinstance(term, Full):
            return term
        rows = term.array.reshape(*term.base.shape[:lead], -1)
        number = lax.dynamic_index_in_dim(rows, place, lead, keepdims=False)
        return Full(number.reshape(*number.shape, *jnp.shape(stopped)).astype(stopped.dtype))

    moving = each_term(at_place, value, tuple(families))
    return bundle(stopped, moving.series)


def push_equation(
    families: Families, eqn: jex.JaxprEqn, values: Sequence[Value]
) -> Sequence[Value]:
    """The outputs of one equation, in the context in which it was traced: the results belong to the
    same line of the user's program.
    """
    with source_info_util.user_context(eqn.source_info.traceback), eqn.ctx.manager:
        return _outputs(families, eqn, values)


def _outputs(families: Families, eqn: jex.JaxprEqn, values: Sequence[Value]) -> Sequence[Value]:
    # a reference is an operand to which an equation may write
    changed = [*eqn.outvars, *(var for var in eqn.invars if hasattr(var.aval, "inner_aval"))]
    if any(map(is_moving, values)) and any(is_inexact(var.aval) for var in changed):
        if not any(is_divided(var.aval) or has_symbols(var.aval) for var in eqn.outvars):
            return rule_of(eqn)(families, eqn, values)
        dense = [dense_value(value, families, eqn.primitive.name) for value in values]
        return [laid_out(families, value) for value in rule_of(eqn)(families, eqn, dense)]
    primals = [primal_of(value) for value in values]
    if _is_index_arithmetic(eqn, primals):
        return computed_at_once(lambda: bind(eqn, primals))
    return bind(eqn, primals)


def _is_index_arithmetic(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> bool:
    """Whether these are known indices. They stay known, so that sparse coefficients can be followed
    through them.
    """
    whole = not any(is_inexact(var.aval) for var in eqn.outvars)
    known = not any(isinstance(operand, Tracer) for operand in operands)
    return of(eqn).on_indices and whole and known
