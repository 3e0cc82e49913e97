"""The linear problem of a step: among all d, the one with the least

    |r − J d|² + λ |d − p|²,

r being the residuals, J their derivatives by the parameters and p what is known beforehand. With
e = r − J p and the kernel K = J Jᵀ, of residuals by residuals, it is

    d = p + Jᵀ (K + λ)⁻¹ e,        r − J d = λ (K + λ)⁻¹ e,

by the identity of Woodbury, or the solution of (JᵀJ + λ)(d − p) = Jᵀ e, which is a system of
parameters by parameters.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple, final

from jaxtyping import Array, Float, PRNGKeyArray

from ..complete import Complete
from .vector import Residuals, Vector


@final
class Solution(NamedTuple):
    """What solves the problem.

    - `direction`: d.
    - `left`: r − J d, what it leaves of the residuals to first order.
    - `again`: from other residuals to their d, with the same J and damping and no p. A solver that
        cannot say it leaves it out, and `diffop.methods.GaussNewton` then has no `acceleration`.
    """

    direction: Vector
    left: Float[Array, " rows"]
    again: Callable[[Float[Array, " rows"]], Vector] | None = None


class AbstractSolver(Complete):
    """How the linear problem of a step is solved."""

    @abstractmethod
    def solve(
        self,
        residuals: Residuals,
        prior: Vector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        """The residuals, and what solves the problem.

        **Arguments:**

        - `residuals`: of the step.
        - `prior`: p.
        - `damping`: $λ$ in units of the mean of the diagonal of K.
        - `key`: for solvers that are random.
        """
