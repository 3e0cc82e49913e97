"""Points on meshes with explicit axes, where the types of arrays say how they lie on devices."""

from typing import Any

import jax
from jax.sharding import NamedSharding, reshard

from .arithmetic import densify
from .binding import is_explicit
from .bundle import Families, Value, bundle
from .coefficients import Coefficient, Dense, Series


def is_divided(array: Any) -> bool:
    """Whether the entries of an array lie on several devices along explicit axes."""
    return is_explicit(array) and any(jax.typeof(array).sharding.spec)


def divided(families: Families, series: tuple[Series, ...], primal: Any) -> Value:
    """A divided point with coefficients that lie on the devices as it does.

    They are arrays: where the entries that a gather reads or a scatter writes lie on several
    devices, JAX asks how its result does, so that no entry of a structured one can be looked for.
    """
    own = jax.typeof(primal).sharding

    def array(coefficient: Coefficient, lead: int) -> Coefficient:
        dense = densify(coefficient, lead, primal, "reshard")
        if not isinstance(dense, Dense):
            return dense
        layout = NamedSharding(own.mesh, jax.P(*[None] * lead, *own.spec))
        return Dense(reshard(dense.array, layout))

    arrays = [
        tuple(array(coefficient, family.lead(place)) for place, coefficient in enumerate(terms))
        for family, terms in zip(families, series, strict=True)
    ]
    return bundle(primal, arrays)
