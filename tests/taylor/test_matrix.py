"""Directions that meet by a matrix, against nested differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.taylor import Jets, Matrix, push

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
N, D, H = 7, 9, 3
FIRST, V, X = RNG.normal(size=(H, D)), RNG.normal(size=(N, D)), RNG.normal(size=D) / 3


def u(x):
    return (1 - jnp.sum(x**2)) * jnp.sum(jnp.tanh(FIRST @ x)) + jnp.sum(jnp.sin(x[1:] * x[:-1]))


def jets(tangents, matrix):
    still = tuple(None for _ in tangents)
    return Jets((tangents, still), Matrix(matrix), top_only=True)


@pytest.mark.parametrize("chunk", [None, 2, 5, N])
def test_of_directions(chunk):
    """Σ_ij C_ij v_i · D²u v_j, also by the pairs that chunks are made of."""
    matrix, v, x = jnp.asarray(RNG.normal(size=(N, N))), jnp.asarray(V), jnp.asarray(X)

    def of(v, matrix, x):
        return push(u, (x,), [jets((v,), matrix)], chunk).derivatives[0][1]

    def nested(v, matrix, x):
        return jnp.sum(matrix * (v @ jax.hessian(u)(x) @ v.T))

    every = (0, 1, 2)
    for function, wanted in ((of, nested), (jax.grad(of, every), jax.grad(nested, every))):
        found, expected = (jax.jit(each)(v, matrix, x) for each in (function, wanted))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11), found, expected)


@pytest.mark.parametrize("chunk", [None, 4])
def test_of_several_arguments(chunk):
    """Directions that move a pytree and another argument, one of them complex."""
    matrix, v, x = jnp.asarray(RNG.normal(size=(N, N))), jnp.asarray(V), jnp.asarray(X)
    tangents = {"a": v[:, :4], "b": v[:, 4:].reshape(N, 5, 1)}
    point = {"a": x[:4], "b": x[4:].reshape(5, 1)}
    turned = jax.lax.complex(v[:, :2], v[:, 2:4]), jax.lax.complex(x[:2], x[2:4])

    def w(p, z):
        return jnp.sum(jnp.sin(p["a"])) * jnp.sum(p["b"] ** 3) * jnp.abs(jnp.sum(z * z)) ** 2

    def along(t):
        moved = jax.tree.map(lambda x, v: x + jnp.tensordot(t, v, axes=1), point, tangents)
        return w(moved, turned[1] + t.astype(complex) @ turned[0])

    pushed = push(w, (point, turned[1]), [jets((tangents, turned[0]), matrix)], chunk)
    wanted = jnp.sum(matrix * jax.hessian(along)(jnp.zeros(N)))
    np.testing.assert_allclose(pushed.derivatives[0][1], wanted, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 3])
def test_basis_vectors_meet_in_a_product_that_is_broadcast(n):
    """Pairs of few of them are positions, and so they are along both axes of an outer product."""
    x = jnp.asarray(X)
    w = lambda x: jnp.sum(jnp.sin(x)[:, None] * x[None, :] * jnp.arange(D * D * 1.0).reshape(D, D))
    pairs = [(i, D - 1 - i) for i in range(n)]
    operator = do.TensorOperator(np.eye(D, dtype=int)[pairs].sum(axis=1), jnp.ones(n))
    wanted = sum(jax.hessian(w)(x)[pair] for pair in pairs)
    np.testing.assert_allclose(operator.exact(w)(x), wanted, rtol=1e-12)


def forms(matrix):
    yield do.SecondOrder(matrix)
    yield do.SecondOrder(lambda x: matrix)
    yield do.SecondOrder(do.operators.MatVec(lambda v: matrix.astype(v.dtype) @ v))
    yield do.DivergenceForm(matrix)


@pytest.mark.parametrize("number", range(4))
def test_operators_push_half_of_what_pairs_are(number):
    """d directions, and nothing to add them with others for."""
    operator = list(forms(jnp.asarray(RNG.normal(size=(D, D)))))[number]
    x = jnp.asarray(X)
    (found,) = operator.jets(x)
    assert (found.size, found.output) == (D, (2,))
    assert operator.jets(x).coefficients == D + 1
    assert "meeting by a matrix" in str(operator.jets(x))
    both = (operator + 2.0 * do.Laplacian()).jets(x)
    assert sorted(each.matrix is None for each in both) == [False, True]


def test_complex_weights_of_real_directions():
    """They are refused: values that are real cannot hold what is read. What stays may be real."""
    weights, x = np.full(2, 1 + 2j), jnp.asarray(X)
    straight = Jets(((jnp.eye(2, D),), (None,)), weights, top_only=True)
    with pytest.raises(TypeError, match=r"real where what moves is; got complex128\. Give"):
        push(u, (x,), [straight])
    z = jax.lax.complex(x, x)
    w = lambda z, t: jnp.sum(z**2) * t.astype(complex)
    beside = Jets(((jnp.eye(2, D, dtype=complex), None), (None, None)), weights, top_only=True)
    found = push(w, (z, x[0]), [beside]).derivatives[0][1]
    np.testing.assert_allclose(found, weights[0] * 4 * X[0], rtol=1e-13)


@pytest.mark.parametrize("number", range(3))
def test_complex_points(number):
    """Along real parts, of a function that is not analytic, against nested differentiation."""
    matrix, x = jnp.asarray(RNG.normal(size=(D, D))), jnp.asarray(X)
    z = jax.lax.complex(x, x[::-1])
    w = lambda z: jnp.abs(jnp.sum(z * z)) ** 2 + jnp.sum(jnp.tanh(FIRST @ jnp.imag(jnp.sin(z))))
    along = lambda t: w(z + t.astype(complex))
    wanted = jnp.sum(matrix * jax.hessian(along)(jnp.zeros(D)))
    found = list(forms(matrix))[number].exact(w)(z)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("plan", ["power", "nested"])
def test_plans_that_are_chosen_are_followed(plan):
    operator, x = do.SecondOrder(jnp.asarray(RNG.normal(size=(D, D)))), jnp.asarray(X)
    assert all(each.matrix is None for each in operator.jets(x, plan=plan))
    found, wanted = operator.exact(u, plan=plan)(x), operator.exact(u)(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_what_is_sparse_stays_pairs():
    positions = np.stack([np.arange(D), (np.arange(D) + 1) % D], axis=1)
    columns = do.operators.SparseColumns(positions, jnp.ones((D, 2)), rows=D)
    (found,) = do.SecondOrder(columns).jets(jnp.asarray(X))
    assert found.output == (1, 1)


def test_what_does_not_fit():
    square, still, v = Matrix(jnp.asarray(RNG.normal(size=(N, N)))), (None,), jnp.asarray(V)
    with pytest.raises(ValueError, match=r"must have shape \(n, n\); got \(2, 3\)\."):
        Matrix(jnp.ones((2, 3)))
    with pytest.raises(TypeError, match=r"must be real; got complex128\."):
        Matrix(np.eye(3, dtype=complex))
    with pytest.raises(ValueError, match=r"those of straight lines .* with top_only=True\."):
        Jets(((v,), still), square)
    with pytest.raises(ValueError, match="those of straight lines"):
        Jets(((v,), (v,)), square, top_only=True)
    with pytest.raises(ValueError, match="those of straight lines"):
        Jets(((v,), still, still), square, top_only=True)
    with pytest.raises(ValueError, match=rf"each of the {N} jets; got shape \(3, 3\)\."):
        push(u, (jnp.asarray(X),), [jets((v,), jnp.eye(3))])
