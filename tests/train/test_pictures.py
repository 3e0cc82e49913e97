"""Pictures of networks: each value has its own colours, and references are drawn where they are a
grid.
"""

from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import matplotlib.image
import numpy as np
import pytest

import diffop as do
from diffop.runs.pictures import on_grids, save_beside_reference, save_picture

DATA = Path(do.pde.__file__).parent / "classical" / "data"
FLOAT32 = 3e-7
"""How far float32 is from numbers below three."""


def colours(path, rows, row):
    """How many different colours a row of the picture has."""
    picture = np.round(255 * matplotlib.image.imread(path)[..., :3]).astype(np.int64)
    height = len(picture) // rows
    part = picture[row * height : (row + 1) * height].reshape(-1, 3)
    return len(np.unique(part, axis=0))


def both(x):
    """Two values of which one is a million times as large."""
    return jnp.array([1e6, 1.0]) * jnp.sin(3 * x[0]) * x[1]


def test_each_value_has_its_own_colours(tmp_path):
    sections = do.pde.Box((0.0, 0.0), (1.0, 1.0)).sections(41)
    save_picture(tmp_path / "a.png", sections, both, both, "both")
    found = [colours(tmp_path / "a.png", 2, row) for row in (0, 1)]
    assert min(found) > 0.5 * max(found) > 100


def test_a_complex_value_has_a_row_for_each_part(tmp_path):
    """The network is real here, and the imaginary part of the solution a millionth of the other."""
    sections = do.pde.Box((0.0, 0.0), (1.0, 1.0)).sections(41)
    real = lambda x: jnp.sin(3 * x[0]) * x[1]  # noqa: E731
    both = lambda x: jax.lax.complex(real(x), 1e-6 * real(x))  # noqa: E731
    save_picture(tmp_path / "a.png", sections, real, both, "both")
    found = [colours(tmp_path / "a.png", 2, row) for row in (0, 1)]
    assert min(found) > 0.2 * max(found) > 40


def test_values_have_names():
    """Those of a flow; its section says them, and their number is that of the solution's values."""
    problem = do.pde.Kovasznay()
    (section,) = problem.sections(3)
    assert section.values == ("u", "v", "p")
    assert problem.solution(section.points[0, 0]).shape == (3,)


@pytest.mark.parametrize(
    "problem", [do.pde.AllenCahn1D(), do.pde.KdVCosine()], ids=lambda each: each.name
)
def test_a_reference_over_time_is_a_grid(problem):
    """Rows are times, and columns are places, as in the file."""
    ((section, values),) = on_grids(problem)
    with np.load(DATA / f"{problem.name}.npz") as file:
        np.testing.assert_allclose(values, file["u"][: len(values)], atol=FLOAT32)
    (lower, start), (upper, end) = problem.domain.first, problem.domain.last
    step = (upper - lower) / values.shape[1]  # the upper end is the lower one
    np.testing.assert_allclose(section.extent, (lower, upper - step, start, end), atol=FLOAT32)
    np.testing.assert_allclose(section.points[0, -1], [upper - step, start], atol=FLOAT32)
    assert section.axes == ("x", "t")


def test_the_flow_in_the_cavity_is_a_grid():
    """The slopes of its stream function, (−v, u): below the lid it follows the lid."""
    ((section, slopes),) = on_grids(do.pde.Cavity())
    with np.load(DATA / "cavity-100.npz") as file:
        u, v = file["u"][20, 40]  # in the middle below the lid
    np.testing.assert_allclose(slopes[40, 20], [-v, u], atol=FLOAT32)
    np.testing.assert_allclose(section.points[40, 20], [0.5, 1 - 0.5 / 41], atol=FLOAT32)
    assert u > 0.5 > abs(v)


def test_a_spiral_is_a_grid_at_three_times():
    """Rows are y, and columns x, from −1 on; the pair is the last axis."""
    problem = do.pde.GinzburgLandau()
    with np.load(DATA / "ginzburg-landau.npz") as file:
        u = file["u"]
    found = on_grids(problem)
    assert [section.title for section, _ in found] == ["t = 0", "t = 0.5", "t = 1"]
    for (section, values), kept in zip(found, u[[0, 10, 20]], strict=True):
        np.testing.assert_allclose(values, kept.transpose(2, 1, 0), atol=FLOAT32)
        np.testing.assert_allclose(section.points[3, 5, :2], [-0.5, -0.7], atol=FLOAT32)
        np.testing.assert_allclose(section.extent, (-1, 0.9, -1, 0.9), atol=FLOAT32)


def test_planes_at_which_nothing_is_known_are_left_out():
    """Values are known at multiples of 0.05."""
    found = on_grids(do.pde.GinzburgLandau(duration=0.55))
    assert [section.title for section, _ in found] == ["t = 0", "t = 0.55"]
    assert {section.values for section, _ in found} == {("u", "v")}


class Scattered(do.pde.AbstractReferenceProblem):
    """Known at points that are no grid."""

    name: ClassVar[str] = "scattered"
    dim: ClassVar[int] = 2
    domain: ClassVar[do.pde.Box] = do.pde.Box((0.0, 0.0), (1.0, 1.0))

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values

    def reference(self):
        points = jnp.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        return do.pde.Reference(points, jnp.zeros(3), 1e-9)

    def null_shape(self, x):
        return jnp.ones(())


def test_a_reference_at_scattered_points_has_no_picture(tmp_path):
    assert on_grids(Scattered()) == []
    save_beside_reference(tmp_path / "a.png", Scattered(), lambda x: x[0], "scattered")
    assert not (tmp_path / "a.png").exists()


def test_a_picture_beside_a_reference(tmp_path):
    """A network that is the null model differs from it."""
    problem = do.pde.KdVCosine()
    save_beside_reference(tmp_path / "a.png", problem, problem.null_shape, "kdv-cosine")
    assert colours(tmp_path / "a.png", 1, 0) > 100
