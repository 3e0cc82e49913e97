"""Equations with random parameters, and operands that move with coefficients of every kind.

`EQUATIONS` has a generator for each primitive that structured coefficients may meet. It takes a
generator of random numbers, and returns the shapes of its operands and a function of arrays of
these shapes, and of an integer that is not known while tracing.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diffop import taylor
from diffop.algebra.algebra import Algebra
from diffop.taylor import Blocks
from diffop.taylor.bundle import Bundle, Family
from diffop.taylor.coefficients import Full, Zero
from diffop.taylor.interpreter import interpret
from diffop.taylor.replacing.second_moments import SecondMoment

from ..coefficients.blocks import (
    Rng,
    Shape,
    definition,
    flag,
    number,
    random_blocks,
    random_entries,
    with_other_values,
)
from ..coefficients.windows import windows


def shape_of(rng: Rng, least: int = 0, most: int = 3) -> Shape:
    """Small, but at times with more entries than are compared one by one."""
    shape = [number(rng, 1, 4) for _ in range(number(rng, least, most))]
    if shape and number(rng, 0, 7) == 0:
        shape[number(rng, 0, len(shape) - 1)] = number(rng, 20, 70)
    return tuple(shape)


def some_axes(rng: Rng, shape: Shape, least: int = 0) -> tuple[int, ...]:
    count = number(rng, min(least, len(shape)), len(shape))
    return tuple(int(axis) for axis in rng.permutation(len(shape))[:count])


def alike(function: Callable, count: int) -> Callable:
    """Of operands of one shape."""

    def equation(rng: Rng):
        shape = shape_of(rng)
        return [shape] * count, lambda *operands: function(*operands[:-1])

    return equation


def with_ones(function: Callable) -> Callable:
    """Of operands of one shape but for axes of size one in either, as in outer products."""

    def equation(rng: Rng):
        shape = tuple(number(rng, 1, 4) for _ in range(number(rng, 1, 3)))
        shapes = [tuple(1 if flag(rng) else size for size in shape) for _ in range(2)]
        return shapes, lambda x, y, i: function(x, y)

    return equation


def unary(function: Callable) -> Callable:
    return alike(function, 1)


def dot_general(batches: int, contracted: int, left: int, right: int) -> Callable:
    """So many axes of a batch, contracted and free ones, in any order, some of size one."""

    def equation(rng: Rng):
        batch, contract = ([number(rng, 1, 3) for _ in range(n)] for n in (batches, contracted))
        shapes, contracts, batched = [], [], []
        for count in (left, right):
            sizes = [*batch, *contract, *(number(rng, 1, 3) for _ in range(count))]
            order = rng.permutation(len(sizes))
            shapes.append(tuple(sizes[k] for k in order))
            place = {int(k): axis for axis, k in enumerate(order)}
            batched.append(tuple(place[k] for k in range(batches)))
            contracts.append(tuple(place[batches + k] for k in range(contracted)))
        numbers = (tuple(contracts), tuple(batched))
        if shapes[0] == shapes[1] and number(rng, 0, 3) == 0:
            return shapes[:1], lambda x, i: lax.dot_general(x, x, numbers)
        return shapes, lambda x, y, i: lax.dot_general(x, y, numbers)

    return equation


AXES = ["1000", "0100", "1100", "2000", "0200", "1200", "0110", "0101", "1101", "1110", "2111"]
AXES += ["0011", "1010", "1001", "0122", "1111", "0001"]
"""Numbers of axes of products: of a batch, contracted, free in either operand."""


def convolution(rng: Rng):
    """Strides, padding, dilations, groups, and axes in any order."""
    spatial = number(rng, 1, 2)
    groups = [(1, 1), (1, 1), (2, 1), (1, 2)][number(rng, 0, 3)]
    features, batches = groups
    batch, channels = batches * number(rng, 1, 2), number(rng, 1, 2)
    out = features * batches * number(rng, 1, 2)
    dilated = flag(rng)
    pick = lambda most: [number(rng, 1, most) for _ in range(spatial)]
    window, strides = pick(3), pick(3)
    lhs, rhs = (pick(2) if dilated else [1] * spatial for _ in range(2))
    size = [number(rng, 3, 5) for _ in range(spatial)]
    padding = [(number(rng, -1, 2), number(rng, 0, 2)) for _ in range(spatial)]
    for k in range(spatial):  # the window fits
        reached = (size[k] - 1) * lhs[k] + 1 + sum(padding[k])
        missing = (window[k] - 1) * rhs[k] + 1 - reached
        padding[k] = (padding[k][0], padding[k][1] + max(0, missing))
    specs = [tuple(int(k) for k in rng.permutation(2 + spatial)) for _ in range(3)]
    numbers = lax.ConvDimensionNumbers(*specs)

    def laid_out(sizes: Sequence[int], spec: tuple[int, ...]) -> Shape:
        shape = [0] * len(sizes)
        for axis, each in zip(spec, sizes, strict=True):
            shape[axis] = each
        return tuple(shape)

    shapes = [
        laid_out([batch, channels * features, *size], specs[0]),
        laid_out([out, channels, *window], specs[1]),
    ]

    def function(x, kernel, i):
        return lax.conv_general_dilated(
            *(x, kernel, strides, padding, lhs, rhs, numbers),
            feature_group_count=features,
            batch_group_count=batches,
        )

    return shapes, function


def reshape(rng: Rng):
    shape = shape_of(rng)
    after = [shape, (math.prod(shape),), (1, *shape), shape[::-1], (*shape, 1, 1)]
    chosen = after[number(rng, 0, 4)]
    return [shape], lambda x, i: lax.reshape(x, chosen)


def squeeze(rng: Rng):
    shape = tuple(1 if flag(rng) else size for size in shape_of(rng, 1))
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1 and flag(rng))
    return [shape], lambda x, i: lax.squeeze(x, axes)


def transpose(rng: Rng):
    shape = shape_of(rng)
    order = tuple(map(int, rng.permutation(len(shape))))
    return [shape], lambda x, i: lax.transpose(x, order)


def rev(rng: Rng):
    shape = shape_of(rng)
    axes = some_axes(rng, shape)
    return [shape], lambda x, i: lax.rev(x, axes)


def slice_(rng: Rng):
    shape = shape_of(rng)
    starts = [number(rng, 0, size - 1) for size in shape]
    stops = [number(rng, start, size) for start, size in zip(starts, shape, strict=True)]
    strides = [number(rng, 1, 3) for _ in shape] if flag(rng) else None
    return [shape], lambda x, i: lax.slice(x, starts, stops, strides)


def pad(rng: Rng):
    shape = shape_of(rng)
    config = [(number(rng, -1, 2), number(rng, -1, 2), number(rng, 0, 2)) for _ in shape]
    config = [(a, max(b, -a - size + 1), n) for (a, b, n), size in zip(config, shape, strict=True)]
    if flag(rng):
        return [shape], lambda x, i: lax.pad(x, jnp.ones((), x.dtype), config)
    return [shape, ()], lambda x, y, i: lax.pad(x, y, config)


def broadcast_in_dim(rng: Rng):
    shape = shape_of(rng, 0, 2)
    after, axes = [number(rng, 1, 3) for _ in range(len(shape) + number(rng, 0, 2))], []
    axes = sorted(map(int, rng.permutation(len(after))[: len(shape)]))
    shape = tuple(1 if flag(rng) else size for size in shape)
    for axis, size in zip(axes, shape, strict=True):
        after[axis] = size if size > 1 else after[axis]
    return [shape], lambda x, i: lax.broadcast_in_dim(x, tuple(after), axes)


def concatenate(rng: Rng):
    shape = shape_of(rng, 1)
    axis = number(rng, 0, len(shape) - 1)
    sizes = [number(rng, 0, 3) for _ in range(number(rng, 1, 3))]
    shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    return shapes, lambda *operands: lax.concatenate(operands[:-1], axis)


def twice_concatenated(rng: Rng):
    """Halves of what one array was put together from twice: equal entries at other places."""
    shape = shape_of(rng, 1)
    axis, half = number(rng, 0, len(shape) - 1), None
    half = shape[axis]
    how = [lax.mul, lax.add, lax.sub][number(rng, 0, 2)]

    def function(x, i):
        both = lax.concatenate([x, x], axis)
        first, second = (lax.slice_in_dim(both, k * half, (k + 1) * half, 1, axis) for k in (0, 1))
        return how(first, second)

    return [shape], function


def copies_multiplied(rng: Rng):
    """Slices of a broadcast array: products along an axis of copies."""
    shape, copies = shape_of(rng, 0, 2), number(rng, 2, 3)
    axis = number(rng, 0, len(shape))
    how = [jnp.prod, jnp.sum, jnp.cumprod][number(rng, 0, 2)]

    def function(x, i):
        after = (*shape[:axis], copies, *shape[axis:])
        many = jnp.broadcast_to(jnp.expand_dims(x, axis), after)
        rows = [lax.index_in_dim(many, k, axis, keepdims=False) for k in range(copies)]
        return how(many, axis=axis), rows[0] * rows[1], (rows[0] + rows[-1]) ** 2

    return [shape], function


def split(rng: Rng):
    shape = shape_of(rng, 1)
    axis = number(rng, 0, len(shape) - 1)
    first = number(rng, 0, shape[axis])
    return [shape], lambda x, i: lax.split(x, (first, shape[axis] - first), axis)


def dynamic_slice(rng: Rng):
    shape = shape_of(rng, 1)
    sizes = [number(rng, 1, size) for size in shape]
    starts, known = [number(rng, -2, 5) for _ in shape], flag(rng)
    at = lambda i: [start if known else start + 0 * i for start in starts]
    return [shape], lambda x, i: lax.dynamic_slice(x, at(i), sizes)


def dynamic_update_slice(rng: Rng):
    shape = shape_of(rng, 1)
    part = tuple(number(rng, 1, size) for size in shape)
    starts, known = [number(rng, -2, 5) for _ in shape], flag(rng)
    at = lambda i: [start if known else start + 0 * i for start in starts]
    return [shape, part], lambda x, y, i: lax.dynamic_update_slice(x, y, at(i))


def gather(rng: Rng):
    found = windows(rng, shape_of(rng, 1))
    mode, indices = found.with_mode(rng)
    fill, known = [None, 0.0, 5.0][number(rng, 0, 2)], flag(rng)

    def function(x, i):
        at = indices if known else jnp.asarray(indices) + 0 * i
        each = lax.gather(x, at, found.gathering, found.sizes, mode=mode, fill_value=fill)
        return jnp.where(jnp.isnan(each), jnp.ones_like(each), each)

    return [found.shape], function


def scatter(how: Callable) -> Callable:
    def equation(rng: Rng):
        found = windows(rng, shape_of(rng, 1))
        mode, indices = found.with_mode(rng)
        known = flag(rng)
        at = lambda i: indices if known else jnp.asarray(indices) + 0 * i
        function = lambda x, y, i: how(x, at(i), y, found.scattering, mode=mode)
        return [found.shape, found.whole], function

    return equation


def select_n(rng: Rng):
    shape, count, known = shape_of(rng), number(rng, 2, 3), flag(rng)
    which = rng.integers(0, count, size=() if flag(rng) else shape).astype(np.int32)

    def function(*operands):
        *cases, i = operands
        chosen = jnp.asarray(which) if known else jnp.asarray(which) + 0 * i
        return lax.select_n(chosen == 1 if count == 2 else chosen, *cases)

    return [shape] * count, function


def reduction(function: Callable) -> Callable:
    def equation(rng: Rng):
        shape = shape_of(rng, 1)
        axes = some_axes(rng, shape)
        return [shape], lambda x, i: function(x, axis=axes)

    return equation


def cumulative(function: Callable) -> Callable:
    def equation(rng: Rng):
        shape, reverse = shape_of(rng, 1), flag(rng)
        axis = number(rng, 0, len(shape) - 1)
        return [shape], lambda x, i: function(x, axis=axis, reverse=reverse)

    return equation


def window(function: Callable, initial: float) -> Callable:
    def equation(rng: Rng):
        shape = shape_of(rng, 1)
        pick = lambda most: tuple(number(rng, 1, most) for _ in shape)
        sizes, strides, dilations = pick(3), pick(2), pick(2)
        padding = [(number(rng, 0, n), n) for n in sizes]
        known = [((n - 1) * d + 1, p, s) for n, d, p, s in zip(sizes, dilations, padding, shape)]
        padding = [(low, max(high, reach - low - size)) for reach, (low, high), size in known]

        def reduced(x, i):
            return lax.reduce_window(
                x, initial, function, sizes, strides, padding, window_dilation=dilations
            )

        return [shape], reduced

    return equation


def sort(rng: Rng):
    shape = shape_of(rng, 1)
    axis, keys = number(rng, 0, len(shape) - 1), number(rng, 1, 2)
    return [shape] * 2, lambda x, y, i: lax.sort((x, y), dimension=axis, num_keys=keys)


def top_k(rng: Rng):
    shape = shape_of(rng, 1)
    k = number(rng, 1, shape[-1])
    return [shape], lambda x, i: lax.top_k(x, k)[0]


def triangular_solve(rng: Rng):
    size, columns, lower, left = number(rng, 1, 3), number(rng, 1, 3), flag(rng), flag(rng)
    rhs = (size, columns) if left else (columns, size)
    options = {"left_side": left, "lower": lower, "transpose_a": flag(rng)}
    solve = lambda a, b, i: lax.linalg.triangular_solve(a, b, **options)
    return [(size, size), rhs], solve


def cond(rng: Rng):
    """Branches that leave entries where they are, move, multiply and drop them."""
    shape = shape_of(rng, 1)
    every = [
        lambda x, y: (x, y),
        lambda x, y: (jnp.flip(x), x * y),
        lambda x, y: (x * y, jnp.ones_like(x)),
        lambda x, y: (jnp.roll(y, 1, 0), jnp.sin(x)),
        lambda x, y: (jnp.zeros_like(x), jnp.cumsum(y, 0)),
    ]
    chosen = [every[k] for k in rng.permutation(len(every))[: number(rng, 2, 3)]]
    place = number(rng, 0, len(chosen) - 1)
    joined = lambda x, y, i: lax.switch(place + 0 * i, chosen, x, y)
    return [shape] * 2, lambda x, y, i: (lambda p, q: (p, q, p * q))(*joined(x, y, i))


def scan(rng: Rng):
    rows, reverse = shape_of(rng, 1, 2), flag(rng)
    step = lambda carry, row: (carry * row + jnp.flip(carry), jnp.sin(row) * carry)
    return [rows, rows[1:] or (1,)], lambda x, y, i: lax.scan(
        step, y, x.reshape(len(x), *(rows[1:] or (1,))), reverse=reverse
    )


@jax.custom_jvp
def declared(x, y):
    return x * jnp.sin(y)


@declared.defjvp
def _(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return declared(x, y), dx * jnp.sin(y) + x * jnp.cos(y) * dy


def stacked(rng: Rng):
    shape, count = shape_of(rng), number(rng, 1, 3)
    axis = number(rng, 0, len(shape))
    return [shape] * count, lambda *operands: jnp.stack(operands[:-1], axis)


def fft(rng: Rng):
    shape = shape_of(rng, 1)
    return [shape], lambda x, i: jnp.fft.rfft(x)


EQUATIONS: dict[str, Callable[[Rng], tuple[Sequence[Shape], Callable]]] = {
    **{f.__name__: alike(f, 2) for f in (lax.add, lax.sub, lax.mul, lax.div, lax.pow)},
    **{f.__name__: alike(f, 2) for f in (lax.max, lax.atan2, lax.complex, jnp.logaddexp)},
    **{f"{f.__name__}_with_ones": with_ones(f) for f in (jnp.add, jnp.multiply, jnp.true_divide)},
    **{f"{f.__name__}_with_ones": with_ones(f) for f in (jnp.power, jnp.arctan2, jnp.maximum)},
    **{f.__name__: unary(f) for f in (lax.neg, lax.sin, lax.tanh, lax.log, lax.sqrt, lax.exp)},
    **{f.__name__: unary(f) for f in (lax.square, lax.logistic, lax.abs, lax.erf, lax.conj)},
    "mul_by_itself": unary(lambda x: x * x),
    "mul_by_a_number": unary(lambda x: 2.5 * x),
    "div_by_a_number": unary(lambda x: x / 2.5),
    "one_over": unary(lambda x: 1.0 / x),
    "integer_pow": unary(lambda x: x**3),
    "convert": unary(lambda x: x.astype(jnp.complex128)),
    "reduce_precision": unary(lambda x: lax.reduce_precision(x, 11, 52)),
    "real": unary(lambda x: jnp.real(lax.complex(x, x) * 1j)),
    "clamp": alike(lambda x, y: lax.clamp(0.5, x, 1.1) * y, 2),
    "custom_jvp": alike(declared, 2),
    "remat": alike(jax.checkpoint(lambda x, y: jnp.sin(x * y) * y), 2),
    **{f"dot_general_{axes}": dot_general(*map(int, axes)) for axes in AXES},
    "conv_general_dilated": convolution,
    "slice": slice_,
    **{f.__name__: f for f in (reshape, squeeze, transpose, rev, pad, broadcast_in_dim)},
    **{f.__name__: f for f in (concatenate, twice_concatenated, copies_multiplied, split, stacked)},
    **{f.__name__: f for f in (dynamic_slice, dynamic_update_slice, gather, select_n)},
    "scatter": scatter(lax.scatter),
    "scatter_add": scatter(lax.scatter_add),
    "scatter_sub": scatter(lax.scatter_sub),
    "scatter_max": scatter(lax.scatter_max),
    "reduce_sum": reduction(jnp.sum),
    "reduce_max": reduction(jnp.max),
    "reduce_prod": reduction(jnp.prod),
    **{f.__name__: cumulative(f) for f in (lax.cumsum, lax.cumprod, lax.cummax)},
    "cumlogsumexp": cumulative(lax.cumlogsumexp),
    "reduce_window_sum": window(lax.add, 0.0),
    "reduce_window_max": window(lax.max, -np.inf),
    **{f.__name__: f for f in (sort, top_k, triangular_solve, cond, scan, fft)},
}


class Coefficients(NamedTuple):
    """A coefficient, and the array that it is by its definition."""

    structured: Any
    twin: Full | Zero


def _made(rng: Rng, shape: Shape, count: int, pool: dict[Any, Any], kind: str) -> Coefficients:
    """Blocks of a kind, at times at the places of another operand's."""
    key = kind, shape, count
    if key not in pool or flag(rng):
        pool[key] = _new(rng, shape, count, pool["known"], kind)
    else:
        parts = [with_other_values(rng, part) for part in pool[key].parts]
        pool[key] = Blocks(tuple(parts), pool[key].shape)
    c = pool[key]
    return Coefficients(c, Full(jnp.asarray(definition(c))))


def _new(rng: Rng, shape: Shape, count: int, known: bool, kind: str) -> Blocks:
    if kind == "blocks":
        return random_blocks(rng, shape, count, known)
    if count == math.prod(shape) and flag(rng):
        return taylor.basis(shape)
    return random_entries(rng, shape, count, known)


def _full(rng: Rng, shape: Shape, lead: Shape) -> Coefficients:
    factor, base = float(rng.choice([1.0, 3.0])), rng.normal(size=(*lead, *shape))
    return Coefficients(Full(jnp.asarray(base), factor), Full(jnp.asarray(factor * base)))


KINDS = ("entries", "blocks", "full")


def _lower(rng: Rng, shape: Shape, count: int, pool: dict[Any, Any], kind: str) -> Coefficients:
    """A coefficient held jet by jet."""
    if kind in ("entries", "blocks"):
        return _made(rng, shape, count, pool, kind)
    return _full(rng, shape, (count,)) if kind == "full" else Coefficients(Zero(), Zero())


def _any_kind(rng: Rng) -> str:
    return str(rng.choice([*KINDS, "zero"]))


def _top(rng: Rng, family: Family, shape: Shape, place: int, pool: dict[Any, Any]) -> Coefficients:
    """A coefficient of a maximal monomial: a sum over directions, if these are collapsed."""
    lead = family.lead_shape(place)
    if flag(rng):
        return Coefficients(Zero(), Zero())
    if family.weights is None and family.moment is None:
        return _lower(rng, shape, lead[0], pool, _any_kind(rng))
    if flag(rng):
        blocks, twin = _made(rng, shape, math.prod(lead), pool, "blocks")
        return Coefficients(blocks, Full(twin.array.reshape(*lead, *shape)))
    return _full(rng, shape, lead)


def family_of(rng: Rng, shapes: Sequence[Shape]) -> Family:
    """Curves of order two or three: kept apart, collapsed, with a second moment, or pairs."""
    sizes = [math.prod(shape) for shape in shapes]
    count = number(rng, 1, 4) if flag(rng) else max(1, int(rng.choice(sizes)))
    kind = number(rng, 0, 5)
    if kind == 5:
        weights = rng.normal(size=(2, count) if flag(rng) else count)
        return Family(weights, Algebra.closure([(1, 1)]), count)
    if kind == 4:
        counts = [count, number(rng, 1, 3)]
        sums = (2,) if flag(rng) else ()
        square = lambda n: (lambda m: m + np.swapaxes(m, -1, -2))(rng.normal(size=(*sums, n, n)))
        own: list[Any] = [jnp.asarray(square(n)) for n in counts]
        if flag(rng):
            own[0] = jnp.asarray(rng.normal(size=(*sums, counts[0])))
        beside = jnp.asarray(rng.normal(size=(*sums, *counts))) if flag(rng) else None
        moment = SecondMoment(((own[0], beside), (own[1],)), tuple(counts), sums)
        return Family.by_moment(moment)
    every: list[Any] = [None, np.ones(count), rng.normal(size=count), rng.normal(size=(2, count))]
    return Family(every[kind], Algebra.curve(number(rng, 2, 3)), count)


def operand(
    rng: Rng, family: Family, shape: Shape, pool: dict[Any, Any], kind: str
) -> list[Bundle]:
    """A value that moves along coefficients, of a kind at the first order, and its twin."""
    series = []
    for place in family.places:
        if family.is_top(place):
            series.append(_top(rng, family, shape, place, pool))
        else:
            (count,) = family.lead_shape(place)
            own = _any_kind(rng) if place else kind
            series.append(_lower(rng, shape, count, pool, own))
    primal = jnp.asarray(rng.uniform(0.3, 1.5, shape))
    return [Bundle(primal, (tuple(each),)) for each in zip(*series, strict=True)]


class Case(NamedTuple):
    """An equation, what moves and what does not, known while tracing or not."""

    name: str
    seed: int
    shapes: Sequence[Shape]
    function: Callable
    family: Family
    operands: list[Any]
    twins: list[Any]

    def pushed(self, operands: Sequence[Any], i: Any) -> list[Any]:
        """The outputs' primals and coefficients as arrays."""
        known = {k: x for k, x in enumerate(operands) if isinstance(x, np.ndarray)}
        rest = [x for k, x in enumerate(operands) if k not in known]

        def function(*arrays):
            given = iter(arrays[:-1])
            every = [known[k] if k in known else next(given) for k in range(len(operands))]
            return self.function(*map(jnp.asarray, every), arrays[-1])

        primals = [x.primal if isinstance(x, Bundle) else x for x in rest]
        closed = jax.make_jaxpr(function)(*primals, i)
        return [
            self._arrays(y)
            for y in interpret(closed.jaxpr, closed.consts, (self.family,), [*rest, i])
        ]

    def _arrays(self, value: Any) -> Any:
        if not isinstance(value, Bundle):
            return value, None
        (series,) = value.series
        arrays = [
            jax.tree.map(_array, self.family.instantiate(c, place, value.primal), is_leaf=_is_full)
            for place, c in enumerate(series)
        ]
        return value.primal, arrays


def _is_full(node: Any) -> bool:
    return isinstance(node, Full)


def _array(leaf: Any) -> Any:
    return leaf.array if isinstance(leaf, Full) else leaf


def case(name: str, seed: int) -> Case:
    """A random equation of a primitive: with seeds in a row, every pair of kinds in turn."""
    rng = np.random.default_rng([*name.encode(), seed])
    shapes, function = EQUATIONS[name](rng)
    family = family_of(rng, shapes)
    kinds = itertools.cycle((KINDS[seed % 3], KINDS[seed // 3 % 3]))
    operands, twins, pool = [], [], {"known": seed % 2 == 0}
    for shape, kind in zip(shapes, kinds, strict=False):
        if math.prod(shape) == 0 or (len(shapes) > 1 and number(rng, 0, 5) == 0):
            primal = rng.uniform(0.3, 1.5, shape)
            pair: list[Any] = [primal if flag(rng) else jnp.asarray(primal)] * 2
        else:
            pair = operand(rng, family, shape, pool, kind)
        operands.append(pair[0])
        twins.append(pair[1])
    return Case(name, seed, shapes, function, family, operands, twins)


def differences(cases: Sequence[Case]) -> list[str]:
    """What structured coefficients and their twins give differently, all in one program."""
    given = [
        [[x for x in xs if not isinstance(x, np.ndarray)] for xs in (c.operands, c.twins)]
        for c in cases
    ]

    def filled(case: Case, operands: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
        each = iter(rest)
        return [x if isinstance(x, np.ndarray) else next(each) for x in operands]

    def both(given, i):
        return [
            [case.pushed(filled(case, case.operands, xs), i) for xs in pair]
            for case, pair in zip(cases, given, strict=True)
        ]

    found = []
    for case, (got, expected) in zip(cases, jax.jit(both)(given, 1), strict=True):
        for (value, series), (right, twins) in zip(got, expected, strict=True):
            np.testing.assert_array_equal(value, right)
            if series is None or twins is None:  # nothing moves: all coefficients are zero
                arrays = [x for each in (series, twins) if each for x in jax.tree.leaves(each)]
                if any(np.any(array) for array in arrays):
                    found.append(f"{case.name} {case.seed}: one of the two does not move")
                continue
            scale = max(
                1.0,
                *(float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)) for x in _leaves(twins)),
            )
            pairs = zip(_leaves(series), _leaves(twins), strict=True)
            errors = [_off(a, b) for a, b in pairs]
            if not max(errors) <= 1e-11 * scale:
                found.append(f"{case.name} {case.seed}: off by {errors} of {scale}")
    return found


def _off(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference; what JAX has as NaN is NaN."""
    if got.shape != expected.shape:
        return math.inf
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return float(np.max(np.abs(got[~same] - expected[~same]), initial=0.0))


def _leaves(series: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(series)]
