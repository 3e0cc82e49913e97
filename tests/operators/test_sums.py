"""Sums of derivatives with known numbers are carried as one: beside nested `jax.grad`, and beside
the number of coefficients that was worked out by hand.
"""

import functools
import math
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")

NAMES = "xyt"
SUMS: dict[str, tuple[list[dict[str, float]], int]] = {
    # sums of words that are wanted, and how many coefficients are carried beside the primal
    "KdV": (
        [{"x": 1}, {"y": 1}, {"xx": 1}, {"xy": 1}, {"yt": 1, "xxxy": 1, "xx": -1, "yy": 2}],
        7,  # x, y, xx, xy, xxx with t, xxy, the sum
    ),
    "KP": (
        [{"": 1}, {"x": 1}, {"xx": 1}, {"xt": 1, "xxxx": 1, "yy": -3}],
        5,
    ),  # x … xxx, y, the sum
    "g-KdV": (
        [
            *({word: 1.0} for word in ("", "x", "t", "xx", "xt")),
            *({"t": 1, "xxx": 0.3}, {"xt": 1, "xxxx": 0.3}, {"tt": 1, "xxxt": 0.3}),
        ],
        8,  # x, t, xx, xt, xxx, xxt, xxxx, the last sum
    ),
    "heat": ([{"t": 1, "xx": -0.5}], 2),  # x, xx with t
    "both read": ([{"t": 1, "xx": -0.5}, {"t": 1}], 3),
    "other numbers": ([{"yt": 1, "xxxy": 3, "xxx": 2, "t": 1}], 8),  # 1 : 3 is not 1 : 2
    "one number": ([{"yt": 2, "xxxy": 3, "xxx": 6, "t": 4}], 7),  # t goes with xxx
    "t twice": ([{"xxxx": 1, "xxt": 1, "tt": 5}], 5),  # x, xx, t, xxx with xt, the sum
    "two lifts": ([{"xxxx": 1, "xy": 2, "xt": -3}], 4),
    "two orders": ([{"xxx": 1, "t": 2}, {"xx": 1, "y": 1}], 4),  # only one of them
    "two sums": ([{"xxx": 1, "yy": 2}, {"xxy": 1, "tt": 1}], 7),
}


def operator(numbers: Mapping[str, float]) -> do.operators.Operator:
    terms = []
    for word, number in numbers.items():
        orders = {NAMES.index(letter): word.count(letter) for letter in word}
        terms.append(number * (do.Mixed(orders) if len(orders) > 1 else _one(orders)))
    return sum(terms)  # pyright: ignore


def _one(orders: Mapping[int, int]) -> do.operators.Operator:
    return do.Partial(*next(iter(orders.items()))) if orders else do.Identity()


def by_grad(numbers: Mapping[str, float], u):
    @functools.cache
    def derivative(word):
        return jax.grad(derivative(word[:-1]), NAMES.index(word[-1])) if word else apart

    def apart(*point):
        return u(jnp.stack(point))

    return jax.jit(lambda x: sum(number * derivative(word)(*x) for word, number in numbers.items()))


def network(x: jax.Array) -> jax.Array:
    first, second, last = weights(x.dtype)
    return jnp.dot(jnp.tanh(jnp.sin(x @ first) @ second), last)


def weights(dtype) -> list[jax.Array]:
    draws = np.random.default_rng(0)
    with jax.ensure_compile_time_eval():
        return [jnp.asarray(draws.normal(size=size), dtype) for size in ((3, 4), (4, 4), (4,))]


def with_structure(x: jax.Array) -> jax.Array:
    """Products, quotients, a choice, a loop, and entries that meet few directions."""
    y = jnp.sort(jnp.stack([x[0] * x[1] + x[2], jnp.exp(x[2] - x[0] ** 2), x[0] / (3 + x[1])]))

    def body(_, z):
        return jnp.tanh(z * y + x)

    return jnp.sum(jax.lax.fori_loop(0, 3, body, y) * y) + jnp.where(x[0] > 0, x[1], x[2]) ** 4


X = np.array([0.3, -0.7, 0.5])


@pytest.mark.parametrize("u", [network, with_structure])
def test_values_and_gradients(u):
    operators = {name: [operator(each) for each in sums] for name, (sums, _) in SUMS.items()}

    words = {word for sums, _ in SUMS.values() for each in sums for word in each}

    def ours(x):
        found = {name: jnp.stack(do.exact(each)(u)(x)) for name, each in operators.items()}
        return found, found

    def theirs(x):
        """Each derivative once, whatever number of sums has it."""
        of = {word: by_grad({word: 1}, u)(x) for word in words}
        found = {
            name: jnp.stack([sum(c * of[word] for word, c in each.items()) for each in sums])
            for name, (sums, _) in SUMS.items()
        }
        return found, found

    every = [jax.jit(jax.jacfwd(f, has_aux=True))(jnp.asarray(X)) for f in (ours, theirs)]
    for got, expected in zip(*every, strict=True):  # slopes, and values
        for name in SUMS:
            scale = np.abs(expected[name]).max()
            np.testing.assert_allclose(
                got[name], expected[name], rtol=1e-11, atol=1e-12 * scale, err_msg=name
            )


@pytest.mark.parametrize("name", SUMS)
def test_how_many_coefficients(name):
    """Between two layers there is one product with the matrix for each, and one for the primal."""
    sums, carried = SUMS[name]
    operators = [operator(each) for each in sums]
    equations = jaxprs.of(lambda x: do.exact(operators)(network)(x), jnp.asarray(X))
    products = [
        eqn
        for eqn in jaxprs.named(equations, "dot_general")
        if getattr(eqn.invars[1].aval, "shape", ()) == (4, 4)
    ]
    assert len(products) == 1 + carried


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_numbers_of_any_size(size):
    """Errors are those of the terms that are added up, in single precision as well."""
    sums = {"yt": size, "xxxy": 1.0, "yy": 3.0}
    x = jnp.asarray(X)
    parts = [abs(by_grad({word: number}, network)(x)) for word, number in sums.items()]
    truth = by_grad(sums, network)(x)
    for kind in (jnp.float64, jnp.float32):
        got = operator(sums).exact(network)(x.astype(kind))
        assert got.dtype == kind
        assert abs(float(got) - truth) <= 200 * float(jnp.finfo(kind).eps) * sum(parts)


@pytest.mark.parametrize("kind", [jnp.float32, jnp.float16])
def test_nothing_is_lifted_out_of_range(kind):
    """Tangents of 1e40, or of 1e6 in half precision, would be infinite."""
    small, large = (1e-30, 1e10) if kind == jnp.float32 else (1e-3, 1e3)
    sums = {"yt": large, "xxxy": small}
    x = jnp.asarray(X, kind)
    got, truth = operator(sums).exact(network)(x), by_grad(sums, network)(jnp.asarray(X))
    assert abs(float(got) - truth) <= 50 * float(jnp.finfo(kind).eps) * abs(truth)


def test_nothing_is_joined_out_of_range():
    """1e28 u_xxxy + 1e-18 u_yt of e^{ax + by} + e^{c (y + t)}: the second derivative is as much
    larger as its number is smaller, and the quotient of the numbers is none in single precision.
    """
    a, b, c = 1e-8, 1e4, 1e14
    x, y, t = 0.3e8, 0.7e-14, 0.1e-14

    def u(x):
        return jnp.exp(a * x[0] + b * x[1]) + jnp.exp(c * (x[1] + x[2]))

    got = operator({"xxxy": 1e28, "yt": 1e-18}).exact(u)(jnp.array([x, y, t], jnp.float32))
    truth = 1e28 * a**3 * b * math.exp(a * x + b * y) + 1e-18 * c * c * math.exp(c * (y + t))
    assert float(got) == pytest.approx(truth, rel=1e-5)


def test_what_is_not_one_number():
    """Traced and complex numbers, functions, and components of different entries."""
    x = jnp.asarray(X)

    def pair(x):
        return jnp.stack([network(x), network(x) ** 2])

    mixed, third = operator({"xt": 1}), operator({"xxxx": 1})
    found = jax.jit(lambda c: (c * mixed + third).exact(network)(x))(2.0)
    np.testing.assert_allclose(found, by_grad({"xt": 2, "xxxx": 1}, network)(x), rtol=1e-12)
    both = (2j * mixed + third).exact(network)(x)
    np.testing.assert_allclose(both.imag, by_grad({"xt": 2}, network)(x), rtol=1e-12)
    field = ((lambda x: x[0]) * mixed + third).exact(network)(x)
    np.testing.assert_allclose(field, by_grad({"xt": X[0], "xxxx": 1}, network)(x), rtol=1e-12)
    apart = (mixed @ do.Component(0) + third @ do.Component(1)).exact(pair)(x)
    expected = by_grad({"xt": 1}, network)(x)
    expected += by_grad({"xxxx": 1}, lambda x: network(x) ** 2)(x)
    np.testing.assert_allclose(apart, expected, rtol=1e-12)


def test_points_and_arguments():
    points = jnp.asarray(np.random.default_rng(1).normal(size=(5, 3)))
    sums = SUMS["KdV"][0][-1]
    L, expected = operator(sums), jax.vmap(by_grad(sums, network))(points)
    for chunk in (None, 1):
        got = jax.vmap(L.exact(network, chunk=chunk))(points)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)

    def u(x, t):
        return network(jnp.append(x, t))

    H = do.Partial(argnum=1) - 0.5 * do.Partial(0, 2) + do.Partial(1, 4)
    expected = by_grad({"t": 1, "xx": -0.5, "yyyy": 1}, network)(points[0])
    np.testing.assert_allclose(H.exact(u)(points[0, :2], points[0, 2]), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["KdV", "KP", "heat"])
def test_where_layers_are_saturated(name):
    """Nothing moves there, however large the directions are."""
    sums = SUMS[name][0][-1]

    def u(x):
        return jnp.sum(jnp.tanh(jnp.tanh(1e15 * x + 1e4) * 1e20))

    x = jnp.asarray(np.abs(X), jnp.float32)
    L = operator(sums)
    assert L.exact(u)(x) == 0
    assert not np.any(jax.grad(L.exact(u))(x))
