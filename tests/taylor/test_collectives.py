"""Functions that are mapped over devices inside: `jax.shard_map` and what communicates in it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .collectives import COLLECTIVES, MESH, UNMAPPED
from .curves import assert_same_series, nested_jvp, series_by_leaf

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.5, -0.8, 1.1, 0.3, -0.6, 0.9])
SERIES = list(np.random.default_rng(5).normal(size=(3, 6)))


def test_there_are_two_devices():
    assert MESH.size == 2


@pytest.mark.parametrize("name", COLLECTIVES)
def test_jet_against_nested_jvp(name, kept):
    function, series = COLLECTIVES[name], [jnp.asarray(term) for term in SERIES]
    primals, terms = jax.jit(lambda x, s: do.taylor.jet(function, (x,), (s,)))(X, series)
    expected = kept(lambda: nested_jvp(function, X, series))
    for got, orders in zip(series_by_leaf(primals, terms), expected, strict=True):
        assert_same_series(got, orders)


def along_axes(u, x, order):
    """Σ_i ∂_i^order of a scalar function, one axis after the other, by one program."""
    still = [jnp.zeros_like(x)] * (order - 1)
    along = jax.jit(lambda axis: nested_jvp(u, x, [axis, *still])[0][order])
    return sum(along(axis) for axis in np.eye(x.size))


@pytest.mark.parametrize("name", [name for name in COLLECTIVES if name not in UNMAPPED])
def test_collapsed_directions_against_nested_jvp(name, kept):
    """Σ_i ∂_i³ of all entries; and of a draw of every axis, which is the same."""
    function = COLLECTIVES[name]
    total = lambda x: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(function(x)))
    expected = kept(lambda: along_axes(total, X, 3))
    for operator in (do.DiagonalK(3), do.DiagonalK(3).estimate(jax.random.key(0), X.size)):
        apply = operator.exact if isinstance(operator, do.DiagonalK) else operator
        np.testing.assert_allclose(jax.jit(apply(total))(X), expected, rtol=1e-11, atol=1e-11)


def test_points_and_parameters_around_a_map():
    """vmap over points and grad by a parameter that the mapped function is given."""

    def loss(scale, points):
        u = lambda x: jnp.sum(COLLECTIVES["psum"](scale * jnp.sin(x)))
        return jnp.sum(jax.vmap(do.Laplacian().exact(u))(points) ** 2)

    def reference(scale, points):
        u = lambda x: jnp.sum(jnp.sin(scale * jnp.sin(x)) * scale * jnp.sin(x))
        return jnp.sum(jax.vmap(lambda x: jnp.trace(jax.hessian(u)(x)))(points) ** 2)

    points = jnp.stack([X, -0.3 * X])
    got, expected = (
        jax.jit(jax.value_and_grad(f))(jnp.array(0.7), points) for f in (loss, reference)
    )
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_where_directions_were_replaced():
    """Behind a layer that is narrower than the point directions are replaced by fewer ones."""
    weight = jnp.asarray(np.random.default_rng(2).normal(size=(4, 6)))
    mapped = jax.shard_map(
        lambda h: jax.lax.psum(jnp.sin(h) * h, "i"),
        mesh=MESH,
        in_specs=jax.P("i"),
        out_specs=jax.P(),
    )
    u = lambda x: jnp.sum(mapped(jnp.tanh(weight @ x)) ** 2)

    def plain(x):
        parts = jnp.tanh(weight @ x).reshape(2, 2)
        return jnp.sum(jnp.sum(jnp.sin(parts) * parts, axis=0) ** 2)

    x = jnp.asarray(X)
    expected = jnp.trace(jax.hessian(plain)(x))
    for exact in (do.Laplacian().exact(u), jax.jit(do.Laplacian().exact(u))):
        np.testing.assert_allclose(exact(x), expected, rtol=1e-11)


def test_weights_of_directions_that_are_traced():
    """The weights of an operator's directions reach the devices."""
    function = COLLECTIVES["psum"]

    def second(matrix):
        return do.SecondOrder(matrix).exact(lambda x: jnp.sum(function(x)))(X)

    matrix = jnp.asarray(np.random.default_rng(0).normal(size=(6, 6)))
    expected = jnp.sum(matrix * jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x))(X))
    np.testing.assert_allclose(jax.jit(second)(matrix), expected, rtol=1e-11)


def test_parameters_divided_over_devices():
    """A layer whose columns lie on two devices, as in tensor parallelism: its weights stand
    still.
    """
    weight = jnp.asarray(np.random.default_rng(1).normal(size=(4, 6)))

    def layer(weight, x):
        return jax.lax.psum(weight @ x, "i")

    def u(x):
        parts = jax.shard_map(
            layer, mesh=MESH, in_specs=(jax.P(None, "i"), jax.P("i")), out_specs=jax.P()
        )
        return jnp.sum(jnp.tanh(parts(weight, x)))

    plain = lambda x: jnp.sum(jnp.tanh(weight @ x))
    for operator in (do.Laplacian(), do.Biharmonic()):
        np.testing.assert_allclose(
            jax.jit(operator.exact(u))(X), operator.exact(plain)(X), rtol=1e-11
        )


def test_a_map_of_what_stands_still():
    """The point is not among the operands."""
    constant = COLLECTIVES["psum"]
    u = lambda x: jnp.sum(constant(jnp.arange(6.0))) * jnp.sum(x**2)
    expected = 12 * jnp.sum(jnp.sin(jnp.arange(6.0)) * jnp.arange(6.0))
    np.testing.assert_allclose(jax.jit(do.Laplacian().exact(u))(X), expected, rtol=1e-12)


# Operators inside of a map: u sees one device's part, and communicates with the others.

WEIGHT = np.random.default_rng(3).normal(size=(2, 3))


def _varying(y):
    return jax.lax.pcast(y, "i", to="varying")


INSIDE = {
    "sum": lambda x: _varying(jax.lax.psum(jnp.sum(x**2), "i")),
    "narrow": lambda x: _varying(jnp.sum(jnp.tanh(jax.lax.psum(WEIGHT @ x, "i")))),
    "between_layers": lambda x: _varying(jnp.log(jax.lax.psum(jnp.sum(jnp.exp(x)), "i"))),
    "softplus": lambda x: _varying(jnp.sum(jax.nn.softplus(jax.lax.psum(WEIGHT @ x, "i")))),
    "gather": lambda x: jnp.sum(jax.lax.all_gather(x**2, "i", tiled=True)[-1] * x),
    "scan": lambda x: jnp.sum(
        jax.lax.scan(
            lambda c, row: (c + jax.lax.psum(row**3, "i"), _varying(c) * jnp.sin(row)),
            jax.lax.psum(x[0], "i"),
            x,
        )[1]
    ),
}
WAYS = {
    "exact": do.Laplacian().exact,
    "in_chunks": lambda u: do.Laplacian().exact(u, chunk=2),
    "estimate": do.Laplacian().estimate(jax.random.key(0), 3),
}


def on_each(function, x, **specs):
    specs = {"in_specs": jax.P("i"), "out_specs": jax.P("i"), **specs}
    return jax.jit(jax.shard_map(function, mesh=MESH, **specs))(x)


def traced_hessian(u):
    """Σ_i ∂_i² with the coordinates of that number on all devices moved together."""

    def along(x, axis):
        axis = _varying(axis)
        return jax.jvp(lambda x: jax.jvp(u, (x,), (axis,))[1], (x,), (axis,))[1]

    return lambda x: sum(along(x, axis) for axis in jnp.eye(x.size))


@pytest.mark.parametrize("name", INSIDE)
def test_operators_inside_of_a_map(name):
    u = INSIDE[name]
    expected = on_each(lambda x: traced_hessian(u)(x)[None], X)
    ways = WAYS.values() if name in ("sum", "scan") else [WAYS["exact"]]
    for way in ways:
        got = on_each(lambda x, way=way: way(u)(x)[None], X)
        np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_a_sum_over_a_named_axis_of_vmap():
    """Directions are not replaced before it: each point has its own."""
    points = jnp.asarray(SERIES)
    u = lambda x: jnp.log(jax.lax.psum(jnp.sum(jnp.exp(x)), "points"))
    along = lambda x, e: jax.jvp(lambda x: jax.jvp(u, (x,), (e,))[1], (x,), (e,))[1]
    nested = lambda x: sum(along(x, axis) for axis in jnp.eye(x.size))
    got, expected = (
        jax.vmap(f, axis_name="points")(points) for f in (do.Laplacian().exact(u), nested)
    )
    np.testing.assert_allclose(got, expected, rtol=1e-11)


MAPPED = {
    "replaced": lambda x: jnp.sum(jax.nn.softplus(WEIGHT @ x) ** 2),
    "softplus": lambda x: jnp.sum(jax.nn.softplus(x) ** 2),
    "relu": lambda x: jnp.sum(jax.nn.relu(x) ** 3),
    "logaddexp": lambda x: jnp.sum(jnp.logaddexp(x, 2 * x[::-1])),
    "fori": lambda x: jnp.sum(jax.lax.fori_loop(0, 3, lambda i, h: jnp.sin(h) * x, x)),
    "while": lambda x: jnp.sum(
        jax.lax.while_loop(lambda h: jnp.sum(h**2) > 0.1, lambda h: 0.5 * jnp.sin(h), x)
    ),
    "cond": lambda x: jax.lax.cond(
        x[0] > 0, lambda x: jnp.sum(jnp.sin(x)), lambda x: jnp.sum(x**3), x
    ),
}
PARTS = np.random.default_rng(4).normal(size=(4, 3))


@pytest.mark.parametrize("name", MAPPED)
def test_points_on_devices(name):
    mapped = jax.vmap(do.Laplacian().exact(MAPPED[name]))
    hessian = jax.jacfwd(jax.jacfwd(MAPPED[name]))
    expected = jnp.trace(jax.vmap(hessian)(PARTS), axis1=1, axis2=2)
    np.testing.assert_allclose(on_each(mapped, PARTS), expected, rtol=1e-11)


def test_reverse_mode_stays_on_its_device():
    """Gradients by arrays that the library makes are not summed over devices."""
    x = jnp.stack([jnp.ones(12), 2 * jnp.ones(12)])
    fourth = lambda x: x[0] ** 4
    deflated = do.Laplacian().deflate(jax.random.key(0), 4)(fourth)
    np.testing.assert_allclose(on_each(jax.vmap(deflated), x), [12, 48], rtol=1e-11)
    twice = do.Gradient(do.operators.MatVec(lambda v: 2 * v)).exact(fourth)
    np.testing.assert_allclose(on_each(jax.vmap(twice), x)[:, 0], [8, 64], rtol=1e-11)


def test_reverse_mode_at_a_point_that_all_devices_share():
    """u has other parameters on each device: so has its gradient."""
    gradient = lambda scale: do.Gradient().exact(lambda x: scale[0] * jnp.sum(x**2))(jnp.ones(2))
    got = on_each(gradient, jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(got, [2, 2, 6, 6])


def test_draws_of_products_on_each_device():
    """Where the value varies over devices, and what is exact in it does not."""
    u = lambda x: jnp.sum(jnp.sin(x) ** 2)
    joint = do.estimate([do.Value() * do.Laplacian(), do.Identity()], jax.random.key(0), 2)
    squared = lambda v: v[0] * v[1] + v[0] ** 2
    for way in (
        lambda x: (do.Value() * do.Laplacian()).estimate(jax.random.key(0), 2).stats(u)(x)[:2],
        lambda x: joint.draws(u)(x).of(squared).stats()[:2],
    ):
        got, expected = on_each(jax.vmap(way), PARTS), jax.vmap(way)(jnp.asarray(PARTS))
        np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_an_accuracy_on_each_device():
    u = lambda x: jnp.sum(jnp.sin(x) ** 2)
    adaptive = do.Laplacian().estimate_to(jax.random.key(0), rtol=0.1, batch=2, max_n=6)
    mean = jax.vmap(lambda x: adaptive(u)(x).value)
    np.testing.assert_allclose(on_each(mean, PARTS), mean(jnp.asarray(PARTS)), rtol=1e-11)
