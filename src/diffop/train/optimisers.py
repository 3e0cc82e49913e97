"""Optimisers and learning rates by name.

Every step has fresh points and fresh jets, so the loss is another function at each step, but for
L-BFGS, which compares its values between steps and stays on the first step's.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import optax
from optax import contrib

from ..methods.conjugate_gradients import ConjugateGradients
from ..methods.gauss_newton import GaussNewton
from ..methods.lbfgs import LBFGS
from .iteration import Optimiser

_Schedule = Callable[[float, int], optax.Schedule]

LEAST_SQUARES: dict[str, Callable[[optax.Schedule], GaussNewton]] = {
    "gauss-newton": lambda _: GaussNewton(),
    "gauss-newton-cg": lambda _: GaussNewton(solver=ConjugateGradients()),
    "levenberg-marquardt": lambda _: GaussNewton(1e-2, adaptive=True, acceleration=True),
    "spring": lambda rate: GaussNewton(momentum=0.9, learning_rate=rate),
}
"""For losses that are sums of squares."""

WITHOUT_RATE: dict[str, Callable[[optax.Schedule], Optimiser]] = {
    "l-bfgs": lambda _: LBFGS(),
    **LEAST_SQUARES,
}
"""What finds the length of its steps by itself: from a schedule of their largest sizes, which
begins at 1, where many steps of few points are to be averaged.
"""

_UNSUITED = {
    "lbfgs": "is l-bfgs here, which stays on the points of the first step",
    "noisy_sgd": "wants a key",
    "optimistic_adam": "takes no schedule of rates; optimistic-adam-v2 does",
    "rprop": "takes no schedule of rates",
    "schedule_free_adamw": "has its result elsewhere than where it takes gradients",
    "schedule_free_sgd": "has its result elsewhere than where it takes gradients",
    "sm3": "takes no schedule of rates",
    "sophia": "wants the diagonal of a Hessian",
}
"""Those of optax that a schedule of rates is not enough for, and why."""


def _of_optax() -> dict[str, Callable[[optax.Schedule], Optimiser]]:
    """The optimisers of `optax` and `optax.contrib`, by their names with hyphens."""
    makers = {**vars(optax), **vars(contrib)}
    return {
        name.replace("_", "-"): makers[name]
        for name in sorted(makers)
        if name not in _UNSUITED and _is_made_from_a_rate(name, makers[name])
    }


def _is_made_from_a_rate(name: str, maker: Any) -> bool:
    """Whether it has a learning rate first, and defaults for all else."""
    made = maker.func if isinstance(maker, functools.partial) else inspect.unwrap(maker)
    if name.startswith(("_", "scale_by_")) or not inspect.isfunction(made):
        return False
    first, *others = inspect.signature(maker).parameters.values() or (None,)
    named = first is not None and first.name == "learning_rate"
    return named and all(
        each.default is not each.empty or each.kind is each.VAR_KEYWORD for each in others
    )


OPTIMISERS: dict[str, Callable[[optax.Schedule], Optimiser]] = {
    **_of_optax(),
    **WITHOUT_RATE,
}
"""From a learning rate."""


def bound_by_fan_in(rate: float, most: float) -> optax.GradientTransformation:
    """The updates of an optimiser whose learning rate is `rate`, as if that of a matrix of m inputs
    was at most `most` / √m.

    Adam moves each weight by about its rate η. What enters a unit, w · x, then changes by up to
    η ‖x‖₁, which is η √m for a point of length one whose m coordinates are alike: a step that is
    small for each weight is large for the unit. Source: the learning rates by fan-in of Yang et al.
    2022, "Tensor Programs V", here for inputs of a given length.
    """

    def bounded(update: Any, _: Any) -> Any:
        if jnp.ndim(update) < 2:
            return update
        return update * min(1.0, most / (rate * math.sqrt(math.prod(update.shape[1:]))))

    return optax.stateless_with_tree_map(bounded)


# that of Shi et al. 2024 for problems with time: 0.9995 at each of 10,000 steps
_LAST_OF_EXPONENTIAL = 0.9995**10_000

SCHEDULES: dict[str, _Schedule] = {
    "linear": lambda rate, steps: optax.linear_schedule(rate, 0.0, steps),
    "cosine": optax.cosine_decay_schedule,
    "exponential": lambda rate, steps: optax.exponential_decay(rate, steps, _LAST_OF_EXPONENTIAL),
    "constant": lambda rate, steps: optax.constant_schedule(rate),
}
