"""Solvers for the linear problem of a step that factorise a matrix: Cholesky and QR."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..scalars import checked_integer, plain
from .jacobian import JacobianRows, jacobian
from .kernel import KernelPlan, kernel, planned, times_transpose
from .linear import AbstractSolver, Solution
from .vector import ParameterVector, Residuals

Scalar: TypeAlias = Float[Array, ""]
RowValues: TypeAlias = Float[Array, " rows"]
Solve: TypeAlias = Callable[[RowValues], tuple[ParameterVector, RowValues]]
"""From e to the d with the least |e − J d|² + λ |d|², and e − J d."""
Factorised: TypeAlias = tuple[RowValues, Callable[[ParameterVector], RowValues], Solve]
"""The residuals r, the map from d to J d, and the solver of the problem."""


class AbstractDenseSolver(AbstractSolver):
    """Solves with all derivatives in a matrix J; a subclass factorises.

    - `chunk`, `most`: as for [`diffop.methods.Cholesky`][].
    """

    chunk: int | None = eqx.field(static=True, converter=plain, default=None)
    most: int = eqx.field(static=True, converter=plain, default=10_000)

    def __check_init__(self) -> None:
        name = type(self).__name__
        checked_integer(self.most, f"most of {name}", 1)
        if self.chunk is not None:
            checked_integer(self.chunk, f"chunk of {name}, the points at once,", 1)

    def solve(
        self,
        residuals: Residuals,
        prior: ParameterVector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        if min(residuals.rows, prior.size) > self.most:
            raise ValueError(
                f"{type(self).__name__} expects at most {self.most} residuals or parameters, whose "
                f"matrix it factorises, got {residuals.rows} residuals and {prior.size} "
                f"parameters; take fewer points, or solver=diffop.methods.ConjugateGradients(), "
                f"which forms no matrix, or allow for more by most."
            )
        if prior.dtype.itemsize < 4:
            raise TypeError(
                f"{type(self).__name__} expects parameters in single or double precision, in which "
                f"matrices can be factorised, got {prior.dtype}; convert them, or take "
                "solver=diffop.methods.ConjugateGradients()."
            )
        values, push, solve = self.factorised(residuals, damping)
        missed = values - push(prior)
        moved, left = solve(missed)
        return values, Solution(prior + moved, left, lambda missed: solve(missed)[0])

    @abstractmethod
    def factorised(self, residuals: Residuals, damping: Scalar) -> Factorised:
        """The residuals and their derivatives, with a factorised matrix of residuals by residuals,
        or of parameters by parameters if there are fewer parameters.
        """


@final
class Cholesky(AbstractDenseSolver):
    """Solves by Cholesky factors of the kernel $J Jᵀ$, a matrix of residuals by residuals. If there
    are fewer parameters than residuals, it uses $JᵀJ$, of parameters by parameters.

    With N residuals and P parameters, of which m is the smaller number, it takes mNP + $m³/3$
    multiplications, and memory for N × P numbers. With hundreds or a few thousand residuals there
    may be any number of parameters.

    If the loss has `pointwise`, and few jets go through wide layers at each point, the kernel is
    formed layer by layer without J, from the inputs of a matrix and the gradients of its outputs.
    The part of a layer of m × n weights is $(A Aᵀ) ∘ (G Gᵀ)$, which takes $T² (m + n)$
    multiplications for T rows instead of $N² m n$, and no memory for its weights. This is used for
    matrices that appear only in products, where it is four times less.

    Sources: Müller and Zeinhofer 2023, "Achieving high accuracy with PINNs via energy natural
    gradient descent"; in the space of the points Guzmán-Cordero et al. 2025, "Improving energy
    natural gradient descent through Woodbury, momentum, and randomization", arXiv 2505.12149, and
    before in quantum Monte Carlo Chen and Heyl 2024, "Empowering deep neural quantum states through
    efficient optimization".

    **Arguments:**

    - `chunk`: the number of points whose derivatives are computed at once, which bounds temporary
        memory; all points if not given.
    - `most`: the largest allowed m.

    **Raises:** `ValueError` if `chunk` or `most` is less than 1, and at the first step if m is
    larger than `most`; `TypeError` if one is not an integer, and at the first step for parameters
    in half precision.

    !!! example

        ```python
        import diffop as do

        do.methods.GaussNewton(solver=do.methods.Cholesky(chunk=500))
        ```
    """

    def factorised(self, residuals: Residuals, damping: Scalar) -> Factorised:
        fewer = residuals.rows <= residuals.theta.size
        plan = planned(residuals) if fewer else None
        if plan is not None:
            return _by_layers(residuals, plan, damping, self.chunk)
        values, rows, shift = _derivatives(residuals, damping, self.chunk)
        # a copy of the transpose: XLA's product of columns takes twice as long on a CPU
        wide = jax.lax.optimization_barrier(rows if fewer else rows.T)
        inverse = _inverse(times_transpose(wide), shift)

        def shortest(missed: RowValues) -> tuple[ParameterVector, RowValues]:
            weights = inverse(missed)
            return weights @ rows, shift * weights

        def least_squares(missed: RowValues) -> tuple[ParameterVector, RowValues]:
            moved = inverse(missed @ rows)
            return moved, missed - rows @ moved

        return values, lambda d: rows @ d, shortest if fewer else least_squares


@final
class QR(AbstractDenseSolver):
    """Solves by an orthogonal factorisation of the derivatives J. `diffop.methods.Cholesky` forms
    products, whose condition is that of J squared.

    So QR works where Cholesky's factors fail, with dampings of 1e-9 instead of 1e-4 in single
    precision. It takes several times as long: eight times on two CPU cores.

    Let $√λ y$ be the remainder of the residuals. Then (d − p, y) is the shortest solution of
    J $(d − p) + √λ y = e$; with $(J, √λ)ᵀ = Q$ R it is $Q R⁻ᵀ e$. If there are fewer parameters
    than residuals, d − p is the least-squares solution of $(J, √λ)(d − p) = (e, 0)$.

    Source: Björck 1996, "Numerical methods for least squares problems", section 2.7.

    **Arguments:**

    - `chunk`, `most`: as for `diffop.methods.Cholesky`.

    **Raises:** as `diffop.methods.Cholesky`.

    !!! example

        ```python
        import diffop as do

        do.methods.GaussNewton(damping=1e-16, solver=do.methods.QR())
        ```
    """

    def factorised(self, residuals: Residuals, damping: Scalar) -> Factorised:
        values, rows, shift = _derivatives(residuals, damping, self.chunk)
        count, parameters = rows.shape
        fewer = count <= parameters
        Q, R = _factors(rows.T if fewer else rows, shift)

        def shortest(missed: RowValues) -> tuple[ParameterVector, RowValues]:
            both = Q @ jax.scipy.linalg.solve_triangular(R, missed, trans=1)
            moved, left = jnp.split(both, [parameters])
            return moved, jnp.sqrt(shift) * left

        def least_squares(missed: RowValues) -> tuple[ParameterVector, RowValues]:
            moved = jax.scipy.linalg.solve_triangular(R, missed @ Q[:count])
            return moved, missed - rows @ moved

        return values, lambda d: rows @ d, shortest if fewer else least_squares


def _derivatives(
    residuals: Residuals, damping: Scalar, chunk: int | None
) -> tuple[RowValues, JacobianRows, Scalar]:
    """r, J and λ."""
    values, rows = jacobian(residuals, chunk)
    return values, rows, _shift(damping, jnp.sum(rows**2) / len(rows))


def _shift(damping: Scalar, mean: Scalar) -> Scalar:
    """λ; 1 if J vanishes, where any positive number gives d = 0."""
    return jnp.where(mean > 0, damping * mean, 1)


def _by_layers(
    residuals: Residuals, plan: KernelPlan, damping: Scalar, chunk: int | None
) -> Factorised:
    """By the kernel alone; J d is a forward derivative and Jᵀ w a reverse one."""
    values, formed = kernel(residuals, plan, chunk)
    shift = _shift(damping, jnp.trace(formed) / len(formed))
    inverse = _inverse(formed, shift)

    def push(direction: ParameterVector) -> RowValues:
        return jax.jvp(residuals, (residuals.theta,), (direction,))[1]

    def shortest(missed: RowValues) -> tuple[ParameterVector, RowValues]:
        weights = inverse(missed)
        _, pull = jax.vjp(residuals, residuals.theta)
        return pull(weights)[0], shift * weights

    return values, push, shortest


def _inverse(
    matrix: Float[Array, "n n"], shift: Scalar
) -> Callable[[Float[Array, " n"]], Float[Array, " n"]]:
    """The map from b to (A + λ)⁻¹ b."""
    factors = jax.scipy.linalg.cho_factor(matrix + shift * jnp.eye(len(matrix), dtype=matrix.dtype))
    return lambda right: jax.scipy.linalg.cho_solve(factors, right)


def _factors(
    tall: Float[Array, "m n"], shift: Float[Array, ""]
) -> tuple[Float[Array, "m+n n"], Float[Array, "n n"]]:
    """Q and R of a matrix over √λ."""
    root = jnp.sqrt(shift) * jnp.eye(tall.shape[1], dtype=tall.dtype)
    return jnp.linalg.qr(jnp.concatenate([tall, root]))
