"""Weighted draws of a million terms are exact: to the last bit of the weights, over the whole range
of their generator.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.probes import sampling
from diffop.probes.sampling import Wide


def integers(wide):
    high, low = (np.asarray(word).astype(np.uint64) for word in wide)
    return (high << np.uint64(32)) | low


def words(numbers):
    """Whole numbers as random words, the least first."""
    parts = [[(int(number) >> 32 * i) & 0xFFFFFFFF for i in range(4)] for number in numbers]
    return jnp.asarray(np.array(parts, np.uint32))


def entries(d, off):
    """|C| for C = I + off, as its d² entries in float32."""
    return (np.eye(d, dtype=np.float32) + np.float32(off)).ravel()


@pytest.mark.parametrize(
    "cumulative", [sampling.cumulative, sampling._in_parallel, sampling._one_after_another]
)
@pytest.mark.parametrize("off", [1e-5, 3e-6])
def test_a_million_weights_are_exact(off, cumulative):
    """Units are the weights times one power of two, and their sums are exact."""
    weights = entries(1000, off)
    both = jax.jit(lambda w: (units := sampling.integer_weights(w), cumulative(units)))
    found, sums = map(integers, both(jnp.asarray(weights)))
    scale = 2.0 ** round(np.log2(float(found[0]) / float(weights[0])))
    np.testing.assert_array_equal(found.astype(float), weights.astype(float) * scale)
    np.testing.assert_array_equal(sums, np.cumsum(found))
    assert int(sums[-1]) < 2**62


def test_the_whole_range_of_the_generator():
    """2²³ numbers at equal distances through all 2¹²⁸: every entry of C = I + 1e-5 comes as often
    as its share, up to the one number that is cut at either end.
    """
    weights = entries(1000, 1e-5)
    sums = sampling.cumulative(sampling.integer_weights(jnp.asarray(weights)))
    total = Wide(sums.high[-1], sums.low[-1])
    count = 2**23
    last = jnp.arange(count, dtype=jnp.uint32) << 9
    half = jnp.full(count, 2**31, jnp.uint32)
    draw = jax.jit(lambda r: sampling.holder(sums, sampling.below(r, total)))
    drawn = np.asarray(draw(jnp.stack([half, half, half, last], axis=1)))
    got = np.bincount(drawn, minlength=weights.size)
    share = weights.astype(float) / weights.astype(float).sum() * count
    assert np.max(np.abs(got - share)) < 1


def test_every_number_below_the_total():
    """Small weights, all units: each term holds as many as its weight, in order."""
    weights = np.array([3, 0, 5, 1, 0, 7], np.float32)
    units = integers(sampling.integer_weights(jnp.asarray(weights)))
    scale = int(units[3])
    np.testing.assert_array_equal(units, (weights * scale).astype(np.uint64))
    small = Wide(jnp.zeros(6, jnp.uint32), jnp.asarray(weights, jnp.uint32))
    numbers = Wide(jnp.zeros(16, jnp.uint32), jnp.arange(16, dtype=jnp.uint32))
    found = sampling.holder(sampling.cumulative(small), numbers)
    np.testing.assert_array_equal(found, np.repeat(np.arange(6), weights.astype(int)))


@pytest.mark.parametrize("total", [1, 5, 2**32 - 1, 2**32, 2**61 + 12345])
def test_numbers_are_scaled_exactly(total):
    """⌊R T / 2¹²⁸⌋ in Python's integers, at both ends of every step and at random."""
    rng = np.random.default_rng(0)
    random = [int.from_bytes(rng.bytes(16), "little") for _ in range(50)]
    steps = [-(-k * 2**128 // total) for k in {1 % total, total // 2, total - 1}]
    numbers = [*random, 0, 2**128 - 1, *steps, *(max(step - 1, 0) for step in steps)]
    wide = Wide(jnp.uint32(total >> 32), jnp.uint32(total & 0xFFFFFFFF))
    got = integers(sampling.below(words(numbers), wide))
    assert [int(g) for g in got] == [number * total >> 128 for number in numbers]


@pytest.mark.parametrize(
    "weights", [[1e-30, 1.0, 1e30], [3e38, 1e-3], [1e-30, 3e-30], [2.5], [0.0, 1e-12, 1.0]], ids=str
)
def test_positive_weights_have_units(weights):
    """Whatever their range is, and zeros have none."""
    found = integers(sampling.integer_weights(jnp.asarray(weights, jnp.float32)))
    assert np.array_equal(found > 0, np.array(weights) > 0)
    assert sum(map(int, found)) < 2**62
    large = np.asarray(weights, np.float32) > 1e-6 * np.float32(max(weights))
    ratio = found[large].astype(float) / np.asarray(weights, np.float32)[large].astype(float)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-15)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_inverse_probabilities_are_those_of_the_draw(dtype):
    weights = jnp.asarray([1.0, 3.0, 1e-3, 0.0, 4.0], dtype)
    index, inverse = sampling.weighted(jax.random.key(0), weights, 4000)
    exact = weights.astype(jnp.float32)
    np.testing.assert_allclose(inverse, jnp.sum(exact) / exact[index], rtol=1e-6)
    # the mean of 1/p over draws is the number of terms: 4, up to 4.5 standard errors
    squares = float(jnp.sum(1 / (exact / jnp.sum(exact))[jnp.array([0, 1, 2, 4])]))
    assert abs(float(jnp.mean(inverse)) - 4) <= 4.5 * np.sqrt((squares - 16) / 4000)


def test_weights_that_are_not_finite_are_told():
    _, inverse = sampling.weighted(jax.random.key(0), jnp.asarray([1.0, jnp.nan]), 3)
    assert np.isnan(inverse).all()
