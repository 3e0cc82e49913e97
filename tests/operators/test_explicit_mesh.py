"""Arrays on a mesh with explicit axes, as `jax.make_mesh` makes it: types say how arrays lie on the
devices, and each operation must know how its result does.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.sharding import NamedSharding

import diffop as do

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
    return operator.exact(u) if isinstance(operator, do.Operator) else operator(u)


@pytest.fixture
def mesh():
    mesh = jax.make_mesh((2,), ("i",))
    assert mesh.axis_types == (jax.sharding.AxisType.Explicit,)
    return mesh


@pytest.fixture
def put(mesh):
    return lambda array, *spec: jax.device_put(array, NamedSharding(mesh, jax.P(*spec)))


def network():
    return eqx.nn.MLP(D, "scalar", 8, 2, jnp.tanh, key=jr.key(0))


@pytest.mark.parametrize("name", OPERATORS)
def test_points_and_gradients(name, put):
    """Values at points that are divided, and gradients of their loss, are those of one device."""
    points = jr.normal(jr.key(1), (POINTS, D))
    parameters, static = eqx.partition(network(), eqx.is_array)

    @jax.jit
    @jax.value_and_grad
    def loss(parameters, points):
        u = eqx.combine(parameters, static)
        return jnp.mean(jnp.square(jax.vmap(applied(OPERATORS[name], u))(points)))

    expected = loss(parameters, points)
    got = loss(jax.tree.map(put, parameters), put(points, "i"))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(jax.device_get(a), b, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_layer_that_is_divided(name, mesh, put):
    """Tensor parallelism: the hidden units lie on two devices."""
    u = network()

    def divided(x):
        first, second, last = u.layers
        hidden = jnp.tanh(put(first.weight, "i", None) @ x + put(first.bias, "i"))
        product = jnp.einsum(
            "ij,j->i", put(second.weight, None, "i"), hidden, out_sharding=jax.P(None)
        )
        return jnp.squeeze(last.weight @ jnp.tanh(product + second.bias) + last.bias)

    x = jr.normal(jr.key(1), (D,))
    with jax.set_mesh(mesh):
        got = jax.jit(applied(OPERATORS[name], divided))(put(x))
    np.testing.assert_allclose(
        jax.device_get(got), applied(OPERATORS[name], u)(x), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_a_point_that_is_divided(name, mesh, put):
    """The coordinates lie on two devices, and inside of u arrays are laid out anew."""
    x, weight = jr.normal(jr.key(1), (D,)), jr.normal(jr.key(2), (3, D))

    def u(x, lay_out=lambda array, *spec: array):
        entries = lay_out(jnp.sin(x) * x, None)
        return jnp.sum(entries**2) * jnp.sum(jnp.cos(x)) + jnp.sum(jnp.tanh(weight @ entries))

    divided = lambda x: u(x, lambda a, *spec: jax.sharding.reshard(a, jax.P(*spec)))
    with jax.set_mesh(mesh):
        got = jax.jit(applied(OPERATORS[name], divided))(put(x, "i"))
    np.testing.assert_allclose(jax.device_get(got), applied(OPERATORS[name], u)(x), rtol=1e-10)
