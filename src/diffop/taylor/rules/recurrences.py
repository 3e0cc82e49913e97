"""Taylor coefficients of functions from JAX's own value and slope, by differential equations.

Of y(t) = φ(x + t) = Σ_k c_k t^k, c_0 and c_1 are given; an equation that φ solves gives the others,
at the cost of few products each, where differentiating JAX's derivative again would double it:

    exp, exp2, expm1    y″ = λ y′           (k+1) c_{k+1} = λ c_k
    sin, cos            y″ = −y             k (k+1) c_{k+1} = −c_{k−1}
    sinh, cosh          y″ = y              k (k+1) c_{k+1} = c_{k−1}
    tanh                y′ = 1 − y²         (k+1) c_{k+1} = −[t^k] y²
    tan                 y′ = 1 + y²         (k+1) c_{k+1} = [t^k] y²
    logistic            y′ = y − y²         (k+1) c_{k+1} = c_k − [t^k] y²
    erf, erfc           y″ = −2 (x + t) y′  k (k+1) c_{k+1} = −2 (k x c_k + (k−1) c_{k−1})

all for k ≥ 1. Errors are about those of JAX's derivatives, but next to zeros of a derivative: there
either may lose digits that the other keeps. tanh″ is −2y y′ here, to the last bits near 0, and for
JAX the difference of two numbers that agree there.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from jax import lax

from ..arrays import plus, times

Step: TypeAlias = Callable[[Sequence[Any], Any], Any]
"""c_{k+1} from c_0, …, c_k and x, for k ≥ 1."""


def coefficients(step: Step, x: Any, value: Any, slope: Any, order: int) -> list[Any]:
    """c_0, …, c_K."""
    found = [value, slope]
    while len(found) <= order:
        found.append(step(found, x))
    return found


def growing(rate: float) -> Step:
    return lambda c, _: times(c[-1], rate / len(c))


def oscillating(sign: int) -> Step:
    return lambda c, _: times(c[-2], sign / (len(c) * (len(c) - 1)))


def riccati(linear: int, quadratic: int) -> Step:
    def step(c: Sequence[Any], _: Any) -> Any:
        k = len(c) - 1
        mixed = functools.reduce(plus, [lax.mul(c[i], c[k - i]) for i in range((k + 1) // 2)])
        terms = [times(mixed, 2 * quadratic / (k + 1))]
        if k % 2 == 0:
            terms.append(times(lax.mul(c[k // 2], c[k // 2]), quadratic / (k + 1)))
        if linear:
            terms.append(times(c[k], linear / (k + 1)))
        return functools.reduce(plus, terms)

    return step


def gaussian(c: Sequence[Any], x: Any) -> Any:
    k = len(c) - 1
    term = lax.mul(x, times(c[k], -2 / (k + 1)))
    return term if k == 1 else plus(term, times(c[k - 1], -2 * (k - 1) / (k * (k + 1))))
