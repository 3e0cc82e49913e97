"""jit, vmap, grad and shard_map around operators in every order, of JAX and of Equinox."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import diffop as do

from ..together import Together

pytestmark = [
    pytest.mark.usefixtures("x64"),
    # Equinox would rather have modules than functions under its own transformations
    pytest.mark.filterwarnings("ignore:\\s*Possibly assigning a JAX-transformed callable"),
]

D = 3
POINTS = np.random.default_rng(0).normal(size=(4, D))
W = np.random.default_rng(1).normal(size=(4, D))
L = do.Laplacian() - 0.5 * do.Mixed({0: 2, 1: 1})
ALL = L.estimate(jax.random.key(0), D)
"""With as many draws as terms the estimate is the operator itself, whatever the key."""


def u(w, x):
    return jnp.sum(jnp.tanh(w @ x)) * (1 - jnp.sum(x**2))


def value(w, x):
    v = lambda y: u(w, y)
    return jnp.sin(L.exact(v)(x)) + ALL(v)(x) ** 2


def reference(w, x):
    hessian = jax.jacfwd(jax.jacfwd(u, 1), 1)
    third = jax.jacfwd(hessian, 1)(w, x)
    total = jnp.trace(hessian(w, x)) - 0.5 * third[0, 0, 1]
    return jnp.sin(total) + total**2


def over_points(vmap):
    return lambda f: vmap(f, in_axes=(None, 0))


def by_weights(grad):
    return lambda f: grad(lambda w, x: jnp.sum(f(w, x)))


def on_a_mesh(f):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(f, mesh=mesh, in_specs=(P(), P()), out_specs=P())


TRANSFORMS = {
    "jax": {
        "jit": jax.jit,
        "vmap": over_points(jax.vmap),
        "grad": by_weights(jax.grad),
        "shard_map": on_a_mesh,
    },
    "equinox": {
        "jit": eqx.filter_jit,
        "vmap": over_points(eqx.filter_vmap),
        "grad": by_weights(eqx.filter_grad),
        "shard_map": on_a_mesh,
    },
}


@functools.cache
def expected(summed):
    each = jax.jit(jax.vmap(jax.grad(reference), (None, 0)))(jnp.asarray(W), jnp.asarray(POINTS))
    return np.asarray(jnp.sum(each, axis=0) if summed else each)


def transformed(case):
    """`value`, transformed from the inside to the outside."""
    library, order = case
    f = value
    for name in order:
        f = TRANSFORMS[library][name](f)
    return f


ORDERS = list(itertools.permutations(TRANSFORMS["jax"]))
# Equinox's transformations are JAX's, of the arrays in what they are given: any two in a row
CASES = [("jax", order) for order in ORDERS] + [("equinox", order) for order in ORDERS[1::3]]
by_case = Together(CASES, transformed)
named = lambda part: part if isinstance(part, str) else "-".join(part)


@pytest.mark.parametrize(("library", "order"), CASES, ids=named)
def test_every_order(library, order):
    got = by_case((library, order), jnp.asarray(W), jnp.asarray(POINTS))
    wanted = expected(summed=order.index("vmap") < order.index("grad"))
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("compiled_quickly")
@pytest.mark.parametrize(
    "order",
    [
        ("jit", "vmap", "grad", "shard_map"),
        ("jit", "grad", "shard_map", "vmap"),
        pytest.param(
            ("jit", "shard_map", "vmap", "grad"),
            marks=pytest.mark.slow("JAX makes 200 programs of a gradient of a map outside of jit"),
        ),
    ],
    ids="-".join,
)
def test_outside_of_jit(order):
    """What is around the one jit runs operation by operation."""
    got = transformed(("jax", order))(jnp.asarray(W), jnp.asarray(POINTS))
    wanted = expected(summed=order.index("vmap") < order.index("grad"))
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)
