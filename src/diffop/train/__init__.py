"""Training: the residual loss, the fit, errors beside the null model's, and runs kept on disk."""

from ._evaluate import Errors as Errors, FixedPoints as FixedPoints
from ._extras import MissingExtraError as MissingExtraError
from ._fit import Fit as Fit, NonFiniteLossError as NonFiniteLossError, fit as fit
from ._loss import ResidualLoss as ResidualLoss
from ._output import load as load
from ._report import Report as Report
from ._settings import Settings as Settings
from ._solve import check as check, solve as solve
