"""Flows in the plane without compression, by their stream function ψ.

The velocity is (ψ_y, −ψ_x), and the vorticity −Δψ. Velocities of some flows are in `data/`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...operators.base import Operator
from ...operators.elementary import Partial
from ...operators.vector import Gradient
from ..domains.box import Box
from ..problem import Reference

_DATA = Path(__file__).parent / "data"
LAPLACIAN = Partial(0, 2) + Partial(1, 2)


def carrying() -> dict[str, Operator]:
    """What the velocity carries, and with what."""
    x, y = Partial(0), Partial(1)
    return {"x": x, "y": y, "bent_x": x @ LAPLACIAN, "bent_y": y @ LAPLACIAN}


def carried(values: Mapping[str, Any]) -> Float[Array, ""]:
    """ψ_y Δψ_x − ψ_x Δψ_y, of values of `carrying`."""
    return values["y"] * values["bent_x"] - values["x"] * values["bent_y"]


def velocities(
    flow: str, where: str, reynolds: int | float, known: Mapping[int | float, float], domain: Box
) -> Reference:
    """The slopes of ψ in the middles of equal rectangles of the domain, from the data of a flow.

    **Arguments:**

    - `flow`, `where`: its name in the data, and in an error.
    - `known`: the numbers Re for which there are data, with how far these are from coarser ones.

    **Raises:** `ValueError` for another Re.
    """
    if reynolds not in known:
        raise ValueError(
            f"the velocity {where} is known for Re {', '.join(map(str, known))}, got {reynolds}; "
            "train such a problem with diffop.train.fit."
        )
    with np.load(_DATA / f"{flow}-{reynolds:g}.npz") as file:
        u, v = np.moveaxis(file["u"], 2, 0)
    middles = [(np.arange(count) + 0.5) / count for count in u.shape]
    unit = np.stack(np.meshgrid(*middles, indexing="ij"), axis=2).reshape(-1, 2)
    lower, upper = np.array(domain.lower), np.array(domain.upper)
    points = lower + unit * (upper - lower)
    slopes = np.stack([-v.ravel(), u.ravel()], axis=1)
    values = jnp.asarray(points, float), jnp.asarray(slopes, float)
    return Reference(*values, known[reynolds], Gradient())
