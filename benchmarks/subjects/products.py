"""Networks that are products, and their Laplacians written out by hand.

Separable networks (Cho et al., Separable Physics-Informed Neural Networks, 2023) are sums of
products of functions of one coordinate each; Gabor networks (Fathony et al., Multiplicative Filter
Networks, 2021) multiply each layer by a Gaussian times a wave.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, final

import equinox as eqx
import folx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import diffop as do

from .methods import laplacian_by
from .networks import normal_points
from .operators import Subject, always

Point = Float[Array, " d"]
Scalar = Float[Array, ""]


@final
class Separable(eqx.Module):
    """Σ_r Π_i f_ir(x_i), where f_i is an MLP of tanh from one number to all r."""

    factors: eqx.nn.MLP

    def __init__(self, dim: int, rank: int = 40, width: int = 32, hidden: int = 2) -> None:
        @eqx.filter_vmap
        def make(key: jax.Array) -> eqx.nn.MLP:
            return eqx.nn.MLP(1, rank, width, hidden, activation=jnp.tanh, key=key)

        self.factors = make(jax.random.split(jax.random.key(0), dim))

    def __call__(self, x: Point) -> Scalar:
        each = eqx.filter_vmap(lambda f, x: f(x[None]))(self.factors, x)
        return jnp.sum(jnp.prod(each, axis=0))


@final
class Gabor(eqx.Module):
    """z ← (W z + b) ∘ g(x) from layer to layer, where g_k(x) is exp(−γ_k |x − μ_k|²/2) times
    sin(ω_k·x + φ_k), and z = g(x) at first.
    """

    layers: tuple[eqx.nn.Linear, ...]
    waves: tuple[eqx.nn.Linear, ...]
    centres: tuple[Float[Array, "h d"], ...]
    widths: tuple[Float[Array, " h"], ...]

    def __init__(self, dim: int, width: int = 64, filters: int = 3) -> None:
        keys = iter(jax.random.split(jax.random.key(0), 4 * filters))
        sizes = [*[width] * (filters - 1), "scalar"]
        self.layers = tuple(eqx.nn.Linear(width, size, key=next(keys)) for size in sizes)
        self.waves = tuple(eqx.nn.Linear(dim, width, key=next(keys)) for _ in range(filters))
        self.centres = tuple(jax.random.normal(next(keys), (width, dim)) for _ in range(filters))
        self.widths = tuple(
            jax.random.uniform(next(keys), (width,), maxval=1 / dim) for _ in range(filters)
        )

    def __call__(self, x: Point) -> Scalar:
        first, *others = (self.filter(k, x) for k in range(len(self.waves)))
        z = first
        for layer, g in zip(self.layers, others, strict=False):
            z = layer(z) * g
        return self.layers[-1](z)

    def filter(self, k: int, x: Point) -> Float[Array, " h"]:
        """g."""
        square = jnp.sum((x[None] - self.centres[k]) ** 2, axis=1)
        return jnp.exp(-self.widths[k] * square / 2) * jnp.sin(self.waves[k](x))


def separable_by_hand(net: Separable, x: Point) -> Scalar:
    """Along a coordinate only its own factor moves: three numbers of each, then one product."""

    def factor(f: eqx.nn.MLP, x: Scalar) -> tuple[Array, Array]:
        first, *others = f.layers
        z, slope, second = first(x[None]), first.weight[:, 0], jnp.zeros_like(first.weight[:, 0])
        for layer in others:
            a = jnp.tanh(z)
            rate = 1 - a**2
            second = layer.weight @ (rate * (second - 2 * a * slope**2))
            z, slope = layer(a), layer.weight @ (rate * slope)
        return z, second

    values, seconds = eqx.filter_vmap(factor)(net.factors, x)
    product, laplacian = values[0], seconds[0]
    for value, second in zip(values[1:], seconds[1:], strict=True):
        product, laplacian = product * value, laplacian * value + product * second
    return jnp.sum(laplacian)


def gabor_by_hand(net: Gabor, x: Point) -> Scalar:
    """Value, first derivatives and Laplacian of each filter, multiplied from layer to layer."""
    (z, dz, second), *others = (_filter(net, k, x) for k in range(len(net.waves)))
    for layer, (g, dg, lap) in zip(net.layers, others, strict=False):
        z, dz, second = layer(z), layer.weight @ dz, layer.weight @ second
        second = second * g + 2 * jnp.sum(dz * dg, axis=1) + z * lap
        z, dz = z * g, dz * g[:, None] + z[:, None] * dg
    return (net.layers[-1].weight @ second)[0]


def _filter(net: Gabor, k: int, x: Point) -> tuple[Array, Array, Array]:
    """g, ∇g and Δg."""
    apart, rows, rate = x[None] - net.centres[k], net.waves[k].weight, net.widths[k]
    square, phase = jnp.sum(apart**2, axis=1), net.waves[k](x)
    envelope = jnp.exp(-rate * square / 2)
    sine, cosine = (envelope * wave(phase) for wave in (jnp.sin, jnp.cos))
    slopes = cosine[:, None] * rows - (rate * sine)[:, None] * apart
    bend = rate**2 * square - rate * x.size - jnp.sum(rows**2, axis=1)
    return sine, slopes, bend * sine - 2 * cosine * rate * jnp.sum(apart * rows, axis=1)


def _by_folx(net: Any) -> Callable[[Point], Scalar]:
    return lambda x: folx.forward_laplacian(net, 0)(x).laplacian


def _subject(make: Callable[[int], Any], by_hand: Callable[[Any, Point], Scalar]) -> Subject:
    ways = {
        "diffop": do.Laplacian().exact,
        "by hand": lambda net: partial(by_hand, net),
        "folx": _by_folx,
        "nested": laplacian_by("forward-over-reverse"),
    }
    return Subject({name: always(way) for name, way in ways.items()}, make, _points, 256)


def _points(count: int, dim: int) -> jax.Array:
    return normal_points(count, dim) / 2


SUBJECTS = {
    "separable": _subject(Separable, separable_by_hand),
    "Gabor": _subject(Gabor, gabor_by_hand),
}
