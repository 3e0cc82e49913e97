"""Which coordinates are differentiated: argnum, dims, multi-indices, pytrees of any rank."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import diffop as do

from .. import functions, jaxprs
from ..functions import relative_error

pytestmark = pytest.mark.usefixtures("x64")

TREE = ({"a": jnp.float32(0.5), "b": (jnp.arange(1.0, 5.0).reshape(2, 2), jnp.array([2.0]))},)


def tree_point():
    return jax.tree.map(lambda x: x.astype(jnp.float64), TREE)[0]


def of_tree(p):
    m, v = p["b"]
    return jnp.sin(p["a"]) * m[0, 1] ** 3 + m[1, 0] ** 2 * v[0] ** 2 + m[0, 0] * m[1, 1] * p["a"]


def together(point, *functions):
    """What functions make of a point, as one program."""
    return jax.jit(lambda point: [function(point) for function in functions])(point)


def test_coordinates_are_numbered_as_ravel_pytree_does():
    point = tree_point()
    expected, _ = ravel_pytree(jax.grad(of_tree)(point))
    assert len(set(map(float, expected))) == 6
    got = together(point, *(do.Partial(i).exact(of_tree) for i in range(6)))
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_gradient_has_the_structure_of_the_argument():
    point = tree_point()
    got, expected = together(point, do.Gradient().exact(of_tree), jax.grad(of_tree))
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    jax.tree.map(lambda g, e: np.testing.assert_allclose(g, e, rtol=1e-14), got, expected)


def test_gradient_of_several_outputs_is_the_jacobian():
    u = lambda p: {"twice": 2.0 * of_tree(p), "pair": jnp.stack([of_tree(p), p["a"] ** 2])}
    point = tree_point()
    got, expected = together(point, do.Gradient().exact(u), jax.jacobian(u))
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    jax.tree.map(lambda g, e: np.testing.assert_allclose(g, e, rtol=1e-14), got, expected)


def test_neighbouring_coordinates_of_a_gradient_are_cut_out():
    """Not gathered: on a mesh a gather would copy the gradient to every device."""
    u, x = lambda x: jnp.sin(x[0] * x[3]) * x[2] ** 2 * x[4], jnp.arange(1.0, 6.0)
    for dims, gathers in [((1, 2, 3), 0), ((3, 2, 1), 1)]:
        part = do.Gradient(dims=dims).exact(u)
        assert len(jaxprs.named(jaxprs.of(part, x), "gather")) == gathers
        np.testing.assert_allclose(part(x), jax.grad(u)(x)[np.array(dims)], rtol=1e-14)


def test_laplacian_over_a_matrix():
    x = jnp.arange(1.0, 7.0).reshape(2, 3) / 4
    u = lambda x: jnp.sum(jnp.sin(x) @ x.T)
    got, hessian = together(x, do.Laplacian().exact(u), jax.hessian(u))
    np.testing.assert_allclose(got, np.trace(hessian.reshape(6, 6)), rtol=1e-13)


def test_mixed_spellings_agree():
    u, x = functions.SCALAR[0].model("float64"), functions.SCALAR[0].points("float64")[0][0]
    spellings = [(2, 1, 0), {0: 2, 1: 1}, {(0, 0): 2, (0, 1): 1}]
    values = together(x, *(do.Mixed(alpha).exact(u) for alpha in spellings))
    assert len({float(v) for v in values}) == 1
    assert all(do.Mixed(alpha) == do.Mixed({0: 2, 1: 1}) for alpha in spellings)


def test_mixed_of_another_argument():
    function = functions.SPACE_AND_TIME
    x, t = function.points("float64")
    model = function.model("float64")
    one = do.Mixed({0: 2, 2: 1}, argnum=1).exact(lambda t, x: model(x, t))
    got = jax.jit(jax.vmap(one))(t, x)
    expected = function.derivatives("float64")[3][..., 0, 0, 2]
    assert relative_error(got, expected) <= 1e-10


def test_dims_of_a_second_order_operator():
    """C has one row for each of dims, in their order."""
    function = functions.SCALAR[1]
    C = jnp.array([[1.0, 2.0], [0.5, -1.0]])
    model, (points,) = function.model("float64"), function.points("float64")
    got = jax.jit(jax.vmap(do.SecondOrder(C, dims=(2, 0)).exact(model)))(points)
    H = function.derivatives("float64")[2]
    expected = H[..., 2, 2] + 2.5 * H[..., 2, 0] - H[..., 0, 0]
    assert relative_error(got, expected) <= 1e-10


@pytest.mark.parametrize("build", [do.Directional, do.ParabolicTrace], ids=lambda b: b.__name__)
def test_dims_of_other_coefficients(build):
    function = functions.SCALAR[1]
    c = jnp.array([2.0, -0.5])
    model, (points,) = function.model("float64"), function.points("float64")
    got = jax.jit(jax.vmap(build(c, dims=(1, 2)).exact(model)))(points)
    _, g, H = function.derivatives("float64")[:3]
    expected = {
        do.Directional: 2.0 * g[..., 1] - 0.5 * g[..., 2],
        do.ParabolicTrace: 0.5 * (4.0 * H[..., 1, 1] + 0.25 * H[..., 2, 2]),
    }[build]
    assert relative_error(got, expected) <= 1e-10


def test_other_arguments_may_be_anything():
    def u(x, mode, indices, network, nothing):
        assert mode == "square" and nothing is None
        return jnp.sum(x[indices] ** 2) * network(x)

    network = eqx.nn.MLP(3, "scalar", 4, 1, key=jax.random.key(0))
    x = jnp.array([0.5, 1.0, -2.0])
    rest = ("square", jnp.array([0, 2]), network, None)
    of_rest = lambda x: do.Laplacian().exact(u)(x, *rest)
    got, hessian = together(x, of_rest, jax.hessian(lambda x: u(x, *rest)))
    np.testing.assert_allclose(got, np.trace(hessian), rtol=1e-12)


def test_keyword_arguments_are_passed_on():
    u = lambda x, *, power: jnp.sum(x**power)
    got = do.Laplacian().exact(u)(jnp.array([1.0, 2.0]), power=3)
    np.testing.assert_allclose(got, 18.0, rtol=1e-14)


def test_a_method_is_a_function():
    class Network(eqx.Module):
        mlp: eqx.nn.MLP

        def potential(self, x):
            return self.mlp(x) ** 2

    network = Network(eqx.nn.MLP(2, "scalar", 4, 1, key=jax.random.key(0)))
    x = jnp.array([0.5, 1.0])
    u = network.potential
    got, hessian = together(x, do.Laplacian().exact(u), jax.hessian(u))
    np.testing.assert_allclose(got, np.trace(hessian), rtol=1e-12)


def test_differentiation_ignores_what_does_not_depend_on_the_argument():
    x = jnp.array([1.0, 2.0])
    assert do.Laplacian().exact(lambda x: jnp.array(3.0))(x) == 0.0
    got = do.Partial(0).exact(lambda x: (x[0] ** 2, jnp.arange(3.0)))(x)
    np.testing.assert_array_equal(got[0], 2.0)
    np.testing.assert_array_equal(got[1], np.zeros(3))


def test_none_in_a_point():
    """As in `eqx.nn.Linear(use_bias=False)`: nothing that could move."""
    point = {"a": jnp.arange(3.0), "b": None}
    u = lambda p: jnp.sum(p["a"] ** 4)
    along = do.Directional({"a": jnp.ones(3), "b": None})
    got = together(
        point,
        do.Laplacian().exact(u),
        do.Laplacian().exact(u, chunk=2),
        do.Laplacian().estimate(jax.random.key(0), 3)(u),
        do.Biharmonic().exact(u),
        along.exact(u),
    )
    np.testing.assert_allclose(got, [60, 60, 60, 72, 36], rtol=1e-12)
    series = [{"a": jnp.ones(3), "b": None}]
    assert do.taylor.jet(u, (point,), (series,))[1] == [36]
    layer = eqx.nn.Linear(2, 1, use_bias=False, key=jax.random.key(0))
    of_layer = lambda layer: jnp.sum(layer(jnp.array([1.0, 2.0])) ** 2)
    np.testing.assert_allclose(do.Laplacian().exact(of_layer)(layer), 10, rtol=1e-12)


def test_tangents_of_another_structure():
    point = {"a": jnp.arange(3.0), "b": None}
    jets = do.taylor.Jets((({"a": jnp.ones((1, 3)), "c": jnp.ones((1, 3))},),))
    with pytest.raises(ValueError, match="tangents must have the structure of their argument"):
        do.taylor.push(lambda p: jnp.sum(p["a"]), (point,), [jets])


NARROW = np.random.default_rng(0).normal(size=(2, 4))
EMPTY = {
    "slice": lambda x: jnp.sum(x[:0]) + x[0] ** 2,
    "product": lambda x: jnp.prod(x[:0]) * jnp.prod(x),
    "behind_a_layer": lambda x: jnp.sum(jnp.tanh(jnp.tanh(NARROW @ x)[:0])) + x[0] ** 4,
    "layer": lambda x: jnp.sum(np.zeros((2, 0)) @ jnp.tanh(np.zeros((0, 4)) @ x)) + x[0] ** 3,
    "carried": lambda x: jax.lax.fori_loop(
        0, 2, lambda i, h: (2 * h[0], jnp.sin(h[1])), (x[:0], x)
    )[1].sum(),
    "associative_scan": lambda x: jnp.sum(jax.lax.associative_scan(jnp.multiply, x) ** 2),
}


@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_entries(name):
    u, x = EMPTY[name], jnp.array([0.5, 1.2, -0.7, 0.3])
    operators = do.exact([do.Laplacian(), do.SecondOrder(jnp.ones((4, 4)))])
    got, hessian = together(x, operators(u), jax.hessian(u))
    np.testing.assert_allclose(got, [np.trace(hessian), np.sum(hessian)], rtol=1e-11, atol=1e-12)
