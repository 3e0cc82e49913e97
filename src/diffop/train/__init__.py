"""Training: the loss, the fit, errors beside the null model's, and runs kept on disk."""

from ..extras import MissingExtraError as MissingExtraError
from ..losses.loss import ResidualLoss as ResidualLoss
from ..losses.pointwise import Pointwise as Pointwise
from ..losses.sharding import shard_points as shard_points
from ._checkpoints import (
    CheckpointMismatchError as CheckpointMismatchError,
    Checkpoints as Checkpoints,
    Saved as Saved,
)
from ._evaluate import Errors as Errors, FixedPoints as FixedPoints
from ._fit import Fit as Fit, fit as fit
from ._iterate import State as State, iterate as iterate
from ._layout import shard as shard
from ._load import load as load
from ._outcome import NonFiniteLossError as NonFiniteLossError
from ._report import Report as Report
from ._settings import Settings as Settings
from ._solve import check as check, solve as solve
from ._stop import Interrupted as Interrupted
from .methods._conjugate_gradients import ConjugateGradients as ConjugateGradients
from .methods._dense import QR as QR, Cholesky as Cholesky
from .methods._gauss_newton import GaussNewton as GaussNewton
from .methods._lbfgs import LBFGS as LBFGS
from .methods._protocol import (
    HasPointwise as HasPointwise,
    HasResiduals as HasResiduals,
)
