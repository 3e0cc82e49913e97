"""`diffop.compat.folx` costs what `diffop.exact` does, and each part only where it is read."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.compat import folx, fwdlap

from .. import jaxprs

close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)

DIMENSION, WIDTH, POINTS = 400, 16, 8


@functools.cache
def network():
    keys = jax.random.split(jax.random.key(0), 3)
    sizes = (WIDTH, DIMENSION), (WIDTH, WIDTH), (WIDTH,)
    return [jax.random.normal(k, s) / s[-1] ** 0.5 for k, s in zip(keys, sizes, strict=True)]


def u(weights, x):
    first, second, last = weights
    return last @ jnp.tanh(second @ jnp.tanh(first @ x))


def energy(laplacian, gradient):
    return -0.5 * (laplacian + gradient @ gradient)


@jax.jit
def by_exact(x):
    return do.Laplacian().exact(functools.partial(u, network()))(x)


def ours(weights, x):
    result = folx.forward_laplacian(functools.partial(u, weights))(x)
    return energy(result.laplacian, result.jacobian.dense_array)


def exact(weights, x):
    operators = {"laplacian": do.Laplacian(), "gradient": do.Gradient()}
    return energy(**do.exact(operators)(functools.partial(u, weights))(x))


def points():
    return jax.random.normal(jax.random.key(1), (POINTS, DIMENSION))


def cost(function, *args):
    """Numbers of operations and of bytes that are read and written, as XLA counts them."""
    analysis = jax.jit(function).lower(*args).compile().cost_analysis()
    return np.array([analysis["flops"], analysis["bytes accessed"]])


LAPLACIANS = {
    "forward_laplacian": lambda f: lambda x: folx.forward_laplacian(f)(x).laplacian,
    "ForwardLaplacianOperator": lambda f: lambda x: folx.ForwardLaplacianOperator(0)(f)(x)[0],
}


@pytest.mark.parametrize("name", LAPLACIANS)
def test_the_laplacian_alone_is_that_of_the_operator(name):
    """The Jacobian, which is not read, is not in the program."""
    f = functools.partial(u, network())
    ours, theirs = LAPLACIANS[name](f), do.Laplacian().exact(f)
    found, expected = (cost(jax.vmap(each), points()) for each in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=0.01)
    close(jax.jit(ours)(points()[0]), jax.jit(lambda x: jnp.trace(jax.hessian(f)(x)))(points()[0]))


def test_kinetic_energies_and_their_gradients_are_those_of_exact():
    mean = lambda each: lambda w: jnp.mean(jax.vmap(functools.partial(each, w))(points()) ** 2)
    both = [jax.jit(jax.value_and_grad(mean(each))) for each in (ours, exact)]
    found, expected = (cost(each, network()) for each in both)
    np.testing.assert_allclose(found, expected, rtol=0.02)
    jax.tree.map(close, *(each(network()) for each in both))


def test_directions_that_are_given_are_replaced():
    """In fwdlap, where they are rows of a matrix: the first layer alone has all of them."""
    x = points()[0]
    given = (x,), (jnp.eye(DIMENSION),), (fwdlap.zero_tangent_from_primal(x),)
    function = lambda x: fwdlap.lap(functools.partial(u, network()), (x,), *given[1:])
    products = jaxprs.multiplications(jaxprs.of(function, x))
    first = DIMENSION**2 * WIDTH
    assert first < products < 1.2 * first + DIMENSION**2


def test_many_outputs_are_of_one_push():
    """No other pass, forward or backward: as many hyperbolic tangents as the function has."""
    f = lambda x: jnp.tanh(network()[0] @ jnp.tanh(x))
    program = jaxprs.of(folx.forward_laplacian(f), points()[0])
    assert jaxprs.count(program)["tanh"] == 2


def test_a_loop_without_a_known_end():
    """It has no reverse mode."""
    first = network()[0]

    def f(x):
        start = jnp.tanh(first @ x), 0
        done = lambda carry: jnp.sum(carry[0] ** 2) > 0.1
        return jnp.sum(
            jax.lax.while_loop(done, lambda c: (0.9 * jnp.sin(c[0]), c[1] + 1), start)[0]
        )

    x = points()[0]
    result = folx.forward_laplacian(f)(x)
    gradient = lambda x: jax.jacfwd(f)(x)
    close(result.jacobian.dense_array, gradient(x))
    close(result.laplacian, jnp.trace(jax.jit(jax.jacfwd(gradient))(x)))
    close(do.Gradient().exact(f)(x), gradient(x))


PARTS = {"x": (5, 40), "y": (200,)}


def test_weights_arguments_and_results_where_directions_are_replaced():
    """Beside nested differentiation of a function of one vector."""
    keys = jax.random.split(jax.random.key(2), 3)
    x, y = (jax.random.normal(k, s) for k, s in zip(keys, PARTS.values(), strict=False))
    weights = jnp.linspace(0.5, 2, 40), 3.0
    each = jnp.concatenate([jnp.tile(weights[0], 5), jnp.full(200, 3.0)])

    def f(x, y, n):
        flat = jnp.concatenate([x.reshape(-1), y])
        value = u(network(), flat)
        return {
            "log": value * n,
            "sign": jnp.sign(value),
            "phase": jax.lax.complex(jnp.cos(value), jnp.sin(value)),
        }

    along = lambda part, s: part(f(*_apart(_flat(x, y) + each * s), 2)["phase"])
    found = jax.jit(lambda: folx.forward_laplacian(f)(x, y, 2, weights=(*weights, 0.0)))()
    assert isinstance(found["sign"], jax.Array)
    zero = jnp.zeros(DIMENSION)
    for part in (jnp.real, jnp.imag):
        function = functools.partial(along, part)
        close(part(found["phase"].jacobian.dense_array), jax.grad(function)(zero))
        hessian = jax.jit(jax.hessian(function))(zero)
        close(part(found["phase"].laplacian), jnp.trace(hessian))
    middle = folx.forward_laplacian(lambda x, y: (jnp.sin(x), y**2))(x, y)
    behind = folx.forward_laplacian(f)(*middle, 2)["log"]
    whole = lambda z: f(jnp.sin(z[:200].reshape(5, 40)), z[200:] ** 2, 2)["log"]
    close(behind.jacobian.dense_array, jax.grad(whole)(_flat(x, y)))
    close(behind.laplacian, jnp.trace(jax.jit(jax.hessian(whole))(_flat(x, y))))


def _flat(x, y):
    return jnp.concatenate([x.reshape(-1), y])


def _apart(z):
    return z[:200].reshape(5, 40), z[200:]
