"""What a problem is: everything that a solver has to know, and nothing about how it is solved."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, final

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.equation import AbstractEquation
from ..equations.points import Points
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


@final
class Section(NamedTuple):
    """A rectangular piece of a plane through the domain, to draw the solution on.

    - `title`: which plane it is.
    - `axes`: the names of its horizontal and its vertical coordinate.
    - `extent`: left, right, bottom and top.
    - `points`: a grid of points, shape `(rows, columns, dim)`, the bottom row first; or a tuple of
        arrays, one for each argument of u.
    """

    title: str
    axes: tuple[str, str]
    extent: tuple[float, float, float, float]
    points: PyTree[Float[Array, "rows columns ..."]]


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

    A subclass is final, has the attributes `name` (its name on the command line) and `dim` (the
    number of coordinates of a point, time among them), and defines `sample` and the methods of a
    [`diffop.nn.AbstractEquation`][]: `operators` and `residual`, and of `source`, `conditions` and
    `ansatz` those that it needs. It may have `recommended` settings of its own: a
    [`diffop.pde.Recommended`][], or a [`diffop.pde.ByDimension`][] where they depend on the
    dimension; and of a system `outputs`, how many values a network has at a point. Its arrays are
    data, which no optimiser sees; a [`diffop.nn.PINN`][] learns those of the fields that it names:
    `trainable = ("rate",)`.
    """

    name: eqx.AbstractVar[str]
    dim: eqx.AbstractVar[int]
    recommended: ClassVar[Recommended | ByDimension] = Recommended()
    outputs: ClassVar[int | Literal["scalar"]] = "scalar"
    trainable: ClassVar[bool | tuple[str, ...]] = False

    @abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` random points of the domain, for training and for measuring errors alike: an
        array of shape `(count, dim)`; or a tuple of arrays, one for each argument of u.
        """

    def elapsed(self, *args: Any, **kwargs: Any) -> Float[Array, ""] | None:
        """How much time lies between the data and a point, for [`diffop.train.Causal`][] weights:
        t with data at the first time, T − t with data at the last; None, which is the default,
        without time.

        **Arguments:**

        - `*args`: the point, as u takes it.
        """
        return None

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
        """Where the solution is worth a picture.

        **Arguments:**

        - `resolution`: how many points each section has in each direction.

        **Returns:** the `diffop.pde.Section`s; none, which is the default, where a plane says
        little of the solution.
        """
        return ()


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
