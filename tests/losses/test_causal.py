"""Causal weights beside their formula, point by point, in NumPy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

from ..problems import PARTS
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(3)
TRANSPORT = do.equations.Equation.linear(do.Partial(1) + 2 * do.Partial(0), lambda x: jnp.sin(x[0]))
LAST = do.losses.Causal(lambda x: x[-1], 0.7, slices=3)


def points_of(count):
    return jax.random.uniform(KEY, (count, 2))


def u(x, a: Any = 1.0):
    return jnp.cos(a * x[0] * x[1]) + x[1] ** 2


SLOPES = jax.jit(jax.vmap(jax.grad(u), (0, None)))


def residuals_of(points, a: Any = 1.0):
    ux, ut = SLOPES(points, a).T
    return np.asarray(ut + 2 * ux - jnp.sin(points[:, 0]))


def by_formula(squares, times, tolerance, slices):
    """w_i = exp(−ε Σ_{k<i} L_k), one point after another."""
    order = sorted(range(len(times)), key=lambda i: times[i])
    parts = [[] for _ in range(min(slices, len(times)))]
    for rank, i in enumerate(order):
        parts[rank * len(parts) // len(times)].append(i)
    weights, before = np.zeros(len(times)), 0.0
    for part in parts:
        weights[part] = np.exp(-tolerance * before)
        before += np.mean([squares[i] for i in part])
    return weights


@pytest.mark.parametrize(("count", "slices"), [(12, 4), (10, 4), (3, 32), (1, 1)])
def test_weights(count, slices):
    squares, times = np.random.default_rng(0).uniform(0.1, 2.0, (2, count))
    causal = do.losses.Causal(lambda x, t: -t, 0.3, slices)
    got = causal.weights(jnp.asarray(squares), (jnp.zeros((count, 2)), jnp.asarray(times)))
    np.testing.assert_allclose(got, by_formula(squares, -times, 0.3, slices), rtol=1e-12)


@pytest.mark.parametrize("pool", [1, 3])
def test_loss_and_its_gradient(pool):
    """The loss is Σ w r² / N, and its gradient that with the weights as numbers."""
    draw = lambda key, count: jax.random.uniform(key, (count, 2))
    loss = do.losses.ResidualLoss(
        TRANSPORT, 7, probes="exact", points=draw, causal=LAST, pool=pool, gpinn=0.3
    )
    a = jnp.array(1.3)
    of = lambda a: loss.terms(lambda x: u(x, a), KEY)
    drawn = jax.jit(lambda a: loss._drawn(lambda x: u(x, a), KEY))(a)
    points = drawn.points
    weights = by_formula(residuals_of(points, a) ** 2, np.asarray(points)[:, -1], 0.7, 3)
    np.testing.assert_allclose(drawn.weights, weights, rtol=1e-12)

    def frozen(a):
        def residual(x):
            ux, ut = jax.grad(u)(x, a)
            return ut + 2 * ux - jnp.sin(x[0])

        slopes = jax.vmap(lambda x: jnp.sum(jax.grad(residual)(x) ** 2))(points)
        squares = jax.vmap(residual)(points) ** 2
        return {"residual": jnp.mean(weights * squares), "gpinn": 0.3 * jnp.mean(weights * slopes)}

    for got, expected in ((of, frozen), (jax.jacrev(of), jax.jacrev(frozen))):
        found, asked = jax.jit(lambda a, f=got, g=expected: (f(a), g(a)))(a)
        for name in ("residual", "gpinn"):
            np.testing.assert_allclose(found[name], asked[name], rtol=1e-11)


def test_squares_add_up_and_stay_in_a_step():
    """`pointwise` has the weights of the model that it is asked for, of whatever model its
    functions are: a line search compares values of one function.
    """
    points = points_of(6)
    loss = do.losses.ResidualLoss(TRANSPORT, probes="exact", points=points, causal=LAST)
    total, listed, parts, other = jax.jit(
        lambda: (
            loss(u, KEY),
            loss.residuals(u, KEY),
            [each(u) for each in loss.pointwise(u, KEY)["residual"]],
            [each(lambda x: u(x, 2.0)) for each in loss.pointwise(u, KEY)["residual"]],
        )
    )()
    weights = by_formula(residuals_of(points) ** 2, np.asarray(points)[:, -1], 0.7, 3)
    np.testing.assert_allclose(total, np.mean(weights * residuals_of(points) ** 2), rtol=1e-12)
    np.testing.assert_allclose(np.sum(listed["residual"] ** 2), total, rtol=1e-12)
    np.testing.assert_allclose(np.sum(np.square(parts)), total, rtol=1e-12)
    expected = np.mean(weights * residuals_of(points, 2.0) ** 2)
    np.testing.assert_allclose(np.sum(np.square(other)), expected, rtol=1e-12)


def test_draws_have_the_weights_of_their_squares():
    points = jax.random.uniform(KEY, (4, 5))
    u = lambda x: jnp.sin(x[0] * x[1]) + x[2] ** 3 * x[4]
    heat = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0)
    loss = do.losses.ResidualLoss(heat, n=3, probes="gaussian", points=points, causal=LAST)
    plain = do.losses.ResidualLoss(heat, n=3, probes="gaussian", points=points)
    squares, got, bias, plain_bias = jax.jit(
        lambda: (
            plain.residuals(u, KEY)["residual"] ** 2 * 4,
            loss(u, KEY),
            loss.bias(u, KEY),
            plain.bias(u, KEY),
        )
    )()
    weights = by_formula(squares, np.asarray(points)[:, -1], 0.7, 3)
    np.testing.assert_allclose(got, np.mean(weights * squares), rtol=1e-12)
    assert 0 < bias < plain_bias


def test_pinn():
    points = points_of(6)
    net = eqx.nn.MLP(2, "scalar", 4, 1, activation=jnp.tanh, key=KEY)
    pinn = do.nn.PINN(net, TRANSPORT)
    loss = do.losses.ResidualLoss(TRANSPORT, probes="exact", points=points, causal=LAST)
    got, expected = jax.jit(lambda: (pinn.loss(points, causal=LAST), loss(net, KEY)))()
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.once("zeros and ones")
@pytest.mark.parametrize("name", PARTS)
def test_problems_know_their_time(name):
    """It is 0 where the data are, which the ansatz builds in or a condition has."""
    dim = min(8, do.pde.recommended(name).dim)
    problem: Any = do.pde.make(name, dim=dim, key=KEY)
    point = jnp.full(problem.inputs or problem.dim, 0.5)
    from_first = (
        *("burgers", "allen-cahn-1d", "advection", "wave", "kdv", "g-kdv", "kp"),
        *("heat", "kuramoto", "ginzburg", "gray", "taylor"),
    )
    with_time = name.startswith(("hjb", "black", "semilinear", *from_first))
    elapsed = problem.elapsed
    assert (elapsed(point) is not None) == with_time
    if with_time:
        forwards = name.startswith(from_first)
        start = 0.0 if forwards else problem.duration
        begin = np.append(point[:-1], start)
        time, slope = jax.jit(jax.value_and_grad(elapsed))(begin)
        assert (time, slope[-1]) == (0, 1 if forwards else -1)


class Decay(eqx.Module):
    """1 + t times a network."""

    net: eqx.nn.MLP

    def __call__(self, t):
        return 1 + t * self.net(t)


OPTIMISERS = {
    "adam": (optax.adam(1e-2), 1500, 0.02),
    "levenberg-marquardt": (do.methods.GaussNewton(adaptive=True), 80, 0.001),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_in_time(name):
    """u′ = −u, u(0) = 1: from weights that look at the beginning only to the solution."""
    optimiser, steps, error = OPTIMISERS[name]
    loss = do.losses.ResidualLoss(
        do.equations.Equation.linear(do.Partial() + do.Identity(), lambda t: 0.0),
        batch=32,
        probes="exact",
        points=lambda key, count: 3 * jax.random.uniform(key, (count,)),
        causal=do.losses.Causal(lambda t: t, 10.0, slices=8),
    )
    u = Decay(eqx.nn.MLP("scalar", "scalar", 8, 1, activation=jnp.tanh, key=jax.random.key(0)))
    weights: Any = eqx.filter_jit(lambda u: loss._drawn(u, KEY).weights)
    trained = do.train.fit(u, loss, optimiser, steps, key=KEY).model
    assert weights(u).min() < 1e-3
    assert weights(trained).min() > 0.9
    times = np.linspace(0, 3, 50)
    np.testing.assert_allclose(jax.vmap(trained)(times), np.exp(-times), atol=error)


ONE: Any = 1


test_bad_input = refusals(
    {
        "Causal expects a finite positive tolerance, got 0.0": lambda: do.losses.Causal(
            lambda x: x[-1], 0.0
        ),
        "no square has the mean that 'product' is for; leave one of the two out": lambda: (
            do.losses.ResidualLoss(TRANSPORT, 3, 2, square="product", causal=LAST)
        ),
        "expect the time of a point, got None, which is that of an equation without time": lambda: (
            do.losses.Causal(lambda x: None).weights(jnp.ones(2), jnp.ones((2, 2)))
        ),
        r"the time .*\(2,\)": lambda: do.losses.Causal(lambda x: x).weights(
            jnp.ones(2), jnp.ones((2, 2))
        ),
        r"the time takes \(x, t\), and here it gets 1 argument": lambda: do.losses.Causal(
            lambda x, t: t
        ).weights(jnp.ones(2), jnp.ones((2, 2))),
    },
    {
        "expects a causal that is a diffop.losses.Causal, such as .*, got 1": lambda: (
            do.losses.ResidualLoss(TRANSPORT, 3, probes="exact", points=points_of(3), causal=ONE)
        )
    },
)
