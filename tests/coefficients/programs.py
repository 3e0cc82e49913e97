"""Random programs of primitives that move, add up and multiply entries, as lines of Python.

A line makes `x` of the newest value `x`, of all values so far, `v[0]` … `v[-1]`, and of an integer
`i`, which is zero and not known while tracing.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .blocks import Rng, Shape, flag, number
from .windows import windows

LARGEST = 64
"""No value has more entries."""
NAMES = {
    **{"lax": lax, "jnp": jnp, "np": np, "array": np.array, "int32": np.int32},
    "GatherDimensionNumbers": lax.GatherDimensionNumbers,
    "ScatterDimensionNumbers": lax.ScatterDimensionNumbers,
}


class Program(NamedTuple):
    """A function of an array of a shape, and of `i`: what the last line gives, and its square."""

    shape: Shape
    lines: tuple[str, ...]

    def __call__(self, x: Any, i: Any) -> tuple[Any, Any]:
        *_, last = self.values(x, i)
        return last, last * last

    def values(self, x: Any, i: Any) -> list[Any]:
        v = [x]
        for line in self.lines:
            v.append(eval(line, NAMES | {"x": v[-1], "v": v, "i": i}))
        return v

    @property
    def shapes(self) -> list[Shape]:
        """Of all values."""
        operands = jax.ShapeDtypeStruct(self.shape, float), jax.ShapeDtypeStruct((), np.int32)
        return [y.shape for y in jax.eval_shape(lambda *xs: self.values(*xs), *operands)]


def random_program(rng: Rng) -> Program:
    program = Program(tuple(number(rng, 1, 4) for _ in range(number(rng, 1, 3))), ())
    shapes, wanted = [program.shape], number(rng, 1, 5)
    while len(program.lines) < wanted:
        names = [name for name, (least, _) in LINES.items() if len(shapes[-1]) >= least]
        line = LINES[str(rng.choice(names))][1](rng, shapes[-1], shapes)
        longer = Program(program.shape, (*program.lines, line))
        try:
            found = longer.shapes
        except (TypeError, ValueError):  # as of a pad by which nothing is left
            continue
        if 0 < math.prod(found[-1]) <= LARGEST:
            program, shapes = longer, found
    return program


def _axis(rng: Rng, shape: Shape) -> int:
    return number(rng, 0, len(shape) - 1)


def _axes(rng: Rng, shape: Shape) -> tuple[int, ...]:
    order = rng.permutation(len(shape))[: number(rng, 1, len(shape))]
    return tuple(sorted(map(int, order)))


def _numbers(rng: Rng, shape: Any) -> str:
    """An array that stands still."""
    return f"np.random.default_rng({number(rng, 0, 99)}).uniform(0.5, 1.5, {tuple(shape)})"


def _other(rng: Rng, shape: Shape, shapes: list[Shape]) -> str:
    """Something of a shape: a value, entries of one again and again, or numbers."""
    same = [k for k, each in enumerate(shapes) if each == shape]
    if same and flag(rng):
        return f"v[{same[number(rng, 0, len(same) - 1)]}]"
    if number(rng, 0, 2):
        k, size = number(rng, 0, len(shapes) - 1), math.prod(shape)
        flat = f"v[{k}].reshape(-1)"
        if size > math.prod(shapes[k]):
            flat = f"lax.concatenate([{flat}] * {-(-size // math.prod(shapes[k]))}, 0)"
        start = number(rng, 0, max(0, math.prod(shapes[k]) - size))
        return f"{flat}[{start}:{start + size}].reshape({shape})"
    return f"jnp.asarray({_numbers(rng, shape)})"


def _places(rng: Rng, array: Any) -> str:
    """Integers that are known while tracing, or are not."""
    text = f"np.array({np.asarray(array).tolist()}, np.int32).reshape({np.shape(array)})"
    return text if flag(rng) else f"({text} + i)"


def rev(rng, shape, shapes):
    return f"lax.rev(x, {_axes(rng, shape)})"


def transpose(rng, shape, shapes):
    return f"lax.transpose(x, {tuple(map(int, rng.permutation(len(shape))))})"


def reshape(rng, shape, shapes):
    """Any shape of as many entries, of axes of its prime factors."""
    rest, factors = math.prod(shape), [1] * number(rng, 0, 1)
    for prime in (2, 3, 5, 7):
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
    factors = [int(k) for k in rng.permutation([*factors, rest] if rest > 1 else factors)]
    parts = np.array_split(np.array(factors, int), number(rng, 1, 3))
    return f"x.reshape({tuple(int(np.prod(part, dtype=int)) for part in parts)})"


def expand(rng, shape, shapes):
    return f"jnp.expand_dims(x, {number(rng, 0, len(shape))})"


def squeeze(rng, shape, shapes):
    ones = [a for a, size in enumerate(shape) if size == 1]
    return f"lax.squeeze(x, {tuple(a for a in ones if flag(rng))})"


def broadcast_in_dim(rng, shape, shapes):
    rank = len(shape) + number(rng, 0, 2)
    axes = sorted(map(int, rng.permutation(rank)[: len(shape)]))
    after = [number(rng, 1, 3) for _ in range(rank)]
    for axis, size in zip(axes, shape, strict=True):
        after[axis] = size if size > 1 else after[axis]
    return f"lax.broadcast_in_dim(x, {tuple(after)}, {tuple(axes)})"


def slice_(rng, shape, shapes):
    starts = [number(rng, 0, size - 1) for size in shape]
    stops = [number(rng, start + 1, size) for start, size in zip(starts, shape, strict=True)]
    strides = [number(rng, 1, 3) for _ in shape]
    return f"lax.slice(x, {starts}, {stops}, {strides})"


def pad(rng, shape, shapes):
    config = [(number(rng, -2, 2), number(rng, -2, 2), number(rng, 0, 2)) for _ in shape]
    value = "0.0" if flag(rng) else "jnp.sum(x)"
    return f"lax.pad(x, {value}, {config})"


def concatenate(rng, shape, shapes):
    axis, parts = _axis(rng, shape), ["x"]
    for _ in range(number(rng, 1, 2)):
        own = tuple(number(rng, 1, 3) if a == axis else size for a, size in enumerate(shape))
        parts.insert(number(rng, 0, len(parts)), _other(rng, own, shapes))
    return f"lax.concatenate([{', '.join(parts)}], {axis})"


def split(rng, shape, shapes):
    axis = _axis(rng, shape)
    first = number(rng, 0, shape[axis])
    return f"lax.split(x, {(first, shape[axis] - first)}, {axis})[{number(rng, 0, 1)}]"


def dynamic_slice(rng, shape, shapes):
    starts = ", ".join(_places(rng, number(rng, -1, size)) for size in shape)
    return f"lax.dynamic_slice(x, [{starts}], {[number(rng, 1, size) for size in shape]})"


def dynamic_update_slice(rng, shape, shapes):
    part = tuple(number(rng, 1, size) for size in shape)
    starts = ", ".join(_places(rng, number(rng, -1, size)) for size in shape)
    return f"lax.dynamic_update_slice(x, {_other(rng, part, shapes)}, [{starts}])"


def gather(rng, shape, shapes):
    found = windows(rng, shape)
    mode, indices = found.with_mode(rng)
    how = f"{found.gathering}, {found.sizes}, mode='{mode}', fill_value=2.5"
    return f"lax.gather(x, {_places(rng, indices)}, {how})"


def scatter(rng, shape, shapes):
    found, name = windows(rng, shape), ["scatter", "scatter_add", "scatter_sub"][number(rng, 0, 2)]
    mode, indices = found.with_mode(rng)
    operands = f"x, {_places(rng, indices)}, {_other(rng, found.whole, shapes)}"
    return f"lax.{name}({operands}, {found.scattering}, mode='{mode}')"


def select_n(rng, shape, shapes):
    which = _places(rng, rng.integers(0, 3, shape if flag(rng) else ()))
    cases = [_other(rng, shape, shapes), "x", _other(rng, shape, shapes)]
    return f"lax.select_n({which}, {', '.join(cases)})"


def reduce_sum(rng, shape, shapes):
    return f"jnp.sum(x, {_axes(rng, shape)})"


def cumsum(rng, shape, shapes):
    return f"lax.cumsum(x, {_axis(rng, shape)}, {flag(rng)})"


def sort(rng, shape, shapes):
    """Of numbers that differ, whatever x is."""
    return f"lax.sort(x + {_numbers(rng, shape)}, dimension={_axis(rng, shape)})"


def dot_general(rng, shape, shapes):
    """Some axes of a batch, some contracted, with an operand whose axes are in any order."""
    kinds = [number(rng, 0, 2) for _ in shape]
    batch, contract = ([a for a, kind in enumerate(kinds) if kind == k] for k in (0, 1))
    sizes = [shape[a] for a in (*batch, *contract)]
    sizes += [number(rng, 1, 2) for _ in range(number(rng, 0, 1))]
    order = [int(k) for k in rng.permutation(len(sizes))]
    place = [order.index(k) for k in range(len(batch) + len(contract))]
    other = _other(rng, tuple(sizes[k] for k in order), shapes)
    dimensions = ((contract, place[len(batch) :]), (batch, place[: len(batch)]))
    if number(rng, 0, 3) == 0:
        sides = tuple(tuple(each[::-1]) for each in dimensions)
        return f"lax.dot_general({other}, x, {sides})"
    return f"lax.dot_general(x, {other}, {dimensions})"


def convolution(rng, shape, shapes):
    """Along one axis or two, with any of strides, padding, dilation and groups."""
    whole = (1,) * max(0, 3 - len(shape)) + shape
    images, channels, *sizes = whole
    features = 2 if channels % 2 == 0 and flag(rng) else 1
    batches = 2 if features == 1 and images % 2 == 0 and flag(rng) else 1
    window = [number(rng, 1, 3) for _ in sizes]
    out = features * batches * number(rng, 1, 2)
    kernel = _other(rng, (out, channels // features, *window), shapes)
    pick = lambda most: [number(rng, 1, most) for _ in sizes]
    padding = [(number(rng, -1, 2), number(rng, 0, 4)) for _ in sizes]
    how = f"{pick(2)}, {padding}, {pick(2)}, {pick(2)}, None, {features}, {batches}"
    x = f"x.reshape({whole})"
    if batches == features == 1 and sizes == window and flag(rng):
        return f"lax.conv_general_dilated({kernel}, {x}, {how})" if channels == 1 else "x * x"
    return f"lax.conv_general_dilated({x}, {kernel}, {how})"


def reduce_window(rng, shape, shapes):
    """Sums over windows, with any of strides, padding and dilation."""
    pick = lambda most: tuple(number(rng, 1, most) for _ in shape)
    padding = [(number(rng, 0, 2), number(rng, 0, 4)) for _ in shape]
    how = f"{pick(3)}, {pick(2)}, {padding}, {pick(2)}, {pick(2)}"
    return f"lax.reduce_window(x, 0.0, lax.add, {how})"


def product(rng, shape, shapes):
    return f"x * {_other(rng, shape, shapes)}"


def outer(rng, shape, shapes):
    return f"x[..., None] * v[{number(rng, 0, len(shapes) - 1)}].reshape(-1)[:3]"


def entrywise(rng, shape, shapes):
    other = _other(rng, shape, shapes)
    return ["jnp.sin(x)", f"x - {other}", "x * 2.5", "jnp.cos(x)"][number(rng, 0, 3)]


LINES: dict[str, tuple[int, Callable[[Rng, Shape, list[Shape]], str]]] = {
    **{f.__name__: (0, f) for f in (transpose, reshape, expand, squeeze, broadcast_in_dim)},
    **{f.__name__: (0, f) for f in (select_n, product, entrywise, outer)},
    **{f.__name__: (1, f) for f in (rev, slice_, pad, concatenate, split, dynamic_slice)},
    **{f.__name__: (1, f) for f in (dynamic_update_slice, gather, scatter, reduce_sum)},
    **{f.__name__: (1, f) for f in (cumsum, sort, dot_general, convolution, reduce_window)},
}
"""By name, what makes a line, and the least rank of x that it takes."""
