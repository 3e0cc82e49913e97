"""Networks that go along the coordinates."""

from collections.abc import Callable
from typing import Literal, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from ..scalars import checked_integer, plain
from ..streams import stream, streams
from .point import check_point, checked_sizes
from .weight_sharing import of_rows


@final
class SlidingMLP(eqx.Module):
    """A sum of functions of neighbouring coordinates, all made by one small network.

    The small network sees each window of B neighbouring coordinates and makes C numbers of it.
    Windows overlap, so there are $P = d − B + 1$ of them. The result is a linear function of all
    P·C numbers: this is a convolutional network along the coordinates with a dense last layer. It
    assumes that only neighbours meet, in the same few shapes everywhere; each place has C weights
    of its own. It has about $C d$ parameters. Its exact Laplacian costs as much as a few values in
    any dimension, because each number depends on few coordinates up to the last layer.

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

    **Raises:** `ValueError` for sizes less than 1 (0 for `depth` and `common`), windows with more
    coordinates than there are, and at the call for a point of another shape.

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
        dim, block, width, channels = checked_sizes(
            "SlidingMLP", dim=dim, block=block, width=width, channels=channels
        )
        depth = checked_integer(depth, "depth of SlidingMLP", 0)
        common = checked_integer(common, "common of SlidingMLP", 0)
        if block + common > dim:
            raise ValueError(
                f"SlidingMLP expects a block and common coordinates that are at most its {dim} "
                f"coordinates together, got block={block} and common={common}."
            )
        self.dim, self.block, self.activation = dim, block, activation
        outs = (*(width,) * depth, channels)
        ins = (block + common, *outs[:-1])
        keys = streams(key, "layers of a window", len(outs))
        layers = zip(ins, outs, keys, strict=True)
        self.layers = tuple(eqx.nn.Linear(size, out, key=each) for size, out, each in layers)
        features = (dim - common - block + 1) * channels
        self.readout = eqx.nn.Linear(features, plain(out_size), key=stream(key, "readout"))

    def __call__(self, x: Inexact[Array, "*point"]) -> Float[Array, "*out"]:
        x = check_point("SlidingMLP", x, self.dim)
        return self.readout(jnp.ravel(self._along(x)))

    def _along(self, x: Inexact[Array, " d"]) -> Float[Array, "places channels"]:
        """The numbers that the small network makes of each window."""
        *hidden, last = self.layers
        common = self.layers[0].weight.shape[1] - self.block
        own, others = x[: self.dim - common], x[self.dim - common :]
        places = len(own) - self.block + 1
        columns = [own[start : start + places] for start in range(self.block)]
        columns += [jnp.full((places,), others[each]) for each in range(common)]
        seen = jnp.stack(columns, axis=1)
        for layer in hidden:
            seen = self.activation(of_rows(layer, seen))
        return of_rows(last, seen)
