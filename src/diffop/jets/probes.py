"""Random dense directions and their moments.

A probe v in R^d is isotropic when E[v vᵀ] = I: then E[(v·∇)²] = Δ. Rotation-invariant probes also
have higher moments in closed form: E[(v·∇)^{2m}] = c_m Δ^m, with

- Gaussian, v ~ N(0, I): c_m = (2m−1)!! (Wick's theorem: the number of pairings of 2m indices);
- sphere, v uniform on the sphere of radius √d: c_m = (2m−1)!! d^m / (d (d+2) … (d+2m−2)), because a
    Gaussian is a uniform direction times an independent radius with E[r^{2m}] = d (d+2) … (d+2m−2).

Rademacher signs are isotropic, but E[v_i⁴] = 1 and not 3, so they are biased for Δ^m with m > 1.
"""

import math

import jax
import jax.numpy as jnp

from .._types import Key, Probes

DENSE = ("rademacher", "gaussian", "sphere")
INVARIANT = ("gaussian", "sphere")
KINDS = ("auto", "sparse", *DENSE)


def draw(kind: str, key: Key, n: int, size: int, dtype: jnp.dtype) -> Probes:
    """n independent isotropic probes of one kind."""
    if kind == "rademacher":
        return jax.random.rademacher(key, (n, size), dtype)
    normal = jax.random.normal(key, (n, size), dtype)
    if kind == "gaussian":
        return normal
    return math.sqrt(size) * normal / jnp.linalg.norm(normal, axis=1, keepdims=True)


def moment(kind: str, power: int, size: int) -> float:
    """c_m with E[(v·∇)^{2m}] = c_m Δ^m, for m = 1 or a rotation-invariant kind."""
    double_factorial = math.prod(range(1, 2 * power, 2))
    if kind != "sphere":
        return float(double_factorial)
    return double_factorial * size**power / math.prod(range(size, size + 2 * power, 2))
