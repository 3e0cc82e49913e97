"""A primitive that even `jax.jvp` cannot differentiate: the error names it and the line of u."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

import diffop as do


def called_back(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda x: x, shape, x)  # the line that the message names


def line_of_callback():
    return called_back.__code__.co_firstlineno + 2


APPLICATIONS = {
    "jet": lambda u, x: do.taylor.jet(u, (x,), ([x, x],)),
    "laplacian": lambda u, x: do.Laplacian().exact(u)(x),
    "under_jit": lambda u, x: jax.jit(do.Laplacian().exact(u))(x),
    "in_scan": lambda u, x: do.Laplacian().exact(
        lambda x: jax.lax.scan(lambda c, _: (c + u(x), None), x, None, 2)[0]
    )(x),
}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_error_names_primitive_and_line(name):
    x = jnp.array([1.0, 2.0])
    with pytest.raises(do.taylor.UnsupportedPrimitiveError, match="pure_callback") as info:
        APPLICATIONS[name](called_back, x)
    assert re.search(rf"test_unsupported\.py:{line_of_callback()}\b", str(info.value))


def test_the_reason_that_jax_gives_ends_with_one_full_stop():
    """Of a function for which JAX's own message ends with one."""
    with pytest.raises(do.taylor.UnsupportedPrimitiveError) as info:
        do.Partial(0).exact(lambda a: jax.scipy.special.betainc(a, 2.0, 0.5))(jnp.float32(1.5))
    reason = "Betainc gradient with respect to a and b not supported"
    assert str(info.value).endswith(f"{reason}. Give the function a rule with jax.custom_jvp.")


def test_references_are_not_passed_over():
    """What is added to one would not move it."""

    def collected(x):
        total = jax.new_ref(jnp.zeros(2))
        jax.ref.addupdate(total, ..., x**2)
        return jnp.sum(total[...] ** 2)

    with pytest.raises(do.taylor.UnsupportedPrimitiveError, match="addupdate"):
        do.Laplacian().exact(collected)(jnp.ones(2))


def eigenvalues(x):
    return jnp.sum(jnp.abs(jnp.linalg.eigvals(jnp.outer(x, x) + jnp.diag(x))))  # this line


def kernel(x):
    def double(x_ref, y_ref):
        y_ref[...] = 2 * jnp.sin(x_ref[...])

    kind = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jnp.sum(pallas.pallas_call(double, kind, interpret=True)(x))  # and this one


@pytest.mark.parametrize(
    "u, lines, primitive", [(eigenvalues, 1, "eig"), (kernel, 5, "pallas_call")]
)
def test_the_error_names_them_in_what_a_first_derivative_made(u, lines, primitive):
    """Functions with one derivative and no second: what the first is made of is of the same line,
    also where JAX has traced it before.
    """
    x = jnp.array([1.0, 2.0])
    assert np.isfinite(do.Partial(0).exact(u)(x))
    with pytest.raises(
        do.taylor.UnsupportedPrimitiveError, match=f"primitive '{primitive}'"
    ) as info:
        do.Laplacian().exact(u)(x)
    line = u.__code__.co_firstlineno + lines
    assert re.search(rf"test_unsupported\.py:{line}\b", str(info.value))


def test_what_jax_maps_over_no_directions():
    """`jax.jvp` can differentiate it, but `jax.vmap` has no rule for it."""

    def halved(x):
        half = lambda _, y: y / 2
        return jnp.sum(jax.custom_derivatives.linear_call(half, half, (), x) ** 2)

    x = jnp.array([1.0, 2.0])
    jax.jvp(halved, (x,), (x,))
    with pytest.raises(do.taylor.UnsupportedPrimitiveError, match="'linear_call' .* JAX cannot:"):
        do.Laplacian().exact(halved)(x)


def test_a_callback_that_does_not_see_the_point_is_fine():
    def u(x):
        c = called_back(jnp.array(3.0))
        return c * jnp.sum(x**2)

    assert float(do.Laplacian().exact(u)(jnp.array([1.0, 2.0]))) == 12.0


@pytest.mark.parametrize(
    "u",
    [
        lambda x: x[0] if x[0] > 0 else x[1],
        lambda x: x[0] * (x[0] > 0 and x[1] > 0),
        lambda x: math.sin(x[0]),
        lambda x: x[0] * float(x[1]),
    ],
)
def test_what_python_asks_of_a_value_raises_the_usual_error_with_a_note(u):
    with pytest.raises(jax.errors.ConcretizationTypeError) as info:
        do.Laplacian().exact(u)(jnp.array([1.0, 2.0]))
    (note,) = [note for note in info.value.__notes__ if "jnp.where" in note]
    assert note.endswith("for `a if x > 0 else b`, and jnp.sin(x) for math.sin(x).")


def test_a_rule_that_needs_the_jvp_of_a_custom_vjp():
    """JAX has none, and says so."""

    @jax.custom_vjp
    def backward(x):
        return jnp.sin(x)

    backward.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    forward = jax.custom_jvp(lambda x: backward(x))
    forward.defjvp(lambda x, v: jax.jvp(backward, x, v))
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
        do.Laplacian().exact(lambda x: jnp.sum(forward(x)))(jnp.ones(3))
