"""The settings of a run: what the command line asks for, checked."""

import dataclasses
import math
from typing import final

ESTIMATORS = ("sparse", "exact", "rademacher", "gaussian", "sphere")
_POSITIVE_INTEGERS = ("dim", "steps", "n", "batch", "width", "depth")
_POSITIVE_NUMBERS = ("learning_rate", "input_scale")


@final
@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of one run of `diffop.train.solve`; the defaults are the paper's.

    Source of the defaults: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix
    "Experiment setup". Its "4 layers" are three hidden ones (its parameter counts say so).

    **Arguments:**

    - `problem`: one of `diffop.pde.names()`.
    - `dim`: the number of coordinates.
    - `steps`: how many steps of Adam.
    - `n`: how many draws the estimator makes of each homogeneous part of an operator at each step.
    - `seed`: a non-negative integer; it determines the problem's coefficients, the initial network,
        all training points and jets, and the test points.
    - `learning_rate`: the first step's; it decays linearly to 0.
    - `batch`: how many fresh points at each step.
    - `width`, `depth`: size and number of the hidden layers of the tanh network.
    - `input_scale`: the network sees the point times this number.
    - `estimator`: `"exact"`, or the kind of random jets: `"sparse"`, `"rademacher"`, `"gaussian"`
        or `"sphere"`.

    **Raises:** `ValueError` naming the setting, what it expects and what it got.

    !!! example

        ```python
        import diffop as do

        do.train.Settings("allen-cahn-two-body", dim=1000, learning_rate=1e-2, input_scale=5.0)
        ```
    """

    problem: str
    dim: int
    steps: int = 10_000
    n: int = 16
    seed: int = 0
    learning_rate: int | float = 1e-3
    batch: int = 100
    width: int = 128
    depth: int = 3
    input_scale: int | float = 1.0
    estimator: str = "sparse"

    def __post_init__(self) -> None:
        for name in _POSITIVE_INTEGERS:
            _expect(name, getattr(self, name), "an integer of at least 1", _is_integer(1))
        _expect("seed", self.seed, "a non-negative integer", _is_integer(0))
        for name in _POSITIVE_NUMBERS:
            _expect(name, getattr(self, name), "a finite positive number", _is_positive)
        _expect(
            "estimator",
            self.estimator,
            f"one of {', '.join(ESTIMATORS)}",
            lambda value: value in ESTIMATORS,
        )


def _expect(name: str, value: object, expected: str, holds) -> None:
    if not holds(value):
        raise ValueError(f"{name.replace('_', '-')} must be {expected}, got {value!r}.")


def _is_integer(least: int):
    return lambda value: type(value) is int and value >= least


def _is_positive(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value > 0  # pyright: ignore
