"""Arrays on a mesh with explicit axes, as `jax.make_mesh` makes it: types say how arrays lie on the
devices, and each operation must know how its result does.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding

import diffop as do

from ..versions import needs_jax

pytestmark = pytest.mark.usefixtures("x64")

D, POINTS = 6, 4
OPERATORS = {
    "laplacian": do.Laplacian(),
    "third": do.DiagonalK(3),
    "biharmonic": do.Biharmonic(),
    "sum": do.Laplacian() - 2 * do.Partial(0),
    "matrix": do.SecondOrder(np.random.default_rng(0).normal(size=(D, D))),
    "sparse": do.Laplacian().estimate(jr.key(0), 3),
    "rademacher": do.Laplacian().estimate(jr.key(0), 3, probes="rademacher"),
    "fourth_sparse": do.Biharmonic().estimate(jr.key(1), 3),
}


def applied(operator, u):
    return operator.exact(u) if isinstance(operator, do.operators.Operator) else operator(u)


@pytest.fixture
def mesh():
    mesh = jax.make_mesh((2,), ("i",), devices=jax.devices("cpu")[:2])
    assert mesh.axis_types == (jax.sharding.AxisType.Explicit,)
    return mesh


@pytest.fixture
def put(mesh):
    return lambda array, *spec: jax.device_put(array, NamedSharding(mesh, jax.P(*spec)))


def of_one_device(function, mesh, x, *arguments):
    """A function of arrays on a mesh, under its context, to arrays of one device."""
    with jax.set_mesh(mesh):
        return jax.device_get(jax.jit(function)(x, *arguments))


def network(width):
    return eqx.nn.MLP(D, "scalar", width, 2, jnp.tanh, key=jr.key(0))


# behind a layer that is narrower than the point, the Laplacian alone takes other steps
NARROW = [("laplacian", 4), ("sum", 4)]
AT_WIDTHS = pytest.mark.parametrize(("name", "width"), [*((n, 8) for n in OPERATORS), *NARROW])


@AT_WIDTHS
def test_points_and_gradients(name, width, put):
    """Values at points that are divided, and gradients of their loss, are those of one device."""
    points = jr.normal(jr.key(1), (POINTS, D))
    parameters, static = eqx.partition(network(width), eqx.is_array)

    @jax.jit
    @jax.value_and_grad
    def loss(parameters, points):
        u = eqx.combine(parameters, static)
        return jnp.mean(jnp.square(jax.vmap(applied(OPERATORS[name], u))(points)))

    expected = loss(parameters, points)
    got = loss(jax.tree.map(put, parameters), put(points, "i"))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(jax.device_get(a), b, rtol=1e-10, atol=1e-14)


@AT_WIDTHS
def test_a_layer_that_is_divided(name, width, mesh, put):
    """Tensor parallelism: the hidden units lie on two devices."""
    u = network(width)

    def divided(x):
        first, second, last = u.layers
        hidden = jnp.tanh(put(first.weight, "i", None) @ x + put(first.bias, "i"))
        product = jnp.einsum(
            "ij,j->i", put(second.weight, None, "i"), hidden, out_sharding=jax.P(None)
        )
        return jnp.squeeze(last.weight @ jnp.tanh(product + second.bias) + last.bias)

    x = jr.normal(jr.key(1), (D,))
    got = of_one_device(applied(OPERATORS[name], divided), mesh, put(x))
    np.testing.assert_allclose(got, jax.jit(applied(OPERATORS[name], u))(x), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_point_that_is_divided(name, mesh, put):
    """The coordinates lie on two devices, and inside of u arrays are laid out anew."""
    x, weight = jr.normal(jr.key(1), (D,)), jr.normal(jr.key(2), (3, D))

    def u(x, lay_out=lambda array, *spec: array):
        entries = lay_out(jnp.sin(x) * x, None)
        return jnp.sum(entries**2) * jnp.sum(jnp.cos(x)) + jnp.sum(jnp.tanh(weight @ entries))

    divided = lambda x: u(x, lambda a, *spec: jax.sharding.reshard(a, jax.P(*spec)))
    got = of_one_device(applied(OPERATORS[name], divided), mesh, put(x, "i"))
    np.testing.assert_allclose(got, jax.jit(applied(OPERATORS[name], u))(x), rtol=1e-10)


def test_first_derivatives_at_a_point_that_is_divided(mesh, put):
    """The Jacobian of a vector as divided as the point, beside a gradient."""
    x = jr.normal(jr.key(1), (D,))
    u = lambda x: (jnp.sin(x), jnp.sum(x**3))
    rows, slope = of_one_device(do.Gradient().exact(u), mesh, put(x, "i"))
    np.testing.assert_allclose(rows, np.diag(np.cos(x)), rtol=1e-12)
    np.testing.assert_allclose(slope, 3 * np.square(x), rtol=1e-12)
    scalar = lambda x: jnp.sum(x**3)
    slope = of_one_device(do.Gradient().exact(scalar), mesh, put(x, "i"))
    np.testing.assert_allclose(slope, 3 * np.square(x), rtol=1e-12)


MET = {
    "add": lambda h: jnp.sqrt(jnp.sum(h * h) + 1),
    "logsumexp": jax.nn.logsumexp,
    "power": lambda h: jnp.sum((1.5 + jnp.sin(h)) ** h),
    "maximum": lambda h: jnp.sum(jnp.maximum(h, jnp.sin(h)) * h),
    "complex": lambda h: jnp.sum(jnp.abs(lax.complex(jnp.cos(h) + 1.5, jnp.sin(h)))),
}


@pytest.mark.parametrize("name", MET)
def test_a_point_that_meets_a_divided_array(name, mesh, put):
    """The point is whole on every device, w is divided: so is what they make."""
    x, w = jr.normal(jr.key(1), (2, D))
    for meet in (jnp.add, jnp.multiply):
        u = lambda x, w, meet=meet: MET[name](meet(w, x))
        expected = np.trace(jax.jit(jax.hessian(u))(x, w))
        operator = lambda x, w, u=u: do.Laplacian().exact(lambda x: u(x, w))(x)
        got = of_one_device(operator, mesh, put(x), put(w, "i"))
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_a_map_over_the_axes(mesh, put):
    """`jax.shard_map` on a mesh with explicit axes, of a point with traced draws, in chunks too."""
    x, key = jr.normal(jr.key(1), (D,)), jr.key(3)
    mapped = jax.shard_map(
        lambda x: lax.psum(jnp.sin(x) * x, "i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P()
    )
    u = lambda x: jnp.sum(mapped(jax.sharding.reshard(x, jax.P("i"))))
    plain = lambda x: jnp.sum(jnp.sin(x) * x)
    for ways in (
        lambda u: lambda x, key: do.Laplacian().estimate(key, 3).stats(u)(x).value,
        lambda u: lambda x, key: do.Laplacian().exact(u, chunk=3)(x),
    ):
        expected = jax.jit(ways(plain))(x, key)
        np.testing.assert_allclose(of_one_device(ways(u), mesh, put(x), key), expected, rtol=1e-11)


def test_chunks_of_a_divided_value(mesh, put):
    x = jr.normal(jr.key(1), (D,))
    second = do.Laplacian().exact(lambda x: jnp.sin(x) * x, chunk=3)
    got = of_one_device(second, mesh, put(x, "i"))
    np.testing.assert_allclose(got, 2 * jnp.cos(x) - x * jnp.sin(x), rtol=1e-11)


def test_arguments_that_are_on_no_mesh(put):
    """∂_t beside a divided x; t is a plain array, and there is no context."""
    x, t = jr.normal(jr.key(1), (D,)), jnp.array(0.5)
    u = lambda x, t: jnp.exp(-t) * jnp.sum(jnp.sin(x))
    operator = do.Partial(argnum=1) + do.Laplacian()
    got = jax.jit(operator.exact(u))(put(x, "i"), t)
    np.testing.assert_allclose(jax.device_get(got), -2 * u(x, t), rtol=1e-12)
    both = lambda x: do.taylor.jet(u, (x, t), ([x], [jnp.ones(())]))[1][0]
    np.testing.assert_allclose(
        jax.device_get(jax.jit(both)(put(x, "i"))),
        jnp.exp(-t) * jnp.sum(jnp.cos(x) * x - jnp.sin(x)),
        rtol=1e-12,
    )


REPEAT = functools.partial(jnp.repeat, repeats=3)


@pytest.mark.parametrize(
    "repeat",
    [
        jax.sharding.auto_axes(REPEAT, out_sharding=jax.P()),
        pytest.param(REPEAT, marks=needs_jax(0, 10, why="it asks for a sharding of the result")),
    ],
    ids=["auto_axes", "repeat"],
)
def test_functions_with_automatic_axes_inside(repeat, mesh, put):
    """`jnp.repeat` leaves the explicit axes for a moment, as `jax.sharding.auto_axes` does."""
    x = jr.normal(jr.key(1), (D,))
    third = do.DiagonalK(3).exact(lambda x: jnp.sum(jnp.sin(repeat(x))))
    got = of_one_device(third, mesh, put(x))
    np.testing.assert_allclose(got, -3 * jnp.sum(jnp.cos(x)), rtol=1e-12)


def test_loops_of_the_library_over_divided_points(mesh, put):
    """What a loop starts from is mapped as what it adds: chunks, and rounds of draws."""
    points = jr.normal(jr.key(1), (POINTS, D))
    u = lambda x: jnp.sum(jnp.sin(x) ** 2) ** 2
    rounds = do.Laplacian().estimate_to(jr.key(0), rtol=0.1, batch=2, max_n=6)
    for way in (do.Laplacian().exact(u, chunk=2), lambda x: rounds(u)(x).value):
        got = of_one_device(jax.vmap(way), mesh, put(points, "i"))
        np.testing.assert_allclose(got, jax.vmap(way)(points), rtol=1e-11)


@pytest.mark.parametrize("sampled", [do.Laplacian(), do.Value() * do.Laplacian() + do.DiagonalK(3)])
def test_standard_errors_at_divided_points(sampled, mesh, put):
    points = jr.normal(jr.key(1), (POINTS, D))
    stats = jax.vmap(sampled.estimate(jr.key(0), 3).stats(lambda x: jnp.sum(jnp.sin(x) * x**2)))
    for got, expected in zip(
        of_one_device(stats, mesh, put(points, "i")), stats(points), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_the_product_of_a_matrix_with_a_divided_gradient(mesh, put):
    x = jr.normal(jr.key(1), (D,))
    twice = do.Gradient(do.operators.MatVec(lambda v: 2 * v)).exact(lambda x: jnp.sum(jnp.sin(x)))
    np.testing.assert_allclose(of_one_device(twice, mesh, put(x, "i")), 2 * np.cos(x), rtol=1e-12)


def pairs(x):
    """Distances of all pairs, whose indices are known while u is traced."""
    i, j = jnp.triu_indices(D, 1)
    return jnp.sum(x[i] * jnp.sqrt(1 + (x[i] - x[j]) ** 2))


def repeated(x):
    """Two writes to one entry, which is chosen while u is traced."""
    return jnp.sum(jnp.ones(3).at[jnp.array([0, 2, 0])].set(jnp.sin(x[:3])) ** 2 * x[3:])


def solved(x):
    return jnp.linalg.slogdet(jnp.tanh(x.reshape(2, 3) @ x.reshape(2, 3).T + jnp.eye(2)))[1]


@pytest.mark.parametrize("u", [pairs, repeated, solved])
@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_points_on_each_device_under_a_mesh(u, kind):
    """With `jax.set_mesh`, `jax.shard_map` knows no array but those of its program."""
    axes = (getattr(jax.sharding.AxisType, kind),)
    mesh = jax.make_mesh((2,), ("i",), axes, devices=jax.devices("cpu")[:2])
    points = jr.normal(jr.key(1), (POINTS, D))
    each = jax.vmap(lambda x: (do.Laplacian().exact(u)(x), do.DiagonalK(3).exact(u)(x)))
    with jax.set_mesh(mesh):
        mapped = jax.shard_map(each, in_specs=jax.P("i"), out_specs=jax.P("i"))
        placed = jax.device_put(points, NamedSharding(mesh, jax.P("i")))
        got = jax.device_get(jax.jit(mapped)(placed))
    third = jax.vmap(jax.jacfwd(jax.jacfwd(jax.jacfwd(u))))(points)
    second = jax.vmap(jax.hessian(u))(points)
    expected = jnp.einsum("nii->n", second), jnp.einsum("niii->n", third)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_determinants_at_divided_points(mesh, put):
    """Rows are pivoted at each point in another order."""
    points = jr.normal(jr.key(1), (POINTS, D))
    got = of_one_device(jax.vmap(do.Laplacian().exact(solved)), mesh, put(points, "i"))
    expected = jnp.einsum("nii->n", jax.vmap(jax.hessian(solved))(points))
    np.testing.assert_allclose(got, expected, rtol=1e-10)
