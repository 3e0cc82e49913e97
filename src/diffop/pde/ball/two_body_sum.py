"""The two-body sum and its derivatives.

S(x) = Σ_i c_i sin θ_i with θ_i = x_i + cos x_{i+1} + x_{i+1} cos x_i.

Write a = x_i, b = x_{i+1}. The derivatives of θ = a + cos b + b cos a are

    θ_a = 1 − b sin a        θ_aa = −b cos a
    θ_b = cos a − sin b      θ_bb = −cos b

and θ depends on no other coordinate, so with (sin θ)' = cos θ and (sin θ)'' = −sin θ

    x·∇S = Σ c_i cos θ (a θ_a + b θ_b)
    ΔS   = Σ c_i [cos θ (θ_aa + θ_bb) − sin θ (θ_a² + θ_b²)].

If all |x_i| ≤ 1, as in the unit ball, these are functions of small angles: of x, and of the
difference of θ from 1,

    δ = θ − 1 = a − (1 − cos b) + b cos a,     |δ| ≤ |a| + (1 − cos b) + |b| cos a ≤ 2:

the bound grows with |a| and with |b|, and is 1 + (1 − cos 1) + cos 1 if both are 1.

In many dimensions all δ are near 0. So S is computed as Σ_i c_i (sin θ_i − sin 1) + sin 1 Σ_i c_i:
if the coefficients cancel, as on a lattice, the sum of large terms would have no digits left in
single precision. sin θ − sin 1 = cos 1 sin δ − sin 1 (1 − cos δ) has the digits of δ.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...kernels import call
from .sums import in_blocks

CENTRE = math.sin(1)
"""sin θ_i at x = 0."""

_SLOPE = math.cos(1)


def two_body_sum(
    coefficients: Float[Array, " terms"], total: Float[Array, ""], x: Float[Array, " dim"]
) -> Float[Array, ""]:
    """S(x), valid for every x; `total` is the sum of the coefficients."""
    a, b = x[:-1], x[1:]
    # computed from θ itself, sin θ − sin 1 would lose the digits of a small δ
    delta = a - _versine(b) + b * jnp.cos(a)
    values = _SLOPE * jnp.sin(delta) - CENTRE * _versine(delta)
    return in_blocks(coefficients, values) + CENTRE * total


def _versine(x: Float[Array, " terms"]) -> Float[Array, " terms"]:
    """1 − cos x = 2 sin²(x/2), with all digits."""
    half = jnp.sin(0.5 * x)
    return 2 * half * half


def _sine(x: Float[Array, " terms"]) -> Float[Array, " terms"]:
    """sin x for |x| ≤ 2."""
    return call("sine", jnp.sin, x)


def _small_versine(x: Float[Array, " terms"]) -> Float[Array, " terms"]:
    """1 − cos x for |x| ≤ 2."""
    return call("versine", _versine, x)


def two_body_terms(
    x: Float[Array, " dim"],
) -> tuple[Float[Array, " terms"], Float[Array, " terms"], Float[Array, " terms"]]:
    """The factors of c_i in S(x) (less sin 1), in x·∇S(x) and in ΔS(x); valid if all |x_i| ≤ 1."""
    a, b = x[:-1], x[1:]
    sin_a, sin_b = _sine(a), _sine(b)
    cos_a, lost = 1 - _small_versine(a), _small_versine(b)
    delta = a - lost + b * cos_a
    sin_delta, lost_delta = _sine(delta), _small_versine(delta)

    value = _SLOPE * sin_delta - CENTRE * lost_delta
    cosine = _SLOPE - (_SLOPE * lost_delta + CENTRE * sin_delta)
    theta_a = 1 - b * sin_a
    theta_b = cos_a - sin_b
    radial = cosine * (a * theta_a + b * theta_b)
    curvature = (lost - 1) - b * cos_a
    squares = theta_a * theta_a + theta_b * theta_b
    return value, radial, cosine * curvature - (value + CENTRE) * squares
