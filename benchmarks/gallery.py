"""The gallery's pictures: every problem by the settings of the suite `problems`.

python -m benchmarks.gallery          # or with names of problems, for theirs only

What is not trained yet under `--runs` is trained first, which takes ten minutes. The pictures are
those that `diffop solve` leaves: the network beside the solution on planes, where a plane says
something, and the learning curve. Flows have streamlines over their speed. Problems in many
dimensions have, in place of planes, what the network and the solution are beyond the null model, at
random points.
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import numpy as np
from PIL import Image

import diffop as do
from diffop.precision import PRECISIONS
from diffop.runs.directory import finished
from diffop.runs.pictures import on_grids
from diffop.train.model import Keys, build_problem

from .harness.case import Case, Scope
from .harness.process import in_own_process
from .suites import SUITES, measure
from .suites.errors import AbstractTrained, run_path

PICTURES = Path(__file__).parents[1] / "docs" / "pictures" / "gallery"
_POINTS = 400
_QUALITY = 80
_WIDTHS = {"solution": 960, "curve": 560}
_FLOWS = ("cavity", "backward-step")
"""Whose network is a stream function of the plane."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="all if none is named")
    parser.add_argument("--runs", type=Path, default=Path("out/runs"), help="for trainings")
    options = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    suite = SUITES["problems"]
    assert isinstance(suite, AbstractTrained)
    for case in suite.cases(Scope("full")):
        if options.problems and case.sizes["problem"] not in options.problems:
            continue
        if not (run_path(options.runs, case) / "report.json").is_file():
            in_own_process(measure, case, options.runs, limit=suite.limit)
        draw(suite, case, run_path(options.runs, case))


def draw(suite: AbstractTrained, case: Case, run: Path) -> None:
    """The pictures of a run that has ended."""
    name = str(case.sizes["problem"])
    shrink(run / "curve.png", PICTURES / f"{name}-curve.jpg", "curve")
    settings = suite.settings(case)
    if name.startswith(_FLOWS):
        flow(settings, run, PICTURES / f"{name}.jpg")
        return
    if (run / "solution.png").is_file():
        shrink(run / "solution.png", PICTURES / f"{name}.jpg", "solution")
        return
    pairs = beyond_null(settings, run)
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
        network = do.train.load(run)
        _check(do.train.FixedPoints(problem, keys.test).errors(network).rel_l2, run)
        points = problem.sample(keys.test, _POINTS)
        u, solution, shape = (
            np.asarray(jax.lax.map(function, points), np.float64)
            for function in (network, problem.solution, problem.null_shape)
        )
    null = shape * (shape @ solution) / (shape @ shape)
    return solution - null, u - null


def _check(error: float, run: Path) -> None:
    told = finished(run)
    if told is None or told.rel_l2 is None or not 0.99 < error / told.rel_l2 < 1.01:
        raise RuntimeError(f"the network of {run} has error {error:.2e}, and its report is {told}.")


def scatter(solution: np.ndarray, u: np.ndarray, path: Path) -> None:
    """The network against the solution, on the diagonal where they agree; and their difference."""
    figure = _figure(7.5, 4.2)
    both, gaps = figure.subplots(1, 2)
    both.axline((0, 0), slope=1, color="0.5", linewidth=1, label="the solution")
    both.axhline(0, color="C3", linestyle="--", linewidth=1, label="null model")
    both.scatter(solution, u, s=6, alpha=0.6, label="network")
    both.set(xlabel="solution − null model", ylabel="network − null model")
    both.legend()
    gaps.axhline(0, color="0.5", linewidth=1)
    gaps.scatter(solution, u - solution, s=6, alpha=0.6)
    gaps.set(xlabel="solution − null model", ylabel="network − solution")
    _save(figure, path, "curve")


def flow(settings: do.train.Settings, run: Path, path: Path) -> None:
    """Streamlines over the speed of a flow in the plane: the network's, the reference's and what
    lies between the two velocities.
    """
    with PRECISIONS[settings.precision]():
        problem = build_problem(settings, Keys.of(settings).problem)
        assert isinstance(problem, do.pde.AbstractReferenceProblem)
        ((section, slopes),) = on_grids(problem)
        of_network = problem.reference().operator.exact(do.train.load(run))
        ours = np.asarray(jax.lax.map(jax.vmap(of_network), section.points), np.float64)
    figure = _figure(10, 5.5 if _is_long(section) else 3.3)
    figure.suptitle(f"{problem.name}: streamlines and speed")
    _draw_flows(figure, section, ours, slopes)
    _save(figure, path, "solution")


def _draw_flows(figure: Any, section: do.pde.Section, ours: np.ndarray, slopes: np.ndarray) -> None:
    """From the slopes of two stream functions on a section."""
    *flows, gap = figure.subplots(*((3, 1) if _is_long(section) else (1, 3)))
    fastest = float(np.hypot(*np.moveaxis(slopes, -1, 0)).max())
    x, y = (np.asarray(section.points[..., i], np.float64) for i in (0, 1))
    images = []
    for axis, values, name in zip(flows, (ours, slopes), ("network", "reference"), strict=True):
        u, v = values[..., 1], -values[..., 0]
        images.append(_over_section(axis, section, np.hypot(u, v), name, vmin=0, vmax=fastest))
        axis.streamplot(x[0], y[:, 0], u, v, color="white", linewidth=0.7, arrowsize=0.7)
        axis.axis(section.extent)
    figure.colorbar(images[1], ax=flows)
    far = np.hypot(*np.moveaxis(ours - slopes, -1, 0))
    figure.colorbar(_over_section(gap, section, far, "|difference|", cmap="magma"), ax=gap)


def _is_long(section: do.pde.Section) -> bool:
    """So that pictures stand below one another, and not side by side."""
    left, right, lower, upper = section.extent
    return right - left > 3 * (upper - lower)


def _over_section(
    axis: Any, section: do.pde.Section, values: np.ndarray, title: str, **how: Any
) -> Any:
    axis.set(title=title, xlabel=section.axes[0], ylabel=section.axes[1])
    return axis.imshow(values, origin="lower", extent=section.extent, aspect="auto", **how)


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Any, path: Path, kind: str) -> None:
    dpi = _WIDTHS[kind] / figure.get_figwidth()
    figure.savefig(path, dpi=dpi, pil_kwargs={"quality": _QUALITY})


if __name__ == "__main__":
    main()
