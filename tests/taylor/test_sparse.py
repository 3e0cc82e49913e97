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

import diffop as do
from diffop import taylor

from .. import jaxprs
from .structures import BUILDERS, UNKNOWN_INDEX

pytestmark = pytest.mark.usefixtures("x64")
ORDER = 3


def dense_twin(coefficient, shape):
    """All entries of a coefficient, by its definition."""
    size = math.prod(shape)
    if isinstance(coefficient, taylor.ByDirection):
        positions, values = np.asarray(coefficient.positions), np.asarray(coefficient.values)
        array = np.zeros((positions.shape[0], size))
        for r, s in np.ndindex(*positions.shape):
            array[r, positions[r, s]] += values[r, s]
        return jnp.asarray(array.reshape(-1, *shape))
    numbers = coefficient.numbers.array.reshape(-1, size)
    values = np.ones(numbers.shape)
    if coefficient.values is not None:
        values = np.asarray(coefficient.values).reshape(-1, size)
    array = np.zeros((coefficient.size, size))
    for s, p in np.ndindex(*numbers.shape):
        if numbers[s, p] >= 0:
            array[numbers[s, p], p] += coefficient.factor * values[s, p]
    return jnp.asarray(array.reshape(-1, *shape))


def random_sparse(rng, shape, known):
    """A few directions, some with repeated positions."""
    n, s = rng.integers(1, 4), rng.integers(1, 4)
    positions = rng.integers(0, math.prod(shape), (n, s)).astype(np.int32)
    values = jnp.asarray(rng.normal(size=(n, s)))
    return taylor.ByDirection(positions if known else jnp.asarray(positions), values, bool(s == 1))


def random_diagonal(rng, shape, known):
    """All basis vectors; or, scaled, those of most positions in another order."""
    size = math.prod(shape)
    if known:
        return taylor.ByEntry(None, taylor.Numbers(np.arange(size).reshape(1, *shape)), size)
    numbers = rng.permutation(size)
    numbers[numbers >= max(1, size - 1)] = -1
    values = jnp.asarray(rng.normal(size=size) * (numbers >= 0)).reshape(1, *shape)
    return taylor.ByEntry(values, taylor.Numbers(numbers.reshape(1, *shape)), size, 2.0)


def compare(shape, function, x, coefficient, weights):
    """Push the same directions in both forms, and compare every order."""
    i = jnp.asarray(UNKNOWN_INDEX)

    def pushed(tangent):
        still = ((None, None),) * (ORDER - 1)
        jets = taylor.Jets(((tangent, None), *still), weights)
        return taylor.push(function, (x, i), [jets])

    twin = dense_twin(coefficient, shape)
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
    make = random_diagonal if seed % 2 else random_sparse
    coefficient = make(rng, shape, known=bool(seed % 4 < 2))
    count = dense_twin(coefficient, shape).shape[0]
    weights = [None, rng.normal(size=count), np.ones(count), rng.normal(size=(2, count))][seed % 3]
    compare(shape, function, x, coefficient, weights)


@pytest.mark.parametrize("make", [random_sparse, random_diagonal])
@pytest.mark.parametrize("name", ["neighbours", "gathered", "shared_by_blocks", "convolution"])
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=2)
def test_several_sums(make, name, data):
    """Weights `(m, n)`: several collapsed sums of the same directions."""
    shape, function = BUILDERS[name](data.draw)
    rng = np.random.default_rng(0)
    coefficient = make(rng, shape, known=True)
    count = dense_twin(coefficient, shape).shape[0]
    x = jnp.asarray(rng.uniform(0.2, 1.5, shape))
    compare(shape, function, x, coefficient, rng.normal(size=(2, count)))


def test_as_many_sums_as_directions():
    """One sum for each direction, through a dot of vectors: the draws of an estimate one by one."""
    a, x = jnp.arange(1.0, 6.0), jnp.linspace(0.3, 1.1, 5)
    u = lambda x: a @ x**4
    positions = np.array([[1], [4]], np.int32)
    jets = taylor.Jets(
        ((taylor.ByDirection(positions, jnp.ones((2, 1)), True),), (None,)), np.eye(2)
    )
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
    coefficient = taylor.ByDirection(np.array([[2], [5]], np.int32), jnp.ones((2, 1)), True)
    jets = taylor.Jets(((coefficient,),), None)
    with caplog.at_level(logging.INFO, logger="diffop.taylor"):
        for _ in range(2):
            taylor.push(lambda x: jax.lax.cumsum(x), (jnp.arange(9.0),), [jets])
    (message,) = [record.getMessage() for record in caplog.records]
    place = r"\(.*test_sparse\.py:\d+.*\)"
    assert re.fullmatch(f"primitive cumsum {place} makes sparse directions dense", message)


@pytest.mark.parametrize("seed", range(4))
def test_directions_that_entries_share(seed):
    """United numbers, and those shared along axes, as sets of Python have them."""
    array = np.random.default_rng(seed).integers(-1, 5, (4, 3, 2, 2))
    numbers = taylor.Numbers(array)
    for axes, rest in (((), (0, 1, 2)), ((1,), (0, 2)), ((0, 2), (1,))):
        found = numbers.shared(axes).array
        every = np.moveaxis(array, [axis + 1 for axis in rest], range(len(rest)))
        for place in np.ndindex(*every.shape[: len(rest)]):
            expected = sorted(set(every[place].ravel().tolist()) - {-1})
            here = found[(slice(None), *place)]
            np.testing.assert_array_equal(here[: len(expected)], expected)
            assert (here[len(expected) :] == -1).all()
    np.testing.assert_array_equal(numbers.united.array, numbers.shared(()).array)


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
        coefficient = taylor.ByDirection(positions, jnp.ones((2, 1)), True)
        jets = taylor.Jets(((coefficient,), (None,), (None,)), jnp.ones(2))
        return taylor.push(function, (x,), [jets]).derivatives

    equations = jaxprs.of(pushed, jnp.ones(1009), jnp.array([[2], [5]]))
    compared = [e for e in jaxprs.named(equations, "eq") if e.outvars[0].aval.ndim > 2]
    assert compared == jaxprs.named(equations, "concatenate") == []
