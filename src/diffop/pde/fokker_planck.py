"""The stationary Fokker-Planck equation of a diffusion with a full, variable matrix.

The density p of dX = f(X) dt + σ(X) dW is stationary if, with D = σσᵀ,

    ½ Σ_ij ∂_i∂_j (D_ij p) − ∇·(f p) = 0.

For q = log p, divided by p, with (∇·D)_i = Σ_j ∂_j D_ij,

    ½ tr(D Hess q) + ½ |σᵀ∇q|² + (∇·D − f)·∇q + ½ ∇·∇·D − ∇·f = 0.                          (1)

It is satisfied by q = −V if f = ½ (∇·D − D∇V) + A∇V with an antisymmetric matrix A. For then

    ∇·D − f          = ½ ∇·D + ½ D∇V − A∇V
    ½ ∇·∇·D − ∇·f    = ½ ∇·(D∇V) − ∇·(A∇V) = ½ tr(D Hess V) + ½ (∇·D)·∇V,

since tr(A Hess V) = 0, and (1) at q = −V is

    −½ tr(D Hess V) + ½ ∇VᵀD∇V − (½ ∇·D + ½ D∇V − A∇V)·∇V + ½ tr(D Hess V) + ½ (∇·D)·∇V
    = ∇VᵀA∇V = 0.

The current A∇V p flows in circles, so the density cannot be read off the drift as a potential.

Here σ(x) = Q diag(s_k(x_k)) with an orthogonal Q and s_k = 1 + ½ sin x_k. With D = Q diag(s²) Qᵀ

    (∇·D)_i = Σ_j ∂_j Σ_k Q_ik Q_jk s_k² = Σ_k Q_ik Q_kk (s_k²)'
    tr(D H) = Σ_k s_k² (QᵀHQ)_kk,

and V(x) = ½ |x|² + Σ_i c_i (1 − cos a_i), a_i = x_i + x_{i+1}, has the Hessian
I + Σ_i c_i cos a_i (e_i + e_{i+1})(e_i + e_{i+1})ᵀ, so (QᵀHQ)_kk = 1 + Σ_i c_i cos a_i
(Q_ik + Q_{i+1,k})². All of it takes O(d²), as a product with Q does.
"""

from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..operators.second_order import ParabolicTrace
from ..operators.vector import Gradient
from ..scalars import plain
from ..streams import checked_key, stream
from .ansatz import LogGaussian
from .problem import AbstractSolvedProblem
from .recommended import MUON, Recommended
from .sampling.normal import normal


@final
class StationaryFokkerPlanck(AbstractSolvedProblem):
    """Fokker-Planck, $½ Σ_ij ∂_i∂_j (D_ij p) − ∇·(f p) = 0$, $D = σσᵀ$, $σ(x)$ a full matrix.

    p is the stationary density of $dX = f(X) dt + σ(X) dW$. A density is $e^{−d}$ in d dimensions,
    so u is its logarithm, for which the equation is

        ½ tr(σσᵀ Hess u) + |σᵀ∇u|²/2 + (∇·D − f)·∇u = ∇·f − ½ ∇·∇·D

    up to a constant; $u(0) = 0$. The first term is a `diffop.ParabolicTrace` of a variable matrix,
    $σ(x) = Q diag(1 + ½ sin x_k)$ with a random orthogonal Q. The solution is
    $u = −½|x|² − Σ_i c_i (1 − cos(x_i + x_{i+1}))$ with $c_i$ uniform in [−1, 1]. The drift f
    follows from it. It has a part that drives the process in circles, so u is not visible in f.
    Source: Risken 1996, "The Fokker-Planck equation", on stationary solutions and detailed
    balance.

    The ansatz is $−½|x|² + net(x) − net(0)$, the null model $a·|x|²$. Points are standard normal.

    **Arguments:**

    - `dim`: the number of coordinates d, at least 2.
    - `key`: a key from `jax.random.key`; it determines Q and c.

    **Raises:** `ValueError` if `dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.StationaryFokkerPlanck(10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "fokker-planck"
    recommended: ClassVar[Recommended] = MUON(
        dim=20,
        steps=20_000,
        batch=30,  # 12,000 steps of 100 points take twice as long to the same error
        width=256,  # three layers of 64 reach three times the error
        depth=1,
        gpinn=1.0,
    )

    dim: int = eqx.field(static=True, converter=plain)
    axes: Float[Array, "dim dim"]
    coefficients: Float[Array, " terms"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        if dim < 2:
            raise ValueError(
                f"{self.name} expects a dimension of at least 2, got {dim}; its solution couples "
                f"neighbouring coordinates."
            )
        key = checked_key(key, f"the solution of {self.name}")
        self.dim = dim
        self.axes = jax.random.orthogonal(stream(key, "axes of diffusion"), dim)
        self.coefficients = jax.random.uniform(
            stream(key, "coefficients of the drift"), (dim - 1,), minval=-1.0, maxval=1.0
        )

    def operators(self) -> PyTree:
        return {"diffusion": ParabolicTrace(self.sigma), "gradient": Gradient()}

    def sigma(self, x: Float[Array, " dim"]) -> Float[Array, "dim dim"]:
        """$σ(x)$."""
        return self.axes * _scales(x)[None]

    def drift(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """$f(x) = ½ (∇·D − D∇V) + A∇V$, where A is half of the difference of the next and the
        previous coordinate.
        """
        slope = self._slope(x)
        circular = 0.5 * (jnp.roll(slope, -1) - jnp.roll(slope, 1))
        along = self.axes @ (jnp.square(_scales(x)) * (self.axes.T @ slope))
        return 0.5 * (self._divergence(x) - along) + circular

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        gradient = values["gradient"]
        along = _scales(x) * (self.axes.T @ gradient)
        transport = (self._divergence(x) - self.drift(x)) @ gradient
        return values["diffusion"] + 0.5 * along @ along + transport - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """$∇·f − ½ ∇·∇·D$."""
        pairs = jnp.square(self.axes[:-1] + self.axes[1:])
        curvatures = 1 + (self.coefficients * jnp.cos(x[:-1] + x[1:])) @ pairs
        trace = jnp.square(_scales(x)) @ curvatures
        return -0.5 * (trace + self._divergence(x) @ self._slope(x))

    def _divergence(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """∇·D, with (s²)' = s cos x for s = 1 + ½ sin x."""
        return self.axes @ (jnp.diagonal(self.axes) * _scales(x) * jnp.cos(x))

    def _slope(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """∇V."""
        pulls = self.coefficients * jnp.sin(x[:-1] + x[1:])
        return x.at[:-1].add(pulls).at[1:].add(pulls)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -0.5 * jnp.sum(x * x) - self.coefficients @ (1 - jnp.cos(x[:-1] + x[1:]))

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return normal(key, (count, self.dim))

    def ansatz(self, net: Callable) -> Callable:
        return LogGaussian(net, 1.0)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(x * x)


def _scales(x: Float[Array, " dim"]) -> Float[Array, " dim"]:
    """s_k(x_k)."""
    return 1 + 0.5 * jnp.sin(x)
