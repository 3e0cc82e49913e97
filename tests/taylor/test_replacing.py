"""Exact second-order operators with replaced directions, against nested differentiation.

d is larger than the widths, so that directions are replaced wherever the cost rule says so;
`test_directions_are_replaced` looks whether they were.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax

import diffop as do

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
D, H = 41, 5


class Net(eqx.Module):
    """tanh layers on top of a first weight matrix."""

    first: jax.Array
    rest: tuple[jax.Array, ...]

    def __call__(self, x):
        h = self.first @ x
        for W in self.rest:
            h = W @ jnp.tanh(h)
        return jnp.sum(jnp.tanh(h))


def network(first=None, width=H):
    keys = jr.split(jr.key(0), 3)
    first = jr.normal(keys[0], (width, D)) / D**0.5 if first is None else first
    return Net(first, tuple(jr.normal(k, (width, width)) / width**0.5 for k in keys[1:]))


def with_columns(change):
    return network(change(jr.normal(jr.key(7), (H, D)) / D**0.5))


def nested(tensor):
    """tr(C D²u) by differentiating twice."""
    return lambda u: lambda x: jnp.sum(tensor(x) * jax.hessian(u)(x))


def ansatz(net):
    return lambda x: (1 - jnp.sum(x**2)) * net(x)


RNG = np.random.default_rng(0)
W = RNG.normal(size=(D, 3)) / D**0.5
# name: how u is made from a network
FUNCTIONS = {
    "network": lambda net: net,
    "ansatz": ansatz,
    "ansatz_by_products": lambda net: lambda x: (1.0 - jnp.dot(x, x)) * net(2.0 * x + 1),
    "two_factors": lambda net: lambda x: net(x) * jnp.sin(jnp.sum(x[1:] * x[:-1])) * net(-x),
    "skip": lambda net: lambda x: net(x) + jnp.sum(jnp.tanh((x @ W) @ W.T) * x),
    "dense_net": lambda net: lambda x: jnp.sum(jnp.sin(W.T @ x + net(x) * (W.T @ x))),
    "branches": lambda net: lambda x: jnp.sum(jnp.outer(jnp.sin(x @ W), x @ W)) * net(x),
    "scaled_input": lambda net: lambda x: net(jnp.sin(x)),
    "attention": lambda net: (
        lambda x: jnp.sum(jax.nn.softmax(jnp.outer(x @ W, x @ W)) @ jnp.tanh(x @ W)) * net(x)
    ),
    # numbers that are kept apart from an array as long as they have an ordinary size
    "small_number": lambda net: lambda x: net(x) * jnp.exp(-jnp.sum(2.0**-12 * (x * x))),
    "large_number": lambda net: lambda x: net(x) * jnp.exp(-jnp.sum(2.0**12 * (x * x)) / 5000),
    "jitted": lambda net: jax.jit(lambda x: jax.jit(ansatz(net))(x) * 2.0),
    "remat": lambda net: lambda x: jnp.sum(x**2) * jax.checkpoint(lambda y: net(y))(x),
    "cond": lambda net: (
        lambda x: (
            lax.cond(jnp.sum(x) > 0, lambda y: jnp.sum(jnp.tanh(y)), lambda y: jnp.prod(y), x @ W)
            * net(x)
        )
    ),
    "scan": lambda net: (
        lambda x: (
            jnp.sum(
                lax.scan(lambda c, A: (jnp.tanh(A @ c), jnp.sum(c)), x @ W, jnp.stack([W[:3]] * 3))[
                    1
                ]
            )
            * net(x)
        )
    ),
    "while": lambda net: (
        lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(W[:3] @ c), x @ W)[0] * net(x)
    ),
    "norm": lambda net: lambda x: net(x) * jnp.exp(-jnp.linalg.norm(x)),
    "two_outputs": lambda net: lambda x: net(x) * jnp.sum(jnp.linalg.inv(jnp.diag(x @ W + 9.0))),
    "fallback": lambda net: lambda x: jnp.prod(jnp.sort(x @ W)) + jnp.sum(jnp.cumprod(x @ W)),
}
Z = W.T + 1j * RNG.normal(size=(3, D)) / D**0.5
z = lambda x: Z @ x.astype(complex)
# fewer complex entries than directions, behind which u is not analytic
COMPLEX = {
    "squared_modulus": lambda net: lambda x: net(x) * jnp.sum(jnp.abs(z(x)) ** 2),
    "conjugate": lambda net: lambda x: jnp.real(jnp.sum(jnp.conj(z(x)) * jnp.sin(z(x)))) * net(x),
    "beside_real": lambda net: lambda x: jnp.sum(jnp.sin(x @ W) * jnp.imag(jnp.exp(z(x)))),
    "one_number": lambda net: lambda x: net(x) * jnp.abs(jnp.sum(jnp.sin(z(x)))),
    "two_cuts": lambda net: (
        lambda x: jnp.real(jnp.sum(jnp.tanh(Z[:2, :3] @ jnp.conj(jnp.sin(z(jnp.exp(x)))))))
    ),
    "filtered": lambda net: (
        lambda x: jnp.sum(jnp.tanh(W.T @ jnp.sin(jnp.fft.irfft(jnp.fft.rfft(x)[:3], n=D)))) * net(x)
    ),
    "determinant": lambda net: (
        lambda x: jnp.linalg.slogdet(jnp.outer(z(x), z(x)) + jnp.diag(jnp.cos(z(x))))[1]
    ),
}
# products of values that have axes of size one with values that have none
ONE_ENTRY = {
    "output": lambda net: lambda x: (net(x)[None] * (1 - jnp.sum(x**2)))[0],
    "layer": lambda net: lambda x: jnp.sum(jnp.sin((x @ W)[:1] * jnp.sum(jnp.cos(x @ W)))) * net(x),
    "matrix": lambda net: (
        lambda x: jnp.sum(jnp.tanh(jnp.sin(x @ W[:, :1])[None] * jnp.sum((x @ W) ** 2)))
    ),
    "quotient": lambda net: lambda x: ((x @ W)[:1] / (2 + jnp.sum((x @ W) ** 2)))[0] * net(x),
    "power": lambda net: lambda x: jnp.sum((2 + jnp.sin(x @ W)[:1]) ** jnp.sum(jnp.cos(x @ W))),
}
NETWORKS = {
    "full": network,
    "zero_columns": lambda: with_columns(lambda A: A.at[:, ::2].set(0.0)),
    "repeated_columns": lambda: with_columns(lambda A: A.at[:, 1:].set(A[:, :1])),
    "collinear_rows": lambda: with_columns(lambda A: A.at[1].set(2 * A[0])),
    "zero": lambda: with_columns(jnp.zeros_like),
    "wider_than_d": lambda: network(width=2 * D),
}
DIAGONAL = RNG.normal(size=D)
MATRIX = RNG.normal(size=(D, D))
X = RNG.normal(size=D) / D**0.5
SIGMA = lambda x: 1 + 0.5 * jnp.sin(x)
OPERATORS = {
    "laplacian": (do.Laplacian, lambda x: jnp.eye(D)),
    "indefinite": (lambda: do.SecondOrder(jnp.asarray(DIAGONAL)), lambda x: jnp.diag(DIAGONAL)),
    "indefinite_matrix": (lambda: do.SecondOrder(jnp.asarray(MATRIX)), lambda x: MATRIX),
    "some_coordinates": (
        lambda: do.Laplacian(dims=tuple(range(0, D, 2))),
        lambda x: jnp.asarray(np.diag(np.arange(D) % 2 == 0).astype(float)),
    ),
    "parabolic": (lambda: do.ParabolicTrace(SIGMA), lambda x: jnp.diag(SIGMA(x) ** 2) / 2),
}


def check(operator, tensor, build, net, kept):
    """Value, and gradients by the parameters and by the point."""
    parameters, static = eqx.partition(net, eqx.is_inexact_array)
    x = jnp.asarray(X)

    def both(method):
        def value(p, x):
            return method(build(eqx.combine(p, static)))(x)

        return jax.tree.leaves(jax.jit(jax.value_and_grad(value, argnums=(0, 1)))(parameters, x))

    expected = kept(lambda: both(nested(tensor)))
    for a, b in zip(both(operator().exact), expected, strict=True):
        assert np.all(np.isfinite(a))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(b).max()))


OTHERS = pytest.mark.usefixtures("compiled_quickly")
"""As users compile, `test_functions` and `test_complex_values` show the arithmetic."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, kept):
    check(*OPERATORS["laplacian"], FUNCTIONS[name], network(), kept)


@OTHERS
@pytest.mark.parametrize("name", ONE_ENTRY)
def test_axes_of_size_one(name, kept):
    check(*OPERATORS["laplacian"], ONE_ENTRY[name], network(), kept)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_values(name, kept):
    check(*OPERATORS["laplacian"], COMPLEX[name], network(), kept)


@OTHERS
@pytest.mark.parametrize("name", NETWORKS)
def test_first_layers(name, kept):
    check(*OPERATORS["indefinite"], ansatz, NETWORKS[name](), kept)


@OTHERS
@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "laplacian"])
def test_operators(name, kept):
    check(*OPERATORS[name], ansatz, network(), kept)


def test_space_and_time():
    """u(x, t) with ∂_t beside: two families, one of them replaced."""
    net, x = network(), jnp.asarray(X)
    u = lambda x, t: jnp.sin(t) * ansatz(net)(x * jnp.cos(t))
    t = jnp.asarray(0.3)
    ops = {"u": do.Identity(), "lap": do.Laplacian(), "t": do.Partial(argnum=1)}
    got = jax.jit(do.exact(ops)(u))(x, t)
    np.testing.assert_allclose(got["lap"], jnp.trace(jax.jit(jax.hessian(u))(x, t)), rtol=1e-9)
    np.testing.assert_allclose(got["t"], jax.grad(u, 1)(x, t), rtol=1e-9)
    np.testing.assert_allclose(got["u"], u(x, t), rtol=1e-12)


def test_pytree_arguments():
    net, x = network(), jnp.asarray(X)
    u = lambda z: ansatz(net)(jnp.concatenate([z["a"].reshape(-1), z["b"]])) * z["a"][0, 0]
    z = {"a": x[:30].reshape(5, 6), "b": x[30:]}
    flat = lambda v: u({"a": v[:30].reshape(5, 6), "b": v[30:]})
    got, hessian = jax.jit(do.Laplacian().exact(u))(z), jax.jit(jax.hessian(flat))(x)
    np.testing.assert_allclose(got, jnp.trace(hessian), rtol=1e-9)


BLOCK, BLOCKS = 5, 9
SHARED = RNG.normal(size=(BLOCK, 3))


def shared(channels, blocks=BLOCKS):
    """A network behind weights shared by blocks of the input."""
    first = np.random.default_rng(channels).normal(size=(H, blocks * channels)) / 3
    return Net(jnp.asarray(first), (jnp.eye(H) + 0.1, jnp.eye(H))), jnp.asarray(
        SHARED[:, :channels]
    )


IN_BLOCKS = RNG.normal(size=BLOCK * BLOCKS) / 7


def convolved(w, x):
    kernel = w.T[:, None, :]
    return lax.conv_general_dilated(x[None, None], kernel, (BLOCK,), "VALID")[0]


BLOCKWISE = {
    "by_reshape": lambda net, w, x: net(jnp.tanh(x.reshape(BLOCKS, BLOCK) @ w).reshape(-1)),
    "by_convolution": lambda net, w, x: net(jnp.tanh(convolved(w, x)).reshape(-1)),
    "of_a_function": lambda net, w, x: net(jnp.tanh(convolved(w, jnp.sin(x))).reshape(-1)),
    "ansatz": lambda net, w, x: (1 - jnp.sum(x**2)) * net(jnp.tanh(convolved(w, x)).reshape(-1)),
    "without_nonlinearity": lambda net, w, x: (
        jnp.sum(x[1:] * x[:-1]) * net(convolved(w, x).reshape(-1))
    ),
}


CHANNELS = [(name, 1) for name in BLOCKWISE]
CHANNELS += [(name, 3) for name in ("by_reshape", "without_nonlinearity", "ansatz")]


@OTHERS
@pytest.mark.parametrize(("name", "channels"), CHANNELS)
def test_weights_shared_by_blocks(name, channels, kept):
    """Directions of a block merged into one; with several channels they are not separate."""
    net, w = shared(channels)
    x = jnp.asarray(IN_BLOCKS)
    c = jnp.asarray(np.linspace(-1.0, 2.0, x.size))
    ops = {"lap": do.Laplacian(), "c": do.SecondOrder(c)}

    def both(method):
        def value(net, w, x):
            results = method(lambda y: BLOCKWISE[name](net, w, y))(x)
            return results["lap"] + jnp.sin(results["c"])

        gradients = jax.jit(jax.value_and_grad(value, argnums=(0, 1, 2)))(net, w, x)
        return jax.tree.leaves(gradients)

    def oracle(u):
        return lambda y: {"lap": jnp.trace(jax.hessian(u)(y)), "c": c @ jnp.diag(jax.hessian(u)(y))}

    for a, b in zip(both(do.exact(ops)), kept(lambda: both(oracle)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def has_both(eqns, *sizes):
    return [e for e in eqns for v in e.outvars if set(sizes) <= set(getattr(v.aval, "shape", ()))]


def with_an_unused_argument(u):
    return lambda x: u(x["used"]), {"used": jnp.ones(BLOCK * BLOCKS), "unused": jnp.ones(7)}


@pytest.mark.parametrize("unused", [False, True])
@pytest.mark.parametrize("name", ["by_reshape", "by_convolution"])
def test_directions_of_a_block_are_merged(name, unused):
    """No layer behind the blocks sees one direction for each coordinate."""
    net, w = shared(1)
    u, x = lambda x: BLOCKWISE[name](net, w, x), jnp.ones(BLOCK * BLOCKS)
    if unused:
        u, x = with_an_unused_argument(u)
    d = sum(leaf.size for leaf in jax.tree.leaves(x))
    assert not has_both(jaxprs.of(do.Laplacian().exact(u), x), d, H)
    each = jax.vmap(lambda v: jax.jvp(jax.grad(u), (x,), (v,))[1])
    basis = jax.vmap(jax.flatten_util.ravel_pytree(x)[1])(jnp.eye(d))
    assert has_both(jaxprs.of(each, basis), d, H)  # it would be noticed


def test_directions_of_a_block_are_cut_out():
    """Not gathered, also where the last block is filled up: on a mesh a gather by numbers would
    copy the points to every device.
    """
    (net, w), missing = shared(1), 2
    x = jnp.asarray(IN_BLOCKS[missing:])

    def u(x):
        return (1 - jnp.sum(x**2)) * BLOCKWISE["by_reshape"](net, w, jnp.pad(x, (0, missing)))

    gathers = jaxprs.named(jaxprs.of(do.Laplacian().exact(u), x), "gather")
    assert max(jaxprs.sizes(gathers), default=0) < len(x) - BLOCK
    got = jax.jit(do.Laplacian().exact(u))(x)
    np.testing.assert_allclose(got, jnp.trace(jax.hessian(u)(x)), rtol=1e-9)


def program(operator, net):
    points = jnp.ones((3, D)) / D
    return jaxprs.of(lambda v: jax.vmap(operator.exact(ansatz(net)))(v), points)


def contractions_over(eqns, size):
    """How many products of a layer sum over an axis of a size."""
    count = 0
    for eqn in jaxprs.named(eqns, "dot_general"):
        (contract, _), _ = eqn.params["dimension_numbers"]
        over = any(eqn.invars[0].aval.shape[axis] == size for axis in contract)
        count += over and H in eqn.outvars[0].aval.shape
    return count


def test_directions_are_replaced():
    """Behind the first layer no value has an axis of d, and the moment is shared by all points."""
    net = network()
    eqns = program(do.Laplacian(), net)
    for eqn in jaxprs.named(eqns, "dot_general")[3:]:
        assert D not in eqn.invars[0].aval.shape
    moments = [e for e in jaxprs.named(eqns, "dot_general") if e.outvars[0].aval.shape == (H, H)]
    assert len(moments) == 1
    assert D in moments[0].invars[0].aval.shape


def test_what_the_primal_computed_is_not_computed_again():
    """Σ_r z_r ∂_r|x|² is twice the product W x that u forms itself: over d only W x, |x|² as sums,
    and the moment W Wᵀ.
    """
    net = network()
    plain = jaxprs.of(lambda v: jax.vmap(ansatz(net))(v), jnp.ones((3, D)))
    once = contractions_over(plain, D)
    assert contractions_over(program(do.Laplacian(), net), D) == once + 1


WAYS = {
    "as_it_is": lambda u: u,
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "jit_in_checkpoint": lambda u: jax.checkpoint(jax.jit(u)),
}
SQUARES = {
    "square": lambda x: jnp.sum(x**2),
    "product": lambda x: jnp.sum(x * x),
    "dot": lambda x: x @ x,
    "of_two_names": lambda x: jax.jit(lambda a, b: jnp.sum(a * b))(x, x),
    "rematerialised": lambda x: jax.checkpoint(lambda a, b: a @ b)(x, x),
}


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_value_is_survives(way, square):
    """That |x|² and the first layer are of one x is known however they are written, and inside
    functions that are compiled or rematerialised.
    """
    net = network()
    u = WAYS[way](lambda x: (1 - SQUARES[square](x)) * net(x))
    points = jnp.ones((3, D)) / D
    plain, pushed = (
        jaxprs.of(lambda v: jax.vmap(f)(v), points) for f in (u, do.Laplacian().exact(u))
    )
    assert contractions_over(pushed, D) == contractions_over(plain, D) + 1


def test_one_moment_for_each_operator():
    """Two operators along the basis vectors share the pass; each has its own second moments."""
    net, x = network(), jnp.asarray(X)
    ops = {"lap": do.Laplacian(), "c": do.SecondOrder(jnp.asarray(DIAGONAL))}
    got, H2 = jax.jit(do.exact(ops)(ansatz(net)))(x), jax.jit(jax.hessian(ansatz(net)))(x)
    np.testing.assert_allclose(got["lap"], jnp.trace(H2), rtol=1e-9)
    np.testing.assert_allclose(got["c"], jnp.sum(DIAGONAL * jnp.diag(H2)), rtol=1e-9)
    tanh = lambda eqns: jaxprs.count(eqns)["tanh"]
    together = jaxprs.of(lambda v: do.exact(ops)(ansatz(net))(v), x)
    assert tanh(together) == tanh(jaxprs.of(ansatz(net), x))


@pytest.mark.parametrize("transform", ["vmap", "grad_of_vmap", "jvp", "twice"])
def test_transformations(transform):
    net, x = network(), jnp.asarray(X)
    points = jr.normal(jr.key(2), (3, D)) / D**0.5
    lap, oracle = do.Laplacian().exact(ansatz(net)), nested(lambda x: jnp.eye(D))(ansatz(net))
    apply = {
        "vmap": lambda f: jax.vmap(f)(points),
        "grad_of_vmap": lambda f: jax.grad(lambda p: jnp.sum(jax.vmap(f)(p) ** 2))(points),
        "jvp": lambda f: jax.jvp(f, (x,), (jnp.ones(D),))[1],
        "twice": lambda f: jax.hessian(f)(x)[:4],
    }[transform]
    got, expected = jax.jit(lambda: (apply(lap), apply(oracle)))()
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8)


def test_checkpointed_layers_stay_checkpointed():
    """Directions are replaced inside `jax.checkpoint`, and what is behind is rematerialised."""
    net = network()
    u = lambda x: jax.checkpoint(lambda y: net(y))(x) * jnp.sum(x**2)
    jaxpr = jax.make_jaxpr(do.Laplacian().exact(u))(jnp.asarray(X))
    regions = [e for e in jaxpr.jaxpr.eqns if e.primitive.name in ("checkpoint", "remat2")]
    assert regions and not any(D in v.aval.shape for e in regions for v in e.invars)


HALVED = {
    "laplacian": (*OPERATORS["laplacian"], network),
    "indefinite": (*OPERATORS["indefinite"], NETWORKS["collinear_rows"]),
    "indefinite_matrix": (*OPERATORS["indefinite_matrix"], NETWORKS["zero"]),
    "parabolic": (*OPERATORS["parabolic"], network),
    "rank_deficient": (
        lambda: do.SecondOrder(jnp.asarray(np.outer(X, X))),
        lambda x: jnp.outer(X, X),
        NETWORKS["repeated_columns"],
    ),
    "one_block": (*OPERATORS["laplacian"], lambda: network(width=3)),
    "many_blocks": (*OPERATORS["laplacian"], lambda: network(width=23)),
}


@pytest.mark.parametrize("name", HALVED)
def test_halves(name, halves):
    operator, tensor, build = HALVED[name]
    check(operator, tensor, ansatz, build(), lambda compute: compute())


@pytest.mark.parametrize("transform", ["vmap", "grad_of_vmap", "vmap_of_grad", "jvp", "twice"])
def test_transformed_halves(transform, halves):
    net, x = network(width=9), jnp.asarray(X)
    points = jr.normal(jr.key(2), (3, D)) / D**0.5
    apply = {
        "vmap": lambda f: jax.vmap(f(net))(points),
        "grad_of_vmap": lambda f: jax.grad(lambda n: jnp.sum(jax.vmap(f(n))(points) ** 2))(net),
        "vmap_of_grad": lambda f: jax.vmap(jax.grad(lambda n, x: f(n)(x)), (None, 0))(net, points),
        "jvp": lambda f: jax.jvp(lambda n, x: jnp.sin(f(n)(x)), (net, x), (net, x)),
        "twice": lambda f: jax.hessian(lambda W: f(Net(net.first, (W, *net.rest[1:])))(x))(
            net.rest[0]
        ),
    }[transform]
    got, expected = (
        jax.jit(lambda m=m: apply(lambda n: m(ansatz(n))))()
        for m in (do.Laplacian().exact, nested(lambda x: jnp.eye(D)))
    )
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(b).max()))


def test_several_sums_by_halves(halves):
    net, x = network(width=7), jnp.asarray(X)
    ops = {"lap": do.Laplacian(), "c": do.SecondOrder(jnp.asarray(DIAGONAL))}
    got, H2 = jax.jit(do.exact(ops)(ansatz(net)))(x), jax.jit(jax.hessian(ansatz(net)))(x)
    np.testing.assert_allclose(got["lap"], jnp.trace(H2), rtol=1e-9)
    np.testing.assert_allclose(got["c"], jnp.sum(DIAGONAL * jnp.diag(H2)), rtol=1e-9)


def test_nested_halves(halves):
    net, x = network(width=5), jnp.asarray(X)
    twice = lambda method: method(method(ansatz(net)))
    got = jax.jit(twice(do.Laplacian().exact))(x)
    np.testing.assert_allclose(got, jax.jit(twice(nested(lambda x: jnp.eye(D))))(x), rtol=1e-8)


def test_wide_layers_are_multiplied_by_halves(monkeypatch):
    """Behind a first layer of width 1,024, from fewer dimensions than that."""
    monkeypatch.setattr(jax, "device_count", lambda *_: 1)
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    width, d = 1024, 1000
    first, second = jnp.ones((width, d)), jnp.ones((width, width))

    def u(x):
        return jnp.sum(jnp.tanh(second @ jnp.tanh(first @ x)))

    eqns = jaxprs.of(jax.vmap(do.Laplacian().exact(u)), jnp.ones((1, d)))
    behind = [eqn for eqn in jaxprs.named(eqns, "dot_general") if d not in eqn.invars[0].aval.shape]
    assert jaxprs.multiplications(behind) < 0.6 * width**2 * d  # all but W x and W Wᵀ
