"""Branches and loops: recurse, with one structure of coefficients on every path.

A value's structure says which of its coefficients are arrays. Where paths meet (branches of a
`cond`, one iteration of a loop and the next) a coefficient that is zero on one path only becomes an
array of zeros there.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax

from ..binding import varying_alike
from ..bundle import (
    Bundle,
    Families,
    Family,
    Value,
    bundle,
    dense_value,
    plain,
    primal_of,
    series_of,
)
from ..coefficients import Blocks, Coefficient, Dense, Zero, blocks
from ..interpreter import interpret
from ..registry import register

Structure: TypeAlias = tuple[tuple[Any, ...], ...]
"""For every family and place: is the coefficient an array? For blocks, a tuple of answers."""


def _structure(value: Value, families: Families) -> Structure:
    return tuple(
        tuple(_kind(term) for term in series_of(value, families, index))
        for index in range(len(families))
    )


def _kind(coefficient: Coefficient) -> bool | tuple[bool, ...]:
    if isinstance(coefficient, Blocks):
        return tuple(not isinstance(part, Zero) for part in coefficient.parts)
    return not isinstance(coefficient, Zero)


def _join(structures: Sequence[Structure]) -> Structure:
    return tuple(
        tuple(_wider(kinds) for kinds in zip(*per_family, strict=True))
        for per_family in zip(*structures, strict=True)
    )


def _wider(kinds: Sequence[Any]) -> Any:
    parts = [kind for kind in kinds if isinstance(kind, tuple)]
    return tuple(map(any, zip(*parts, strict=True))) if parts else any(kinds)


def _conform(value: Value, structure: Structure, families: Families) -> Value:
    """The same value, its coefficients instantiated where the structure says so."""
    primal = primal_of(value)
    series = [
        tuple(
            _instantiated(family, term, kind, place, primal)
            for place, (term, kind) in enumerate(
                zip(series_of(value, families, index), structure[index], strict=True)
            )
        )
        for index, family in enumerate(families)
    ]
    return bundle(primal, series)


def _instantiated(
    family: Family, term: Coefficient, kind: Any, place: int, primal: Any
) -> Coefficient:
    if not isinstance(kind, tuple):
        return plain(family.instantiate(term, place, primal)) if kind else term
    if not any(kind):
        return term
    whole = family.instantiate(term, place, primal)
    assert isinstance(whole, Blocks)
    chosen = (part if wanted else Zero() for part, wanted in zip(whole.parts, kind, strict=True))
    return plain(Blocks(tuple(chosen)))


def _conform_all(
    values: Sequence[Value], structures: Sequence[Structure], families: Families
) -> list[Value]:
    return [_conform(v, s, families) for v, s in zip(values, structures, strict=True)]


def _fixpoint(
    step: Callable[[list[Value]], list[Value]], initial: Sequence[Value], families: Families
) -> list[Structure]:
    """The least structure of carried values that one iteration maps into itself."""
    structures = [_structure(value, families) for value in initial]
    while True:
        carry = _conform_all(initial, structures, families)
        after = jax.eval_shape(step, carry)
        wider = [
            _join([s, _structure(v, families)]) for s, v in zip(structures, after, strict=True)
        ]
        if wider == structures:
            return structures
        structures = wider


@register("cond")
def cond(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    index, *arguments = operands

    def push(branch: jex.ClosedJaxpr) -> Callable[[list[Value]], list[Value]]:
        return lambda values: interpret(branch.jaxpr, branch.consts, families, values)

    branches = [push(branch) for branch in eqn.params["branches"]]
    outcomes = [
        [_structure(v, families) for v in jax.eval_shape(branch, arguments)] for branch in branches
    ]
    structures = [_join(structure) for structure in zip(*outcomes, strict=True)]

    def conforming(branch: Callable[[list[Value]], list[Value]]) -> Callable[..., list[Value]]:
        return lambda values: _conform_all(branch(values), structures, families)

    return lax.switch(index, [conforming(branch) for branch in branches], arguments)


@register("while")
def while_loop(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test_consts, body_consts = operands[:first], operands[first : first + second]
    initial = operands[first + second :]
    test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]

    def keep_going(carry: Sequence[Value]) -> Any:
        primals = [primal_of(value) for value in (*test_consts, *carry)]
        return jex.jaxpr_as_fun(test)(*primals)[0]

    def step(carry: Sequence[Value]) -> list[Value]:
        return interpret(body.jaxpr, body.consts, families, [*body_consts, *carry])

    structures = _fixpoint(step, initial, families)
    return lax.while_loop(
        keep_going,
        lambda carry: _conform_all(step(carry), structures, families),
        _conform_all(initial, structures, families),
    )


def scan_operands(params: dict[str, Any]) -> tuple[int, int]:
    """Where the carried operands of a `scan` begin, behind its constants, and where they end."""
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, _ = (len(group.vals) for group in params["ft_in"].unpack())  # JAX ≥ 0.12
    return consts, consts + carry


@register("scan")
def scan(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    params = eqn.params
    first, second = scan_operands(params)
    consts, initial, xs = operands[:first], operands[first:second], operands[second:]
    body = params["jaxpr"]
    rows = [_iterated_first(dense_value(x, families, "scan"), families) for x in xs]

    def step(carry: Sequence[Value], row: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        outputs = interpret(body.jaxpr, body.consts, families, [*consts, *carry, *row])
        ys = [dense_value(y, families, "scan") for y in outputs[len(initial) :]]
        return outputs[: len(initial)], ys

    row = jax.tree.map(_row, rows)
    structures = _fixpoint(lambda carry: step(carry, row)[0], initial, families)

    def conforming(carry: Sequence[Value], row: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        carry, outputs = step(carry, row)
        return _conform_all(carry, structures, families), outputs

    carry, ys = lax.scan(
        conforming,
        _conform_all(initial, structures, families),
        rows,
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*carry, *(_iterated_last(y, families) for y in ys)]


def _row(array: Any) -> Any:
    """Some row of an array, which may have none: only its type is used."""
    row = jnp.empty(array.shape[1:], array.dtype)
    return varying_alike([row, array])[0]


def _iterated_first(value: Value, families: Families) -> Value:
    """The axis that is scanned over, behind the leading axes of each coefficient, becomes the
    first.
    """
    return _move_axis(value, families, lambda array, lead: jnp.moveaxis(array, lead, 0))


def _iterated_last(value: Value, families: Families) -> Value:
    return _move_axis(value, families, lambda array, lead: jnp.moveaxis(array, 0, lead))


def _move_axis(
    value: Value, families: Families, move: Callable[[jax.Array, int], jax.Array]
) -> Value:
    if not isinstance(value, Bundle):
        return value

    def moved(term: Coefficient, lead: int) -> Coefficient:
        if isinstance(term, Blocks):
            return blocks([moved(part, 1) for part in term.parts])
        return Dense(move(term.array, lead)) if isinstance(term, Dense) else term

    series = tuple(
        tuple(moved(term, family.lead(place)) for place, term in enumerate(terms))
        for family, terms in zip(families, value.series, strict=True)
    )
    return Bundle(value.primal, series)
