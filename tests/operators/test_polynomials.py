"""Operators of constant coefficients and higher order by few coordinates: in the algebra of their
polynomial, beside nested `jax.grad`, and beside the plan that has each derivative by itself.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.jets.by_coordinates import polynomial_of
from diffop.jets.point import Point

from .test_sums import network, with_structure

pytestmark = pytest.mark.usefixtures("x64")

D = 3
PLANS = ("auto", "nested")
X = np.array([0.3, -0.7, 0.5])


def by_grad(numbers, u):
    """Σ number · derivatives, of words of coordinates."""

    @functools.cache
    def derivative(word):
        return jax.grad(derivative(word[:-1]), word[-1]) if word else apart

    def apart(*point):
        return u(jnp.stack(point))

    return lambda x: sum(number * derivative(word)(*x) for word, number in numbers.items())


def word(*powers):
    return tuple(sorted(i for i, power in powers for _ in range(power)))


def added(*pairs):
    total = {}
    for key, number in pairs:
        total[key] = total.get(key, 0) + number
    return total


def tensor(numbers):
    alphas = [{i: each.count(i) for i in set(each)} for each in numbers]
    return do.TensorOperator(alphas, list(map(float, numbers.values())))


SQUARES = added(*((word((i, 2), (j, 2)), 1) for i, j in itertools.product(range(D), repeat=2)))
PAIRS = added(*((word((i, 2), (j, 1)), 1) for i, j in itertools.permutations(range(D), 2)))
PRODUCT = added(*((word((i, 2), (j, 3)), 1) for i, j in itertools.product(range(D), repeat=2)))
SECOND = {word((i, 2)): 1 for i in range(D)}
SIGNS = {(0, 0, 0): 1, (0, 1, 1): -3, (1, 1, 2): 2, (0, 1, 2): -1, (2, 2, 2): 5}


def plus(left, number, right):
    return added(*left.items(), *((key, number * each) for key, each in right.items()))


OPERATORS = {
    "Δ²": (do.Biharmonic(), SQUARES),
    "Σ ∂²∂": (tensor(PAIRS), PAIRS),
    "Δ Σ∂³": (do.Laplacian() @ do.DiagonalK(3), PRODUCT),
    "signs": (tensor(SIGNS), SIGNS),
    "several orders": (
        2 * do.Biharmonic() - do.Laplacian() + do.Partial(1, 3),
        plus(plus({(1, 1, 1): 1}, 2, SQUARES), -1, SECOND),
    ),
    "far apart": (
        do.Partial(0, 4) + 1e-12 * do.Partial(1, 4) + 1e12 * tensor({(2, 2, 2): 1.0, (0, 1, 2): 2}),
        {(0,) * 4: 1, (1,) * 4: 1e-12, (2, 2, 2): 1e12, (0, 1, 2): 2e12},
    ),
}


FUNCTIONS = {"network": (network, OPERATORS), "structure": (with_structure, ["Δ²", "signs"])}


@functools.cache
def references(function):
    u, names = FUNCTIONS[function]
    return jax.jit(lambda x: {name: by_grad(OPERATORS[name][1], u)(x) for name in names})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values(function):
    u, names = FUNCTIONS[function]
    got = jax.jit(lambda x: {name: OPERATORS[name][0].exact(u)(x) for name in names})(X)
    expected = references(function)(jnp.asarray(X))
    for name in names:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-10, err_msg=name)


def test_gradients():
    """By the point, beside central differences of the reference."""
    steps = 1e-5 * np.eye(D)
    ahead, behind = (jax.vmap(references("network"))(jnp.asarray(X + s * steps)) for s in (1, -1))
    for name, (L, _) in OPERATORS.items():
        got = jax.jit(jax.grad(L.exact(network)))(jnp.asarray(X))
        expected = (ahead[name] - behind[name]) / 2e-5
        np.testing.assert_allclose(
            got, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max(), err_msg=name
        )


@pytest.mark.parametrize("name", OPERATORS)
def test_beside_each_derivative_by_itself(name):
    """In single precision the errors are no larger than those of the plain plan, nearly."""
    L, _ = OPERATORS[name]
    points = jnp.asarray(np.random.default_rng(0).normal(size=(64, D)) / 2)
    auto, plain = (jax.jit(jax.vmap(L.exact(network, plan=plan))) for plan in PLANS)
    truth, single = np.asarray(plain(points)), points.astype(jnp.float32)
    np.testing.assert_allclose(auto(points), truth, rtol=1e-9, atol=1e-12 * np.abs(truth).max())
    errors = [np.linalg.norm(np.asarray(way(single)) - truth) for way in (auto, plain)]
    assert errors[0] <= 3 * errors[1]


@pytest.mark.parametrize("name", ["Δ²", "Σ ∂²∂"])
def test_functions_without_a_rule(name):
    """Functions of several numbers that move: their jvp is integrated without relations."""

    def u(x):
        y = jnp.sin(x @ jnp.arange(9.0).reshape(3, 3))
        return jnp.sum(jnp.arctan2(1 + y * y[::-1], 1.5 + x) + (2 + y) ** x)

    L, numbers = OPERATORS[name]
    np.testing.assert_allclose(
        jax.jit(L.exact(u))(X), jax.jit(by_grad(numbers, u))(jnp.asarray(X)), rtol=1e-8
    )


@pytest.mark.parametrize("name", ["Δ²", "several orders"])
def test_gradients_by_weights(name):
    """In reverse mode, of many points, beside the plan of each derivative by itself."""
    points = jnp.asarray(np.random.default_rng(1).normal(size=(5, D)) / 2)

    def loss(weights, plan):
        first, second, last = weights
        u = lambda x: jnp.dot(jnp.tanh(jnp.tanh(x @ first) @ second), last)
        return jnp.mean(jax.vmap(OPERATORS[name][0].exact(u, plan=plan))(points) ** 2)

    draws = np.random.default_rng(2)
    weights = [jnp.asarray(draws.normal(size=size)) for size in ((D, 6), (6, 6), (6,))]
    got, expected = (jax.jit(jax.grad(loss), static_argnums=1)(weights, p) for p in PLANS)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * np.abs(b).max())


def test_under_transformations():
    L, _ = OPERATORS["Δ²"]
    x = jnp.asarray(X)
    value = L.exact(network)
    expected = jax.grad(L.exact(network, plan="nested"))(x)
    np.testing.assert_allclose(jax.grad(jax.checkpoint(value))(x), expected, rtol=1e-9)
    _, along = jax.linearize(value, x)
    np.testing.assert_allclose(along(jnp.ones(D)), expected.sum(), rtol=1e-9)
    points = jnp.stack([x, -x])
    _, got = jax.lax.scan(lambda c, p: (c, value(p)), 0, points)
    np.testing.assert_allclose(got, jax.vmap(value)(points), rtol=1e-12)
    for chunk in (1, 2):
        np.testing.assert_allclose(L.exact(network, chunk=chunk)(x), value(x), rtol=1e-12)


def test_other_arguments_and_coordinates():
    def u(t, x):
        return network(jnp.append(x, t))

    L = do.Biharmonic(argnum=1) + do.Partial(argnum=0)
    t, x = jnp.float64(0.4), jnp.asarray(X[:2])

    def plane(p):
        return network(jnp.append(p, t))

    def laplacian(f):
        return lambda p: jnp.trace(jax.hessian(f)(p))

    expected = laplacian(laplacian(plane))(x) + jax.grad(u)(t, x)
    np.testing.assert_allclose(L.exact(u)(t, x), expected, rtol=1e-10)
    some = do.Biharmonic(dims=(0, 2)).exact(network)(jnp.asarray(X))
    numbers = added(*((word((i, 2), (j, 2)), 1) for i in (0, 2) for j in (0, 2)))
    np.testing.assert_allclose(some, by_grad(numbers, network)(jnp.asarray(X)), rtol=1e-10)


def test_terms_that_vanish():
    """A sum that is 0, and one of whose terms two are opposite."""
    nothing = do.TensorOperator([{0: 2, 1: 1}, {0: 2, 1: 1}], [1.0, -1.0])
    assert nothing.exact(network)(jnp.asarray(X)) == 0
    L = do.TensorOperator([{0: 2, 1: 1}, {1: 2, 2: 1}, {0: 2, 1: 1}], [1.0, 2.0, -1.0])
    expected = by_grad({(1, 1, 2): 2.0}, network)(jnp.asarray(X))
    np.testing.assert_allclose(L.exact(network)(jnp.asarray(X)), expected, rtol=1e-11)


def test_coefficients_that_are_traced():
    """They are no known numbers: each derivative is by itself, and has a gradient."""

    def value(c):
        L = do.TensorOperator([{0: 2, 1: 1}, {1: 2, 2: 1}], c)
        return L.exact(network)(jnp.asarray(X))

    c = jnp.array([2.0, -3.0])
    parts = [by_grad({key: 1.0}, network)(jnp.asarray(X)) for key in ((0, 0, 1), (1, 1, 2))]
    np.testing.assert_allclose(jax.jit(value)(c), 2 * parts[0] - 3 * parts[1], rtol=1e-11)
    np.testing.assert_allclose(jax.grad(value)(c), parts, rtol=1e-11)


def test_python_numbers_are_part_of_the_structure():
    """So they are known where the operator is an argument of a program, and no leaves; arrays are
    leaves. Both are the same operator.
    """
    alphas = [{0: 2, 1: 1}, {1: 2, 2: 1}, {0: 3}]
    known = do.TensorOperator(alphas, [2, -3.0, 0.5])
    learnt = do.TensorOperator(alphas, jnp.array([2.0, -3.0, 0.5]))
    assert not jax.tree.leaves(known) and len(jax.tree.leaves(learnt)) == 2
    assert known == learnt
    expected = by_grad({(0, 0, 1): 2.0, (1, 1, 2): -3.0, (0, 0, 0): 0.5}, network)(jnp.asarray(X))

    def program(L):
        return jax.jit(lambda L, x: L.exact(network)(x)).lower(L, jnp.asarray(X))

    for L in (known, learnt):
        np.testing.assert_allclose(program(L).compile()(L, jnp.asarray(X)), expected, rtol=1e-11)
    closed = jax.jit(lambda x: known.exact(network)(x)).lower(jnp.asarray(X))
    assert program(known).cost_analysis()["flops"] == closed.cost_analysis()["flops"]
    assert program(known).cost_analysis()["flops"] < program(learnt).cost_analysis()["flops"]


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite(number):
    """As the formula has it: ∞ times a derivative."""
    L = do.TensorOperator([{0: 4}, {0: 2, 1: 2}], [1.0, number])
    u = lambda x: jnp.sin(x[0]) * x[1] ** 4
    x = np.array([0.3, 0.4, 0.5])
    part = -np.sin(x[0]) * 12 * x[1] ** 2
    np.testing.assert_array_equal(L.exact(u)(jnp.asarray(x)), number * part)


def test_programs_do_not_grow_without_end():
    """Of few coordinates each coefficient is an array; of many, terms are rows: Δ of Δ."""

    def equations(d):
        u = lambda x: jnp.sum(jnp.tanh(x @ jnp.ones((d, 4))))
        return len(jax.make_jaxpr(do.Biharmonic().exact(u))(jnp.ones(d)).eqns)

    assert equations(3) < equations(5) < equations(9)
    assert equations(9) > equations(10) == equations(30)


def test_what_is_too_large_to_be_written_out():
    """A power that has twenty million derivatives is not looked at."""
    (term,) = do.PolyLaplacian(10).terms()
    assert polynomial_of(term.head.product, Point((jnp.ones(20),))) is None
    (term,) = do.Biharmonic().terms()
    found = polynomial_of(term.head.product, Point((jnp.ones(2),)))
    assert found == {(((0, 0), 4),): 1, (((0, 0), 2), ((0, 1), 2)): 2, (((0, 1), 4),): 1}
