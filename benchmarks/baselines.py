"""A training step by each of diffop's baselines, beside diffop: time and memory.

    python -m benchmarks.baselines --dim 100 1000 10000

Two-body Allen-Cahn in the unit ball, 16 draws. Problem, points, coordinates, network and optimiser
are the same; only who takes the Laplacian differs. What runs out of memory or takes too long is
left out, with the reason.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax

import diffop as do

from .command import POINTS
from .memory import available_mb, in_own_process, peak_resident_mb
from .table import place, print_table
from .timing import interleaved_medians
from .trainer import Training
from .training import OURS, WAYS, Peak, Way, by_baseline, training


class Result(NamedTuple):
    """Of one method.

    - `seconds`: of a step.
    - `ratio`: to diffop's, which took turns with it in one process.
    - `memory`: of a process that did nothing else.
    """

    seconds: float
    ratio: float
    memory: Peak


def way(name: str) -> Way:
    """By a baseline, or by diffop."""
    return WAYS[OURS] if name == OURS else Way(partial(by_baseline, name), one_draw=True)


def measure(name: str, dim: int, points: int, repeats: int) -> Result:
    """The memory of three steps, then the time of some more. In a process of its own."""
    steps = training(way(name), dim, points)
    _check_room(steps)
    for _ in range(3):
        jax.block_until_ready(steps())
    memory = Peak(peak_resident_mb(), steps.temporary_mb)
    if name == OURS:
        (seconds,) = interleaved_medians([steps], repeats)
        return Result(seconds, 1.0, memory)
    seconds, ours = interleaved_medians([steps, training(WAYS[OURS], dim, points)], repeats)
    return Result(seconds, seconds / ours, memory)


def _check_room(steps: Training) -> None:
    needed, free = steps.temporary_mb, available_mb()
    if needed > free:
        raise MemoryError(f"needs {needed:,.0f} MB of intermediate arrays, {free:,.0f} are free")


def cells(name: str, dim: int, points: int, repeats: int, limit: float) -> tuple[str, ...]:
    """A line of the table."""
    case = (f"{dim:,}", name)
    try:
        result = in_own_process(measure, name, dim, points, repeats, limit=limit)
    except (MemoryError, TimeoutError, ImportError) as error:
        return (*case, f"left out: {error}", "", "", "")
    return (
        *case,
        f"{1e3 * result.seconds:.1f} ms",
        f"{result.ratio:.2f}",
        f"{result.memory.resident:,.0f} MB",
        f"{result.memory.temporary:,.0f} MB",
    )


def main() -> None:
    methods = (OURS, *do.baselines.names())
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dim", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each method")
    options = parser.parse_args()

    def rows() -> Iterator[tuple[str, ...]]:
        for dim in options.dim:
            for name in options.methods:
                yield cells(name, dim, options.points, options.repeats, options.limit)

    print(f"{place()}\n")
    header = ("d", "method", "step", "beside diffop", "peak memory", "temporary memory")
    print_table(header, rows())


if __name__ == "__main__":
    main()
