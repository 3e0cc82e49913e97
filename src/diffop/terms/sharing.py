"""First derivatives, read from the jets of other derivatives with respect to few coordinates.

Jets along e_1, …, e_n for Σ_i w_i ∂_i^k u carry every ∂_i u, if k > 1. So where Δu is wanted, the
first derivatives are there already, and so is b·∇u = Σ_i b_i ∂_i u. All of these take n + 1
coefficients. With jets of their own they would take up to 2 n + 2.

A divergence reads an entry of each ∂_i u, so its jets carry all of ∂_i u: the curl and the
divergence of u together take n coefficients.

This is for few coordinates. Many directions may be replaced by fewer on the way
(`taylor/replacing/`), after which single derivatives could not be read, and before the last layers
nothing can be added up. One derivative beside a Laplacian in eight dimensions would cost a narrow
network a quarter more.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import jax.numpy as jnp
import numpy as np

from ..jets.arranged_terms import Derivative
from ..jets.directions import Rows
from ..jets.point import Point
from ..jets.weighted_jets import WeightedJets

FEW = 4
"""The number of coordinates up to which derivatives are read in this way."""

COORDINATE = "coordinate"
"""In the name of a coordinate's direction, before the coordinate (argnum, i)."""


@final
class CarriedJets(NamedTuple):
    """Jets that carry all first derivatives with respect to some coordinates of an argument."""

    jets: WeightedJets
    argnum: int
    positions: np.ndarray


def carried_by(wanted: Sequence[WeightedJets], point: Point) -> list[CarriedJets]:
    """What jets carry that are pushed anyway. Nothing if jets are pushed in chunks, which do not
    keep single directions, or by a plan that was asked for.
    """
    if point.chunk is not None or point.plan != "auto":
        return []
    return [found for each in wanted if (found := _carried(each)) is not None]


def first_carried(
    wanted: Sequence[WeightedJets], carried: Sequence[CarriedJets]
) -> set[Derivative]:
    """The derivatives of order one that are carried: by such jets, or with a parameter of their own
    by jets that have several.
    """
    variables = {(each.argnum, i) for each in carried for i in each.positions.tolist()}
    several = [each for each in wanted if len(each.tangents) > 1]
    named = [name for each in several for name in each.signature if isinstance(name, tuple)]
    variables |= {name[1:] for name in named if name[0] == COORDINATE}
    return {((variable, 1),) for variable in variables}


def _carried(jets: WeightedJets) -> CarriedJets | None:
    """What jets of an exact derivative of higher order, or of an exact divergence, carry."""
    known = _known_rows(jets)
    unnamed = jets.signature == (None,)  # `to_push` stacks their first derivatives elsewhere
    carry = jets.contracted if jets.order == 1 else not jets.contracted
    if known is None or unnamed or not carry or jets.size > FEW:
        return None
    argnum, rows = known
    unit = rows.values.shape[1] == 1 and (rows.values == 1).all()
    positions = np.asarray(rows.positions)[:, 0]
    several = np.unique(positions).size < positions.size
    return None if several or not unit else CarriedJets(jets, argnum, positions)


def _known_rows(jets: WeightedJets) -> tuple[int, Rows] | None:
    """The directions of exact jets along known coordinates of one argument."""
    if jets.matrix is not None or jets.design is not None or len(jets.tangents) > 1:
        return None
    ((exponents, directions),) = jets.tangents.items()
    if exponents != (1,) or len(directions) > 1:
        return None
    ((argnum, rows),) = directions.items()
    return (argnum, rows) if rows.known else None


def read_from_carried(
    jets: WeightedJets, carried: Sequence[CarriedJets], point: Point
) -> WeightedJets:
    """The same value, read from what is carried already, if it is a first derivative."""
    plain = jets.output == (1,) and jets.design is None and np.ndim(jets.weights) == 1
    if not plain or jets.contracted or len(jets.directions) > 1:
        return jets
    ((argnum, rows),) = jets.directions.items()
    for each in carried:
        if each.argnum == argnum and _covers(each.positions, rows, point.size(argnum, "u")):
            weights = _along(jets.weights, rows, argnum, point)[each.positions]
            tangents, signature = each.jets.tangents, each.jets.signature
            changes: Any = {"tangents": tangents, "weights": weights, "signature": signature}
            return dataclasses.replace(jets, **changes)  # pyright: ignore
    return jets


def _covers(positions: np.ndarray, rows: Rows, size: int) -> bool:
    """Whether directions have entries at these positions alone."""
    if isinstance(rows.positions, np.ndarray):
        return bool(np.isin(rows.positions, positions).all())
    return positions.size == size


def _along(weights: Any, rows: Rows, argnum: int, point: Point) -> Any:
    """Σ_r w_r v_r."""
    size = point.size(argnum, "u")
    if rows.known and isinstance(weights, np.ndarray):
        total = np.zeros(size)
        np.add.at(total, np.asarray(rows.positions), rows.values * weights[:, None])
        return total
    dense = rows.dense(size, point.dtype(argnum))
    return jnp.asarray(weights).astype(dense.dtype) @ dense
