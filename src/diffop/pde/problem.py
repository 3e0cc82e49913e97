"""The base classes of problems: an equation, its domain, and what is known of the solution."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, final

import equinox as eqx
from jaxtyping import Array, Float, Inexact, PRNGKeyArray, PyTree

from ..equations.equation import AbstractEquation
from ..equations.points import Points
from ..operators.base import Operator
from ..operators.elementary import Identity
from .domains.domain import AbstractDomain
from .domains.sections import Section
from .recommended import ByDimension, Recommended


@final
class Reference(NamedTuple):
    """Points at which the solution's value is known from elsewhere.

    - `points`: shape `(count, dim)`, or a tuple of arrays, one for each argument of u.
    - `values`: the solution there, or what `operator` makes of it, shape `(count,)`, or `(count,
        …)` for several values.
    - `rel_error`: the accuracy of these values, relative to the largest; errors of a network below
        it mean nothing.
    - `operator`: of what the values are, applied to the solution; by default of the solution
        itself. Errors of a network are those of this operator's values.
    """

    points: Points
    values: Inexact[Array, "count ..."]
    rel_error: float
    operator: Operator = Identity()


class AbstractProblem(AbstractEquation):
    """A partial differential equation `residual(operators(u)(x), x) = 0` on a domain.

    The equation is split in two. `operators` gives the linear differential operators of u, which
    are evaluated together, exactly or by random jets. `residual` combines their values, linearly or
    not, with the source. So a problem says nothing about how derivatives are computed.

    Boundary and initial data are built into the network by `ansatz`, or enforced by `conditions`,
    or both. A point consists of u's arguments. In all problems of the library it is one vector,
    with time, if there is time, as last coordinate. It may also be a tuple, such as (x, t).

    The base class says what is known of the solution, to measure errors:

    - `diffop.pde.AbstractSolvedProblem`: the solution, as a function;
    - `diffop.pde.AbstractReferenceProblem`: its value at some points;
    - a direct subclass of this class: nothing. Its runs have losses, and no errors.

    A subclass is final and has the attributes `name` (its name on the command line), `dim` (the
    number of coordinates of a point, including time) and `domain`. It defines the methods of a
    [`diffop.equations.AbstractEquation`][]: `operators` and `residual`, and `source`, `conditions`
    and `ansatz` if it needs them. The domain, such as `diffop.pde.Box((0.0,), (1.0,))`, determines
    points, elapsed time, planes to draw on, and that a network sees a box as a cube. Each of
    `sample`, `elapsed`, `sections` and `ansatz` may be defined instead; a class that defines
    `sample` needs no domain.

    Optional attributes are `recommended`, its settings: a [`diffop.pde.Recommended`][], or a
    [`diffop.pde.ByDimension`][] if they depend on the dimension; `outputs`, the number of values of
    a system's network at a point, two for a complex u that `ansatz` makes of them, and
    `value_names`, their names in pictures; and `inputs`, how many numbers the network in the ansatz
    sees, if these are not the coordinates. Its arrays are data, which no optimiser changes; a
    [`diffop.nn.PINN`][] learns the fields that it names: `trainable = ("rate",)`.
    """

    name: eqx.AbstractVar[str]
    dim: eqx.AbstractVar[int]
    recommended: ClassVar[Recommended | ByDimension] = Recommended()
    outputs: ClassVar[int | Literal["scalar"]] = "scalar"
    value_names: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[int | None] = None
    trainable: ClassVar[bool | tuple[str, ...]] = False
    if TYPE_CHECKING:
        domain: ClassVar[AbstractDomain | None]
    else:  # without an annotation, which would make it the first field of subclasses
        domain = None

    def __check_init__(self) -> None:
        if self.domain is None and type(self).sample is AbstractProblem.sample:
            raise TypeError(
                f"{type(self).__name__} lacks a domain, of which points are sampled; write domain "
                "= diffop.pde.Box(…) or another diffop.pde.AbstractDomain, or define sample(self, "
                "key, count)."
            )

    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` random points of the domain, both for training and for measuring errors: an array
        of shape `(count, dim)`; or a tuple of arrays, one for each argument of u.
        """
        assert self.domain is not None  # by __check_init__
        return self.domain.sample(key, count)

    def ansatz(self, net: Callable) -> Callable:
        """Wraps a network from points to scalars so that it fits the domain and satisfies the data
        that `conditions` does not contain. By default it sees a box as the cube [−1, 1]^d.
        """
        return net if self.domain is None else self.domain.fitted(net)

    def elapsed(self, *args: Any, **kwargs: Any) -> Float[Array, ""] | None:
        """The time between the data and a point, for [`diffop.losses.Causal`][] weights: t with
        data at the first time, T − t with data at the last; None without time. By default the time
        of the domain.

        **Arguments:**

        - `*args`: the point, that is, u's arguments.
        """
        return None if self.domain is None else self.domain.time(*args)

    def location(self, key: PRNGKeyArray) -> int | float | Float[Array, ""]:
        """The value at which the network in the ansatz should begin, as far as the source or the
        data determine it; by default 0.

        **Arguments:**

        - `key`: for the points at which they are evaluated.

        **Returns:** a number.
        """
        return 0.0

    def magnitude(
        self, key: PRNGKeyArray, location: int | float | Float[Array, ""] = 0.0
    ) -> int | float | Float[Array, ""]:
        """How far the network in the ansatz has to go from a value, as far as the source or the
        data determine it; by default 1.

        **Arguments:**

        - `key`: for the points at which they are evaluated.
        - `location`: the value; from 0 on it is the size of the solution.

        **Returns:** a positive number.
        """
        return 1.0


class AbstractSolvedProblem(AbstractProblem):
    """A problem whose solution is known as a function.

    A subclass is as for `diffop.pde.AbstractProblem`, and also defines the methods below.
    """

    @abstractmethod
    def solution(self, *args: Any, **kwargs: Any) -> PyTree:
        """The known solution at a point, to measure errors with: a scalar, or for a system a value
        with the structure of u's.

        **Arguments:**

        - `*args`: the point, that is, u's arguments: `solution(self, x)`, or `solution(self, x,
            t)`.
        """

    @abstractmethod
    def null_shape(self, *args: Any, **kwargs: Any) -> PyTree:
        """The shape $φ$ of the null model $u ≈ a·φ(x)$, whose single number a is fitted to the
        solution.

        It should satisfy the boundary or initial condition and contain no other knowledge. A
        network is useful only if its error is below the null model's.
        """

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """Planes on which the solution is drawn. By default those of the domain: for two
        coordinates, or for one or two and time.

        **Arguments:**

        - `resolution`: how many points each section has in each direction.

        **Returns:** the `diffop.pde.Section`s; none if a plane shows little of the solution.
        """
        found = () if self.domain is None else self.domain.sections(resolution)
        return tuple(each._replace(values=self.value_names) for each in found)


class AbstractReferenceProblem(AbstractProblem):
    """A problem whose solution is known at some points only.

    A subclass is as for `diffop.pde.AbstractProblem`, and also defines the methods below. Its
    `conditions` include values of u, or of the operator of which values are known.
    """

    @abstractmethod
    def reference(self) -> Reference:
        """The points at which errors are measured, and the solution's values there.

        **Returns:** a `diffop.pde.Reference`.

        **Raises:** `ValueError` if nothing is known in the problem's dimension.
        """

    @abstractmethod
    def null_shape(self, *args: Any, **kwargs: Any) -> PyTree:
        """The shape $φ$ of the null model $u ≈ a·φ(x)$, whose single number a is fitted to the
        data.

        A number fitted to a single reference value would have no error. So a is fitted to the
        values in `conditions` of u, or of the reference's operator, and the null model has not seen
        the equation.
        """
