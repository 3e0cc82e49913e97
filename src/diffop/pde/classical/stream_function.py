"""Flows in the plane without compression, by their stream function ψ.

The velocity is (ψ_y, −ψ_x), and the vorticity −Δψ.
"""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Array, Float

from ...operators.base import Operator
from ...operators.elementary import Partial

LAPLACIAN = Partial(0, 2) + Partial(1, 2)


def carrying() -> dict[str, Operator]:
    """What the velocity carries, and with what."""
    x, y = Partial(0), Partial(1)
    return {"x": x, "y": y, "bent_x": x @ LAPLACIAN, "bent_y": y @ LAPLACIAN}


def carried(values: Mapping[str, Any]) -> Float[Array, ""]:
    """ψ_y Δψ_x − ψ_x Δψ_y, of values of `carrying`."""
    return values["y"] * values["bent_x"] - values["x"] * values["bent_y"]
