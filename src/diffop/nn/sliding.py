"""Networks that go along the coordinates."""

from collections.abc import Callable
from typing import Literal, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from ..scalars import plain
from ..streams import stream, streams
from ..terms.arguments import checked_integer
from .point import check_point


@final
class SlidingMLP(eqx.Module):
    """A sum of functions of neighbouring coordinates, all made by one small network.

    The network sees each window of B neighbouring coordinates, and makes C numbers of it: windows
    overlap, so there are $P = d − B + 1$ of them. The result is a linear function of all P·C
    numbers: a convolutional network along the coordinates, with a dense last layer. So it knows
    that only neighbours meet, and that a few shapes do for all places, but for $C$ weights at each
    of them. It has about $C d$ parameters, and its exact Laplacian costs as much as a few of its
    values in any dimension, since a number moves along few coordinates up to the last layer.

    Coordinates that belong to no place, such as time, are the `common` last ones, which every
    window sees.

    **Arguments:**

    - `dim`: the number of coordinates d, the common ones among them.
    - `block`: the size B of a window.
    - `width`, `depth`: size and number of the hidden layers of the small network.
    - `channels`: C.
    - `common`: how many of the last coordinates all windows see.
    - `out_size`: how many values, or `"scalar"`.
    - `activation`: between layers.
    - `key`: a key from `jax.random.key`.

    **Returns:** called at a point of shape `(d,)`, an array of shape `(out_size,)`, or a scalar.

    **Raises:** `ValueError` for sizes less than 1, windows with more coordinates than there are,
    and at the call for a point of another shape.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        u = do.nn.SlidingMLP(1000, 2, width=16, depth=1, channels=4, key=jax.random.key(0))
        do.Laplacian().exact(u)(jnp.full(1000, 0.01))
        ```
    """

    layers: tuple[eqx.nn.Linear, ...]
    readout: eqx.nn.Linear
    activation: Callable
    dim: int = eqx.field(static=True, converter=plain)
    block: int = eqx.field(static=True, converter=plain)

    def __init__(
        self,
        dim: int,
        block: int,
        width: int,
        depth: int,
        *,
        channels: int = 1,
        common: int = 0,
        out_size: int | Literal["scalar"] = "scalar",
        activation: Callable = jnp.tanh,
        key: PRNGKeyArray,
    ):
        sizes = {"dim": dim, "block": block, "channels": channels}
        dim, block, channels = (
            checked_integer(value, f"{name} of SlidingMLP", 1) for name, value in sizes.items()
        )
        common = checked_integer(common, "common of SlidingMLP", 0)
        width, depth, out_size = plain((width, depth, out_size))
        if block + common > dim:
            raise ValueError(
                f"SlidingMLP expects windows of 1 to {dim - common} coordinates, as it has {dim} "
                f"of which {common} are common to all, got block={block}."
            )
        self.dim, self.block, self.activation = dim, block, activation
        outs = (*(width,) * depth, channels)
        ins = (block + common, *outs[:-1])
        keys = streams(key, "layers of a window", len(outs))
        self.layers = tuple(map(_linear, ins, outs, keys))
        places = dim - common - block + 1
        self.readout = eqx.nn.Linear(places * channels, out_size, key=stream(key, "readout"))

    def __call__(self, x: Inexact[Array, "*point"]) -> Float[Array, "*out"]:
        check_point("SlidingMLP", x, self.dim)
        return self.readout(jnp.ravel(self._along(x)))

    def _along(self, x: Inexact[Array, " d"]) -> Float[Array, "places channels"]:
        """What the small network makes of all windows, by products with all at once: mapped over
        them it is several times as slow.
        """
        *hidden, last = self.layers
        common = self.layers[0].weight.shape[1] - self.block
        places = self.dim - common - self.block + 1
        columns = [x[start : start + places] for start in range(self.block)]
        columns += [jnp.full((places,), x[self.dim - common + each]) for each in range(common)]
        seen = jnp.stack(columns, axis=1)
        for layer in hidden:
            seen = self.activation(_all(layer, seen))
        return _all(last, seen)


def _linear(ins: int, outs: int, key: PRNGKeyArray) -> eqx.nn.Linear:
    return eqx.nn.Linear(ins, outs, key=key)


def _all(layer: eqx.nn.Linear, rows: Inexact[Array, "places n"]) -> Inexact[Array, "places m"]:
    assert layer.bias is not None
    return rows @ layer.weight.T + layer.bias[None]
