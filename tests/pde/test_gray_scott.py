"""Gray's and Scott's equations: data and ansatz."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from benchmarks.references.square import PAIRS, pair

pytestmark = pytest.mark.usefixtures("x64")

RING = do.pde.GrayScott(duration=0.5)


def spots(points):
    """The initial values as the source has them, which jump at the sides."""
    x, y = np.moveaxis(np.asarray(points), -1, 0)[:2]
    far = lambda a, b: np.exp(-10 * ((x - a) ** 2 + (y - b) ** 2))
    return np.stack([1 - far(-0.05, -0.02), far(0.05, 0.02)], axis=-1)


def on_the_grid(problem):
    """The points and values on them, shape `(times, x, y, …)`."""
    points, values, *_ = problem.reference()
    return (np.asarray(each).reshape(-1, 24, 24, each.shape[1]) for each in (points, values))


def test_the_reference_is_on_the_grid():
    points, values = on_the_grid(RING)
    np.testing.assert_allclose(points[:, 3, 4, 2], np.linspace(0, 0.5, 21))
    np.testing.assert_allclose(points[2, :, 4, 0], np.linspace(-1, 1, 24, endpoint=False))
    np.testing.assert_allclose(points[2, 3, :, 1], np.linspace(-1, 1, 24, endpoint=False))
    begun = jax.vmap(jax.vmap(RING.initial))(jnp.asarray(points[0]))
    np.testing.assert_allclose(values[0], begun, atol=1e-14)
    assert do.pde.GrayScott(0.1).reference().values.shape == (5 * 576, 2)


def test_spots_are_the_sources_but_at_the_sides():
    points, values = on_the_grid(RING)
    apart = np.abs(values[0] - spots(points[0])).max(axis=-1)
    assert 1.1e-4 < apart.max() < 1.3e-4
    assert apart[6:-5, 6:-5].max() < 1e-7  # farther than a half from the sides


def test_the_reference_beside_differences():
    """Differences of order eight on 192 × 192 points, by Runge's and Kutta's method."""
    count, steps = 192, 1000
    line = np.linspace(-1, 1, count, endpoint=False)
    weights = np.array([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]) * (count / 2) ** 2
    far = np.abs(np.arange(count)[:, None] - np.arange(count))
    far = np.minimum(far, count - far)
    bent = np.where(far < 5, weights[np.minimum(far, 4)], 0.0)
    step = 0.1 / steps

    def rate(fields):
        u, v = fields
        spread = jnp.einsum("ij,njk->nik", bent, fields) + fields @ bent
        made = 1000 * u * v**2
        grown = jnp.stack([40 - 40 * u - made, made - 100 * v])
        return grown + jnp.array([0.2, 0.1])[:, None, None] * spread

    def advance(fields, _):
        first = rate(fields)
        second = rate(fields + step / 2 * first)
        third = rate(fields + step / 2 * second)
        last = rate(fields + step * third)
        return fields + step / 6 * (first + 2 * second + 2 * third + last), fields[:, ::8, ::8]

    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    begun = jnp.asarray(np.moveaxis(spots(points), 2, 0))
    _, found = jax.jit(lambda fields: jax.lax.scan(advance, fields, length=steps + 1))(begun)
    _, values = on_the_grid(RING)
    for number in (2, 3, 4):
        expected = np.moveaxis(np.asarray(found[250 * number]), 0, 2)
        np.testing.assert_allclose(values[number], expected, atol=3e-6)
    assert values[4, ..., 1].max() > 0.3


def test_the_residual_is_that_of_the_equations(getkey):
    """By nested differentiation, of functions that are no solution."""
    pair_of = lambda x: jnp.stack(
        [jnp.sin(x @ jnp.array([1.0, 2, 3])), jnp.cos(x[0] * x[1] - x[2])]
    )
    for x in jax.random.normal(getkey(), (5, 3)):
        (u, v), rate = jax.jvp(pair_of, (x,), (jnp.array([0.0, 0, 1]),))
        bent = jax.hessian(pair_of)(x)
        spread = bent[:, 0, 0] + bent[:, 1, 1]
        first = rate[0] - 0.2 * spread[0] - 40 * (1 - u) + 1000 * u * v**2
        second = rate[1] - 0.1 * spread[1] + 100 * v - 1000 * u * v**2
        left = RING.residual(do.exact(RING.operators())(pair_of)(x), x)
        np.testing.assert_allclose(left, [first, second], rtol=1e-12)


def test_networks_begin_where_the_problem_does_and_are_periodic(getkey):
    u = RING.ansatz(eqx.nn.MLP(5, 2, 6, 2, jnp.tanh, key=jax.random.key(5)))
    x = jax.random.uniform(getkey(), (20, 3), minval=-1.0)
    begun = jax.vmap(u)(x.at[:, 2].set(0.0))
    np.testing.assert_allclose(begun, jax.vmap(RING.initial)(x), atol=1e-15)
    later = x.at[:, 2].set(0.3)
    assert np.abs(jax.vmap(u)(later) - begun).max() > 0.1
    for axis in (0, 1):
        one, other = (later.at[:, axis].set(end) for end in (-1.0, 1.0))
        for function in (u, jax.jacfwd(u)):
            ends = [jax.vmap(function)(points) for points in (one, other)]
            np.testing.assert_allclose(*ends, atol=1e-12)


@pytest.mark.parametrize("duration", [0.0, 0.01, 0.6, np.nan])
def test_a_time_that_is_not_known_is_refused(duration):
    with pytest.raises(
        ValueError, match="gray-scott expects a duration from 0.025 to 0.5, in which"
    ):
        do.pde.GrayScott(duration)


@pytest.mark.slow("computes a reference anew")
def test_the_reference_with_less_of_everything():
    _, values, rel_error, _ = RING.reference()
    again = np.moveaxis(pair("gray-scott", *PAIRS["gray-scott"].coarse), 1, 3).reshape(-1, 2)
    assert np.abs(values - again).max() < rel_error * np.abs(values).max()
