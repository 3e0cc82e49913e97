"""Structured coefficients against their dense twins: the same directions as plain arrays."""

import logging
import math
import re

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax

import diffop as do
from diffop import taylor

from .. import dense, jaxprs
from ..coefficients.blocks import definition, random_blocks, random_entries
from .structures import BUILDERS, UNKNOWN_INDEX

pytestmark = pytest.mark.usefixtures("x64")
ORDER = 3


def any_blocks(rng, shape, known):
    """A few directions; or, at times, all basis vectors."""
    size = math.prod(shape)
    if rng.integers(3) == 0:
        return taylor.basis(shape)
    return random_blocks(rng, shape, size if rng.integers(2) else int(rng.integers(1, 4)), known)


def few_entries(rng, shape, known):
    """A few directions, some with repeated positions."""
    return random_entries(rng, shape, int(rng.integers(1, 4)), known)


def compare(shape, function, x, coefficient, weights):
    """Push the same directions in both forms, and compare every order."""
    i = jnp.asarray(UNKNOWN_INDEX)

    def pushed(tangent):
        still = ((None, None),) * (ORDER - 1)
        jets = taylor.Jets(((tangent, None), *still), weights)
        return taylor.push(function, (x, i), [jets])

    twin = jnp.asarray(definition(coefficient))
    both = jax.jit(lambda: (pushed(coefficient), pushed(twin)))()
    (value, orders), (expected_value, expected) = both
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    for got, want in zip(orders[0], expected[0], strict=True):
        assert got.shape == want.shape
        scale = max(1.0, np.max(np.abs(want), initial=0.0))
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize("name", BUILDERS)
@hypothesis.given(data=st.data(), seed=st.integers(0, 2**16))
@hypothesis.settings(max_examples=3)
def test_rules_against_the_dense_twin(name, data, seed):
    shape, function = BUILDERS[name](data.draw)
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.uniform(0.2, 1.5, shape))
    make = any_blocks if seed % 2 else few_entries
    coefficient = make(rng, shape, known=bool(seed % 4 < 2))
    count = coefficient.shape[0]
    weights = [None, rng.normal(size=count), np.ones(count), rng.normal(size=(2, count))][seed % 3]
    compare(shape, function, x, coefficient, weights)


@pytest.mark.parametrize("make", [few_entries, any_blocks])
@pytest.mark.parametrize("name", ["neighbours", "gathered", "shared_by_blocks", "convolution"])
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=2)
def test_several_sums(make, name, data):
    """Weights `(m, n)`: several collapsed sums of the same directions."""
    shape, function = BUILDERS[name](data.draw)
    rng = np.random.default_rng(0)
    coefficient = make(rng, shape, known=True)
    count = coefficient.shape[0]
    x = jnp.asarray(rng.uniform(0.2, 1.5, shape))
    compare(shape, function, x, coefficient, rng.normal(size=(2, count)))


def test_as_many_sums_as_directions():
    """One sum for each direction, through a dot of vectors: the draws of an estimate one by one."""
    a, x = jnp.arange(1.0, 6.0), jnp.linspace(0.3, 1.1, 5)
    u = lambda x: a @ x**4
    tangent = taylor.entries(np.array([[1], [4]]), np.ones((2, 1)), (5,))
    jets = taylor.Jets(((tangent,), (None,)), np.eye(2))
    estimate = do.Laplacian().estimate(jax.random.key(0), 2)
    _, (orders,) = taylor.push(u, (x,), [jets])
    (drawn,) = estimate.jets(x)
    numbers = np.asarray(drawn.directions[0].positions)[:, 0]
    mean, error, _ = estimate.stats(u)(x)
    terms = 12 * np.asarray(a * x**2)
    np.testing.assert_allclose(orders[1], terms[[1, 4]], rtol=1e-12)
    z = terms[numbers] * 5 / 2
    np.testing.assert_allclose(mean, z.sum(), rtol=1e-12)
    np.testing.assert_allclose(error**2, 2 * (1 - 2 / 5) * np.sum((z - z.mean()) ** 2), rtol=1e-10)


def test_what_becomes_dense_is_logged_once(caplog):
    """Positions that cumsum spreads over the axis are arrays behind it, and the log names it."""
    taylor.arithmetic._logged.clear()
    coefficient = taylor.entries(np.array([[2], [5]]), np.ones((2, 1)), (9,))
    jets = taylor.Jets(((coefficient,),), None)
    with caplog.at_level(logging.INFO, logger="diffop.taylor"):
        for _ in range(2):
            taylor.push(lambda x: jax.lax.cumsum(x), (jnp.arange(9.0),), [jets])
    (message,) = [record.getMessage() for record in caplog.records]
    place = r"\(.*test_sparse\.py:\d+.*\)"
    assert re.fullmatch(f"primitive cumsum {place} makes sparse directions dense", message)


INDEX = np.array([4, 0, 2, 2, 1, 5, 3, 7])
MOVES = {
    "in_place": lambda z: z * z,
    "sliced": lambda z: z[1:],
    "gathered": lambda z: z[INDEX],
    "split": lambda z: jnp.split(z, [500])[0],
}


@pytest.mark.parametrize("name", MOVES)
def test_equal_positions_are_recognised(name):
    """Coefficients of all orders and terms have one entry at each position: none are compared
    with one another, or put side by side.
    """

    def function(y):
        z = MOVES[name](jnp.sin(y))
        return jnp.sum(z * jnp.cos(z) + jnp.sin(z))

    def pushed(x, positions):
        coefficient = taylor.entries(positions, jnp.ones((2, 1)), (1009,))
        jets = taylor.Jets(((coefficient,), (None,), (None,)), jnp.ones(2))
        return taylor.push(function, (x,), [jets]).derivatives

    equations = jaxprs.of(pushed, jnp.ones(1009), jnp.array([[2], [5]]))
    compared = [e for e in jaxprs.named(equations, "eq") if e.outvars[0].aval.ndim > 2]
    assert compared == jaxprs.named(equations, "concatenate") == []


@pytest.mark.parametrize("width", [3, 5])
def test_drawn_coordinates_through_convolutions_with_a_stride(width, x64):
    """A kernel that is longer than the stride has several places for an entry: a direction reaches
    those, and neither the whole of a layer nor a multiple of it.
    """
    first, second = (
        jax.random.normal(jax.random.key(seed), (2, channels, width, width))
        for seed, channels in ((0, 1), (1, 2))
    )
    convolved = lambda x, w: lax.conv_general_dilated(jnp.tanh(x), w, (2, 2), [(1, 1)] * 2)
    u = lambda x: jnp.sum(jnp.tanh(convolved(convolved(x.reshape(1, 1, 16, 16), first), second)))
    drawn = do.Laplacian().estimate(jax.random.key(2), 8)(u)
    x = jax.random.normal(jax.random.key(3), (256,))
    sizes = jaxprs.sizes(jaxprs.of(drawn, x))
    with dense.without_structure():
        expected = jax.jit(drawn)(x)
    np.testing.assert_allclose(jax.jit(drawn)(x), expected, rtol=1e-12)
    assert max(sizes) <= 8 * 2 * 8**2  # drawn directions of an inner layer


@pytest.mark.parametrize(("shape", "depth"), [((48,), 3), ((13, 17), 2)])
def test_convolutions_that_keep_the_shape(shape, depth):
    """Each entry of the second layer changes along a window, in whatever ways the first layer leads
    there: nothing is as large as an array of all directions, in value and gradient.
    """
    channels = [1, *[2] * depth]
    kernels = [
        jax.random.normal(jax.random.key(i), (after, before, *(3,) * len(shape)))
        for i, (before, after) in enumerate(zip(channels, channels[1:], strict=False))
    ]

    def u(kernels):
        def applied(x):
            h = x.reshape(1, 1, *shape)
            for kernel in kernels:
                h = jnp.tanh(lax.conv_general_dilated(h, kernel, (1,) * len(shape), "SAME"))
            return jnp.sum(h)

        return applied

    x = jax.random.normal(jax.random.key(9), (math.prod(shape),))
    value = lambda kernels: do.Laplacian().exact(u(kernels))(x)
    nested = lambda kernels: jnp.trace(jax.hessian(u(kernels))(x))
    for of, expected in ((value, nested), (jax.grad(value), jax.grad(nested))):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12),
            jax.jit(of)(kernels),
            jax.jit(expected)(kernels),
        )
        assert max(jaxprs.sizes(jaxprs.of(of, kernels))) < 2 * x.size**2


def test_sums_over_windows():
    """As of average pooling: an entry of the result changes along the directions of its window."""

    def u(x):
        means = lax.reduce_window(jnp.sin(x), 0.0, lax.add, (4,), (4,), "VALID") / 4
        return jnp.sum(means**3)

    x = jax.random.normal(jax.random.key(0), (1024,))
    laplacian = do.Laplacian().exact(u)
    means, slopes = (np.reshape(f(x), (256, 4)) / 4 for f in (np.sin, np.cos))
    h = means.sum(1)
    expected = np.sum(6 * h * (slopes**2).sum(1) - 3 * h**2 * h)
    np.testing.assert_allclose(jax.jit(laplacian)(x), expected, rtol=1e-12)
    assert max(jaxprs.sizes(jaxprs.of(laplacian, x))) <= x.size
