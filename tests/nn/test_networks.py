"""Architectures and embeddings: their formulas, written out in numpy, and their sizes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

KEY = jax.random.key(0)

# Shi et al. 2024, table "Effects of different weight sharing block sizes": three hidden layers of
# 128 in one and in five million dimensions. The 5M network without sharing ran out of memory there.
PARAMETERS = {
    (1_000_000, 1): 128_033_281,
    (1_000_000, 10): 12_833_292,
    (1_000_000, 50): 2_593_332,
    (1_000_000, 100): 1_313_382,
    (1_000_000, 500): 289_782,
    (1_000_000, 1000): 162_282,
    (5_000_000, 1): 640_033_281,
    (5_000_000, 10): 64_033_292,
    (5_000_000, 50): 12_833_332,
    (5_000_000, 100): 6_433_382,
    (5_000_000, 500): 1_313_782,
    (5_000_000, 1000): 674_282,
}


def parameters(network, *args, **kwargs):
    """How many there are, without making them."""
    shapes = jax.tree.leaves(eqx.filter_eval_shape(network, *args, **kwargs, key=KEY))
    return sum(leaf.size for leaf in shapes if isinstance(leaf, jax.ShapeDtypeStruct))


@pytest.mark.parametrize(("dim", "block"), PARAMETERS)
def test_numbers_of_parameters_are_those_of_the_paper(dim, block):
    assert parameters(do.nn.WeightSharedMLP, dim, block, 128, 3) == PARAMETERS[dim, block]


def test_channels_and_padding_in_numbers_of_parameters():
    blocks, inputs = 4 * 5 + 5, 3 * 5  # 10 coordinates are 3 blocks of 4
    expected = blocks + (inputs * 7 + 7) + (7 * 7 + 7) + (7 * 2 + 2)
    got = parameters(do.nn.WeightSharedMLP, 10, 4, 7, 2, channels=5, out_size=2)
    assert got == expected


def layers(mlp, x):
    for layer in mlp.layers[:-1]:
        x = np.tanh(np.asarray(layer.weight) @ x + np.asarray(layer.bias))
    return np.asarray(mlp.layers[-1].weight) @ x + np.asarray(mlp.layers[-1].bias)


@pytest.mark.parametrize(("dim", "block", "channels"), [(12, 3, 1), (11, 3, 2), (5, 5, 1)])
def test_blocks_share_their_weights(dim, block, channels):
    net = do.nn.WeightSharedMLP(dim, block, 6, 2, channels=channels, key=KEY)
    x = jax.random.normal(jax.random.key(1), (dim,))
    padded = np.append(x, np.zeros(-dim % block))
    weight, bias = np.asarray(net.shared.weight), np.asarray(net.shared.bias)
    starts = range(0, len(padded), block)
    inputs = np.concatenate([weight @ padded[i : i + block] + bias for i in starts])
    (expected,) = layers(net.mlp, inputs)
    assert inputs.shape == (channels * len(starts),)
    np.testing.assert_allclose(net(x), expected, rtol=1e-5)


@pytest.mark.parametrize("dim", [12, 11])
def test_summed_blocks(dim):
    net = do.nn.WeightSharedMLP(dim, 4, 6, 2, channels=5, summed=True, key=KEY)
    x = jax.random.normal(jax.random.key(1), (dim,))
    blocks = np.append(np.asarray(x), np.zeros(-dim % 4)).reshape(3, 4)
    inputs = np.asarray(net.shared.weight) @ blocks.sum(axis=0) + np.asarray(net.shared.bias)
    assert inputs.shape == (5,)
    np.testing.assert_allclose(net(x), layers(net.mlp, inputs)[0], rtol=1e-5)


def test_blocks_of_one_share_nothing():
    net = do.nn.WeightSharedMLP(5, 1, 6, 2, key=KEY)
    x = jax.random.normal(jax.random.key(1), (5,))
    np.testing.assert_allclose(net(x), layers(net.mlp, np.asarray(x))[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("dim", "block", "channels", "common"), [(6, 2, 3, 0), (6, 3, 1, 2), (4, 4, 2, 0), (5, 1, 2, 0)]
)
def test_one_network_slides_along_the_coordinates(dim, block, channels, common):
    how = {"channels": channels, "common": common, "out_size": 2}
    net = do.nn.SlidingMLP(dim, block, 7, 2, **how, key=KEY)
    x = np.asarray(jax.random.normal(jax.random.key(1), (dim,)))
    places = dim - common - block + 1
    windows = [np.append(x[i : i + block], x[dim - common :]) for i in range(places)]
    features = np.concatenate([layers(net, window) for window in windows])
    assert features.shape == (channels * places,)
    expected = np.asarray(net.readout.weight) @ features + np.asarray(net.readout.bias)
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, rtol=1e-5, atol=1e-6)
    small = ((block + common) * 7 + 7) + (7 * 7 + 7) + (7 * channels + channels)
    expected = small + 2 * channels * places + 2
    assert parameters(do.nn.SlidingMLP, dim, block, 7, 2, **how) == expected
    assert len({np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(net)[:8]}) == 8


def test_modified_mlp():
    net = do.nn.ModifiedMLP(3, 5, 2, out_size=2, activation=jnp.sin, key=KEY)
    x = np.asarray(jax.random.normal(jax.random.key(1), (3,)))
    affine = lambda layer, h: np.asarray(layer.weight) @ h + np.asarray(layer.bias)
    u, v = (np.sin(affine(encoder, x)) for encoder in net.encoders)
    first, second = net.layers
    z = np.sin(affine(first, x))
    h = z * u + (1 - z) * v
    z = np.sin(affine(second, h))
    expected = affine(net.last, z * u + (1 - z) * v)
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, rtol=1e-5)
    assert len({np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(net)[:10]}) == 10


def test_fourier_features():
    features = do.nn.FourierFeatures(lambda z: z, 3, 4, sigma=2.0, key=KEY)
    x = jnp.array([0.1, -0.2, 0.3])
    phases = 2 * np.pi * np.asarray(features.frequencies) @ np.asarray(x)
    expected = np.concatenate([np.sin(phases), np.cos(phases)])
    np.testing.assert_allclose(features(x), expected, atol=1e-5)


def test_fourier_frequencies_are_normal():
    """4000 of them: their mean within 4.5 standard errors of 0, their variance of σ²."""
    b = np.asarray(do.nn.FourierFeatures(jnp.sum, 40, 100, sigma=3.0, key=KEY).frequencies)
    assert abs(b.mean()) < 4.5 * 3 / b.size**0.5
    assert abs(b.var() / 9 - 1) < 4.5 * (2 / b.size) ** 0.5


def test_fourier_frequencies_are_not_trained():
    mlp = eqx.nn.MLP(8, "scalar", 4, depth=1, activation=jnp.tanh, key=KEY)
    net = do.nn.FourierFeatures(mlp, 3, 4, key=KEY)
    gradient = eqx.filter_grad(lambda net: do.Laplacian().exact(net)(jnp.ones(3)))(net)
    assert not np.any(gradient.frequencies) and np.any(gradient.net.layers[0].weight)


def test_mapped_input():
    u = do.nn.MappedInput(lambda z: z[0] * z[1], lambda x, t: jnp.stack([x[0] + t, 3 * x[1]]))
    assert u(jnp.array([0.5, 2.0]), 0.25) == 0.75 * 6.0
    pair = do.nn.MappedInput(eqx.nn.Linear(2, 2, key=KEY), eqx.nn.Linear(3, 2, key=KEY))
    grown = eqx.filter_grad(lambda u: jnp.sum(u(jnp.ones(3))))(pair)
    assert np.any(grown.net.weight) and np.any(grown.map.weight)
    number: Any = 3
    with pytest.raises(TypeError, match="expects a map, a function of the point, got 3; write"):
        do.nn.MappedInput(lambda z: z, number)


def test_periodic_input():
    embedded = do.nn.PeriodicInput(lambda z: z, {2: 3.0, 0: 0.5}, harmonics=2)
    x = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    turns = 2 * np.pi * np.array([0.1 / 0.5, 0.3 / 3.0])
    phases = np.concatenate([turns, 2 * turns])
    expected = np.concatenate([x[[1, 3]], np.sin(phases), np.cos(phases)])
    np.testing.assert_allclose(embedded(jnp.asarray(x)), expected, atol=1e-6)


def test_periodic_values_and_derivatives():
    net = eqx.nn.MLP(1 + 2 * 3, "scalar", 4, depth=1, activation=jnp.tanh, key=KEY)
    u = do.nn.PeriodicInput(net, {0: 2.0}, harmonics=3)
    x = jnp.array([-1.0, 0.5])
    every = jax.jit(lambda x: jnp.concatenate([u(x)[None], jax.grad(u)(x), jax.hessian(u)(x)[0]]))
    np.testing.assert_allclose(every(x), every(x.at[0].add(2.0)), rtol=1e-4, atol=1e-4)
    assert abs(every(x)[0] - every(x.at[0].add(1.0))[0]) > 1e-3  # and with no other period


@pytest.mark.parametrize("turns", [1, 1000, 1_000_000])
def test_periodic_far_away(turns):
    """In single precision, where whole turns are numbers."""
    net = eqx.nn.MLP(2, "scalar", 4, depth=1, activation=jnp.tanh, key=KEY)
    u = jax.value_and_grad(do.nn.PeriodicInput(net, {0: 2.0}))
    far, near = (u(jnp.array([0.25 + 2.0 * each], jnp.float32)) for each in (turns, 0))
    for a, b in zip(far, near, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


NETWORKS = {
    "weight_shared": lambda key: do.nn.WeightSharedMLP(5, 2, 4, 1, channels=2, key=key),
    "sliding": lambda key: do.nn.SlidingMLP(5, 2, 4, 1, channels=2, common=1, key=key),
    "modified": lambda key: do.nn.ModifiedMLP(5, 4, 2, key=key),
    "fourier": lambda key: do.nn.FourierFeatures(
        eqx.nn.MLP(6, "scalar", 4, 1, jnp.tanh, key=key), 5, 3, sigma=0.3, key=key
    ),
    "mapped": lambda key: do.nn.MappedInput(
        eqx.nn.MLP(5, "scalar", 4, 1, jnp.tanh, key=key), lambda x: jnp.log1p(4 * x * x)
    ),
    "periodic": lambda key: do.nn.PeriodicInput(
        eqx.nn.MLP(3 + 2 * 2 * 2, "scalar", 4, 1, jnp.tanh, key=key), {1: 2.0, 4: 1.5}, harmonics=2
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_derivatives(name):
    """Orders 2 and 3 are those of nested automatic differentiation, in double precision."""
    with jax.enable_x64(True):
        u = NETWORKS[name](jax.random.key(0))
        x = jnp.linspace(-0.7, 0.9, 5)
        along = lambda u: lambda x: jax.grad(u)(x)[1]
        nested = lambda x: [jnp.trace(jax.hessian(u)(x)), along(along(along(u)))(x)]
        operators = do.exact([do.Laplacian(), do.Partial(1, order=3)])(u)
        got, expected = jax.jit(lambda x: (operators(x), nested(x)))(x)
        assert got[0].dtype == jnp.float64
        np.testing.assert_allclose(got, expected, rtol=1e-10)
