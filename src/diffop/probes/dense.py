"""Probes with isotropic directions: signs, Gaussian, spherical and orthogonal vectors.

v in R^d is isotropic when E[v vᵀ] = I: then E[(v·∇)²] = Δ, and E[v·D²u·Cv] = Σ C_ij ∂_i∂_j.
Rotation-invariant directions have higher moments in closed form too: E[(v·∇)^{2m}] = c_m Δ^m, with

- Gaussian, v ~ N(0, I): c_m = (2m−1)!! (Wick's theorem: the number of pairings of 2m indices);
- sphere, v uniform on the sphere of radius √d: c_m = (2m−1)!! d^m / (d (d+2) … (d+2m−2)), because a
    Gaussian is a uniform direction times an independent radius with E[r^{2m}] = d (d+2) … (d+2m−2).

Signs are isotropic, but E[v_i⁴] = 1 instead of 3, so they are biased for Δ^m with m > 1.
"""

import math
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..array_types import Key, Probes
from ..jets.design import Stratum
from ..jets.terms import Target
from .base import AbstractDenseProbe, Drawn


@final
class Rademacher(AbstractDenseProbe):
    """Independent signs: $E[v_i v_j] = δ_ij$.

    With A = Hess u the variance of one draw of $Δ$ is $2 Σ_{i≠j} A_ij²$, the least of all
    directions with independent entries: the diagonal does not contribute.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 8, probes=do.probes.Rademacher())
        do.Laplacian().estimate(jax.random.key(0), 8, probes="rademacher")  # the same
        ```
    """

    name: ClassVar[str] = "rademacher"

    def reaches(self, target: Target) -> bool:
        return target.kind == "trace"

    def directions(self, key: Key, n: int, size: int, dtype: np.dtype) -> Probes:
        return jax.random.rademacher(key, (n, size), dtype)

    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        return _mean(self.directions(key, n, size, dtype), 1.0)

    def variance_of_form(self, matrix: Array, n: int) -> Array:
        return rademacher_variance(matrix) / n


@final
class Gaussian(AbstractDenseProbe):
    """v ~ N(0, I): $E[(v·∇)^{2m}] = (2m−1)!! Δ^m$ for every m.

    The variance of one draw of $Δ$ is $2 Σ_ij A_ij²$, A = Hess u.

    Source: STDE, section "Estimating the Biharmonic operator", whose factor d is an error.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Biharmonic().estimate(jax.random.key(0), 8, probes=do.probes.Gaussian())
        ```
    """

    name: ClassVar[str] = "gaussian"

    def reaches(self, target: Target) -> bool:
        return target.kind in ("trace", "laplacian")

    def directions(self, key: Key, n: int, size: int, dtype: np.dtype) -> Probes:
        return jax.random.normal(key, (n, size), dtype)

    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        return _mean(self.directions(key, n, size, dtype), _double_factorial(target.order))

    def variance_of_form(self, matrix: Array, n: int) -> Array:
        return 2 * jnp.sum(jnp.abs(matrix) ** 2, axis=(-2, -1)) / n


@final
class Spherical(AbstractDenseProbe):
    """v uniform on the sphere of radius $√d$: $E[(v·∇)^{2m}] = c_m Δ^m$ with $c_m = (2m−1)!! d^m$
    over d (d+2) … (d+2m−2).

    The variance of one draw of $Δ$ is $2d/(d+2) (Σ_ij A_ij² − (tr A)²/d)$, A = Hess u: none for a
    multiple of the identity.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 8, probes=do.probes.Spherical())
        ```
    """

    name: ClassVar[str] = "spherical"

    def reaches(self, target: Target) -> bool:
        return target.kind in ("trace", "laplacian")

    def directions(self, key: Key, n: int, size: int, dtype: np.dtype) -> Probes:
        # squares of many entries are beyond the range of half precision
        normal = jax.random.normal(key, (n, size), np.promote_types(dtype, np.float32))
        length = jnp.linalg.norm(normal, axis=1, keepdims=True)
        return (math.sqrt(size) * normal / length).astype(dtype)

    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        directions = self.directions(key, n, size, dtype)
        radii = math.prod(range(size, size + target.order, 2))
        return _mean(
            directions, _double_factorial(target.order) * size ** (target.order // 2) / radii
        )

    def variance_of_form(self, matrix: Array, n: int) -> Array:
        size = matrix.shape[-1]
        trace = jnp.abs(jnp.trace(matrix, axis1=-2, axis2=-1))
        squares = jnp.sum(jnp.abs(matrix) ** 2, axis=(-2, -1))
        return 2 * size / (size + 2) * (squares - trace**2 / size) / n


@final
class Orthogonal(AbstractDenseProbe):
    """n orthogonal directions of length $√d$, uniformly distributed. Each of them is distributed as
    [`diffop.probes.Spherical`][], and d of them are exact.

    Their variance is that of n independent directions times (d − n)/(d − 1), so they are never
    worse. They take a QR decomposition of n vectors, $O(d n²)$. They serve quadratic forms only
    ($Δ, C:∇², ½σσᵀ:∇²$, div): for $Δ^m$ no formula gives their standard error.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 8, probes=do.probes.Orthogonal())
        ```
    """

    name: ClassVar[str] = "orthogonal"

    def reaches(self, target: Target) -> bool:
        return target.kind == "trace"

    def directions(self, key: Key, n: int, size: int, dtype: np.dtype) -> Probes:
        # there is no decomposition in half precision
        normal = jax.random.normal(key, (size, n), np.promote_types(dtype, np.float32))
        basis, triangle = jnp.linalg.qr(normal)
        diagonal = jnp.diagonal(triangle)
        signs = jnp.where(diagonal < 0, -1, 1).astype(diagonal.dtype)  # QR's are not uniform
        return (math.sqrt(size) * (basis * signs[None, :]).T).astype(dtype)

    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        weights = np.full(n, 1 / n)
        return Drawn(self.directions(key, n, size, dtype), weights, (Stratum(n, size),))

    def variance_of_form(self, matrix: Array, n: int) -> Array:
        size = matrix.shape[-1]
        return Spherical().variance_of_form(matrix, n) * ((size - n) / max(size - 1, 1))


def rademacher_variance(matrix: Array) -> Array:
    """2 Σ_{i≠j} A_ij², the variance of one draw."""
    diagonal = jnp.abs(jnp.diagonal(matrix, axis1=-2, axis2=-1))
    return 2 * (jnp.sum(jnp.abs(matrix) ** 2, axis=(-2, -1)) - jnp.sum(diagonal**2, axis=-1))


def _mean(directions: Probes, moment: float) -> Drawn:
    """Independent directions with a known moment."""
    n = directions.shape[0]
    return Drawn(directions, np.full(n, 1 / (n * moment)), (Stratum(n),))


def _double_factorial(order: int) -> float:
    """(2m − 1)!! for the order 2m."""
    return float(math.prod(range(1, order, 2)))
