"""How large the errors of trained networks are, beside the null model's and the paper's.

    python -m benchmarks.reach paper --out out/reach
    python -m benchmarks.reach recipe --out out/reach --seeds 0 1 2 3 4

Each run has a directory of its own under `--out`. The same command goes on where it was stopped,
and what is there already is not run again; `--show` prints the table of what is there.
"""

import argparse
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import diffop as do
from diffop.train._output import finished  # a table of runs is made of their reports

from .table import print_table


class Case(NamedTuple):
    """Settings, and the error that the paper has for them (16 jets on one A100), if it has one.

    - `seeds`: at most so many of those that are asked for; long runs are made once.
    """

    problem: str
    changes: dict[str, Any]
    paper: float | None = None
    seeds: int | None = None

    def settings(self, seed: int) -> do.train.Settings:
        return do.train.Settings(self.problem, seed=seed, **self.changes)

    @property
    def options(self) -> str:
        """As on the command line."""
        return " ".join(f"--{name.replace('_', '-')} {self.changes[name]}" for name in self.changes)

    def path(self, out: pathlib.Path, seed: int) -> pathlib.Path:
        changes = [f"{name}-{value}" for name, value in self.changes.items()]
        return out / "_".join([self.problem, *changes, f"seed-{seed}"])


def _paper() -> Iterator[Case]:
    """The paper's settings are what its problems recommend. Its numbers: tables of appendix I."""
    errors = {
        "poisson-two-body": (3.50e-3, 4.91e-4, 4.70e-3),
        "allen-cahn-two-body": (1.89e-2, 7.07e-4, 8.33e-4),
        "sine-gordon-two-body": (3.64e-3, 5.40e-4, 5.32e-3),
        "poisson-three-body": (1.00e-2, 1.02e-3, 1.01e-4),
        "allen-cahn-three-body": (9.97e-3, 1.43e-3, 6.21e-4),
        "sine-gordon-three-body": (9.97e-3, 1.43e-3, 6.21e-4),
    }
    for problem, (small, middle, _) in errors.items():
        yield Case(problem, {"dim": 100}, small)
        yield Case(problem, {"dim": 1000}, middle)
    yield Case("allen-cahn-two-body", {"dim": 10_000}, errors["allen-cahn-two-body"][2], seeds=1)


def _recipe() -> Iterator[Case]:
    """Better settings for the two-body problems; only f, never the solution, is made use of."""
    for dim, scale in ((1000, 5.0), (10_000, 15.0)):
        yield Case(
            "allen-cahn-two-body",
            {"dim": dim, "input_scale": scale, "learning_rate": 5e-3, "n": 8},
        )


_BALL = {"dim": 1000, "input_scale": 5.0, "learning_rate": 5e-3, "n": 8}
_SMALL_BALL = {
    "dim": 5,
    "steps": 5000,
    "input_scale": 2.0,
    "learning_rate": 5e-3,
    "estimator": "exact",
}
_SEMILINEAR = {"width": 128, "batch": 200, "steps": 5000}

_SHORT: dict[str, dict[str, Any]] = {
    "poisson-two-body": _BALL,
    "allen-cahn-two-body": _BALL,
    "sine-gordon-two-body": _BALL,
    # in many dimensions these solutions are one number times 1 − |x|², to seven digits
    "poisson-three-body": _SMALL_BALL,
    "allen-cahn-three-body": _SMALL_BALL,
    "sine-gordon-three-body": _SMALL_BALL,
    # the paper's network of width 1024 at 2000 points takes hours without an accelerator
    "semilinear-heat": _SEMILINEAR,
    "semilinear-allen-cahn": _SEMILINEAR,
    "semilinear-sine-gordon": _SEMILINEAR,
}
"""Settings that take at most three minutes on two cores, where the recommended ones take longer or
say nothing."""


def _problems() -> Iterator[Case]:
    for name in do.pde.names():
        yield Case(name, _SHORT.get(name, {}))


CASES = {"paper": _paper, "recipe": _recipe, "problems": _problems}


def cells(case: Case, reports: Sequence[do.train.Report]) -> tuple[str, ...]:
    """One row: medians, with the range if there are several runs."""
    return (
        f"`{case.problem}`",
        f"`{case.options}`" if case.changes else "",
        ", ".join(str(report.seed) for report in reports),
        _spread((report.rel_l2 for report in reports), ".2e"),
        _spread((report.null_rel_l2 for report in reports), ".2e"),
        _spread((report.skill for report in reports), ".3g"),
        "" if case.paper is None else f"{case.paper:.2e}",
        f"{statistics.median(report.steps / report.it_per_s for report in reports):.0f}",
    )


def _spread(values: Iterable[float], form: str) -> str:
    values = list(values)
    middle = format(statistics.median(values), form)
    return middle + (f" ({min(values):{form}} – {max(values):{form}})" if len(values) > 1 else "")


def rows(
    cases: Iterable[Case], out: pathlib.Path, seeds: Sequence[int], show: bool
) -> Iterator[tuple[str, ...]]:
    """Makes the runs that are not there yet, unless they are only to be shown."""
    for case in cases:
        reports = []
        for seed in seeds[: case.seeds]:
            path = case.path(out, seed)
            if show:
                report = finished(path)
            else:
                report = do.train.solve(case.settings(seed), path, resume=True)
            if report is not None:
                reports.append(report)
        if reports:
            yield cells(case, reports)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", choices=CASES)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory for the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--only", nargs="+", help="problems; all by default")
    parser.add_argument("--dim", type=int, nargs="+", help="dimensions; all by default")
    parser.add_argument("--show", action="store_true", help="run nothing, print what is there")
    options = parser.parse_args()
    chosen = [
        case
        for case in CASES[options.cases]()
        if (not options.only or case.problem in options.only)
        and (not options.dim or case.settings(0).dim in options.dim)
    ]
    header = (
        "problem",
        "options",
        "seeds",
        "relative L2 error",
        "null model",
        "skill",
        "paper's error",
        "seconds",
    )
    print_table(header, rows(chosen, options.out, options.seeds, options.show))


if __name__ == "__main__":
    main()
