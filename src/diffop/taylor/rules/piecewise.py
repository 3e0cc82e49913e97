"""Primitives that choose among their entries: linear wherever the choice stays the same.

The largest entry of x + t v is, for small t, the one that is largest at x, so every coefficient
goes through the same map, `jax.jvp` at the primal. Where entries are equal the map is JAX's own (a
maximum divides its derivative among them), and as in JAX the choice itself has no derivative.
"""

from collections.abc import Sequence

import jax.extend.core as jex

from ..bundle import Families, Family, Value
from ..coefficients import Series
from ..primitive import Primitive, enter
from .fallback import check_differentiable
from .moving_part import MovingPart
from .tangents import Tangents


def piecewise_linear(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """y_k = J x_k for every order k, J being the derivative at the primal."""
    part = MovingPart(eqn, operands)
    check_differentiable(eqn, part.function, part.point)
    derivative = Tangents(part.function, part.point, part.values)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        columns = [
            derivative.map([terms[place] for terms in series], family.lead(place))
            for place in family.places
        ]
        return list(zip(*columns, strict=True))

    return part.pushed(families, expansion)


def _enter(names: str) -> None:
    enter(names.split(), Primitive(piecewise_linear, "choosing"))


_enter("cummax cummin reduce_max reduce_min reduce_window_max reduce_window_min")
_enter("scatter-max scatter-min sort top_k")
