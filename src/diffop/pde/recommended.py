"""Recommended settings of problems, with the statement of every setting."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import final

from .. import baselines
from ..kinds import (
    ANCHOR,
    COUNT,
    COUNT_OR_NONE,
    FOR_CONDITIONS,
    FOR_RESIDUALS,
    NATURAL,
    NOT_NEGATIVE,
    NUMBER_OR_NONE,
    POSITIVE,
    SCALE,
    SHARING,
    one_of,
)
from ..losses.probes import PROBES
from ..losses.squares import SQUARES
from ..methods.optimisers import OPTIMISERS, SCHEDULES, Maker
from ..paths import is_path
from ..precision import PRECISIONS
from ..scalars import plain

OPTIMISER = one_of(OPTIMISERS, "NAME|MODULE:FUNCTION")._replace(
    holds=lambda value: value in (*OPTIMISERS,) or callable(value) or is_path(value)
)
"""A name, or a function from a schedule of learning rates to an optimiser, of which files hold only
the path.
"""


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """The settings with which a problem is solved unless others are given.

    The defaults are the paper's, for its problems on the unit ball: Shi et al. 2024, "Stochastic
    Taylor Derivative Estimator", appendix "Experiment setup". Its "4 layers" are three hidden
    layers, according to its parameter counts.

    **Arguments:** as for `diffop.train.Settings`.

    !!! example

        ```python
        import diffop as do

        do.pde.Recommended(dim=3, probes="exact", learning_rate=2e-3)
        ```
    """

    dim: int = field(default=1000, metadata={"kind": COUNT})
    steps: int = field(default=10_000, metadata={"kind": COUNT})
    n: int = field(default=16, metadata={"kind": COUNT})
    learning_rate: int | float = field(default=1e-3, metadata={"kind": POSITIVE})
    batch: int = field(default=100, metadata={"kind": COUNT})
    data_batch: int | None = field(default=None, metadata={"kind": COUNT_OR_NONE})
    pool: int = field(default=1, metadata={"kind": COUNT})
    width: int = field(default=128, metadata={"kind": COUNT})
    depth: int = field(default=3, metadata={"kind": COUNT})
    block: int = field(default=1, metadata={"kind": COUNT})
    channels: int = field(default=1, metadata={"kind": COUNT})
    sharing: str = field(default="joined", metadata={"kind": one_of(SHARING)})
    input_scale: int | float = field(default=1.0, metadata={"kind": POSITIVE})
    output_scale: int | float | str = field(default=1.0, metadata={"kind": SCALE})
    anchor: int | float | str | None = field(default=None, metadata={"kind": ANCHOR})
    curvature: int | float | None = field(default=None, metadata={"kind": NUMBER_OR_NONE})
    probes: str = field(default="sparse", metadata={"kind": one_of((*PROBES, *baselines.names()))})
    square: str = field(default="biased", metadata={"kind": one_of(SQUARES)})
    data_weight: int | float | list[int | float] = field(
        default=1.0, metadata={"kind": FOR_CONDITIONS}
    )
    weights: dict[str, int | float] | list[int | float] | None = field(
        default=None, metadata={"kind": FOR_RESIDUALS}
    )
    gpinn: int | float = field(default=0.0, metadata={"kind": NOT_NEGATIVE})
    gpinn_terms: int | None = field(default=None, metadata={"kind": COUNT_OR_NONE})
    causal: int | float = field(default=0.0, metadata={"kind": NOT_NEGATIVE})
    balance: int = field(default=0, metadata={"kind": NATURAL})
    optimiser: str | Maker = field(default="adam", metadata={"kind": OPTIMISER})
    fan_in_rate: int | float = field(default=0.0, metadata={"kind": NOT_NEGATIVE})
    schedule: str = field(default="linear", metadata={"kind": one_of(SCHEDULES)})
    precision: str = field(default="default", metadata={"kind": one_of(PRECISIONS)})

    def at(self, dim: int | None = None) -> "Recommended":
        """These settings, in `dim` dimensions.

        **Arguments:**

        - `dim`: the dimension; unchanged if not given.

        **Returns:** the settings.

        **Raises:** `ValueError` for a number that is not a dimension.
        """
        return self if dim is None else replace(self, dim=_checked(dim))


@final
@dataclass(frozen=True)
class ByDimension:
    """Settings that depend on the dimension: what a problem recommends in each one.

    **Arguments:**

    - `dim`: the dimension in which the problem is solved unless another is given.
    - `rule`: a function of the dimension that returns a `diffop.pde.Recommended`, whose own `dim`
        is ignored.

    !!! example

        ```python
        import diffop as do

        wider = do.pde.ByDimension(10, lambda dim: do.pde.Recommended(width=4 * dim))
        wider.at(100).width  # 400
        wider.at().width  # 40
        ```
    """

    dim: int
    rule: Callable[[int], Recommended]

    def at(self, dim: int | None = None) -> Recommended:
        """The settings in `dim` dimensions.

        **Arguments:**

        - `dim`: the dimension; by default the problem's own.

        **Returns:** the settings.

        **Raises:** `ValueError` for a number that is not a dimension.
        """
        wanted = _checked(self.dim if dim is None else dim)
        return self.rule(wanted).at(wanted)


def _checked(dim: int) -> int:
    COUNT.check("dim", dim)
    return plain(dim)


MUON = partial(
    Recommended,
    learning_rate=1e-2,
    width=64,
    probes="exact",
    optimiser="muon",
    schedule="cosine",
)
"""The best settings if many points are cheap and few digits are needed."""

LEAST_SQUARES = partial(
    Recommended, probes="exact", optimiser="levenberg-marquardt", precision="double"
)
"""The best settings if hundreds of residuals are enough. Whole steps are as good where they
converge, but for some problems they do not converge on most seeds.
"""
