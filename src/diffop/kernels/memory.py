"""The memory that programs need."""

import math
from collections.abc import Iterable
from typing import Any

import jax.extend.core as jex
from jax.export import is_symbolic_dim

from ..versions import inner_programs


def peak_bytes(closed: jex.ClosedJaxpr, inputs: Iterable[int] | None = None) -> int:
    """The largest number of bytes needed at one time by values that depend on a program's inputs,
    or on the inputs with some numbers.

    It is an upper bound, since what XLA fuses is not known. Values that do not depend on the inputs
    (a transposed matrix) exist once for all points. A size that is a symbol (`jax.export`) counts
    as one.
    """
    every = closed.jaxpr.invars
    return _peak(closed.jaxpr, set(every if inputs is None else (every[n] for n in inputs)))


def _peak(jaxpr: jex.Jaxpr, depends: set[Any]) -> int:
    last: dict[Any, int] = {}
    for number, eqn in enumerate(jaxpr.eqns):
        last.update({atom: number for atom in _variables(eqn.invars)})
    last.update({atom: len(jaxpr.eqns) for atom in _variables(jaxpr.outvars)})
    live: set[Any] = set()
    now = peak = 0
    for number, eqn in enumerate(jaxpr.eqns):
        if any(atom in depends for atom in _variables(eqn.invars)):
            inside, outputs = _inside(eqn, depends)
            depends.update(outputs)
            new = {var for var in outputs if var in last}
            live |= new
            now += sum(map(_bytes, new))
            peak = max(peak, now + inside)
        dead = {atom for atom in live if last[atom] == number}
        now -= sum(map(_bytes, dead))
        live -= dead
    return peak


def _variables(atoms: Any) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, jex.Literal)]


def _inside(eqn: jex.JaxprEqn, depends: set[Any]) -> tuple[int, list[Any]]:
    """The bytes that the inner programs of an equation need, and the outputs that depend on the
    inputs: for a call as its program says, given which of its operands depend.
    """
    programs = list(inner_programs(eqn))
    if not (len(programs) == 1 and _is_call(eqn, programs[0])):
        return max((_peak(each, set(each.invars)) for each in programs), default=0), eqn.outvars
    (program,) = programs
    pairs = zip(program.invars, eqn.invars, strict=True)
    inner = {var for var, atom in pairs if _variables([atom]) and atom in depends}
    peak = _peak(program, inner)
    pairs = zip(program.outvars, eqn.outvars, strict=True)
    return peak, [var for made, var in pairs if _variables([made]) and made in inner]


def _is_call(eqn: jex.JaxprEqn, program: jex.Jaxpr) -> bool:
    """Whether an equation is just its inner program, applied to its operands."""
    inputs = _shapes(eqn.invars) == _shapes(program.invars)
    return inputs and _shapes(eqn.outvars) == _shapes(program.outvars)


def _shapes(atoms: Any) -> list[tuple[int, ...]]:
    return [atom.aval.shape for atom in atoms]


def _bytes(var: Any) -> int:
    aval = var.aval
    known = [size for size in aval.shape if not is_symbolic_dim(size)]
    return math.prod(known) * getattr(aval.dtype, "itemsize", 1) if aval.shape else 0
