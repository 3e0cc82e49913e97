"""Ginzburg and Landau's equation: its spiral, data and ansatz."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import diffop as do
from benchmarks.references.square import PAIRS, pair

pytestmark = pytest.mark.usefixtures("x64")

SPIRAL = do.pde.GinzburgLandau()


def network(problem):
    """In the problem's ansatz, untrained."""
    return problem.ansatz(eqx.nn.MLP(2, 2, 6, 2, jnp.tanh, key=jax.random.key(5)))


def as_complex(pairs):
    u, v = np.moveaxis(np.asarray(pairs), -1, 0)
    return u + 1j * v


def on_the_grid(problem):
    """The points and A on them, shape `(times, x, y, …)`."""
    points, values, *_ = problem.reference()
    side = len(np.unique(np.asarray(points[:, 0])))
    return np.asarray(points).reshape(-1, side, side, 3), as_complex(values).reshape(-1, side, side)


def test_the_reference_is_on_the_grid():
    points, values = on_the_grid(SPIRAL)
    np.testing.assert_allclose(points[:, 3, 4, 2], np.linspace(0, 1, 21))
    np.testing.assert_allclose(points[2, :, 4, 0], np.linspace(-1, 0.9, 20), atol=1e-15)
    np.testing.assert_allclose(points[2, 3, :, 1], np.linspace(-1, 0.9, 20), atol=1e-15)
    x, y = np.moveaxis(points[0], 2, 0)[:2]
    expected = 10 * (y + 1j * x) * np.exp(-25 * (x**2 + y**2))
    np.testing.assert_allclose(values[0], expected, atol=1e-14)
    half = do.pde.GinzburgLandau(0.5).reference()
    assert half.values.shape == (11 * 400, 2)


def test_the_reference_turns_with_the_square():
    """A(y, −x) = i A(x, y): by a quarter."""
    _, values = on_the_grid(SPIRAL)
    inside = values[:, 1:, 1:]  # places −0.9 … 0.9
    np.testing.assert_allclose(np.rot90(inside, axes=(1, 2)), 1j * inside, atol=5e-7)


def test_the_reference_beside_polynomials_of_the_distance():
    """A = (y + ix) f(r, t) on the whole plane, where f_t = ε (f_rr + 3 f_r / r) + …: by even
    polynomials of r, which know no square and no waves, and diffusion and reaction in turns
    (Strang).
    """
    count, time, steps = 140, 0.5, 2000
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / (2 * count))
    zero = lambda n: chebyshev.Chebyshev.basis(n) - 1  # at the distance 1, for even n
    basis = lambda r, order=0: np.stack(
        [zero(2 * n).deriv(order)(r) for n in range(1, count + 1)], axis=-1
    )
    inverse = np.linalg.inv(basis(nodes))
    diffusion = 0.004 * (basis(nodes, 2) + 3 / nodes[:, None] * basis(nodes, 1)) @ inverse
    length = time / steps
    diffused = expm(diffusion * length / 2)
    f = 10 * np.exp(-25 * nodes**2) + 0j
    for _ in range(steps):
        f = diffused @ f
        grown = 1 + np.abs(nodes * f) ** 2 * np.expm1(20 * length)
        f = diffused @ (f * np.exp(10 * length) * grown ** (-0.5 - 0.75j))
    points, values = on_the_grid(SPIRAL)
    x, y, _ = np.moveaxis(points[10], 2, 0)
    near = np.hypot(x, y) < 0.8
    expected = (y + 1j * x)[near] * (basis(np.hypot(x, y)[near]) @ inverse @ f)
    np.testing.assert_allclose(values[10][near], expected, atol=3e-6)
    assert np.abs(expected).max() > 0.9


def test_little_has_reached_the_sides():
    _, values = on_the_grid(SPIRAL)
    assert 1e-4 < np.abs(values[:, 0, :]).max() < 5e-4
    assert np.abs(values[10, 0, :]).max() < 1e-6  # half of the time


def test_the_residual_is_that_of_the_complex_equation(getkey):
    """By nested differentiation, of a function that is no solution."""
    pair = lambda x: jnp.stack([jnp.sin(x @ jnp.array([1.0, 2, 3])), jnp.cos(x[0] * x[1] - x[2])])
    for x in jax.random.normal(getkey(), (5, 3)):
        u, rate = jax.jvp(pair, (x,), (jnp.array([0.0, 0, 1]),))
        bent = jax.hessian(pair)(x)
        a, a_t, spread = map(as_complex, (u, rate, bent[:, 0, 0] + bent[:, 1, 1]))
        expected = a_t - 0.004 * spread - 10 * a + (10 + 15j) * abs(a) ** 2 * a
        left = SPIRAL.residual(do.exact(SPIRAL.operators())(pair)(x), x)
        np.testing.assert_allclose(as_complex(left), expected, rtol=1e-12)


def test_networks_begin_where_the_problem_does(getkey):
    x = jax.random.uniform(getkey(), (30, 3), minval=-0.5, maxval=0.5).at[:, 2].set(0.0)
    begun = jax.vmap(network(SPIRAL))(x)
    np.testing.assert_allclose(begun, jax.vmap(SPIRAL.initial)(x), atol=1e-15)
    later = jax.vmap(network(SPIRAL))(x.at[:, 2].set(0.3))
    assert np.abs(later - begun).max() > 0.1


def test_networks_turn_with_the_plane(getkey):
    """A(R x) = e^{−iθ} A(x), by any angle θ."""
    u = network(SPIRAL)
    x = jax.random.uniform(getkey(), (20, 3), minval=-0.5, maxval=0.5).at[:, 2].set(0.4)
    turn = np.array([[np.cos(0.7), -np.sin(0.7), 0], [np.sin(0.7), np.cos(0.7), 0], [0, 0, 1]])
    turned, straight = as_complex(jax.vmap(u)(x @ turn.T)), as_complex(jax.vmap(u)(x))
    np.testing.assert_allclose(turned, np.exp(-0.7j) * straight, atol=1e-13)


def test_diffusion_and_reaction_alone():
    """Diffusion first, as the initial value's mean with the heat kernel, and then the equation of
    each point by Dormand's and Prince's method.
    """
    time, count = 0.6, 400
    line = 2 * (np.arange(count) + 0.5) / count - 1
    y, x = np.meshgrid(line, line, indexing="ij")
    begun = 10 * (y + 1j * x) * np.exp(-25 * (x**2 + y**2))
    places = np.array([[0.1, 0.05], [0.3, -0.2], [-0.02, 0.4]])
    far = ((places[:, None, None, :] - np.stack([x, y], axis=-1)) ** 2).sum(-1)
    kernel = np.exp(-far / (4 * 0.004 * time)) / (4 * np.pi * 0.004 * time)
    diffused = (kernel * begun).sum(axis=(1, 2)) * (2 / count) ** 2
    rate = lambda _, a: 10 * a - (10 + 15j) * np.abs(a) ** 2 * a
    expected = solve_ivp(rate, (0, time), diffused, method="DOP853", rtol=1e-10, atol=1e-12)
    points = jnp.asarray(np.concatenate([places, np.full((3, 1), time)], axis=1))
    null = as_complex(jax.vmap(SPIRAL.null_shape)(points))
    np.testing.assert_allclose(null, expected.y[:, -1], rtol=1e-7)


def test_gradients_at_the_centre_are_finite():
    u = network(SPIRAL)
    at = jnp.array([0.0, 0.0, 0.5])
    values = do.exact(SPIRAL.operators())(u)(at)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(values))
    np.testing.assert_allclose(values["u"], 0, atol=1e-15)


@pytest.mark.parametrize("duration", [0.0, 0.01, 1.1, np.nan])
def test_a_time_that_is_not_known_is_refused(duration):
    with pytest.raises(ValueError, match="ginzburg-landau expects a duration from 0.05 to 1, in"):
        do.pde.GinzburgLandau(duration)


@pytest.mark.slow("computes a reference anew")
def test_the_reference_with_less_of_everything():
    _, values, rel_error, _ = SPIRAL.reference()
    again = np.moveaxis(pair(SPIRAL.name, *PAIRS[SPIRAL.name].coarse), 1, 3).reshape(-1, 2)
    assert np.abs(values - again).max() < rel_error * np.abs(values).max()
