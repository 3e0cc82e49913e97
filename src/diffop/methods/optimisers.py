"""Optimisers and learning rates by name.

Every step has fresh points and fresh jets, so the loss is another function at each step. The
exception is L-BFGS, which compares its values between steps and keeps the points of the first step.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, final

import jax.numpy as jnp
import optax
from optax import contrib

from ..least_squares.conjugate_gradients import ConjugateGradients
from .base import AbstractMethod
from .gauss_newton import GaussNewton
from .lbfgs import LBFGS

Optimiser: TypeAlias = optax.GradientTransformation | AbstractMethod
Maker: TypeAlias = Callable[[optax.Schedule], Optimiser]
"""Makes an optimiser from a schedule of learning rates."""

_Decay = Callable[[float, int], optax.Schedule]


@final
class Named(NamedTuple):
    """An optimiser that has a name.

    - `make`: makes it from a schedule.
    - `needs`: what it needs. `rate`: a learning rate. Methods that find the length of their steps
        need none; their schedule gives the largest sizes and begins at 1, for averages over many
        steps of few points. They need a loss that is a sum of `squares`, or one whose `points`
        stay.
    """

    make: Maker
    needs: Literal["rate", "squares", "points"] = "rate"


def _of_optax(name: str, schedule: optax.Schedule) -> Optimiser:
    """An optimiser of `optax` or `optax.contrib`; its other parameters have their defaults."""
    called = name.replace("-", "_")
    return (getattr(optax, called, None) or getattr(contrib, called))(schedule)


# All optimisers of optax 0.2.8 that need only a schedule of rates. Of the others lbfgs is l-bfgs
# here, noisy_sgd needs a key and sophia the diagonal of a Hessian, optimistic_adam, rprop and sm3
# take no schedule, and those without one (schedule_free_…) return their result at other parameters
# than those at which they take gradients.
_NAMES = (
    *("acprop", "adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw"),
    *("adamw", "adan", "ademamix", "adopt", "amsgrad", "cocob", "dadapt-adamw", "dog", "dowg"),
    *("fromage", "galore", "lamb", "lars", "lion", "madgrad", "momo", "momo-adam", "muon"),
    *("nadam", "nadamw", "novograd", "optimistic-adam-v2", "optimistic-gradient-descent"),
    *("prodigy", "radam", "rmsprop", "sgd", "sign-sgd", "signum", "simplified-ademamix", "yogi"),
)

OPTIMISERS: dict[str, Named] = {
    **{name: Named(partial(_of_optax, name)) for name in _NAMES},
    "l-bfgs": Named(lambda _: LBFGS(), "points"),
    "gauss-newton": Named(lambda _: GaussNewton(), "squares"),
    "gauss-newton-cg": Named(lambda _: GaussNewton(solver=ConjugateGradients()), "squares"),
    "levenberg-marquardt": Named(
        lambda _: GaussNewton(1e-2, adaptive=True, acceleration=True), "squares"
    ),
    "spring": Named(lambda rate: GaussNewton(momentum=0.9, learning_rate=rate), "squares"),
}


def needs(optimiser: Any) -> str:
    """What an optimiser needs, by its name; one without a name needs a learning rate."""
    named = OPTIMISERS.get(optimiser) if isinstance(optimiser, str) else None
    return "rate" if named is None else named.needs


def bound_by_fan_in(rate: float, most: float) -> optax.GradientTransformation:
    """Scales the updates of an optimiser whose learning rate is `rate`, so that the rate of a
    matrix of m inputs is at most `most` / √m.

    Adam moves each weight by about its rate η. The input of a unit, w · x, then changes by up to
    η ‖x‖₁, which is η √m for a point of length one whose m coordinates are alike. A step that is
    small for each weight is large for the unit. Source: the learning rates by fan-in of Yang et al.
    2022, "Tensor Programs V", here for inputs of a given length.
    """

    def bounded(update: Any, _: Any) -> Any:
        if jnp.ndim(update) < 2:
            return update
        return update * min(1.0, most / (rate * math.sqrt(math.prod(update.shape[1:]))))

    return optax.stateless_with_tree_map(bounded)


# the rate of Shi et al. 2024 for problems with time: 0.9995 at each of 10,000 steps
_LAST_OF_EXPONENTIAL = 0.9995**10_000

SCHEDULES: dict[str, _Decay] = {
    "linear": lambda rate, steps: optax.linear_schedule(rate, 0.0, steps),
    "cosine": optax.cosine_decay_schedule,
    "exponential": lambda rate, steps: optax.exponential_decay(rate, steps, _LAST_OF_EXPONENTIAL),
    "constant": lambda rate, steps: optax.constant_schedule(rate),
}
