"""A continuous normalising flow, as Diffrax' example has it: points move along a field, and the
logarithm of their density changes by its divergence.
"""

import diffrax
import jax
import jax.numpy as jnp

import diffop as do

STEPS = 10


def by_reverse_mode(field, y):
    """The field and its divergence in the example: all rows of the Jacobian."""
    value, back = jax.vjp(field, y)
    (rows,) = jax.vmap(back)(jnp.eye(y.size))
    return value, jnp.trace(rows)


_BOTH = do.exact((do.Identity(), do.Divergence()))


def by_diffop(field, y):
    return _BOTH(field)(y)


def log_density(divergence, weights, y):
    """Of the point where y comes from, which is normally distributed."""

    def slope(t, state, _):
        value, trace = divergence(lambda y: field(weights, t, y), state[0])
        return value, -trace

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(slope),
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=1 / STEPS,
        y0=(y, jnp.zeros(())),
        stepsize_controller=diffrax.ConstantStepSize(),
        max_steps=STEPS + 1,
    )
    (start,), (change,) = solution.ys
    return -0.5 * jnp.sum(start**2) + change


def field(weights, t, y):
    """A network with time in each layer."""
    *hidden, last = weights
    for matrix in hidden:
        y = jnp.tanh(matrix @ y + t)
    return last @ y
