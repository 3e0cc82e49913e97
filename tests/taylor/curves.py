"""The reference for the Taylor engine: derivatives along a curve by nested `jax.jvp`."""

import math

import jax
import jax.numpy as jnp
import numpy as np


def along(x, series):
    """t ↦ x + Σ_k t^k x_k / k!, for any pytree x and a list of pytrees."""

    def point(t):
        def leaf(x, *terms):
            return x + sum(c * (t**k / math.factorial(k)) for k, c in enumerate(terms, start=1))

        return jax.tree.map(leaf, x, *series)

    return point


def nested_jvp(f, x, series) -> list[list]:
    """Derivatives of order 0 … K along the curve, of each floating-point array that f returns."""
    point = along(x, series)

    def leaves(t):
        flat = jax.tree.leaves(f(point(t)))
        return [y for y in flat if jnp.issubdtype(y.dtype, jnp.inexact)]

    def derivatives(t):
        result = []
        g = leaves
        for _ in range(len(series) + 1):
            result.append(g(t))
            g = (lambda g: lambda t: jax.jvp(g, (t,), (jnp.ones_like(t),))[1])(g)
        return result

    orders = jax.jit(derivatives)(jnp.zeros(()))
    return [list(of_leaf) for of_leaf in zip(*orders, strict=True)]


def assert_same_series(got, expected, tolerance=1e-10):
    """Each order to `tolerance` of the largest entry up to that order."""
    scale = 0.0
    for order, (g, e) in enumerate(zip(got, expected, strict=True)):
        g, e = np.asarray(g), np.asarray(e)
        assert g.shape == e.shape
        assert g.dtype == e.dtype
        scale = max(scale, float(np.max(np.abs(e), initial=0.0)))
        error = np.max(np.abs(g - e), initial=0.0)
        assert error <= tolerance * scale, f"order {order}: error {error} at scale {scale}"


def series_by_leaf(primals, series) -> list[list]:
    """`jet`'s output as a list of [primal, first, second, …], its floating-point arrays only."""
    leaves, structure = jax.tree.flatten(primals)
    terms = structure.flatten_up_to(series)
    return [
        [leaf, *term]
        for leaf, term in zip(leaves, terms, strict=True)
        if jnp.issubdtype(leaf.dtype, jnp.inexact)
    ]
