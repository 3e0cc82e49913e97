"""Every random stream of the library, by its name.

With JAX's default generator `jax.random.split(key, n)[i]` is `jax.random.fold_in(key, i)`. Keys
that are numbered by hand therefore meet: the second half of a key is its number 1, whoever counts.
Here a name takes the place of numbers, and nothing else in the library divides a key.
"""

import zlib
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from .array_types import AnyArray, Key

Number: TypeAlias = int | np.integer | Integer[Array, ""]
"""Which one of several streams of a name; an array may be traced."""

VERSION = 2
"""Of the names: the same seed is another run with another version. Version 1 had no names."""


def stream(key: Key, name: str, *numbers: Number) -> Key:
    """The key of the stream that a key has by a name, and by numbers where it has several.

    **How.** For the words $w_1 … w_m$ of 32 bits, folded in one after the other,

        F(… F(F(F(key, D(m)), C(name)), w_1) …, w_m)

    with F = `jax.random.fold_in`, C the checksum CRC-32 of what is told, and the domain D(m) that
    of `diffop` and how many words each number has. A number below 2^32 is one word, a larger one
    that Python knows has more.

    **Why no two are equal.** For each key F is one-to-one in what is folded in: it is a cipher of
    it for threefry. Two streams of a key that differ in how many words there are have other
    domains, two of different names other checksums (a test compares those of all names), and two
    with different numbers another word. Where the first thing that differs is folded in, the keys
    differ, and after it they agree by chance only, with probability 2^-64 for keys of 64 bits. What
    a user makes of the same key by `split` and `fold_in` begins with a number of his own, which
    is a domain, more than 10^8, in no ordinary program; a key that he makes of a stream's key is
    apart from the streams of that key for the same reason.

    **What is left to do.** A key that streams are made of is not used otherwise, as for `split`;
    the numbers of a name are always as many; and a name stands in one place of the library.

    It takes m + 2 evaluations of the generator's `fold_in`. Keys may be of any generator whose
    `fold_in` is as good as threefry's, traced or mapped, or the words of a key.

    **Arguments:**

    - `key`: what the stream is made of.
    - `name`: a word.
    - `numbers`: not negative; those that are arrays are below 2^32.

    **Returns:** a key.

    **Raises:** `OverflowError` for a negative number.

    !!! example

        ```python
        import jax
        from diffop.streams import stream

        key = jax.random.key(0)
        points_key, third_key = stream(key, "points"), stream(key, "step", 3)
        ```
    """
    words = [_words(number) for number in numbers]
    domain = _checksum(f"diffop {[len(each) for each in words]}")
    return _folded(key, (domain, _checksum(name), *(word for each in words for word in each)))


def streams(key: Key, name: str, count: int | tuple[int, ...]) -> AnyArray:
    """`stream(key, name, i)` for i = 0, 1, …

    **Arguments:**

    - `key`, `name`: as for `stream`.
    - `count`: how many, or the shape of the array of keys, which is filled in C order.

    **Returns:** an array of keys.

    !!! example

        ```python
        import jax
        from diffop.streams import streams

        keys = streams(jax.random.key(0), "layers", 3)
        ```
    """
    shape = (count,) if isinstance(count, int) else count
    numbers = jnp.arange(int(np.prod(shape)), dtype=np.uint32).reshape(shape)
    one = partial(stream, key, name)
    for _ in shape:
        one = jax.vmap(one)
    return one(numbers)


@jax.jit
def _folded(key: Key, words: tuple[Any, ...]) -> Key:
    """One function of a program, however often it is called."""
    for word in words:
        key = jax.random.fold_in(key, word)
    return key


def _checksum(text: str) -> np.uint32:
    return np.uint32(zlib.crc32(text.encode()))


def _words(number: Number) -> tuple[Any, ...]:
    """Those of 32 bits, the least first."""
    if not isinstance(number, int | np.integer):
        return (jnp.asarray(number).astype(np.uint32),)
    word, rest = int(number) % 2**32, int(number) // 2**32
    if rest < 0:
        raise OverflowError(f"a stream has a number that is not negative, got {number}.")
    return (np.uint32(word), *(_words(rest) if rest else ()))
