"""The settings that suit a problem."""

import dataclasses
from typing import final

from ..renamed import renamed


@renamed(estimator="probes")
@final
@dataclasses.dataclass(frozen=True)
class Recommended:
    """The settings with which a problem is solved unless others are asked for.

    The defaults are the paper's, for its problems on the unit ball: Shi et al. 2024, "Stochastic
    Taylor Derivative Estimator", appendix "Experiment setup". Its "4 layers" are three hidden ones
    (its parameter counts say so).

    **Arguments:** as for `diffop.train.Settings`.

    !!! example

        ```python
        import diffop as do

        do.pde.Recommended(dim=3, probes="exact", learning_rate=2e-3)
        ```
    """

    dim: int = 1000
    steps: int = 10_000
    n: int = 16
    learning_rate: int | float = 1e-3
    batch: int = 100
    data_batch: int | None = None
    pool: int = 1
    width: int = 128
    depth: int = 3
    block: int = 1
    channels: int = 1
    sharing: str = "joined"
    input_scale: int | float = 1.0
    output_scale: int | float | str = 1.0
    probes: str = "sparse"
    square: str = "biased"
    data_weight: int | float | list[int | float] = 1.0
    weights: dict[str, int | float] | list[int | float] | None = None
    gpinn: int | float = 0.0
    gpinn_terms: int | None = None
    optimiser: str = "adam"
    fan_in_rate: int | float = 0.0
    schedule: str = "linear"
    precision: str = "default"
