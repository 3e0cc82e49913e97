"""Slopes φ′(x) computed from x, for functions whose JAX slopes, from φ(x), lose their digits.

    tanh      JAX has (1 − y)(1 + y)     sech² x = 4 e^{−2|x|} / (1 + e^{−2|x|})²
    logistic          y (1 − y)          s(x) s(−x) = e^{−|x|} / (1 + e^{−|x|})²
    expm1             y + 1              eˣ

For large |x|, y is close to 1, and 1 − y is a difference of numbers that agree: in single precision
tanh′ is off by 100 % at 9. In the tails all higher derivatives are the slope times numbers of about
one, so their recurrences keep the digits of the slope.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
from jax import lax
from jaxtyping import Array

from ...arrays import plus, shifted, times
from . import recurrences
from .recurrences import Recurrence

SlopeFormula: TypeAlias = Callable[[Array], Array]
"""φ′ at real points."""


def _bell(x: Any) -> Any:
    """e^{−|x|} / (1 + e^{−|x|})², the derivative of the logistic function."""
    decay = lax.exp(lax.neg(lax.abs(x)))
    return lax.div(decay, lax.square(shifted(decay, 1)))


def _slope(function: SlopeFormula, formula: SlopeFormula, recurrence: Recurrence) -> SlopeFormula:
    """A formula for φ′ whose derivative is the recurrence's φ″ = 2 c_2, from φ and φ′ at x."""

    @jax.custom_jvp
    def slope(x: Array) -> Array:
        return formula(x)

    @slope.defjvp
    def slope_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (dx,) = primals, tangents
        found = slope(x)
        half = lax.mul(recurrence([function(x), found], x), dx)
        return found, plus(half, half)  # XLA would merge constants: 2 · 300², say, is ∞

    return slope


OF_TANH = _slope(lax.tanh, lambda x: times(_bell(times(x, 2)), 4), recurrences.OF_TANH)
OF_LOGISTIC = _slope(lax.logistic, _bell, recurrences.OF_LOGISTIC)
