"""The optional dependencies of training: what its extras install."""

import importlib
from collections.abc import Iterable
from typing import final

from ._trackers import TRACKERS

_NEEDED = ("tqdm", "matplotlib", "orbax.checkpoint")


@final
class MissingExtraError(ImportError):
    """Training was asked for, but the packages of an extra that it needs are not installed."""


def require_train_extra(trackers: Iterable[str] = ()) -> None:
    """Checks that the packages of the extra `train` can be imported, before anything long starts,
    and those of trackers.

    **Raises:** `MissingExtraError` naming the missing packages and the command that installs them;
    `ValueError` if a tracker is unknown.
    """
    _require("solving", "train", _NEEDED)
    for name in trackers:
        if name not in TRACKERS:
            raise ValueError(f"log must be one of {', '.join(TRACKERS)}, got {name!r}.")
        package, _ = TRACKERS[name]
        _require(f"logging to {name}", name, (package,))


def _require(what: str, extra: str, packages: Iterable[str]) -> None:
    missing = [name for name in packages if not _can_import(name)]
    if missing:
        raise MissingExtraError(
            f"{what} needs {' and '.join(missing)}, which cannot be imported; install the extra: "
            f"pip install 'diffop-jax[{extra}]'"
        )


def _can_import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
