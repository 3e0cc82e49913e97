"""The solution of a Hamilton-Jacobi-Bellman equation by the Cole-Hopf transformation.

If u_t + Δu − μ|∇u|² = 0, then v = e^(−μu) has v_t + Δv = −μv (u_t + Δu − μ|∇u|²) = 0, the heat
equation, so with h = u(·, T) and s = T − t

    u(x, t) = −(1/μ) log E[e^(−μ h(y))],     y = x + √2 W_s ~ N(x, 2s I).

For h(y) = log((1 + |y|²)/2) this is the mean of (2/(1 + R))^μ with R = |y|². It can be computed
without random numbers, from the integral of the gamma function and the mean of e^(−λR), a product
of one factor for each coordinate,

    (1 + R)^(−μ) = 1/Γ(μ) ∫₀^∞ λ^(μ−1) e^(−λ) e^(−λR) dλ,
    E[e^(−λR)]   = (1 + 4sλ)^(−d/2) exp(−λ|x|² / (1 + 4sλ)).

With λ = e^y the integral over λ is one over all of ℝ, of

    exp(μy − e^y − d/2 log(1 + 4s e^y) − e^y |x|² / (1 + 4s e^y)),

which falls like e^(μy) on the left and faster than any exponential on the right, and is analytic
and bounded for |Im y| < π/2. So the trapezoidal rule with the step 1/4 is exact to e^(−4π²), which
is below the rounding of float64. For large μ the integrand is a peak of width 1/√μ, at y = log μ or
below. So the step is 1/(4√μ) then, and the upper end grows by log(1 + μ).

The weights w(y) of the rule, without the factors of the coordinates, add up to 1. So for small μ,
where the mean is 1 − O(μ), it is 1 + Σ w(y) expm1(−falls(y)), which keeps its digits when its
logarithm is divided by μ. Far on the left falls(y) vanishes: the nodes there are a geometric sum.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_STEP = 0.25
_UPPER = 5.0
"""Above this, e^(−e^y) is less than 1e-64; the peak of e^(μy − e^y) adds log(1 + μ)."""
_DECADES = 40.0
"""Nodes cover this many units of logarithm below the largest value."""
_LARGEST = 60.0
"""The integrand is largest near y = −log(1 + |x|² + 2ds), above −60 where |x| is below 1e13."""


def log_mean_power(
    x: Float[Array, " space"], s: Float[Array, ""], mu: int | float
) -> Float[Array, ""]:
    """log E[(2/(1 + R))^μ], where R is |x + √2 W_s|²."""
    step, upper = _STEP / math.sqrt(max(mu, 1.0)), _UPPER + math.log1p(mu)
    lower = -_LARGEST - _DECADES / max(mu, 1.0)
    nodes = np.arange(lower, upper, step)
    constant = math.log(step) - math.lgamma(mu)
    weights = constant + mu * nodes - np.exp(nodes)  # their logarithms
    left = constant + mu * (lower - step) - math.log(-math.expm1(-mu * step))
    rate = jnp.asarray(np.exp(nodes), x.dtype)
    wide = 4 * s * rate  # about 1/d where it matters; d of these are added up
    falls = 0.5 * x.size * jnp.log1p(wide) + rate * jnp.sum(x * x) / (1 + wide)
    excess = jnp.sum(jnp.asarray(np.exp(weights), x.dtype) * jnp.expm1(-falls))
    exponents = jnp.append(jnp.asarray(weights, x.dtype) - falls, jnp.asarray(left, x.dtype))
    near, far = jnp.log1p(jnp.maximum(excess, -0.5)), jax.nn.logsumexp(exponents)
    return mu * math.log(2) + jnp.where(excess > -0.5, near, far)
