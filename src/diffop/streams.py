"""Every random stream of the library, by its name.

With JAX's default generator `jax.random.split(key, n)[i]` is `jax.random.fold_in(key, i)`. So keys
that are numbered by hand coincide: the second half of a key is its number 1. Here names replace
numbers, and nothing else in the library divides a key.
"""

import zlib
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from .array_types import AnyArray, Key
from .scalars import described

StreamNumber: TypeAlias = int | np.integer | Integer[Array, ""]
"""The number of one of several streams of a name; an array may be traced."""

VERSION = 2
"""The version of the names: the same seed gives another run in another version. Version 1 had none.
"""


def stream(key: Key, name: str, *numbers: StreamNumber) -> Key:
    """The key of the stream with a name, and with numbers if the name has several streams.

    A checksum of the name is folded in, with `diffop` before it as its domain, then the numbers:

        F(… F(F(key, C("diffop " + name)), w_1) …, w_m),        F = `jax.random.fold_in`.

    For each key F is one-to-one in what is folded in (threefry is a cipher of it). Streams of
    different names have different checksums, which a test compares, and streams of different
    numbers another word. Where they differ first their keys differ, and afterwards they agree only
    by chance, with probability 2^-64. What a user makes of the same key by `split` and `fold_in`
    begins with a number of the user's, and no checksum of the library is a small number.

    A key from which streams are made is not used otherwise, as with `split`. A name stands in one
    place of the library, and always has the same count of numbers if a user receives the key.

    **Arguments:**

    - `key`: the key from which the stream is made.
    - `name`: a word.
    - `numbers`: not negative; numbers in arrays are below 2^32.

    **Returns:** a key.

    **Raises:** `OverflowError` for a negative number; `TypeError` for anything but a key.

    !!! example

        ```python
        import jax
        from diffop.streams import stream

        key = jax.random.key(0)
        points_key, third_key = stream(key, "points"), stream(key, "step", 3)
        ```
    """
    checked_key(key, "a random stream")
    words = [_words(number) for number in numbers]
    several = [len(each) for each in words if len(each) > 1]  # so that no two sequences coincide
    first = _checksum(f"diffop {name}{several or ''}")
    return _folded(key, (first, *(word for each in words for word in each)))


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
    """Compiled as one function of a program, however often it is called."""
    for word in words:
        key = jax.random.fold_in(key, word)
    return key


def _checksum(text: str) -> np.uint32:
    return np.uint32(zlib.crc32(text.encode()))


def _words(number: StreamNumber) -> tuple[Any, ...]:
    """The 32-bit words of a number, the least first."""
    if not isinstance(number, int | np.integer):
        return (jnp.asarray(number).astype(np.uint32),)
    word, rest = int(number) % 2**32, int(number) // 2**32
    if rest < 0:
        raise OverflowError(f"a stream has a number that is not negative, got {number}.")
    return (np.uint32(word), *(_words(rest) if rest else ()))


def checked_key(key: Any, name: str) -> Key:
    """A random key, of the new kind or as its words; `name` is for the error."""
    if not isinstance(key, jax.Array) or not _is_key(key):
        raise TypeError(
            f"{name} needs a JAX random key such as jax.random.key(0); got {described(key)}."
        )
    return key


def _is_key(key: jax.Array) -> bool:
    if is_key_array(key):
        return key.shape == ()
    return key.dtype == jnp.uint32 and key.shape in ((2,), (4,))


def is_key_array(array: Any) -> TypeGuard[Array]:
    """Whether it is an array of random keys."""
    return isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
