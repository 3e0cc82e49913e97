"""The base classes of domains and of parts of their boundaries."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, final

from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...complete import Complete
from ...equations.points import OnePoint, Points
from ...terms.arguments import is_function
from ..sampling.rejection import ATTEMPTS, restricted
from .sections import Section

Normal: TypeAlias = Float[Array, " dim"] | Callable[..., Float[Array, " dim"]]
"""As `diffop.Directional` takes it: a constant vector, or a function of the point."""

_NOWHERE = (
    f"{ATTEMPTS:,} attempts found no point of the part of a boundary at which the function of "
    "`where` is true, or too few; check the function."
)


class AbstractPart(Complete):
    """A part of a domain's boundary: points, and the outward normal at them.

    - `normal`: the outward unit normal, as [`diffop.Directional`][] takes it. It is an array,
        `face.normal`, if it is the same at all points, as on a face of a box; elsewhere it is a
        function of the point, `part.normal(x)`. None if there is none, such as at the corners of a
        box.
    - `across`: the step from here to the opposite face, in the form of a point; None if there is no
        such face.
    - `argnum`: the argument of u to which the normal belongs, usually the only one, 0.

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
        """The outward unit normal: an array if it is constant, or else a function of the point."""

    @property
    @abstractmethod
    def across(self) -> OnePoint | None:
        """The step to the opposite face."""

    @property
    def argnum(self) -> int:
        """The argument of u to which the normal belongs."""
        return 0

    @abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` random points of this part."""

    def where(self, function: Callable[..., Bool[Array, ""]]) -> "Where":
        """The points of this part at which a function of the point is true.

        !!! example

            ```python
            import diffop as do

            left = do.pde.Box((0.0, 0.0), (1.0, 1.0)).face(0, "lower")
            inlet = left.where(lambda x: abs(x[1] - 0.5) < 0.1)
            ```
        """
        return Where(self, function)


@final
class Where(AbstractPart):
    """The points of a part at which a function is true; made by its method `where`.

    Points are drawn until the function is true.

    !!! example

        ```python
        import jax
        import diffop as do

        upper = do.pde.Ball(2).boundary.where(lambda x: x[1] > 0)
        upper.sample(jax.random.key(0), 100)  # half of a circle
        ```
    """

    part: AbstractPart
    function: Callable[..., Bool[Array, ""]]

    def __check_init__(self) -> None:
        if not is_function(self.function):
            raise TypeError(
                f"where expects a function of the point that returns whether it is kept; got "
                f"{self.function!r}."
            )

    @property
    def normal(self) -> Normal | None:
        """The normal of the whole part."""
        return self.part.normal

    @property
    def across(self) -> OnePoint | None:
        """The step of the whole part."""
        return self.part.across

    @property
    def argnum(self) -> int:
        return self.part.argnum

    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` points of the part, distributed like the whole part's points that are kept."""
        return restricted(key, lambda key: self.part.sample(key, count), self.function, _NOWHERE)


class AbstractDomain(Complete):
    """Where an equation holds: points inside, and the boundary with its parts.

    A subclass is final, and defines `boundary`, `sample` and `dim`, the number of coordinates of a
    point. Problems also use `fitted`, `time` and `sections`.

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

    def fitted(self, net: Callable) -> Callable:
        """A network that sees the domain in its own units: a box as the cube [−1, 1]^d. By default
        the network itself.
        """
        return net

    def time(self, *args: Any) -> Float[Array, ""] | None:
        """The time at a point, as u takes it; None, which is the default, without time."""
        return None

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """Planes to draw on, with `resolution` points in each direction; none by default."""
        return ()
