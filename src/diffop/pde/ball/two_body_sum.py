"""The two-body sum and its derivatives.

S(x) = Σ_i c_i sin θ_i with θ_i = x_i + cos x_{i+1} + x_{i+1} cos x_i.

Write a = x_i, b = x_{i+1}. The derivatives of θ = a + cos b + b cos a are

    θ_a = 1 − b sin a        θ_aa = −b cos a
    θ_b = cos a − sin b      θ_bb = −cos b

and θ depends on no other coordinate, so with (sin θ)' = cos θ and (sin θ)'' = −sin θ

    x·∇S = Σ c_i cos θ (a θ_a + b θ_b)
    ΔS   = Σ c_i [cos θ (θ_aa + θ_bb) − sin θ (θ_a² + θ_b²)].

At high dimension these sums are the larger part of a training step, and the sine is the larger part
of the sums. Where all |x_i| ≤ 1, as in the unit ball, two sines for each coordinate are enough:

    |a| ≤ 1 < π/2:              cos a = √(1 − sin² a)
    |θ| ≤ |a| + 1 + |b| < π:    with s = sin(θ/2) and c = cos(θ/2) = √(1 − s²),
                                sin θ = 2sc and cos θ = 1 − 2s².

In many dimensions all θ are near 1, so S = Σ_i c_i (sin θ_i − sin 1) + sin 1 Σ_i c_i: where the
coefficients cancel, on a lattice, the sum of large terms has no digits left in single precision.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

_CENTRE = math.sin(1)


def two_body_sum(
    coefficients: Float[Array, " terms"], total: Float[Array, ""], x: Float[Array, " dim"]
) -> Float[Array, ""]:
    """S(x), valid for every x; `total` is the sum of the coefficients."""
    a, b = x[:-1], x[1:]
    sine = jnp.sin(a + jnp.cos(b) + b * jnp.cos(a))
    return coefficients @ (sine - _CENTRE) + _CENTRE * total


def two_body_terms(
    coefficients: Float[Array, " terms"], total: Float[Array, ""], x: Float[Array, " dim"]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """S(x), x·∇S(x) and ΔS(x) in one pass; valid where all |x_i| ≤ 1."""
    sin_x = jnp.sin(x)
    cos_x = jnp.sqrt(1 - sin_x * sin_x)
    a, sin_a, cos_a = x[:-1], sin_x[:-1], cos_x[:-1]
    b, sin_b, cos_b = x[1:], sin_x[1:], cos_x[1:]

    sine, cosine = _sine_and_cosine(a + cos_b + b * cos_a)
    theta_a = 1 - b * sin_a
    theta_b = cos_a - sin_b
    curvature = -b * cos_a - cos_b

    # Dot products: twice as fast here as sums of products, which XLA reduces one by one.
    value = coefficients @ (sine - _CENTRE) + _CENTRE * total
    radial = coefficients @ (cosine * (a * theta_a + b * theta_b))
    squares = theta_a * theta_a + theta_b * theta_b
    laplacian = coefficients @ (cosine * curvature - sine * squares)
    return value, radial, laplacian


def _sine_and_cosine(
    angle: Float[Array, " terms"],
) -> tuple[Float[Array, " terms"], Float[Array, " terms"]]:
    """Both at the price of one sine and one root; for angles between −π and π."""
    half = jnp.sin(0.5 * angle)
    return 2 * half * jnp.sqrt(1 - half * half), 1 - 2 * half * half
