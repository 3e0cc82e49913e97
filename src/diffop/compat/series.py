"""`jet`: one jet, in the two scales of `jax.experimental.jet`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..taylor import jet as pushed
from ..taylor.pushforward import leaf_series


def jet(
    fun: Callable[..., PyTree],
    primals: Sequence[PyTree],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[PyTree, PyTree]:
    """`jax.experimental.jet.jet`, for every primitive that `jax.jvp` knows and for pytrees. It is
    [`diffop.taylor.jet`][], with a choice of the scale.

    **Arguments:**

    - `fun`: a function of `len(primals)` arguments.
    - `primals`: the point x.
    - `series`: for each primal the list of its K terms; for a pytree a list of K such pytrees, or
        the pytree with a list at each leaf.
    - `factorial_scaled`: whether terms are derivatives, $d^k x/dt^k$ at 0. Otherwise they are
        Taylor coefficients, the derivatives over k!.

    Other keywords are ignored, as in `jax.experimental.jet`.

    **Returns:**

    `(primals_out, series_out)`: fun's output, and the same structure with a list of K terms at each
    leaf.

    **Raises:** `ValueError` if lengths, structures or shapes do not agree; `TypeError` for integer
    primals.

    Source: Bettencourt et al. 2019, "Taylor-mode automatic differentiation for higher-order
    derivatives in JAX".

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat.jet import jet

        jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],))  # 1, [1, 1, 1]
        jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],), factorial_scaled=False)  # 1, [1, 0.5, 0.1667]
        ```
    """
    primals = tuple(primals)
    if factorial_scaled or len(primals) != len(series):  # `jet` raises the error for the latter
        return pushed(fun, primals, series)
    derivatives = [_unscaled(*each) for each in zip(primals, series, range(len(series)))]
    value, outputs = pushed(fun, primals, derivatives)
    return value, jax.tree.map(_over_factorials, value, outputs)


def _unscaled(primal: PyTree, series: Any, position: int) -> PyTree:
    """Derivatives, a list at each leaf, from Taylor coefficients."""
    terms = [
        [float(math.factorial(k)) * jnp.asarray(term) for k, term in enumerate(each, start=1)]
        for each in leaf_series(primal, series, position)
    ]
    return jax.tree.unflatten(jax.tree.structure(primal), terms)


def _over_factorials(value: Array, derivatives: Sequence[Array]) -> list[Array]:
    """Taylor coefficients from derivatives, in the type of the value."""
    return [
        (derivative / float(math.factorial(k))).astype(value.dtype)
        for k, derivative in enumerate(derivatives, start=1)
    ]
