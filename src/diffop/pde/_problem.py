"""What a problem is: everything that a solver has to know, and nothing about how it is solved."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree


class AbstractProblem(eqx.Module):
    """A partial differential equation `residual(operators(u)(x), x) = 0` with a known solution.

    The equation is split in two. `operators` says which linear differential operators of u occur;
    they are evaluated together, exactly or by random jets, by whoever solves the problem.
    `residual` combines their values, linearly or not, with the source. So a problem says nothing
    about how derivatives are computed.

    A subclass is final, has the attributes `name` (its name on the command line) and `dim` (the
    number of coordinates), and defines all the methods below.
    """

    name: eqx.AbstractClassVar[str]
    dim: eqx.AbstractVar[int]

    @abstractmethod
    def operators(self) -> PyTree:
        """The operators that the equation applies to u.

        **Returns:** a pytree of operators, as `diffop.exact` and `diffop.estimate` take it.
        """

    @abstractmethod
    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """Left side minus right side of the equation at a point: zero for the solution.

        **Arguments:**

        - `values`: the values of `operators()` at `x`, in the same structure.
        - `x`: one point, shape `(dim,)`.

        **Returns:** a scalar.
        """

    @abstractmethod
    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The right side f of the equation at a point `x` of shape `(dim,)`: a scalar."""

    @abstractmethod
    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The known solution at a point `x` of shape `(dim,)`, to measure errors with: a scalar."""

    @abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` random points of the domain, for training and for measuring errors alike."""

    @abstractmethod
    def ansatz(self, net: Callable) -> Callable:
        """Wraps a network from points to scalars so that it satisfies the boundary condition."""

    @abstractmethod
    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The shape φ of the null model u ≈ a·φ(x), whose one number a is fitted to the solution.

        It should satisfy the boundary condition and know nothing else; a network is worth its error
        only as far as it is below the null model's.
        """
