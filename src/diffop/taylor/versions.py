"""What the supported releases of JAX call by different names: each is asked for here alone."""

from collections.abc import Mapping
from typing import Any

import jax


def varying_axes(array: Any) -> frozenset:
    """The axes of devices over which an array differs, inside `jax.shard_map`."""
    kind: Any = jax.typeof(array)
    if hasattr(kind, "manual_axis_type"):  # JAX ≥ 0.10
        return frozenset(kind.manual_axis_type.varying)
    return frozenset(getattr(kind, "vma", ()))


def axes_mapped(params: Mapping[str, Any]) -> frozenset:
    """The axes of devices over which an equation maps its program: none but for `jax.shard_map`."""
    older = params.get("manual_axes", ())
    return frozenset(params.get("newly_manual_axes", older))  # JAX ≥ 0.10.2


def carried_operands(params: Mapping[str, Any]) -> tuple[int, int]:
    """Where the carried operands of a `scan` begin, behind its constants, and where they end."""
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, _ = (len(group.vals) for group in params["ft_in"].unpack())  # JAX ≥ 0.12
    return consts, consts + carry
