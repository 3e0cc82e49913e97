"""What a problem is: everything that a solver has to know, and nothing about how it is solved."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, final

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.equation import AbstractEquation
from ..equations.points import Points
from .domains.domain import AbstractDomain
from .domains.sections import Section
from .recommended import ByDimension, Recommended


@final
class Reference(NamedTuple):
    """Points at which the solution's value is known, from elsewhere.

    - `points`: shape `(count, dim)`, or a tuple of arrays, one for each argument of u.
    - `values`: the solution there, shape `(count,)`, or `(count, …)` for one with several values.
    - `rel_error`: how exact these values are, relative to the largest; an error of a network that
        is not above it says nothing more.
    """

    points: Points
    values: Float[Array, "count ..."]
    rel_error: float


class AbstractProblem(AbstractEquation):
    """A partial differential equation `residual(operators(u)(x), x) = 0` on a domain.

    The equation is split in two. `operators` says which linear differential operators of u occur;
    they are evaluated together, exactly or by random jets, by whoever solves the problem.
    `residual` combines their values, linearly or not, with the source. So a problem says nothing
    about how derivatives are computed.

    Boundary and initial data are built into the network by `ansatz`, or asked of it by
    `conditions`, or both. A point is what u is called with: one vector, where time is the last
    coordinate if there is time, as for all problems of the library; or a tuple, such as (x, t).

    What is known of the solution, to measure errors with, is another matter:

    - `diffop.pde.AbstractSolvedProblem`: the solution, as a function;
    - `diffop.pde.AbstractReferenceProblem`: its value at some points;
    - a direct subclass: nothing. Its runs have losses, and no errors.

    A subclass is final, has the attributes `name` (its name on the command line), `dim` (the number
    of coordinates of a point, time among them) and `domain`, and defines the methods of a
    [`diffop.equations.AbstractEquation`][]: `operators` and `residual`, and of `source`,
    `conditions` and `ansatz` those that it needs. Of the domain, such as
    `diffop.pde.Box((0.0,), (1.0,))`, follow points, how much time has elapsed, planes to draw on,
    and that a network sees a box as a cube. Each of `sample`, `elapsed`, `sections` and `ansatz`
    may be defined in its place; a class that defines `sample` needs no domain. It may have
    `recommended` settings of its own: a [`diffop.pde.Recommended`][], or a
    [`diffop.pde.ByDimension`][] where they depend on the dimension; of a system `outputs`, how many
    values a network has at a point; and `inputs`, how many numbers the network in the ansatz sees,
    where these are not the coordinates. Its arrays are data, which no optimiser sees; a
    [`diffop.nn.PINN`][] learns those of the fields that it names: `trainable = ("rate",)`.
    """

    name: eqx.AbstractVar[str]
    dim: eqx.AbstractVar[int]
    recommended: ClassVar[Recommended | ByDimension] = Recommended()
    outputs: ClassVar[int | Literal["scalar"]] = "scalar"
    inputs: ClassVar[int | None] = None
    trainable: ClassVar[bool | tuple[str, ...]] = False
    if TYPE_CHECKING:
        domain: ClassVar[AbstractDomain | None]
    else:  # without an annotation, which would make it the first field of who has it for a field
        domain = None

    def __check_init__(self) -> None:
        if self.domain is None and type(self).sample is AbstractProblem.sample:
            raise TypeError(
                f"{type(self).__name__} lacks a domain, of which points are sampled; write domain "
                "= diffop.pde.Box(…) or another diffop.pde.AbstractDomain, or define sample(self, "
                "key, count)."
            )

    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` random points of the domain, for training and for measuring errors alike: an
        array of shape `(count, dim)`; or a tuple of arrays, one for each argument of u.
        """
        assert self.domain is not None  # by __check_init__
        return self.domain.sample(key, count)

    def ansatz(self, net: Callable) -> Callable:
        """Wraps a network from points to scalars so that it fits the domain, and has the data that
        `conditions` does not ask for. By default it sees a box as the cube [−1, 1]^d.
        """
        return net if self.domain is None else self.domain.fitted(net)

    def elapsed(self, *args: Any, **kwargs: Any) -> Float[Array, ""] | None:
        """How much time lies between the data and a point, for [`diffop.losses.Causal`][] weights:
        t with data at the first time, T − t with data at the last; None without time. By default
        the time of the domain.

        **Arguments:**

        - `*args`: the point, as u takes it.
        """
        return None if self.domain is None else self.domain.time(*args)

    def location(self, key: PRNGKeyArray) -> int | float | Float[Array, ""]:
        """The value that the network in the ansatz should begin at, as far as the source or the
        data tell it; 0 unless a problem defines it.

        **Arguments:**

        - `key`: of the points that are looked at.

        **Returns:** a number.
        """
        return 0.0

    def magnitude(
        self, key: PRNGKeyArray, location: int | float | Float[Array, ""] = 0.0
    ) -> int | float | Float[Array, ""]:
        """How far the network in the ansatz has to go from a value, as far as the source or the
        data tell it; 1 unless a problem defines it.

        **Arguments:**

        - `key`: of the points that are looked at.
        - `location`: the value; from 0 on it is the size of the solution.

        **Returns:** a positive number.
        """
        return 1.0


class AbstractSolvedProblem(AbstractProblem):
    """A problem whose solution is known as a function.

    A subclass is as for `diffop.pde.AbstractProblem`, and defines the methods below as well.
    """

    @abstractmethod
    def solution(self, *args: Any, **kwargs: Any) -> PyTree:
        """The known solution at a point, to measure errors with: a scalar, or for a system what u
        is like.

        **Arguments:**

        - `*args`: the point, as u takes it: `solution(self, x)`, or `solution(self, x, t)`.
        """

    @abstractmethod
    def null_shape(self, *args: Any, **kwargs: Any) -> PyTree:
        """The shape $φ$ of the null model $u ≈ a·φ(x)$, whose one number a is fitted to the
        solution.

        It should satisfy the boundary or initial condition and know nothing else; a network is
        worth its error only as far as it is below the null model's.
        """

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """Where the solution is worth a picture. By default where the domain has planes to draw on:
        of two coordinates, or of one or two and time.

        **Arguments:**

        - `resolution`: how many points each section has in each direction.

        **Returns:** the `diffop.pde.Section`s; none where a plane says little of the solution.
        """
        return () if self.domain is None else self.domain.sections(resolution)


class AbstractReferenceProblem(AbstractProblem):
    """A problem whose solution is known at some points only.

    A subclass is as for `diffop.pde.AbstractProblem`, and defines the methods below as well. Among
    its `conditions` are values of u.
    """

    @abstractmethod
    def reference(self) -> Reference:
        """The points at which errors are measured, and the solution's values there.

        **Returns:** a `diffop.pde.Reference`.

        **Raises:** `ValueError` if nothing is known in the problem's dimension.
        """

    @abstractmethod
    def null_shape(self, *args: Any, **kwargs: Any) -> PyTree:
        """The shape $φ$ of the null model $u ≈ a·φ(x)$, whose one number a is fitted to the data.

        To the data, since a number fitted to a single reference value has no error: a is the best
        for the values of u that `conditions` asks for. So the null model has not seen the equation.
        """
