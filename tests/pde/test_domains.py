"""Boxes, balls and their time: points, parts of the boundary, normals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

BOX = do.pde.Box((-1.0, 0.0, 2.0), (1.0, 0.5, 5.0))
DISC = do.pde.Ball(2, radius=0.5, center=(1.0, -2.0))
LOWER, UPPER = np.array(BOX.lower), np.array(BOX.upper)


def test_points_of_a_box_and_of_its_boundary(getkey):
    inside = np.asarray(BOX.sample(getkey(), 200))
    assert inside.shape == (200, BOX.dim) and ((inside > LOWER) & (inside < UPPER)).all()
    even = np.asarray(BOX.sample(getkey(), 64, unit=do.pde.sobol))
    assert ((even >= LOWER) & (even <= UPPER)).all()
    on = np.asarray(BOX.boundary.sample(getkey(), 600))
    at_ends = np.stack([on == LOWER, on == UPPER])
    assert (at_ends.sum(axis=(0, 2)) == 1).all()
    assert (np.abs(at_ends.sum(axis=1) - 100) < 40).all()  # four standard deviations


@pytest.mark.parametrize("whole", [BOX.boundary, DISC.boundary])
def test_a_part_without_points_is_refused(whole, getkey):
    part = whole.where(lambda x: x[0] > 20)
    message = "found no point of the part of a boundary at which the function of `where` is true"
    with pytest.raises(RuntimeError, match=message):
        jax.block_until_ready(part.sample(getkey(), 3))


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_faces_of_a_box(axis, end, getkey):
    face = BOX.face(axis, end)
    points = np.asarray(face.sample(getkey(), 20))
    assert (points[:, axis] == getattr(BOX, end)[axis]).all()
    others = [i for i in range(3) if i != axis]
    assert np.unique(points[:, others]).size == 40
    np.testing.assert_array_equal(face.normal, np.eye(3)[axis] * (1 if end == "upper" else -1))
    partners = points + np.asarray(face.across)
    opposite = LOWER if end == "upper" else UPPER
    np.testing.assert_allclose(partners[:, axis], opposite[axis])
    np.testing.assert_array_equal(partners[:, others], points[:, others])


def test_all_faces_of_a_box():
    names = [(face.axis, face.end) for face in BOX.faces]
    assert names == [(i, end) for i in range(3) for end in ("lower", "upper")]
    assert BOX.boundary.normal is BOX.boundary.across is None


def test_a_ball_and_its_sphere(getkey):
    center = np.array(DISC.center)
    radii = np.linalg.norm(np.asarray(DISC.sample_by_radius(getkey(), 1000)) - center, axis=1)
    # uniform radius; four standard deviations
    assert radii.max() < 0.5 and abs(radii.mean() - 0.25) < 4 * 0.5 / np.sqrt(12 * 1000)
    sphere = DISC.boundary
    points = np.asarray(sphere.sample(getkey(), 100))
    np.testing.assert_allclose(np.linalg.norm(points - center, axis=1), 0.5, rtol=1e-12)
    normals = jax.vmap(sphere.normal)(points)
    np.testing.assert_allclose(normals, (points - center) / 0.5, rtol=1e-12)
    assert sphere.across is None
    assert do.pde.Ball(3).sample(getkey(), 4).shape == (4, 3)


def test_the_divergence_theorem(getkey):
    """∫ div u over a ball of the dimension 2 and over its circle, by both parts' points."""
    u = lambda x: jnp.stack([x[0] ** 2 * x[1], jnp.sin(x[0]) + x[1] ** 3])
    sphere, count = DISC.boundary, 200_000
    points = sphere.sample(getkey(), count)
    flux = np.asarray(jax.vmap(lambda x: u(x) @ sphere.normal(x))(points)) * 2 * np.pi * 0.5
    inside = DISC.sample_by_radius(getkey(), count)  # density 1/(2πr·R) in the plane
    radii = np.linalg.norm(np.asarray(inside) - np.array(DISC.center), axis=1)
    sources = np.asarray(jax.vmap(do.Divergence().exact(u))(inside)) * 2 * np.pi * radii * 0.5
    error = np.hypot(flux.std(), sources.std()) / np.sqrt(count)
    assert abs(flux.mean() - sources.mean()) < 4 * error < 0.1 * abs(flux.mean())


@pytest.mark.parametrize("space", [BOX, DISC], ids=["box", "disc"])
def test_what_is_in_space_is_so_at_any_time(space, getkey):
    domain = do.pde.SpaceTime(space, 3.0)
    assert domain.dim == space.dim + 1
    points = np.asarray(domain.sample(getkey(), 1000))
    assert points.shape == (1000, domain.dim)
    assert points[:, -1].min() >= 0 and 2.9 < points[:, -1].max() <= 3.0
    for part, time in ((domain.initial, 0.0), (domain.final, 3.0)):
        assert (part.sample(getkey(), 10)[:, -1] == time).all()
        assert part.normal is part.across is None
    on = domain.boundary.sample(getkey(), 50)
    assert np.unique(on[:, -1]).size == 50
    assert (domain.boundary.normal is None) == (space is BOX)


def test_normals_stand_still_in_time(getkey):
    domain = do.pde.SpaceTime(DISC, 3.0)
    x = domain.boundary.sample(getkey(), 1)[0]
    expected = jnp.append(DISC.boundary.normal(x[:-1]), 0.0)
    np.testing.assert_allclose(domain.boundary.normal(x), expected)
    face = do.pde.SpaceTime(BOX, 3.0).face(1, "upper")
    np.testing.assert_array_equal(face.normal, [0, 1, 0, 0])
    np.testing.assert_array_equal(face.across, [0, -0.5, 0, 0])
    assert (face.sample(getkey(), 5)[:, 1] == 0.5).all()


def test_samples_under_jit(getkey):
    parts = [BOX.boundary, BOX.face(0, "lower"), DISC.boundary, do.pde.SpaceTime(BOX, 1.0).initial]
    key = getkey()
    for part in parts:
        got = jax.jit(part.sample, static_argnums=1)(key, 5)
        np.testing.assert_allclose(got, part.sample(key, 5), rtol=1e-15)


def test_a_rectangle_can_be_drawn():
    (section,) = do.pde.Box((-1.0, 0.0), (1.0, 3.0)).sections(3)
    assert (section.axes, section.extent) == (("x", "y"), (-1.0, 1.0, 0.0, 3.0))
    np.testing.assert_array_equal(section.points[2, 0], [-1, 3])
    assert BOX.sections(3) == () == do.pde.SpaceTime(DISC, 1.0).sections(3)


test_errors = refusals(
    {
        "Box expects at least one end below and as many": lambda: do.pde.Box((0.0,), (1.0, 2.0)),
        "Box expects at least one end below": lambda: do.pde.Box((), ()),
        "Box expects lower < upper in each coordinate": lambda: do.pde.Box((0.0, 1.0), (1.0, 1.0)),
        "an axis, 0 to 2, and an end, 'lower' or 'upper', got 3 and": lambda: BOX.face(3, "lower"),
        "'lower' or 'upper', got 0 and 'left'": lambda: BOX.face(0, "left"),  # pyright: ignore
        "Ball expects a dim, an integer of at least 1, a positive": lambda: do.pde.Ball(0),
        "got dim=2.0": lambda: do.pde.Ball(2.0),  # pyright: ignore
        "radius='a'": lambda: do.pde.Ball(2, "a"),  # pyright: ignore
        "radius=0.0": lambda: do.pde.Ball(2, radius=0.0),
        r"a center with as many coordinates, .*\(0.0,\)": lambda: do.pde.Ball(2, center=(0.0,)),
        "SpaceTime expects a positive duration, got 0.0": lambda: do.pde.SpaceTime(BOX, 0.0),
        r"a Ball\(.*\) has no face; take its `boundary`": lambda: do.pde.SpaceTime(DISC, 1.0).face(
            0, "lower"
        ),
    }
)
