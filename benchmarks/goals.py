"""The ratios to reach: ours over the other's, for a case, what is measured, and the size."""

from typing import NamedTuple

from .sizes import BASE, Dimension, Size


class Goal(NamedTuple):
    """The ratios to reach by size."""

    ratios: dict[Size, float]
    beside: tuple[str, ...] | None = None
    """The methods that they are for, if not for whichever is measured beside ours."""


def _in_dimensions(ratios: dict[int, float]) -> Goal:
    return Goal({Dimension(dim): ratio for dim, ratio in ratios.items()})


_HALF_OF_NESTED = Goal({BASE: 0.5}, beside=("nested grad", "grad of the residual"))

GOALS = {
    ("estimated Laplacian", "forward"): _in_dimensions({100_000: 1.15, 1_000_000: 1.15}),
    ("estimated Laplacian", "gradient"): _in_dimensions({1_000: 5, 100_000: 1.3, 1_000_000: 1.3}),
    ("training step", "time"): _in_dimensions({100_000: 0.33}),
    ("training step", "peak memory"): _in_dimensions({100_000: 0.33}),
    ("training step", "temporary memory"): _in_dimensions({100_000: 0.33}),
    ("exact Laplacian, ansatz", "forward"): _in_dimensions({1_000: 0.167, 1_000_000: 2.5}),
    ("exact Laplacian, ansatz", "gradient"): _in_dimensions({1_000: 0.167, 1_000_000: 4.5}),
    ("exact Laplacian, plain MLP", "forward"): _in_dimensions({10: 0.7, 50: 0.7, 100: 0.7}),
    ("exact Laplacian, plain MLP", "gradient"): _in_dimensions({10: 0.7, 50: 0.7, 100: 0.7}),
    ("exact biharmonic, plain MLP", "forward"): _in_dimensions({5: 0.7, 10: 0.7}),
    ("exact biharmonic, plain MLP", "gradient"): _in_dimensions({5: 0.7, 10: 0.7}),
    ("training step, 2D KdV", "time"): _HALF_OF_NESTED,
    ("training step, 2D KP", "time"): _HALF_OF_NESTED,
    ("training step, 1D g-KdV", "time"): _HALF_OF_NESTED,
}


def goal(case: str, what: str, beside: str, size: Size) -> float | None:
    """The ratio to reach, if one is set."""
    found = GOALS.get((case, what))
    if found is None or (found.beside is not None and beside not in found.beside):
        return None
    return found.ratios.get(size)
