"""Shapes given by an inequality."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ...nn.point import check_point
from ...scalars import several
from .box import Box
from .shape import AbstractShape, Bounds, length_of


@final
class Implicit(AbstractShape):
    """The points of a box at which a function is negative.

    The boundary is where the function is zero, and where the box cuts it off. Its points are
    crossings with random lines, found to the digits of the type; this works in a few dimensions.
    Parts that are thinner than a hundredth of the box's diagonal have too few points.

    **Arguments:**

    - `function`: of the point, a scalar; its gradient must not vanish where it is zero.
    - `lower`, `upper`: the ends of the box.

    **Raises:** `ValueError` for ends that do not form a box; `TypeError`, at a point, for a
    function that returns anything but a real number.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        def torus(x):
            return (jnp.hypot(x[0], x[1]) - 1) ** 2 + x[2] ** 2 - 0.09

        domain = do.pde.Implicit(torus, (-1.3, -1.3, -0.3), (1.3, 1.3, 0.3))
        domain.boundary.sample(jax.random.key(0), 10)  # (10, 3)
        ```
    """

    function: Callable[[Float[Array, " dim"]], Float[Array, ""]]
    lower: tuple[int | float, ...] = eqx.field(static=True, converter=several)
    upper: tuple[int | float, ...] = eqx.field(static=True, converter=several)

    def __check_init__(self) -> None:
        self._box  # raises an error if the ends form no box

    @property
    def _box(self) -> Box:
        return Box(self.lower, self.upper)

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.lower)

    @property
    def bounds(self) -> Bounds:
        return self.lower, self.upper

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """About the distance to the boundary, negative inside. The function may have any unit, and
        distances to the box are lengths: divided by the length of its gradient it is one, too.
        """
        x = check_point("Implicit", x, self.dim)
        value, slope = self._value(x), length_of(lax.stop_gradient(jax.grad(self._value)(x)))
        # where it has no slope, its zeros are far
        far = jnp.sign(value) * jnp.finfo(value.dtype).max
        distance = jnp.where(slope > 0, value / jnp.where(slope > 0, slope, 1), far)
        return jnp.maximum(distance, self._box.level(x))

    def side(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """Without the gradient, which takes as long again."""
        x = check_point("Implicit", x, self.dim)
        return jnp.maximum(self._value(x), self._box.level(x))

    def _value(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        value = jnp.asarray(self.function(x))
        if value.shape != () or not jnp.issubdtype(value.dtype, jnp.floating):
            raise TypeError(
                "Implicit expects a function of the point that returns a number, negative inside, "
                f"such as lambda x: x @ x - 1; got type {value.dtype} and shape {value.shape}."
            )
        return value
