"""What has to be equal where a run or a fit goes on: settings, arrays, and parts."""

import pathlib
from collections.abc import Mapping
from typing import Any, final

from .strict_json import spelt

_NAMED = 8  # differences in one message
_LASTING = ("key",)  # parts that are equal bit for bit on any device, with any versions


@final
class CheckpointMismatchError(ValueError):
    """A checkpoint belongs to a fit with other settings, or to a model with other arrays."""


def check_equal(
    path: pathlib.Path,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    other: str = "another run",
) -> None:
    """Checks that settings, or arrays, have not changed. A NaN equals itself.

    **Arguments:**

    - `path`: of the run or the checkpoint.
    - `before`, `now`: by name.
    - `other`: what it is of if they have changed.

    **Raises:** `CheckpointMismatchError` naming those that have.
    """
    told, asked = spelt(before), spelt(now)
    names = sorted(name for name in {*told, *asked} if told.get(name) != asked.get(name))
    if names:
        differences = [
            f"{name}: {before.get(name)} in the checkpoint, {now.get(name)} now"
            for name in names[:_NAMED]
        ]
        differences += [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        raise CheckpointMismatchError(
            f"{path} is of {other} ({'; '.join(differences)}); start anew in another "
            f"directory, or go on with equal settings{_of_precision(before, now)}."
        )


def _of_precision(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What to do if arrays differ only in their precision."""
    told = [f"{found}" for found in before.values()], [f"{found}" for found in now.values()]
    same = [[each.replace("float64", "float32") for each in several] for several in told]
    if before.keys() != now.keys() or same[0] != same[1]:
        return ""
    was_double = any("float64" in each for each in told[0])
    return f", here jax.config.update('jax_enable_x64', {was_double})"


def check_same_parts(
    path: pathlib.Path, before: Mapping[str, str], now: Mapping[str, str], same: bool
) -> None:
    """Checks that the parts of a fit have not changed, as far as both are known.

    With other versions of the packages, or on other devices, the same code may compile to other
    instructions, and the same initial network may have other bits. Then only the key is compared.

    **Raises:** `CheckpointMismatchError` naming the parts that have changed.
    """
    known = [name for name in now if name in before and (same or name in _LASTING)]
    other = [f"the {name}" for name in known if before[name] != now[name]]
    if other:
        raise CheckpointMismatchError(
            f"{path} is of another fit: {', '.join(other)} differ{'s' * (len(other) == 1)} from "
            f"what it was made with; start anew in another directory, or call the clear() of these "
            f"Checkpoints first, or go on with equal arguments."
        )
