"""The linear problem of a step by factors of matrices."""

from abc import abstractmethod
from collections.abc import Callable
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
_LEAST_BLOCK = 512  # below it a product of blocks is no faster than the whole
Solve: TypeAlias = Callable[[Entries], tuple[Vector, Entries]]


class AbstractDenseSolver(AbstractSolver):
    """Solves with all derivatives in a matrix J: a subclass says by which factors.

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
        solve = self.factorised(rows, damping * jnp.sum(rows**2) / len(rows))
        missed = values - rows @ prior
        moved, left = solve(missed)
        return values, Solution(prior + moved, left, lambda missed: solve(missed)[0])

    @abstractmethod
    def factorised(self, rows: Rows, shift: Scalar) -> Solve:
        """From e to the d with the least |e − J d|² + λ |d|² and to e − J d; λ is `shift`.

        By a matrix of residuals by residuals, or where there are fewer parameters of parameters by
        parameters.
        """


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

    def factorised(self, rows: Rows, shift: Scalar) -> Solve:
        if len(rows) > rows.shape[1]:
            primal = _solver(rows.T, shift)

            def least_squares(missed: Entries) -> tuple[Vector, Entries]:
                moved = primal(missed @ rows)
                return moved, missed - rows @ moved

            return least_squares
        dual = _solver(rows, shift)

        def shortest(missed: Entries) -> tuple[Vector, Entries]:
            weights = dual(missed)
            return weights @ rows, shift * weights

        return shortest


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

    def factorised(self, rows: Rows, shift: Scalar) -> Solve:
        residuals, parameters = rows.shape
        if residuals > parameters:
            Q, R = _factors(rows, shift)

            def least_squares(missed: Entries) -> tuple[Vector, Entries]:
                moved = jax.scipy.linalg.solve_triangular(R, missed @ Q[:residuals])
                return moved, missed - rows @ moved

            return least_squares
        Q, R = _factors(rows.T, shift)

        def shortest(missed: Entries) -> tuple[Vector, Entries]:
            both = Q @ jax.scipy.linalg.solve_triangular(R, missed, trans=1)
            moved, left = jnp.split(both, [parameters])
            return moved, jnp.sqrt(shift) * left

        return shortest


def _solver(
    wide: Float[Array, "n m"], shift: Scalar
) -> Callable[[Float[Array, " n"]], Float[Array, " n"]]:
    """From b to (A Aᵀ + λ)⁻¹ b.

    The barrier makes a transposed A a copy: XLA's product of columns takes twice as long on a CPU.
    """
    kernel = _symmetric_product(jax.lax.optimization_barrier(wide))
    shifted = kernel + shift * jnp.eye(len(kernel), dtype=kernel.dtype)
    factors = jax.scipy.linalg.cho_factor(shifted)
    return lambda right: jax.scipy.linalg.cho_solve(factors, right)


def _symmetric_product(wide: Float[Array, "n m"]) -> Float[Array, "n n"]:
    """A Aᵀ, of whose blocks beside the diagonal one is the other's transpose: XLA's product of a
    matrix with its own transpose computes both.
    """
    half = len(wide) // 2
    if half < _LEAST_BLOCK:
        return wide @ wide.T
    upper, lower = wide[:half], wide[half:]
    beside = lower @ upper.T
    return jnp.block([[_symmetric_product(upper), beside.T], [beside, _symmetric_product(lower)]])


def _factors(
    tall: Float[Array, "m n"], shift: Float[Array, ""]
) -> tuple[Float[Array, "m+n n"], Float[Array, "n n"]]:
    """Q and R of a matrix over √λ."""
    root = jnp.sqrt(shift) * jnp.eye(tall.shape[1], dtype=tall.dtype)
    return jnp.linalg.qr(jnp.concatenate([tall, root]))
