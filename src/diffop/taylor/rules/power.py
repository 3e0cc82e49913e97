"""x^y with an exponent that stands still: binomial coefficients, finite at zero wherever the
derivative is.
"""

from collections.abc import Sequence
from typing import Any

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..binding import bind
from ..bundle import Families, Family, Value, broadcast_series, expand, is_moving, primal_of
from ..coefficients import Series
from ..registry import register
from ..series import faa_di_bruno
from .elementwise import Derivatives, elementwise


@register("pow")
def power(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    base, exponent = (primal_of(operand) for operand in operands)
    if is_moving(operands[1]):
        return elementwise(families, eqn, operands)
    order = max(family.order for family in families)
    (output,) = bind(eqn, (base, exponent))
    derivatives = Derivatives(
        lambda values: _binomial_series(values[0], values[1], order), (base, exponent), output
    )

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        moving = broadcast_series(family, series[0], base, output)
        return [faa_di_bruno(family, derivatives.times, output, moving)]

    return expand(families, operands, [output], expansion)


def _binomial_series(base: Array, exponent: Any, order: int) -> list[Array]:
    """C(y, j) x^{y−j} for j = 1 … K.

    Where y is an integer below j the coefficient vanishes, and it must win over an infinite
    x^{y−j}. The base is replaced there and only there, so that gradients with respect to the
    exponent stay right.
    """
    exponent = jnp.asarray(exponent).astype(base.dtype)
    coefficient = jnp.ones_like(exponent)
    series = []
    for j in range(1, order + 1):
        coefficient = coefficient * (exponent - (j - 1)) / j
        shape = jnp.broadcast_shapes(jnp.shape(base), jnp.shape(exponent))
        factor = jnp.broadcast_to(coefficient, shape)
        x = jnp.broadcast_to(base, shape)
        remaining = jnp.broadcast_to(exponent - j, shape)
        void = (factor == 0) & ~jnp.isfinite(lax.pow(x, remaining))
        x = jnp.where(void, jnp.ones_like(x), x)
        series.append(factor * lax.pow(x, remaining))
    return series
