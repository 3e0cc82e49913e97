"""Networks that programs are read off from."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr


class Network(eqx.Module):
    """tanh layers of different widths, then a sum."""

    layers: list

    def __init__(self, d, widths):
        sizes = (d, *widths)
        self.layers = [
            eqx.nn.Linear(a, b, key=jr.key(a)) for a, b in zip(sizes, sizes[1:], strict=False)
        ]

    def __call__(self, x):
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return jnp.sum(x)
