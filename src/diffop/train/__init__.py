"""Training: fits, their errors beside the null model's, and runs kept on disk."""

from ..extras import MissingExtraError
from ..parallel.mesh import shard
from ..parallel.processes import Interrupted
from ..parallel.sharding import shard_points
from ..runs.evaluate import Errors, FixedPoints
from ..runs.report import Report
from ..runs.settings import Settings
from ..storage.mismatch import CheckpointMismatchError
from .checking import check
from .checkpoints import Checkpoints, Saved
from .error_bars import standard_errors
from .fitting import Fit, fit
from .iteration import NonFiniteLossError, State, iterate
from .listeners import AbstractListener, EarlyStopping
from .loading import load
from .marching import march
from .solving import solve

__all__ = [
    "AbstractListener",
    "CheckpointMismatchError",
    "Checkpoints",
    "EarlyStopping",
    "Errors",
    "Fit",
    "FixedPoints",
    "Interrupted",
    "MissingExtraError",
    "NonFiniteLossError",
    "Report",
    "Saved",
    "Settings",
    "State",
    "check",
    "fit",
    "iterate",
    "load",
    "march",
    "shard",
    "shard_points",
    "solve",
    "standard_errors",
]

__dir__ = __all__.copy
