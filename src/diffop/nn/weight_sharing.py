"""Networks whose first layer is shared by blocks of the coordinates."""

from collections.abc import Callable
from typing import Literal, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from ..scalars import checked_integer, plain
from ..streams import stream
from .point import check_point, checked_sizes


@final
class WeightSharedMLP(eqx.Module):
    """A network with weight sharing in the first layer. In many dimensions nearly all parameters
    are in the first layer; sharing divides their number by the size of a block.

    The coordinates are cut into blocks of B. The same linear map, with a bias, takes each block to
    C numbers: a convolution along the coordinates with kernel and stride B and C channels. An
    `equinox.nn.MLP` sees the C·⌈d/B⌉ results. If B does not divide d, the point is padded with
    zeros at the end. With B = 1 nothing is shared, and the network is the MLP alone.

    The convolution is linear, and the MLP follows directly. So a network with one channel depends
    only on one weighted sum of each block: large blocks are cheap and see little. In the source,
    blocks of 1000 in a million dimensions did not learn the solution.

    On a lattice all blocks play the same part, and their places carry no information. With `summed`
    the map takes the sum of the blocks, and the MLP sees its C numbers. Then neither the number of
    parameters nor the values that they have to reach depend on d. To first order in the coordinates
    this gives every function that does not change when blocks are permuted.

    Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendices "Further memory
    reduction via weight sharing in the first layer" and "Weight sharing", which have one channel;
    the numbers of parameters are those of its table.

    **Arguments:**

    - `dim`: the number of coordinates d.
    - `block`: the size B of a block.
    - `width`, `depth`: size and number of the MLP's hidden layers.
    - `channels`: C; more than one only if something is shared.
    - `summed`: whether the map takes the sum of all blocks, not one block after another.
    - `out_size`: how many values, or `"scalar"`.
    - `activation`: between the MLP's layers.
    - `key`: a key from `jax.random.key`.

    **Returns:** called at a point of shape `(d,)`, an array of shape `(out_size,)`, or a scalar.

    **Raises:** `ValueError` for sizes less than 1, a block larger than d, several channels with a
    block of 1, and at the call for a point of another shape.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        net = do.nn.WeightSharedMLP(1000, 50, width=16, depth=2, key=jax.random.key(0))
        u = do.nn.ZeroOnUnitSphere(net)
        laplacian = do.Laplacian().estimate(jax.random.key(1), 16)(u)
        jax.jit(laplacian)(jnp.full(1000, 0.01))
        ```
    """

    shared: eqx.nn.Linear | None
    mlp: eqx.nn.MLP
    dim: int = eqx.field(static=True, converter=plain)
    block: int = eqx.field(static=True, converter=plain)
    summed: bool = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        block: int,
        width: int,
        depth: int,
        *,
        channels: int = 1,
        summed: bool = False,
        out_size: int | Literal["scalar"] = "scalar",
        activation: Callable = jnp.tanh,
        key: PRNGKeyArray,
    ):
        dim, block, width, channels = checked_sizes(
            "WeightSharedMLP", dim=dim, block=block, width=width, channels=channels
        )
        depth, out_size = (
            checked_integer(depth, "depth of WeightSharedMLP", 0),
            plain(out_size),
        )
        if block > dim or (block == 1 and (channels > 1 or summed)):
            raise ValueError(
                f"WeightSharedMLP expects a block of 2 to {dim} coordinates, or a block of 1 with "
                f"1 channel, which shares nothing; got block={block} and channels={channels}"
                f"{', summed' if summed else ''}."
            )
        shared_key, mlp_key = stream(key, "shared layer"), stream(key, "layers of all blocks")
        self.dim, self.block, self.summed = dim, block, summed
        self.shared = eqx.nn.Linear(block, channels, key=shared_key) if block > 1 else None
        inputs = channels * (1 if summed else -(-dim // block))
        self.mlp = eqx.nn.MLP(inputs, out_size, width, depth, activation, key=mlp_key)

    def __call__(self, x: Inexact[Array, "*point"]) -> Float[Array, "*out"]:
        x = check_point("WeightSharedMLP", x, self.dim)
        return self.mlp(x if self.shared is None else self._by_block(self.shared, x))

    def _by_block(self, shared: eqx.nn.Linear, x: Inexact[Array, " d"]) -> Float[Array, " inputs"]:
        blocks = jnp.pad(x, (0, -self.dim % self.block)).reshape(-1, self.block)
        if self.summed:
            return shared(jnp.sum(blocks, axis=0))
        return jnp.ravel(of_rows(shared, blocks))


def of_rows(layer: eqx.nn.Linear, rows: Inexact[Array, "count n"]) -> Inexact[Array, "count m"]:
    """What a layer makes of all rows, in one product: a convolution, or the layer mapped over the
    rows, takes several times as long.
    """
    assert layer.bias is not None
    return rows @ layer.weight.T + layer.bias[None]
