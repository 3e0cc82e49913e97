"""Derivatives of high order by nested `jax.grad` and `jax.jvp`, one coordinate at a time.

Each function makes, of the letters of the coordinates and of words such as "xxxy", a method whose
values are {word: derivative}.
"""

import functools
from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp

from .methods import Function, Method

Values = dict[str, jax.Array]


def nested_grad(coordinates: str, words: Iterable[str]) -> Method:
    """Reverse over reverse: u_xxxy is the gradient by y of u_xxx, a function that u_xxxx shares."""

    def transform(u: Function) -> Function:
        @functools.cache
        def derivative(word: str) -> Callable[..., jax.Array]:
            if not word:
                return lambda *point: u(jnp.stack(point))
            return jax.grad(derivative(word[:-1]), coordinates.index(word[-1]))

        return lambda x: {word: derivative(word)(*x) for word in words}

    return transform


def nested_jvp(coordinates: str, words: Iterable[str]) -> Method:
    """Forward over forward; each push keeps all that has been found on its way.

    Word by word, as `nested_grad`, it takes half as long again.
    """
    return _chained(lambda u: lambda x: {"": u(x)}, 0, coordinates, words)


def jvp_over_grad(coordinates: str, words: Iterable[str]) -> Method:
    """Forward over one reverse pass, which has u and all its first derivatives."""

    def first(u: Function) -> Callable[[jax.Array], Values]:
        def values(x: jax.Array) -> Values:
            value, gradient = jax.value_and_grad(u)(x)
            return {"": value, **dict(zip(coordinates, gradient, strict=True))}

        return values

    return _chained(first, 1, coordinates, words)


def _chained(
    first: Callable[[Function], Callable[[jax.Array], Values]],
    reach: int,
    coordinates: str,
    words: Iterable[str],
) -> Method:
    """Pushes of `first(u)`, which has the words of length `reach`, one letter at a time.

    Longest words first: what a chain finds on its way is not looked for again.
    """

    def canonical(word: str) -> str:
        return "".join(sorted(word, key=coordinates.index))

    def push(f: Callable[[jax.Array], Values], letter: str) -> Callable[[jax.Array], Values]:
        def values(x: jax.Array) -> Values:
            direction = jnp.zeros_like(x).at[coordinates.index(letter)].set(1)
            known, found = jax.jvp(f, (x,), (direction,))
            return {canonical(word + letter): value for word, value in found.items()} | known

        return values

    def transform(u: Function) -> Function:
        def values(x: jax.Array) -> Values:
            found: Values = {}
            for word in sorted(words, key=len, reverse=True):
                if word not in found:
                    pushed = functools.reduce(push, word[: len(word) - reach], first(u))
                    found |= pushed(x)
            return {word: found[word] for word in words}

        return values

    return transform
