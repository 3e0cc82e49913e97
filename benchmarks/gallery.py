"""The gallery's pictures: every problem by the settings of the suite `problems`.

python -m benchmarks.gallery

What is not trained yet under `--runs` is trained first, which takes ten minutes. The pictures are
those that `diffop solve` leaves: the network beside the solution on planes, where a plane says
something, and the learning curve. Problems in many dimensions have, in place of planes, what the
network and the solution are beyond the null model, at random points.
"""

import argparse
from pathlib import Path

import jax
import numpy as np
from PIL import Image

import diffop as do
from diffop.precision import PRECISIONS
from diffop.runs.directory import finished
from diffop.train.model import Keys, build_problem

from .harness.case import Case, Scope
from .harness.process import in_own_process
from .suites import SUITES, measure
from .suites.errors import AbstractTrained, run_path

PICTURES = Path(__file__).parents[1] / "docs" / "pictures" / "gallery"
_POINTS = 400
_QUALITY = 80
_WIDTHS = {"solution": 960, "curve": 560}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("out/runs"), help="for trainings")
    options = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    suite = SUITES["problems"]
    assert isinstance(suite, AbstractTrained)
    for case in suite.cases(Scope("full")):
        if not (run_path(options.runs, case) / "report.json").is_file():
            in_own_process(measure, case, options.runs, limit=suite.limit)
        draw(suite, case, run_path(options.runs, case))


def draw(suite: AbstractTrained, case: Case, run: Path) -> None:
    """The pictures of a run that has ended."""
    name = case.sizes["problem"]
    shrink(run / "curve.png", PICTURES / f"{name}-curve.jpg", "curve")
    if (run / "solution.png").is_file():
        shrink(run / "solution.png", PICTURES / f"{name}.jpg", "solution")
        return
    pairs = beyond_null(suite.settings(case), run)
    if pairs is not None:
        scatter(*pairs, PICTURES / f"{name}.jpg")


def shrink(source: Path, target: Path, kind: str) -> None:
    """A picture as a JPEG of some width."""
    with Image.open(source) as picture:
        width = _WIDTHS[kind]
        height = round(picture.height * width / picture.width)
        picture.convert("RGB").resize((width, height)).save(target, quality=_QUALITY)


def beyond_null(settings: do.train.Settings, run: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """Solution and network at random points, both less the null model; None where the solution is
    not known there.

    **Raises:** `RuntimeError` if the network's error is not the one that the run reports: then the
    problem or the network is another one.
    """
    with PRECISIONS[settings.precision]():
        keys = Keys.of(settings)
        problem = build_problem(settings, keys.problem)
        if not isinstance(problem, do.pde.AbstractSolvedProblem):
            return None
        points = problem.sample(keys.test, _POINTS)
        u, solution, shape = (
            np.asarray(jax.lax.map(function, points), np.float64)
            for function in (do.train.load(run), problem.solution, problem.null_shape)
        )
    _check(u, solution, run)
    null = shape * (shape @ solution) / (shape @ shape)
    return solution - null, u - null


def _check(u: np.ndarray, solution: np.ndarray, run: Path) -> None:
    told = finished(run)
    error = float(np.linalg.norm(u - solution) / np.linalg.norm(solution))
    if told is None or told.rel_l2 is None or not 0.3 < error / told.rel_l2 < 3:
        raise RuntimeError(f"the network of {run} has error {error:.2e}, and its report is {told}.")


def scatter(solution: np.ndarray, u: np.ndarray, path: Path) -> None:
    """The network against the solution, on the diagonal where they agree; and their difference."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    both, gaps = figure.subplots(1, 2)
    both.axline((0, 0), slope=1, color="0.5", linewidth=1, label="the solution")
    both.axhline(0, color="C3", linestyle="--", linewidth=1, label="null model")
    both.scatter(solution, u, s=6, alpha=0.6, label="network")
    both.set(xlabel="solution − null model", ylabel="network − null model")
    both.legend(fontsize="small")
    gaps.axhline(0, color="0.5", linewidth=1)
    gaps.scatter(solution, u - solution, s=6, alpha=0.6)
    gaps.set(xlabel="solution − null model", ylabel="network − solution")
    figure.savefig(path, dpi=_WIDTHS["curve"] / 8, pil_kwargs={"quality": _QUALITY})


if __name__ == "__main__":
    main()
