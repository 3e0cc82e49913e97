"""Measures of jumps, in two parts.

A process that jumps from x to x + z at the rate ν(dz) has the generator

    L u(x) = ∫_small (u(x + z) − u(x) − z·∇u(x)) ν(dz) + ∫_large (u(x + z) − u(x)) ν(dz).

If ν is infinite near 0, small jumps are compensated by z·∇u. With θ = z/|z|, Taylor's formula is

    u(x + z) − u(x) − z·∇u(x) = |z|² ∫_0^1 (1 − s) ∂_θ² u(x + s z) ds = ½ |z|² E[∂_θ² u(x + S z)],

where S has the density 2 (1 − s): S = 1 − √U. So small jumps are drawn from the measure |z|² ν(dz),
which is finite, and contribute half of a second derivative at a point on the way. This avoids the
difference of nearly equal numbers (u(x + z) + u(x − z) − 2 u(x))/|z|², which is lost in single
precision if |z| is below 1e-3. The variance is finite if ∂²u is bounded on small jumps, and u is
square integrable along large ones.

A measure draws from both parts, with weights: E[w g(z)] is the integral of g with respect to ν over
large jumps, and with respect to |z|² ν over small ones.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from ..complete import Complete
from ..scalars import is_number, plain
from .values import number_at

Rate: TypeAlias = int | float | Shaped[Array, ""] | Callable[..., Any]


@final
class Jump(NamedTuple):
    """A random jump z = length · direction with a weight.

    - `direction`: a vector; for small jumps a unit vector.
    - `length`: a number, 1 if the direction is the jump itself.
    - `weight`: a number w such that E[w g(z)] is an integral of g.
    """

    direction: Float[Array, " dim"]
    length: Float[Array, ""]
    weight: Float[Array, ""]


class AbstractJumps(Complete):
    """A measure $ν$ of jumps from which one can draw, for [`diffop.JumpGenerator`][].

    A subclass is final and defines `small` and `large`. Its `symmetric` says whether
    $ν(dz) = ν(−dz)$; large jumps are then paired with their opposites.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        class Exponential(do.quadrature.AbstractJumps):  # ν(dz) = exp(−z) dz, z > 0
            symmetric = False

            def small(self, key, size, *args):
                return None

            def large(self, key, size, *args):
                z = jax.random.exponential(key, (size,))
                return do.quadrature.Jump(z, jnp.ones(()), jnp.ones(()))

        E = do.JumpGenerator(Exponential()).estimate(jax.random.key(0), 1000)
        value, error, _ = E.stats(lambda x: x[0])(jnp.zeros(1))  # near 1
        ```
    """

    symmetric: eqx.AbstractVar[bool]

    @abstractmethod
    def small(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> Jump | None:
        """A small jump z with a weight w such that $E[w g(z)] = ∫ g(z) |z|² ν(dz)$ over small
        jumps; None if there are none.

        **Arguments:**

        - `key`: a key from `jax.random.key`.
        - `size`: how many coordinates jump.
        - `*args`: the point before the jump, that is, u's arguments.
        """

    @abstractmethod
    def large(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> Jump:
        """A large jump z with a weight w such that $E[w g(z)] = ∫ g(z) ν(dz)$ over large jumps.

        **Arguments:** as for `small`.
        """


@final
class PoissonJumps(AbstractJumps):
    """A compound Poisson process: jumps at a finite rate $λ$, all of them large. Its generator is
    $λ E[u(x + z) − u(x)]$.

    **Arguments:**

    - `rate`: $λ$, a number or a function of the point.
    - `draw`: a function `(key, *args)` that returns a random jump from the point: a vector with a
        number for each coordinate that jumps.

    **Raises:** `ValueError` for a rate that is negative or not finite; `TypeError` if `draw` is not
    a function.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        merton = do.quadrature.PoissonJumps(0.5, lambda key, x: 0.1 * jax.random.normal(key, (1,)))
        do.JumpGenerator(merton).estimate(jax.random.key(0), 64)(jnp.sum)(jnp.ones(1))
        ```
    """

    rate: Rate = eqx.field(converter=plain)
    draw: Callable[..., Any]
    symmetric: bool = eqx.field(static=True, init=False, default=False)

    def __check_init__(self) -> None:
        rate: Any = self.rate
        wrong = is_number(rate) and not 0 <= rate < math.inf
        if wrong or isinstance(self.rate, str):
            raise ValueError(
                f"PoissonJumps expects a rate that is finite and at least 0; got {self.rate!r}."
            )
        if not callable(self.draw):
            raise TypeError(
                "PoissonJumps expects a function draw(key, *args) that returns a jump; got "
                f"{self.draw!r}."
            )

    def small(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> None:
        """None: all jumps are large."""
        return None

    def large(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> Jump:
        """A jump, with the rate as its weight."""
        jump = jnp.asarray(self.draw(key, *args, **kwargs))
        if jump.shape != (size,):
            raise ValueError(
                f"PoissonJumps expects jumps with a number for each of {size} coordinate(s), of "
                f"shape {(size,)}; got shape {jump.shape}."
            )
        rate = number_at(self.rate, args, kwargs, "the rate of PoissonJumps")
        if jnp.issubdtype(jump.dtype, jnp.inexact):
            rate = rate.astype(jump.dtype)  # the precision of the point
        return Jump(jump.astype(rate.dtype), jnp.ones((), rate.dtype), rate)
