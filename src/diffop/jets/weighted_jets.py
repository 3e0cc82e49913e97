"""Weighted sums of jets' outputs, of which operators consist and which plans transform.

A term w Π_j (v_j·∇)^{p_j} is the output p of the jet x + Σ_j v_j t_j, times w. So a sum of n terms
is n weighted jets with a parameter for each direction. A plan turns these into others that are
cheaper to push.
"""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any, TypeAlias, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..algebra.algebra import Exponents, units
from ..array_types import SquareArray, Weights
from ..arrays import nearest_powers_of_two
from .design import Design
from .directions import Directions, count, divided_directions, largest_entries, rows_at, sum_of
from .point import Point

Addend: TypeAlias = tuple[Hashable, int | float]
"""A part of a sum: the name of the sum, and the part's factor."""


@final
class WeightedJets(eqx.Module):
    """$Σ_r w_r ∂_t^γ u(x_r(t))$ at t = 0, read from n jets
    $x_r(t) = x + Σ_β v_{r,β} t^β / β!$.

    With one tangent of order one this is $Σ_r w_r (v_r·∇)^k$. With a parameter for each of several
    directions, and exponents p for $γ$, it is $Σ_r w_r Π_j (v_{r,j}·∇)^{p_j}$.

    - `tangents`: for each $β$, as exponents, and each argument that moves, n directions
        ([`diffop.jets.Rows`][]).
    - `weights`: `(n,)`, or `(draws, n/draws)` for a sum for each draw.
    - `output`: $γ$.
    - `signature`: for each tangent a name, or None. Equal names belong to equal directions, which
        are pushed once. The largest exponents come first: parameters are in order.
    - `design`: how draws were made, for the standard error; None if the sum is exact.
    - `contracted`: whether each jet's output is contracted with its direction (divergence).
    - `addend`: the name of a sum and a factor, if the value is only added to others of that sum.
    - `matrix`: C through which all directions meet, in $Σ_ij C_ij (v_i·∇)(v_j·∇)$, instead of
        weights.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        (jets,) = do.DiagonalK(3).jets(jnp.ones(5))
        jets.order, jets.size, jets.directions[0].positions  # 3, 5, [[0], …, [4]]
        ```
    """

    tangents: dict[Exponents, Directions]
    weights: Weights
    output: Exponents = eqx.field(static=True)
    signature: tuple[Hashable, ...] = eqx.field(static=True)
    design: Design | None = eqx.field(static=True, default=None)
    contracted: bool = eqx.field(static=True, default=False)
    addend: Addend | None = eqx.field(static=True, default=None)
    matrix: SquareArray | None = None

    @property
    def size(self) -> int:
        """The number n of jets."""
        return count(next(iter(self.tangents.values())))

    @property
    def order(self) -> int:
        """The total order of the output."""
        return sum(self.output)

    @property
    def draws(self) -> int | None:
        """How many draws the jets belong to (n is a multiple, the jets of a draw are adjacent);
        None if the sum is exact.
        """
        return None if self.design is None else sum(stratum.n for stratum in self.design.strata)

    @property
    def directions(self) -> Directions:
        """The directions of jets with one tangent.

        **Raises:** `ValueError` for jets with several.
        """
        if len(self.tangents) > 1:
            raise ValueError(
                f"these jets have {len(self.tangents)} tangents each; read them from `tangents`."
            )
        return next(iter(self.tangents.values()))

    @property
    def slots(self) -> list[Directions]:
        """The directions by tangent, in the order of the signature."""
        return [directions for _, directions in sorted(self.tangents.items(), reverse=True)]

    @property
    def is_multilinear(self) -> bool:
        """Whether every tangent has its own parameter."""
        return all(sum(exponents) == 1 for exponents in self.tangents)


def terms_along(
    slots: Sequence[Directions],
    weights: Weights,
    exponents: Exponents,
    signature: tuple[Hashable, ...] | None = None,
    contracted: bool = False,
) -> WeightedJets:
    """Σ_r w_r Π_j (v_rj·∇)^{p_j}, with a set of n directions for each exponent."""
    tangents = dict(zip(units(len(slots)), slots, strict=True))
    names = (None,) * len(slots) if signature is None else signature
    return WeightedJets(tangents, weights, exponents, names, None, contracted)


def added_up(parts: Sequence[tuple[Any, WeightedJets]], point: Point) -> WeightedJets:
    """Σ_j c_j Σ_r w_jr (v_jr·∇) as one jet, since order one is linear in the direction."""
    directions = sum_of([(c, jets.weights, jets.directions) for c, jets in parts], point)
    return terms_along([directions], np.ones(1), (1,))


def drawn(
    jets: WeightedJets, design: Design, mark: tuple[Hashable, ...] | None, weights: Any = None
) -> WeightedJets:
    """Jets that are draws, times their weights if they have any. Names of tangents include how they
    were drawn; without a mark they become None.
    """
    named = [None if mark is None or name is None else (*mark, name) for name in jets.signature]
    products = jets.weights if weights is None else product_of_weights(jets.weights, weights)
    return dataclasses.replace(  # pyright: ignore
        jets, weights=products, signature=tuple(named), design=design
    )


def product_of_weights(left: Any, right: Any) -> Any:
    """A product of weights; NumPy arrays stay NumPy arrays."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left * right
    arrays = [x for x in (left, right) if not isinstance(x, np.ndarray)]
    dtype = jnp.result_type(*arrays)
    return jnp.asarray(left).astype(dtype) * jnp.asarray(right).astype(dtype)


def take(jets: WeightedJets, index: Any) -> WeightedJets:
    """Some of the terms, by number."""
    slots = [rows_at(slot, index) for slot in jets.slots]
    return terms_along(slots, jets.weights[index], jets.output)


def termwise_product(left: WeightedJets, right: WeightedJets) -> WeightedJets:
    """Term-by-term products of two sums of n terms; drawn as the left one is."""
    slots, names = left.slots + right.slots, left.signature + right.signature
    weights = product_of_weights(left.weights, right.weights)
    product = terms_along(slots, weights, left.output + right.output, names)
    return dataclasses.replace(product, design=left.design)  # pyright: ignore


def outer(left: WeightedJets, right: WeightedJets) -> WeightedJets:
    """The product of two sums of terms: each term of one with each of the other."""
    rows, columns = left.size, right.size
    first, second = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
    return termwise_product(take(left, first), take(right, second))


def power_of(jets: WeightedJets, power: int) -> WeightedJets:
    """The m-th power of a sum of terms: one term for each multiset of m of them, with its
    multinomial coefficient.
    """
    if power == 1:
        return jets
    total = jets.size
    if total == len(jets.slots) == 1:  # (w (v·∇)^p)^m, still along v
        return terms_along(jets.slots, jets.weights**power, (jets.order * power,))
    if power == 2:
        index = np.stack(np.triu_indices(total), axis=1)
        multiplicity = np.where(index[:, 0] == index[:, 1], 1.0, 2.0)
    else:
        index = np.array(list(itertools.combinations_with_replacement(range(total), power)))
        multiplicity = np.array([_multinomial(row) for row in index])
    first, *others = (take(jets, numbers) for numbers in index.T)
    first = eqx.tree_at(
        lambda each: each.weights, first, product_of_weights(multiplicity, first.weights)
    )
    return reduce(termwise_product, others, first)


def _multinomial(row: np.ndarray) -> float:
    repeats = Counter(row.tolist()).values()
    return math.factorial(len(row)) / math.prod(map(math.factorial, repeats))


def balanced(jets: WeightedJets) -> WeightedJets:
    """The same terms with directions of one size; powers of two are moved into the weights.

    A sum a v + b w of directions of different size loses the digits by which they differ. Integer
    directions of coordinates need no balancing.
    """
    weights, slots = jets.weights, []
    for slot, power in zip(jets.slots, jets.output, strict=True):
        sizes = largest_entries(slot)
        scale = None if sizes is None else nearest_powers_of_two(sizes)
        slots.append(slot if scale is None else divided_directions(slot, scale))
        weights = weights if scale is None else product_of_weights(weights, scale**power)
    return terms_along(slots, weights, jets.output, jets.signature)
