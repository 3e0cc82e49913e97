"""The optional dependencies of training: what the extra `train` installs."""

import importlib
from typing import final

_NEEDED = ("tqdm", "matplotlib")


@final
class MissingExtraError(ImportError):
    """Training was asked for, but the packages of the extra `train` are not installed."""


def require_train_extra() -> None:
    """Checks that the packages of the extra `train` can be imported, before anything long starts.

    **Raises:** `MissingExtraError` naming the missing packages and the command that installs them.
    """
    missing = [name for name in _NEEDED if not _can_import(name)]
    if missing:
        raise MissingExtraError(
            f"solving needs {' and '.join(missing)}, which cannot be imported; install the extra: "
            f"pip install 'diffop-jax[train]'"
        )


def _can_import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
