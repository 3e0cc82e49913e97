"""The learning curve as a picture."""

import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def save_curve(
    path: pathlib.Path,
    losses: np.ndarray,
    errors: Sequence[tuple[int, float]],
    null_rel_l2: float,
    title: str,
) -> None:
    """Draws loss and error against steps, the null model as a horizontal line.

    **Arguments:**

    - `path`: the PNG file to write.
    - `losses`: the loss at each step.
    - `errors`: pairs of step and relative L2 error.
    - `null_rel_l2`: the null model's error.
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
    _draw_loss(loss_axis, losses)
    _draw_errors(error_axis, errors, null_rel_l2)
    error_axis.set_zorder(loss_axis.get_zorder() + 1)
    error_axis.patch.set_visible(False)
    error_axis.set_title(title)
    figure.savefig(path, dpi=150)


def _draw_loss(axis: Any, losses: np.ndarray) -> None:
    window = max(1, losses.size // 500)
    whole = losses[: losses.size // window * window].reshape(-1, window)
    steps = (np.arange(len(whole)) + 1) * window
    axis.semilogy(steps, whole.mean(axis=1), color="0.75", linewidth=1)
    axis.set_ylabel("loss", color="0.5")
    axis.tick_params(axis="y", colors="0.5")


def _draw_errors(axis: Any, errors: Sequence[tuple[int, float]], null_rel_l2: float) -> None:
    steps, values = zip(*errors, strict=True)
    axis.semilogy(steps, values, color="C0", marker="o", markersize=3, label="network")
    label = "null model (one fitted number)"
    axis.axhline(null_rel_l2, color="C3", linestyle="--", label=label)
    axis.set_xlabel("step")
    axis.set_ylabel("relative L2 error")
    axis.legend()
