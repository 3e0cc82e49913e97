"""Rules of branches and loops: they recurse, with one structure of coefficients on all paths."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax

from ...devices import varying_alike, varying_over
from ...versions import carried_operands, varying_axes
from ..binding import bind_program, described_equation
from ..bundle import (
    Families,
    Value,
    dense_value,
    each_term,
    primal_of,
)
from ..coefficients import Coefficient, on_array
from ..interpreter import interpret
from ..primitive import Primitive, enter
from .agreement import agreed, conform_all


def _traced(function: Callable[..., Any], *examples: Any) -> tuple[Callable[..., Any], Any]:
    """The same function of values like these, traced once for all calls, and the shapes of its
    results. Otherwise programs that are nested k deep would be pushed 2^k times.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
    structure = jax.tree.structure(shapes)

    def evaluated(*values: Any) -> Any:
        outputs = jex.jaxpr_as_fun(closed)(*jax.tree.leaves(values))
        return jax.tree.unflatten(structure, outputs)

    return evaluated, shapes


Iteration: TypeAlias = Callable[..., tuple[list[Value], list[Value]]]
"""The results of an iteration, from carried values and its row: the next values, and outputs."""


def _iteration(
    step: Iteration,
    initial: Sequence[Value],
    row: Sequence[Value],
    families: Families,
    name: str,
) -> tuple[Iteration, list[Value]]:
    """The step with the least structure of carried values that it maps to itself, and the initial
    values in this structure.
    """
    structures = [agreed(families, [value]) for value in initial]
    while True:
        carry = conform_all(initial, structures, families, name)
        traced, (after, _) = _traced(step, carry, row)
        found = [agreed(families, pair) for pair in zip(carry, after, strict=True)]
        if found == structures:
            break
        structures = found

    def conforming(carry: Sequence[Value], row: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        carry, outputs = traced(carry, row)
        return conform_all(carry, structures, families, name), outputs

    return conforming, carry


def cond(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Each branch is pushed once; then all give coefficients of their common structure."""
    index, *arguments = operands
    pushed = [
        _traced(partial(interpret, each.jaxpr, each.consts, families), arguments)
        for each in eqn.params["branches"]
    ]
    outcomes = zip(*(shapes for _, shapes in pushed), strict=True)
    name = described_equation(eqn)
    structures = [agreed(families, outcome, sparse=True) for outcome in outcomes]

    def conforming(
        branch: Callable[[list[Value]], list[Value]],
    ) -> Callable[..., list[Value]]:
        return lambda values: conform_all(branch(values), structures, families, name)

    paths = [conforming(each) for each, _ in pushed]
    axes = varying_axes(index)
    if axes:
        arguments = jax.tree.map(lambda array: varying_over(array, axes), arguments)
        paths = [_without_casts(path, arguments, axes) for path in paths]
    return lax.switch(index, paths, arguments)


def _without_casts(
    branch: Callable[[list[Value]], list[Value]],
    arguments: Sequence[Value],
    axes: frozenset,
) -> Callable[[list[Value]], list[Value]]:
    """A branch whose constants vary over the devices of the index.

    Under `jax.vmap` the branches become a selection. JAX then makes everything that they use vary
    over the index's devices, but keeps the casts inside that declare it a second time.
    """
    closed, shape = jax.make_jaxpr(branch, return_shape=True)(arguments)
    consts = [varying_over(const, axes) for const in closed.consts]

    def path(values: list[Value]) -> list[Value]:
        outputs = interpret(closed.jaxpr, consts, (), jax.tree.leaves(values))
        return jax.tree.unflatten(jax.tree.structure(shape), outputs)

    return path


def while_loop(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    first = eqn.params["cond_nconsts"]
    second = first + eqn.params["body_nconsts"]
    test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]

    def tested(values: Sequence[Value]) -> Any:
        primals = [primal_of(value) for value in (*values[:first], *values[second:])]
        return jex.jaxpr_as_fun(test)(*primals)[0]

    def apart(*values: Any) -> list[Any]:
        """The body if there is a test for each entry: one stays as it is once its own is false."""
        going, after = tested(values), jex.jaxpr_as_fun(body)(*values[first:])
        each = [lax.broadcast_in_dim(going, new.shape, range(going.ndim)) for new in after]
        return list(map(lax.select, each, after, values[second:]))

    mapped = bool(test.out_avals[0].shape)  # by `jax.vmap`
    program = jax.make_jaxpr(apart)(*map(primal_of, operands)) if mapped else body
    consts = operands[0 if mapped else first : second]

    def keep_going(carry: Sequence[Value]) -> Any:
        going = tested([*operands[:second], *carry])
        return jnp.any(going) if mapped else going

    def step(carry: Sequence[Value], row: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        return interpret(program.jaxpr, program.consts, families, [*consts, *carry]), []

    step, carry = _iteration(step, operands[second:], [], families, described_equation(eqn))
    return lax.while_loop(keep_going, lambda carry: step(carry, [])[0], carry)


def scan(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    params = eqn.params
    first, second = carried_operands(params)
    consts, initial, xs = operands[:first], operands[first:second], operands[second:]
    body = params["jaxpr"]
    name = described_equation(eqn)
    rows = [_rows_first(dense_value(x, families, name), families, True) for x in xs]

    def step(carry: Sequence[Value], row: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        outputs = interpret(body.jaxpr, body.consts, families, [*consts, *carry, *row])
        ys = [dense_value(y, families, name) for y in outputs[len(initial) :]]
        return outputs[: len(initial)], ys

    step, carry = _iteration(step, initial, jax.tree.map(_row, rows), families, name)
    carry, ys = lax.scan(
        step,
        carry,
        rows,
        length=None if rows else params["length"],  # JAX takes no symbol that it can infer
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*carry, *(_rows_first(y, families, False) for y in ys)]


def _row(array: Any) -> Any:
    """A row of an array that may have none: only its type is used."""
    row = jnp.empty(array.shape[1:], array.dtype)
    return varying_alike([row, array])[0]


def _rows_first(value: Value, families: Families, forth: bool) -> Value:
    """The axis that is scanned over, which follows the leading axes of each coefficient, becomes
    the first, or goes back.
    """

    def moved(term: Coefficient, lead: int) -> Coefficient:
        ends = (lead, 0) if forth else (0, lead)
        return on_array(lambda array: jnp.moveaxis(array, *ends), term)

    return each_term(moved, value, families)


enter(["cond"], Primitive(cond, "control flow", evaluate=bind_program))
enter(["while"], Primitive(while_loop, "control flow", evaluate=bind_program))
enter(["scan"], Primitive(scan, "control flow", evaluate=bind_program))
