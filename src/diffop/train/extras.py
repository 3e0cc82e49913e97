"""The optional dependencies of training: what its extras install."""

from collections.abc import Iterable

from ..extras import require
from .trackers import TRACKERS

_NEEDED = ("tqdm", "matplotlib", "orbax.checkpoint")


def require_train_extra(trackers: Iterable[str] = ()) -> None:
    """Checks that the packages of the extra `train` can be imported, before anything long starts,
    and those of trackers.

    **Raises:** `MissingExtraError` naming the missing packages and the command that installs them;
    `ValueError` if a tracker is unknown.
    """
    require("solving", "train", _NEEDED)
    for name in trackers:
        if name not in TRACKERS:
            raise ValueError(f"log must be one of {', '.join(TRACKERS)}, got {name!r}.")
        package, _ = TRACKERS[name]
        require(f"logging to {name}", name, (package,))
