"""What `diffop.choose` has taken the place of, as it was called, for a release."""

from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..array_types import Key
from ..jets.probes import AbstractProbe
from ..streams import stream
from .choice import Choice, Way, choose
from .together import estimate


@final
class Pilot:
    """A function and some points, each argument with a leading axis of them."""

    def __init__(self, u: Callable[..., PyTree], *args: Any, repeats: int = 4) -> None:
        self.u, self.args, self.repeats = u, args, repeats


@final
class Evaluation:
    """A choice with a key."""

    def __init__(self, choice: Choice, key: Key) -> None:
        self._choice, self._key = choice, key

    def __call__(self, u: Callable[..., PyTree]) -> Callable[..., PyTree]:
        """The operators applied to u."""
        return self._choice.estimate(self._key)(u)

    def explain(self) -> Choice:
        """The decision."""
        return self._choice


def evaluate(ops: PyTree, key: Key, n: int, pilot: Pilot | None = None) -> Any:
    """Operators as a pilot says; without one what `diffop.estimate` returns."""
    if pilot is None:
        return estimate(ops, key, n)
    choice = choose(ops, stream(key, "choice"), n, repeats=pilot.repeats)
    return Evaluation(choice(pilot.u)(*pilot.args), key)


def rank_probes(
    op: Any,
    u: Callable[..., PyTree],
    *args: Any,
    jets: int = 16,
    key: Key | None = None,
    probes: Sequence[str | AbstractProbe] | None = None,
) -> list[Way]:
    """Ways by their standard errors at one point, for what so many sparse draws cost."""
    key = jax.random.key(0) if key is None else key
    point = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], args)
    ways = choose(op, key, jets, probes)(u)(*point).ways
    return sorted(ways[1:], key=lambda way: way.standard_error or 0.0)
