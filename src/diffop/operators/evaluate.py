"""Evaluating terms on a function: every operator, exact or estimated, alone or with others, comes
through here.

Segments that act on the same function share one push. Derivatives by single coordinates are planned
together. Jets with equal directions are pushed once, with all the outputs that any of them wants;
first-order jets without partners are stacked.
"""

import dataclasses
import zlib
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, PyTree

from .. import taylor
from .._traceback import short_tracebacks
from .._types import Key
from ..jets.directions import project
from ..jets.expansion import Alpha
from ..jets.identity import by_value, is_key_array
from ..jets.point import Point
from ..jets.probes import AbstractProbe
from ..jets.probes.base import Request
from ..jets.products import exact_jets, sampled_jets
from ..jets.pushes import Push, pushes_of
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from ..jets.weighted_jets import WeightedJets, coordinate_jets
from .coefficients import Number, plain, times
from .gradient import gradient
from .nesting import nested
from .product_rule import product_rule
from .term import Segment, Term, Word


@final
class Draw(eqx.Module):
    """A fixed sample of jets: the same whatever function and point it is used on.

    A draw is its key, its n and its probe, wherever it travels. `identity` says what is known of it
    while tracing: equal ones are merged. Draws with traced keys may be equal without that being
    known, as when one estimate enters a jitted function twice; to mark each draw with a static
    number would settle it, and compile anew for every key. So they are compared by `equals` when
    the program runs. Draws of one key that differ in n or in the probe are independent: see
    `stream`.
    """

    key: Key
    n: int = eqx.field(static=True)
    probe: AbstractProbe

    @property
    def identity(self) -> Hashable:
        """Equal for draws that are known to be the same."""
        return (self.n, by_value(self.key), by_value(self.probe))

    def equals(self, other: "Draw") -> Bool[Array, ""] | bool:
        """Whether two draws are the same; traced where it is known at run time only."""
        if self.identity == other.identity:
            return True
        if self.n != other.n or not _comparable(self.probe, other.probe):
            return False
        if not _comparable(self.key, other.key):
            return False
        pairs = zip(jax.tree.leaves(self), jax.tree.leaves(other), strict=True)
        equal = [_equal(*pair) for pair in pairs]
        if any(each is False for each in equal):
            return False
        return jnp.all(jnp.stack([jnp.asarray(each) for each in equal]))

    @property
    def stream(self) -> Key:
        """What random numbers are drawn from. Generators fill arrays of different sizes, or of
        signs and normal numbers, from the same bits, so that n and the probe are folded into the
        key: what its name, its numbers and its arrays are.
        """
        stream = jax.random.fold_in(self.key, zlib.crc32(_description(self.probe).encode()))
        for leaf in jax.tree.leaves(self.probe):
            stream = jax.random.fold_in(stream, _digest(leaf))
        return jax.random.fold_in(stream, self.n % 2**32)

    def inner(self) -> "Draw":
        """An independent draw for the operator that is applied first in a composition."""
        return Draw(jax.random.fold_in(self.key, 1), self.n, self.probe)


@final
class Part(eqx.Module):
    """Terms that are exact (no draw) or share one draw."""

    terms: tuple[Term, ...]
    draw: Draw | None


def _description(probe: AbstractProbe) -> str:
    """A probe's class and those of its settings that are plain, alike in every process."""
    settings = [
        (field.name, value)
        for field in dataclasses.fields(probe)
        if _is_plain(value := getattr(probe, field.name, None))
    ]
    return f"{probe.name} {type(probe).__name__} {settings}"


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _digest(leaf: Any) -> Array:
    """32 bits made of those of an array: a sum of its words, each times an odd number of its
    own.
    """
    array = jax.lax.stop_gradient(jnp.asarray(leaf)).reshape(-1)
    if array.dtype == bool:
        array = array.astype(jnp.uint8)
    words = jax.lax.bitcast_convert_type(array, _WORDS[array.dtype.itemsize]).reshape(-1)
    factors = jnp.arange(words.size, dtype=jnp.uint32) * jnp.uint32(2654435762) + jnp.uint32(1)
    return jnp.sum(words.astype(jnp.uint32) * factors, dtype=jnp.uint32)


_WORDS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint32}


def _comparable(left: Any, right: Any) -> bool:
    """Whether two trees differ in the values of their arrays at most."""
    (first, structure), (second, other) = jax.tree.flatten(left), jax.tree.flatten(right)
    return structure == other and all(
        jnp.shape(a) == jnp.shape(b) and jnp.result_type(a) == jnp.result_type(b)
        for a, b in zip(first, second, strict=True)
    )


def _equal(left: Any, right: Any) -> Array | bool:
    if by_value(left) == by_value(right):
        return True
    if not isinstance(left, Tracer) and not isinstance(right, Tracer):
        return False
    if is_key_array(left):
        left, right = jax.random.key_data(left), jax.random.key_data(right)
    return jnp.all(left == right)


Values: TypeAlias = list[PyTree]


@short_tracebacks
def apply(parts: Sequence[Part], u: Callable[..., PyTree], point: Point) -> PyTree:
    """The sum of all parts, applied to u at a point."""
    (value,) = apply_all([parts], u, point)
    return value


@short_tracebacks
def apply_all(
    operators: Sequence[Sequence[Part]], u: Callable[..., PyTree], point: Point
) -> Values:
    """Several operators, each a list of parts, applied to one function at one point, sharing
    pushes.
    """
    flat = [
        (position, each, part.draw)
        for position, parts in enumerate(operators)
        for part in parts
        for term in part.terms
        for each in product_rule(term, point)
    ]
    contributions = _contributions([(term, draw) for _, term, draw in flat], u, point)
    sums: list[list[PyTree]] = [[] for _ in operators]
    for (position, _, _), value in zip(flat, contributions, strict=True):
        sums[position].append(value)
    return [_add(each) if each else _zero(u, point) for each in sums]


def _contributions(
    requests: Sequence[tuple[Term, Draw | None]], u: Callable[..., PyTree], point: Point
) -> Values:
    """c · (word u)(x) for each term."""
    requests = [
        (term if draw is not None else nested(term, point), draw) for term, draw in requests
    ]
    heads = [term.word[0] if term.word else Segment((), (), ()) for term, _ in requests]
    results: list[PyTree] = [None] * len(requests)
    for members, function in by_inner_function(requests, u, point):
        values = segment_values([(heads[i], requests[i][1]) for i in members], function, point)
        for i, value in zip(members, values, strict=True):
            results[i] = scaled(value, requests[i][0], heads[i], point)
    return results


def by_inner_function(
    requests: Sequence[tuple[Term, Draw | None]], u: Callable[..., PyTree], point: Point
) -> list[tuple[list[int], Callable[..., PyTree]]]:
    """Terms grouped by the function that their first segment acts on: u, or what the rest of the
    word makes of u.
    """
    groups: dict[Hashable, tuple[list[int], Callable[..., PyTree]]] = {}
    for i, (term, draw) in enumerate(requests):
        rest = term.word[1:]
        key = (tuple(segment.key for segment in rest), _known(draw) if rest else None)
        if key not in groups:
            groups[key] = ([], inner_function(rest, draw, u, point) if rest else u)
        groups[key][0].append(i)
    return list(groups.values())


def _known(draw: Draw | None) -> Hashable:
    return None if draw is None else draw.identity


def inner_function(
    word: Word, draw: Draw | None, u: Callable[..., PyTree], point: Point
) -> Callable[..., PyTree]:
    """The function x ↦ (word u)(x), computed as at the point."""
    part = Part((Term(Number(1), word),), None if draw is None else draw.inner())
    return lambda *args, **kwargs: apply([part], u, Point(args, kwargs, point.chunk, point.plan))


def scaled(value: PyTree, term: Term, head: Segment, point: Point) -> PyTree:
    """A segment's derivatives times its functions and the term's coefficient."""
    factors = [plain(term.coefficient), *(_function_value(c, point) for c in head.functions)]
    for factor in factors:
        value = jax.tree.map(lambda leaf, factor=factor: times(leaf, factor), value)
    return value


def _function_value(function: Callable[..., Any], point: Point) -> Array:
    value = jnp.asarray(point.value_of(function))
    if value.shape != ():
        raise ValueError(
            f"a coefficient function must return a scalar at a point; got shape {value.shape}. "
            "Map over points with jax.vmap."
        )
    return value


def _add(values: Sequence[PyTree]) -> PyTree:
    total = values[0]
    for value in values[1:]:
        total = jax.tree.map(added, total, value)
    return total


def added(left: Array, right: Array) -> Array:
    """The sum, complex where one of them is."""
    kind = common_kind(left, right)
    return left.astype(kind) + right.astype(kind)


def common_kind(*arrays: Any) -> Any:
    """The type that holds all of them."""
    with jax.numpy_dtype_promotion("standard"):
        return jnp.result_type(*arrays)


def _zero(u: Callable[..., PyTree], point: Point) -> PyTree:
    """The operator without terms."""
    return jax.tree.map(jnp.zeros_like, point.value_of(floating(u)))


def floating(u: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """u with its integers and booleans as floating numbers: what operators make of u, such as its
    multiple by 0.3, is no integer.
    """

    def of(leaf: Any) -> Array:
        array = jnp.asarray(leaf)
        return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)

    return lambda *args, **kwargs: jax.tree.map(of, u(*args, **kwargs))


def segment_values(
    requests: Sequence[tuple[Segment, Draw | None]],
    u: Callable[..., PyTree],
    point: Point,
    per_draw: bool = False,
) -> Values:
    """The derivatives of each segment at a point, without its coefficient functions, in one push.

    With `per_draw`, what is estimated keeps a leading axis of draws, to be summed by the caller.
    """
    u = floating(u)
    jets = segment_jets(requests, point, per_draw)
    different = {id(each): each for wanted in jets if wanted for each in wanted}
    pushes = pushes_of(list(different.values()), point)
    pushed = taylor.push(
        partial(u, **point.kwargs), point.args, [each.jets(point) for each in pushes], point.chunk
    )
    readouts = {id(j): (i, push) for i, push in enumerate(pushes) for j in push.members}
    results = []
    for (segment, _), wanted in zip(requests, jets, strict=True):
        if wanted is not None:
            found = [(each, *readouts[id(each)]) for each in wanted]
            values = [
                _read(pushed.derivatives[index], push, each, segment, point)
                for each, index, push in found
            ]
            results.append(_add(values))
        elif segment.rank > 0:
            (factor,) = segment.factors
            assert isinstance(factor, GradientTerms)
            results.append(gradient(u, point, factor))
        else:
            results.append(pushed.value)
    return results


def segment_jets(
    requests: Sequence[tuple[Segment, Draw | None]], point: Point, per_draw: bool = False
) -> list[list[WeightedJets] | None]:
    """What is read for each segment; None where it needs no jets (no derivative, or a gradient)."""
    planned = _planned_together([segment for segment, _ in requests], point)
    streams: dict[Hashable, tuple[Key, int]] = {}
    result: list[list[WeightedJets] | None] = []
    for segment, draw in requests:
        factors = list(zip(segment.factors, segment.powers, strict=True))
        if segment.derivative is not None:
            result.append(planned[segment.derivative])
        elif segment.order == 0 or segment.rank > 0:
            result.append(None)
        elif draw is None:
            result.append(exact_jets(factors, point, point.plan))
        else:
            identity = draw.identity
            if identity not in streams:
                streams[identity] = (draw.stream, len(streams))
            stream, tag = streams[identity]
            request = Request(point, stream, draw.n, tag)
            jets = sampled_jets(factors, draw.probe, request, point.plan)
            result.append([_by_draw(each) for each in jets] if per_draw else jets)
    return result


def _planned_together(segments: Sequence[Segment], point: Point) -> dict[Alpha, list[WeightedJets]]:
    """The derivatives by single coordinates among the segments."""
    wanted: dict[Alpha, None] = {}
    for segment in segments:
        if segment.derivative is not None:
            segment.factors[0].count(point)  # the coordinates exist
            wanted[segment.derivative] = None
    return coordinate_jets(list(wanted), point, point.plan)


def _by_draw(jets: WeightedJets) -> WeightedJets:
    """The same jets with a row of weights for each draw."""
    if jets.draws is None:
        return jets
    mask = np.repeat(np.eye(jets.draws), jets.size // jets.draws, axis=1)
    weights = jnp.asarray(jets.weights)
    weights = weights[None, :] * jnp.asarray(mask).astype(weights.dtype)
    return eqx.tree_at(lambda j: j.weights, jets, weights)


def _read(
    derivatives: tuple[PyTree, ...],
    push: Push,
    jets: WeightedJets,
    segment: Segment,
    point: Point,
) -> PyTree:
    """Σ_r w_r (output of jet r) from what was pushed."""
    rows = push.rows(jets)
    outputs = jax.tree.map(lambda leaf: leaf[rows], derivatives[push.place(jets)])
    if any(member is jets for member in push.summed):
        return outputs
    if jets.contracted:
        outputs = _contract(outputs, jets, segment, point)
    return jax.tree.map(lambda leaf: _weighted_sum(jets.weights, leaf), outputs)


def _weighted_sum(weights: Any, leaf: Array) -> Array:
    known = np.flatnonzero(weights) if isinstance(weights, np.ndarray) else []
    if len(known) == 1 and np.ndim(weights) == 1:  # one jet only is read
        weight = weights[known[0]]
        return leaf[known[0]] if weight == 1 else leaf[known[0]] * jnp.asarray(weight, leaf.dtype)
    return jnp.tensordot(jnp.asarray(weights).astype(leaf.dtype), leaf, axes=1)


def _contract(outputs: PyTree, jets: WeightedJets, segment: Segment, point: Point) -> Array:
    """v_r · (∂u v_r) for each jet: u must return as many values as the argument has coordinates."""
    (factor,) = segment.factors
    assert isinstance(factor, DivergenceTerms)  # nothing else contracts
    argnum, dims = factor.argnum, factor.dims
    leaves = jax.tree.leaves(outputs)
    kind = jnp.result_type(*(leaf.dtype for leaf in leaves))
    flat = jnp.concatenate([leaf.reshape(jets.size, -1).astype(kind) for leaf in leaves], axis=1)
    size, got = point.size(argnum, segment.text), flat.shape[1]
    if got != size and dims is not None and got == len(dims):
        flat = jnp.zeros((jets.size, size), kind).at[:, np.asarray(dims)].set(flat)
    elif got != size:
        raise ValueError(
            f"{segment.text} needs a vector-valued u with one value for each of the {size} "
            f"coordinates of argument {argnum}; got {got} value(s)."
        )
    return project(jets.directions, argnum, flat)
