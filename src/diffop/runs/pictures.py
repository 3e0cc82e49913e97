"""Pictures: learning curves, and the network beside the solution on sections of the domain.

Matplotlib is an extra, imported where it is used. Figures are made without pyplot, so they need no
display and no global state.
"""

import itertools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..equations.points import at_each
from ..pde import Section
from ..terms.shapes import check_shape
from .evaluate import flat

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
    figure = _figure(8, 4.5)
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
        error_axis.legend(fontsize="small")
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
    panels = (_panels(section, network, solution) for section in sections)
    named, ours, exact = zip(*itertools.chain.from_iterable(panels), strict=True)
    figure = _figure(12, 0.5 + 3 * len(named))
    figure.suptitle(title)
    rows = figure.subplots(len(named), 3, squeeze=False)
    _draw_column(figure, rows[:, 0], named, ours, "network", _range(exact))
    _draw_column(figure, rows[:, 1], named, exact, "solution", _range(exact))
    gaps = [a - b for a, b in zip(ours, exact, strict=True)]
    largest = max(float(np.max(np.abs(gap))) for gap in gaps)
    _draw_column(figure, rows[:, 2], named, gaps, "difference", (-largest, largest), "RdBu")
    figure.savefig(path, dpi=110)


def _draw_column(
    figure: Any,
    axes: Any,
    sections: Sequence[Section],
    images: Sequence[np.ndarray],
    name: str,
    limits: tuple[float, float],
    colours: str = "viridis",
) -> None:
    image = None
    for axis, section, values in zip(axes, sections, images, strict=True):
        image = axis.imshow(
            values,
            origin="lower",
            extent=section.extent,
            aspect="auto",
            vmin=limits[0],
            vmax=limits[1],
            cmap=colours,
        )
        axis.set_title(f"{name}, {section.title}")
        axis.set_xlabel(section.axes[0])
        axis.set_ylabel(section.axes[1])
    figure.colorbar(image, ax=axes)


def _panels(
    section: Section, network: Callable, solution: Callable
) -> Iterator[tuple[Section, np.ndarray, np.ndarray]]:
    """A section for each value at a point, named in its title, and the images of both functions."""
    both = (_evaluate(u, section.points) for u in (network, solution))
    ours, exact = (np.asarray(values, np.float64) for values in both)
    check_shape("the network", ours.shape[2:], "the solution", exact.shape[2:])
    for index in np.ndindex(exact.shape[2:]):
        title = f"{section.title}, {list(index)}" if index else section.title
        yield section._replace(title=title), ours[..., *index], exact[..., *index]


@eqx.filter_jit
def _evaluate(
    u: Callable, points: PyTree[Float[Array, "rows columns ..."]]
) -> Float[Array, "rows columns ..."]:
    return at_each(jax.vmap(flat(u)), points)


def _range(images: Sequence[np.ndarray]) -> tuple[float, float]:
    return min(float(image.min()) for image in images), max(float(image.max()) for image in images)
