"""Exact operators through a first layer that is much narrower than there are coordinates, beside
nested differentiation: values and derivatives of losses by the layer.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")
D, H, POINTS = 53, 5, 3


def network(width=H, dim=D, dtype=float):
    keys = jr.split(jr.key(0), 3)
    net = eqx.nn.MLP(dim, "scalar", width, depth=2, activation=jnp.tanh, key=keys[0])
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_array(leaf) else leaf, net)


class Other(eqx.Module):
    """A first layer that is summed along its first axis."""

    first: jax.Array
    second: jax.Array

    def __call__(self, x):
        return jnp.sum(jnp.tanh(self.second @ jnp.tanh(x @ self.first)))


def other():
    keys = jr.split(jr.key(0))
    return Other(jr.normal(keys[0], (D, H)) / D**0.5, jr.normal(keys[1], (H, H)) / H**0.5)


def factor(x):
    return 1 - jnp.sum(x**2)


FUNCTIONS = {
    "plain": (network, lambda net: net),
    "ansatz": (network, lambda net: lambda x: factor(x) * net(x)),
    "along_the_first_axis": (other, lambda net: lambda x: factor(x) * net(x)),
    "twice": (network, lambda net: lambda x: net(x) * jnp.sum(jnp.cos(net.layers[0](x)))),
    "checkpoint": (network, lambda net: lambda x: factor(x) * jax.checkpoint(lambda x: net(x))(x)),
}
OPERATORS = {
    "laplacian": (lambda: do.Laplacian(), lambda h, x: jnp.trace(h)),
    "scaled": (lambda: -0.5 * do.Laplacian(), lambda h, x: -jnp.trace(h) / 2),
    "some": (lambda: do.Laplacian(dims=range(1, D)), lambda h, x: jnp.trace(h[1:, 1:])),
    "parabolic": (
        lambda: do.ParabolicTrace(lambda x: 1 + x**2),
        lambda h, x: jnp.sum((1 + x**2) ** 2 * jnp.diagonal(h)) / 2,
    ),
}
CASES = [("laplacian", name) for name in FUNCTIONS]
CASES += [(name, "ansatz") for name in OPERATORS if name != "laplacian"]


def loss(operator, build):
    """Of a network's parameters, at points."""
    return lambda net, points: jnp.mean(jax.vmap(operator(build(net)))(points) ** 2)


def nested(trace):
    return lambda u: lambda x: trace(jax.hessian(u)(x), x)


DERIVATIVES = {
    "value": lambda f: f,
    "gradient": jax.grad,
    "by_points": lambda f: lambda net, x: jax.grad(f, argnums=1)(net, x),
    "along": lambda f: lambda net, x: jax.jvp(jax.grad(lambda n: f(n, x)), (net,), (net,))[1],
    "twice": lambda f: (
        lambda net, x: jax.grad(
            lambda n: sum(jnp.sum(g**2) for g in jax.tree.leaves(jax.grad(f)(n, x)))
        )(net)
    ),
}


@functools.cache
def derivatives(case, ours):
    """What a loss and its derivatives are, by our operators and by nested differentiation."""
    (make, trace), (module, build) = OPERATORS[case[0]], FUNCTIONS[case[1]]
    operator = make().exact if ours else nested(trace)
    net, points = module(), jr.normal(jr.key(1), (POINTS, D)) / D**0.5
    arrays, static = eqx.partition(net, eqx.is_array)
    of_arrays = lambda arrays, x: loss(operator, build)(eqx.combine(arrays, static), x)
    chosen = DERIVATIVES if case[0] == "laplacian" else ("value", "gradient")
    made = lambda: {name: DERIVATIVES[name](of_arrays)(arrays, points) for name in chosen}
    return jax.jit(made)()


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_operators(case):
    got, want = (derivatives(case, ours) for ours in (True, False))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales(scale):
    """Of the first layer's rows, the points the other way round."""
    net = eqx.tree_at(lambda net: net.layers[0].weight, network(), replace_fn=lambda w: w * scale)
    points = jr.normal(jr.key(1), (POINTS, D)) / D**0.5 / scale
    got, want = (
        jax.jit(jax.vmap(operator(net)))(points)
        for operator in (do.Laplacian().exact, nested(lambda h, x: jnp.trace(h)))
    )
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_ensembles():
    """Networks side by side: the first layer is mapped, too."""
    nets = eqx.filter_vmap(lambda key: eqx.nn.MLP(D, "scalar", H, 2, jnp.tanh, key=key))(
        jr.split(jr.key(0), 2)
    )
    points = jr.normal(jr.key(1), (POINTS, D)) / D**0.5

    def total(operator, nets):
        one = lambda net: jnp.mean(jax.vmap(operator(net))(points) ** 2)
        return jnp.sum(eqx.filter_vmap(one)(nets))

    got, want = (
        eqx.filter_jit(eqx.filter_grad(lambda nets, op=op: total(op, nets)))(nets)
        for op in (do.Laplacian().exact, nested(lambda h, x: jnp.trace(h)))
    )
    arrays = (jax.tree.leaves(eqx.filter(each, eqx.is_array)) for each in (got, want))
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_operators_of_operators():
    """Jets are pushed through an operator."""
    net = network()
    u, x = lambda x: factor(x) * net(x), jr.normal(jr.key(1), (D,)) / D**0.5
    squared = lambda op: lambda x: op(u)(x) ** 2
    exact, trace = do.Laplacian().exact, nested(lambda h, x: jnp.trace(h))
    got, want = jax.jit(lambda: (exact(squared(exact))(x), trace(squared(trace))(x)))()
    np.testing.assert_allclose(got, want, rtol=1e-9)


DIM, WIDTH, MANY = 150_000, 16, 60


def large(dtype):
    """A loss of a network in very many dimensions."""
    net, points = network(WIDTH, DIM, dtype), jr.normal(jr.key(1), (MANY, DIM), dtype) / DIM**0.5
    arrays, static = eqx.partition(net, eqx.is_array)
    build = FUNCTIONS["ansatz"][1]
    made = loss(do.Laplacian().exact, build)
    return lambda arrays, x: made(eqx.combine(arrays, static), x), arrays, points


def test_single_precision():
    """Beside double precision."""
    f, arrays, points = large(jnp.float32)
    double = jax.tree.map(lambda leaf: leaf.astype(float), (arrays, points))
    got, want = (jax.jit(jax.grad(f))(*each) for each in ((arrays, points), double))
    for a, b in zip(*(map(np.asarray, jax.tree.leaves(each)) for each in (got, want)), strict=True):
        assert np.linalg.norm(a - b) <= 3e-6 * np.linalg.norm(b)
