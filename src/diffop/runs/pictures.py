"""Pictures: learning curves, and the network beside the solution on sections of the domain, or
beside the values of a reference.

Matplotlib is an extra, imported where it is used. Figures are made without pyplot, so they need no
display and no global state.
"""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, PyTree

from ..equations.points import at_each
from ..pde import AbstractReferenceProblem, Section
from ..terms.shapes import check_shape
from .evaluate import flat_values, in_double

_ROUNDING = 1e-12
"""Differences of this size, beside values of one, have no colour."""
_BINS = 500


@final
class Curve(NamedTuple):
    """Loss and error of a run against its steps.

    - `label`: the name of the run.
    - `loss_steps`, `losses`: the loss, or means of it, and the steps at their ends.
    - `errors`: pairs of step and relative L2 error.
    - `null_rel_l2`: the null model's error, if there is one.
    """

    label: str
    loss_steps: np.ndarray
    losses: np.ndarray
    errors: Sequence[tuple[int, float]]
    null_rel_l2: float | None


def save_curves(path: pathlib.Path, curves: Sequence[Curve], title: str) -> None:
    """Draws errors against steps, the null models as horizontal lines, the losses behind them, in
    the format of the path's suffix.
    """
    figure = _figure(7.5, 4.2)
    error_axis = figure.add_subplot()
    loss_axis = error_axis.twinx()
    loss_axis.set_ylabel("loss (faint)", color="0.5")
    loss_axis.tick_params(axis="y", colors="0.5")
    alone = len(curves) == 1
    null = "null model (one fitted number)" if alone else "null models"
    for number, curve in enumerate(curves):
        colour = f"C{number % 10}"
        _draw_loss(loss_axis, curve, "0.5" if alone else colour)
        _draw_errors(error_axis, curve, colour)
        null_colour = "C3" if alone else colour
        height = curve.null_rel_l2
        if height is not None and 0 < height < np.inf:
            error_axis.axhline(height, color=null_colour, linestyle="--", linewidth=1, label=null)
            null = None  # in the legend once
    error_axis.set_xlabel("step")
    error_axis.set_ylabel("relative L2 error")
    if error_axis.get_legend_handles_labels()[0]:
        error_axis.legend()
    error_axis.set_zorder(loss_axis.get_zorder() + 1)
    error_axis.patch.set_visible(False)
    error_axis.set_title(title)
    figure.savefig(path, dpi=150)


def _figure(width: int | float, height: int | float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _draw_loss(axis: Any, curve: Curve, colour: str) -> None:
    window = max(1, curve.losses.size // _BINS)
    ends = slice(window - 1, curve.losses.size // window * window, window)
    means = curve.losses[: ends.stop].reshape(-1, window).mean(axis=1)
    _draw(axis, curve.loss_steps[ends], means, color=colour, linewidth=1, alpha=0.5)


def _draw_errors(axis: Any, curve: Curve, colour: str) -> None:
    if curve.errors:
        steps, values = map(np.array, zip(*curve.errors, strict=True))
        _draw(axis, steps, values, color=colour, marker="o", markersize=3, label=curve.label)


def _draw(axis: Any, steps: np.ndarray, values: np.ndarray, **how: Any) -> None:
    """Draws with a logarithmic axis, which shows positive finite numbers only."""
    shown = np.isfinite(values) & (values > 0)
    if shown.any():
        axis.semilogy(steps[shown], values[shown], **how)


def save_picture(
    path: pathlib.Path,
    sections: Sequence[Section],
    network: Callable,
    solution: Callable,
    title: str,
) -> None:
    """Draws a row for each section, and each value at a point: the network, the solution, and the
    difference.
    """
    ours, exact = ([_on_section(u, section) for section in sections] for u in (network, solution))
    for mine, other in zip(ours, exact, strict=True):
        check_shape("the network", mine.shape[2:], "the solution", other.shape[2:])
    _save_rows(path, sections, ours, exact, ("network", "solution", "difference"), title)


def save_beside_reference(
    path: pathlib.Path, problem: AbstractReferenceProblem, network: Callable, title: str
) -> None:
    """As `save_picture`, if values are known on grids over planes; nothing if they are not."""
    if found := on_grids(problem):
        sections, values = map(list, zip(*found, strict=True))
        of_network = problem.reference().operator.exact(network)
        ours = [_on_section(of_network, section) for section in sections]
        _save_rows(path, sections, ours, values, ("network", "reference", "difference"), title)


def on_grids(problem: AbstractReferenceProblem) -> list[tuple[Section, np.ndarray]]:
    """The points of a reference in each of the planes of the problem's domain as a section, and the
    values there, `(rows, columns, ...)`; without planes in which they are not a grid.
    """
    known = problem.reference()
    if problem.domain is None or isinstance(known.points, tuple):
        return []
    points, values = np.asarray(known.points), in_double(known.values)
    named = [s._replace(values=problem.value_names) for s in problem.domain.sections(2)]
    found = (_on_grid(section, points, values) for section in named)
    return [each for each in found if each is not None]


def _on_grid(
    section: Section, points: np.ndarray, values: np.ndarray
) -> tuple[Section, np.ndarray] | None:
    fixed = np.asarray(section.points)[0, 0, 2:]  # of a plane in space, the time
    inside = np.isclose(points[:, 2:], fixed, rtol=1e-5, atol=1e-6).all(axis=1)
    points, values = points[inside], values[inside]
    x, y = (np.unique(points[:, axis]) for axis in (0, 1))
    if not len(points) or len(x) * len(y) != len(points):
        return None
    upwards = np.lexsort((points[:, 0], points[:, 1]))
    shape = len(y), len(x)
    extent = float(x[0]), float(x[-1]), float(y[0]), float(y[-1])
    grid = jnp.asarray(points[upwards].reshape(*shape, points.shape[1]))
    values = values[upwards].reshape(*shape, *values.shape[1:])
    return section._replace(extent=extent, points=grid), values


def _save_rows(
    path: pathlib.Path,
    sections: Sequence[Section],
    ours: Sequence[np.ndarray],
    exact: Sequence[np.ndarray],
    names: tuple[str, str, str],
    title: str,
) -> None:
    """Each row has its own scale, which the first two of its pictures share."""
    kinds = [np.result_type(*pair) for pair in zip(ours, exact, strict=True)]
    ours, exact = (
        [values.astype(kind) for values, kind in zip(of, kinds, strict=True)]
        for of in (ours, exact)
    )
    pairs = zip(sections, exact, strict=True)
    sections = [named for section, values in pairs for named in _named(section, values)]
    images = ([image for values in of for image in _images(values)] for of in (ours, exact))
    figure = _figure(10, 0.5 + 2.6 * len(sections))
    figure.suptitle(title)
    rows = figure.subplots(len(sections), 3, squeeze=False)
    for axes, section, mine, other in zip(rows, sections, *images, strict=True):
        for axis, name in zip(axes, names, strict=True):
            axis.set_title(f"{name}, {section.title}", fontsize="medium")
        gap, scale = mine - other, (float(other.min()), float(other.max()))
        largest = max(float(np.max(np.abs(gap))), _ROUNDING * max(map(abs, scale)))
        _draw_image(axes[0], section, mine, scale)
        figure.colorbar(_draw_image(axes[1], section, other, scale), ax=axes[:2])
        far = _draw_image(axes[2], section, gap, (-largest, largest), "RdBu")
        figure.colorbar(far, ax=axes[2])
    figure.savefig(path, dpi=110)


def _draw_image(
    axis: Any,
    section: Section,
    values: np.ndarray,
    limits: tuple[float, float],
    colours: str = "viridis",
) -> Any:
    axis.set_xlabel(section.axes[0])
    axis.set_ylabel(section.axes[1])
    return axis.imshow(
        values,
        origin="lower",
        extent=section.extent,
        aspect="auto",
        vmin=limits[0],
        vmax=limits[1],
        cmap=colours,
    )


def _images(values: np.ndarray) -> list[np.ndarray]:
    """One image for each value that a function has at a point; two for a complex value."""
    images = np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0)
    if np.iscomplexobj(values):
        return [part for image in images for part in (image.real, image.imag)]
    return list(images)


def _named(section: Section, values: np.ndarray) -> list[Section]:
    """The section once for each of these images, named in its title."""
    shape = values.shape[2:]
    names: Sequence[str] = [""]
    if shape:
        names = section.values or [str(list(i)) for i in np.ndindex(shape)]
    if np.iscomplexobj(values):
        names = [f"{part} {name}".rstrip() for name in names for part in ("Re", "Im")]
    if names == [""]:
        return [section]
    return [section._replace(title=f"{section.title}, {name}") for name in names]


def _on_section(u: Callable, section: Section) -> np.ndarray:
    return in_double(_evaluate(u, section.points))


@eqx.filter_jit
def _evaluate(
    u: Callable, points: PyTree[Float[Array, "rows columns ..."]]
) -> Inexact[Array, "rows columns ..."]:
    return at_each(jax.vmap(flat_values(u)), points)
