"""Points of the unit ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..draws import uniform


@pytest.mark.parametrize("dim", [1, 2, 300])
def test_points_are_in_the_ball_with_uniform_radius(dim, getkey):
    count = 4000
    points = do.pde.unit_ball_by_radius(getkey(), count, dim)
    assert points.shape == (count, dim)
    radius = np.linalg.norm(np.asarray(points), axis=1)
    assert uniform(radius) and radius.max() <= 1 + 1e-6


def test_directions_are_isotropic(getkey):
    points = np.asarray(do.pde.unit_ball_by_radius(getkey(), 20_000, 3), np.float64)
    directions = points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(directions.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(directions.T @ directions / 20_000, np.eye(3) / 3, atol=0.02)


def test_equal_keys_give_equal_points():
    first, second = (do.pde.unit_ball_by_radius(jax.random.key(3), 5, 7) for _ in range(2))
    assert jnp.array_equal(first, second)


@pytest.mark.parametrize(("count", "dim"), [(0, 3), (3, 0)])
def test_empty_requests_are_refused(count, dim, getkey):
    with pytest.raises(ValueError, match="count and dim of at least 1, got"):
        do.pde.unit_ball_by_radius(getkey(), count, dim)


@pytest.mark.parametrize(("dim", "radius"), [(1, 1.0), (2, 0.5), (30, 2.0)])
def test_points_of_a_domain_are_uniform_in_volume(dim, radius, getkey):
    """P(|x − c| ≤ r) = (r/R)^d, so that (r/R)^d is uniform."""
    count, center = 4000, np.full(dim, 0.25)
    points = do.pde.Ball(dim, radius, center).sample(getkey(), count)
    assert uniform((np.linalg.norm(np.asarray(points) - center, axis=1) / radius) ** dim)
