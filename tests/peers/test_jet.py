"""jet as programs of STDE and jaxpi call it: their equations by `jax.experimental.jet`, by ours and
by nested differentiation.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import jet as theirs

from diffop.compat import jet as ours

close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)

NET = eqx.nn.MLP(3, "scalar", 16, 2, jnp.tanh, key=jax.random.key(0))
X = jax.random.normal(jax.random.key(1), (3,))
E0, E1, E2 = jnp.eye(3)


def u(x):
    return NET(x) * (1 + jnp.sin(x[0]))


def along(jet, v, order, f=u):
    """All derivatives along a line, as STDE has them: a tangent and zeros."""
    zeros = [jnp.zeros_like(v)] * (order - 1)
    return jet(f, (X,), ((v, *zeros),))[1]


def partial(f, *axes):
    for axis in axes:
        f = functools.partial(lambda f, axis, x: jax.jvp(f, (x,), (jnp.eye(3)[axis],))[1], f, axis)
    return f(X)


def laplacian(jet):
    second = lambda v: along(jet, v, 2)[1]
    return jnp.sum(jax.vmap(second)(jnp.eye(3)))


def korteweg_de_vries(jet):
    """u_t + u u_x + u_xxx."""
    first, _, third = along(jet, E1, 3)
    return along(jet, E0, 1)[0] + u(X) * first + third


def biharmonic(jet):
    """Fourth derivatives of pairs of coordinates, from lines between them."""
    fourth = lambda v: along(jet, v, 4)[3]
    pure = sum(fourth(v) for v in (E0, E1, E2))
    pairs = [fourth(a + b) + fourth(a - b) for a, b in ((E0, E1), (E0, E2), (E1, E2))]
    return (sum(pairs) - 4 * pure) / 6 + pure


def mixed(jet):
    """∂_x ∂_y² by one jet of order five along x + e_1 t + e_0 t²/2 …, as the paper makes them: the
    coefficient at t⁴ has it with others, of which the second jet is free.
    """
    zeros = jnp.zeros(3)
    with_x = lambda sign: jet(u, (X,), ((E1, sign * E0, zeros, zeros),))[1][3]
    return (with_x(1.0) - with_x(-1.0)) / 12


def kuramoto_sivashinsky(jet):
    """As jaxpi writes it: a function of two numbers, derivatives along one of them."""
    f = lambda t, x: u(jnp.stack([t, x, 0.3]))
    zero = jnp.zeros(())
    value, (first, second, _, fourth) = jet(
        lambda x: f(X[0], x), (X[1],), ((jnp.ones(()), zero, zero, zero),)
    )
    return value * first + second + fourth


def expected():
    at = lambda *axes: partial(u, *axes)
    here = lambda x: u(jnp.stack([X[0], x, 0.3]))
    first, second = jax.grad(here), jax.grad(jax.grad(here))
    return {
        "laplacian": sum(at(i, i) for i in range(3)),
        "korteweg_de_vries": at(0) + u(X) * at(1) + at(1, 1, 1),
        "biharmonic": sum(at(i, i, j, j) for i in range(3) for j in range(3)),
        "mixed": at(0, 1, 1),
        "kuramoto_sivashinsky": here(X[1]) * first(X[1])
        + second(X[1])
        + jax.grad(jax.grad(second))(X[1]),
    }


EQUATIONS = (laplacian, korteweg_de_vries, biharmonic, mixed, kuramoto_sivashinsky)


@pytest.fixture(scope="module")
def nested():
    return jax.jit(expected)()


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda each: each.__name__)
def test_equations(equation, nested):
    found, other = jax.jit(lambda: [equation(p.jet) for p in (ours, theirs)])()
    close(found, nested[equation.__name__])
    close(other, nested[equation.__name__])


def test_gradients_by_parameters():
    """Of the square of a residual, as a training step takes them."""
    arrays, static = eqx.partition(NET, eqx.is_inexact_array)

    def loss(jet, arrays):
        net = eqx.combine(arrays, static)
        zeros = jnp.zeros(3)
        first, _, third = jet(net, (X,), ((E1, zeros, zeros),))[1]
        return (first * net(X) + third) ** 2

    found, other = jax.jit(lambda w: [jax.grad(loss, 1)(p.jet, w) for p in (ours, theirs)])(arrays)
    jax.tree.map(close, found, other)
