"""Training: the loss, the fit, errors beside the null model's, and runs kept on disk."""

from ..extras import MissingExtraError as MissingExtraError
from ..losses.causal import Causal as Causal
from ..losses.loss import ResidualLoss as ResidualLoss
from ..losses.pointwise import Pointwise as Pointwise
from ..losses.score_matching import score_matching as score_matching
from ..losses.smoothness import PiecewiseLinearWarning as PiecewiseLinearWarning
from ..methods.balanced import Balanced as Balanced
from ..methods.base import (
    AbstractMethod as AbstractMethod,
    Evaluated as Evaluated,
    Objective as Objective,
)
from ..methods.conjugate_gradients import ConjugateGradients as ConjugateGradients
from ..methods.dense import QR as QR, Cholesky as Cholesky
from ..methods.gauss_newton import GaussNewton as GaussNewton
from ..methods.lbfgs import LBFGS as LBFGS
from ..methods.linear import AbstractSolver as AbstractSolver, Solution as Solution
from ..methods.protocol import (
    HasPointwise as HasPointwise,
    HasResiduals as HasResiduals,
)
from ..methods.vector import Residuals as Residuals
from ..parallel.mesh import shard as shard
from ..parallel.processes import Interrupted as Interrupted
from ..parallel.sharding import shard_points as shard_points
from .checking import check as check
from .checkpoints import (
    CheckpointMismatchError as CheckpointMismatchError,
    Checkpoints as Checkpoints,
    Saved as Saved,
)
from .error_bars import standard_errors as standard_errors
from .evaluate import Errors as Errors, FixedPoints as FixedPoints
from .fitting import Fit as Fit, fit as fit
from .iteration import NonFiniteLossError as NonFiniteLossError, State as State, iterate as iterate
from .listeners import AbstractListener as AbstractListener, EarlyStopping as EarlyStopping
from .marching import march as march
from .model import load as load
from .report import Report as Report
from .settings import Settings as Settings
from .solving import solve as solve
