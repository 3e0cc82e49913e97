"""Objects in a program's structure: which of them share a program."""

import jax.numpy as jnp
import numpy as np
import pytest

from diffop.held import Held

ARRAY = jnp.ones(3)


@pytest.mark.parametrize(
    "pair",
    [(1, 1), ({"a": 2.0}, {"a": 2.0}), (ARRAY, ARRAY), (np.sin, np.sin), ("a", "a"), (None, None)],
)
def test_equal(pair):
    one, other = map(Held, pair)
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize(
    "pair",
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (complex(0.0, 0.0), complex(0.0, -0.0)),
        (ARRAY, jnp.ones(3)),
        (np.ones(3), np.ones(3)),
        ({"a": 1}, {"b": 1}),
        ((1,), [1]),
        (lambda x: x, lambda x: x),
        (np.float32(1), np.float64(1)),
        (np.float64(0.0), np.float64(-0.0)),
    ],
)
def test_not_equal(pair):
    one, other = map(Held, pair)
    assert one != other


def test_what_cannot_be_hashed_is_compared_by_identity():
    structure = {"a": [np.ones(2), {1, 2}]}
    assert Held(structure) == Held(structure)
    assert Held({1, 2}) != Held({1, 2})


def test_arrays_that_change_in_place():
    array = np.ones(3)
    before = Held({"data": array})
    assert before == Held({"data": array})
    array[0] = 2.0
    assert before != Held({"data": array})


def test_what_is_held_is_shown():
    """Without an address, and without the entries of arrays."""
    assert repr(Held({"a": ARRAY, "b": 2.0})) == "Held({'a': f32[3], 'b': 2.0})"
