"""What JAX keeps to itself, and names that differ between its supported releases; only this file
asks for them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import jax.core
import jax.extend.core as jex


def varying_axes(array: Any) -> frozenset:
    """The axes of devices over which an array differs, inside `jax.shard_map`."""
    kind: Any = jax.typeof(array)
    if hasattr(kind, "manual_axis_type"):  # JAX ≥ 0.10
        return frozenset(kind.manual_axis_type.varying)
    return frozenset(getattr(kind, "vma", ()))


def is_staged(value: Any) -> bool:
    """Whether a value belongs to a program to be compiled, instead of being computed at once."""
    home: Any = jex if hasattr(jex, "concrete_or_error") else jax.core  # JAX ≥ 0.10
    try:
        home.concrete_or_error(None, value)
    except jax.errors.ConcretizationTypeError:
        return True
    return False


def inner_programs(eqn: jex.JaxprEqn) -> Iterator[jex.Jaxpr]:
    """The programs among the parameters of an equation."""
    for value in eqn.params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            program = each.jaxpr if isinstance(each, jex.ClosedJaxpr) else each
            if isinstance(program, jex.Jaxpr):
                yield program


def axes_mapped(params: Mapping[str, Any]) -> frozenset:
    """The axes of devices over which an equation maps its program; none except `jax.shard_map`."""
    older = params.get("manual_axes", ())
    return frozenset(params.get("newly_manual_axes", older))  # JAX ≥ 0.10.2


def named_axes(
    eqns: Iterable[jex.JaxprEqn], counts: Callable[[jex.JaxprEqn], bool] = lambda eqn: True
) -> set[Any]:
    """The named axes over which equations that count, or their inner programs, sum or move values:
    axes of devices, and axes over which `jax.vmap` maps. Those that a `jax.shard_map` introduces
    itself do not count.
    """
    found: set[Any] = set()
    for eqn in filter(counts, eqns):
        given = [eqn.params.get(name, ()) for name in ("axes", "axis_name")]
        each = [
            axis for own in given for axis in (own if isinstance(own, tuple | list) else (own,))
        ]
        inner = (named_axes(program.eqns, counts) for program in inner_programs(eqn))
        found.update(
            {axis for axis in each if not hasattr(axis, "__index__")}.union(*inner)
            - axes_mapped(eqn.params)
        )
    return found


def carried_operands(params: Mapping[str, Any]) -> tuple[int, int]:
    """Where the carried operands of a `scan` begin, behind its constants, and where they end."""
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, _ = (len(group.vals) for group in params["ft_in"].unpack())  # JAX ≥ 0.12
    return consts, consts + carry
