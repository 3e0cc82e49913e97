"""Laplacians as functions of functions: folx's three operators."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Int

from ...taylor import Jets, basis, entries, push
from .arrays import FwdLaplArray
from .interpreter import forward_laplacian

OfOneArray: TypeAlias = Callable[[Array], Array]
Laplacian: TypeAlias = Callable[[Array], tuple[Array, Array]]


class LaplacianOperator(Protocol):
    """A map from a function f of one array to x ↦ (second derivatives, Jacobian).

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        def kinetic(operator: folx.LaplacianOperator, log_psi, x):
            second, first = operator(log_psi)(x)
            return -0.5 * (jnp.sum(second) + jnp.sum(first**2))

        kinetic(folx.ForwardLaplacianOperator(0), lambda x: jnp.sum(x**2), jnp.ones(3))  # -9
        ```
    """

    def __call__(self, f: OfOneArray) -> Laplacian: ...


@final
class ForwardLaplacianOperator(eqx.Module):
    """`folx.ForwardLaplacianOperator`: all directions at once, the Laplacian summed on the way.

    **Arguments:**

    - `sparsity_threshold`: without effect, see [`diffop.compat.folx.forward_laplacian`][].

    **Returns:** for f and x, ($Δf$, the Jacobian with respect to the entries of x, these first).

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        operator = folx.ForwardLaplacianOperator(0.6)
        operator(lambda x: jnp.sum(x**3))(jnp.ones(3))  # 18, [3, 3, 3]
        ```
    """

    sparsity_threshold: float | int = eqx.field(static=True, default=0)

    def __call__(self, f: OfOneArray) -> Laplacian:
        forward = forward_laplacian(f, self.sparsity_threshold)

        def laplacian(x: Inexact[Array, "..."]) -> tuple[Array, Array]:
            result = forward(x)
            if not isinstance(result, FwdLaplArray):  # it does not depend on x
                return jnp.zeros_like(result), jnp.zeros((x.size, *result.shape), result.dtype)
            return result.laplacian, result.jacobian.dense_array

        return laplacian


@final
class LoopLaplacianOperator(eqx.Module):
    """`folx.LoopLaplacianOperator`: one direction after another, in the memory of one.

    Like folx 0.2.30, it returns the second derivatives $∂_i²f$ one by one, not their sum.

    **Returns:** for f and x, $(∂_i²f, ∂_i f)$, coordinates first.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        folx.LoopLaplacianOperator()(lambda x: jnp.sum(x**3))(jnp.ones(2))  # [6, 6], [3, 3]
        ```
    """

    def __call__(self, f: OfOneArray) -> Laplacian:
        @jax.jit
        def laplacian(x: Inexact[Array, "..."]) -> tuple[Array, Array]:
            def along(number: Int[Array, ""]) -> tuple[Array, Array]:
                one = entries(number.reshape(1, 1), jnp.ones((1, 1), x.dtype), x.shape)
                first, second = push(f, (x,), [Jets(((one,), (None,)))]).derivatives[0]
                return second[0], first[0]

            return jax.lax.map(along, jnp.arange(x.size))

        return laplacian


@final
class ParallelLaplacianOperator(eqx.Module):
    """`folx.ParallelLaplacianOperator`: all directions at once, each with its second derivative.

    Like folx 0.2.30, it calls f with a vector of the entries of x, and returns the second
    derivatives $∂_i²f$ one by one, not their sum.

    **Returns:** for f and x, $(∂_i²f, ∂_i f)$, coordinates first.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        folx.ParallelLaplacianOperator()(lambda x: jnp.sum(x**3))(jnp.ones(2))  # [6, 6], [3, 3]
        ```
    """

    def __call__(self, f: OfOneArray) -> Laplacian:
        @jax.jit
        def laplacian(x: Inexact[Array, "..."]) -> tuple[Array, Array]:
            jets = Jets(((basis((x.size,)),), (None,)))
            first, second = push(f, (x.reshape(-1),), [jets]).derivatives[0]
            return second, first

        return laplacian
