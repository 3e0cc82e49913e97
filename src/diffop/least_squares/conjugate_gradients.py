"""Conjugate gradients for the linear problem of a step, by products with J alone."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .. import kernels
from ..scalars import checked_integer, plain
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

    **Raises:** `ValueError` if `iterations` is less than 1 or `tolerance` is negative; `TypeError`
    for iterations that are not an integer.

    !!! example

        ```python
        import diffop as do

        do.methods.GaussNewton(solver=do.methods.ConjugateGradients(iterations=50))
        ```
    """

    iterations: int = eqx.field(static=True, converter=plain, default=100)
    tolerance: float = eqx.field(static=True, converter=plain, default=1e-8)

    def __check_init__(self) -> None:
        checked_integer(self.iterations, "iterations of ConjugateGradients", 1)
        if not self.tolerance >= 0:
            raise ValueError(
                f"ConjugateGradients expects a tolerance of at least 0, got {self.tolerance}."
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

        along = push(jax.random.rademacher(key, theta.shape, theta.dtype))
        # J and e in units of about their size: the iteration has their fourth and sixth powers
        unit = _size(along)
        shift = damping * jnp.mean((along / unit) ** 2)

        def solved(missed: Float[Array, " rows"]) -> ParameterVector:
            size = _size(missed)
            moved, _ = jax.scipy.sparse.linalg.cg(
                lambda d: pull(push(d) / unit) / unit + shift * d,
                pull(missed / size) / unit,
                tol=self.tolerance,
                maxiter=self.iterations,
            )
            return moved * (size / unit)

        missed = values - push(prior)
        moved = solved(missed)
        return values, Solution(prior + moved, missed - push(moved), solved)


def _size(values: Float[Array, " rows"]) -> Float[Array, ""]:
    """The largest magnitude; 1 if all are 0."""
    largest = jnp.max(jnp.abs(values))
    return jnp.where(largest > 0, largest, 1)
