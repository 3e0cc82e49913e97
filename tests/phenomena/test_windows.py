"""A chaotic system, of which one network does not learn all times at once."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import diffop as do

from .training import line, network

pytestmark = pytest.mark.usefixtures("x64")

START, END = (1.0, 1.0, 1.0), 2.0


def lorenz(u):
    return (10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2])


class Scaled(eqx.Module):
    net: eqx.nn.MLP
    length: float = eqx.field(static=True)

    def __call__(self, t):
        return 20 * self.net(2 * t / self.length - 1)


def last_of(windows, seed):
    """u at the end of so many windows."""
    length = END / windows
    interval = do.pde.Box((0.0,), (length,))

    def residual(values, t):
        return values["slope"] - jnp.stack(lorenz(values["u"]))

    def loss(window, before):
        start = jnp.array(START) if before is None else before(jnp.array([length]))
        given = do.pde.Conditions(do.pde.Dirichlet(start, on=interval.face(0, "lower")))
        operators = {"u": do.Identity(), "slope": do.Partial(0)}
        return do.losses.ResidualLoss(
            do.equations.Equation(operators, residual, conditions=given),
            points=line(0.0, length, 60),
            probes="exact",
            data_batch=1,
            data_weight=100.0,
        )

    model = Scaled(network(1, 3, seed), length)
    method = do.methods.GaussNewton(1e-2, adaptive=True, acceleration=True)
    fits = do.train.march(model, loss, method, 150, windows, key=jax.random.key(seed))
    return fits[-1].model(jnp.array([length]))


@pytest.mark.slow("trains five networks")
def test_lorenz(seed=0):
    span = (0, END)
    found = solve_ivp(lambda _, u: lorenz(u), span, START, "DOP853", rtol=1e-12, atol=1e-12)
    expected = found.y[:, -1]
    assert np.abs(last_of(4, seed) - expected).max() < 1e-4  # 8e-6 to 2.1e-5 on seeds 0 to 2
    assert np.abs(last_of(1, seed) - expected).max() > 1  # 24.6 on each of them
