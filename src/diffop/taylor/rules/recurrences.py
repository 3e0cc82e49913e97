"""Taylor coefficients of functions from their value and slope, by differential equations. Value and
slope are JAX's own, except for the slopes of `slopes.py`.

For y(t) = φ(x + t) = Σ_k c_k t^k, c_0 and c_1 are given. An equation that φ solves gives the
others, by a few products each; differentiating JAX's derivative again would double the cost each
time:

    exp, exp2, expm1    y″ = λ y′           (k+1) c_{k+1} = λ c_k
    sin, cos            y″ = −y             k (k+1) c_{k+1} = −c_{k−1}
    sinh, cosh          y″ = y              k (k+1) c_{k+1} = c_{k−1}
    tanh                y′ = 1 − y²         (k+1) c_{k+1} = −[t^k] y²
    tan                 y′ = 1 + y²         (k+1) c_{k+1} = [t^k] y²
    logistic            y′ = y − y²         (k+1) c_{k+1} = c_k − [t^k] y²
    erf, erfc           y″ = −2 (x + t) y′  k (k+1) c_{k+1} = −2 (k x c_k + (k−1) c_{k−1})

all for k ≥ 1. Errors are about those of JAX's derivatives, except near zeros of a derivative, where
the terms of a sum cancel. Up to order four the zeros of three of these functions are known. With

    tanh       w = y         c_3 = c_1 (w² − 1/3)         c_4 = c_2 (w² − 2/3)
    logistic   w = y − 1/2   c_3 = c_1 (w² − 1/12)        c_4 = c_2 (w² − 1/6)
    erf, erfc  w = x         c_3 = 2/3 c_1 (w² − 1/2)     c_4 = 1/3 c_2 (w² − 3/2)

and c_2 = −w c_1, no digits are lost there except those that w itself lacks: none for erf, and for
the others the last bits of JAX's value. JAX's tanh″ near 0 is the difference of two numbers that
agree there.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from jax import lax
from jaxtyping import Array

from ...arrays import plus, shifted, times

Recurrence: TypeAlias = Callable[[Sequence[Any], Any], Any]
"""c_{k+1} from c_0, …, c_k and x, for k ≥ 1."""

KNOWN_ZEROS = 4
"""The order up to which no digits are lost near zeros of derivatives."""


def coefficients(step: Recurrence, x: Any, value: Any, slope: Any, order: int) -> list[Any]:
    """c_0, …, c_K."""
    found = [value, slope]
    while len(found) <= order:
        found.append(step(found, x))
    return found


def _factored(
    variable: Callable[[Any, Any], Any],
    middle: float,
    factors: Sequence[tuple[float, Fraction]],
    later: Recurrence,
) -> Recurrence:
    """c_2 = −w c_1, with w = v − m for a variable v (the value or x) and its middle m; for k = 3, 4
    c_k = a c_{k−2} (w² − p), given by a and p; later coefficients by another equation.
    """

    def step(c: Sequence[Any], x: Any) -> Any:
        k, v = len(c), variable(c[0], x)
        if k == 2:
            return times(lax.mul(shifted(v, -middle), c[1]), -1)
        if k > KNOWN_ZEROS:
            return later(c, x)
        factor, square = factors[k - 3]
        return _times_difference(times(c[k - 2], factor), v, middle, square)

    return step


def _times_difference(c: Any, v: Any, middle: float, square: Fraction) -> Any:
    """c (w² − p) with w = v − m, computed as c (v − z) (v − (2m − z)) − c (p − (z − m)²), where z
    is the larger zero m + √p in the type of v, and so is 2m − z. Near a zero one factor is exact,
    and p − (z − m)² is about a unit in the last place. Far from it w² may be out of range where c
    vanishes.
    """
    root = float(np.real(np.asarray(middle + math.sqrt(square), v.dtype)))
    rest = float(square - Fraction(root - middle) ** 2)
    near = lax.mul(c, shifted(v, -root))
    return plus(lax.mul(near, shifted(v, root - 2 * middle)), times(c, -rest))


def oscillating(sign: int) -> Recurrence:
    return lambda c, _: times(c[-2], sign / (len(c) * (len(c) - 1)))


@final
@dataclasses.dataclass(frozen=True)
class Quadratic:
    """y′ = a + λ y + μ y² for any a, where λ is `linear` and μ is `square`."""

    linear: float = 0.0
    square: int = 0

    def further(self, c: Sequence[Any], _: Any) -> Any:
        """(k+1) c_{k+1} = [t^k] (λ y + μ y²)."""
        k, terms = len(c) - 1, []
        if self.square:
            mixed = functools.reduce(plus, [lax.mul(c[i], c[k - i]) for i in range((k + 1) // 2)])
            terms.append(times(mixed, 2 * self.square / (k + 1)))
            if k % 2 == 0:
                terms.append(times(lax.mul(c[k // 2], c[k // 2]), self.square / (k + 1)))
        if self.linear:
            terms.append(times(c[k], self.linear / (k + 1)))
        return functools.reduce(plus, terms)

    def turn(self, value: Array) -> Array:
        """λ + 2 μ y, the derivative of y′ with respect to y."""
        return shifted(times(value, 2 * self.square), self.linear)


EXPONENTIAL, BINARY = Quadratic(linear=1.0), Quadratic(linear=math.log(2))
TANH, TAN = Quadratic(square=-1), Quadratic(square=1)
LOGISTIC = Quadratic(linear=1.0, square=-1)


def gaussian(c: Sequence[Any], x: Any) -> Any:
    k = len(c) - 1
    term = lax.mul(x, times(c[k], -2 / (k + 1)))
    return plus(term, times(c[k - 1], -2 * (k - 1) / (k * (k + 1))))


_third, _sixth = Fraction(1, 3), Fraction(1, 6)
OF_ERF = _factored(lambda _, x: x, 0.0, ((2 / 3, 3 * _sixth), (1 / 3, 9 * _sixth)), gaussian)
OF_LOGISTIC = _factored(lambda y, _: y, 0.5, ((1.0, _sixth / 2), (1.0, _sixth)), LOGISTIC.further)
OF_TANH = _factored(lambda y, _: y, 0.0, ((1.0, _third), (1.0, 2 * _third)), TANH.further)
