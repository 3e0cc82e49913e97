"""What users of finance and physics write themselves: a forward Laplacian of one network, by hand.

u(t, x) = g(x) + (1 − t) net(t, x), which is g at the end, and its Σ_i c_i ∂²u/∂x_i²; net is an MLP
of tanh that takes time and space in one vector.
"""

from collections.abc import Callable

import equinox as eqx
import folx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import diffop as do

from .operators import Subject, always

Scalar = Float[Array, ""]
Place = Float[Array, " d"]
Point = tuple[Scalar, Place]


def network(dim: int, width: int = 512, hidden: int = 4) -> eqx.nn.MLP:
    """Four hidden layers, as papers about equations in 100 dimensions have them."""
    key = jax.random.key(0)
    return eqx.nn.MLP(1 + dim, "scalar", width, hidden, activation=jnp.tanh, key=key)


def points(count: int, dim: int) -> tuple[jax.Array, jax.Array]:
    """Times between 0 and 1, and normal places."""
    keys = jax.random.split(jax.random.key(1))
    return jax.random.uniform(keys[0], (count,)), jax.random.normal(keys[1], (count, dim))


def solution(net: eqx.nn.MLP, t: Scalar, x: Place) -> Scalar:
    """u."""
    return end(x) + (1 - t) * net(jnp.concatenate([t[None], x]))


def end(x: Place) -> Scalar:
    """g, of the Hamilton–Jacobi–Bellman equation of Han, Jentzen, E 2018."""
    return jnp.log((1 + x @ x) / 2)


def coefficients(weighted: bool, t: Scalar, x: Place) -> Place:
    """c: 1, or that of a geometric Brownian motion."""
    return 0.16 * x**2 if weighted else jnp.ones_like(x)


Method = Callable[[eqx.nn.MLP], Callable[[Point], Scalar]]


def by_diffop(weighted: bool) -> Method:
    """The operator, which knows nothing of the network."""
    if weighted:
        operator = do.SecondOrder(lambda t, x: 0.16 * x**2, argnum=1)
    else:
        operator = do.Laplacian(argnum=1)
    return lambda net: lambda point: operator.exact(lambda t, x: solution(net, t, x))(*point)


def by_folx(weighted: bool) -> Method:
    """folx's forward Laplacian, of z at z = 0 in u(t, x + √c z) where there are coefficients."""

    def value(net: eqx.nn.MLP, t: Scalar, x: Place) -> Scalar:
        root = jnp.sqrt(coefficients(weighted, t, x))
        if weighted:
            moved = folx.forward_laplacian(lambda z: solution(net, t, x + root * z), 0)
            return moved(jnp.zeros_like(x)).laplacian
        return folx.forward_laplacian(lambda x: solution(net, t, x), 0)(x).laplacian

    return lambda net: lambda point: value(net, *point)


def by_hand(weighted: bool) -> Method:
    """Value, first derivatives and Laplacian from layer to layer, for this network only."""

    def value(net: eqx.nn.MLP, t: Scalar, x: Place) -> Scalar:
        c = coefficients(weighted, t, x)
        first, *others = net.layers
        z = first(jnp.concatenate([t[None], x]))
        rows = first.weight[:, 1:].T * jnp.sqrt(c)[:, None] if weighted else first.weight[:, 1:].T
        second = jnp.zeros_like(z)
        for layer in others:
            a = jnp.tanh(z)
            slope = 1 - a**2
            second = slope * second - 2 * a * slope * jnp.sum(rows**2, axis=0)
            z, rows, second = layer(a), (slope * rows) @ layer.weight.T, layer.weight @ second
        second = second.reshape(())
        q = 1 + x @ x
        return jnp.sum(c * (2 / q - 4 * x**2 / q**2)) + (1 - t) * second

    return lambda net: lambda point: value(net, *point)


def _subject(weighted: bool) -> Subject:
    known = {"diffop": by_diffop, "by hand": by_hand, "folx": by_folx}
    ways = {name: always(way(weighted)) for name, way in known.items()}
    return Subject(ways, network, points, 16)


SUBJECTS = {"Laplacian": _subject(False), "weighted Laplacian": _subject(True)}
