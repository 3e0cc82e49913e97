"""What is asked of a method at points, and that methods agree before they are timed."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .methods import Method


def forward(method: Method, u: Any, points: jax.Array) -> jax.Array:
    """The method's values at all points."""
    return jax.vmap(method(u))(points)


def gradient(method: Method, u: Any, points: jax.Array) -> Any:
    """The gradient by the parameters of u of the mean square of the method's values."""
    return eqx.filter_grad(lambda u: jnp.mean(forward(method, u, points) ** 2))(u)


PARTS = {"forward": forward, "gradient": gradient}


def gradients(method: Method, u: Any, points: jax.Array) -> Any:
    """Of each point's value, by the parameters of u: a row of a Gauss–Newton method's Jacobian."""
    return jax.vmap(lambda x: eqx.filter_grad(lambda u: method(u)(x))(u))(points)


def check_agreement(
    methods: Mapping[str, Method],
    u: Any,
    points: Any,
    tolerance: float = 1e-3,
    part: Callable[[Method, Any, Any], Any] = forward,
) -> None:
    """Refuses to time methods that do not compute the same at two of the points.

    The tolerance is relative to the largest number of each array that the first method computes.
    """
    few = jax.tree.map(lambda array: array[:2], points)
    results = {name: _computed(part, method, u, few) for name, method in methods.items()}
    (first, expected), *rest = results.items()
    for name, result in rest:

        def agree(path: Any, result: jax.Array, expected: jax.Array) -> None:
            scale = float(jnp.max(jnp.abs(expected)))
            place = f"{name} beside {first}{jax.tree_util.keystr(path)}"
            np.testing.assert_allclose(
                result, expected, rtol=0, atol=tolerance * scale, err_msg=place
            )

        jax.tree.map_with_path(agree, result, expected)


@eqx.filter_jit
def _computed(part: Callable[..., Any], method: Method, u: Any, points: Any) -> Any:
    return part(method, u, points)
