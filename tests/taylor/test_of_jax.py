"""Functions of JAX's that have a rule of their own are recognised by the names that JAX gives to
what it traces. Where it calls them otherwise, these tests fail, and digits are lost.
"""

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import jax.scipy as jsp
import pytest

from diffop.taylor import primitive
from diffop.taylor.rules import of_jax
from diffop.versions import inner_programs

FUNCTIONS = {
    "sinc": (jnp.sinc, jnp.ones(3)),
    "logaddexp": (lambda x: jnp.logaddexp(x, 2 * x), jnp.ones(3)),
    "log_ndtr": (jsp.stats.norm.logcdf, jnp.ones(3)),
    "_slogdet_lu": (lambda x: jnp.linalg.slogdet(x)[1], jnp.eye(3)),
}


def names(function, *arguments):
    """The names of the functions with a rule of their own that a program calls."""

    def equations(jaxpr):
        for eqn in jaxpr.eqns:
            yield eqn
            for program in inner_programs(eqn):
                yield from equations(program)

    found: list[jex.JaxprEqn] = list(equations(jax.make_jaxpr(function)(*arguments).jaxpr))
    known = [eqn for eqn in found if primitive.of(eqn).kind == of_jax.KIND]
    return {of_jax.name_in_jax(eqn) for eqn in known}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_recognised(name):
    """As they stand, at several points at once, and for several types."""
    function, x = FUNCTIONS[name]
    assert names(function, x) == {name}
    assert names(jax.jit(function), x.astype(jnp.bfloat16) if name == "sinc" else x) == {name}
    assert names(jax.vmap(function), jnp.stack([x, x])) == {name}


def test_what_differentiates_them_is_not():
    """It has the name of the function, and is another one."""
    gradient = jax.vmap(jax.grad(jnp.sinc))
    assert names(gradient, jnp.ones(3)) == set()


def test_what_has_their_names_is_not():
    @jax.jit
    def sinc(x):
        return jnp.sin(x)

    @jax.custom_jvp
    def logaddexp(a, b):
        return a - b

    logaddexp.defjvp(lambda primals, tangents: (logaddexp(*primals), tangents[0]))
    assert names(lambda x: sinc(x) + logaddexp(x, 2 * x), jnp.ones(3)) == set()


def test_complex_numbers_have_jax_own_rules():
    z = jnp.ones(3, jnp.complex64)
    assert names(lambda z: jnp.logaddexp(z, 2 * z), z) == set()
