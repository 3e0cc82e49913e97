"""What a problem takes of its domain, and that each of these can be a method in its place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

BOX = do.pde.Box((-3.0,), (5.0,))
KEY = jax.random.key(0)


class Heat(do.pde.AbstractProblem):
    name = "heat-on-a-rod"
    dim = 2
    domain = do.pde.SpaceTime(BOX, 4.0)

    def operators(self):
        return do.Partial(1) - do.Laplacian(dims=(0,))

    def residual(self, values, *args):
        return values


class Rod(Heat):
    domain = do.pde.SpaceTime(BOX, 4.0, argnum=1)


class Disc(Heat):
    domain = do.pde.Ball(2)


class Nowhere(Heat):
    domain = None


class Own(Nowhere):
    def sample(self, key, count):
        return jnp.full((count, 2), 0.5)


class Late(Heat):
    def elapsed(self, x):
        return 4.0 - x[-1]

    def ansatz(self, net):
        return lambda x: 7.0


def test_points_fill_the_domain():
    """Uniform: the mean and variance of x in [−3, 5] and of t in [0, 4], at 5 standard errors."""
    count = 4000
    points = np.asarray(Heat().sample(KEY, count))
    for values, lower, upper in zip(points.T, (-3, 0), (5, 4), strict=True):
        length = upper - lower
        assert lower <= values.min() and values.max() <= upper
        error = length / np.sqrt(12 * count)
        assert abs(values.mean() - (lower + upper) / 2) < 5 * error
        assert abs(values.var() * 12 / length**2 - 1) < 5 * np.sqrt(0.8 / count)


def test_a_box_is_seen_as_a_cube_and_time_is_known():
    x = jnp.array([5.0, 1.0])
    np.testing.assert_allclose(Heat().ansatz(lambda z: z)(x), [1.0, -0.5], rtol=1e-6)
    assert Heat().elapsed(x) == 1.0
    assert Rod().elapsed(jnp.array([5.0]), jnp.array(1.5)) == 1.5
    net = lambda x, t: x[0] + t
    assert Rod().ansatz(net) is net and Disc().ansatz(net) is net
    assert Disc().elapsed(x) is None


def test_planes_to_draw_on():
    solved = do.pde.KdV1D()
    (section,) = solved.sections(3)
    assert section.axes == ("x", "t") and section.points.shape == (3, 3, 2)
    np.testing.assert_array_equal(section.points[0, 0], solved.domain.first)
    np.testing.assert_array_equal(section.points[-1, -1], solved.domain.last)
    assert do.pde.OnCube("poisson", 3, key=KEY).sections(3) == ()


def test_methods_take_the_place_of_the_domain():
    x = jnp.array([5.0, 1.0])
    assert Late().elapsed(x) == 3.0 and Late().ansatz(None)(x) == 7.0
    np.testing.assert_array_equal(Own().sample(KEY, 2), np.full((2, 2), 0.5))
    assert Own().elapsed(x) is None
    net = lambda x: x[0]
    assert Own().ansatz(net) is net


def test_a_problem_without_points_says_so_when_it_is_made():
    with pytest.raises(TypeError, match=r"Nowhere lacks a domain, .*define sample\(self, key"):
        Nowhere()
