"""Programs about single equations, traced once: the derivative of the equation's function, and its
Taylor coefficients.
"""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...algebra.algebra import Algebra
from ...arrays import as_array, times
from .. import places
from ..arithmetic import instantiate
from ..binding import bind, partially_bound
from ..coefficients import Full, Series, zeros
from ..one_jet import push_jet
from ..primitive import Form, of
from ..program import live_equations


def derivative(eqn: jex.JaxprEqn, primals: Sequence[Any], position: int) -> jex.ClosedJaxpr:
    """φ′ as a program of the equation's operands."""

    def program(*operands: Array) -> Array:
        function, x = partially_bound(eqn, operands, (position,)), operands[position]
        slope = _own_slope(eqn, x)
        return slope(x) if slope else jax.jvp(function, (x,), (jnp.ones_like(x),))[1][0]

    return _about(("derivative", position), eqn, program, primals)


def first_coefficients(
    eqn: jex.JaxprEqn, primals: Sequence[Any], position: int, order: int
) -> list[Array]:
    """φ(x) and φ′(x), from which a recurrence continues; without one, all coefficients, by pushing
    the curve t ↦ x + t through the equation.
    """
    recurrence, slope = of(eqn).recurrence, _own_slope(eqn, primals[position])
    if recurrence is not None and slope is not None:
        return [*bind(eqn, primals), slope(as_array(primals[position]))]
    degree = order if recurrence is None else 1

    def program(*operands: Array) -> list[Array]:
        function, x = partially_bound(eqn, operands, (position,)), operands[position]
        if slope is None:
            return [*function(x), *_along_line(function, x, degree)]
        own: Callable[[Any], Array] = slope
        slopes = [own(x), *_along_line(lambda x: [own(x)], x, degree - 1)]
        return [*function(x), *(times(each, 1 / k) for k, each in enumerate(slopes, start=1))]

    closed = _about((position, degree), eqn, program, primals)
    return [as_array(each) for each in jex.jaxpr_as_fun(closed)(*primals)]


def _along_line(function: Callable[..., list[Any]], x: Array, degree: int) -> list[Array]:
    """The Taylor coefficients of a function along t ↦ x + t."""
    if degree == 0:
        return []
    line: Series = (Full(jnp.ones_like(x)), *zeros(degree - 1))
    (series,) = push_jet(function, (x,), (line,), Algebra.curve(degree))
    return [instantiate(term, (), x).array for term in series]


def _own_slope(eqn: jex.JaxprEqn, x: Any) -> Callable[[Any], Array] | None:
    return None if jnp.iscomplexobj(x) else of(eqn).slope


def _hashable(params: dict[str, Any]) -> Hashable:
    """Parameters as a dictionary key, or None if they cannot be hashed."""
    key = tuple(sorted(params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _simplified(closed: jex.ClosedJaxpr) -> jex.ClosedJaxpr:
    """The same program without repeated equations, since derivatives of all orders share
    subexpressions, and without products with 1: the line t ↦ x + t has that velocity, and half of
    the products in derivatives are with it. Numbers stay numbers instead of arrays.
    """
    same: dict[jex.Var, Any] = {}  # the earlier variable or number that equals it
    numbers: dict[jex.Var, jex.Literal] = {}
    ones: set[jex.Var] = set()
    seen: dict[Hashable, jex.JaxprEqn] = {}
    kept = []
    for eqn in closed.jaxpr.eqns:
        atoms = [_as_before(atom, same) for atom in eqn.invars]
        record, params = of(eqn), _hashable(eqn.params)
        if record.form is Form.ENTRYWISE:
            factors = [atom for atom in atoms if not _is_one(atom, ones)] or atoms[:1]
            (factor, *others), (product,) = factors, eqn.outvars
            if not others and factor.aval == product.aval:
                same[product] = factor
                continue
        # what only moves entries makes ones of ones; a sum does not
        elif record.moves not in (None, places.summed) and len(atoms) == 1:
            if isinstance(atoms[0], jex.Literal):
                numbers[eqn.outvars[0]] = atoms[0]
            if _is_one(atoms[0], ones):
                ones.update(eqn.outvars)
        elif record.scalars:
            shorter, (total,) = [_as_before(atom, numbers) for atom in atoms], eqn.outvars
            if any(atom.aval.shape == total.aval.shape for atom in shorter):
                atoms = shorter
        key = (eqn.primitive, params, *map(_identity, atoms))
        if params is None or eqn.effects or key not in seen:
            seen[key] = eqn = eqn.replace(invars=atoms)
            kept.append(eqn)
        else:
            same.update(zip(eqn.outvars, seen[key].outvars, strict=True))
    outputs = [_as_before(atom, same) for atom in closed.jaxpr.outvars]
    jaxpr = closed.jaxpr.replace(eqns=kept, outvars=outputs)
    return jex.ClosedJaxpr(jaxpr.replace(eqns=live_equations(jaxpr)), closed.consts)


def _identity(atom: Any) -> Hashable:
    """A key that is equal for equal operands."""
    if isinstance(atom, jex.Literal):
        return atom.aval, np.asarray(atom.val).tobytes()
    return atom


def _as_before(atom: Any, same: dict[jex.Var, Any]) -> Any:
    return atom if isinstance(atom, jex.Literal) else same.get(atom, atom)


def _is_one(atom: Any, ones: set[jex.Var]) -> bool:
    if isinstance(atom, jex.Literal):
        return np.ndim(atom.val) == 0 and bool(atom.val == 1)
    return atom in ones


@final
@dataclasses.dataclass(frozen=True)
class _About:
    """A program of an equation's operands, of some types; equal for equal equations and kinds."""

    key: Hashable
    program: Callable[..., Any] = dataclasses.field(compare=False)
    kinds: tuple[Any, ...]


def _about(
    kind: Hashable, eqn: jex.JaxprEqn, program: Callable[..., Any], primals: Sequence[Any]
) -> jex.ClosedJaxpr:
    params, kinds = _hashable(eqn.params), tuple(map(jax.typeof, primals))
    trace = _traced.__wrapped__ if params is None else _traced
    return trace(_About((kind, eqn.primitive, params), program, kinds))


@functools.lru_cache(maxsize=1024)
def _traced(about: _About) -> jex.ClosedJaxpr:
    return _simplified(jax.make_jaxpr(about.program)(*about.kinds))
