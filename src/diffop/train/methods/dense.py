"""The linear problem of a step by factors of matrices."""

from abc import abstractmethod
from typing import TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .jacobian import Rows, jacobian
from .linear import AbstractSolver, Solution
from .vector import Residuals, Vector

Scalar: TypeAlias = Float[Array, ""]
Entries: TypeAlias = Float[Array, " rows"]


class AbstractDenseSolver(AbstractSolver):
    """Solves with all derivatives in a matrix J: a subclass says how d − p follows from it.

    - `chunk`, `most`: as for [`diffop.train.Cholesky`][].
    """

    chunk: int | None = eqx.field(static=True, default=None)
    most: int = eqx.field(static=True, default=10_000)

    def __check_init__(self) -> None:
        if self.most < 1 or (self.chunk is not None and self.chunk < 1):
            raise ValueError(
                f"{type(self).__name__} expects chunk and most of at least 1, got {self.chunk} and "
                f"{self.most}; leave chunk out for all points at once."
            )

    def solve(
        self,
        residuals: Residuals,
        prior: Vector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        if min(residuals.rows, prior.size) > self.most:
            raise ValueError(
                f"{type(self).__name__} expects at most {self.most} residuals or parameters, whose "
                f"matrix it factorises, got {residuals.rows} residuals and {prior.size} "
                f"parameters; take fewer points, or solver=diffop.train.ConjugateGradients(), "
                f"which forms no matrix, or allow for more by most."
            )
        values, rows = jacobian(residuals, self.chunk)
        shift = damping * jnp.sum(rows**2) / len(rows)
        missed = values - rows @ prior
        if len(rows) > prior.size:
            moved = self.least_squares(rows, shift, missed)
            return values, Solution(prior + moved, missed - rows @ moved)
        moved, left = self.shortest(rows, shift, missed)
        return values, Solution(prior + moved, left)

    @abstractmethod
    def least_squares(self, rows: Rows, shift: Scalar, missed: Entries) -> Vector:
        """The d − p with the least |e − J (d − p)|² + λ |d − p|², by a matrix of parameters by
        parameters; e is `missed` and λ is `shift`.
        """

    @abstractmethod
    def shortest(self, rows: Rows, shift: Scalar, missed: Entries) -> Solution:
        """The same by a matrix of residuals by residuals, with what is left of e."""


@final
class Cholesky(AbstractDenseSolver):
    """Solves by Cholesky factors of the kernel $J Jᵀ$, of residuals by residuals, or where there
    are fewer parameters than residuals of $JᵀJ$, of parameters by parameters.

    For N residuals and P parameters, m being the smaller number, it takes mNP + $m³/3$
    multiplications, and memory for N × P numbers. With hundreds or a few thousand residuals there
    may be as many parameters as one likes.

    Sources: Müller and Zeinhofer 2023, "Achieving high accuracy with PINNs via energy natural
    gradient descent"; in the space of the points Guzmán-Cordero et al. 2025, "Improving energy
    natural gradient descent through Woodbury, momentum, and randomization", arXiv 2505.12149, and
    before in quantum Monte Carlo Chen and Heyl 2024, "Empowering deep neural quantum states through
    efficient optimization".

    **Arguments:**

    - `chunk`: of how many points the derivatives are taken at once; of all if not given. What is
        in memory only while they are taken is in it for these.
    - `most`: how large m may be.

    **Raises:** `ValueError` if `chunk` or `most` is less than 1, and at the first step if m is
    larger than `most`.

    !!! example

        ```python
        import diffop as do

        do.train.GaussNewton(solver=do.train.Cholesky(chunk=500))
        ```
    """

    def least_squares(self, rows: Rows, shift: Scalar, missed: Entries) -> Vector:
        return _solved(rows.T @ rows, shift, missed @ rows)

    def shortest(self, rows: Rows, shift: Scalar, missed: Entries) -> Solution:
        dual = _solved(rows @ rows.T, shift, missed)
        return Solution(dual @ rows, shift * dual)


@final
class QR(AbstractDenseSolver):
    """Solves by an orthogonal factorisation of the derivatives J, without the products of
    `diffop.train.Cholesky`, whose condition is that of J squared.

    So it has factors where Cholesky's fail, with dampings of 1e-9 instead of 1e-4 in single
    precision, and takes several times as long: eight times on two CPU cores.

    With $√λ y$ for what is left of the residuals, (d − p, y) is the shortest solution of J
    $(d − p) + √λ y = e$: with $(J, √λ)ᵀ = Q$ R it is $Q R⁻ᵀ e$. Where there are fewer parameters
    than residuals, d − p is the least-squares solution of $(J, √λ)(d − p) = (e, 0)$.

    Source: Björck 1996, "Numerical methods for least squares problems", section 2.7.

    **Arguments:**

    - `chunk`, `most`: as for `diffop.train.Cholesky`.

    **Raises:** as `diffop.train.Cholesky`.

    !!! example

        ```python
        import diffop as do

        do.train.GaussNewton(damping=1e-16, solver=do.train.QR())
        ```
    """

    def least_squares(self, rows: Rows, shift: Scalar, missed: Entries) -> Vector:
        Q, R = _factors(rows, shift)
        return jax.scipy.linalg.solve_triangular(R, missed @ Q[: len(rows)])

    def shortest(self, rows: Rows, shift: Scalar, missed: Entries) -> Solution:
        Q, R = _factors(rows.T, shift)
        both = Q @ jax.scipy.linalg.solve_triangular(R, missed, trans=1)
        moved, left = jnp.split(both, [rows.shape[1]])
        return Solution(moved, jnp.sqrt(shift) * left)


def _solved(
    matrix: Float[Array, "n n"], shift: Float[Array, ""], right: Float[Array, " n"]
) -> Float[Array, " n"]:
    shifted = matrix + shift * jnp.eye(len(matrix), dtype=matrix.dtype)
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(shifted), right)


def _factors(
    tall: Float[Array, "m n"], shift: Float[Array, ""]
) -> tuple[Float[Array, "m+n n"], Float[Array, "n n"]]:
    """Q and R of a matrix over √λ."""
    root = jnp.sqrt(shift) * jnp.eye(tall.shape[1], dtype=tall.dtype)
    return jnp.linalg.qr(jnp.concatenate([tall, root]))
