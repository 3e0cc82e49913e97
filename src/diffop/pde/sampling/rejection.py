"""Rejection sampling: points are drawn until a condition holds."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, PRNGKeyArray

from ...equations.points import Points, at_each, check_arguments
from ...streams import stream

ATTEMPTS = 10_000


@final
class Attempt(NamedTuple):
    """Points, which of them are kept, and whether drawing them went well."""

    points: Points
    kept: Bool[Array, " count"]
    sound: Bool[Array, ""] | bool = True


def accepted(
    key: PRNGKeyArray, attempt: Callable[[PRNGKeyArray], Attempt], otherwise: str = ""
) -> Points:
    """Independent points of a distribution, conditioned on being kept: the first kept point of each
    sequence.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `attempt`: draws as many points as are wanted.
    - `otherwise`: the error message if something is wrong with them.

    **Returns:** points.

    **Raises:** a runtime error if 10,000 attempts are not enough, or something is wrong.
    """

    def again(state: tuple[Any, ...]) -> Array:
        number, found, kept, sound = state
        return (number < ATTEMPTS) & (found < kept.size) & sound

    def step(state: tuple[Any, ...], points: Points) -> tuple[Any, ...]:
        number, found, _, sound = state
        fresh, kept, fine = attempt(stream(key, "attempt", number))
        places = jnp.where(kept, found + jnp.cumsum(kept, dtype=found.dtype) - 1, kept.size)
        put = partial(_put, places)
        points = jax.tree.map(put, points, fresh)
        return (number + 1, found + jnp.sum(kept, dtype=found.dtype), kept, sound & fine), points

    def body(carry: tuple[Any, Points]) -> tuple[Any, Points]:
        return step(*carry)

    shapes = jax.eval_shape(attempt, key)
    points = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes.points)
    zero = jnp.zeros((), jnp.int32)
    start = zero, zero, jnp.zeros(shapes.kept.shape, bool), jnp.array(True)
    (_, found, kept, sound), points = lax.while_loop(lambda c: again(c[0]), body, (start, points))
    points = eqx.error_if(points, ~sound, otherwise)
    return eqx.error_if(
        points,
        sound & (found < kept.size),
        f"{ATTEMPTS:,} attempts did not give the points that were asked for: the part of a domain "
        "is empty, or so small that its box has to be drawn closer.",
    )


def restricted(
    key: PRNGKeyArray,
    draw: Callable[[PRNGKeyArray], Points],
    where: Callable[..., Bool[Array, ""]],
) -> Points:
    """Points at which a function of the point is true.

    **Raises:** `ValueError` for a function of other arguments, or that returns anything else.
    """

    def attempt(key: PRNGKeyArray) -> Attempt:
        points = draw(key)
        check_arguments("the function of a part", where, points)
        kept = at_each(where, points)
        if kept.ndim != 1 or kept.dtype != bool:
            raise ValueError(
                "the function of a part must return one truth value for a point; got an array of "
                f"type {kept.dtype} and shape {kept.shape[1:]}."
            )
        return Attempt(points, kept)

    return accepted(key, attempt)


def _put(places: Array, points: Array, fresh: Array) -> Array:
    return points.at[places].set(fresh, mode="drop")
