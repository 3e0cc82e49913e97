"""Structured tangents that do not fit their argument are refused where that is known."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop import taylor


def entries(positions, values=None, shape=(3,)):
    positions = np.asarray(positions)
    return taylor.entries(positions, np.ones(positions.shape) if values is None else values, shape)


def pushed(tangent):
    jets = do.taylor.Jets(((tangent,), (None,)), weights=np.ones(2))
    x = jnp.arange(1.0, 4.0)
    return do.taylor.push(lambda x: jnp.sum(x**3), (x,), [jets]).derivatives[0][1]


OUTSIDE = r"positions in an argument of shape \(3,\) must be from 0 to 2; got {}\."
REFUSED = {
    "position": (lambda: entries([[0], [5]]), OUTSIDE.format(5)),
    "negative position": (lambda: entries([[-1], [2]]), OUTSIDE.format(-1)),
    "position of an array": (
        lambda: taylor.entries(jnp.array([[0], [3]]), jnp.ones((2, 1)), (3,)),
        OUTSIDE.format(3),
    ),
    "one entry more": (
        lambda: entries([[0], [1]], jnp.ones((2, 2))),
        r"one shape \(n, s\); got positions \(2, 1\) and values \(2, 2\)\.",
    ),
    "another shape": (
        lambda: entries([[0], [3]], shape=(2, 2)),
        r"blocks must be directions of shape \(2, 3\) here; got \(2, 2, 2\)\.",
    ),
    "another shape of an array": (
        lambda: taylor.Full(jnp.ones((2, 4))),
        r"tangents must have shape \(2, 3\) here; got \(2, 4\)\.",
    ),
    "as many directions as jets": (
        lambda: taylor.basis((3,)),
        r"weights must have one entry for each of the 3 jets; got shape \(2,\)\.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit(name):
    tangent, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        pushed(tangent())


def test_as_many_directions_for_each_argument():
    vectors = jnp.ones((2, 3))
    jets = do.taylor.Jets(((vectors, taylor.basis((3,))), (None, None)))
    x = jnp.ones(3)
    with pytest.raises(ValueError, match=r"of shape \(2, 3\) here; got \(3, 3\)\."):
        do.taylor.push(lambda x, y: jnp.sum(x * y), (x, x), [jets])


VALUES = {
    "entries": lambda kind: entries([[0], [1]], jnp.ones((2, 1), kind)),
    "an array": lambda kind: jnp.ones((2, 3), kind),
    "a coefficient": lambda kind: taylor.Full(jnp.ones((2, 3), kind)),
}


@pytest.mark.parametrize("form", VALUES)
@pytest.mark.parametrize("kind", ["complex64", "bool"])
def test_values_of_another_kind(kind, form):
    message = rf"its argument's type, float32, can hold; got {kind}\."
    with pytest.raises(TypeError, match=message):
        pushed(VALUES[form](kind))


@pytest.mark.parametrize("weights", [np.float32(2.0), [1.0, 1.0], np.ones((1, 2, 2))])
def test_weights_that_are_no_array(weights, as_users_see_it):
    with pytest.raises(ValueError, match=r"weights must be an array \(n,\) or \(m, n\)"):
        do.taylor.Jets(((jnp.ones((2, 3)),), (None,)), weights=weights)


@pytest.mark.parametrize("u", [lambda z: jnp.sum(z * z.conj()).real, lambda z: jnp.sum(z.real)])
def test_complex_weights_of_real_values(u):
    """Their imaginary parts would be lost."""
    z = jnp.array([1 + 1j, 2.0, 3j])
    jets = do.taylor.Jets(((taylor.basis((3,)),), (None,)), weights=np.array([1j, 2.0, 1.0]))
    with pytest.raises(TypeError, match="real where what moves is; got complex128. Give their"):
        do.taylor.push(u, (z,), [jets])
    both = lambda z: (jnp.sum(z**2), jnp.ones(2))  # what does not move may be real
    (_, (value, still)) = do.taylor.push(both, (z,), [jets]).derivatives[0]
    assert value == 2 * (3 + 1j)
    np.testing.assert_array_equal(still, 0)


def test_what_fits():
    """Σ 6 x_i v_i² for x = (1, 2, 3)."""
    ones = jnp.ones((2, 1), int)
    assert float(pushed(entries([[0], [2]]))) == 24
    assert float(pushed(entries([[0], [2]], ones))) == 24
    assert float(pushed(entries([[0], [2]], 2 * np.ones((2, 1), "int32")))) == 96
    assert float(pushed(entries([[0, 2], [1, 1]]))) == 6 * (1 + 3 + 4 * 2)
    assert float(pushed(taylor.Full(jnp.ones((2, 3), int), factor=2))) == 2 * 4 * 6 * (1 + 2 + 3)
    under = jax.jit(lambda p: pushed(taylor.entries(p, jnp.ones((2, 1)), (3,))))
    assert float(under(jnp.array([[0], [2]]))) == 24


def test_a_position_that_is_not_there_moves_nothing():
    """What is known when run only cannot be refused."""
    under = jax.jit(lambda p: pushed(taylor.entries(p, jnp.ones((2, 1)), (3,))))
    assert float(under(jnp.array([[3], [1]]))) == 12
    assert float(under(jnp.array([[-1], [1]]))) == 12


def test_directions_without_entries():
    jets = do.taylor.Jets(((entries(np.zeros((2, 0), int)),), (None,)), weights=np.ones(2))
    _, (orders,) = do.taylor.push(lambda x: jnp.sum(x**3), (jnp.ones(3),), [jets])
    assert [float(np.sum(np.abs(each))) for each in orders] == [0, 0]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int64", "uint32"])
@pytest.mark.parametrize("known", [True, False])
def test_positions_of_any_integers(known, kind, x64):
    """Sizes of the argument may be no numbers of their type."""
    size = 70_000
    positions = np.array([[2], [100], [3]], kind)

    def summed(positions):
        v = taylor.entries(positions, jnp.ones((3, 1)), (size,))
        jets = taylor.Jets(((v,), (None,)), weights=np.ones(3))
        (_, second) = taylor.push(lambda x: jnp.sum(x**3), (jnp.ones(size),), [jets]).derivatives[0]
        return second

    assert (summed(positions) if known else jax.jit(summed)(positions)) == 18


@pytest.mark.parametrize("kind", ["float64", "float16", "bool"])
def test_positions_that_are_no_integers(kind):
    with pytest.raises(TypeError, match=f"positions of entries must be integers; got {kind}"):
        entries(np.array([[0], [1]], kind))


def test_positions_in_lists(as_users_see_it):
    positions: Any = [[0], [2]]
    values: Any = [[1.0], [1.0]]
    assert float(pushed(taylor.entries(positions, values, (3,)))) == 24


def test_a_first_argument_that_stays():
    """It has a tangent, which is zero."""
    jets = taylor.Jets(((taylor.Zero(), taylor.basis((3,))), (None, None)), weights=np.ones(3))
    x, y = jnp.ones(2), jnp.ones(3)
    (_, second) = taylor.push(lambda x, y: x[0] * jnp.sum(y**3), (x, y), [jets]).derivatives[0]
    assert second == 18


@pytest.mark.parametrize("beside", ["a name", jax.random.key(0), None])
def test_a_matrix_in_chunks_beside_other_arguments(beside, as_users_see_it):
    """Σ_ij C_ij ∂_i∂_j of Σ x_k³ is 6 Σ C_ii x_i."""
    rows: Any = [[1.0, 2.0, 0.0], [2.0, 3.0, 1.0], [0.0, 1.0, 5.0]]
    C = taylor.Matrix(rows)
    jets = taylor.Jets(((jnp.eye(3), None), (None, None)), C, top_only=True)
    u = lambda x, _: jnp.sum(x**3)
    for chunk in (None, 2):
        pushed = taylor.push(u, (jnp.arange(1.0, 4.0), beside), [jets], chunk)
        assert pushed.derivatives[0][1] == pytest.approx(6 * (1 + 3 * 2 + 5 * 3))


def test_nothing_in_chunks():
    jets = taylor.Jets(((taylor.basis((3,)),), (None,)), weights=np.ones(3), top_only=True)
    for chunk in (None, 2):
        pushed = taylor.push(lambda x: None, (jnp.ones(3),), [jets], chunk)
        assert pushed.derivatives == [(None, None)]
