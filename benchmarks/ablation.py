"""What the number of draws does to training: errors of a network from 1 draw to all d of them.

    python -m benchmarks.ablation --dim 1000 --steps 3000 --picture ablation.png

Two-body Allen-Cahn in the unit ball, in the settings of `make demo`. The square of an estimated
residual has the variance of the estimate as a bias; `pairs` takes it away (see
`diffop.train.ResidualLoss`). The last n is d: the Laplacian is exact there.
"""

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import diffop as do

from .table import print_table

SQUARES = ("biased", "pairs")


class Result(NamedTuple):
    """Trainings that differ in their seeds alone."""

    n: int
    square: str
    errors: tuple[float, ...]
    null_error: float
    seconds: float


def numbers(dim: int) -> list[int]:
    """1, 4, 16, … and d."""
    powers = [4**k for k in range(10) if 4**k < dim]
    return [*powers, dim]


def train(dim: int, n: int, square: str, steps: int, batch: int, seeds: int) -> Result:
    exact = n >= dim
    settings = [
        do.train.Settings(
            "allen-cahn-two-body",
            dim=dim,
            steps=steps,
            batch=batch,
            n=n,
            seed=seed,
            learning_rate=5e-3,
            input_scale=5.0,
            estimator="exact" if exact else "sparse",
            square=square,
        )
        for seed in range(seeds)
    ]
    with tempfile.TemporaryDirectory() as directory:
        reports = [do.train.solve(each, directory, overwrite=True) for each in settings]
    return Result(
        n,
        "exact" if exact else square,
        tuple(report.rel_l2 for report in reports),
        statistics.median(report.null_rel_l2 for report in reports),
        statistics.median(steps / report.it_per_s for report in reports),
    )


def squares(n: int, dim: int) -> Sequence[str]:
    """One draw has no pairs, and all of them no bias."""
    return SQUARES if 1 < n < dim else SQUARES[:1]


def cells(result: Result) -> tuple[str, ...]:
    return (
        f"{result.n:,}",
        result.square,
        f"{statistics.median(result.errors):.3g}",
        f"{min(result.errors):.3g} to {max(result.errors):.3g}",
        f"{result.null_error:.3g}",
        f"{result.seconds:.0f}",
    )


def draw(results: list[Result], dim: int, path: str) -> None:
    """The errors beside the numbers of draws, and beside the time that they took."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    for square, marker in (("biased", "o-"), ("pairs", "s-"), ("exact", "k*")):
        chosen = [result for result in results if result.square == square]
        errors = [statistics.median(result.errors) for result in chosen]
        for axis, values in (
            (axes[0], [result.n for result in chosen]),
            (axes[1], [result.seconds for result in chosen]),
        ):
            axis.plot(values, errors, marker, label=square)
            axis.set(xscale="log", yscale="log")
    for axis in axes:
        axis.axhline(results[0].null_error, color="grey", linestyle=":", label="null model")
    axes[0].set(xlabel="draws", ylabel="relative L2 error", title=f"d = {dim:,}")
    axes[1].set(xlabel="seconds of training")
    axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dim", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draws", type=int, nargs="+", help="by default 1, 4, 16, … and d")
    parser.add_argument("--picture", help="a file to draw the table in")
    options = parser.parse_args()
    results: list[Result] = []

    def rows() -> Iterator[tuple[str, ...]]:
        """A row as soon as it is known."""
        for n in options.draws or numbers(options.dim):
            for square in squares(n, options.dim):
                results.append(
                    train(options.dim, n, square, options.steps, options.batch, options.seeds)
                )
                yield cells(results[-1])

    print(f"d = {options.dim:,}, {options.steps:,} steps of {options.batch} points\n")
    header = ("draws", "square", "relative L2 error", "lowest to highest", "null model", "seconds")
    print_table(header, rows())
    if options.picture:
        draw(results, options.dim, options.picture)


if __name__ == "__main__":
    main()
