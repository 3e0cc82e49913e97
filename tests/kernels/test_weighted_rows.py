"""Shared rows times numbers of the point, times a shared matrix, beside the sum itself."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.kernels import call

from .. import jaxprs
from ..nested import laplacian

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
ROWS, MATRIX = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5))
NUMBERS = RNG.normal(size=4)
MANY, FEW = 7, 2
"""Points that go together, and those that do not."""


def meant(numbers, rows, matrix, *, axis, **params):
    summed = (((1,), (axis,)), ((), ()))
    return jax.lax.dot_general(numbers[None] * rows, matrix, summed, **params)


def product(numbers, rows, matrix):
    params = {"axis": 0, "precision": None, "preferred_element_type": None}
    return call("weighted rows", meant, numbers, rows, matrix, **params)


def expected(numbers, rows, matrix):
    return jnp.einsum("k,rk,kh->rh", numbers, rows, matrix)


def scalar(f):
    return lambda *xs: jnp.sum(jnp.sin(f(*xs)))


TRANSFORMATIONS = {
    "value": lambda f: f,
    "jvp": lambda f: lambda *xs: jax.jvp(f, xs, xs),
    "gradient": lambda f: jax.grad(scalar(f), argnums=(0, 1, 2)),
    "hessian": lambda f: jax.hessian(scalar(f), argnums=(0, 1, 2)),
}
AXES = {
    "none": None,
    "numbers": (1, None, None),
    "rows": (None, 0, None),
    "matrix": (0, None, 2),
    "all": (0, 1, 0),
}


def operands(axes, points):
    arrays = NUMBERS, ROWS, MATRIX
    if axes is None:
        return arrays
    return tuple(
        array if axis is None else np.moveaxis(RNG.normal(size=(points, *array.shape)), 0, axis)
        for array, axis in zip(arrays, axes, strict=True)
    )


@functools.cache
def transformed(axes, points):
    """Of points, and at points, in each way: one program."""
    axes = AXES[axes]

    def results(transform, f):
        if axes is None:
            return transform(f)
        inside, outside = transform(jax.vmap(f, axes)), jax.vmap(transform(f), axes)
        return lambda *xs: (inside(*xs), outside(*xs))

    def every(*xs):
        return {
            name: [results(transform, f)(*xs) for f in (product, expected)]
            for name, transform in TRANSFORMATIONS.items()
        }

    return jax.jit(every)(*map(jnp.asarray, operands(axes, points)))


PLACES = [(axes, points) for axes in AXES for points in (MANY, FEW, 1) if axes != "none"]


@pytest.mark.parametrize(("axes", "points"), [*PLACES, ("none", 1)])
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_transformations(transformation, axes, points):
    got, want = transformed(axes, points)[transformation]
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("points", [MANY, FEW])
def test_points_in_points(points):
    """Two axes of points, and one of networks outside of them or inside."""
    numbers, matrices = RNG.normal(size=(points, 3, 4)), RNG.normal(size=(2, 4, 5))
    numbers, matrices, rows, matrix = map(jnp.asarray, (numbers, matrices, ROWS, MATRIX))

    def results(f):
        at = jax.vmap(jax.vmap(f, (0, None, None)), (0, None, None))
        outside = jax.vmap(at, (None, None, 0))
        inside = jax.vmap(jax.vmap(f, (None, None, 0)), (0, None, None))
        return (
            at(numbers, rows, matrix),
            outside(numbers, rows, matrices),
            inside(numbers[:, 0], rows, matrices),
        )

    got, want = (jax.jit(lambda f=f: results(f))() for f in (product, expected))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


D, WIDTH = 3, 8


def network(depth=2):
    return eqx.nn.MLP(D, "scalar", WIDTH, depth, jnp.tanh, key=jax.random.key(0))


def loss(operator):
    def mean(u, points):
        return jnp.mean(jax.vmap(operator(u))(points) ** 2)

    return mean


@pytest.mark.parametrize("points", [20, 3])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_laplacian_at_points(depth, points):
    """Values and gradients by the parameters beside nested differentiation, with as many points as
    go together and with fewer.
    """
    u, x = network(depth), jnp.asarray(RNG.normal(size=(points, D)))
    both = [
        eqx.filter_jit(eqx.filter_value_and_grad(loss(method)))(u, x)
        for method in (do.Laplacian().exact, laplacian)
    ]
    for a, b in zip(*map(jax.tree.leaves, both), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_biharmonic_at_points():
    u, x = network(), jnp.asarray(RNG.normal(size=(20, D)))
    got = jax.jit(jax.vmap(do.Biharmonic().exact(u)))(x)
    np.testing.assert_allclose(got, jax.jit(jax.vmap(laplacian(laplacian(u))))(x), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales(scale):
    """Of the point: a network far from 0 on the line, and very near to it."""
    u = network()
    first = u.layers[0]
    u = eqx.tree_at(lambda u: u.layers[0].weight, u, first.weight / scale)
    x = jnp.asarray(RNG.normal(size=(20, D))) * scale
    got, want = (jax.jit(jax.vmap(method(u)))(x) for method in (do.Laplacian().exact, laplacian))
    np.testing.assert_allclose(got, want, rtol=1e-9)


def equations(points, differentiated):
    u, x = network(), jnp.ones((points, D))
    method = loss(do.Laplacian().exact)
    function = eqx.filter_grad(method) if differentiated else method
    return jaxprs.of(lambda x: jax.tree.leaves(function(u, x)), x)


@pytest.mark.parametrize("differentiated", [False, True])
def test_no_rows_of_all_points_go_into_the_second_layer(differentiated):
    """What goes in are numbers of the points, and the product of rows and matrix; the gradient has
    no array of points × directions × entries but for what comes out of the layer.
    """
    points = 1000
    eqns = equations(points, differentiated)
    together = [
        eqn
        for eqn in jaxprs.named(eqns, "dot_general")
        if eqn.invars[1].aval.shape == (WIDTH, D * WIDTH)
        and eqn.params["dimension_numbers"] == (((1,), (0,)), ((), ()))
    ]
    assert [eqn.invars[0].aval.shape for eqn in together] == [(points, WIDTH)]
    if not differentiated:
        assert (points, D, WIDTH) not in [
            var.aval.shape for eqn in jaxprs.named(eqns, "dot_general") for var in eqn.invars
        ]


def test_few_points_stand_alone():
    eqns = jaxprs.named(equations(2, False), "dot_general")
    shapes = [eqn.invars[1].aval.shape for eqn in eqns]
    assert (WIDTH, D * WIDTH) not in shapes and (WIDTH, WIDTH) in shapes


def test_half_precision():
    """300 · 300 is infinite there, 300 · 300 / 1024 is not."""
    half = jnp.float16
    rows, matrix = jnp.full((3, 4), 300, half), jnp.full((4, 5), 300, half)
    numbers = jnp.full((MANY, 4), 2.0**-10, half)
    got = jax.vmap(product, (0, None, None))(numbers, rows, matrix)
    np.testing.assert_allclose(got, np.full((MANY, 3, 5), 4 * 90000 / 1024), rtol=2e-3)
