"""What JAX keeps to itself, and names that differ between its supported releases; only this file
asks for them.
"""

from collections.abc import Iterator, Mapping
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


def carried_operands(params: Mapping[str, Any]) -> tuple[int, int]:
    """Where the carried operands of a `scan` begin, behind its constants, and where they end."""
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, _ = (len(group.vals) for group in params["ft_in"].unpack())  # JAX ≥ 0.12
    return consts, consts + carry
