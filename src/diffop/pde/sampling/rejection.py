"""Rejection sampling: points are drawn until a condition holds."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, PRNGKeyArray

from ...devices import start_of_sum, varying_over
from ...equations.points import Points, at_each, check_arguments
from ...streams import stream
from ...versions import varying_axes

ATTEMPTS = 10_000
TOO_SMALL = (
    f"{ATTEMPTS:,} attempts did not give the points that were asked for: the part of a domain is "
    "empty, or so small that its box has to be drawn closer."
)


@final
class Attempt(NamedTuple):
    """Points, which of them are kept, and whether drawing them went well."""

    points: Points
    kept: Bool[Array, " count"]
    sound: Bool[Array, ""] | bool = True


def accepted(
    key: PRNGKeyArray,
    attempt: Callable[[PRNGKeyArray], Attempt],
    otherwise: str = "",
    too_few: str = TOO_SMALL,
) -> Points:
    """Independent points of a distribution, conditioned on being kept: the first kept point of each
    sequence.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `attempt`: draws as many points as are wanted.
    - `otherwise`: the error message if something is wrong with them.
    - `too_few`: the error message if not enough points are kept.

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

    zeros = start_of_sum(lambda: jax.tree.map(jnp.asarray, attempt(key)))
    # A device goes on until it has its own points, so all that it carries is its own.
    axes = frozenset().union(*map(varying_axes, jax.tree.leaves(zeros)))
    points, kept, unsound = jax.tree.map(lambda leaf: varying_over(leaf, axes), zeros)
    number, found = jnp.zeros((), jnp.int32), jnp.sum(kept, dtype=jnp.int32)
    start = number, found, kept, ~unsound
    (_, found, kept, sound), points = lax.while_loop(lambda c: again(c[0]), body, (start, points))
    points = _checked(points, ~sound, otherwise)
    return _checked(points, sound & (found < kept.size), too_few)


def restricted(
    key: PRNGKeyArray,
    draw: Callable[[PRNGKeyArray], Points],
    where: Callable[..., Bool[Array, ""]],
    too_few: str = TOO_SMALL,
) -> Points:
    """Points at which a function of the point is true.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `draw`: draws as many points as are wanted.
    - `where`: the function.
    - `too_few`: the error message if it is true at too few of them.

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

    return accepted(key, attempt, too_few=too_few)


def _checked(points: Points, wrong: Bool[Array, ""], message: str) -> Points:
    """The points; a runtime error if something is wrong.

    What Equinox returns in place of an array after an error is alike on all devices, and both must
    be of one type. Where devices have their own points, a constant is checked in their place.
    """
    if not varying_axes(wrong):
        return eqx.error_if(points, wrong, message)
    fine = eqx.error_if(jnp.array(True), wrong, message)
    return jax.tree.map(lambda leaf: jnp.where(fine, leaf, jnp.zeros_like(leaf)), points)


def _put(places: Array, points: Array, fresh: Array) -> Array:
    return points.at[places].set(fresh, mode="drop")
