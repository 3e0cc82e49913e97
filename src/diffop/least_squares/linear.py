"""The linear problem of a step, and the base class of its solvers. Find the d with the least

    |r − J d|² + λ |d − p|²,

where r are the residuals, J their derivatives with respect to the parameters, and p a prior guess.
With e = r − J p and the kernel K = J Jᵀ, of residuals by residuals, the identity of Woodbury gives

    d = p + Jᵀ (K + λ)⁻¹ e,        r − J d = λ (K + λ)⁻¹ e.

Equivalently d solves (JᵀJ + λ)(d − p) = Jᵀ e, a system of parameters by parameters.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple, final

from jaxtyping import Array, Float, PRNGKeyArray

from ..complete import Complete
from .vector import ParameterVector, Residuals


@final
class Solution(NamedTuple):
    """The solution of the linear problem.

    - `direction`: d.
    - `left`: r − J d, the residuals that remain to first order.
    - `again`: a map from other residuals to their d, with the same J and damping and no p. It is
        optional; without it `diffop.methods.GaussNewton` has no `acceleration`.
    """

    direction: ParameterVector
    left: Float[Array, " rows"]
    again: Callable[[Float[Array, " rows"]], ParameterVector] | None = None


class AbstractSolver(Complete):
    """How the linear problem of a step is solved."""

    @abstractmethod
    def solve(
        self,
        residuals: Residuals,
        prior: ParameterVector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        """The residuals, and the solution of the problem.

        **Arguments:**

        - `residuals`: of the step.
        - `prior`: p.
        - `damping`: $λ$ in units of the mean of the diagonal of K.
        - `key`: for solvers that are random.
        """
