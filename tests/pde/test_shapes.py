"""Shapes and their combinations: uniform points inside and on the boundary, normals, integrals."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..draws import Z, check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

SQUARE = do.pde.Box((-1.0, -1.0), (1.0, 1.0))
HOLE = do.pde.Ball(2, 0.5, center=(0.2, -0.1))
L = SQUARE - do.pde.Box((0.0, 0.0), (1.0, 1.0))
TRIANGLE = do.pde.Polygon([(0.0, 0.0), (4.0, 0.0), (0.0, 3.0)])
FRAME = do.pde.Polygon([(0, 0), (0, 3), (3, 3), (3, 0)], holes=[[(1, 1), (2, 1), (2, 2), (1, 2)]])
ELLIPSOID = do.pde.Implicit(
    lambda x: x[0] ** 2 / 4 + x[1] ** 2 + x[2] ** 2 - 1, (-2.1, -1.1, -1.1), (2.1, 1.1, 1.1)
)
_E = math.sqrt(1 - 1 / 4)

# For each shape its volume, and the area of its boundary.
KNOWN = {
    "box": (do.pde.Box((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), 6.0, 22.0),
    "ball": (do.pde.Ball(3, 2.0), 32 / 3 * np.pi, 16 * np.pi),
    "interval": (do.pde.Box((0.0,), (3.0,)), 3.0, 2.0),
    "two intervals": (do.pde.Box((0.0,), (1.0,)) | do.pde.Box((2.0,), (4.0,)), 3.0, 4.0),
    "triangle": (TRIANGLE, 6.0, 12.0),
    "frame": (FRAME, 8.0, 16.0),
    "plate with a hole": (SQUARE - HOLE, 4 - np.pi / 4, 8 + np.pi),
    "L": (L, 3.0, 8.0),
    "side by side": (
        do.pde.Box((0.0, 0.0), (1.0, 1.0)) | do.pde.Box((1.0, 0.0), (2.0, 1.0)), 2.0, 6.0
    ),
    "one upon the other": (
        do.pde.Box((0.0, 0.0), (2.0, 1.0)) | do.pde.Box((1.0, 0.0), (3.0, 1.0)), 3.0, 8.0
    ),
    "lens": (
        do.pde.Ball(2) & do.pde.Ball(2, center=(1.0, 0.0)),
        2 * np.pi / 3 - math.sqrt(3) / 2,
        4 * np.pi / 3,
    ),
    "three circles": (
        do.pde.Ball(2, 2.0) - do.pde.Ball(2, 0.5) - do.pde.Ball(2, 0.25, center=(1.0, 0.0)),
        np.pi * (4 - 1 / 4 - 1 / 16),
        2 * np.pi * 2.75,
    ),
    "ellipsoid": (
        ELLIPSOID, 8 / 3 * np.pi, 2 * np.pi * (1 + 2 * math.asin(_E) / _E)
    ),
    "half of an ellipsoid": (
        ELLIPSOID - do.pde.Box((-3.0, -3.0, -3.0), (3.0, 3.0, 0.0)),
        4 / 3 * np.pi,
        np.pi * (1 + 2 * math.asin(_E) / _E) + 2 * np.pi,
    ),
}  # fmt: skip


def _field(x):
    """A vector field, and its divergence below."""
    return jnp.sin(x + 0.3) * jnp.roll(jnp.cos(x), 1) + x**3 if x.size > 1 else jnp.sin(x) + x**3


COUNT = 5_000


@functools.cache
def drawn(name):
    """Points inside of a shape, points on its boundary, and the normals there."""
    shape = KNOWN[name][0]

    def all_of_them(first, second):
        inside, edge = shape.sample(first, COUNT), shape.surface(second, COUNT)
        return inside, edge, jax.vmap(do.pde.Surface(shape).normal)(edge)

    return jax.jit(all_of_them)(jax.random.key(0), jax.random.key(1))


def points_of(part, count, key=0):
    """So many of them, by one program."""
    return np.asarray(jax.jit(lambda key: part.sample(key, count))(jax.random.key(key)))


@pytest.mark.parametrize("name", KNOWN)
def test_the_divergence_theorem(name):
    """∫ ∇·f inside is ∫ f·n on the boundary: both draws, both measures and all normals; at four and
    a half standard deviations.
    """
    shape, volume, area = KNOWN[name]
    inside, edge, normals = drawn(name)
    assert inside.shape == edge.shape == (COUNT, shape.dim)

    @jax.jit
    def at(inside, edge):
        of_points = jax.vmap(lambda x: (shape.contains(x), do.Divergence().exact(_field)(x)))
        of_edge = jax.vmap(lambda x: (shape.level(x), _field(x)))
        return *of_points(inside), *of_edge(edge)

    within, sources, level, field = map(np.asarray, at(inside, edge))
    assert within.all()
    np.testing.assert_allclose(level, 0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-9)
    sources, flux = volume * sources, area * np.sum(field * normals, axis=1)
    error = np.hypot(sources.std(), flux.std()) / np.sqrt(COUNT)
    assert abs(sources.mean() - flux.mean()) < Z * error
    assert shape.area is None or math.isclose(shape.area, area)


@pytest.mark.parametrize("name", KNOWN)
def test_points_are_uniform(name):
    """Means of a few functions beside those of points of a grid, and ∫ n = 0."""
    shape, volume, _ = KNOWN[name]
    points, _, normals = map(np.asarray, drawn(name))
    lower, upper = map(np.array, shape.bounds)
    steps = int(400_000 ** (1 / shape.dim))
    axes = [
        low + (np.arange(steps) + 0.5) / steps * (high - low) for low, high in zip(lower, upper)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, shape.dim)
    within = grid[np.asarray(jax.vmap(shape.contains)(grid))]
    assert abs(np.prod(upper - lower) * len(within) / len(grid) - volume) < 0.04 * volume
    for moment in (lambda x: x[:, 0], lambda x: x[:, -1] ** 2, lambda x: np.cos(3 * x.sum(1))):
        found, error = moment(points).mean(), moment(points).std() / np.sqrt(COUNT)
        assert abs(found - moment(within).mean()) < Z * error + 0.02
    assert (np.abs(normals.mean(0)) < Z * normals.std(0) / np.sqrt(COUNT)).all()


def test_parts_of_a_boundary(getkey):
    plate = SQUARE - HOLE
    on_hole = plate.boundary.where(lambda x: jnp.abs(HOLE.level(x)) < 1e-6)
    points = np.asarray(on_hole.sample(getkey(), 500))
    np.testing.assert_allclose(np.linalg.norm(points - [0.2, -0.1], axis=1), 0.5)
    normals = jax.vmap(on_hole.normal)(points)
    np.testing.assert_allclose(normals, -(points - [0.2, -0.1]) / 0.5, atol=1e-9)
    upper = SQUARE.face(0, "lower").where(lambda x: x[1] > 0.5)
    assert upper.across is not None and (np.asarray(upper.sample(getkey(), 100))[:, 1] > 0.5).all()
    rod = do.pde.SpaceTime(plate, 2.0, argnum=1)
    late = rod.boundary.where(lambda x, t: t > 1)
    x, t = late.sample(getkey(), 50)
    assert x.shape == (50, 2) and (np.asarray(t) > 1).all() and late.argnum == 0


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_shapes_of_any_size(size, getkey):
    """In single precision: an eighth of the boundary of an L is one of its inner walls, and none is
    where the corner was.
    """
    with jax.enable_x64(False):
        square, corner = (do.pde.Box((low * size,) * 2, (2.0 * size,) * 2) for low in (0.0, 1.0))
        x, y = points_of((square - corner).boundary, 4_000, key=2).T / size
        assert abs(np.mean((np.abs(x - 1) < 1e-5) & (y > 1)) - 1 / 8) < 4.5 * 0.33 / 4_000**0.5
        assert not np.any((np.abs(x - 2) < 1e-5) & (y > 1.001))
    assert 0 < do.pde.Ball(400, 1.0).area < 1e-200


def test_points_by_jit_and_in_single_precision(getkey):
    key = getkey()
    for part in (L, do.pde.Surface(L), FRAME.boundary):
        alone = part.sample(key, 64)
        together = jax.jit(lambda key, part=part: part.sample(key, 64))(key)
        np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-9)
    with jax.enable_x64(False):
        points = do.pde.Surface(L).sample(jax.random.key(1), 2_000)
        assert points.dtype == jnp.float32
        np.testing.assert_allclose(jax.vmap(L.level)(points), 0, atol=1e-6)
        inner = jnp.abs(points[:, 0]) < 1e-6
        assert abs(jnp.mean(inner) - 1 / 8) < 0.04  # no wall at x = 1, y > 0


def test_integrals_over_a_shape():
    """Draws are unbiased; a rule has two digits."""
    lens, volume, _ = KNOWN["lens"]
    integral = do.Integral(lens.region)
    assert abs(integral.exact(lambda x: 1.0)(jnp.zeros(2)) - volume) < 0.05 * volume
    estimate = lambda key: integral.estimate(key, 50).exact(lambda x: 1.0)(jnp.zeros(2))
    check_mean(many(estimate, 200), volume)


def test_a_cloud(getkey):
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    disc = do.pde.PointCloud(circle / 2, on_boundary=circle, normals=circle)
    assert disc.dim == 2
    np.testing.assert_allclose(np.linalg.norm(disc.sample(getkey(), 100), axis=1), 0.5)
    points = disc.boundary.sample(getkey(), 100)
    assert len(np.unique(points, axis=0)) > 40
    flux = do.pde.Neumann(2.0, on=disc.boundary)
    (condition,) = flux.draw(getkey(), 100)
    assert condition.misfit(lambda x: x @ x) < 1e-20
    equation = do.equations.Equation.linear(
        jnp.array(1.0) * do.Laplacian(), lambda x: 4.0,
        conditions=do.pde.Conditions(flux), trainable=True,
    )  # fmt: skip
    assert [leaf.shape for leaf in jax.tree.leaves(equation)] == [()]  # points are no unknowns


def test_from_shapely():
    class Ring:
        def __init__(self, coords):
            self.coords = coords

    class Shapely:
        exterior = Ring([(0, 0), (3, 0), (3, 3), (0, 3), (0, 0)])
        interiors = (Ring([(1, 1), (1, 2), (2, 2), (2, 1), (1, 1)]),)

    assert do.pde.Polygon.from_shapely(Shapely()).area == FRAME.area


def test_a_ring_may_end_where_it_begins(getkey):
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]
    closed, key = do.pde.Polygon([*ring, ring[0]]), getkey()
    assert closed == do.pde.Polygon(ring)
    both = closed | do.pde.Box((0.5, 0.5), (2.0, 2.0))  # of area 1 + 9/4 − 1/4
    left = both.sample(key, 4_000)[:, 0] < 0.5
    assert abs(jnp.mean(left) - 1 / 6) < Z * (1 / 6 * 5 / 6 / 4_000) ** 0.5


def test_polygons_far_from_the_origin():
    """Corners are exact at 1e9, and their products are not: orientation, holes and flux."""
    with jax.enable_x64(False):
        for moved in (0, 1_000_000_000):
            ring = np.array([(0, 0), (0, 3), (3, 3), (3, 0)]) + moved
            hole = np.array([(1, 1), (2, 1), (2, 2), (1, 2)]) + moved
            polygon = do.pde.Polygon(ring, holes=[hole])
            starts, stops = polygon._edges
            (x, y), (dx, dy) = (starts - moved).T, (stops - starts).T
            assert np.sum(x * dy - y * dx) / 2 == 8  # the inside is to the left
            with pytest.raises(ValueError, match="holes inside"):
                do.pde.Polygon(hole, holes=[ring])


BOUNDARIES = {
    # 0.999¹⁰⁹ of the outer area
    "shell": (
        do.pde.Ball(110) - do.pde.Ball(110, 0.999),
        lambda x: jnp.linalg.norm(x) < 0.9995,
        0.999**109 / (1 + 0.999**109),
    ),
    "large cube": (
        do.pde.Box((-1.0,) * 140, (1.0,) * 140) - do.pde.Ball(140, 0.1),
        lambda x: jnp.max(jnp.abs(x[:70])) >= 1 - 1e-6,
        0.5,
    ),
    "small cubes": (
        do.pde.Box((0.0,) * 60, (0.1,) * 60) | do.pde.Box((0.3,) * 60, (0.4,) * 60),
        lambda x: x[0] < 0.2,
        0.5,
    ),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_boundaries_whose_areas_are_out_of_range(name):
    """In single precision."""
    shape, chosen, chance = BOUNDARIES[name]
    with jax.enable_x64(False):
        points = jax.jit(lambda key: shape.boundary.sample(key, 4_000))(jax.random.key(0))
        share = jnp.mean(jax.vmap(chosen)(points))
    assert abs(share - chance) < Z * (chance * (1 - chance) / 4_000) ** 0.5


A, B = do.pde.Box((-1.0, 0.0), (0.0, 1.0)), do.pde.Box((0.0, 0.0), (1.0, 1.0))
NOTCH = do.pde.Box((0.0, 0.25), (1.0, 0.75))
# where two shapes of a union touch, and how much of the boundary lies there
SEAMS = {
    "one of two": ((A | B) - A, 1 / 4),
    "a notch from there": ((A | B) - NOTCH, 0.5 / 8),
    "both": ((A | B) & do.pde.Box((-1.0, 0.0), (1.0, 2.0)), 0.0),
}


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("name", SEAMS)
def test_where_shapes_touch_there_is_a_wall_only_if_one_is_taken_away(name, precise):
    shape, chance = SEAMS[name]
    with jax.enable_x64(precise):
        x = points_of(shape.boundary, 4_000, key=3)
    share = np.mean(np.abs(x[:, 0]) < 1e-6)
    assert abs(share - chance) <= Z * (chance * (1 - chance) / 4_000) ** 0.5


def test_integrals_see_where_shapes_touch():
    """By a rule with points there."""
    rule = do.quadrature.GaussLegendre(5)
    area = do.Integral(A | B, rule=rule).exact(lambda x: 1.0)(jnp.zeros(2))
    np.testing.assert_allclose(area, 2.0, rtol=1e-12)


def test_what_touches_may_be_of_any_size():
    small, large = [(0, 0), (1, 0.3), (0, 1)], [(0, 0), (1e4, 3e3), (1e4, -1e4)]
    shapes = do.pde.Polygon(small), do.pde.Polygon(large)
    x = np.linspace(0.2, 0.9, 50)
    with jax.enable_x64(False):
        common = jnp.stack([x, 0.3 * x], 1).astype(jnp.float32)
        first, second = (shapes[0] | shapes[1]).pieces()
        kept = [np.asarray(jax.vmap(each.kept)(common)) for each in (first, second)]
    assert not np.any(kept)


def _frame(at, width):
    """A square of ten widths at a corner, without one of eight in its middle."""
    ends = [(at + step * width,) * 2 for step in (0, 1, 9, 10)]
    return do.pde.Box(ends[0], ends[3]) - do.pde.Box(ends[1], ends[2])


@pytest.mark.parametrize(
    ("at", "width"), [(0.0, 25.0), (4e6, 25.0), (4e6, 8.0), (5e5, 3.0), (1e5, 0.3)]
)
def test_thin_shapes_far_from_the_origin(at, width):
    """In single precision, to a few dozen units in the last place: 32 of 72 parts of the boundary
    of a frame are its inner one.
    """
    with jax.enable_x64(False):
        points = points_of(_frame(at, width).boundary, 4_000)
    moved = (np.asarray(points, float) - at) / width
    share = np.mean(((moved > 0.5) & (moved < 9.5)).all(1))
    assert abs(share - 32 / 72) < Z * (32 * 40 / 72**2 / 4_000) ** 0.5


def test_no_boundary_within_one_of_two_discs_far_from_the_origin():
    discs = [do.pde.Ball(2, 10.0, center=(4e6 + far, 0.0)) for far in (0.0, 15.0)]
    with jax.enable_x64(False):
        points = points_of((discs[0] | discs[1]).boundary, 2_000)
    for disc in discs:
        assert jnp.all(jax.vmap(disc.level)(jnp.asarray(points, float)) > -1)


def test_shapes_may_be_far_apart():
    """Two discs that overlap, and a third at a million of their radii."""
    near = [do.pde.Ball(2), do.pde.Ball(2, center=(1.5, 0.0))]
    far = do.pde.Ball(2, 4.0, center=(1e6, 0.0))
    with jax.enable_x64(False):
        points = points_of((near[0] | far | near[1]).boundary, 2_000)
    for disc in near:
        assert jnp.all(jax.vmap(disc.level)(jnp.asarray(points, float)) > -0.01)


@pytest.mark.parametrize("name", ["side by side", "one upon the other"])
def test_walls_far_from_the_origin_are_one(name):
    """In single precision, where ends of two shapes are rounded."""
    shape, at = KNOWN[name][0], 4e6 + 0.1
    first, second = (
        do.pde.Box(*(tuple(at + 30.3 * x for x in ends) for ends in each.bounds))
        for each in (shape.first, shape.second)
    )
    with jax.enable_x64(False):
        points = points_of((first | second).boundary, 2_000)
    moved = (np.asarray(points, float) - at) / 30.3
    level = np.maximum(-moved, moved - shape.bounds[1]).max(1)
    assert np.all(np.abs(level) < 0.02)


@pytest.mark.parametrize("precise", [False, True])
def test_intervals_that_touch_at_the_origin(precise):
    """Where a coordinate has no rounding at all."""
    low, high = do.pde.Box((-2.0,), (0.0,)), do.pde.Box((0.0,), (3.0,))
    with jax.enable_x64(precise):
        points = points_of((low | high).boundary, 100)
        rest = points_of(((low | high) - low).boundary, 100)
    assert set(points[:, 0].tolist()) == {-2.0, 3.0} and set(rest[:, 0].tolist()) == {0.0, 3.0}


BALL_OF_TWO = do.pde.Implicit(lambda x: x @ x - 1, (-2.0, -2.0), (2.0, 2.0))
CORE = do.pde.Box((-0.5, -0.5), (0.5, 0.5))


@pytest.mark.parametrize("outside", [~BALL_OF_TWO | CORE, CORE | ~BALL_OF_TWO])
def test_the_boundary_of_what_has_no_end(outside, getkey):
    """A circle, and a square inside of it, whose areas are not known."""
    points = np.asarray(outside.boundary.sample(getkey(), 2_000))
    radii, chance = np.linalg.norm(points, axis=1), 2 * np.pi / (2 * np.pi + 4)
    on_circle = radii > 0.9
    np.testing.assert_allclose(radii[on_circle], 1, rtol=1e-9)
    np.testing.assert_allclose(np.abs(points[~on_circle]).max(1), 0.5, rtol=1e-9)
    assert abs(on_circle.mean() - chance) < Z * (chance * (1 - chance) / 2_000) ** 0.5


def test_the_outside_of_a_union_with_an_outside_is_inside(getkey):
    plate, key = ~(~SQUARE | HOLE), getkey()
    assert plate.bounds == SQUARE.bounds
    np.testing.assert_array_equal(plate.sample(key, 10), (SQUARE - HOLE).sample(key, 10))
    assert (~(~SQUARE & HOLE)).bounds == (~SQUARE).bounds


SHARED = {
    "inside": L.sample,
    "boundary": L.boundary.sample,
    "implicit": (BALL_OF_TWO - CORE).boundary.sample,
    "part": TRIANGLE.boundary.where(lambda x: x[0] > 1).sample,
    "time": do.pde.SpaceTime(L, 1.0, argnum=1).boundary.where(lambda x, t: t > 0.5).sample,
}


@pytest.mark.parametrize("name", SHARED)
def test_each_device_draws_its_own_points(name):
    """With its own keys, as one device draws them."""
    draw, spec = jax.vmap(lambda key: SHARED[name](key, 5)), jax.P("i")
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((2,), ("i",), auto, devices=jax.devices("cpu")[:2])
    keys = jax.random.split(jax.random.key(0), 2)
    found = jax.jit(jax.shard_map(draw, mesh=mesh, in_specs=spec, out_specs=spec))(keys)
    for one, other in zip(*map(jax.tree.leaves, (found, jax.jit(draw)(keys))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("as_users_see_it")
def test_points_of_integers():
    """Ends are not rounded to integers."""
    x, at = jnp.array([1, 1]), jnp.array([1.0, 1.0])
    corners = [(0.5, 0.2), (1.5, 0.2), (1.5, 1.9), (0.5, 1.9)]
    box, polygon = do.pde.Box((0.5, 0.2), (1.5, 1.9)), do.pde.Polygon(corners)
    disc = do.pde.Ball(2, 1.5, center=(0.5, 0.2))
    for shape in (box, polygon, disc, BALL_OF_TWO, box - disc, box | disc, ~box):
        assert shape.level(x) == shape.level(at)
        normal = do.pde.Surface(shape).normal
        np.testing.assert_array_equal(normal(x), normal(at))
    assert box.level(x) == -0.5


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e30])
def test_units_of_any_size(unit):
    """In single precision, in which squares of these lengths are 0 or infinite."""
    disc = do.pde.Ball(2, unit)
    triangle = do.pde.Polygon([(0.0, 0.0), (3 * unit, 0.0), (0.0, 4 * unit)])
    ring = do.pde.Implicit(
        lambda x: jnp.abs(jnp.hypot(*(x / unit)) - 1.5) - 0.5, (-2 * unit,) * 2, (2 * unit,) * 2
    )
    plate = do.pde.Box((0.0, 0.0), (unit, unit)) - disc

    def at(*x):
        return jnp.array(x, jnp.float32) * jnp.float32(unit)

    for shape, inside, outside in [
        (disc, at(0.3, 0.4), at(0.9, 0.9)),
        (triangle, at(1.0, 1.0), at(2.0, 2.0)),
        (plate, at(0.9, 0.9), at(0.3, 0.4)),
    ]:
        assert shape.contains(inside) and not shape.contains(outside)
    np.testing.assert_allclose(disc.level(at(0.3, 0.4)) / unit, -0.5, rtol=1e-6)
    np.testing.assert_allclose(triangle.level(at(1.0, 1.0)) / unit, -1.0, rtol=1e-6)
    for shape, edge, normal in [
        (disc, at(0.6, 0.8), (0.6, 0.8)),
        (triangle, at(1.5, 2.0), (0.8, 0.6)),
        (ring, at(1.2, 1.6), (0.6, 0.8)),
        (plate, at(0.6, 0.8), (-0.6, -0.8)),
    ]:
        np.testing.assert_allclose(shape.boundary.normal(edge), normal, atol=1e-5)
    ends = [[0.0, 0.0], [3 * unit, 0.0]]
    cloud = do.pde.PointCloud([[unit, 0.0]], on_boundary=ends, normals=[[-1, 0], [1, 0]])
    np.testing.assert_array_equal(cloud.boundary.normal(at(2.0, 0.0)), [1, 0])
    radii = jax.jit(lambda x: jnp.hypot(*(x.T / unit)))
    assert radii(plate.sample(KEY, 50)).min() > 1 - 1e-6
    on_ring = radii(ring.boundary.sample(KEY, 50))
    np.testing.assert_allclose(np.minimum(abs(on_ring - 1), abs(on_ring - 2)), 0, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("name", ["alone", "combined"])
def test_normals_of_functions_in_other_units(name, unit):
    """The value of the function and the distance to the box are compared as lengths: at each point
    of the boundary one of them is 0 up to rounding.
    """
    ball = do.pde.Implicit(
        lambda x: jnp.sum((x / unit) ** 2) - 1, (-2 * unit,) * 2, (unit / 2,) * 2
    )
    with jax.enable_x64(False):
        if name == "combined":
            ball = ball - do.pde.Box((0.0, 0.0), (unit, unit))
        points = ball.boundary.sample(jax.random.key(0), 400)
        normals = jax.jit(jax.vmap(ball.boundary.normal))(points)
    x, normals = np.asarray(points, float) / unit, np.asarray(normals, float)
    on_circle = abs(np.hypot(*x.T) - 1) < 1e-5
    assert 0.2 < on_circle.mean() < 0.9
    np.testing.assert_allclose(normals[on_circle], x[on_circle], atol=1e-4)
    np.testing.assert_allclose(np.abs(normals[~on_circle]).max(1), 1, atol=1e-6)


KEY = jax.random.key(0)
_DRAWN = [
    *(shape.sample for shape in (SQUARE, HOLE, TRIANGLE, L, BALL_OF_TWO)),
    *(shape.surface for shape in (SQUARE, HOLE, TRIANGLE, L, BALL_OF_TWO)),
    *(SQUARE.boundary.sample, SQUARE.face(0, "lower").sample, HOLE.sample_by_radius),
]
test_counts_are_checked = refusals(
    {
        f"the count of points must be at least 1; got {count}": [
            lambda draw=draw, count=count: draw(KEY, count) for draw in _DRAWN
        ]
        for count in (0, -1)
    },
    {
        "must be an integer; got 100.0": [lambda draw=draw: draw(KEY, 1e2) for draw in _DRAWN],
        r"as in box.sample\(key, 100\); got a key as the count": [
            lambda draw=draw: draw(100, KEY) for draw in _DRAWN
        ],
    },
)


def _boundary(shape):
    """Of points in single precision."""

    def drawn():
        with jax.enable_x64(False):
            return shape.boundary.sample(KEY, 3)

    return drawn


test_what_is_too_thin_is_refused = refusals(
    {
        "wider than rounding can tell, 1.9 here; got one from 4000000.0 to 4000001.0": _boundary(
            do.pde.Box((4e6, 0.0), (4e6 + 1, 9.0)) | do.pde.Box((4e6, 3.0), (4e6 + 9, 9.0))
        ),
        "got one from -1.0 to 1.0; move the shapes": _boundary(
            do.pde.Ball(2, 1) & do.pde.Ball(2, 1e9, center=(1e9, 0.0))
        ),
    }
)


def test_normals_at_corners():
    """They are those of an edge."""
    for at in (0.0, 10.0, 1000.0):
        corners = [(at, at), (at + 1, at), (at + 1, at + 1), (at, at + 1)]
        normal = do.pde.Polygon(corners).boundary.normal
        found = jax.vmap(normal)(jnp.asarray(corners))
        np.testing.assert_allclose(jnp.sort(jnp.abs(found), axis=1), [[0.0, 1.0]] * 4)


def test_what_is_outside_of_the_outside(getkey):
    assert ~~HOLE == HOLE
    assert bool(jnp.all(jax.vmap(HOLE.contains)((~~HOLE).sample(getkey(), 10))))


@pytest.mark.usefixtures("as_users_see_it")
def test_a_shape_asks_for_one_point():
    for shape in (SQUARE, HOLE, L, TRIANGLE):
        with pytest.raises(ValueError, match=r"one point of shape \(2,\), got shape \(3, 2\)"):
            shape.contains(jnp.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"one point of shape \(2,\), got shape \(3, 2\)"):
        HOLE.boundary.normal(jnp.zeros((3, 2)))


def test_what_is_refused(getkey):
    with pytest.raises(ValueError, match="how, '|' or '&'; got 'or'"):
        do.pde.Combined(SQUARE, HOLE, "or")
    with pytest.raises(TypeError, match=r"a number, negative inside, .* got type bool"):
        do.pde.Implicit(lambda x: x @ x < 1, (-2, -2), (2, 2)).contains(jnp.zeros(2))
    with pytest.raises(ValueError, match=r"points of shape \(count, dim\); got None"):
        do.pde.PointCloud(None)
    with pytest.raises(ValueError, match="as many coordinates; got 2 and 3"):
        SQUARE | do.pde.Ball(3)
    with pytest.raises(ValueError, match="must meet"):
        SQUARE & do.pde.Ball(2, center=(5.0, 0.0))
    for outside in (~HOLE, ~HOLE & ~SQUARE):
        with pytest.raises(ValueError, match="has no end"):
            outside.sample(getkey(), 3)
        with pytest.raises(ValueError, match="has no end"):
            outside.region  # noqa: B018
    with pytest.raises(ValueError, match=r"takes \(x, t\), and here it gets 1 argument"):
        L.boundary.where(lambda x, t: t > 0).sample(getkey(), 3)
    with pytest.raises(ValueError, match=r"one truth value for a point; got .* shape \(2,\)"):
        L.boundary.where(lambda x: x > 0).sample(getkey(), 3)
    with pytest.raises(ValueError, match="truth value for a point; got an array of type float64"):
        L.boundary.where(lambda x: x[0]).sample(getkey(), 3)
    with pytest.raises(TypeError, match="unsupported operand"):
        SQUARE - 3  # pyright: ignore
    with pytest.raises(ValueError, match="three corners"):
        do.pde.Polygon([(0, 0), (1, 0)])
    with pytest.raises(ValueError, match="do not cross"):
        do.pde.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    with pytest.raises(ValueError, match="do not cross"):
        do.pde.Polygon([(0, 0), (1, 0), (1, 1), (0, 1)], holes=[[(2, 0), (0.5, 0.4), (0.5, 0.6)]])
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    hole = [(0.1, 0.1), (0.8, 0.1), (0.8, 0.8), (0.1, 0.8)]
    for outside in (
        [[(2, 2), (3, 2), (3, 3)]],
        [[(-2, -2), (3, -2), (3, 3), (-2, 3)]],
        [hole, [(0.2, 0.2), (0.3, 0.2), (0.3, 0.3)]],
    ):
        with pytest.raises(ValueError, match="holes inside that are apart"):
            do.pde.Polygon(square, holes=outside)
    for flat in ([(0, 0), (1, 0), (2, 0)], [*square[:2], *square[1:]]):
        with pytest.raises(ValueError, match="differ from their neighbours and are not on one li"):
            do.pde.Polygon(flat)
    with pytest.raises(ValueError, match="a normal for each point"):
        do.pde.PointCloud([[0.0]], normals=[[1.0]])
    with pytest.raises(ValueError, match="has a boundary where it is given"):
        do.pde.PointCloud([[0.0]]).boundary
    empty = do.pde.Ball(2) - do.pde.Ball(2, 1.5)
    with pytest.raises(Exception, match="did not give the points"):
        jax.block_until_ready(empty.sample(getkey(), 3))
    comb = do.pde.Implicit(lambda x: jnp.sin(40 * x[0]), (-1.0, -1.0), (1.0, 1.0))
    with pytest.raises(Exception, match="more than 8 times"):
        jax.block_until_ready(comb.surface(getkey(), 30))
