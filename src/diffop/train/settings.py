"""The settings of a run: what the command line asks for, checked."""

import dataclasses
import math
from collections.abc import Collection
from typing import Any, final

from .. import baselines, pde
from ..losses.probes import PROBES
from ..losses.squares import SQUARES
from ..pde.own import size_of
from ..renamed import renamed
from .identity import Problem, identity, recommended
from .optimisers import LEAST_SQUARES, OPTIMISERS, SCHEDULES, WITHOUT_RATE
from .precision import PRECISIONS

_POSITIVE_INTEGERS = (
    "dim",
    "steps",
    "n",
    "batch",
    "width",
    "depth",
    "block",
    "channels",
    "pool",
)
_POSITIVE_NUMBERS = ("learning_rate", "input_scale")
SHARING = ("joined", "summed")
"""What the rest of the network sees of blocks."""

_CHOICES: dict[str, Collection[str]] = {
    "optimiser": OPTIMISERS,
    "precision": PRECISIONS,
    "schedule": SCHEDULES,
    "probes": (*PROBES, *baselines.names()),
    "square": SQUARES,
    "sharing": SHARING,
}

SOURCE = "source"
"""The output scale that a problem tells from its source."""


@final
class _TheProblems:
    def __repr__(self) -> str:
        return "as the problem recommends"


THE_PROBLEMS: Any = _TheProblems()
"""The default of a setting that each problem recommends a value for, which may be None."""


@renamed(estimator="probes")
@final
@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of one run of `diffop.train.solve`.

    All but the seed default to what the problem recommends (`diffop.pde.Recommended`): for the
    problems on the unit ball these are the paper's settings, in 1000 dimensions.

    **Arguments:**

    - `problem`: one of `diffop.pde.names()`; or a problem of one's own, or its class, which is
        called with `dim` and `key` if it takes them.
    - `dim`: the dimension: the number of coordinates, without time where a problem has any
        dimension. That of a problem that is given is its own.
    - `steps`: how many steps of the optimiser.
    - `n`: how many draws of jets are made of each homogeneous part of an operator at each step.
    - `seed`: a non-negative integer; it determines the problem's coefficients, the initial network,
        all training points and jets, and the test points.
    - `learning_rate`: the first step's.
    - `batch`: how many fresh points at each step.
    - `data_batch`: how many for each of the problem's conditions; None for as many.
    - `pool`: of how many times as many points those of a step are chosen, likelier where the
        residual is large (`diffop.pde.residual_adaptive`); 1 takes them as they are drawn.
    - `width`, `depth`: size and number of the hidden layers of the tanh network.
    - `block`, `channels`: each block of so many coordinates is seen through so many numbers, the
        same for all blocks (`diffop.nn.WeightSharedMLP`); a block of 1 shares nothing.
    - `sharing`: the rest of the network sees the numbers of all blocks `"joined"` to a vector, or
        `"summed"`, which is right for a lattice of equal blocks.
    - `input_scale`: the network sees the point times this number.
    - `output_scale`: the network's values are multiplied by this number, rounded to a power of two;
        `"source"` for the size of the solution that the problem tells from its source alone
        (`diffop.pde.AbstractProblem.magnitude`).
    - `probes`: `"exact"`, or the kind of random jets: the name of a probe, as for
        `diffop.estimate`; or, to compare with, one of `diffop.baselines.names()`.
    - `square`: how the estimated residual is squared, as for `diffop.train.ResidualLoss`:
        `"biased"`, `"product"` of two draws, or `"pairs"` of one.
    - `data_weight`: the weight of the problem's conditions in the loss, if it has any; or a list
        with one for each, in the order in which it returns them.
    - `weights`: of the squares of a system's residuals: a dict with a number for each of their
        names, such as `{"momentum": 1.0, "mass": 10.0}`, or a list for residuals that are an array;
        None for ones.
    - `gpinn`: the weight of the residual's squared gradient in the loss; 0 for none.
    - `gpinn_terms`: None for the whole gradient, by reverse mode; or from how many coordinates'
        derivatives of the residual it is estimated at each step, by jets.
    - `optimiser`: one of `optax` or `optax.contrib`, as it is by default, by its name with hyphens:
        `"adam"`, `"nadamw"`, `"muon"`, any that needs no more than a learning rate;
        `"gauss-newton"`, `"gauss-newton-cg"`, without a matrix, `"levenberg-marquardt"` or
        `"spring"`, which are `diffop.train.GaussNewton`s for `square="biased"`, best in double
        precision; or `"l-bfgs"`, on the points of the first step. The latter have no learning rate.
    - `fan_in_rate`: a matrix that takes m numbers learns at most at this rate over √m
        ([why](../devdocs/scales.md)); 0 for no such bound.
    - `schedule`: how the learning rate decays: `"linear"` or `"cosine"` to 0, `"exponential"` to a
        150th, or not at all: `"constant"`.
    - `precision`: `"double"`, for this run alone; or `"default"`, as JAX is configured: single
        precision, unless it is told otherwise.

    **Raises:** `ValueError` naming the setting, what it expects and what it got.

    !!! example

        ```python
        import diffop as do

        do.train.Settings("allen-cahn-two-body", dim=1000, learning_rate=1e-2, input_scale=5.0)
        do.train.Settings("kdv-2d").steps  # what the problem recommends
        ```
    """

    problem: Problem
    dim: int = THE_PROBLEMS
    steps: int = THE_PROBLEMS
    n: int = THE_PROBLEMS
    seed: int = 0
    learning_rate: int | float = THE_PROBLEMS
    batch: int = THE_PROBLEMS
    data_batch: int | None = THE_PROBLEMS
    pool: int = THE_PROBLEMS
    width: int = THE_PROBLEMS
    depth: int = THE_PROBLEMS
    block: int = THE_PROBLEMS
    channels: int = THE_PROBLEMS
    sharing: str = THE_PROBLEMS
    input_scale: int | float = THE_PROBLEMS
    output_scale: int | float | str = THE_PROBLEMS
    probes: str = THE_PROBLEMS
    square: str = THE_PROBLEMS
    data_weight: int | float | list[int | float] = THE_PROBLEMS
    weights: dict[str, int | float] | list[int | float] | None = THE_PROBLEMS
    gpinn: int | float = THE_PROBLEMS
    gpinn_terms: int | None = THE_PROBLEMS
    optimiser: str = THE_PROBLEMS
    fan_in_rate: int | float = THE_PROBLEMS
    schedule: str = THE_PROBLEMS
    precision: str = THE_PROBLEMS

    def __post_init__(self) -> None:
        self._complete(self._recommended())
        for name in _POSITIVE_INTEGERS:
            _expect(name, getattr(self, name), "an integer of at least 1", _is_integer(1))
        for name in ("data_batch", "gpinn_terms"):
            if getattr(self, name) is not None:
                _expect(name, getattr(self, name), "an integer of at least 1", _is_integer(1))
        _expect("seed", self.seed, "a non-negative integer", _is_integer(0))
        for name in _POSITIVE_NUMBERS:
            _expect(name, getattr(self, name), "a finite positive number", _is_positive)
        expected = "a finite positive number, or a list with one for each condition"
        _expect("data_weight", self.data_weight, expected, _is_positive_or_several)
        expected = "none, or a dict or a list of finite non-negative numbers, one for each residual"
        _expect("weights", self.weights, expected, _are_weights)
        for name in ("gpinn", "fan_in_rate"):
            _expect(name, getattr(self, name), "a finite non-negative number", _is_not_negative)
        if self.output_scale != SOURCE:
            expected = f"a finite positive number, or {SOURCE}"
            _expect("output_scale", self.output_scale, expected, _is_positive)
        for name, known in _CHOICES.items():
            expected = f"one of {', '.join(known)}"
            _expect(name, getattr(self, name), expected, known.__contains__)
        if self.optimiser in LEAST_SQUARES:
            expected = f"biased, a sum of squares, for the optimiser {self.optimiser}"
            _expect("square", self.square, expected, "biased".__eq__)
        if self.optimiser in WITHOUT_RATE:
            expected = f"0 for the optimiser {self.optimiser}, which has no learning rate"
            _expect("fan_in_rate", self.fan_in_rate, expected, _is_zero)

    def _recommended(self) -> pde.Recommended:
        problem, found = self.problem, recommended(self.problem)
        if isinstance(problem, str) or (isinstance(problem, type) and size_of(problem)):
            return found
        own: Any = problem.dim  # there is no other
        known = (own, THE_PROBLEMS)
        _expect("dim", self.dim, f"{own}, as the problem's, or left out", known.__contains__)
        return dataclasses.replace(found, dim=own)

    def as_json(self) -> dict[str, Any]:
        """What a file of the run has of them."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**values, "problem": identity(self.problem)}

    def _complete(self, given: pde.Recommended) -> None:
        for field in dataclasses.fields(given):
            if getattr(self, field.name) is THE_PROBLEMS:
                # the dataclass is frozen for its users
                object.__setattr__(self, field.name, getattr(given, field.name))


def as_settings(given: "Settings | Problem") -> Settings:
    """Settings, or those that a problem recommends."""
    return given if isinstance(given, Settings) else Settings(given)


def _expect(name: str, value: object, expected: str, holds) -> None:
    if not holds(value):
        raise ValueError(f"{name.replace('_', '-')} must be {expected}, got {value!r}.")


def _is_integer(least: int):
    return lambda value: type(value) is int and value >= least


def _is_not_negative(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0  # pyright: ignore


def _is_positive_or_several(value: object) -> bool:
    return _is_positive(value) or (isinstance(value, list) and all(map(_is_positive, value)))


def _are_weights(value: object) -> bool:
    numbers = value.values() if isinstance(value, dict) else value
    return value is None or (
        isinstance(value, dict | list) and bool(value) and all(map(_is_not_negative, numbers))  # pyright: ignore
    )


def _is_zero(value: object) -> bool:
    return value == 0


def _is_positive(value: object) -> bool:
    return _is_not_negative(value) and value != 0
