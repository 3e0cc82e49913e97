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
    check_size,
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

    dim: int = field(default=1000, metadata=COUNT("dimensions"))
    steps: int = field(default=10_000, metadata=COUNT("steps of the optimiser"))
    n: int = field(default=16, metadata=COUNT("draws of jets at each step"))
    learning_rate: int | float = field(default=1e-3, metadata=POSITIVE("the first step's"))
    batch: int = field(default=100, metadata=COUNT("fresh points at each step"))
    data_batch: int | None = field(
        default=None,
        metadata=COUNT_OR_NONE("of initial or boundary data; none for as many as --batch"),
    )
    pool: int = field(
        default=1,
        metadata=COUNT("times as many points from which those of large residuals are chosen"),
    )
    width: int = field(default=128, metadata=COUNT("units of each hidden layer"))
    depth: int = field(default=3, metadata=COUNT("hidden layers"))
    block: int = field(
        default=1,
        metadata=COUNT("coordinates that share weights in the first layer, 1 for none"),
    )
    channels: int = field(default=1, metadata=COUNT("numbers that each block is seen through"))
    sharing: str = field(
        default="joined", metadata=one_of(SHARING)("what the network sees of the blocks")
    )
    input_scale: int | float = field(
        default=1.0, metadata=POSITIVE("the network sees the point times this")
    )
    output_scale: int | float | str = field(
        default=1.0,
        metadata=SCALE(
            "the network's values are multiplied by this, or by what the source tells of the "
            "solution's size"
        ),
    )
    anchor: int | float | str | None = field(
        default=None,
        metadata=ANCHOR(
            "the network's value at the origin is a parameter that begins at this, or at what the "
            "source tells"
        ),
    )
    curvature: int | float | None = field(
        default=None,
        metadata=NUMBER_OR_NONE(
            "a parameter that begins at this, times |x|², is added to the network"
        ),
    )
    probes: str = field(
        default="sparse",
        metadata=one_of((*PROBES, *baselines.names()), "NAME")(
            f"how operators are taken: {', '.join(PROBES)}; or, to compare with, a baseline: "
            f"{', '.join(baselines.names())}"
        ),
    )
    square: str = field(
        default="biased", metadata=one_of(SQUARES)("how an estimated residual is squared")
    )
    data_weight: int | float | list[int | float] = field(
        default=1.0,
        metadata=FOR_CONDITIONS(
            "weight of initial and boundary data in the loss, or one for each condition"
        ),
    )
    weights: dict[str, int | float] | list[int | float] | None = field(
        default=None,
        metadata=FOR_RESIDUALS(
            "weights of a system's residuals; NUMBER,… where they have no names, none for ones"
        ),
    )
    gpinn: int | float = field(
        default=0.0,
        metadata=NOT_NEGATIVE("weight of the residual's squared gradient in the loss, 0 for none"),
    )
    gpinn_terms: int | None = field(
        default=None,
        metadata=COUNT_OR_NONE("components of that gradient at each step; none for all"),
    )
    causal: int | float = field(
        default=0.0,
        metadata=NOT_NEGATIVE("tolerance of weights in the order of time, 0 for none"),
    )
    balance: int = field(
        default=0,
        metadata=NATURAL(
            "steps after which the loss's terms get weights by their gradients, 0 for none"
        ),
    )
    optimiser: str | Maker = field(
        default="adam",
        metadata=OPTIMISER(
            f"how the network is trained: {', '.join(OPTIMISERS)}; or package.module:function"
        ),
    )
    fan_in_rate: int | float = field(
        default=0.0,
        metadata=NOT_NEGATIVE("matrices of m inputs learn at most at this over √m, 0 for no bound"),
    )
    schedule: str = field(
        default="linear", metadata=one_of(SCHEDULES)("how the learning rate decays")
    )
    precision: str = field(
        default="default",
        metadata=one_of(PRECISIONS)("double, or as JAX is configured: single"),
    )

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
    check_size("dim", plain(dim))
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
