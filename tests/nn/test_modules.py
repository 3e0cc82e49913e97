"""The modules of `diffop.nn`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do


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


def test_boundary_refuses_a_batch(getkey):
    u = do.nn.ZeroOnUnitSphere(mlp(3, getkey()))
    with pytest.raises(ValueError, match=r"one point of shape \(d,\), got shape \(4, 3\)"):
        u(jnp.zeros((4, 3)))


def test_scaled_input(getkey):
    net = mlp(3, getkey())
    x = jax.random.normal(getkey(), (3,))
    np.testing.assert_allclose(do.nn.ScaledInput(net, 5.0)(x), net(5.0 * x), rtol=1e-6)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_scale(scale):
    with pytest.raises(ValueError, match="finite positive scale, got"):
        do.nn.ScaledInput(jnp.sum, scale)


def test_box_input():
    u = do.nn.BoxInput(lambda z: z, lower=(-10.0, 0.0), upper=(30.0, 5.0))
    for x, expected in [([-10, 0], [-1, -1]), ([30, 5], [1, 1]), ([20, 2], [0.5, -0.2])]:
        np.testing.assert_allclose(u(jnp.array(x, jnp.float32)), expected, rtol=1e-6)
    assert not jax.tree.leaves(eqx.filter(u, eqx.is_array))


@pytest.mark.parametrize(
    ("lower", "upper"), [((0.0,), (0.0,)), ((0.0, 0.0), (1.0,)), ((0.0,), (float("inf"),))]
)
def test_bad_box(lower, upper):
    with pytest.raises(ValueError, match="finite ends lower < upper, as many below as above, got"):
        do.nn.BoxInput(jnp.sum, lower, upper)


def test_only_the_network_is_trained(getkey):
    net = mlp(3, getkey())
    u = do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(net, 5.0))
    assert len(jax.tree.leaves(eqx.filter(u, eqx.is_array))) == 6
    assert eqx.tree_equal(jax.tree.leaves(u), jax.tree.leaves(net))


def test_type_is_kept():
    u = do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(jnp.sum, 2.0))
    assert u(jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
