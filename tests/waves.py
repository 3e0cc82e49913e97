"""Functions whose derivatives of all orders are known, and none of which vanishes.

f(x) = A e^{Wx}, with D^k f = Σ_j A_j e^{w_j·x} w_j ⊗ … ⊗ w_j. Three operations, so that a program
that differentiates it is compiled quickly.
"""

import jax.numpy as jnp
import numpy as np


class Waves:
    """In d coordinates, with one output or several."""

    def __init__(self, d, outputs=(), count=4):
        rng = np.random.default_rng(d)
        self.vectors = rng.uniform(-1.2, 1.2, (count, d))
        self.amplitudes = rng.uniform(0.5, 1.5, (*outputs, count))

    def __call__(self, x):
        return jnp.asarray(self.amplitudes) @ jnp.exp(jnp.asarray(self.vectors) @ x)

    def derivatives(self, x, order):
        """`[f, Df, …, D^order f]` as `oracle.derivatives` has them."""
        tensors = self.amplitudes * np.exp(self.vectors @ x)
        found = [tensors.sum(-1)]
        for _ in range(order):
            tensors = tensors[..., None, :] * self.vectors.T
            found.append(tensors.sum(-1))
        return found
