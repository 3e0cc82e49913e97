"""Drawing term numbers at a cost that does not grow with the number of terms."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._types import AnyArray, Key, Magnitudes, PerDirection, TermNumbers
from .design import Stratum, by_size


def subset(key: Key, total: int | AnyArray, n: int) -> TermNumbers:
    """n different numbers from 0 … total − 1, every subset equally likely, in O(n log n).

    Floyd's algorithm: for i = 0 … n−1 draw t_i uniformly from 0 … j_i with j_i = total − n + i, and
    take t_i, or j_i if t_i is taken already. Every earlier t_k is in the set (either it was taken,
    or it was there before), and the other members are the j_k that replaced something. So

        replaced_i = (t_i equals an earlier t_k) or (t_i = j_k for a k < i with replaced_k),

    a chain k = t_i − (total − n) of pointers to smaller numbers, followed here by pointer doubling
    instead of a loop.
    """
    first = total - n
    bounds = first + jnp.arange(n)
    draws = jax.random.randint(key, (n,), 0, bounds + 1)
    order = jnp.argsort(draws, stable=True)
    ordered = draws[order]
    repeated = jnp.concatenate([jnp.zeros(1, bool), ordered[1:] == ordered[:-1]])
    replaced = jnp.zeros(n + 1, bool).at[order].set(repeated)
    link = draws - first
    link = jnp.where((link >= 0) & (link < jnp.arange(n)), link, n)
    link = jnp.append(link, n)
    for _ in range(max(1, n.bit_length())):
        replaced = replaced | replaced[link]
        link = link[link]
    return jnp.where(replaced[:n], bounds, draws)


def stratified(key: Key, strata: Sequence[Stratum]) -> TermNumbers:
    """Different numbers from each stratum of neighbours, independent between strata."""
    sizes = np.array([stratum.population for stratum in strata], int)
    starts = np.cumsum(sizes) - sizes
    keys = jax.random.split(key, len(strata))
    numbers = jnp.zeros(sum(stratum.n for stratum in strata), int)
    for these, draws in by_size(strata):
        draw = jax.vmap(partial(subset, n=draws.shape[1]))
        drawn = draw(keys[these], jnp.asarray(sizes[these]))
        numbers = numbers.at[draws].set(drawn + jnp.asarray(starts[these])[:, None])
    return numbers


def uniform(key: Key, total: int, n: int) -> TermNumbers:
    """n independent numbers from 0 … total − 1, all alike."""
    return jax.random.randint(key, (n,), 0, total)


def weighted(key: Key, magnitudes: Magnitudes, n: int) -> tuple[TermNumbers, PerDirection]:
    """n independent numbers with probability p ∝ magnitude, and their 1/p. Zero magnitudes are
    never drawn.

    Where all magnitudes vanish, so does every term: the draw is uniform then. No gradient flows
    into p.
    """
    # behind a barrier: XLA would fold the cumulative sum of known ones while it compiles
    magnitudes = jax.lax.optimization_barrier(jax.lax.stop_gradient(magnitudes))
    magnitudes = jnp.where(jnp.sum(magnitudes) > 0, magnitudes, jnp.ones_like(magnitudes))
    probabilities = magnitudes / jnp.sum(magnitudes)
    index = jax.random.choice(key, magnitudes.shape[0], (n,), p=probabilities)
    return index, 1 / probabilities[index]
