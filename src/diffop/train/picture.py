"""The network beside the solution, on sections of the domain."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..equations.points import at_each
from ..pde import Section
from ..terms.shapes import check_shape
from .test_points import flat


def save_picture(
    path: pathlib.Path,
    sections: Sequence[Section],
    network: Callable,
    solution: Callable,
    title: str,
) -> None:
    """Draws a row for each section: the network, the solution, and the difference.

    **Arguments:**

    - `path`: the PNG file to write.
    - `sections`: at least one.
    - `network`, `solution`: functions of one point.
    - `title`: above the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 0.5 + 3 * len(sections)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    both = [[_on_section(u, section) for section in sections] for u in (network, solution)]
    for mine, other in zip(*both, strict=True):
        check_shape("the network", mine.shape[2:], "the solution", other.shape[2:])
    pairs = zip(sections, both[1], strict=True)
    sections = [named for section, values in pairs for named in _named(section, values)]
    ours, exact = ([image for values in of for image in _images(values)] for of in both)
    rows = figure.subplots(len(sections), 3, squeeze=False)
    _draw_column(figure, rows[:, 0], sections, ours, "network", _range(exact))
    _draw_column(figure, rows[:, 1], sections, exact, "solution", _range(exact))
    gaps = [a - b for a, b in zip(ours, exact, strict=True)]
    largest = max(float(np.max(np.abs(gap))) for gap in gaps)
    _draw_column(figure, rows[:, 2], sections, gaps, "difference", (-largest, largest), "RdBu")
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


def _images(values: np.ndarray) -> list[np.ndarray]:
    """One for each value that a function has at a point."""
    return list(np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0))


def _named(section: Section, values: np.ndarray) -> list[Section]:
    """The section once for each of these, its title saying which."""
    shape = values.shape[2:]
    if not shape:
        return [section]
    return [section._replace(title=f"{section.title}, {list(i)}") for i in np.ndindex(shape)]


def _on_section(u: Callable, section: Section) -> np.ndarray:
    return np.asarray(_evaluate(u, section.points), np.float64)


@eqx.filter_jit
def _evaluate(
    u: Callable, points: PyTree[Float[Array, "rows columns ..."]]
) -> Float[Array, "rows columns ..."]:
    return at_each(jax.vmap(flat(u)), points)


def _range(images: Sequence[np.ndarray]) -> tuple[float, float]:
    return min(float(image.min()) for image in images), max(float(image.max()) for image in images)
