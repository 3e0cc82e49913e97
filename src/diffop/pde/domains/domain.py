"""What a domain is, and what a part of its boundary."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from jaxtyping import Array, Float, PRNGKeyArray

from ...complete import Complete
from ...equations.points import Point, Points

Normal: TypeAlias = Float[Array, " dim"] | Callable[..., Float[Array, " dim"]]
"""As `diffop.Directional` takes it: the same everywhere, or a function of the point."""


class AbstractPart(Complete):
    """A part of a domain's boundary: points, and the outward normal at them.

    - `normal`: the outward unit normal, as [`diffop.Directional`][] takes it: an array, or a
        function of the point. None where there is none, such as at the corners of a box.
    - `across`: the step from here to the opposite face, as a point is; None where there is none.
    - `argnum`: which argument of u the normal is of, mostly the only one, 0.

    A subclass is final and defines `normal`, `across` and `sample`.

    !!! example

        ```python
        import diffop as do

        outlet = do.pde.Box((0.0, 0.0), (2.0, 1.0)).face(0, "upper")
        do.Directional(outlet.normal)  # the derivative along it
        ```
    """

    @property
    @abstractmethod
    def normal(self) -> Normal | None:
        """The outward unit normal."""

    @property
    @abstractmethod
    def across(self) -> Point | None:
        """The step to the opposite face."""

    @property
    def argnum(self) -> int:
        """Which argument of u the normal is of."""
        return 0

    @abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` random points of this part."""


class AbstractDomain(Complete):
    """Where an equation holds: points inside, and the boundary with its parts.

    A subclass is final, defines `boundary` and `sample`, and tells as `dim` how many coordinates a
    point has.

    !!! example

        ```python
        import jax
        import diffop as do

        domain = do.pde.Ball(3)
        inside = domain.sample(jax.random.key(0), 100)  # (100, 3)
        sphere = domain.boundary.sample(jax.random.key(1), 100)  # (100, 3)
        ```
    """

    @property
    @abstractmethod
    def boundary(self) -> AbstractPart:
        """All of the boundary."""

    @abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` random points inside."""
