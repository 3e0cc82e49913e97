"""The ground state of coupled quantum oscillators, with a known energy.

The energy of N particles on a line, in a trap and with springs between neighbours, is

    H = −½ Δ + V(x),     V(x) = ½ ω² |x|² + ½ k Σ_i (x_{i+1} − x_i)² = ½ xᵀKx,

where K is ω² on the diagonal plus k times the second difference with free ends. The cosines

    q_{nj} = √((2 − δ_{n0})/N) cos(πn (j + ½)/N),     n, j = 0 … N − 1,

are its orthonormal eigenvectors, with the eigenvalues ω_n² = ω² + 4k sin²(πn/2N). For a symmetric
matrix B the function log ψ = −½ xᵀBx has the gradient −Bx and the Laplacian −tr B, so

    −½ (Δ log ψ + |∇ log ψ|²) + V = ½ tr B − ½ xᵀB²x + ½ xᵀKx,

which is a constant for B = √K: the ground state is log ψ = −½ Σ_n ω_n (q_n·x)², and its energy
E = ½ Σ_n ω_n. ψ is positive, as only a ground state is.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..operators.laplacian import Laplacian
from ..operators.vector import Gradient
from ..scalars import plain
from .ansatz import LogGaussian
from .problem import AbstractSolvedProblem
from .recommended import MUON, Recommended
from .sampling.normal import normal


@final
class OscillatorChain(AbstractSolvedProblem):
    """Schrödinger, $(−½Δ + V) ψ = Eψ$, ground state of oscillators with springs between neighbours.

    For $u = log ψ$ the equation is $−½ (Δu + |∇u|²) + V = E$, where the left side is the local
    energy and $V(x) = ½ω²|x|² + ½k Σ_i (x_{i+1} − x_i)²$, with one particle for each coordinate. E
    and u are known (Schwabl 2007, "Quantum mechanics"; the modes are those of a chain of atoms).
    With the ground state's energy as right side no other u, up to a constant, belongs to a positive
    $ψ$; $u(0) = 0$. If E is unknown, minimise the variance of `local_energy` over points instead:
    it is zero for the ground state, whose local energy is E everywhere.

    The ansatz is $−½ω|x|² + net(x) − net(0)$, a correction of the particles without springs. The
    null model is $a·|x|²$, particles that are independent of each other. Points are distributed
    like the particles without springs, $N(0, I/2ω)$, so coordinates are about 1 in any dimension.

    **Arguments:**

    - `dim`: the number of particles N, at least 2.
    - `trap`: $ω$, positive.
    - `spring`: k, not negative.

    **Raises:** `ValueError` if one of them is out of range.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.OscillatorChain(10)
        x = problem.sample(jax.random.key(0), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.local_energy(values, x) - problem.energy  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "schroedinger"
    recommended: ClassVar[Recommended] = MUON(
        dim=10,
        steps=6_000,
        gpinn=1.0,
    )

    dim: int = eqx.field(static=True, converter=plain)
    trap: int | float = eqx.field(static=True, converter=plain, default=1.0)
    spring: int | float = eqx.field(static=True, converter=plain, default=2.0)

    def __check_init__(self) -> None:
        if self.dim < 2 or not self.trap > 0 or not self.spring >= 0:
            raise ValueError(
                f"{self.name} expects at least 2 particles, a positive trap and a spring that is "
                f"not negative, got dim={self.dim}, trap={self.trap} and spring={self.spring}."
            )

    def operators(self) -> PyTree:
        return {"gradient": Gradient(), "lap": Laplacian()}

    def local_energy(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """$(Hψ)/ψ$ at a point, from the values of `operators()` of $log ψ$ there."""
        gradient = values["gradient"]
        return self.potential(x) - 0.5 * (values["lap"] + jnp.sum(gradient * gradient))

    def potential(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """$V(x)$."""
        stretches = x[1:] - x[:-1]
        trap, springs = jnp.sum(x * x), jnp.sum(stretches * stretches)
        return 0.5 * (self.trap**2 * trap + self.spring * springs)

    @property
    def energy(self) -> float:
        """E, the energy of the ground state."""
        return 0.5 * math.fsum(self._modes()[0])

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.local_energy(values, x) - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.full((), self.energy, x.dtype)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        frequencies, modes = (jnp.asarray(part, x.dtype) for part in self._modes())
        return -0.5 * frequencies @ jnp.square(modes @ x)

    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        """ω_n, and q_nj by rows."""
        n = np.arange(self.dim)
        frequencies = np.sqrt(
            self.trap**2 + 4 * self.spring * np.sin(np.pi * n / (2 * self.dim)) ** 2
        )
        scale = np.sqrt(np.where(n == 0, 1.0, 2.0) / self.dim)
        modes = scale[:, None] * np.cos(np.pi / self.dim * np.outer(n, n + 0.5))
        return frequencies, modes

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return normal(key, (count, self.dim)) / math.sqrt(2 * self.trap)

    def ansatz(self, net: Callable) -> Callable:
        return LogGaussian(net, self.trap)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(x * x)
