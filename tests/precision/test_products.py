"""Which precision matrix products are computed in: that of u where u names one, else that of JAX's
option, else all digits of their type.
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
    "gradient": do.Gradient(lambda x: jnp.sin(C @ x)[:, None]),
    "varying": do.ParabolicTrace(lambda x: jnp.cos(C @ x)[:, None]),
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
    return operator(u) if isinstance(operator, do.operators.Estimate) else operator.exact(u)


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


def both_forms(precision):
    """As a product of two operands has it, and as rows do."""
    return {str((precision, precision)), str(precision)}


HIGHEST = both_forms(lax.Precision.HIGHEST)


@pytest.mark.parametrize("name", OPERATORS)
def test_products_have_all_digits_of_their_type(name):
    """In the value, in reverse mode, and under a transformation that was begun outside."""
    x = jnp.ones(D, jnp.float32)
    value = lambda x: jax.value_and_grad(
        lambda x: jnp.sum(apply(OPERATORS[name], network(None))(x))
    )(x)
    found = precisions(jax.jit(jax.vmap(value)), x[None])
    assert found and found <= HIGHEST


@pytest.mark.parametrize("name", OPERATORS)
def test_products_that_are_made_when_a_program_is_differentiated(name):
    """By rules of custom derivatives, after the program has been traced."""
    x = jnp.ones(D, jnp.float32)
    value = jax.jit(lambda x: jnp.sum(apply(OPERATORS[name], network(None))(x)))
    found = precisions(jax.grad(value), x) | precisions(jax.hessian(value), x)
    assert found and found <= HIGHEST


@pytest.mark.parametrize("name", OPERATORS)
def test_the_option_of_jax_holds_for_all_products(name):
    x = jnp.ones(D, jnp.float32)
    value = lambda x: jax.vjp(apply(OPERATORS[name], network(None)), x)
    with jax.default_matmul_precision("tensorfloat32"):
        found = precisions(value, x)
    assert found and found <= both_forms(lax.Precision.HIGH)


@pytest.mark.parametrize("name", OPERATORS)
def test_products_of_u_keep_their_own(name):
    """In all coefficients of a jet; an operator's own sums over directions have all digits."""
    x = jnp.ones(D, jnp.float32)
    u = network("high")
    found = precisions(lambda x: apply(OPERATORS[name], u)(x), x)
    high = both_forms(lax.Precision.HIGH)
    assert high & found and found <= HIGHEST | high
    pushed = lambda x: do.taylor.jet(u, (x,), ([x, x],))
    assert precisions(pushed, x) <= high


def test_what_is_outside_of_operators_is_as_it_was():
    x = jnp.ones(D, jnp.float32)
    do.Laplacian().exact(network(None))(x)
    assert precisions(network(None), x) == {"None"}
