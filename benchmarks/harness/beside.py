"""Several ways to the same numbers: they agree, and take so long and so much."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jax.flatten_util import ravel_pytree

from .program import Program
from .timing import interleaved

COLUMNS = ("way", "ms", "beside diffop", "temporary MB", "10⁹ flops")
"""Of each line."""


def beside_first(
    ways: Mapping[str, Callable[..., Any]], args: tuple[Any, ...], tolerance: float, budget: float
) -> list[list[str]]:
    """A line for each way to compute the same of `args`; ratios are medians of the ratios of turns.

    Each agrees with the first, to `tolerance` of the largest number. There are as many turns as fit
    in `budget` seconds; nothing is timed if it is 0.
    """
    programs = [Program(way, *args) for way in ways.values()]
    expected, *others = (ravel_pytree(program())[0] for program in programs)
    for other in others:
        most = tolerance * float(np.max(np.abs(expected)))
        np.testing.assert_allclose(other, expected, rtol=0, atol=most)
    seconds = interleaved(programs, budget) if budget else np.full((1, len(programs)), np.nan)
    ratios = np.median(seconds / seconds[:, :1], axis=0)
    return [
        [
            way,
            f"{1e3 * np.median(seconds[:, column]):.3g}",
            f"{ratios[column]:.2f}",
            f"{program.temporary_mb:.1f}",
            f"{program.flops / 1e9:.3g}",
        ]
        for column, (way, program) in enumerate(zip(ways, programs, strict=True))
    ]
