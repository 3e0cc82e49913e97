"""Sines and cosines of small angles, as polynomials.

XLA's own sine is correct for every angle. On a CPU it takes ten times as long as the polynomial
below. It also counts as expensive, so it is not computed again where it is used again, but written
to memory. Taylor's series are enough if angles are bounded:

    sin x     = x − x³/3! + x⁵/5! − …
    1 − cos x = x²/2! − x⁴/4! + x⁶/6! − …

The terms alternate and, for |x| ≤ 2, become smaller from the second on. So the remainder after n
terms is less than the next term, which is x^{2n}/(2n + 1)! of x in the first series, and less of
x²/2 in the second. There are as many terms as make this an eighth of the rounding of x. Derivatives
are stated below, so that derivatives of every order have all their digits. In single precision the
sine is within one unit of its last place for |x| ≤ 1, as XLA's is, and within three for |x| ≤ 2.

Gain, on a CPU: without it, a training step with 100 points in 100,000 dimensions takes 2.3 times as
long.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .seam import better

LARGEST = 2
"""The largest angle, in either direction."""


@jax.custom_jvp
def sine(x: Float[Array, " *shape"]) -> Float[Array, " *shape"]:
    """sin x for |x| ≤ 2."""
    square = x * x
    # x apart, which is exact: the rounded rest is small beside it
    return x - x * (square * _alternating(square, 3, _terms(x.dtype) - 1))


@jax.custom_jvp
def versine(x: Float[Array, " *shape"]) -> Float[Array, " *shape"]:
    """1 − cos x for |x| ≤ 2, with all digits where it is small."""
    square = x * x
    return square * _alternating(square, 2, _terms(x.dtype))


@sine.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return sine(*primals), (1 - versine(*primals)) * tangents[0]


@versine.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return versine(*primals), sine(*primals) * tangents[0]


def _alternating(
    square: Float[Array, " *shape"], first: int, count: int
) -> Float[Array, " *shape"]:
    """1/first! − square/(first + 2)! + square²/(first + 4)! − …, by Horner's rule."""
    total = jnp.zeros_like(square)
    for index in reversed(range(count)):
        total = 1 / math.factorial(first + 2 * index) - square * total
    return total


def _terms(dtype: jnp.dtype) -> int:
    """How many terms of the sine leave out less than an eighth of its rounding."""
    count = 1
    while LARGEST ** (2 * count) / math.factorial(2 * count + 1) > jnp.finfo(dtype).eps / 8:
        count += 1
    return count


better("sine", instead=lambda _, x: sine(x))
better("versine", instead=lambda _, x: versine(x))
