"""Rules of primitives that are linear in their moving operands: they act on each coefficient."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array

from ...devices import computed_at_once
from .. import places
from ..arithmetic import linear_map
from ..binding import bind, vary
from ..bundle import Families, Family, Value, expand_families, primal_of
from ..coefficients import Series
from ..equation import LinearMap
from ..interpreter import interpret
from ..places import writes_apart
from ..primitive import Primitive, Rule, enter
from .by_jvp import fallback

EquationMap: TypeAlias = Callable[[jex.JaxprEqn], jex.JaxprEqn]


def linear(positions: slice, part: EquationMap = lambda eqn: eqn) -> Rule:
    """The rule of a primitive that is jointly linear in the operands at `positions`; the others are
    constant.

    It is linear, not affine: in a Taylor coefficient a constant operand is zero, and `part` removes
    the part of an equation that does not depend on its operands.
    """

    def rule(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
        primals = [primal_of(operand) for operand in operands]
        chosen = range(len(operands))[positions]
        outputs = bind(eqn, primals)
        function = LinearMap(part(eqn), primals, chosen, outputs)

        def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
            columns = [
                linear_map(
                    function, family.lead(place), [series[position][place] for position in chosen]
                )
                for place in family.places
            ]
            return list(zip(*columns, strict=True))

        return expand_families(families, operands, outputs, expansion)

    return rule


def _filled_with_zeros(eqn: jex.JaxprEqn) -> jex.JaxprEqn:
    """The value that a gather fills in for entries outside of its operand is constant."""
    if eqn.params["mode"] != lax.GatherScatterMode.FILL_OR_DROP:
        return eqn
    return eqn.replace(params={**eqn.params, "fill_value": 0})


def _apart(eqn: jex.JaxprEqn) -> jex.JaxprEqn:
    """A scatter that writes no entry twice. JAX transposes only those that say so."""
    return eqn.replace(params={**eqn.params, "unique_indices": True})


_ALL, _FIRST, _FIRST_TWO, _UPDATED = slice(None), slice(1), slice(2), slice(0, 3, 2)
_writing = linear(_UPDATED, _apart)


def scatter(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Linear, unless it has a function to apply; then JAX's error is raised.

    If an entry has several updates, the device chooses which one wins. So the choice is made once,
    for the primal and all coefficients.
    """
    operand, indices, updates = map(primal_of, operands)
    if eqn.params["update_jaxpr"] is not None:
        return fallback(families, eqn, operands)
    if writes_apart(eqn.params, operand, indices, updates):
        return _writing(families, eqn, operands)
    winners = partial(_winners, eqn, operand, indices, updates)
    left, winner = winners() if isinstance(indices, Tracer) else computed_at_once(winners)

    def chosen(operand: Array, updates: Array) -> Array:
        written = updates.reshape(-1).at[winner].get(mode="promise_in_bounds")
        return lax.select(left, operand, written)

    closed = jax.make_jaxpr(chosen)(operand, updates)
    return interpret(closed.jaxpr, closed.consts, families, [operands[0], operands[2]])


def _winners(eqn: jex.JaxprEqn, operand: Any, indices: Any, updates: Any) -> tuple[Array, Array]:
    """Where a scatter keeps its operand, and the numbers of the updates that it writes."""
    numbers = lax.iota(np.int32, jnp.size(updates)).reshape(jnp.shape(updates))
    (winner,) = bind(eqn, [jnp.full(jnp.shape(operand), -1, np.int32), indices, numbers])
    return winner < 0, winner.clip(0)


def _enter(names: str, linear_in: slice = _ALL, rule: Rule | None = None, **known: Any) -> None:
    rule = rule or linear(linear_in)
    enter(names.split(), Primitive(rule, "linear", linear_in=linear_in, **known))


# sums
_enter("add", signs=(1, 1), scalars=True, entrywise=True, on_indices=True)
_enter("sub", signs=(1, -1), scalars=True, entrywise=True, on_indices=True)
_enter("neg", signs=(-1,), entrywise=True, on_indices=True)
_enter("add_any", signs=(1, 1), entrywise=True)
_enter("copy copy_p", signs=(1,), entrywise=True)
_enter("name", signs=(1,))
_enter("reduce_sum", moves=places.summed)
_enter("reduce_window_sum", moves=places.summed_in_windows)
_enter("cumsum fft")

# the values of entries
_enter("convert_element_type", entrywise=True, on_indices=True, on_values=True)
_enter("real imag conj reduce_precision", on_values=True)
_enter("complex")

# the places of entries
_enter("reshape squeeze", on_indices=True, moves=places.reshaped)
_enter("slice", on_indices=True, moves=places.sliced)
_enter("rev", on_indices=True, moves=places.flipped)
_enter("transpose", on_indices=True, moves=places.transposed)
_enter("concatenate", on_indices=True, moves=places.concatenated)
_enter("split", moves=places.split)
_enter("pad", on_indices=True, moves=places.padded)
_enter(
    "broadcast_in_dim",
    entrywise=lambda eqn: not eqn.invars[0].aval.shape,
    on_indices=True,
    moves=places.broadcast,
)

# by indices
_enter("dynamic_slice", _FIRST, moves=places.dynamically_sliced)
_gather = linear(_FIRST, _filled_with_zeros)
_enter("gather", _FIRST, _gather, on_indices=True, moves=places.gathered)
_enter("dynamic_update_slice", _FIRST_TWO, moves=places.updated)
_enter("scatter", _UPDATED, scatter, moves=places.overwritten)
_enter("scatter-add", _UPDATED, moves=places.added)
_enter("scatter-sub", _UPDATED, moves=places.subtracted)
_enter("select_n", slice(1, None), entrywise=True, on_indices=True, moves=places.selected)

# between devices and layouts
_enter("all_gather all_gather_invariant all_gather_reduced all_to_all pbroadcast ppermute")
_enter("preduced psum psum_invariant reduce_scatter unreduced_psum unreduced_reduce_scatter")
_enter("reduced_vary_cast reduced_vary_cast_p vary_unreduced_cast vary_unreduced_cast_p")
_enter("pvary", evaluate=vary, mixes=False)
_enter("pbroadcast_dynamic", _FIRST)
_enter("ragged_all_to_all", _FIRST_TWO)
_enter("device_put layout_constraint optimization_barrier reshard sharding_constraint")
