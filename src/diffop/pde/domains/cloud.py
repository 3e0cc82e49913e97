"""Domains given by points."""

from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...held import Held
from ...streams import stream
from ..sampling.checks import checked_count
from .domain import AbstractDomain, AbstractPart

_ROUNDING = 1e-3
"""How far the length of a unit normal with three decimals may be from 1."""


@final
class PointCloud(AbstractDomain):
    """A domain given by points, from a mesh, a file or another library's sampler. They are data,
    and are not learnt.

    **Arguments:**

    - `points`: inside, of shape `(count, dim)`.
    - `on_boundary`: points of the boundary, of shape `(other, dim)`; none if not given.
    - `normals`: the outward normals at the boundary points, of the same shape; their lengths are 1
        up to rounding, and are not changed.

    **Raises:** `ValueError` for arrays of other shapes, or without points; for points that are not
    finite, and normals of another length.

    !!! example

        ```python
        import jax
        import numpy as np
        import diffop as do

        angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        disc = do.pde.PointCloud(0.5 * circle, on_boundary=circle, normals=circle)
        disc.sample(jax.random.key(0), 10)  # ten of the first
        # of a surface that trimesh has read: trimesh.sample.volume_mesh(mesh, 10_000), and
        # points, faces = trimesh.sample.sample_surface(mesh, 10_000), mesh.face_normals[faces]
        ```
    """

    _points: Held = eqx.field(static=True)
    _on_boundary: Held = eqx.field(static=True)
    _normals: Held = eqx.field(static=True)

    def __init__(self, points: Any, *, on_boundary: Any = None, normals: Any = None):
        if points is None:
            raise ValueError("PointCloud expects points of shape (count, dim); got None.")
        given = [None if each is None else np.asarray(each) for each in (points, on_boundary)]
        arrows = None if normals is None else np.asarray(normals)
        for each in given:
            if each is not None and (each.ndim != 2 or each.size == 0):
                raise ValueError(
                    f"PointCloud expects points of shape (count, dim); got shape {each.shape}."
                )
            if each is not None and not np.isfinite(each).all():
                wrong = np.flatnonzero(~np.isfinite(each).all(axis=1))
                raise ValueError(
                    f"PointCloud expects points with finite coordinates; got {len(wrong)} of "
                    f"{len(each)} with NaN or infinity, the first of them number {wrong[0]}: leave "
                    "them out."
                )
        inside, edge = given
        assert inside is not None  # it was checked
        if edge is not None and edge.shape[1] != inside.shape[1]:
            raise ValueError(
                "PointCloud expects points of as many coordinates on its boundary as inside; got "
                f"{edge.shape[1]} and {inside.shape[1]}."
            )
        if arrows is not None and (edge is None or arrows.shape != edge.shape):
            raise ValueError(
                "PointCloud expects a normal for each point of its boundary; got shape "
                f"{arrows.shape} for {None if edge is None else edge.shape}."
            )
        if arrows is not None:
            _check_lengths(arrows)
        self._points, self._on_boundary, self._normals = Held(inside), Held(edge), Held(arrows)

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self._points.value.shape[1]

    @property
    def boundary(self) -> "CloudBoundary":
        """The points on the boundary.

        **Raises:** `ValueError` if there are none.
        """
        if self._on_boundary.value is None:
            raise ValueError("a PointCloud has a boundary where it is given: on_boundary=points.")
        return CloudBoundary(self._on_boundary, self._normals)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` of the points, drawn with replacement, all equally likely."""
        return _some(self._points, key, count)


@final
class CloudBoundary(AbstractPart):
    """The boundary of a [`diffop.pde.PointCloud`][]; made by its property `boundary`.

    !!! example

        ```python
        import numpy as np
        import diffop as do

        ends = do.pde.PointCloud(np.array([[0.5]]), on_boundary=[[0.0], [1.0]]).boundary
        ends.normal  # None: none were given
        ```
    """

    _points: Held = eqx.field(static=True)
    _normals: Held = eqx.field(static=True)

    @property
    def normal(self) -> Callable[[Float[Array, " dim"]], Float[Array, " dim"]] | None:
        """The normal of the nearest point; None if normals were not given."""
        return None if self._normals.value is None else _Nearest(self._points, self._normals)

    @property
    def across(self) -> None:
        """None: there is no opposite face."""
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` of the points, drawn with replacement, all equally likely."""
        return _some(self._points, key, count)


@final
class _Nearest(eqx.Module):
    points: Held = eqx.field(static=True)
    normals: Held = eqx.field(static=True)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        points, normals = (jnp.asarray(each.value, x.dtype) for each in (self.points, self.normals))
        steps = points - x[None]
        largest = jnp.max(jnp.abs(steps))  # in units of it squares are in range
        squares = (steps / jnp.where(largest > 0, largest, 1)) ** 2
        return normals[jnp.argmin(jnp.sum(squares, axis=1))]


def _check_lengths(normals: Any) -> None:
    """Refuses normals whose lengths are not 1 up to the rounding of files with few digits, which
    would multiply derivatives along them.

    **Raises:** `ValueError` giving one of the lengths.
    """
    lengths = np.linalg.norm(np.asarray(normals, float), axis=1)
    wrong = lengths[~(np.abs(lengths - 1) <= _ROUNDING)]
    if len(wrong):
        raise ValueError(
            f"PointCloud expects normals of length 1; got one of length {wrong[0]:.6g}: divide "
            "them by their lengths, numpy.linalg.norm(normals, axis=1, keepdims=True)."
        )


def _some(points: Held, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
    count, last = checked_count(count), len(points.value)
    rows = jax.random.randint(stream(key, "points of a cloud"), (count,), 0, last)
    return jnp.array(points.value, float)[rows]
