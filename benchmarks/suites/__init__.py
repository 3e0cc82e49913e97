"""The suites, by the paper's tables and what goes beyond them."""

from pathlib import Path

from ..harness.case import Case
from ..harness.suite import AbstractSuite, Values
from .ablation import Ablation
from .batch_size import BatchSize
from .by_hand import ByHand
from .collapsed import Collapsed
from .compiling import Compiling
from .first_use import FirstUse
from .gpinn import GpinnError, GpinnSpeed
from .headline import Headline
from .high_order import HighOrder
from .kernels import Kernels
from .limits import Limits
from .peers import Peers
from .polynomials import Polynomials
from .precision import Precision
from .records import RecordContinued, RecordCubes, RecordErrors, RecordWindows
from .scaling import Scaling
from .semilinear import SemilinearError, SemilinearSpeed
from .small import Small
from .step import Step
from .trained import Gradient, Problems, Recipe, Solitons, WholeGradient
from .unit_ball import ThreeBodyError, ThreeBodySpeed, TwoBodyError, TwoBodySpeed
from .weight_sharing import WeightSharingError, WeightSharingLattice, WeightSharingSpeed

SUITES: dict[str, AbstractSuite] = {
    suite.name: suite
    for suite in (
        Ablation(),
        TwoBodySpeed(),
        TwoBodyError(),
        ThreeBodySpeed(),
        ThreeBodyError(),
        SemilinearSpeed(),
        SemilinearError(),
        WeightSharingSpeed(),
        WeightSharingError(),
        WeightSharingLattice(),
        HighOrder(),
        GpinnSpeed(),
        GpinnError(),
        BatchSize(),
        Headline(),
        Peers(),
        Small(),
        Polynomials(),
        Collapsed(),
        ByHand(),
        Scaling(),
        Step(),
        Limits(),
        Kernels(),
        Precision(),
        Compiling(),
        FirstUse(),
        Recipe(),
        WholeGradient(),
        Solitons(),
        Problems(),
        Gradient(),
        RecordErrors(),
        RecordCubes(),
        RecordWindows(),
        RecordContinued(),
    )
}


def measure(case: Case, runs: Path) -> Values:
    """A case by its suite; called in a process of its own."""
    return SUITES[case.suite].measure(case, runs)


def named(names: list[str]) -> list[AbstractSuite]:
    """The suites of these names: "two-body" is both "two-body/speed" and "two-body/error".

    **Raises:** `ValueError` for a name that no suite has.
    """
    for name in names:
        if not any(_belongs(suite, name) for suite in SUITES):
            raise ValueError(f"there is no suite {name!r}; there are: {', '.join(SUITES)}.")
    chosen = names or list(SUITES)
    return [suite for name, suite in SUITES.items() if any(_belongs(name, each) for each in chosen)]


def _belongs(suite: str, name: str) -> bool:
    return suite == name or suite.startswith(f"{name}/")
