"""Terms without replacement in rounds: no round repeats a term of an earlier one.

A random order of m of N terms is drawn once, and round r takes the members r b … (r+1) b − 1 of it.
In a uniformly random order the first k are a draw of k without replacement for every k. So all
rounds together are one such draw, with the standard error of survey sampling: zero after N.
"""

from collections.abc import Sequence
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np

from ..array_types import Key, ScalarArray, TermNumbers
from ..jets.design import Design
from ..jets.point import Point
from ..jets.terms import Factors
from ..streams import stream
from . import sampling
from .by_term import equally_weighted_factor
from .sparse import SparseProbe


@final
class Window(SparseProbe):
    """One round of [`diffop.probes.Sparse`][]: the members of a random order from `start` on. It
    draws independently what `Sparse` draws independently.

    - `orders`: for each number of terms a random order of some of them, as long as all rounds.
    - `start`: where the round begins. Past the end of an order its last members are repeated.
    """

    orders: dict[int, TermNumbers]
    start: ScalarArray
    name: ClassVar[str] = "window"

    def numbers(self, key: Key, total: int, n: int) -> TermNumbers:
        return jax.lax.dynamic_slice_in_dim(self.orders[total], self.start, n)


def is_window(design: Design) -> bool:
    """Whether draws are part of a random order."""
    return isinstance(design.name, tuple) and design.name[0] == Window.name


def orders(
    products: Sequence[Factors], point: Point, key: Key, most: int, batch: int
) -> dict[int, TermNumbers]:
    """A random order for each number of terms among the products that are drawn without
    replacement. It holds at most `most` of the terms, filled up to whole rounds by repetition.
    """
    sets = [equally_weighted_factor(factors, point) for factors in products]
    totals = {terms.numbered(point) for terms in sets if terms is not None}
    return {total: _order(stream(key, "order", total), total, most, batch) for total in totals}


def _order(key: Key, total: int, most: int, batch: int) -> TermNumbers:
    """Floyd's algorithm selects the terms. It does not return them in a random order (the last of
    all terms can only come last), so they are permuted.
    """
    members, arrangement = stream(key, "members"), stream(key, "arrangement")
    size = min(most, total)
    order = jax.random.permutation(arrangement, sampling.subset(members, total, size))
    return order[jnp.asarray(np.arange(-(-size // batch) * batch) % size)]
