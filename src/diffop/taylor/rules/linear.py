"""Primitives that are linear in their moving operands: apply them to each coefficient."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array

from ..arithmetic import linear_map
from ..binding import bind
from ..bundle import Families, Family, Value, expand, is_moving, primal_of
from ..coefficients import Series
from ..equation import LinearMap
from ..index_maps import are_different
from ..interpreter import interpret
from ..registry import Rule, register
from .fallback import fallback


def linear(positions: slice) -> Rule:
    """The rule of a primitive that is jointly linear in the operands at `positions`; the others do
    not move.

    Linear, not affine: in a Taylor coefficient an operand that stands still is zero.
    """

    def rule(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
        primals = [primal_of(operand) for operand in operands]
        chosen = range(len(operands))[positions]
        outputs = bind(eqn, primals)
        function = LinearMap(eqn, primals, chosen, outputs)

        def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
            columns = [
                linear_map(
                    function, family.lead(place), [series[position][place] for position in chosen]
                )
                for place in family.places
            ]
            return list(zip(*columns, strict=True))

        return expand(families, operands, outputs, expansion)

    return rule


_ALL, _FIRST, _FIRST_TWO, _AFTER_FIRST = slice(None), slice(1), slice(2), slice(1, None)

LINEAR: dict[str, slice] = {
    **dict.fromkeys(
        (
            "add",
            "add_any",
            "all_gather",
            "all_gather_invariant",
            "all_gather_reduced",
            "all_to_all",
            "broadcast_in_dim",
            "complex",
            "concatenate",
            "conj",
            "convert_element_type",
            "copy",
            "copy_p",
            "cumsum",
            "device_put",
            "fft",
            "imag",
            "layout_constraint",
            "name",
            "neg",
            "optimization_barrier",
            "pad",
            "pbroadcast",
            "ppermute",
            "preduced",
            "psum",
            "psum_invariant",
            "pvary",
            "real",
            "reduce_precision",
            "reduce_scatter",
            "reduce_sum",
            "reduce_window_sum",
            "reduced_vary_cast",
            "reduced_vary_cast_p",
            "reshape",
            "reshard",
            "rev",
            "sharding_constraint",
            "slice",
            "split",
            "squeeze",
            "sub",
            "transpose",
            "unreduced_psum",
            "unreduced_reduce_scatter",
            "vary_unreduced_cast",
            "vary_unreduced_cast_p",
        ),
        _ALL,
    ),
    "dynamic_slice": _FIRST,
    "gather": _FIRST,
    "pbroadcast_dynamic": _FIRST,
    "ragged_all_to_all": _FIRST_TWO,
    "dynamic_update_slice": _FIRST_TWO,
    "select_n": _AFTER_FIRST,
    "scatter": slice(0, 3, 2),
    "scatter-add": slice(0, 3, 2),
    "scatter-sub": slice(0, 3, 2),
}

for _name, _positions in LINEAR.items():
    register(_name)(linear(_positions))

_moving_about = linear(LINEAR["scatter"])


@register("scatter")
def scatter(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Linear, unless it has a function to apply: then it is what JAX makes of it, an error.

    Which of several updates of an entry wins is the device's choice, so that it is made once, for
    the primal and all coefficients.
    """
    operand, indices, updates = map(primal_of, operands)
    if eqn.params["update_jaxpr"] is not None:
        return fallback(families, eqn, operands)
    if not is_moving(operands[2]) or are_different(eqn.params, operand, indices, updates):
        return _moving_about(families, eqn, operands)
    if isinstance(indices, Tracer):
        left, winner = _winners(eqn, operand, indices, updates)
    else:
        with jax.ensure_compile_time_eval():
            left, winner = _winners(eqn, operand, indices, updates)

    def chosen(operand: Array, updates: Array) -> Array:
        written = updates.reshape(-1).at[winner].get(mode="promise_in_bounds")
        return lax.select(left, operand, written)

    closed = jax.make_jaxpr(chosen)(operand, updates)
    return interpret(closed.jaxpr, closed.consts, families, [operands[0], operands[2]])


def _winners(eqn: jex.JaxprEqn, operand: Any, indices: Any, updates: Any) -> tuple[Array, Array]:
    """Where a scatter leaves its operand, and the numbers of the updates that it writes."""
    numbers = lax.iota(np.int32, jnp.size(updates)).reshape(jnp.shape(updates))
    (winner,) = bind(eqn, [jnp.full(jnp.shape(operand), -1, np.int32), indices, numbers])
    return winner < 0, winner.clip(0)
