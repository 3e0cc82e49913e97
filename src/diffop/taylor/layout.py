"""Arrays on meshes with explicit axes, whose types say how they lie on the devices."""

from typing import Any

import jax

from .binding import divided_along, is_divided
from .bundle import Bundle, Families, Value, bundle, dense_value
from .coefficients import Coefficient, Full, Sets, sets


def laid_out(families: Families, value: Value) -> Value:
    """A value whose coefficients are divided as its primal is.

    They are arrays then: JAX asks how the result of each gather from a divided array is divided, so
    that structured coefficients, whose rules gather, cannot be followed.
    """
    if not isinstance(value, Bundle) or not is_divided(jax.typeof(value.primal)):
        return value
    dense = dense_value(value, families, "on a mesh with explicit axes")
    series = [
        tuple(_divided(term, family.lead(place), value.primal) for place, term in enumerate(terms))
        for family, terms in zip(families, dense.series, strict=True)
    ]
    return bundle(value.primal, series)


def _divided(coefficient: Coefficient, lead: int, primal: Any) -> Coefficient:
    if isinstance(coefficient, Sets):
        return sets([_divided(part, 1, primal) for part in coefficient.parts])
    if not isinstance(coefficient, Full):
        return coefficient
    own = jax.typeof(primal).sharding
    return Full(divided_along(coefficient.array, jax.P(*[None] * lead, *own.spec), own.mesh))
