"""Sums of a million terms that nearly cancel, in single precision."""

import jax.numpy as jnp
from jaxtyping import Array, Float

_BLOCK = 1024


def in_blocks(
    coefficients: Float[Array, " terms"], values: Float[Array, " terms"]
) -> Float[Array, ""]:
    """Σ_i c_i v_i, summed in blocks and then over the blocks.

    Products with many points are added one by one: n terms in that order lose about √n roundings of
    the largest partial sum, while blocks of B lose no more than √B + √(n/B).
    """
    if coefficients.size <= _BLOCK:
        return coefficients @ values
    blocks = [jnp.pad(x, (0, -x.size % _BLOCK)).reshape(-1, _BLOCK) for x in (coefficients, values)]
    return jnp.sum(jnp.einsum("ij,ij->i", *blocks))
