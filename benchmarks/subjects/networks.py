"""What is differentiated, and where.

Everything is drawn row by row: the intermediate arrays of one draw take three times the memory of
its result, and in a million dimensions that would be the peak of whatever is measured later.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do


@final
class Network(NamedTuple):
    """A plain MLP of L weight matrices, which is L − 1 hidden layers, of width h."""

    layers: int = 4
    width: int = 128


BASE = Network()
NETWORKS = {
    "base": BASE,
    "L=8": Network(layers=8),
    "L=16": Network(layers=16),
    "h=256": Network(width=256),
    "h=512": Network(width=512),
    "h=1024": Network(width=1024),
}
"""The networks of the paper's table of equations of high order."""


def mlp(dim: int, network: Network = BASE) -> eqx.nn.MLP:
    """Tanh, scalar, uniform weights of Equinox's size; by default three hidden layers of 128."""
    keys = iter(jax.random.split(jax.random.key(0), 2 * network.layers))

    def draw(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf  # an activation
        limit = 1 / math.sqrt(leaf.shape[-1])
        row = leaf.shape[1:]
        return _by_rows(
            lambda key: jax.random.uniform(key, row, minval=-limit, maxval=limit),
            next(keys),
            leaf.shape[0],
        )

    shapes = eqx.filter_eval_shape(
        eqx.nn.MLP,
        dim,
        "scalar",
        network.width,
        depth=network.layers - 1,
        activation=jnp.tanh,
        key=jax.random.key(0),
    )
    return jax.tree.map(draw, shapes)


def ansatz(dim: int) -> do.nn.ZeroOnUnitSphere:
    """(1 − |x|²) mlp(x), as in training: the factor in front touches every coordinate."""
    return do.nn.ZeroOnUnitSphere(mlp(dim))


def normal_points(count: int, dim: int) -> jax.Array:
    """Points for the plain network: its inputs are about one."""
    return _by_rows(lambda key: jax.random.normal(key, (dim,)), jax.random.key(1), count)


def ball_points(count: int, dim: int) -> jax.Array:
    """Points of the unit ball, for the ansatz."""
    return _by_rows(
        lambda key: do.pde.unit_ball_by_radius(key, 1, dim)[0], jax.random.key(1), count
    )


def _by_rows(draw: Callable[[jax.Array], jax.Array], key: jax.Array, count: int) -> jax.Array:
    return jax.lax.map(draw, jax.random.split(key, count))
