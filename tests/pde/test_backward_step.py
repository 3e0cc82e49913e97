"""The backward-facing step: the splines' flow beside printed numbers, the ansatz, and the residual
by nested autodiff.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from benchmarks.references import backward_step as reference

from ..nested import laplacian
from .flows import network, velocity

pytestmark = pytest.mark.usefixtures("x64")

STEP = do.pde.BackwardStep()
QUICK = reference.Splines(8, 0.008, 1.6, 0.1, 0.07)
REATTACHED = 2.669018
"""Of the flow at Re 200, by the splines of the package's data."""


@functools.cache
def quick():
    """The flow by fewer splines than the package's data."""
    return reference.flow(STEP.reynolds, QUICK)


@pytest.mark.slow("computes the flow at Re 800")
def test_where_gartlings_flow_turns():
    """Gartling 1990, at Re 800 by 32,000 finite elements: 6.10 below, 4.85 and 10.48 above. His
    channel ends at 30, where it is free of stress.
    """
    found = reference.flow(reference.GARTLING, reference.FOR_GARTLING)
    np.testing.assert_allclose(found.turns(-0.5), [6.10], atol=5e-3)
    np.testing.assert_allclose(found.turns(0.5), [4.85, 10.48], atol=5e-3)


def test_where_the_flow_turns():
    (found,) = quick().turns(-0.5)
    np.testing.assert_allclose(found, REATTACHED, atol=5e-6)
    assert not quick().turns(0.5)


def test_the_data_are_those_of_the_splines():
    """To what fewer splines miss: far more near the inflow than elsewhere."""
    places = reference.places(STEP.length)
    points, slopes, _, operator = STEP.reference()
    assert operator == do.Gradient()
    grid = np.stack(np.meshgrid(*places, indexing="ij"), axis=2)
    np.testing.assert_allclose(points, grid.reshape(-1, 2), atol=1e-13)
    expected = quick().velocities(*places).reshape(-1, 2)
    gap = np.abs(np.stack([slopes[:, 1], -slopes[:, 0]], axis=1) - expected).max(axis=1)
    assert gap.max() < 5e-5 and gap[points[:, 0] > 1].max() < 5e-6


@pytest.mark.slow("computes references anew")
def test_references_with_fewer_splines():
    _, slopes, rel_error, _ = STEP.reference()
    places = reference.places(STEP.length)
    found = reference.flow(STEP.reynolds, reference.COARSE)
    again = found.velocities(*places).reshape(-1, 2)
    gap = np.stack([-again[:, 1], again[:, 0]], axis=1) - slopes
    assert np.abs(gap).max() < rel_error * np.abs(slopes).max()
    np.testing.assert_allclose(found.turns(-0.5), [REATTACHED], atol=2e-6)


def test_the_outflow_is_reached_before_the_end():
    """As the docstring says: by 4e-6, a unit before it."""
    y = reference.places(1.0)[1]
    u, v = np.moveaxis(quick().velocities(np.array([STEP.length - 1]), y)[0], 1, 0)
    np.testing.assert_allclose(u, 3 * (0.25 - y**2), atol=5e-6)
    np.testing.assert_allclose(v, 0, atol=5e-6)


def at_sides():
    """Points of the inflow, the outflow and the walls, and their velocities."""
    y, x = np.linspace(-0.49, 0.49, 9), np.linspace(0.02, 19.9, 9)
    enters = np.where(y > 0, 24 * y * (0.5 - y), 0)
    for end, u in ((0.0, enters), (STEP.length, 3 * (0.25 - y**2))):
        yield np.stack([np.full(9, end), y], axis=1), u
    for wall in (-0.5, 0.5):
        yield np.stack([x, np.full(9, wall)], axis=1), np.zeros(9)


@pytest.mark.parametrize("side", ["inflow", "outflow", "lower", "upper"])
def test_sides_are_held(side):
    """By networks, and by the null model."""
    points, u = dict(zip(["inflow", "outflow", "lower", "upper"], at_sides(), strict=True))[side]
    for psi in (network(STEP), STEP.null_shape):
        found = jax.jit(jax.vmap(velocity(psi)))(points)
        np.testing.assert_allclose(found, np.stack([u, 0 * u], axis=1), atol=1e-11)


def test_the_condition_is_the_inflow():
    (condition,) = STEP.conditions(jax.random.key(1), 20)
    assert np.asarray(condition.points)[:, 1].min() < 0 < np.asarray(condition.points)[:, 1].max()
    for psi in (network(STEP), STEP.null_shape):
        np.testing.assert_allclose(condition.misfit(psi), 0, atol=1e-11)


def test_networks_are_free_inside():
    """Also near the edge, where they are like x² beside the flow that enters, which is like r²."""
    psi, without = network(STEP), STEP.null_shape
    for r in (1.0, 1e-2, 1e-4):
        x = jnp.array([0.4 * r, -0.3 * r])
        assert 1e-5 < abs(psi(x) - without(x)) / r**2 < 1


def test_the_null_model_by_complex_functions(getkey):
    """Its other half, of which the reference is made."""
    points = np.asarray(STEP.sample(getkey(), 40))
    x, y = points.T
    expected = reference.known(x, y, STEP.length)
    psi = STEP.null_shape
    value, slope = jax.jit(jax.vmap(jax.value_and_grad(psi)))(points)
    bent = jax.jit(jax.vmap(laplacian(psi)))(points)
    np.testing.assert_allclose(value, expected.value, atol=1e-10)
    np.testing.assert_allclose(slope, np.stack([expected.x, expected.y], axis=1), atol=1e-10)
    np.testing.assert_allclose(bent, expected.laplacian, atol=1e-9)


def test_the_residual_at_the_edge_is_bounded():
    """Before it is weighted: what is left of the null model's is a function of the angle."""

    def unweighted(r):
        x = r * jnp.array([np.cos(0.4), np.sin(0.4)])
        values = do.exact(STEP.operators())(STEP.null_shape)(x)
        return STEP.residual(values, x) * (0.04 + r * r) / (r * r)

    far, near, nearer = jax.jit(jax.vmap(unweighted))(jnp.array([1e-2, 1e-4, 1e-5]))
    assert 1 < abs(near) < 100
    np.testing.assert_allclose(nearer, near, rtol=1e-2)
    np.testing.assert_allclose(far, near, rtol=0.5)


def test_the_residual_of_another_flow(getkey):
    """u·∇ω − Δω/Re with ω = ∂v/∂x − ∂u/∂y, times the weight of the docstring."""
    psi = lambda x: jnp.sin(x[0] + 2 * x[1]) * jnp.exp(x[1]) + x[1] ** 4
    flow = velocity(psi)

    def vorticity(x):
        (_, u_y), (v_x, _) = jax.jacfwd(flow)(x)
        return v_x - u_y

    def both(x):
        expected = laplacian(vorticity)(x) / 200 - flow(x) @ jax.grad(vorticity)(x)
        squared = x[0] ** 2 + x[1] ** 2
        expected = expected * (1 + x[0]) * squared / (squared + 0.04)
        return STEP.residual(do.exact(STEP.operators())(psi)(x), x), expected

    got, expected = jax.jit(jax.vmap(both))(STEP.sample(getkey(), 10))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_points_are_denser_near_the_inflow(getkey):
    """Their density falls like 1/(1 + x)."""
    x, y = np.asarray(STEP.sample(getkey(), 4000)).T
    assert 0 < x.min() < x.max() < STEP.length and np.abs(y).max() < 0.5
    for upper in (0.5, 2.0, 8.0):
        share = np.log1p(upper) / np.log1p(STEP.length)
        spread = np.sqrt(share * (1 - share) / len(x))
        assert abs(np.mean(x < upper) - share) < 4 * spread


def test_reattachment():
    """Of a flow whose friction is sin x below; and of one that does not turn."""
    turning = lambda x: jnp.sin(x[0]) * (x[1] + 0.5) ** 2 / 2
    np.testing.assert_allclose(STEP.reattachment(turning), 6 * np.pi, atol=1e-4)
    assert STEP.reattachment(lambda x: x[1] ** 2) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_stream_function_at_the_edge(dtype):
    psi = STEP.ansatz(lambda x: jnp.sum(jnp.sin(x + 1.0)))
    assert psi(jnp.zeros(2, dtype)) == pytest.approx(0, abs=1e-6)
    assert jnp.isfinite(psi(jnp.array([1e-6, 1e-6], dtype)))
