"""Blocks of every form as arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop import taylor
from diffop.coefficients.block import places_in
from diffop.coefficients.blocks import at_directions, collected, dense, entries_at

from .. import jaxprs
from .blocks import definition, flag, random_blocks, random_entries

pytestmark = pytest.mark.usefixtures("x64")
CASES = 24


def made(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(k) for k in rng.integers(1, 5, rng.integers(0, 4)))
    make = random_entries if seed % 3 == 0 else random_blocks
    return make(rng, shape, int(rng.integers(1, 5)), flag(rng))


@pytest.fixture(scope="module")
def cases():
    return [made(seed) for seed in range(CASES)]


def test_arrays(cases):
    found = jax.jit(lambda cases: [dense(c, jnp.float64) for c in cases])(cases)
    for c, array in zip(cases, found, strict=True):
        assert array.shape == c.shape
        np.testing.assert_allclose(array, definition(c), rtol=1e-12, atol=1e-12, err_msg=str(c))


def test_entries_go_to_their_places_at_once():
    """Both blocks of scores, of electrons in rows and in columns: no transpose is as large as the
    array.
    """
    n, rng = 7, np.random.default_rng(0)
    first, shared = taylor.Range(0, 3), taylor.Range()
    electron = lambda own: taylor.Axis(n, (first, *own))
    axes = taylor.Axis(3, (shared, None, None)), taylor.Axis(n, (None, None, shared))
    rows = electron((shared, None)), *axes
    columns = electron((None, shared)), axes[0], taylor.Axis(n, (None, shared, None))
    scores = taylor.Blocks(
        tuple(
            taylor.Block(jnp.asarray(rng.normal(size=(n, 3, n))), each, (0, 0, 0))
            for each in (rows, columns)
        ),
        (3 * n, n, n),
    )
    array = lambda scores: dense(scores, jnp.float64)
    moved = jaxprs.named(jaxprs.of(array, scores), "transpose")
    assert all(size < 3 * n**3 for size in jaxprs.sizes(moved))
    np.testing.assert_allclose(array(scores), definition(scores), rtol=1e-15)


def test_some_directions(cases):
    """By numbers that are known when run, of which some may be equal."""
    rng = np.random.default_rng(0)
    wanted = [rng.integers(0, c.shape[0], 3).astype(np.int32) for c in cases]
    several = lambda cases, wanted: [
        dense(at_directions(c, each), jnp.float64) for c, each in zip(cases, wanted, strict=True)
    ]
    found = jax.jit(several)(cases, wanted)
    for c, each, array in zip(cases, wanted, found, strict=True):
        np.testing.assert_allclose(array, definition(c)[each], rtol=1e-12, atol=1e-12)


def test_entries_of_an_array_at_those_of_a_block(cases):
    blocks = [part for c in cases for part in c.parts]
    shapes = [c.shape[1:] for c in cases for _ in c.parts]
    arrays = [np.random.default_rng(0).normal(size=shape) for shape in shapes]
    every = lambda blocks, arrays: [
        entries_at(block, array) for block, array in zip(blocks, arrays, strict=True)
    ]
    for block, array, found in zip(blocks, arrays, jax.jit(every)(blocks, arrays), strict=True):
        sizes = [axis.size for axis in block.axes]
        places = [np.broadcast_to(each, sizes) for each in places_in(block)[1:]]
        expected = array[tuple(places)]
        np.testing.assert_array_equal(
            np.broadcast_to(found, sizes), np.broadcast_to(expected, sizes)
        )


def test_blocks_at_equal_places_are_one():
    (part,) = taylor.basis((3,)).parts
    double, five = part.with_values(None, 2), part.with_values(jnp.full(3, 2.5), 2.0)
    (both,) = collected([part, double], (3, 3)).parts
    assert both.values is None and both.factor == 3
    (all_three,) = collected([part, None, five, double], (3, 3)).parts
    np.testing.assert_array_equal(definition(taylor.Blocks((all_three,), (3, 3))), 8 * np.eye(3))
    other = taylor.Block(None, part.axes, (0, 0))
    assert len(collected([part, other], (3, 3)).parts) == 1
    shifted = taylor.Block(None, (taylor.Axis(2, (taylor.Range(1), taylor.Range())),), (0, 0))
    assert len(collected([part, shifted], (3, 3)).parts) == 2
    assert collected([None, None], (3, 3)).parts == ()


def test_nothing_at_all():
    np.testing.assert_array_equal(dense(taylor.Blocks((), (2, 3)), jnp.float64), np.zeros((2, 3)))
    assert not taylor.entries(np.zeros((2, 0), int), np.zeros((2, 0)), (3,)).parts


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 1, 3)])
def test_all_basis_vectors(shape):
    size = int(np.prod(shape))
    basis = taylor.basis(shape)
    np.testing.assert_array_equal(definition(basis), np.eye(size).reshape(size, *shape))
    assert not jax.tree.leaves(basis)
    assert basis.size == size


def test_entries_are_added_up():
    """Also where it is not known while tracing at which positions they are."""
    positions, values = np.array([[0, 5, 5], [4, 1, 0]]), np.array([[1.0, 2, 4], [8, 16, 32]])
    expected = np.zeros((2, 2, 3))
    for r, s in np.ndindex(2, 3):
        expected[r, positions[r, s] // 3, positions[r, s] % 3] += values[r, s]
    make = lambda positions: dense(taylor.entries(positions, values, (2, 3)), jnp.float64)
    np.testing.assert_array_equal(make(positions), expected)
    np.testing.assert_array_equal(jax.jit(make)(positions), expected)
