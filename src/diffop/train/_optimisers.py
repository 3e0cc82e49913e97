"""Optimisers and learning rates by name.

Every step has fresh points and fresh jets, so the loss is another function at each step, but for
L-BFGS, which compares its values between steps and stays on the first step's.
"""

from collections.abc import Callable

import optax
from optax import contrib

from ._iterate import Optimiser
from .methods._conjugate_gradients import ConjugateGradients
from .methods._gauss_newton import GaussNewton
from .methods._lbfgs import LBFGS

_Schedule = Callable[[float, int], optax.Schedule]

LEAST_SQUARES: dict[str, Optimiser] = {
    "gauss-newton": GaussNewton(),
    "gauss-newton-cg": GaussNewton(solver=ConjugateGradients()),
    "levenberg-marquardt": GaussNewton(1e-3, adaptive=True),
    "spring": GaussNewton(momentum=0.9),
}
"""For losses that are sums of squares."""

OPTIMISERS: dict[str, Callable[[optax.Schedule], Optimiser]] = {
    "adam": optax.adam,
    "adamw": optax.adamw,
    "lion": optax.lion,
    "muon": contrib.muon,
    "l-bfgs": lambda _: LBFGS(),
    **{name: lambda _, method=method: method for name, method in LEAST_SQUARES.items()},
}
"""From a learning rate, of which those from optax alone make use."""

# that of Shi et al. 2024 for problems with time: 0.9995 at each of 10,000 steps
_LAST_OF_EXPONENTIAL = 0.9995**10_000

SCHEDULES: dict[str, _Schedule] = {
    "linear": lambda rate, steps: optax.linear_schedule(rate, 0.0, steps),
    "cosine": optax.cosine_decay_schedule,
    "exponential": lambda rate, steps: optax.exponential_decay(rate, steps, _LAST_OF_EXPONENTIAL),
    "constant": lambda rate, steps: optax.constant_schedule(rate),
}
