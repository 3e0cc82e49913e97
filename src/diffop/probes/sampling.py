"""Random numbers of terms, at a cost that does not grow with the number of terms."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..array_types import AnyArray, Key, Magnitudes, PerDirection, TermNumbers
from ..jets.design import Stratum, by_size
from ..streams import streams


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
    keys = streams(key, "strata", len(strata))
    numbers = jnp.zeros(sum(stratum.n for stratum in strata), int)
    for these, draws in by_size(strata):
        draw = jax.vmap(partial(subset, n=draws.shape[1]))
        drawn = draw(keys[these], jnp.asarray(sizes[these]))
        numbers = numbers.at[draws].set(drawn + jnp.asarray(starts[these])[:, None])
    return numbers


def uniform(key: Key, total: int, n: int) -> TermNumbers:
    """n independent, uniform numbers from 0 … total − 1."""
    return jax.random.randint(key, (n,), 0, total)


def weighted(key: Key, magnitudes: Magnitudes, n: int) -> tuple[TermNumbers, PerDirection]:
    """n independent numbers with probability p ∝ magnitude, and their 1/p. Zero magnitudes are
    never drawn.

    If all magnitudes vanish, so does every term; the draw is then uniform. No gradient flows into
    p.

    Floating-point cumulative sums of a million weights are not accurate enough: they are spaced as
    the sum is, and a uniform float32 number takes only 2^23 values, so small weights would be drawn
    never, or too often. Here weights are integers W_i, sums are exact, and a number of 128 random
    bits chooses one of the T = Σ_i W_i units. The scale is the power of two that makes the largest
    weight as large as sums below 2^62 allow. Of N weights, those of at least 2^(b − 61) N times the
    largest are exact to the last of their b bits (2^-17 for float32 and a million); smaller ones
    are rounded up to units. 1/p is T/W_i of the integers themselves, so the draw and its divisor
    belong to the same distribution, whatever was rounded. A unit has the probability (1 + ε)/T with
    |ε| < T/2^128 < 2^-66.
    """
    # behind a barrier: otherwise XLA would fold a known cumulative sum while it compiles
    magnitudes = jax.lax.optimization_barrier(jax.lax.stop_gradient(magnitudes))
    largest = jnp.max(magnitudes)
    magnitudes = jnp.where(largest > 0, magnitudes, jnp.ones_like(magnitudes))
    units = integer_weights(magnitudes)
    sums = cumulative(units)
    total = Wide(sums.high[-1], sums.low[-1])
    index = holder(sums, below(jax.random.bits(key, (n, _WORDS), jnp.uint32), total))
    inverse = _as_float(total) / _as_float(Wide(units.high[index], units.low[index]))
    known = jnp.isfinite(largest)  # otherwise there is no distribution
    return index, jnp.where(known, inverse, jnp.nan).astype(_floating(magnitudes.dtype))


_WORDS = 4
"""How many random words of 32 bits a draw uses."""


class Wide(NamedTuple):
    """Integers below 2^64 as two words, for machines that have no 64-bit integers enabled."""

    high: Array
    low: Array


def _floating(dtype: Any) -> Any:
    """The type, with at least single precision."""
    return dtype if jnp.finfo(dtype).bits >= 32 else jnp.float32


def integer_weights(magnitudes: Magnitudes) -> Wide:
    """Weights as integers whose sum is below 2^62; positive weights become at least 1."""
    weights = magnitudes.astype(_floating(magnitudes.dtype))
    _, exponent = jnp.frexp(jnp.max(weights))
    bits = 61 - (weights.shape[0] - 1).bit_length()
    half = -exponent // 2  # in steps, each in the range of exponents: the last is below 2^bits
    one = jnp.ones((), weights.dtype)
    scaled = weights * jnp.ldexp(one, half) * jnp.ldexp(one, -exponent - half) * 2.0**bits
    high = jnp.floor(scaled * 2.0**-32)
    low = scaled - high * 2.0**32  # exact: both are multiples of the last bit of `scaled`
    units = Wide(high.astype(jnp.uint32), _to_word(jnp.ceil(low)))
    small = (weights > 0) & (units.high == 0) & (units.low == 0)
    return Wide(units.high, jnp.where(small, jnp.uint32(1), units.low))


def _to_word(values: Array) -> Array:
    """Whole numbers up to 2^32 as words; 2^32 itself, rounded up, as the word below."""
    upper = jnp.minimum(jnp.floor(values * 2.0**-16), 2.0**16 - 1)
    lower = jnp.minimum(values - upper * 2.0**16, 2.0**16 - 1)
    return (upper.astype(jnp.uint32) << 16) | lower.astype(jnp.uint32)


def cumulative(units: Wide) -> Wide:
    """Cumulative sums. They are computed one after another where that is faster than in parallel
    (for a million, in a quarter of the time).
    """
    return jax.lax.platform_dependent(units, cpu=_one_after_another, default=_in_parallel)


def _one_after_another(units: Wide) -> Wide:
    def step(sums: Wide, unit: Wide) -> tuple[Wide, Wide]:
        sums = _add(sums, unit)
        return sums, sums

    zero = jax.tree.map(lambda words: words[0] - words[0], units)  # varies over devices as they do
    return jax.lax.scan(step, zero, units)[1]


def _in_parallel(units: Wide) -> Wide:
    low = jnp.cumsum(units.low, dtype=jnp.uint32)
    carries = (low < units.low).astype(jnp.uint32)
    return Wide(jnp.cumsum(units.high + carries, dtype=jnp.uint32), low)


def _add(a: Wide, b: Wide) -> Wide:
    """The sum, with carry: a word that overflows is less than the number added to it."""
    low = a.low + b.low
    return Wide(a.high + b.high + (low < b.low).astype(jnp.uint32), low)


def below(words: Array, total: Wide) -> Wide:
    """⌊R total / 2^(32 k)⌋ for the numbers R of k random words each: uniform below the total.

    Long multiplication with digits of 16 bits, whose products fit a word.
    """
    left = _digits([words[:, place] for place in range(words.shape[1])])
    right = _digits([total.low, total.high])
    columns = [jnp.zeros(words.shape[0], jnp.uint32) for _ in range(len(left) + len(right) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            product = a * b
            columns[i + j] += product & 0xFFFF
            columns[i + j + 1] += product >> 16
    carry = jnp.zeros(words.shape[0], jnp.uint32)
    digits = []
    for column in columns:
        column = column + carry
        digits.append(column & 0xFFFF)
        carry = column >> 16
    first, second, third, fourth = digits[len(left) : len(left) + 4]
    return Wide((fourth << 16) | third, (second << 16) | first)


def _digits(words: Sequence[Array]) -> list[Array]:
    """Words, the least first, as digits of 16 bits."""
    return [digit for word in words for digit in (word & 0xFFFF, word >> 16)]


def holder(sums: Wide, numbers: Wide) -> TermNumbers:
    """The first i with number < sum_i, by bisection."""
    size = sums.low.shape[0]

    def halve(_: Any, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        first, last = bounds  # the answer is in first … last
        middle = (first + last) // 2
        high, low = sums.high[middle], sums.low[middle]
        less = (numbers.high < high) | ((numbers.high == high) & (numbers.low < low))
        return jnp.where(less, first, middle + 1), jnp.where(less, middle, last)

    start = jnp.zeros(numbers.low.shape, jnp.int32)
    end = jnp.full(numbers.low.shape, size - 1, jnp.int32)
    return jax.lax.fori_loop(0, size.bit_length(), halve, (start, end))[0]


def _as_float(numbers: Wide) -> Array:
    kind = jnp.result_type(float)
    return numbers.high.astype(kind) * 2.0**32 + numbers.low.astype(kind)
