"""A function of one point, of which `jax.vmap` makes a loop, beside the function itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.taylor.points import each_point

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
MATRIX, VECTOR = RNG.normal(size=(3, 4)), RNG.normal(size=4)
MATRICES, VECTORS = RNG.normal(size=(5, 3, 4)), RNG.normal(size=(4, 5))


def function(matrix, vector):
    return jnp.sin(matrix @ vector), jnp.sum(vector**3)


def called(matrix, vector):
    return each_point(function, matrix, vector)


def scalar(f):
    return lambda *xs: sum(jnp.sum(jnp.cos(y)) for y in f(*xs))


TRANSFORMATIONS = {
    "value": lambda f: f,
    "jvp": lambda f: lambda *xs: jax.jvp(f, xs, xs),
    "gradient": lambda f: jax.grad(scalar(f), argnums=(0, 1)),
    "hessian": lambda f: jax.hessian(scalar(f), argnums=(0, 1)),
    "gradient_by_one": lambda f: jax.grad(scalar(f), argnums=1),
}
AXES = {"none": None, "vector": (None, 1), "matrix": (0, None), "both": (0, 1)}


def results(f, axes, transform):
    """Transformed at points, and the points in the transformation."""
    if axes is None:
        return transform(f)(MATRIX, VECTOR)
    operands = (
        MATRIX if axes[0] is None else MATRICES,
        VECTOR if axes[1] is None else VECTORS,
    )
    inside = transform(jax.vmap(f, axes))(*operands)
    return inside, jax.vmap(transform(f), axes)(*operands)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(name, axes):
    got, want = (
        jax.jit(lambda f=f: results(f, AXES[axes], TRANSFORMATIONS[name]))()
        for f in (called, function)
    )
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_points_within_points():
    mapped = lambda f: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(MATRICES, VECTORS.T)
    for a, b in zip(mapped(called), mapped(function), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_jets_are_pushed_through_what_is_inside():
    u = lambda f: lambda x: scalar(f)(MATRIX, x)
    got = jax.jit(do.Laplacian().exact(u(called)))(VECTOR)
    np.testing.assert_allclose(got, jnp.trace(jax.hessian(u(function))(VECTOR)), rtol=1e-12)


def test_points_are_gone_through_one_by_one():
    """Forwards and backwards, and no array of all points is made by a product."""
    loss = lambda matrix: jnp.sum(jax.vmap(scalar(called), (None, 1))(matrix, VECTORS))
    jaxpr = jax.make_jaxpr(jax.grad(loss))(MATRIX)
    assert sum(eqn.primitive.name == "scan" for eqn in jaxpr.eqns) == 2
    for eqn in jaxprs.named(list(jaxprs.equations(jaxpr)), "dot_general"):
        assert eqn.outvars[0].aval.shape in [(3,), (4,), (3, 4)]
