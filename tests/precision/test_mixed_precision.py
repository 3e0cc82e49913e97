"""Weights, inputs and sums of three types, as mixed-precision training has them: values and
gradients by the weights and by the point, in the types that nested jvp gives them.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

D, POINTS = 4, 2
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(D, D)) / 2 for _ in range(2)]
XS = RNG.normal(size=(POINTS, D))
MATRIX = (((0,), (0,)), ((), ()))


def dot(W, h, kind):
    return lax.dot_general(h, W, MATRIX, preferred_element_type=kind)


def matmul(W, h, kind):
    return jnp.matmul(h, W, preferred_element_type=kind)


def einsum(W, h, kind):
    return jnp.einsum("i,ji->j", h, W, preferred_element_type=kind)


def blocks(W, h, kind):
    return jnp.matmul(h.reshape(2, -1), W[:2, :2], preferred_element_type=kind).reshape(-1)


def batched(W, h, kind):
    pair = h.reshape(2, -1), W.reshape(2, 2, -1)
    return jnp.einsum("bi,bij->bj", *pair, preferred_element_type=kind).reshape(-1)[:D]


def convolution(W, h, kind):
    h = h.astype(W.dtype).reshape(1, 1, -1)  # JAX convolves arrays of one type only
    kernel = W[:1, None, :3]
    return lax.conv_general_dilated(h, kernel, (1,), "SAME", preferred_element_type=kind).reshape(
        -1
    )


NETWORKS = {
    "vectors": (dot, dot),
    "front_ends": (matmul, einsum),
    "matrices": (blocks, batched),
    "convolutions": (convolution, convolution),
}
# of weights, inputs and sums; and whether inputs are rounded to that of the weights
TYPES = {
    "bfloat16_weights": ("bfloat16", "float32", "float32", True),
    "float16_weights": ("float16", "float32", "float32", True),
    "unrounded_inputs": ("bfloat16", "float32", "float32", False),
    "sums_of_more_digits": ("bfloat16", "bfloat16", "float32", True),
    "sums_in_double": ("float32", "float32", "float64", True),
    "single_weights": ("float32", "float64", "float64", False),
}


def by_jets(u):
    return do.exact([do.Laplacian(), do.DiagonalK(3)])(u)


def by_nesting(u):
    def along(v):
        derivatives = [u]
        for _ in range(3):
            last = derivatives[-1]
            derivatives.append(lambda x, f=last: jax.jvp(f, (x,), (v,))[1])
        return lambda x: [f(x) for f in derivatives[2:]]

    def sums(x):
        each = jax.vmap(lambda v: along(v)(x))(jnp.eye(D, dtype=x.dtype))
        return [jnp.sum(values) for values in each]

    return sums


def everything(apply, sums, rounded):
    """Of each network the derivatives at a point and their gradients, and gradients of many."""

    def of(layers, weights, xs):
        def u(weights, x):
            for layer, W in zip(layers, weights, strict=True):
                x = jnp.tanh(layer(W, x.astype(W.dtype) if rounded else x, sums))
            return jnp.sum(x)

        def values(weights, x):
            return apply(lambda x: u(weights, x))(x)

        def total(weights, x):
            found = values(weights, x)
            return sum(found), found

        def many(weights, xs):
            return jnp.sum(jax.vmap(lambda x: values(weights, x)[0])(xs))

        gradient = jax.grad(total, argnums=(0, 1), has_aux=True)(weights, xs[0])
        return gradient, jax.grad(many, argnums=(0, 1))(weights, xs)

    return lambda weights, xs: {name: of(NETWORKS[name], weights, xs) for name in NETWORKS}


@pytest.fixture(scope="module")
def exact():
    """By nested jvp in float64: one program, whatever the numbers were rounded to."""
    return jax.jit(everything(by_nesting, jnp.float64, False))


@pytest.mark.parametrize("types", TYPES)
def test_values_and_gradients(types, exact):
    weight, point, sums, rounded = TYPES[types]
    weights, xs = [jnp.asarray(W, weight) for W in WEIGHTS], jnp.asarray(XS, point)
    with jax.numpy_dtype_promotion("standard"):
        got = jax.jit(everything(by_jets, sums, rounded))(weights, xs)
        nested = everything(by_nesting, sums, rounded)
        kinds = jax.eval_shape(nested, weights, xs)
    expected = exact(*jax.tree.map(lambda each: each.astype(jnp.float64), (weights, xs)))
    assert jax.tree.map(lambda y: y.dtype, got) == jax.tree.map(lambda y: y.dtype, kinds)
    coarsest = max(float(jnp.finfo(kind).eps) for kind in (weight, point, sums))
    for name in NETWORKS:
        for a, b in zip(*map(jax.tree.leaves, (got[name], expected[name])), strict=True):
            a, b = np.asarray(a, np.float64), np.asarray(b)
            np.testing.assert_allclose(
                a, b, rtol=0, atol=8 * coarsest * (1 + np.abs(b).max()), err_msg=name
            )
