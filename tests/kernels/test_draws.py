"""Bits and sines of small angles: what points and sources are made of."""

import functools

import jax
import numpy as np
import pytest
from jax.extend.random import threefry2x32_p

from diffop.kernels.sines import sine, versine
from diffop.kernels.threefry import encrypted, in_one_pass, numbers
from diffop.pde.sampling.normal import normal

SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.usefixtures("x64")
def test_bits_are_those_of_jax(shape, dtype, getkey):
    key = getkey()
    ours = jax.random.bits(in_one_pass(key), shape, dtype)
    np.testing.assert_array_equal(ours, jax.random.bits(key, shape, dtype))


def test_bits_of_many_keys_are_those_of_each(getkey):
    keys = jax.random.split(getkey(), 5)
    draw = lambda key: jax.random.bits(in_one_pass(key), (3, 2))
    expected = jax.vmap(lambda key: jax.random.bits(key, (3, 2)))(keys)
    np.testing.assert_array_equal(jax.vmap(draw)(keys), expected)


@pytest.mark.parametrize("kind", ["rbg", "unsafe_rbg"])
def test_other_keys_stay_what_they_are(kind):
    key = jax.random.key(3, impl=kind)
    assert in_one_pass(key) is key
    np.testing.assert_array_equal(
        jax.random.bits(in_one_pass(key), (3,)), jax.random.bits(key, (3,))
    )


def test_bits_are_those_of_jax_if_it_numbers_them_in_another_way(getkey):
    key = getkey()
    before = jax.config.jax_threefry_partitionable
    jax.config.update("jax_threefry_partitionable", False)
    try:
        np.testing.assert_array_equal(
            jax.random.bits(in_one_pass(key), (3, 5)), jax.random.bits(key, (3, 5))
        )
    finally:
        jax.config.update("jax_threefry_partitionable", before)


def test_keys_of_the_old_kind_draw_what_new_ones_do():
    old, new = jax.random.PRNGKey(3), jax.random.key(3)
    np.testing.assert_array_equal(normal(old, (5,)), normal(new, (5,)))


@pytest.mark.parametrize("shape", [(3, 2**31 + 5), (2**20, 2**12 + 3), (7, 3, 2**30 - 1)])
def test_elements_are_counted_beyond_a_word(shape):
    """The last elements of arrays that would not fit into memory: XLA makes no others."""
    last = tuple(slice(size - min(size, 3), size) for size in shape)
    high, low = jax.jit(lambda: [words[last] for words in numbers(shape)])()
    expected = np.ravel_multi_index(
        np.meshgrid(*[np.arange(s.start, s.stop) for s in last], indexing="ij"), shape
    )
    assert expected.max() >= 2**32
    np.testing.assert_array_equal(
        np.asarray(high, np.uint64) << np.uint64(32) | np.asarray(low, np.uint64), expected
    )


def test_words_are_encrypted_as_jax_does(getkey):
    words = tuple(jax.random.bits(getkey(), (50,), np.uint32) for _ in range(2))
    key = jax.random.bits(getkey(), (2,), np.uint32)
    ours = jax.jit(lambda key, words: encrypted((key[0], key[1]), words))(key, words)
    for word, expected in zip(ours, threefry2x32_p.bind(key[0], key[1], *words), strict=True):
        np.testing.assert_array_equal(word, expected)


def test_drawing_writes_nothing_but_what_is_drawn(getkey):
    """No loop whose state is written after each round, as in `jax.random.normal` on a CPU."""
    drawn = jax.jit(lambda key: normal(key, (100, 1000))).lower(getkey()).compile()
    assert "while" not in drawn.as_text()
    assert drawn.memory_analysis().temp_size_in_bytes < 100_000


@pytest.mark.parametrize("double", [False, True])
def test_normal_numbers_are_those_of_jax(double, getkey):
    with jax.enable_x64(double):
        key = jax.random.key(7)
        ours, jaxs = normal(key, (300, 40)), jax.random.normal(key, (300, 40))
        assert ours.dtype == jaxs.dtype == (np.float64 if double else np.float32)
        np.testing.assert_array_equal(ours, jaxs)


ANGLES = np.concatenate(
    [np.linspace(-2, 2, 40_001), np.logspace(-30, 0, 1001), -np.logspace(-30, 0, 1001)]
)


def in_last_places(got, expected):
    """The error in units of the last place."""
    unit = np.spacing(np.abs(expected).astype(got.dtype)).astype(np.float64)
    return np.abs(np.asarray(got, np.float64) - expected) / unit


def test_sines_in_single_precision():
    x = ANGLES.astype(np.float32)
    exact = x.astype(np.float64)
    errors = in_last_places(np.asarray(jax.jit(sine)(x)), np.sin(exact))
    assert errors[np.abs(x) <= 1].max() < 1 and errors.max() < 3.5
    small = in_last_places(np.asarray(jax.jit(versine)(x)), 2 * np.sin(exact / 2) ** 2)
    # the square of 1e-30 is no number of single precision
    assert small[np.abs(x) > 1e-18].max() < 2.5


@pytest.mark.usefixtures("x64")
def test_sines_in_double_precision():
    np.testing.assert_allclose(jax.jit(sine)(ANGLES), np.sin(ANGLES), rtol=7e-16)
    np.testing.assert_allclose(
        jax.jit(versine)(ANGLES), 2 * np.sin(ANGLES / 2) ** 2, rtol=1e-15, atol=0
    )


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
def test_sines_have_all_derivatives(order):
    differentiated = lambda f: functools.reduce(lambda f, _: jax.grad(f), range(order), f)
    x = np.linspace(-2, 2, 101)
    for f, expected in ((sine, np.sin), (versine, lambda x: np.sin(x - np.pi / 2))):
        np.testing.assert_allclose(
            jax.jit(jax.vmap(differentiated(f)))(x),
            expected(x + order * np.pi / 2),
            rtol=0,
            atol=2e-15,
        )
