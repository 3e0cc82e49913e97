"""Several processes that train together.

Each runs the same program on its part of the arrays, so all have to decide alike: when to write a
checkpoint, whether to stop. The first one writes files and tells how far the run is.
"""

import re
from collections.abc import Callable

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import Array, PyTree

_BLOCK = 2**26
"""So many numbers are copied to all devices at a time."""

_STATUS = re.compile(r"[A-Z]+(?:_[A-Z]+)*: ")
"""How the runtime's own messages begin, as in `UNAVAILABLE: …`."""


def failure(error: Exception) -> str | None:
    """What a device, or the way to another process, has failed with; None if `error` is of another
    kind.

    JAX raises `JaxRuntimeError` where it waits for results. A call of a compiled program that has
    not even begun, because another process has left it, raises `ValueError` with the same message.
    """
    reason, *_ = str(error).splitlines() or [""]
    of_runtime = isinstance(error, ValueError) and _STATUS.match(reason)
    return reason if of_runtime or isinstance(error, jax.errors.JaxRuntimeError) else None


def is_first() -> bool:
    """Whether this process writes files and tells how far the run is."""
    return jax.process_index() == 0


def gathered(number: int) -> list[int]:
    """A number of each process, in all of them."""
    if jax.process_count() == 1:
        return [number]
    return np.ravel(multihost_utils.process_allgather(np.int32(number))).tolist()


def by_first(action: Callable[[], int | None]) -> int:
    """The number that an action of the first process returns, in all of them when it is done; 0 if
    it returns none.

    **Raises:** in the first process what the action raises, and then `OSError` in the others.
    """
    result = 0

    def act() -> None:
        nonlocal result
        result = (action() if is_first() else None) or 0

    succeeded_everywhere(act)
    return gathered(result)[0]


def succeeded_everywhere(action: Callable[[], object]) -> None:
    """An action of every process, and when it returns, of all of them.

    **Raises:** what the action raises; `OSError` if it has raised in another process only.
    """
    error = None
    try:
        action()
    except Exception as raised:
        error = raised
    failed = [process for process, flag in enumerate(gathered(error is not None)) if flag]
    if error is not None:
        raise error
    if failed:
        raise OSError(f"process {failed[0]} failed; its message says why")


def on_host(tree: PyTree) -> PyTree:
    """The arrays of several devices as arrays in memory: whole in the first process, and with
    nothing in them elsewhere. All processes have to call this.
    """
    return jax.tree.map(lambda leaf: _on_host(leaf) if isinstance(leaf, jax.Array) else leaf, tree)


def _on_host(array: Array) -> Array | np.ndarray:
    if len(array.sharding.device_set) == 1:
        return array
    if array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    # in pieces, so that no device needs room for all of it
    whole = np.zeros(array.shape, array.dtype)
    axis = int(np.argmax(array.shape))
    length = array.shape[axis]
    size = max(1, length * _BLOCK // array.size)
    for start in range(0, length, size):
        piece = jax.lax.slice_in_dim(array, start, min(start + size, length), axis=axis)
        values = multihost_utils.process_allgather(piece, tiled=True)
        if is_first():
            whole[(slice(None),) * axis + (slice(start, start + size),)] = values
    return whole
