"""`Gradient`, component by component: the value and the type of `Partial`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import diffop as do

X = np.array([1.0, -2.0, 0.5])
Z = np.array([1.0 + 2.0j, 3.0 - 1.0j, 0.5j])
A = np.array([[2.0, 1.0, 0.0], [0.0, -1.0, 3.0], [1.0, 0.0, 1.0]])

CASES = {
    "single of double": (X, lambda x: jnp.sum(x.astype("float32") ** 3)),
    "double of single": (X.astype("float32"), lambda x: jnp.sum(x.astype("float64") ** 3)),
    "half of single": (X.astype("float32"), lambda x: jnp.sum(x.astype("float16") ** 3)),
    "complex single of double": (X, lambda x: lax.complex(x @ x, x[0]).astype("complex64")),
    "integer": (X, lambda x: jnp.sum(x).astype("int32")),
    "truth": (X, lambda x: x > 0),
    "several": (X, lambda x: (jnp.round(x).astype("int64"), x[0] * x, lax.complex(x, x**2))),
    "real of complex": (Z, lambda z: jnp.sum(jnp.abs(z) ** 2)),
    "not holomorphic": (Z, lambda z: z * jnp.conj(z) ** 2),
    "holomorphic": (Z, lambda z: jnp.sum(z**3)),
    "single real of complex": (Z, lambda z: jnp.sum(z.real * z.imag**2).astype("float32")),
}


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", CASES)
def test_like_partial(name):
    x, u = CASES[name]
    x = jnp.asarray(x)
    operators = {
        "gradient": do.Gradient(),
        "some": do.Gradient(dims=(2, 0)),
        "sigma": do.Gradient(jnp.asarray(A)),
        "rows": do.Gradient(do.operators.MatVec(lambda v: jnp.asarray(A, v.dtype) @ v)),
        "partials": [do.Partial(i) for i in range(3)],
    }
    found = do.exact(operators)(u)(x)
    structure = jax.tree.structure(u(x))
    flat = {name: structure.flatten_up_to(found[name]) for name in operators if name != "partials"}
    columns = [jax.tree.leaves(each) for each in found["partials"]]
    for k, y in enumerate(jax.tree.leaves(u(x))):
        expected = np.stack([column[k] for column in columns], axis=-1)
        inexact = jnp.issubdtype(y.dtype, jnp.inexact)
        assert expected.dtype == (y.dtype if inexact else x.dtype)  # integers count as floating
        wanted = {"gradient": expected, "some": expected[..., np.array([2, 0])]}
        wanted["sigma"] = expected.astype(complex) @ A
        wanted["rows"] = wanted["sigma"]
        for kind, value in wanted.items():
            got = flat[kind][k]
            assert got.dtype == expected.dtype
            tolerance = 4 * float(jnp.finfo(y.dtype).eps) if y.dtype.kind in "fc" else 0
            np.testing.assert_allclose(got, value, rtol=max(tolerance, 1e-6), atol=1e-6)


@pytest.mark.usefixtures("x64")
def test_complex_sigma_of_a_real_function():
    z = jnp.asarray(Z)
    got = do.Gradient(lambda z: z).exact(lambda z: jnp.sum(jnp.abs(z) ** 2))(z)
    np.testing.assert_allclose(got, Z * 2 * Z.real)


def test_a_loop_without_a_known_end():
    """It has no reverse mode."""
    grown = lambda x: lax.while_loop(lambda y: y @ y < 100, lambda y: y * jnp.sin(x) + y, x)
    found = do.Gradient().exact(grown)(jnp.asarray(X, "float32"))
    np.testing.assert_allclose(found, jax.jacfwd(grown)(jnp.asarray(X, "float32")), rtol=1e-6)


EDGES = {
    "relu": jax.nn.relu,
    "clip": lambda x: jnp.clip(x, -1, 1),
    "abs": jnp.abs,
    "leaky": jax.nn.leaky_relu,
    "maximum": lambda x: jnp.maximum(x, 1 - x),
    "sqrt": jnp.sqrt,
    "cut off": lambda x: jnp.sqrt(jax.nn.relu(x)),
    "cut off again": lambda x: jax.nn.relu(jnp.log(jax.nn.relu(x)) + 1),
    "guarded": lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), 0),
    "flat": lambda x: jnp.exp(-1 / x**2),
    "power": lambda x: x**2.5,
    "reciprocal": lambda x: 1 / x,
    "infinite inside": lambda x: jax.nn.relu(x / 0.0),
}


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", EDGES)
def test_like_jax_at_kinks_and_poles(name):
    """The transpose of a choice is a choice: where relu is flat, infinite slopes do not count."""
    points = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1e-12, -1e-12, 1e12, -1e12, np.nan])
    expected = jax.vmap(jax.grad(EDGES[name]))(jnp.asarray(points))
    got = jax.vmap(do.Gradient().exact(EDGES[name]))(jnp.asarray(points))
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_of_no_values():
    """Each operator gives as many values as u has: none, with the operator's axes."""
    x, none = jnp.ones(6), lambda x: x[:0]
    for operator, axes in (
        (do.Gradient(), (6,)),
        (do.Gradient(dims=(1, 2)), (2,)),
        (do.Gradient(do.operators.MatVec(lambda v: 2 * v)), (6,)),
        (do.Hessian(), (6, 6)),
        (do.Hessian(dims=(0, 1)), (2, 2)),
        (do.Laplacian() @ do.Gradient(), (6,)),
    ):
        assert operator.exact(none)(x).shape == (0, *axes)


@pytest.mark.parametrize("operator", [do.Gradient(), do.Hessian(), do.Gradient(dims=(0, 2))])
def test_effects_happen_once(operator):
    seen = []

    def u(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x[0])
        return jnp.sum(jnp.sin(x))

    for function in (operator.exact(u), jax.jit(operator.exact(u))):
        seen.clear()
        function(jnp.arange(1.0, 7.0))
        jax.effects_barrier()
        assert seen == [1.0]
