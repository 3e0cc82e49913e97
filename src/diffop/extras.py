"""Checks that the packages of optional dependencies are installed."""

import importlib
from collections.abc import Iterable
from typing import final


@final
class MissingExtraError(ImportError):
    """A function needs an extra whose packages are not installed."""


def require(what: str, extra: str, packages: Iterable[str]) -> None:
    """Checks that the packages of an extra can be imported, before anything long starts.

    **Raises:** `MissingExtraError` naming the missing packages and the command that installs them.
    """
    missing = [name for name in packages if not _can_import(name)]
    if missing:
        raise MissingExtraError(
            f"{what} needs {' and '.join(missing)}, which cannot be imported; install the extra: "
            f"pip install 'diffop-jax[{extra}]'"
        )


def require_train() -> None:
    """Checks that the extra `train` is installed.

    **Raises:** as `require`.
    """
    require("solving", "train", ("tqdm", "matplotlib", "orbax.checkpoint"))


def _can_import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
