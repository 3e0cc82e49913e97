"""Equality of operators and of estimates.

Operators are equal if their polynomials are (`canonical`). Estimates are equal if, for every draw,
they draw the same. Terms are grouped by their draw, with one more group for terms that are never
drawn. How terms are drawn depends on how they are written: SecondOrder(C) draws entries with
p ∝ |C_ij|, a Laplacian draws coordinates, even if C is the identity. So within a group of one draw
coefficient arrays are compared as they are, up to a factor, and not written out. Equal estimates
agree on every function at every point. Estimates that are written with other matrices may agree and
still compare as unequal.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from ..jets.field_terms import FactoredForm, MatrixForm
from ..jets.fields import SparseColumns
from ..jets.index_terms import PowerSum
from ..jets.terms import Factor
from ..probes.base import Draw
from .canonical import agree, concrete, function_key, place_of_factor, precision
from .coefficients import number_of
from .products import is_drawn, is_linear
from .term import Part, Segment, Term

Groups: TypeAlias = dict[Hashable, list[Term]]


def same(left: Sequence[Part], right: Sequence[Part]) -> bool:
    """Whether sums of operators and estimates are equal, up to the rounding of coefficients.

    **Raises:** `TypeError` for traced keys or coefficients, whose values are not known.
    """
    first, second = _by_draw(left), _by_draw(right)
    terms = [term for groups in (first, second) for each in groups.values() for term in each]
    tolerance = 8 * precision(terms)
    if not agree(first.pop(None, []), second.pop(None, [])):
        return False
    return all(
        _same_drawn(first.get(draw, []), second.get(draw, []), tolerance)
        for draw in {**first, **second}
    )


def _by_draw(parts: Sequence[Part]) -> Groups:
    """The terms of each draw; under None those that are exact at every point."""
    groups: Groups = {}
    for part in parts:
        for term in part.terms:
            sampled = part.draw is not None and not all(map(_never_drawn, term.word))
            groups.setdefault(_known(part.draw) if sampled else None, []).append(term)
    return groups


def _never_drawn(segment: Segment) -> bool:
    if not is_drawn(segment.product):
        return not segment.all_drawn
    return all(factor.single for factor in segment.factors) or is_linear(segment.product)


def _known(draw: Draw | None) -> Hashable:
    assert draw is not None
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(draw)):
        raise TypeError(
            "estimates with traced keys cannot be compared with ==: their draws are not known "
            "inside jit, grad or vmap. Compare them outside."
        )
    return draw.identity


@final
class _Drawn(NamedTuple):
    """The part of a term that depends on a draw.

    - `name`: equal for terms that differ only in their coefficients.
    - `arrays`: the coefficients of its factors.
    - `is_linear`: whether terms of one name add up with their arrays. Otherwise only terms with
        proportional arrays add up, and arrays are scaled to a largest entry of 1.
    - `scale`: the factor of the arrays.
    """

    name: Hashable
    arrays: tuple[np.ndarray, ...]
    is_linear: bool
    scale: Any


def _same_drawn(left: Sequence[Term], right: Sequence[Term], tolerance: float) -> bool:
    difference = [_drawn(term, 1) for term in left] + [_drawn(term, -1) for term in right]
    return all(_cancel(group, tolerance) for group in _alike(difference, tolerance))


def _alike(drawn: Sequence[_Drawn], tolerance: float) -> list[list[_Drawn]]:
    """Groups of terms that add up."""
    groups: list[list[_Drawn]] = []
    for each in drawn:
        for group in groups:
            if each.name == group[0].name and (
                each.is_linear or _close(each.arrays, group[0].arrays, tolerance)
            ):
                group.append(each)
                break
        else:
            groups.append([each])
    return groups


def _close(left: Sequence[np.ndarray], right: Sequence[np.ndarray], tolerance: float) -> bool:
    return all(
        a.shape == b.shape and bool(np.all(np.abs(a - b) <= tolerance))
        for a, b in zip(left, right, strict=True)
    )


def _cancel(group: Sequence[_Drawn], tolerance: float) -> bool:
    """Whether the sum is zero, up to rounding."""
    if not group[0].is_linear:
        scales = [each.scale for each in group]
        return abs(sum(scales)) <= tolerance * max(map(abs, scales))
    terms = [each.scale * each.arrays[0] for each in group]
    return bool(np.all(np.abs(sum(terms)) <= tolerance * np.max(np.abs(terms), axis=0)))


def _drawn(term: Term, sign: int) -> _Drawn:
    coefficient = sign * concrete(number_of(term.coefficient)).item()
    segments = [_of_segment(segment) for segment in term.word]
    names = tuple((functions, factors) for functions, factors, _, _ in segments)
    arrays = tuple(array for _, _, arrays, _ in segments for array in arrays)
    scale = math.prod((own for *_, own in segments), start=coefficient)
    if len(term.word) == 1 and len(term.word[0].factors) == 1 and term.word[0].powers == (1,):
        (factor,) = term.word[0].factors
        vector = _as_vector(factor)
        if vector is not None:
            place = _coordinates(factor, vector.size)
            return _Drawn(("squares", names[0][0], place), (vector,), True, coefficient)
    return _Drawn(names, arrays, False, scale)


def _as_vector(factor: Factor) -> np.ndarray | None:
    """The coefficients of second derivatives with respect to single coordinates, which are drawn
    with equal probabilities: a draw is linear in them.
    """
    if isinstance(factor, MatrixForm) and factor.equal:
        return concrete(factor.entries).astype(np.float64)
    if isinstance(factor, PowerSum) and factor.power == 2 and factor.dims is not None:
        return np.ones(len(factor.dims))
    return None


def _coordinates(factor: Any, number: int) -> Hashable:
    return (factor.argnum, tuple(range(number)) if factor.dims is None else factor.dims)


def _of_segment(segment: Segment) -> tuple[Hashable, Hashable, list[np.ndarray], Any]:
    """The functions together with the entries, and the factors, as keys without their arrays; the
    arrays; and their scale.
    """
    counted = Counter(map(function_key, segment.functions))
    functions = (frozenset(counted.items()), segment.entries)
    found = [(_of_factor(factor), power) for factor, power in segment.product]
    found.sort(key=lambda each: str(each[0][0]))
    scale = math.prod(own**power for (_, _, own), power in found)
    names = tuple((name, power) for (name, _, _), power in found)
    return functions, names, [array for (_, arrays, _), _ in found for array in arrays], scale


def _of_factor(factor: Factor) -> tuple[Hashable, list[np.ndarray], Any]:
    field = getattr(factor, "field", None)
    if isinstance(field, SparseColumns):
        positions = concrete(field.positions)
        values, scale = _scaled(concrete(field.values))
        key = (_place(factor), positions.shape, positions.tobytes(), field.rows)
    elif eqx.is_array(field):
        values, scale = _scaled(concrete(field))
        key = _place(factor)
    else:
        return (factor.key if field is None else (_place(factor), function_key(field)), [], 1)
    if not isinstance(factor, FactoredForm):
        return (key, [values], scale)
    if factor.weights is None:
        return (key, [values], scale**2)
    weights, own = _scaled(concrete(factor.weights))
    return ((key, "weighted"), [values, weights], scale**2 * own)


def _place(factor: Any) -> Hashable:
    return (place_of_factor(factor), getattr(factor, "equal", None))


def _scaled(array: np.ndarray | Array) -> tuple[np.ndarray, Any]:
    """An array divided by its first entry that is about as large as the largest; and that entry."""
    values = np.asarray(array, np.float64)
    magnitudes = np.abs(values).reshape(-1)
    largest = np.max(magnitudes, initial=0.0)
    if largest == 0:
        return values, 0.0
    scale = values.reshape(-1)[np.flatnonzero(magnitudes >= 0.999 * largest)[0]].item()
    return values / scale, scale
