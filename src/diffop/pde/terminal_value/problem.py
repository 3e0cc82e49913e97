"""The base class of parabolic equations with a value at the last time and a known solution."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Array, Float, PRNGKeyArray

from ...nn import HardConstraint
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from ..sampling.gaussian import gaussian_space_time
from ..whole_space import AbstractWholeSpace


class AbstractTerminalValue(AbstractWholeSpace, AbstractSolvedProblem):
    """An equation in all of space for 0 ≤ t < T with $u(x, T) = h(x)$, and a known solution.

    Points are normally distributed in space and uniformly in time. The ansatz
    $u = h(x) + (T − t) s(x) net(x, t)$ builds h in. The null model is h at all times.

    A subclass is final, has a `name`, and defines the equation, `terminal` and `solution`, and
    `scale`, the factor s.

    **Arguments:**

    - `space_dim`: the dimension d of space, at least 1. Points have d + 1 coordinates.
    - `duration`: T, positive; 1 by default.

    **Raises:** `ValueError` if `space_dim` is less than 1 or `duration` is not positive.
    """

    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=100,
        steps=120,
        batch=200,
        width=32,
        depth=2,
    )

    @abstractmethod
    def terminal(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        """$h(x)$, the value at the last time, at a point of space."""

    @abstractmethod
    def scale(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        """$s(x)$, the approximate size of u at a point of space."""

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return gaussian_space_time(key, count, self.space_dim, self.duration)

    def elapsed(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.duration - x[-1]

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(net, self.null_shape, self._factor)

    def _factor(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (self.duration - x[-1]) * self.scale(x[:-1])

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.terminal(x[:-1])
