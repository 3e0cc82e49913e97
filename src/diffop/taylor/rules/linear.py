"""Primitives that are linear in their moving operands: apply them to each coefficient."""

from collections.abc import Sequence

import jax.extend.core as jex

from ..arithmetic import linear_map
from ..binding import bind
from ..bundle import Families, Family, Value, expand, primal_of
from ..coefficients import Series
from ..equation import LinearMap
from ..registry import Rule, register


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
