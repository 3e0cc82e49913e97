"""Evaluation of terms on a function. All operators, exact or estimated, single or joint, are
evaluated here.

Segments that act on the same function share one push. Derivatives with respect to single
coordinates are planned together. Jets with equal directions are pushed once, with all outputs that
any of them needs. First-order jets without partners are stacked.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from functools import partial, reduce
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .. import taylor
from ..jets.arranged_terms import Derivative
from ..jets.directions import project
from ..jets.fields import Number
from ..jets.point import Point
from ..jets.pushes import Output, Reading, to_push
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from ..jets.weighted_jets import Addend, WeightedJets
from ..precision import full_precision
from ..probes.base import Draw
from ..schemes.expansion import Alpha
from .coefficients import ZERO, coefficient_at, number_of, times_scalar
from .entries import entries_of, entries_taken
from .gradient import gradient
from .inner import InnerFunction
from .nonlocal_draws import nonlocal_value
from .nonlocal_terms import Nonlocal
from .products import coordinate_jets, exact_jets, is_drawn, sampled_jets
from .rewriting import rewritten
from .shapes import check_shapes
from .sharing import carried_by, first_carried, read_from_carried
from .term import Part, Request, Segment, Term, arranged


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
    sums: list[list[PyTree]] = [[] for _ in operators]
    for requests in rewritten(operators, point):
        heads = [head_of(*request) for request in requests]
        found = head_values(heads, inner_function(requests, u, point), point)
        for (position, term, _), (value, _) in zip(requests, found, strict=True):
            sums[position] += [] if value is None else [scaled(value, term, point)]
    return [sum_of_values(each) if each else _zero(u, point) for each in sums]


@final
class Head(NamedTuple):
    """What is pushed for a term: its last segment with its draw, and what part of its operator the
    value is if it is only added up, times a known number.
    """

    segment: Segment
    draw: Draw | None
    addend: Addend | None = None


def head_of(position: int, term: Term, draw: Draw | None) -> Head:
    """The head of a term of the operator with this number."""
    number = term.coefficient.value if isinstance(term.coefficient, Number) else None
    if term.head.functions or not number or not isinstance(number, int | float):
        return Head(term.head, draw)
    return Head(term.head, draw, ((position, term.head.entries), number))


def inner_function(
    requests: Sequence[Request], u: Callable[..., PyTree], point: Point
) -> Callable[..., PyTree]:
    """The function on which the heads of a group of terms act: u, or the rest of their word for u,
    computed as at the point.
    """
    _, term, draw = requests[0]
    if len(term.word) < 2:
        return u
    part = inner_part(term, draw)
    return lambda *args, **kwargs: apply([part], u, Point(args, kwargs, point.chunk, point.plan))


def inner_part(term: Term, draw: Draw | None) -> Part:
    """The rest of a word as an operator; what is applied first has draws of its own."""
    return Part((Term(Number(1), term.word[1:]),), None if draw is None else draw.inner())


def scaled(value: PyTree, term: Term, point: Point) -> PyTree:
    """The derivatives of a term's head, times its functions and the term's coefficient."""
    if term.coefficient == ZERO:
        return jax.tree.map(jnp.zeros_like, value)
    functions = [coefficient_at(c, point) for c in term.head.functions]
    for factor in (number_of(term.coefficient), *functions):
        value = jax.tree.map(lambda leaf, factor=factor: times_scalar(leaf, factor), value)
    return value


def sum_of_values(values: Sequence[PyTree]) -> PyTree:
    """The sum of values of one shape."""
    for value in values[1:]:
        check_shapes("a term", value, "another term of the operator", values[0])
    return reduce(partial(jax.tree.map, sum_of_two), values)


def sum_of_two(left: Array, right: Array) -> Array:
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

    return lambda *args, **kwargs: jax.tree.map(as_floating_leaf, u(*args, **kwargs))


def as_floating_leaf(leaf: Any) -> Array:
    """An integer or a boolean as a floating number; other numbers as they are.

    **Raises:** `TypeError` for a random key.
    """
    array = jnp.asarray(leaf)
    if jnp.issubdtype(array.dtype, jax.dtypes.extended):
        raise TypeError(
            f"u must return arrays of numbers; got one of type {array.dtype} among its values: "
            "return it from another function."
        )
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)


@full_precision()
def head_values(
    heads: Sequence[Head], u: Callable[..., PyTree], point: Point, per_draw: bool = False
) -> list[tuple[PyTree, list[WeightedJets]]]:
    """The value of each head for u at a point, without its coefficient functions, and the jets from
    which it is read: all in one push.

    With `per_draw`, estimated values keep a leading axis of draws, which the caller sums. Heads
    with an addend are only added up, times their numbers, with the others of its name. If the value
    of another head contains one in that proportion, its own value is None.
    """
    u, jets = floating(u), head_jets(heads, point, per_draw)
    pushes, readings = to_push(flattened(jets), point)
    pushed = taylor.Pushed(None, [])
    if pushes or not all(segment.factors for segment, *_ in heads):  # u itself is read
        pushed = taylor.push(partial(u, **point.kwargs), point.args, pushes, point.chunk)
    found = []
    for (segment, draw, _), own in zip(heads, jets, strict=True):
        values = [_read(pushed, each, readings, segment, point) for each in own]
        if values:
            factor = arranged(segment)
            value = values[0] if factor is None else factor.arrange(values, point)
        elif segment.factors:
            value = _without_jets(segment, u, point, draw, per_draw)
        else:
            value = entries_taken(segment.entries, pushed.value, pushed.value)
        found.append((value, flattened([own])))
    return found


def flattened(jets: Iterable[Iterable[list[WeightedJets]]]) -> list[WeightedJets]:
    """All weighted jets of heads."""
    return [each for own in jets for wanted in own for each in wanted]


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


def head_jets(
    heads: Sequence[Head], point: Point, per_draw: bool = False
) -> list[list[list[WeightedJets]]]:
    """The weighted jets of each head, for each value that is read: for each derivative that its
    factor arranges, or for all of it. There are none if it needs no jets (no derivative, a
    gradient, or a factor that sees all of u).

    With `per_draw`, estimated values keep a leading axis of draws, which the caller sums.
    """
    derivatives = [segment.derivatives(point) for segment, *_ in heads]
    started: dict[Hashable, Draw] = {}
    sums: list[list[list[WeightedJets]]] = []
    for (segment, draw, _), alphas in zip(heads, derivatives, strict=True):
        own: list[list[WeightedJets]] = []
        if alphas:
            pass  # planned together below
        elif not segment.factors or not is_drawn(segment.product):
            for factor in segment.factors:
                factor.count(point)  # checks that it fits the point
        elif draw is None:
            own = [exact_jets(segment.product, point)]
        else:
            if draw.identity not in started:
                started[draw.identity] = draw.started
            jets = sampled_jets(segment.product, started[draw.identity], point)
            own = [[_by_draw(each) for each in jets] if per_draw else jets]
        sums.append(own)
    known = flattened(sums)
    carried = carried_by(known, point) if len(heads) > 1 else []
    planned = {}
    if any(derivatives):
        planned = _coordinate_jets(derivatives, first_carried(known, carried), point)
    result = []
    for head, alphas, own in zip(heads, derivatives, sums, strict=True):
        wanted = [planned[alpha] for alpha in alphas] or own
        if carried:
            wanted = [[read_from_carried(each, carried, point) for each in jets] for jets in wanted]
        result.append([[_added(each, head) for each in jets] for jets in wanted])
    return result


def _added(jets: WeightedJets, head: Head) -> WeightedJets:
    """Jets of coordinate derivatives as a part of their operator."""
    if head.addend is None or (head.segment.derivative is None and jets.addend is None):
        return jets
    return dataclasses.replace(jets, addend=head.addend)  # pyright: ignore


def _coordinate_jets(
    derivatives: Iterable[Sequence[Derivative]], carried: Set[Derivative], point: Point
) -> dict[Alpha, list[WeightedJets]]:
    """The jets of coordinate derivatives, planned together unless they are carried by others."""
    different = dict.fromkeys(alpha for each in derivatives for alpha in each)
    apart = [alpha for alpha in different if alpha in carried]
    together = [alpha for alpha in different if alpha not in carried]
    planned: dict[Alpha, list[WeightedJets]] = {}
    for group in (*([alpha] for alpha in apart), together):
        planned |= coordinate_jets(group, point) if group else {}
    return planned


def _by_draw(jets: WeightedJets) -> WeightedJets:
    """The same jets with the weights of each draw in a row."""
    rows = jets.weights if jets.draws is None else jets.weights.reshape(jets.draws, -1)
    return eqx.tree_at(lambda j: j.weights, jets, rows)


def _read(
    pushed: taylor.Pushed,
    wanted: Sequence[WeightedJets],
    readings: Mapping[int, Reading],
    segment: Segment,
    point: Point,
) -> PyTree:
    """Σ_r w_r (output of jet r), for the entries on which the segment acts, from pushed jets; None
    if the reading of others includes it.
    """
    values = []
    for jets in wanted:
        reading = readings[id(jets)]
        for output in reading.outputs:
            outputs = pushed.derivatives[reading.pushed][output.place]
            value = _read_output(outputs, output, pushed, jets, segment, point)
            if output.number != 1:
                value = jax.tree.map(lambda leaf, n=output.number: times_scalar(leaf, n), value)
            values.append(value)
    return sum_of_values(values) if values else None


def _read_output(
    derivatives: PyTree,
    output: Output,
    pushed: taylor.Pushed,
    jets: WeightedJets,
    segment: Segment,
    point: Point,
) -> PyTree:
    outputs = jax.tree.map(lambda leaf: leaf[output.rows], derivatives)
    outputs = entries_taken(segment.entries, outputs, pushed.value)
    if output.summed:
        return outputs
    if jets.contracted:
        outputs = _contract(outputs, jets, segment, point)
    return jax.tree.map(lambda leaf: _weighted_sum(jets.weights, leaf), outputs)


def _weighted_sum(weights: Any, leaf: Array) -> Array:
    """Σ_r w_r c_r, of all jets or of those of each draw."""
    if np.ndim(weights) == 2:
        rows = jnp.asarray(weights).astype(leaf.dtype).reshape(-1, *(1,) * (leaf.ndim - 1))
        return jnp.sum((rows * leaf).reshape(*np.shape(weights), *leaf.shape[1:]), axis=1)
    known = np.flatnonzero(weights) if isinstance(weights, np.ndarray) else []
    if len(known) == 1:  # only one jet is read
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
        count = flat.shape[1]
        advice = " Of some of them: Divergence(…) @ Component((0, 1))." if count > 1 else ""
        if 1 < count < size and dims is None:
            advice = f" In some coordinates: Divergence(dims={tuple(range(count))})."
        raise ValueError(
            f"{segment.text} needs a vector-valued u with one value for each of the {size} "
            f"coordinates of argument {argnum}, or a tensor whose last axis has as many; got "
            f"{count} value(s).{advice}"
        )
    flat = flat.reshape(jets.size, *rows, -1)
    if dims is not None and dims != tuple(range(size)) and flat.shape[-1] == len(dims):
        every = jnp.zeros((jets.size, *rows, size), kind)
        flat = every.at[..., np.asarray(dims)].set(flat, unique_indices=True)
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
