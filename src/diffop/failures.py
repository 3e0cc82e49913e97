"""Failures of devices, of connections and of memory, as JAX's runtime tells of them."""

import re

import jax

_STATUS = re.compile(r"[A-Z]+(?:_[A-Z]+)*: ")
"""How the runtime's own messages begin, as in `UNAVAILABLE: …`."""


def failure(error: Exception) -> str | None:
    """The message of a failed device or connection; None if `error` is of another kind.

    JAX raises `JaxRuntimeError` when it waits for results. If a call of a compiled program has not
    begun because another process has left it, JAX raises `ValueError` with the same message.
    """
    reason, *_ = str(error).splitlines() or [""]
    of_runtime = isinstance(error, ValueError) and _STATUS.match(reason)
    return reason if of_runtime or isinstance(error, jax.errors.JaxRuntimeError) else None


def is_out_of_memory(error: Exception) -> bool:
    """Whether there was no room for an array, in the memory of the machine or of a device."""
    return isinstance(error, MemoryError) or (failure(error) or "").startswith("RESOURCE_EXHAUSTED")
