"""What all of them are trained with."""

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do

MARQUARDT = do.methods.GaussNewton(1e-2, adaptive=True)


def network(dim, values, seed, width=16, depth=2):
    key = jax.random.key(1000 + seed)
    return eqx.nn.MLP(dim, values, width, depth, jnp.tanh, key=key)


def trained(model, equation, steps, seed, **options):
    """By Levenberg and Marquardt's method."""
    loss = do.losses.ResidualLoss(equation, probes="exact", **options)
    return do.train.fit(model, loss, MARQUARDT, steps, key=jax.random.key(seed)).model


def line(first, last, count):
    """Points of an interval, equally far apart."""
    return jnp.linspace(first, last, count)[:, None]


def relative(u, solution, points):
    """The error of u in the mean square, beside that of 0."""
    expected = jax.vmap(solution)(points)
    missed = jax.vmap(u)(points) - expected
    return float(jnp.linalg.norm(missed) / jnp.linalg.norm(expected))
