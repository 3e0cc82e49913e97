"""Ansätze and scales."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.train.model import build


def mlp(dim, key):
    return eqx.nn.MLP(dim, "scalar", 8, depth=2, activation=jnp.tanh, key=key)


def test_zero_on_the_unit_sphere(getkey):
    u = do.nn.ZeroOnUnitSphere(mlp(5, getkey()))
    x = jax.random.normal(getkey(), (20, 5))
    x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(jax.vmap(u)(x), 0.0, atol=1e-6)


def test_boundary_factor_multiplies_the_network(getkey):
    net = mlp(3, getkey())
    x = jnp.array([0.5, 0.5, 0.0])
    np.testing.assert_allclose(do.nn.ZeroOnUnitSphere(net)(x), 0.5 * net(x), rtol=1e-6)


def test_boundary_of_a_vector_valued_network():
    u = do.nn.ZeroOnUnitSphere(lambda x: jnp.stack([x[0], x[1], x[0]]))
    np.testing.assert_allclose(u(jnp.array([0.5, 0.0])), [0.375, 0.0, 0.375], rtol=1e-6)


def test_hard_constraint():
    """g + φ net, for a scalar network and for one with several values."""
    x = jnp.array([0.5, -2.0])
    value, factor = (lambda x: x[0] + 1), (lambda x: x[0] * x[1])
    u = do.nn.HardConstraint(lambda x: x[1] ** 2, value, factor)
    np.testing.assert_allclose(u(x), 1.5 - 1.0 * 4.0)
    u = do.nn.HardConstraint(lambda x: 3 * x, value, factor)
    np.testing.assert_allclose(u(x), [1.5 - 1.5, 1.5 + 6.0])
    np.testing.assert_allclose(u(jnp.array([0.0, 7.0])), [1.0, 1.0])  # where φ = 0


@pytest.mark.parametrize(("time", "start"), [(-1, 0.0), (2, 0.5), (0, -1)])
def test_initial_condition(getkey, time, start):
    """The data at the start, and ∂_t u = ∂_t g + net there."""
    net, value = mlp(3, getkey()), lambda x: jnp.sin(x[1]) * jnp.exp(x[time])
    u = do.nn.InitialCondition(net, value, time, start)
    x = jnp.array([0.3, 0.7, -0.4]).at[time].set(start)
    np.testing.assert_allclose(u(x), np.sin(x[1]) * np.exp(start), rtol=1e-6)
    slope = jax.grad(u)(x)[time]
    np.testing.assert_allclose(slope, value(x) + net(x), rtol=1e-6)


def test_parameters_of_all_parts_of_an_ansatz_are_learnt(getkey):
    net, value, factor = (mlp(2, getkey()) for _ in range(3))
    leaves = jax.tree.leaves(do.nn.HardConstraint(net, value, factor))
    assert eqx.tree_equal(leaves, jax.tree.leaves([net, value, factor]))


def test_scaled_input(getkey):
    net = mlp(3, getkey())
    x = jax.random.normal(getkey(), (3,))
    np.testing.assert_allclose(do.nn.ScaledInput(net, 5.0)(x), net(5.0 * x), rtol=1e-6)


@pytest.mark.parametrize(
    ("scale", "power"), [(40.0, 32.0), (50.0, 64.0), (1.0, 1.0), (3e-9, 2.0**-28)]
)
def test_scaled_output(scale, power, getkey):
    net = mlp(3, getkey())
    x = jax.random.normal(getkey(), (3,))
    u = do.nn.ScaledOutput(net, scale)
    assert u(x) == power * net(x)  # to the bit
    traced = jax.jit(lambda s: do.nn.ScaledOutput(net, s).exponent)(scale)
    assert 2.0 ** int(traced) == power
    assert eqx.tree_equal(
        jax.tree.leaves(eqx.filter(u, eqx.is_inexact_array)),
        jax.tree.leaves(eqx.filter(net, eqx.is_inexact_array)),
    )


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_anchored(scale, getkey):
    """The value at the origin is the parameter, to the bit; derivatives are the network's."""
    inner = mlp(3, getkey())
    u = do.nn.Anchored(lambda x: scale * inner(x), 7.5 * scale)
    x = jax.random.normal(getkey(), (3,))
    assert u(jnp.zeros(3)) == jnp.float32(7.5 * scale)
    expected = scale * (7.5 + inner(x) - inner(jnp.zeros(3)))
    np.testing.assert_allclose(u(x), expected, rtol=1e-6)
    found = do.Laplacian().exact(u)(x)
    np.testing.assert_allclose(found, scale * jnp.trace(jax.hessian(inner)(x)), rtol=1e-4)
    slope = eqx.filter_grad(lambda u: u(x))(do.nn.Anchored(inner, 7.5))
    assert slope.value == 1
    np.testing.assert_allclose(slope.net.layers[-1].bias, 0.0, atol=0)  # moves x and 0 alike


def test_a_system_is_anchored_by_component(getkey):
    """Each has its number: at the origin of what the network sees, the middle of the box."""
    settings = do.train.Settings("kovasznay", width=4, anchor=2.0, output_scale=8.0)
    problem = do.pde.make("kovasznay", 2, key=getkey())
    u = build(settings, problem, getkey())
    middle = 0.5 * (jnp.array(problem.domain.lower) + jnp.array(problem.domain.upper))
    np.testing.assert_allclose(u(middle), [2.0, 2.0, 2.0], rtol=1e-6)
    slopes = eqx.filter_jacrev(lambda u: u(middle))(u)
    numbers = [leaf for leaf in jax.tree.leaves(slopes) if leaf.shape == (3, 3)]
    np.testing.assert_allclose(sum(numbers), 8.0 * jnp.eye(3), rtol=1e-6)


def test_anchored_sees_every_argument(getkey):
    net = mlp(3, getkey())
    u = do.nn.Anchored(do.nn.JoinedInput(net), 2)
    assert u(jnp.zeros(2), jnp.array(0.0)) == 2
    assert jax.jit(lambda c: do.nn.Anchored(net, c)(jnp.zeros(3)))(4.0) == 4


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_curved(scale, getkey):
    """2dm is added to the Laplacian, and |x|² is the slope by m."""
    inner = mlp(3, getkey())
    u = do.nn.Curved(lambda x: scale * inner(x), 0.75 * scale)
    x = jax.random.normal(getkey(), (3,))
    square = sum(float(each) ** 2 for each in x)
    np.testing.assert_allclose(u(x), scale * (inner(x) + 0.75 * square), rtol=1e-6)
    expected = scale * (jnp.trace(jax.hessian(inner)(x)) + 2 * 3 * 0.75)
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), expected, rtol=1e-5)
    slope = eqx.filter_grad(lambda u: u(x))(do.nn.Curved(inner, 0.75))
    np.testing.assert_allclose(slope.curvature, square, rtol=1e-6)


def test_curved_sees_every_argument(getkey):
    u = do.nn.Curved(do.nn.JoinedInput(mlp(3, getkey())), 2)
    x, t = jnp.array([1.0, 2.0]), jnp.array(3.0)
    np.testing.assert_allclose(u(x, t), u.net(x, t) + 2 * (1 + 4 + 9), rtol=1e-6)
    net = mlp(3, getkey())
    found = jax.jit(lambda m: do.nn.Curved(net, m)(jnp.ones(3)))(4.0)
    np.testing.assert_allclose(found, net(jnp.ones(3)) + 12, rtol=1e-6)


def test_a_run_adds_a_curvature(getkey):
    """In the units of the solution, whatever the output's scale is."""
    given = {"dim": 6, "width": 4, "output_scale": 8.0, "anchor": 3.0}
    problem = do.pde.make("allen-cahn-two-body", 6, key=getkey())
    key, x = getkey(), jnp.full(6, 0.2)
    flat, curved = (
        build(do.train.Settings(problem, **given, curvature=m), problem, key) for m in (None, 5.0)
    )
    np.testing.assert_allclose(curved(x) - flat(x), (1 - 0.24) * 5.0 * 0.24, rtol=1e-5)


def test_box_input():
    u = do.nn.BoxInput(lambda z: z, lower=(-10.0, 0.0), upper=(30.0, 5.0))
    for x, expected in [([-10, 0], [-1, -1]), ([30, 5], [1, 1]), ([20, 2], [0.5, -0.2])]:
        np.testing.assert_allclose(u(jnp.array(x, jnp.float32)), expected, rtol=1e-6)
    assert not jax.tree.leaves(eqx.filter(u, eqx.is_array))


@pytest.mark.usefixtures("as_users_see_it")
def test_integers_are_points(getkey):
    """They are not what the settings of a network are rounded to."""
    whole, point = jnp.array([4, 1]), jnp.array([4.0, 1.0])
    net = eqx.nn.MLP(2, "scalar", 4, 1, key=getkey())
    for u in (
        do.nn.BoxInput(net, (0.0, -0.5), (5.0, 2.5)),
        do.nn.PeriodicInput(eqx.nn.MLP(3, "scalar", 4, 1, key=getkey()), {0: 2.5}),
        do.nn.ZeroOnUnitSphere(net),
        do.nn.InitialCondition(net, 1.0, start=0.5),
        do.nn.HardConstraint(net, 1.0, lambda x: x[0]),
    ):
        np.testing.assert_array_equal(u(whole), u(point))
        np.testing.assert_array_equal(u([4.0, 1.0]), u(point))
    product = lambda x, t: x * t
    for u, expected in (
        (do.nn.InitialCondition(product, 0.5, argnum=1), 0.5 + 4),
        (do.nn.HardConstraint(product, 0.5, 0.25), 0.5 + 0.25 * 4),
    ):
        assert u(4, 1) == u(4.0, 1.0) == expected


def test_ends_that_single_precision_does_not_tell_apart():
    lower, upper = 1.7e9, 1.7e9 + 60
    u = do.nn.BoxInput(lambda z: z, (lower,), (upper,))
    x, spacing = np.float32(lower), 128
    assert np.spacing(x) == spacing
    at_x, at_next = (u(jnp.asarray(each)[None]) for each in (x, x + np.float32(spacing)))
    # −1, but for the rounding of the centre by at most half of the spacing
    np.testing.assert_allclose(at_x, -1, atol=spacing / 2 * 2 / (upper - lower))
    np.testing.assert_allclose(at_next - at_x, spacing * 2 / (upper - lower), rtol=1e-6)


def test_the_largest_scale_is_finite():
    u = do.nn.ScaledOutput(lambda x: x, 3e38)
    assert u(jnp.ones((), jnp.float32)) == 2.0**127


def test_only_the_network_is_trained(getkey):
    net = mlp(3, getkey())
    u = do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(net, 5.0))
    assert len(jax.tree.leaves(eqx.filter(u, eqx.is_array))) == 6
    assert eqx.tree_equal(jax.tree.leaves(u), jax.tree.leaves(net))


def test_type_is_kept():
    u = do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(jnp.sum, 2.0))
    assert u(jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
