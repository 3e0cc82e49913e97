"""Functions of long arrays in blocks, beside the functions themselves, and a first layer with the
Gram matrix of its rows beside nested differentiation.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop.taylor import blocks as taylor_blocks
from diffop.taylor.blocks import Blockwise, in_blocks
from diffop.taylor.replacing import one_pass

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
LENGTH, BLOCK = 11, 16  # numbers, of which the widest array has some in a row: blocks, and a rest
MATRIX, VECTOR = RNG.normal(size=(3, LENGTH)), RNG.normal(size=LENGTH)
SHORT = RNG.normal(size=(2, 3))
MATRICES, VECTORS = RNG.normal(size=(4, 3, LENGTH)), RNG.normal(size=(LENGTH, 4))
OPERANDS = (SHORT, MATRIX, VECTOR)


@pytest.fixture
def small(monkeypatch):
    """Blocks of small arrays."""
    monkeypatch.setattr(taylor_blocks, "LONG", 1)
    monkeypatch.setattr(taylor_blocks, "LARGE", 1)
    monkeypatch.setattr(taylor_blocks, "BLOCK", BLOCK)
    monkeypatch.setattr(taylor_blocks, "NARROW", 1)
    monkeypatch.setattr(taylor_blocks, "MANY", 1000)
    monkeypatch.setattr(taylor_blocks, "on_lone_cpu", lambda *_: True)
    monkeypatch.setattr(one_pass, "_LEAST", 1)
    derivatives.cache_clear()
    jax.clear_caches()
    yield
    jax.clear_caches()


def function(short, matrix, vector):
    """Two sums over the long axis, and what is as long as the operands."""
    return matrix @ jnp.sin(vector), matrix @ matrix.T, short @ (matrix * vector[None])


def called(*operands):
    return in_blocks(Blockwise(function, (None, 1, 0), (None, None, 1)), *operands)


def scalar(f):
    return lambda *xs: sum(jnp.sum(jnp.cos(y)) for y in f(*xs))


EVERY = (0, 1, 2)
TRANSFORMATIONS = {
    "value": lambda f: f,
    "jvp": lambda f: lambda *xs: jax.jvp(f, xs, xs),
    "jvp_by_one": lambda f: lambda a, b, c: jax.jvp(lambda c: f(a, b, c), (c,), (c,)),
    "gradient": lambda f: jax.grad(scalar(f), argnums=EVERY),
    "gradient_by_one": lambda f: jax.grad(scalar(f), argnums=1),
    "gradient_of_one": lambda f: jax.grad(lambda *xs: jnp.sum(f(*xs)[1] ** 2), argnums=1),
    "gradient_twice": lambda f: jax.grad(
        lambda *xs: sum(jnp.sum(g**3) for g in jax.grad(scalar(f), argnums=EVERY)(*xs)),
        argnums=EVERY,
    ),
    "jvp_of_gradient": lambda f: lambda *xs: jax.jvp(jax.grad(scalar(f), argnums=EVERY), xs, xs),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(scalar(f)), argnums=EVERY),
}
AXES = {
    "none": None,
    "vector": (None, None, 1),
    "matrix": (None, 0, None),
    "both": (None, 0, 1),
}


def results(f, axes, transform):
    """Transformed at points, and the points in the transformation."""
    if axes is None:
        return transform(f)(*OPERANDS)
    operands = (
        SHORT,
        MATRIX if axes[1] is None else MATRICES,
        VECTOR if axes[2] is None else VECTORS,
    )
    mapped = jax.vmap(lambda *xs: list(f(*xs)), axes)
    return transform(mapped)(*operands), jax.vmap(transform(f), axes)(*operands)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(name, axes):
    got, want = (
        jax.jit(lambda f=f: results(f, AXES[axes], TRANSFORMATIONS[name]))()
        for f in (called, function)
    )
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("small")
def test_without_jit():
    for a, b in zip(called(*OPERANDS), function(*OPERANDS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.usefixtures("small")
def test_jets_are_pushed_through_what_is_inside():
    u = lambda f: lambda x: scalar(f)(SHORT, MATRIX, x)
    got = jax.jit(do.Laplacian().exact(u(called)))(VECTOR)
    np.testing.assert_allclose(got, jnp.trace(jax.hessian(u(function))(VECTOR)), rtol=1e-12)


@pytest.mark.parametrize(("size", "points", "loops"), [(2, 1, 0), (3, 1, 1), (3, 40, 0)])
def test_what_is_taken_whole(monkeypatch, size, points, loops):
    """Small arrays, and products with many points."""
    for name, value in (("LARGE", 3 * LENGTH), ("NARROW", 1), ("BLOCK", 12)):
        monkeypatch.setattr(taylor_blocks, name, value)
    matrix, vectors = MATRIX[:size], np.tile(VECTOR, (points, 1))
    mapped = jax.vmap(lambda x: called(SHORT[:, :size], matrix, x))
    assert jax.jit(mapped).lower(vectors).as_text().count("stablehlo.while") == loops


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


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_operators_in_blocks(case):
    got, want = (derivatives(case, ours) for ours in (True, False))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_layers_are_in_blocks(case):
    """Where the directions are all basis vectors with one weight, the layer and the Gram matrix of
    its rows are, once.
    """
    module, build = FUNCTIONS[case[1]]
    points = jnp.ones((POINTS, D)) / D
    operator = jax.vmap(OPERATORS[case[0]][0]().exact(build(module())))
    eqns = [
        e for e in jax.make_jaxpr(operator)(points).eqns if e.primitive is taylor_blocks.in_blocks_p
    ]
    shapes = [[var.aval.shape for var in eqn.outvars] for eqn in eqns]
    others = ("some", "parabolic")
    assert shapes == ([] if case[0] in others else [[(POINTS, H), (H, H)]])


@pytest.mark.usefixtures("small")
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


@pytest.mark.usefixtures("small")
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


@pytest.mark.usefixtures("small")
def test_operators_of_operators():
    """Jets are pushed through an operator in blocks, once more in blocks."""
    net = network()
    u, x = lambda x: factor(x) * net(x), jr.normal(jr.key(1), (D,)) / D**0.5
    squared = lambda op: lambda x: op(u)(x) ** 2
    exact, trace = do.Laplacian().exact, nested(lambda h, x: jnp.trace(h))
    got, want = jax.jit(lambda: (exact(squared(exact))(x), trace(squared(trace))(x)))()
    np.testing.assert_allclose(got, want, rtol=1e-9)


DIM, WIDTH, MANY = 150_000, 16, 60


def large(dtype):
    """A loss of a network in so many dimensions that blocks are not made smaller."""
    net, points = network(WIDTH, DIM, dtype), jr.normal(jr.key(1), (MANY, DIM), dtype) / DIM**0.5
    arrays, static = eqx.partition(net, eqx.is_array)
    build = FUNCTIONS["ansatz"][1]
    made = loss(do.Laplacian().exact, build)
    return lambda arrays, x: made(eqx.combine(arrays, static), x), arrays, points


@pytest.fixture
def lone(monkeypatch):
    """A lone CPU, where tests have several."""
    monkeypatch.setattr(taylor_blocks, "on_lone_cpu", lambda *_: True)


@pytest.mark.usefixtures("lone")
def test_single_precision():
    """Beside double precision."""
    f, arrays, points = large(jnp.float32)
    double = jax.tree.map(lambda leaf: leaf.astype(float), (arrays, points))
    got, want = (jax.jit(jax.grad(f))(*each) for each in ((arrays, points), double))
    for a, b in zip(*(map(np.asarray, jax.tree.leaves(each)) for each in (got, want)), strict=True):
        assert np.linalg.norm(a - b) <= 3e-6 * np.linalg.norm(b)


@pytest.mark.usefixtures("lone")
def test_gradients_by_the_first_layer_are_one_array():
    """No array of all coordinates is made in reverse mode but the gradient, and none is a product
    of the layer as a whole.
    """
    f, arrays, points = large(jnp.float32)
    program = jax.jit(jax.grad(f)).lower(arrays, points).compile().as_text() or ""
    entry = program[program.index("ENTRY") :]
    made = [line for line in entry.splitlines() if f"= f32[{WIDTH},{DIM}]" in line]
    made = [line for line in made if "parameter(" not in line and "get-tuple-element(" not in line]
    assert len(made) == 2, made  # zeros, and the last block of it
    eqns = jax.make_jaxpr(jax.grad(f))(arrays, points).eqns
    long = [eqn for eqn in eqns if (WIDTH, DIM) in [each.aval.shape for each in eqn.outvars]]
    assert list(jaxprs.count(long)) == ["in_blocks"]
