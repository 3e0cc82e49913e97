"""The linear problem of a step: among all d, the one with the least

    |r − J d|² + λ |d − p|²,

r being the residuals, J their derivatives by the parameters and p what is known beforehand. With
e = r − J p and the kernel K = J Jᵀ, of residuals by residuals, it is

    d = p + Jᵀ (K + λ)⁻¹ e,        r − J d = λ (K + λ)⁻¹ e,

by the identity of Woodbury, or the solution of (JᵀJ + λ)(d − p) = Jᵀ e, of parameters by parameters.
"""

from abc import abstractmethod
from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._jacobian import jacobian
from ._vector import Residuals, Vector


@final
class Solution(NamedTuple):
    """What solves the problem.

    - `direction`: d.
    - `left`: r − J d, what it leaves of the residuals to first order.
    """

    direction: Vector
    left: Float[Array, " rows"]


class AbstractSolver(eqx.Module):
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
        - `damping`: λ in units of the mean of the diagonal of K.
        - `key`: for solvers that are random.
        """


@final
class Kernel(AbstractSolver):
    """Solves by the Cholesky factors of the kernel J Jᵀ, of residuals by residuals.

    For N residuals and P parameters it takes N²P + N³/3 multiplications, and memory for N × P
    numbers. P may be as large as one likes; N is to be hundreds or thousands.

    Sources: Müller and Zeinhofer 2023, "Achieving high accuracy with PINNs via energy natural
    gradient descent"; in the space of the points, Guzmán-Cordero et al. 2025, "Improving energy
    natural gradient descent through Woodbury, momentum, and randomization", arXiv 2505.12149;
    earlier in quantum Monte Carlo, Chen and Heyl 2024, "Empowering deep neural quantum states
    through efficient optimization", and Rende et al. 2024.

    **Arguments:**

    - `chunk`: of how many points the derivatives are taken at once; of all if not given. What is
        in between is in memory for these only.
    - `max_rows`: up to how many residuals it is used.

    **Raises:** `ValueError` if `chunk` or `max_rows` is less than 1, and at the first step if there
    are more residuals than `max_rows`.

    !!! example

        ```python
        import diffop as do

        do.train.GaussNewton(solver=do.train.Kernel(chunk=500))
        ```
    """

    chunk: int | None = eqx.field(static=True, default=None)
    max_rows: int = eqx.field(static=True, default=10_000)

    def __check_init__(self) -> None:
        if self.max_rows < 1 or (self.chunk is not None and self.chunk < 1):
            raise ValueError(
                f"Kernel expects chunk and max_rows of at least 1, got {self.chunk} and "
                f"{self.max_rows}; leave chunk out for all points at once."
            )

    def solve(
        self,
        residuals: Residuals,
        prior: Vector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        del key
        self._check_rows(residuals.rows)
        values, rows = jacobian(residuals, self.chunk)
        kernel = rows @ rows.T
        shift = damping * jnp.trace(kernel) / len(kernel)
        factors = jax.scipy.linalg.cho_factor(kernel + shift * jnp.eye(len(kernel)))
        dual = jax.scipy.linalg.cho_solve(factors, values - rows @ prior)
        return values, Solution(prior + dual @ rows, shift * dual)

    def _check_rows(self, rows: int) -> None:
        if rows > self.max_rows:
            raise ValueError(
                f"Kernel expects at most {self.max_rows} residuals, whose kernel it factorises, got "
                f"{rows}; take fewer points, or solver=diffop.train.ConjugateGradients(), which "
                f"forms no matrix, or allow for more by max_rows."
            )


@final
class ConjugateGradients(AbstractSolver):
    """Solves by conjugate gradients on JᵀJ, with one derivative forwards and one backwards for each
    iteration and no matrix: for tens of thousands of residuals.

    It ends early, and early ends damp as well: what has small eigenvalues is left as it was. The
    mean of the kernel's diagonal, which damping is relative to, is estimated from one random
    vector (Hutchinson 1990).

    Sources: Hestenes and Stiefel 1952; for networks Martens 2010, "Deep learning via Hessian-free
    optimization"; by `jax.scipy.sparse.linalg.cg`.

    **Arguments:**

    - `iterations`: at most how many.
    - `tolerance`: it ends where the residual of the linear equations is so small, relative to their
        right side.

    **Raises:** `ValueError` if `iterations` is less than 1 or `tolerance` is negative.

    !!! example

        ```python
        import diffop as do

        do.train.GaussNewton(solver=do.train.ConjugateGradients(iterations=50))
        ```
    """

    iterations: int = eqx.field(static=True, default=100)
    tolerance: float = eqx.field(static=True, default=1e-8)

    def __check_init__(self) -> None:
        if self.iterations < 1 or not self.tolerance >= 0:
            raise ValueError(
                f"ConjugateGradients expects at least one iteration and a tolerance of at least 0, "
                f"got {self.iterations} and {self.tolerance}."
            )

    def solve(
        self,
        residuals: Residuals,
        prior: Vector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        theta = residuals.theta
        values, push = jax.linearize(residuals, theta)
        transposed = jax.linear_transpose(push, theta)

        def pull(dual: Float[Array, " rows"]) -> Vector:
            return transposed(dual)[0]

        signs = jax.random.rademacher(key, theta.shape, theta.dtype)
        shift = damping * jnp.mean(push(signs) ** 2)
        missed = values - push(prior)
        moved, _ = jax.scipy.sparse.linalg.cg(
            lambda d: pull(push(d)) + shift * d,
            pull(missed),
            tol=self.tolerance,
            maxiter=self.iterations,
        )
        return values, Solution(prior + moved, missed - push(moved))
