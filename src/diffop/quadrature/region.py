"""Regions of integration.

A region is the image of the unit cube under a smooth map T, which may depend on the point x at
which the integral is evaluated:

    ∫_{T([0,1]^d)} f(y) dy = ∫_{[0,1]^d} f(T(ξ)) |det ∂T(ξ)| dξ.

A fixed rule uses points ξ of the cube. A random point y with the weight w satisfies
E[w f(y)] = ∫ f(y) dy for every f.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from ..complete import Complete

WeightedPoint: TypeAlias = tuple[Float[Array, " dim"], Float[Array, ""]]
"""A point of a region, and its weight."""

Limit: TypeAlias = int | float | tuple[int | float, ...] | Shaped[Array, "..."] | Callable[..., Any]
"""A number, one for each coordinate, or a function of the point that returns these."""


class AbstractRegion(Complete):
    """The region of an [`diffop.Integral`][].

    A subclass is final and defines `image` and `draw`.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        class Arc(do.quadrature.AbstractRegion):  # the curve y = cos(s), 0 < s < x
            def image(self, unit, x):
                return jnp.cos(x * unit), x[0]

            def draw(self, key, size, x):
                return self.image(jax.random.uniform(key, (size,)), x)
        ```
    """

    @abstractmethod
    def image(self, unit: Float[Array, " dim"], *args: Any, **kwargs: Any) -> WeightedPoint:
        """Maps a point of the unit cube to the region; also the factor by which volumes grow.

        **Arguments:**

        - `unit`: as many numbers between 0 and 1 as there are coordinates to integrate over.
        - `*args`: the point at which the integral is evaluated, that is, u's arguments.
        """

    @abstractmethod
    def draw(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> WeightedPoint:
        """A random point y with a weight w such that E[w f(y)] is the integral of f.

        **Arguments:**

        - `key`: a key from `jax.random.key`.
        - `size`: how many coordinates there are to integrate over.
        - `*args`: as for `image`.
        """


def as_region(given: Any) -> AbstractRegion:
    """A region itself, or the region of a domain.

    **Raises:** `TypeError` for anything else.
    """
    region = given if isinstance(given, AbstractRegion) else getattr(given, "region", None)
    if not isinstance(region, AbstractRegion):
        raise TypeError(
            "Integral is taken over a region, such as diffop.quadrature.Limits(0.0, 1.0), or over "
            f"a diffop.pde.Box or Ball; got {given!r} of type {type(given).__name__}."
        )
    return region
