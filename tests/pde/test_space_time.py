"""Points of a box of space and time."""

import numpy as np
import pytest

import diffop as do

from ..draws import uniform

BOXES = {
    2: do.pde.SpaceTime(do.pde.Box((-12.0,), (8.0,)), 3.0),
    3: do.pde.SpaceTime(do.pde.Box((-8.0, 1.0), (8.0, 2.0)), 6.0),
}


@pytest.fixture(params=BOXES)
def box(request):
    return BOXES[request.param]


def fractions(box, points):
    """Where the points are between the ends of each coordinate, from 0 to 1."""
    first, last = np.array(box.first), np.array(box.last)
    return (np.asarray(points, np.float64) - first) / (last - first)


def test_points_are_uniform(box, getkey):
    points = fractions(box, box.sample(getkey(), 4000))
    assert points.shape == (4000, box.dim)
    assert points.min() >= 0 and points.max() <= 1 + 1e-6
    assert all(uniform(points[:, axis]) for axis in range(box.dim))


def test_initial_points(box, getkey):
    points = fractions(box, box.initial.sample(getkey(), 4000))
    assert (points[:, -1] == 0).all()
    assert all(uniform(points[:, axis]) for axis in range(box.dim - 1))


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_points_of_a_face(box, end, getkey):
    for axis in range(box.dim - 1):
        points = fractions(box, box.face(axis, end).sample(getkey(), 4000))
        assert (points[:, axis] == (end == "upper")).all()
        assert all(uniform(points[:, other]) for other in range(box.dim) if other != axis)


def test_boundary_points_are_on_all_faces_alike(box, getkey):
    points = fractions(box, box.boundary.sample(getkey(), 4000))
    assert uniform(points[:, -1])
    on_faces = np.stack([points[:, :-1] == 0, points[:, :-1] == 1])
    assert (on_faces.sum(axis=(0, 2)) == 1).all()
    counts, expected = on_faces.sum(axis=1), 4000 / (2 * (box.dim - 1))
    # four standard deviations
    assert (np.abs(counts - expected) < 4 * expected**0.5).all()
    for axis in range(box.dim - 1):
        free = ~on_faces[:, :, axis].any(axis=0)
        assert not free.any() or uniform(points[free, axis])


def test_sections_over_space_and_time():
    (section,) = BOXES[2].sections(5)
    assert (section.axes, section.extent) == (("x", "t"), (-12.0, 8.0, 0.0, 3.0))
    np.testing.assert_array_equal(section.points[0, :, 0], [-12, -7, -2, 3, 8])
    np.testing.assert_array_equal(section.points[:, 1, 1], [0, 0.75, 1.5, 2.25, 3])


def test_sections_at_three_times():
    sections = BOXES[3].sections(3)
    assert [section.title for section in sections] == ["t = 0", "t = 3", "t = 6"]
    for section, time in zip(sections, (0, 3, 6), strict=True):
        assert (section.axes, section.extent) == (("x", "y"), (-8.0, 8.0, 1.0, 2.0))
        assert section.points.shape == (3, 3, 3)
        np.testing.assert_array_equal(section.points[2, 0], [-8, 2, time])
