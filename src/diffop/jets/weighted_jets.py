"""Weighted sums of jets' outputs: schemes with directions in the place of their variables."""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, final

import equinox as eqx
import numpy as np

from .._types import Weights
from ..taylor.truncation import Exponents, Truncation
from .block_algebra import balanced
from .cost import shapes
from .design import Design
from .directions import Directions, basis, combine, count, interleave
from .expansion import Alpha, Direction
from .merging import integer_table, merge
from .planner import KINDS, Kind, plan
from .point import Point
from .scheme import Jet, Readout, Scheme
from .terms import Block, times


@final
class WeightedJets(eqx.Module):
    """Σ_r w_r ∂_t^γ u(x_r(t)) at t = 0: what is read of n jets x_r(t) = x + Σ_β v_{r,β} t^β / β!.

    With one tangent of order one that is Σ_r w_r (v_r·∇)^k.

    - `tangents`: for each β, as exponents, and each argument that moves, n structured directions
        (`Sparse` or `Dense` rows).
    - `weights`: `(n,)`.
    - `output`: γ.
    - `draws`: how many draws the jets belong to (n is a multiple, the jets of a draw are adjacent),
        or None where the sum is exact.
    - `signature`: for each tangent a name, or None; equal names belong to equal directions, which
        are pushed once.
    - `design`: how the draws were made, for the standard error.
    - `contracted`: each jet's output is contracted with its direction (divergence).

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
    draws: int | None = eqx.field(static=True, default=None)
    design: Design | None = eqx.field(static=True, default=None)
    contracted: bool = eqx.field(static=True, default=False)

    @property
    def size(self) -> int:
        """The number n of jets."""
        return count(next(iter(self.tangents.values())))

    @property
    def order(self) -> int:
        """The total order of the output."""
        return sum(self.output)

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
    def is_multilinear(self) -> bool:
        """Whether every tangent belongs to a parameter of its own."""
        return all(sum(exponents) == 1 for exponents in self.tangents)


def along_slot(block: Block, draws: int | None = None, contracted: bool = False) -> WeightedJets:
    """The powers (v_r·∇)^k of a block with one slot."""
    return WeightedJets(
        {(1,): block.slots[0]},
        block.weights,
        block.exponents,
        block.signatures,
        draws,
        block.design,
        contracted,
    )


def planned_jets(
    block: Block, point: Point, kind: Kind, draws: int | None = None, merging: bool = False
) -> list[WeightedJets]:
    """The terms Π_j (v_rj·∇)^{p_j} of a block by the plan of their pattern, in which a slot's
    number stands for its direction.

    Second derivatives are read from pairs of directions, which can be replaced on the way through
    u as single directions can. Beyond order two, with `merging`, powers along equal lines become
    one, and are preferred where that makes them fewer than the planned coefficients.
    """
    if isinstance(kind, Scheme):
        raise ValueError(
            "a plan written by hand reads single derivatives of coordinates; for a sum of terms "
            f"choose one of {', '.join(KINDS)}."
        )
    pairs = kind == "auto" and block.order == 2
    jets = _of_pattern(block, "nested" if pairs else kind, point, draws)
    if merging and kind in ("auto", "power") and not pairs:
        (powers,) = _of_pattern(block, "power", point, draws)
        merged = _merged(powers)
        if kind == "power" or _coefficients([merged]) <= _coefficients(jets):
            return [merged]
    return jets


def _coefficients(jets: Sequence[WeightedJets]) -> int:
    """At least so many have to be carried, top sums not counted."""
    return sum(each.size * (len(Truncation.closure([each.output])) - 1) for each in jets)


def _of_pattern(block: Block, kind: str, point: Point, draws: int | None) -> list[WeightedJets]:
    alpha: Alpha = tuple(enumerate(block.exponents))
    scheme = plan((alpha,), kind).scheme
    if any(len(along) > 1 for jet in scheme.jets for _, along in jet.tangents):
        block = balanced(block)
    slots, names = dict(enumerate(block.slots)), dict(enumerate(block.signatures))
    read = read_scheme(scheme, slots, names, block.weights, point)[alpha]
    return [
        dataclasses.replace(jets, draws=draws, design=block.design)  # pyright: ignore
        for jets in read
    ]


def coordinate_jets(
    wanted: Sequence[Alpha], point: Point, kind: Kind
) -> dict[Alpha, list[WeightedJets]]:
    """Derivatives by single coordinates, planned together. A variable is (argnum, coordinate)."""
    if not wanted:
        return {}
    scheme = plan(wanted, kind).scheme
    variables: set[Any] = {v for jet in scheme.jets for _, along in jet.tangents for v, _ in along}
    slots = {v: basis(v[0], np.array([v[1]])) for v in variables}
    names = {v: ("coordinate", *v) for v in variables}
    return read_scheme(scheme, slots, names, np.ones(1), point)


def read_scheme(
    scheme: Scheme,
    slots: Mapping[Any, Directions],
    names: Mapping[Any, Hashable],
    weights: Weights,
    point: Point,
) -> dict[Alpha, list[WeightedJets]]:
    """What has to be read for each derivative of a scheme, where variables are directions and every
    derivative is summed with the same weights. Jets of one shape are stacked: for each term one
    after the other.
    """
    result: dict[Alpha, list[WeightedJets]] = {alpha: [] for alpha in scheme.readouts}
    for (tangents, _), jets in shapes(scheme).items():
        along = [[dict(jet.tangents)[exponents] for jet in jets] for exponents in tangents]
        directions = {
            exponents: interleave([_direction(each, slots, point) for each in column], point)
            for exponents, column in zip(tangents, along, strict=True)
        }
        signature = tuple(_name(column, names) for column in along)
        places = {jet: place for place, jet in enumerate(jets)}
        for alpha, readout in scheme.readouts.items():
            for output, row in _rows(readout, places).items():
                products = times(weights[:, None], row[None, :]).reshape(-1)
                result[alpha].append(WeightedJets(directions, products, output, signature))
    return result


def _rows(readout: Readout, places: Mapping[Jet, int]) -> dict[Exponents, np.ndarray]:
    """For each output that is read, its coefficient for each jet."""
    rows: dict[Exponents, np.ndarray] = {}
    for coefficient, jet, output in readout.terms:
        if jet in places:
            row = rows.setdefault(output, np.zeros(len(places)))
            row[places[jet]] += float(coefficient)
    return rows


def _direction(along: Direction, slots: Mapping[Any, Directions], point: Point) -> Directions:
    if len(along) == 1 and along[0][1] == 1:
        return slots[along[0][0]]
    return combine([a for _, a in along], [slots[v] for v, _ in along], point)


def _name(column: Sequence[Direction], names: Mapping[Any, Hashable]) -> Hashable:
    """A name for the directions of stacked jets, if those of their slots have names."""
    if any(names[variable] is None for along in column for variable, _ in along):
        return None
    if len(column) == 1 and len(column[0]) == 1 and column[0][0][1] == 1:
        return names[column[0][0][0]]
    return tuple(tuple((names[variable], a) for variable, a in along) for along in column)


def _merged(jets: WeightedJets) -> WeightedJets:
    """Equal directions as one, where all of them are known integers."""
    table = integer_table(jets.directions)
    if table is None:
        return jets
    directions, weights = merge(table, jets.weights, jets.order)
    return WeightedJets({(1,): directions}, weights, jets.output, (None,))
