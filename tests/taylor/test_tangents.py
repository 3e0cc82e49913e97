"""Structured tangents that do not fit their argument are refused where that is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do


def by_direction(positions, values=None):
    positions = np.asarray(positions)
    values = jnp.ones(positions.shape) if values is None else values
    return do.taylor.ByDirection(positions, values, distinct=True)


def by_entry(numbers, size=2, values=None):
    return do.taylor.ByEntry(values, do.taylor.Numbers(np.asarray(numbers)), size)


def pushed(tangent):
    jets = do.taylor.Jets(((tangent,), (None,)), weights=np.ones(2))
    x = jnp.arange(1.0, 4.0)
    return do.taylor.push(lambda x: jnp.sum(x**3), (x,), [jets]).derivatives[0][1]


REFUSED = {
    "position": (
        by_direction([[0], [5]]),
        r"positions in an argument of shape \(3,\) must be from 0 to 2; got 5\.",
    ),
    "negative position": (
        by_direction([[-1], [2]]),
        r"positions in an argument of shape \(3,\) must be from 0 to 2; got -1\.",
    ),
    "traced position": (
        do.taylor.ByDirection(jnp.array([[0], [3]]), jnp.ones((2, 1))),
        r"must be from 0 to 2; got 3\.",
    ),
    "one entry more": (
        by_direction([[0], [1]], jnp.ones((2, 2))),
        r"one shape \(2, s\) here, for s entries of each jet; got values \(2, 2\) and positions "
        r"\(2, 1\)\.",
    ),
    "no axis for entries": (by_direction([0, 1]), r"got values \(2,\) and positions \(2,\)\."),
    "number": (
        by_entry([[0, 1, 2]]),
        r"numbers of directions, −1 for none, must be from -1 to 1; got 2\.",
    ),
    "shape of numbers": (
        by_entry([[0, 1]]),
        r"numbers of a ByEntry must have the shape of its argument, \(3,\), behind an axis; "
        r"got \(1, 2\)\.",
    ),
    "shape of values": (
        by_entry([[0, 1, -1]], values=jnp.ones((2, 3))),
        r"values of a ByEntry must have the shape of its numbers, \(1, 3\); got \(2, 3\)\.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit(name):
    tangent, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        pushed(tangent)


def test_as_many_directions_as_jets():
    vectors = jnp.ones((2, 3))
    jets = do.taylor.Jets(((vectors, by_entry([[0, 1, 2]], 3)), (None, None)))
    x = jnp.ones(3)
    with pytest.raises(ValueError, match=r"in shape \(2,\) here; got size=3\."):
        do.taylor.push(lambda x, y: jnp.sum(x * y), (x, x), [jets])


@pytest.mark.parametrize("kind", ["complex64", "bool"])
def test_values_of_another_kind(kind):
    message = rf"its argument's type, float32, can hold; got {kind}\."
    with pytest.raises(TypeError, match=message):
        pushed(by_direction([[0], [1]], jnp.ones((2, 1), kind)))
    with pytest.raises(TypeError, match=message):
        pushed(by_entry([[0, 1, -1]], values=jnp.ones((1, 3), kind)))


def test_what_fits():
    """Σ 6 x_i v_i² for x = (1, 2, 3)."""
    ones = jnp.ones((2, 1), int)
    assert float(pushed(by_direction([[0], [2]], ones))) == 24
    assert float(pushed(by_entry([[0, -1, 1]]))) == 24
    assert float(pushed(by_entry([[0, -1, 1]], values=2 * jnp.ones((1, 3), "int32")))) == 96
    under = jax.jit(lambda p: pushed(do.taylor.ByDirection(p, jnp.ones((2, 1)))))
    assert float(under(jnp.array([[0], [2]]))) == 24
