"""Learning curves as a picture."""

import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

_BINS = 500


@final
class Curve(NamedTuple):
    """Loss and error of a run against its steps.

    - `label`: the name of the run.
    - `loss_steps`, `losses`: the loss, or means of it, and the steps of their ends.
    - `errors`: pairs of step and relative L2 error.
    - `null_rel_l2`: the null model's error, if there is one.
    """

    label: str
    loss_steps: np.ndarray
    losses: np.ndarray
    errors: Sequence[tuple[int, float]]
    null_rel_l2: float | None


def save_curves(path: pathlib.Path, curves: Sequence[Curve], title: str) -> None:
    """Draws errors against steps, the null models as horizontal lines, the losses behind them.

    **Arguments:**

    - `path`: the picture to write; its suffix says of which kind.
    - `curves`: at least one.
    - `title`: above the picture.
    """
    # An extra: imported where it is used. The figure is made without pyplot, so no display and no
    # global state are involved.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
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
        if height is not None:
            error_axis.axhline(height, color=null_colour, linestyle="--", linewidth=1, label=null)
            null = None  # named once
    error_axis.set_xlabel("step")
    error_axis.set_ylabel("relative L2 error")
    if error_axis.get_legend_handles_labels()[0]:
        error_axis.legend(fontsize="small")
    error_axis.set_zorder(loss_axis.get_zorder() + 1)
    error_axis.patch.set_visible(False)
    error_axis.set_title(title)
    figure.savefig(path, dpi=150)


def _draw_loss(axis: Any, curve: Curve, colour: str) -> None:
    window = max(1, curve.losses.size // _BINS)
    ends = slice(window - 1, curve.losses.size // window * window, window)
    means = curve.losses[: ends.stop].reshape(-1, window).mean(axis=1)
    axis.semilogy(curve.loss_steps[ends], means, color=colour, linewidth=1, alpha=0.5)


def _draw_errors(axis: Any, curve: Curve, colour: str) -> None:
    if curve.errors:
        steps, values = zip(*curve.errors, strict=True)
        axis.semilogy(steps, values, color=colour, marker="o", markersize=3, label=curve.label)
