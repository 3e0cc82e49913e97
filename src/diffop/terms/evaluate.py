"""Evaluation of terms on a function. All operators, exact or estimated, single or joint, are
evaluated here.

Segments that act on the same function share one push. Derivatives with respect to single
coordinates are planned together. Jets with equal directions are pushed once, with all outputs that
any of them needs. First-order jets without partners are stacked.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from functools import partial, reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .. import taylor
from ..jets.directions import project
from ..jets.fields import Number
from ..jets.point import Point
from ..jets.pushes import Output, Reading, to_push
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from ..jets.weighted_jets import Addend, WeightedJets
from ..precision import full_precision
from ..probes.base import Draw
from ..schemes.expansion import Alpha
from .arranging import derivatives_of, gathered, written_out
from .coefficients import plain, times, value_at
from .entries import entries_of, taken
from .gradient import gradient
from .inner import InnerFunction
from .nonlocal_draws import nonlocal_value
from .nonlocal_terms import Nonlocal
from .products import coordinate_jets, exact_jets, is_drawn, sampled_jets
from .rewriting import rewritten
from .shapes import check_shapes
from .sharing import carried_by, first_carried, read
from .term import Part, Segment, Term, Word, inner_key


def apply(parts: Sequence[Part], u: Callable[..., PyTree], point: Point) -> PyTree:
    """The sum of all parts, applied to u at a point."""
    (value,) = apply_all([parts], u, point)
    return value


@full_precision()
def apply_all(
    operators: Sequence[Sequence[Part]], u: Callable[..., PyTree], point: Point
) -> list[PyTree]:
    """Several operators, each a list of parts, applied to one function at one point, sharing
    pushes.
    """
    requests = rewritten(operators, point)
    values: list[PyTree] = [None] * len(requests)
    for members, function in by_inner_function(requests, u, point):
        heads = [(requests[i][1].head, requests[i][2]) for i in members]
        addends = [addend_of(*requests[i][:2]) for i in members]
        found = head_values(heads, function, point, addends=addends)
        for i, (value, _) in zip(members, found, strict=True):
            values[i] = None if value is None else scaled(value, requests[i][1], point)
    sums: list[list[PyTree]] = [[] for _ in operators]
    for (position, _, _), value in zip(requests, values, strict=True):
        sums[position] += [] if value is None else [value]
    return [summed(each) if each else _zero(u, point) for each in sums]


def addend_of(position: int, term: Term) -> Addend | None:
    """A term as a part of its operator, if its only factor is a known number."""
    number = plain(term.coefficient)
    if term.head.functions or not isinstance(number, int | float):
        return None
    return (position, term.head.entries), number


def by_inner_function(
    requests: Sequence[tuple[int, Term, Draw | None]], u: Callable[..., PyTree], point: Point
) -> list[tuple[list[int], Callable[..., PyTree]]]:
    """The places of terms whose heads act on the same function: u, or the value of the rest of the
    word for u.
    """
    groups: dict[Hashable, tuple[list[int], Callable[..., PyTree]]] = {}
    for place, (_, term, draw) in enumerate(requests):
        key, function = None, u
        if len(term.word) > 1:
            rest = term.word[1:]
            key = inner_key(term, draw)
            function = inner_function(rest, draw, u, point)
        groups.setdefault(key, ([], function))[0].append(place)
    return list(groups.values())


def inner_function(
    word: Word, draw: Draw | None, u: Callable[..., PyTree], point: Point
) -> Callable[..., PyTree]:
    """The function x ↦ (word u)(x), computed as at the point."""
    part = inner_part(word, draw)
    return lambda *args, **kwargs: apply([part], u, Point(args, kwargs, point.chunk, point.plan))


def inner_part(word: Word, draw: Draw | None) -> Part:
    """The rest of a word as an operator; what is applied first has draws of its own."""
    return Part((Term(Number(1), word),), None if draw is None else draw.inner())


def scaled(value: PyTree, term: Term, point: Point) -> PyTree:
    """The derivatives of a term's head, times its functions and the term's coefficient."""
    functions = [value_at(c, point) for c in term.head.functions]
    for factor in (plain(term.coefficient), *functions):
        value = jax.tree.map(lambda leaf, factor=factor: times(leaf, factor), value)
    return value


def summed(values: Sequence[PyTree]) -> PyTree:
    """The sum of values of one shape."""
    for value in values[1:]:
        check_shapes("a term", value, "another term of the operator", values[0])
    return reduce(partial(jax.tree.map, added), values)


def added(left: Array, right: Array) -> Array:
    """The sum, complex if one of them is."""
    kind = common_kind(left, right)
    return left.astype(kind) + right.astype(kind)


def common_kind(*arrays: Any) -> Any:
    """The common type of all of them."""
    with jax.numpy_dtype_promotion("standard"):
        return jnp.result_type(*arrays)


def _zero(u: Callable[..., PyTree], point: Point) -> PyTree:
    """The value of an operator without terms."""
    return jax.tree.map(jnp.zeros_like, point.value_of(floating(u)))


def floating(u: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """u with its integers and booleans as floating numbers, since values of operators, such as 0.3
    u, are not integers.
    """

    def of(leaf: Any) -> Array:
        array = jnp.asarray(leaf)
        return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)

    return lambda *args, **kwargs: jax.tree.map(of, u(*args, **kwargs))


@full_precision()
def head_values(
    requests: Sequence[tuple[Segment, Draw | None]],
    u: Callable[..., PyTree],
    point: Point,
    per_draw: bool = False,
    addends: Sequence[Addend | None] = (),
) -> list[tuple[PyTree, list[WeightedJets]]]:
    """The value of each segment for u at a point, without its coefficient functions, and the jets
    from which it is read: all in one push.

    With `per_draw`, estimated values keep a leading axis of draws, which the caller sums. Segments
    with an addend are only added up, times their numbers, with the others of its name. If the value
    of another segment contains one in that proportion, its own value is None.
    """
    written, jets = head_jets(requests, point, per_draw, addends)
    values = zip(_values(written, jets, floating(u), point, per_draw), jets, strict=True)
    found = []
    for factor, parts in gathered(requests, list(values), point):
        own = [value for value, _ in parts]
        value = own[0] if factor is None else factor.arrange(own)
        found.append((value, [each for _, wanted in parts for each in wanted or ()]))
    return found


def head_jets(
    requests: Sequence[tuple[Segment, Draw | None]],
    point: Point,
    per_draw: bool = False,
    addends: Sequence[Addend | None] = (),
) -> tuple[list[tuple[Segment, Draw | None]], list[list[WeightedJets] | None]]:
    """The requests with arranged factors written out, and the weighted jets of each."""
    written = written_out(requests, point)
    jets = segment_jets(written, point, per_draw)
    if addends:
        together = zip(requests, gathered(requests, jets, point), addends, strict=True)
        jets = [
            _added(each, addend, segment)
            for (segment, _), (_, own), addend in together
            for each in own
        ]
    return written, jets


def _added(
    wanted: list[WeightedJets] | None, addend: Addend | None, segment: Segment
) -> list[WeightedJets] | None:
    """What is read for a segment as a part of its operator, if it consists of coordinate
    derivatives.
    """
    if wanted is None or addend is None:
        return wanted
    return [
        each
        if segment.derivative is None and each.addend is None
        else dataclasses.replace(each, addend=addend)  # pyright: ignore
        for each in wanted
    ]


def _values(
    requests: Sequence[tuple[Segment, Draw | None]],
    jets: Sequence[list[WeightedJets] | None],
    u: Callable[..., PyTree],
    point: Point,
    per_draw: bool,
) -> list[PyTree]:
    """The values of segments, none of which is arranged."""
    pushes, readings = to_push([each for wanted in jets for each in wanted or ()], point)
    pushed = taylor.push(partial(u, **point.kwargs), point.args, pushes, point.chunk)
    results = []
    for (segment, draw), wanted in zip(requests, jets, strict=True):
        if wanted is not None:
            found = [(each, readings[id(each)]) for each in wanted]
            own = [_read(pushed, *each, segment, point) for each in found if each[1].outputs]
            results.append(summed(own) if own else None)
        elif segment.factors:
            results.append(_without_jets(segment, u, point, draw, per_draw))
        else:
            results.append(taken(segment.entries, pushed.value, pushed.value))
    return results


def _without_jets(
    segment: Segment, u: Callable[..., PyTree], point: Point, draw: Draw | None, per_draw: bool
) -> PyTree:
    (factor,), own = segment.factors, entries_of(u, segment.entries)
    if isinstance(factor, InnerFunction):
        return value_of(factor.operator, own, point)
    if isinstance(factor, Nonlocal):
        return nonlocal_value(factor, own, point, draw, per_draw)
    assert isinstance(factor, GradientTerms)  # only gradients have no jets
    return gradient(own, point, factor)


def value_of(operator: Any, u: Callable[..., PyTree], point: Point) -> PyTree:
    """The exact value of an operator, linear or not, computed from its leaves."""
    values = apply_all([parts for parts, _ in operator.leaves], u, point)
    return operator.combine(values, point)


def segment_jets(
    requests: Sequence[tuple[Segment, Draw | None]], point: Point, per_draw: bool = False
) -> list[list[WeightedJets] | None]:
    """The weighted jets of each segment; None if it needs no jets (no derivative, a gradient, or a
    factor that sees all of u).

    With `per_draw`, estimated values keep a leading axis of draws, which the caller sums.
    """
    derivatives = [derivatives_of(segment, point) for segment, _ in requests]
    started: dict[Hashable, Draw] = {}
    result: list[list[WeightedJets] | None] = []
    for (segment, draw), alphas in zip(requests, derivatives, strict=True):
        if alphas:
            result.append(None)
        elif not segment.factors or not is_drawn(segment.product):
            for factor in segment.factors:
                factor.count(point)  # checks that it fits the point
            result.append(None)
        elif draw is None:
            result.append(exact_jets(segment.product, point, point.plan))
        else:
            if draw.identity not in started:
                started[draw.identity] = draw.started
            jets = sampled_jets(segment.product, started[draw.identity], point, point.plan)
            result.append([_by_draw(each) for each in jets] if per_draw else jets)
    carried = carried_by(result, point) if len(requests) > 1 else []
    planned = {}
    if any(derivatives):
        planned = _coordinate_jets(derivatives, first_carried(result, carried), point)
    every = [
        [each for alpha in alphas for each in planned[alpha]] if alphas else own
        for alphas, own in zip(derivatives, result, strict=True)
    ]
    if not carried:
        return every
    return [own and [read(each, carried, point) for each in own] for own in every]


def _coordinate_jets(
    derivatives: Iterable[Sequence[Alpha]], carried: Set[Alpha], point: Point
) -> dict[Alpha, list[WeightedJets]]:
    """The jets of coordinate derivatives, planned together unless they are carried by others."""
    different = dict.fromkeys(alpha for each in derivatives for alpha in each)
    apart = [alpha for alpha in different if alpha in carried]
    together = [alpha for alpha in different if alpha not in carried]
    planned: dict[Alpha, list[WeightedJets]] = {}
    for group in (*([alpha] for alpha in apart), together):
        planned |= coordinate_jets(group, point, point.plan) if group else {}
    return planned


def _by_draw(jets: WeightedJets) -> WeightedJets:
    """The same jets with a row of weights for each draw."""
    if jets.draws is None:
        return jets
    mask = np.repeat(np.eye(jets.draws), jets.size // jets.draws, axis=1)
    weights = jnp.asarray(jets.weights)
    weights = weights[None, :] * jnp.asarray(mask).astype(weights.dtype)
    return eqx.tree_at(lambda j: j.weights, jets, weights)


def _read(
    pushed: taylor.Pushed, jets: WeightedJets, reading: Reading, segment: Segment, point: Point
) -> PyTree:
    """Σ_r w_r (output of jet r), for the entries on which the segment acts, from pushed jets."""
    derivatives = pushed.derivatives[reading.pushed]
    values = []
    for output in reading.outputs:
        value = _read_output(derivatives[output.place], output, pushed, jets, segment, point)
        if output.number != 1:
            value = jax.tree.map(lambda leaf, n=output.number: times(leaf, n), value)
        values.append(value)
    return summed(values)


def _read_output(
    derivatives: PyTree,
    output: Output,
    pushed: taylor.Pushed,
    jets: WeightedJets,
    segment: Segment,
    point: Point,
) -> PyTree:
    outputs = jax.tree.map(lambda leaf: leaf[output.rows], derivatives)
    outputs = taken(segment.entries, outputs, pushed.value)
    if output.summed:
        return outputs
    if jets.contracted:
        outputs = _contract(outputs, jets, segment, point)
    return jax.tree.map(lambda leaf: _weighted_sum(jets.weights, leaf), outputs)


def _weighted_sum(weights: Any, leaf: Array) -> Array:
    known = np.flatnonzero(weights) if isinstance(weights, np.ndarray) else []
    if len(known) == 1 and np.ndim(weights) == 1:  # only one jet is read
        weight = weights[known[0]]
        return leaf[known[0]] if weight == 1 else leaf[known[0]] * jnp.asarray(weight, leaf.dtype)
    return jnp.tensordot(jnp.asarray(weights).astype(leaf.dtype), leaf, axes=1)


def _contract(outputs: PyTree, jets: WeightedJets, segment: Segment, point: Point) -> Array:
    """v_r · (∂u v_r) for each jet. u returns as many values as the argument has coordinates, or a
    tensor, whose last axes have them.
    """
    (factor,) = segment.factors
    assert isinstance(factor, DivergenceTerms)  # only divergences contract
    argnum, dims = factor.argnum, factor.dims
    leaves = jax.tree.leaves(outputs)
    kind = jnp.result_type(*(leaf.dtype for leaf in leaves))
    flat = jnp.concatenate([leaf.reshape(jets.size, -1).astype(kind) for leaf in leaves], axis=1)
    size = point.size(argnum, segment.text)
    shape = leaves[0].shape[1:] if len(leaves) == 1 else flat.shape[1:]
    rows = _rows(shape, _ends(point, argnum, dims), size, dims)
    if rows is None:
        several = (
            " Of some of them: Divergence(…) @ Component((0, 1))." if flat.shape[1] > 1 else ""
        )
        raise ValueError(
            f"{segment.text} needs a vector-valued u with one value for each of the {size} "
            f"coordinates of argument {argnum}, or a tensor whose last axis has as many; got "
            f"{flat.shape[1]} value(s).{several}"
        )
    flat = flat.reshape(jets.size, *rows, -1)
    if flat.shape[-1] != size:
        flat = jnp.zeros((jets.size, *rows, size), kind).at[..., np.asarray(dims)].set(flat)
    contracted = partial(project, jets.directions, argnum)
    for _ in rows:
        contracted = jax.vmap(contracted, 1, 1)
    return contracted(flat)


def _ends(point: Point, argnum: int, dims: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    """The axes that a vector field has: those of the argument, or one for `dims`."""
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(point.args[argnum])]
    own = shapes if len(shapes) == 1 and shapes[0] else []
    return own if dims is None else [*own, (len(dims),)]


def _rows(
    shape: tuple[int, ...],
    ends: Sequence[tuple[int, ...]],
    size: int,
    dims: tuple[int, ...] | None,
) -> tuple[int, ...] | None:
    """The axes of a tensor before those that are contracted: these are the axes of a vector field,
    or have as many entries as there are coordinates, or `dims`; None if there are none of both.
    """
    for end in ends:
        if shape[-len(end) :] == end:
            return shape[: -len(end)]
    wanted = {size} if dims is None else {size, len(dims)}
    first = (n for n in range(len(shape)) if math.prod(shape[n:]) in wanted)
    return next((shape[:n] for n in first), () if not shape and 1 in wanted else None)
