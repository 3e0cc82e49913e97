"""One method beside others: the same network, the same points, forward and gradient."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .peers import Method
from .program import Program
from .table import Row
from .timing import interleaved_medians


def forward(method: Method, u: Any, points: jax.Array) -> jax.Array:
    """The method's values at all points."""
    return jax.vmap(method(u))(points)


def gradient(method: Method, u: Any, points: jax.Array) -> Any:
    """The gradient by the parameters of u of the mean square of the method's values."""
    return eqx.filter_grad(lambda u: jnp.mean(forward(method, u, points) ** 2))(u)


PARTS = {"forward": forward, "gradient": gradient}


def compare(
    case: str, ours: Method, others: Mapping[str, Method], u: Any, points: jax.Array, repeats: int
) -> list[Row]:
    """Ours beside the fastest of the others, in milliseconds."""
    rows = []
    for what, part in PARTS.items():
        programs = [Program(part, method, u, points) for method in (ours, *others.values())]
        mine, *theirs = [1e3 * seconds for seconds in interleaved_medians(programs, repeats)]
        fastest = int(np.argmin(theirs))
        name = list(others)[fastest]
        rows.append(Row(case, points.shape[1], what, name, mine, theirs[fastest]))
    return rows


def check_agreement(methods: Mapping[str, Method], u: Any, points: jax.Array) -> None:
    """Refuses to time methods that do not compute the same at two of the points."""
    few = points[:2]
    results = {name: Program(forward, method, u, few)() for name, method in methods.items()}
    (first, expected), *rest = results.items()
    for name, result in rest:
        scale = float(jnp.max(jnp.abs(expected)))
        np.testing.assert_allclose(
            result, expected, rtol=0, atol=1e-3 * scale, err_msg=f"{name} beside {first}"
        )
