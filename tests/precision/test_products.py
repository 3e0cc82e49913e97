"""Which precision matrix products are computed in: that of u where u names one, else JAX's
default.
"""

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import diffop as do

D, H = 12, 5
RNG = np.random.default_rng(0)
FIRST = jnp.asarray(RNG.normal(size=(H, D)), jnp.float32)
SECOND = jnp.asarray(RNG.normal(size=(H, H)), jnp.float32)
KERNEL = jnp.asarray(RNG.normal(size=(1, 1, 3)), jnp.float32)
C = jnp.asarray(RNG.normal(size=(D, D)), jnp.float32)

OPERATORS = {
    "laplacian": do.Laplacian(),
    "matrix": do.SecondOrder(C),
    "biharmonic": do.Biharmonic(),
    "sparse": do.Laplacian().estimate(jax.random.key(0), 4),
    "rademacher": do.Laplacian().estimate(jax.random.key(0), 4, probes="rademacher"),
    "factors": do.ParabolicTrace(C).estimate(jax.random.key(0), 4),
}


def network(precision):
    def u(x):
        h = jnp.tanh(jnp.matmul(FIRST, x, precision=precision))
        h = jnp.tanh(jnp.matmul(SECOND, h, precision=precision))
        h = jnp.convolve(h, KERNEL[0, 0], mode="same", precision=precision)
        return jnp.dot(h, h, precision=precision)

    return u


def apply(operator, u):
    return operator(u) if isinstance(operator, do.Estimate) else operator.exact(u)


def precisions(function, *args):
    return {
        str(eqn.params["precision"]) for eqn in _products(jax.make_jaxpr(function)(*args).jaxpr)
    }


def _products(jaxpr):
    for eqn in jaxpr.eqns:
        if "precision" in eqn.params:
            yield eqn
        for value in jax.tree.leaves(eqn.params, is_leaf=_is_jaxpr):
            if _is_jaxpr(value):
                yield from _products(getattr(value, "jaxpr", value))


def _is_jaxpr(value):
    return isinstance(value, jex.Jaxpr | jex.ClosedJaxpr)


HIGHEST = {str((lax.Precision.HIGHEST, lax.Precision.HIGHEST)), str(lax.Precision.HIGHEST)}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_default_of_jax_holds_for_all_products(name):
    operator, x = OPERATORS[name], jnp.ones(D, jnp.float32)
    value = lambda x: jax.value_and_grad(apply(operator, network(None)))(x)
    assert precisions(value, x) == {"None"}
    with jax.default_matmul_precision("highest"):
        found = precisions(value, x)
    assert found and found <= HIGHEST


@pytest.mark.parametrize("name", OPERATORS)
def test_products_of_u_keep_their_own(name):
    """In all coefficients of a jet; an operator's own sums over directions follow the default."""
    x = jnp.ones(D, jnp.float32)
    u = network("highest")
    found = precisions(lambda x: apply(OPERATORS[name], u)(x), x)
    assert HIGHEST & found and found <= HIGHEST | {"None"}
    pushed = lambda x: do.taylor.jet(u, (x,), ([x, x],))
    assert precisions(pushed, x) <= HIGHEST
