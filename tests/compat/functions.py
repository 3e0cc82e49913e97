"""Functions of an array of electrons as programs write them, and nested differentiation."""

import jax
import jax.numpy as jnp

SHAPE = (4, 3)
"""Electrons and their coordinates."""


def electrons():
    return jax.random.normal(jax.random.key(7), SHAPE, float)


def _weights(*shape):
    return 0.6 * jax.random.normal(jax.random.key(sum(shape)), shape, float)


def mlp(x):
    h = x.reshape(-1)
    for width in (8, 8):
        h = jnp.tanh(_weights(width, h.size) @ h + 0.1)
    return jnp.sum(h)


def slater(x):
    """log|Ψ| of determinants of orbitals that decay, with a Jastrow factor."""
    features = jnp.concatenate([x, jnp.linalg.norm(x, axis=1, keepdims=True)], axis=1)
    decay = jnp.exp(-jnp.linalg.norm(x, axis=1))[:, None]
    orbitals = jnp.einsum("ef,dfo->deo", jnp.tanh(features), _weights(2, 4, 4)) * decay
    sign, logdet = jnp.linalg.slogdet(orbitals)
    largest = jax.lax.stop_gradient(jnp.max(logdet))
    summed = jnp.sum(sign * jnp.exp(logdet - largest))
    i, j = jnp.triu_indices(4, 1)
    distance = jnp.linalg.norm(x[i] - x[j], axis=1)
    return jnp.log(jnp.abs(summed)) + largest - jnp.sum(0.5 / (1 + distance))


def attention(x):
    q, k, v = (x @ _weights(3, 4, n)[:, :, 0] for n in (1, 2, 3))
    return jnp.sum(jax.nn.softmax(q @ k.T / 2, axis=-1) @ v, axis=0)


def wave(x):
    """Ψ = exp(i k·x) times a real function: complex values of real coordinates."""
    phase = jnp.sum(x * jnp.arange(3.0))
    return jnp.exp(1j * phase) * jnp.array([mlp(x), jnp.sum(jnp.sin(x))])


FUNCTIONS = {f.__name__: f for f in (mlp, slater, attention, wave)}


def nested(f, x):
    """Value, Jacobian with the coordinates first, and Laplacian, by `jax.jacfwd` twice."""

    def of(g):
        flat = lambda y: g(y.reshape(x.shape))
        first = jax.jacfwd(flat)(x.reshape(-1))
        second = jax.jacfwd(jax.jacfwd(flat))(x.reshape(-1))
        return jnp.moveaxis(first, -1, 0), jnp.trace(second, axis1=-2, axis2=-1)

    value = f(x)
    if not jnp.iscomplexobj(value):
        return value, *of(f)
    real, imaginary = of(lambda y: f(y).real), of(lambda y: f(y).imag)
    return value, real[0] + 1j * imaginary[0], real[1] + 1j * imaginary[1]
