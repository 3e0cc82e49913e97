"""The flow in the cavity at a large Reynolds number, reached through smaller ones.

At a large number a small residual says little: training that begins there ends with another
function. The flow at a smaller number is in its reach, and a network that has learnt it is near the
flow at the next one.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

import diffop as do

NUMBERS = 400.0, 1000.0, 2000.0, 3200.0
"""Those on the way, as far as they are smaller."""


def continued(
    problem: do.pde.Cavity, settings: do.train.Settings, earlier: int, key: PRNGKeyArray
) -> tuple[do.train.Fit, ...]:
    """Fits at rising numbers, each of which begins with the network of the last one, by the method
    of Levenberg and Marquardt. From the beginning the network sees the coordinates that suit the
    problem's own number, so its layers need not move.

    **Arguments:**

    - `problem`: of the last fit.
    - `settings`: the network's size, the points of a step, and the steps of the last fit.
    - `earlier`: the steps of each fit before; 0 for none.
    - `key`: of the network, the points and the steps.
    """
    sizes = settings.width, settings.depth
    net = eqx.nn.MLP(2, "scalar", *sizes, activation=jnp.tanh, key=key)
    optimiser = do.methods.GaussNewton(1e-2, adaptive=True, acceleration=True)
    smaller = [number for number in NUMBERS if earlier and number < problem.reynolds]

    def loss(flow: do.pde.Cavity) -> do.losses.ResidualLoss:
        return do.losses.ResidualLoss(flow, batch=settings.batch, probes="exact", data_batch=1)

    def stage(number: int, _: eqx.Module | None) -> do.losses.ResidualLoss:
        return loss(do.pde.Cavity(smaller[number]))

    u, fits = problem.ansatz(net), ()
    if smaller:
        fits = do.train.march(u, stage, optimiser, earlier, len(smaller), key=key)
        u = fits[-1].model
    return *fits, do.train.fit(u, loss(problem), optimiser, settings.steps, key=key)
