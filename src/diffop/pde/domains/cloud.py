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
from .domain import AbstractDomain, AbstractPart


@final
class PointCloud(AbstractDomain):
    """A domain given by points, from a mesh, a file or another library's sampler. They are data,
    and are not learnt.

    **Arguments:**

    - `points`: inside, of shape `(count, dim)`.
    - `on_boundary`: points of the boundary, of shape `(other, dim)`; none if not given.
    - `normals`: the outward unit normals at the boundary points, of the same shape.

    **Raises:** `ValueError` for arrays of other shapes, or without points.

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
        return normals[jnp.argmin(jnp.sum((points - x[None]) ** 2, axis=1))]


def _some(points: Held, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
    rows = jax.random.randint(stream(key, "points of a cloud"), (count,), 0, len(points.value))
    return jnp.array(points.value, float)[rows]
