"""The linear problem of a step by factors of matrices."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .jacobian import Rows, jacobian
from .linear import AbstractSolver, Solution
from .vector import Residuals, Vector


@final
class Cholesky(AbstractSolver):
    """Solves by Cholesky factors of the kernel J Jᵀ, of residuals by residuals, or where there are
    fewer parameters than residuals of JᵀJ, of parameters by parameters.

    For N residuals and P parameters, m being the smaller number, it takes mNP + m³/3
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

    chunk: int | None = eqx.field(static=True, default=None)
    most: int = eqx.field(static=True, default=10_000)

    def __check_init__(self) -> None:
        _check_sizes(self)

    def solve(
        self,
        residuals: Residuals,
        prior: Vector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        values, rows, shift = _derivatives(self, residuals, damping)
        missed = values - rows @ prior
        if len(rows) > prior.size:
            moved = _solved(rows.T @ rows, shift, missed @ rows)
            return values, Solution(prior + moved, missed - rows @ moved)
        dual = _solved(rows @ rows.T, shift, missed)
        return values, Solution(prior + dual @ rows, shift * dual)


@final
class QR(AbstractSolver):
    """Solves by an orthogonal factorisation of the derivatives J, without the products of
    `diffop.train.Cholesky`, whose condition is that of J squared.

    So it has factors where Cholesky's fail, with dampings of 1e-9 instead of 1e-4 in single
    precision, and takes several times as long: eight times on two CPU cores.

    With √λ y for what is left of the residuals, (d − p, y) is the shortest solution of
    J (d − p) + √λ y = e: with (J, √λ)ᵀ = Q R it is Q R⁻ᵀ e. Where there are fewer parameters than
    residuals, d − p is the least-squares solution of (J, √λ)(d − p) = (e, 0).

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

    chunk: int | None = eqx.field(static=True, default=None)
    most: int = eqx.field(static=True, default=10_000)

    def __check_init__(self) -> None:
        _check_sizes(self)

    def solve(
        self,
        residuals: Residuals,
        prior: Vector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        values, rows, shift = _derivatives(self, residuals, damping)
        missed = values - rows @ prior
        if len(rows) > prior.size:
            Q, R = _factors(rows, shift)
            moved = jax.scipy.linalg.solve_triangular(R, missed @ Q[: len(rows)])
            return values, Solution(prior + moved, missed - rows @ moved)
        Q, R = _factors(rows.T, shift)
        moved, left = jnp.split(
            Q @ jax.scipy.linalg.solve_triangular(R, missed, trans=1), [prior.size]
        )
        return values, Solution(prior + moved, jnp.sqrt(shift) * left)


def _check_sizes(solver: Cholesky | QR) -> None:
    if solver.most < 1 or (solver.chunk is not None and solver.chunk < 1):
        raise ValueError(
            f"{type(solver).__name__} expects chunk and most of at least 1, got {solver.chunk} and "
            f"{solver.most}; leave chunk out for all points at once."
        )


def _derivatives(
    solver: Cholesky | QR, residuals: Residuals, damping: Float[Array, ""]
) -> tuple[Float[Array, " rows"], Rows, Float[Array, ""]]:
    """The residuals, their derivatives and λ."""
    if min(residuals.rows, residuals.theta.size) > solver.most:
        raise ValueError(
            f"{type(solver).__name__} expects at most {solver.most} residuals or parameters, whose "
            f"matrix it factorises, got {residuals.rows} residuals and {residuals.theta.size} "
            f"parameters; take fewer points, or solver=diffop.train.ConjugateGradients(), which "
            f"forms no matrix, or allow for more by most."
        )
    values, rows = jacobian(residuals, solver.chunk)
    return values, rows, damping * jnp.sum(rows**2) / len(rows)


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
