"""Factors that are read from derivatives with respect to single coordinates, as Hessians are.

Their entries are not sums over directions, so nothing can be drawn. The derivatives are planned
together with all others with respect to single coordinates, and read from the same jets.
"""

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .point import Point
from .terms import Factor, Located

Derivative: TypeAlias = tuple[tuple[tuple[int, int], int], ...]
"""((argnum, coordinate), order), sorted, orders positive."""


def mixed(left: Derivative, right: Derivative) -> Derivative:
    """∂^α ∂^β, as one derivative."""
    orders = dict(left)
    for place, order in right:
        orders[place] = orders.get(place, 0) + order
    return tuple(sorted(orders.items()))


class ArrangedTerms(Factor):
    """A factor as an arrangement of coordinate derivatives, or one of them."""

    constant: ClassVar[bool] = True

    @abstractmethod
    def derivatives(self, point: Point) -> tuple[Derivative, ...]:
        """The derivatives that it arranges."""

    @abstractmethod
    def arrange(self, values: Sequence[PyTree], point: Point) -> PyTree:
        """The value of the factor, from the derivatives in their order."""


@final
class HessianTerms(Located, ArrangedTerms):
    """The matrix of ∂_i∂_j, after u's own axes."""

    exponents: ClassVar[tuple[int, ...]] = (1, 1)
    rank: ClassVar[int] = 2
    number: ClassVar[None] = None

    @property
    def symbol(self) -> str:
        return f"∇∇ᵀ{self.mark}"

    def count(self, point: Point) -> int:
        size = self.dimension(point)
        return size * (size + 1) // 2

    def derivatives(self, point: Point) -> tuple[Derivative, ...]:
        places = sorted((self.argnum, i) for i in self.positions(point).tolist())
        return tuple(
            ((a, 2),) if a == b else ((a, 1), (b, 1))
            for a, b in itertools.combinations_with_replacement(places, 2)
        )

    def arrange(self, values: Sequence[PyTree], point: Point) -> PyTree:
        size = self.dimension(point)
        upper = np.zeros((size, size), np.int32)
        upper[np.triu_indices(size)] = np.arange(len(values))
        order = np.arange(size) if self.dims is None else np.argsort(np.argsort(self.dims))
        places = np.maximum(upper, upper.T)[np.ix_(order, order)].reshape(-1)

        def matrix(*entries: Array) -> Array:
            stacked = jnp.stack([entries[place] for place in places], axis=-1)
            return stacked.reshape(*stacked.shape[:-1], size, size)

        return jax.tree.map(matrix, *values)


@final
class CurlTerms(Located, ArrangedTerms):
    """∂_a u_b − ∂_b u_a of a vector-valued u in two coordinates; in three the vector of these."""

    dims: tuple[int, ...] = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = (1,)
    mixes: ClassVar[bool] = True

    @property
    def rank(self) -> int:
        return len(self.dims) - 3

    @property
    def number(self) -> int:
        return len(self.dims)

    @property
    def symbol(self) -> str:
        return f"curl{self.mark}"

    def derivatives(self, point: Point) -> tuple[Derivative, ...]:
        if self.dims == (0, 1, 2) and point.size(self.argnum, self.symbol) == 2:
            raise ValueError(
                "Curl() is of three coordinates; in the plane write Curl(dims=(0, 1))."
            )
        self.count(point)
        return tuple((((self.argnum, i), 1),) for i in self.dims)

    def arrange(self, values: Sequence[PyTree], point: Point) -> Array:
        size = len(self.dims)
        flat = [jnp.concatenate([jnp.ravel(y) for y in jax.tree.leaves(v)]) for v in values]
        if flat[0].size != size:
            raise ValueError(
                f"{self.symbol} needs a vector-valued u with one value for each of the {size} "
                f"coordinates {', '.join(map(str, self.dims))}; got {flat[0].size} value(s). Of "
                f"some of them: Curl(…) @ Component({tuple(range(size))})."
            )
        if size == 2:
            return flat[0][1] - flat[1][0]
        pairs = [(1, 2), (2, 0), (0, 1)]
        return jnp.stack([flat[a][b] - flat[b][a] for a, b in pairs])
