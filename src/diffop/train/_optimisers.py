"""Optimisers and learning rates by name.

Every step has fresh points and fresh jets, so the loss is another function at each step. That
leaves out methods that compare its values between steps, such as the line search of L-BFGS.
"""

from collections.abc import Callable

import optax
from optax import contrib

_Schedule = Callable[[float, int], optax.Schedule]

OPTIMISERS: dict[str, Callable[[optax.Schedule], optax.GradientTransformation]] = {
    "adam": optax.adam,
    "adamw": optax.adamw,
    "lion": optax.lion,
    "muon": contrib.muon,
}

# that of Shi et al. 2024 for problems with time: 0.9995 at each of 10,000 steps
_LAST_OF_EXPONENTIAL = 0.9995**10_000

SCHEDULES: dict[str, _Schedule] = {
    "linear": lambda rate, steps: optax.linear_schedule(rate, 0.0, steps),
    "cosine": optax.cosine_decay_schedule,
    "exponential": lambda rate, steps: optax.exponential_decay(rate, steps, _LAST_OF_EXPONENTIAL),
    "constant": lambda rate, steps: optax.constant_schedule(rate),
}
