"""The three-body sum and its derivatives.

S(x) = Σ_i c_i e^{p_i} with p_i = x_i x_{i+1} x_{i+2}.

Write a = x_i, b = x_{i+1}, c = x_{i+2}. The exponent p = abc is linear in each of them, so

    p_a = bc,  p_b = ac,  p_c = ab,     p_aa = p_bb = p_cc = 0,     a p_a + b p_b + c p_c = 3p,

and with (e^p)' = (e^p)'' = e^p

    x·∇S = Σ c_i e^{p_i} 3 p_i
    ΔS   = Σ c_i e^{p_i} ((bc)² + (ac)² + (ab)²).

In many dimensions all p are near 0, so S = Σ_i c_i (e^{p_i} − 1) + Σ_i c_i, and e^p − 1 is computed
to all digits. The product ab of one term is the bc of the term before, so each is computed once.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .sums import in_blocks

CENTRE = 1.0
"""e^{p_i} at x = 0."""


def three_body_sum(
    coefficients: Float[Array, " terms"], total: Float[Array, ""], x: Float[Array, " dim"]
) -> Float[Array, ""]:
    """S(x); `total` is the sum of the coefficients."""
    return in_blocks(coefficients, jnp.expm1(x[:-2] * x[1:-1] * x[2:])) + total


def three_body_terms(
    x: Float[Array, " dim"],
) -> tuple[Float[Array, " terms"], Float[Array, " terms"], Float[Array, " terms"]]:
    """The factors of c_i in S(x) (less 1), in x·∇S(x) and in ΔS(x)."""
    near = x[:-1] * x[1:]
    far = x[:-2] * x[2:]
    exponent = near[:-1] * x[2:]
    growth = jnp.expm1(exponent)
    exponential = 1 + growth
    near_squares = near * near
    squares = near_squares[:-1] + near_squares[1:] + far * far
    return growth, 3 * (exponential * exponent), exponential * squares
