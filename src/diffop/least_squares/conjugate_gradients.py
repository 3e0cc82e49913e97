"""Conjugate gradients for the linear problem of a step, by products with J alone."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .. import kernels
from ..scalars import plain
from .linear import AbstractSolver, Solution
from .vector import ParameterVector, Residuals


@final
class ConjugateGradients(AbstractSolver):
    """Solves by conjugate gradients on $JᵀJ$, with one forward and one reverse derivative for each
    iteration and no matrix: for tens of thousands of residuals.

    It ends early, which is a form of damping: components with small eigenvalues stay as they were.
    The damping is relative to the mean of the kernel's diagonal, which is estimated from one random
    vector (Hutchinson 1990).

    Sources: Hestenes and Stiefel 1952; for networks Martens 2010, "Deep learning via Hessian-free
    optimization"; by `jax.scipy.sparse.linalg.cg`.

    **Arguments:**

    - `iterations`: at most how many.
    - `tolerance`: it ends when the residual of the linear equations, relative to their right side,
        is this small.

    **Raises:** `ValueError` if `iterations` is less than 1 or `tolerance` is negative.

    !!! example

        ```python
        import diffop as do

        do.methods.GaussNewton(solver=do.methods.ConjugateGradients(iterations=50))
        ```
    """

    iterations: int = eqx.field(static=True, converter=plain, default=100)
    tolerance: float = eqx.field(static=True, converter=plain, default=1e-8)

    def __check_init__(self) -> None:
        if self.iterations < 1 or not self.tolerance >= 0:
            raise ValueError(
                f"ConjugateGradients expects at least one iteration and a tolerance of at least 0, "
                f"got {self.iterations} and {self.tolerance}."
            )

    def solve(
        self,
        residuals: Residuals,
        prior: ParameterVector,
        damping: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " rows"], Solution]:
        theta = residuals.theta
        with kernels.plain("parts"):
            values, push = jax.linearize(residuals, theta)
        transposed = jax.linear_transpose(push, theta)

        def pull(dual: Float[Array, " rows"]) -> ParameterVector:
            return transposed(dual)[0]

        signs = jax.random.rademacher(key, theta.shape, theta.dtype)
        shift = damping * jnp.mean(push(signs) ** 2)

        def solved(missed: Float[Array, " rows"]) -> ParameterVector:
            moved, _ = jax.scipy.sparse.linalg.cg(
                lambda d: pull(push(d)) + shift * d,
                pull(missed),
                tol=self.tolerance,
                maxiter=self.iterations,
            )
            return moved

        missed = values - push(prior)
        moved = solved(missed)
        return values, Solution(prior + moved, missed - push(moved), solved)
