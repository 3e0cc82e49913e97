"""Sparse jets stay sparse up to the first dense layer of every network, in value and gradient.

The numbers of points, directions and coordinates, of blocks and all widths are different primes or
products of their own primes. No array may have an axis of coordinates, or of what is left of them
in front of the first dense layer, and one of directions: in whatever order, or flattened.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import jaxprs

POINTS, N, WIDTH, FEATURES = 5, 7, 23, 31
D, BLOCK, CHANNELS = 13 * 17, 13, 3
KEY = jax.random.key(0)


def mlp(inputs):
    return eqx.nn.MLP(inputs, "scalar", WIDTH, 2, jnp.tanh, key=KEY)


def shared(dim, **kwargs):
    return do.nn.WeightSharedMLP(dim, BLOCK, WIDTH, 2, key=KEY, **kwargs)


# For each network: how to make it, the number of coordinates, and other sizes before a dense layer.
NETWORKS = {
    "blocks": (lambda: shared(D), D, {17}),
    "blocks_of_channels": (lambda: shared(D, channels=CHANNELS), D, {17, 17 * CHANNELS}),
    "summed_blocks": (lambda: shared(D, channels=CHANNELS, summed=True), D, {17, 17 * CHANNELS}),
    "padded_blocks": (lambda: shared(D - 10), D - 10, {D, 17}),
    "padded_blocks_of_channels": (
        lambda: shared(D - 10, channels=CHANNELS),
        D - 10,
        {D, 17, 17 * CHANNELS},
    ),
    "sliding": (
        lambda: do.nn.SlidingMLP(D, 2, WIDTH, 2, channels=CHANNELS, key=KEY),
        D,
        {D - 1, CHANNELS * (D - 1)},
    ),
    "modified": (lambda: do.nn.ModifiedMLP(D, WIDTH, 2, key=KEY), D, set()),
    "fourier": (lambda: do.nn.FourierFeatures(mlp(2 * FEATURES), D, FEATURES, key=KEY), D, set()),
    "periodic": (
        lambda: do.nn.PeriodicInput(mlp(D - 2 + 2 * 2 * 2), {0: 2.0, 9: 3.0}, harmonics=2),
        D,
        {D - 2, D + 6},
    ),
    "all_periodic": (
        lambda: do.nn.PeriodicInput(mlp(2 * 2 * D), dict.fromkeys(range(D), 2.0), harmonics=2),
        D,
        {2 * D, 4 * D},
    ),
}


def offending(eqns, coordinates, directions):
    """Arrays with both axes."""
    found = []
    for eqn in eqns:
        for shape in (getattr(var.aval, "shape", ()) for var in eqn.outvars):
            size = math.prod(shape)
            rest = list(shape)
            if directions in rest:
                rest.remove(directions)
            both = len(rest) < len(shape) and any(axis in coordinates for axis in rest)
            flat = size > 0 and any(size % (directions * axis) == 0 for axis in coordinates)
            if both or flat:
                found.append((eqn.primitive.name, shape))
    return found


def program(operator, make, dim, transform=lambda f: f):
    net, points = do.nn.ZeroOnUnitSphere(make()), jnp.ones((POINTS, dim)) / dim
    parameters, static = eqx.partition(net, eqx.is_inexact_array)

    def value(parameters):
        u = eqx.combine(parameters, static)
        return jnp.mean(jax.vmap(operator.exact(u))(points) ** 2)

    return jaxprs.of(transform(value), parameters)


@pytest.mark.parametrize("transform", [lambda f: f, jax.grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", NETWORKS)
def test_estimates_stay_sparse(name, transform):
    make, dim, sizes = NETWORKS[name]
    eqns = program(do.Laplacian().estimate(KEY, N), make, dim, transform)
    assert offending(eqns, {dim, *sizes}, N) == []


@pytest.mark.parametrize("name", NETWORKS)
def test_exact_operators_form_no_matrix_of_coordinates(name):
    make, dim, _ = NETWORKS[name]
    assert offending(program(do.Laplacian(), make, dim), {dim}, dim) == []


@pytest.mark.parametrize("name", ["blocks", "periodic"])
def test_dense_directions_would_be_noticed(name):
    make, dim, sizes = NETWORKS[name]
    dense = do.Laplacian().estimate(KEY, N, probes="gaussian")
    assert offending(program(dense, make, dim), {dim, *sizes}, N)


@pytest.mark.parametrize(
    "places", [slice(None, None, 2), slice(1, None, 3), slice(None, None, -1)], ids=str
)
def test_draws_of_some_coordinates_stay_sparse(places):
    """A position that is known when run is divided by a step; all draws are the exact trace."""
    size = len(range(D)[places])
    first = jax.random.normal(KEY, (WIDTH, size)) / size**0.5

    def u(x):
        return jnp.sum(jnp.tanh(first @ jnp.sin(x[places])))

    x = jnp.linspace(-1, 1, D)
    eqns = jaxprs.of(do.Laplacian().estimate(KEY, N).exact(u), x)
    assert offending(eqns, {D, size}, N) == []
    every = do.Laplacian().estimate(KEY, D).exact(u)(x)
    np.testing.assert_allclose(every, jnp.trace(jax.jit(jax.hessian(u))(x)), rtol=1e-4)
