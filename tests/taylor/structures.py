"""Functions of the primitives that structured coefficients can follow, over shapes and indices
drawn by Hypothesis.

Each builder takes Hypothesis's `draw` and returns `(shape, f)`: f maps an array of that shape, and
an integer index that is not known while tracing, to an array.
"""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from jax import lax

SIZES = st.integers(2, 6)
SHAPES = st.lists(SIZES, min_size=1, max_size=3).map(tuple)


def _matrix(*shape):
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape))


def sliced(draw):
    shape = draw(SHAPES)
    starts = [draw(st.integers(0, size - 1)) for size in shape]
    stops = [draw(st.integers(a + 1, size)) for a, size in zip(starts, shape, strict=True)]
    strides = [draw(st.integers(1, 3)) for _ in shape]
    return shape, lambda x, i: lax.slice(x, starts, stops, strides)


def padded(draw):
    shape = draw(SHAPES)
    config = [(draw(st.integers(-1, 2)), draw(st.integers(0, 2)), draw(st.integers(0, 1)))] * len(
        shape
    )
    return shape, lambda x, i: lax.pad(x, jnp.zeros((), x.dtype), config)


def padded_with_the_input(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: lax.pad(x, x.sum(), [(1, 0, 0)] * x.ndim)


def concatenated(draw):
    shape = draw(SHAPES)
    axis = draw(st.integers(0, len(shape) - 1))
    return shape, lambda x, i: jnp.concatenate([x * x, _matrix(*shape), jnp.flip(x)], axis)


def reshaped(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: x.reshape(-1, 1, shape[0])


def squeezed(draw):
    shape = draw(SHAPES)
    return (1, *shape), lambda x, i: x.squeeze(0)[..., None]


def reversed_(draw):
    shape = draw(SHAPES)
    axis = draw(st.integers(0, len(shape) - 1))
    return shape, lambda x, i: jnp.flip(x, axis) * x


def rolled(draw):
    shape, shift = draw(SHAPES), draw(st.integers(-3, 3))
    return shape, lambda x, i: jnp.roll(x, shift, -1) * x


def rolled_by_unknown(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: jnp.roll(x, i, 0) * x


def transposed(draw):
    shape = draw(SHAPES)
    order = draw(st.permutations(range(len(shape))))
    return shape, lambda x, i: x.transpose(order)


def broadcast(draw):
    shape, copies = draw(SHAPES), draw(SIZES)
    return shape, lambda x, i: jnp.broadcast_to(x[..., None], (copies, *shape, 3))


def broadcast_by_a_product(draw):
    size = draw(SIZES)
    return (size,), lambda x, i: x[:, None] * jnp.cos(x)[None, :] - x[None, :]


def summed(draw):
    shape = draw(SHAPES)
    axes = tuple(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    return shape, lambda x, i: jnp.sum(x * x, axis=axes)


def summed_in_part(draw):
    size = draw(st.integers(3, 6))
    return (size,), lambda x, i: jnp.sum(x[1:] ** 2) * jnp.sum(jnp.broadcast_to(x, (3, size)), 0)


def dynamic_slice(draw):
    shape = draw(SHAPES)
    length = draw(st.integers(1, shape[0]))
    return shape, lambda x, i: lax.dynamic_slice_in_dim(x, i, length)


def dynamic_slice_at_a_known_place(draw):
    shape = draw(SHAPES)
    start = draw(st.integers(-2, 7))
    return shape, lambda x, i: lax.dynamic_slice_in_dim(x, start, 2)


def dynamic_update(draw):
    shape = draw(SHAPES)
    length = draw(st.integers(1, shape[0]))
    return shape, lambda x, i: lax.dynamic_update_slice_in_dim(
        jnp.sin(x), x[:length] * 2, i, axis=0
    )


def gathered(draw):
    size = draw(SIZES)
    index = np.array(draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9)))
    return (size,), lambda x, i: x[index] * x[index[::-1]]


def _geometry(draw):
    """Windows of an array at drawn indices, some of them outside: its shape, the indices and their
    dimension numbers, as of a gather and as of a scatter.
    """
    shape = draw(st.lists(SIZES, min_size=2, max_size=3).map(tuple))
    batched = (0,) if draw(st.booleans()) else ()
    others = [axis for axis in range(len(shape)) if axis not in batched]
    axes = tuple(draw(st.permutations(others))[: draw(st.integers(1, len(others)))])
    sizes = [1 if a in batched else draw(st.integers(1, n)) for a, n in enumerate(shape)]
    collapsed = tuple(a for a in others if sizes[a] == 1 and draw(st.booleans()))
    count = draw(st.integers(1, 3))
    rows = (*(shape[a] for a in batched), count)
    inside = [a for a in range(len(shape)) if a not in collapsed + batched]
    offsets = tuple(sorted(draw(st.permutations(range(len(inside) + len(rows))))[: len(inside)]))
    seed = draw(st.integers(0, 2**16))
    indices = np.random.default_rng(seed).integers(-1, max(shape), size=(*rows, len(axes)))
    of_batches = tuple(range(len(batched)))
    gathering = lax.GatherDimensionNumbers(offsets, collapsed, axes, batched, of_batches)
    scattering = lax.ScatterDimensionNumbers(offsets, collapsed, axes, batched, of_batches)
    return shape, indices.astype(np.int32), gathering, scattering, sizes


MODES = st.sampled_from(["clip", "fill"])


def gathered_windows(draw):
    shape, indices, numbers, _, sizes = _geometry(draw)
    mode, fill = draw(MODES), draw(st.sampled_from([None, 0.0, 5.0, 1e12]))

    def function(x, i):
        found = lax.gather(jnp.sin(x), indices, numbers, sizes, mode=mode, fill_value=fill)
        return jnp.where(jnp.isnan(found), jnp.ones_like(found), found)

    return shape, function


def scattered_windows(draw):
    shape, indices, gathering, numbers, sizes = _geometry(draw)
    mode, source = draw(MODES), draw(st.booleans())
    how = draw(st.sampled_from([lax.scatter, lax.scatter_add, lax.scatter_sub]))
    where = draw(st.booleans())

    def function(x, i):
        read = lax.gather(x if source else _matrix(*shape), indices, gathering, sizes, mode="clip")
        at = jnp.asarray(indices) + (0 * i if where else 0)
        return how(jnp.cos(x), at, read * read, numbers, mode=mode)

    return shape, function


def selected_by_number(draw):
    shape = draw(SHAPES)
    which = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 3, size=shape)
    known = draw(st.booleans())

    def function(x, i):
        number = jnp.asarray(which, np.int32)
        number = number if known else (number + i) % 3
        return lax.select_n(number, x, jnp.ones_like(x), x * x)

    return shape, function


def updated_at_a_known_place(draw):
    shape = draw(SHAPES)
    starts = [draw(st.integers(-2, 7)) for _ in shape]
    lengths = [draw(st.integers(1, size)) for size in shape]

    def function(x, i):
        part = x[tuple(slice(length) for length in lengths)]
        return lax.dynamic_update_slice(jnp.sin(x), part * part, starts)

    return shape, function


def gathered_many(draw):
    size = draw(st.integers(40, 60))
    index = np.array(draw(st.lists(st.integers(-size, size - 1), min_size=70, max_size=70)))
    return (size,), lambda x, i: jnp.sin(x)[index]


def gathered_rows(draw):
    shape = (draw(SIZES), draw(SIZES))
    index = np.array(draw(st.lists(st.integers(0, shape[0] - 1), min_size=1, max_size=5)))
    return shape, lambda x, i: x[index, 1:] * x[index, :-1]


def gathered_outside(draw):
    size = draw(SIZES)
    index = np.array(draw(st.lists(st.integers(0, 9), min_size=1, max_size=9)))
    return (size,), lambda x, i: x.at[index].get(mode="fill", fill_value=0)


def gathered_at_unknown(draw):
    size = draw(SIZES)
    return (size,), lambda x, i: x[jnp.arange(3) * i % size] * x[0]


def selected(draw):
    shape = draw(SHAPES)
    mask = np.random.default_rng(draw(st.integers(0, 9))).random(shape) < 0.5
    return shape, lambda x, i: jnp.where(mask, x, jnp.where(x > 0, x * x, jnp.cos(x)))


def scattered(draw):
    size = draw(SIZES)
    index = np.array(draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True)))
    return (size,), lambda x, i: x.at[index].set(2.0) + x.at[index].add(1.0)


def split(draw):
    shape = (2 * draw(SIZES), draw(SIZES))
    return shape, lambda x, i: jnp.subtract(*jnp.split(x * x, 2))


def neighbours(draw):
    size = draw(st.integers(3, 9))
    return (size,), lambda x, i: jnp.sin(x[:-1] + jnp.cos(x[1:])) * x[1:]


def three_bodies(draw):
    size = draw(st.integers(3, 6))
    a, b, c = (np.array(draw(st.permutations(range(size)))) for _ in range(3))
    return (size,), lambda x, i: jnp.exp(x[a] * x[b] * x[c])


def pair_distances(draw):
    shape = (draw(st.integers(2, 4)), draw(st.integers(1, 3)))
    return shape, lambda x, i: jnp.sum((x[:, None] - x[None]) ** 2 + 1, axis=-1) ** 0.5


def inner_product(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: jnp.dot(x.reshape(-1), x.reshape(-1)) * jnp.sum(x)


def layer(draw):
    size, width = draw(SIZES), draw(SIZES)
    return (size,), lambda x, i: jnp.tanh(_matrix(width, size) @ x)


def layer_of_matrix(draw):
    shape, width = (draw(SIZES), draw(SIZES)), draw(SIZES)
    side = draw(st.booleans())
    if side:
        return shape, lambda x, i: jnp.tanh(x @ _matrix(shape[1], width))
    return shape, lambda x, i: jnp.tanh(_matrix(width, shape[0]) @ x)


def batched_layer(draw):
    shape, width = (draw(SIZES), draw(SIZES), draw(SIZES)), draw(SIZES)
    W = _matrix(shape[0], shape[2], width)
    return shape, lambda x, i: jnp.einsum("bij,bjk->bik", x, W)


def shared_by_blocks(draw):
    blocks, size, width = draw(SIZES), draw(SIZES), draw(SIZES)
    W = _matrix(size, width)
    return (blocks * size,), lambda x, i: jnp.tanh(x.reshape(blocks, size) @ W)


def many_columns(draw):
    blocks, size = draw(st.integers(2, 3)), draw(st.integers(17, 20))
    W = _matrix(blocks, 2)
    return (blocks * size,), lambda x, i: jnp.sin(jnp.sum(x.reshape(blocks, size) ** 2, 1)) @ W


def many_columns_of_several_channels(draw):
    blocks, size, width = draw(st.integers(2, 3)), draw(st.integers(17, 20)), draw(SIZES)
    W, V = _matrix(size, width), _matrix(blocks * width, 2)
    return (blocks * size,), lambda x, i: jnp.tanh(x.reshape(blocks, size) @ W).reshape(-1) @ V


def convolution(draw):
    kernel, stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    shape, features = (1, draw(st.integers(1, 2)), draw(st.integers(3, 7))), draw(st.integers(1, 2))
    padding = [(draw(st.integers(0, 2)), draw(st.integers(0, 2)))]
    W = _matrix(features, shape[1], kernel)
    return shape, lambda x, i: lax.conv_general_dilated(jnp.sin(x), W, (stride,), padding)


def convolution_2d(draw):
    stride = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    W = _matrix(2, 3, 1, 2)
    numbers = lax.conv_dimension_numbers((1, 5, 4, 1), W.shape, ("NHWC", "HWIO", "NHWC"))
    return (1, 5, 4, 1), lambda x, i: lax.conv_general_dilated(
        x, W, stride, "SAME", dimension_numbers=numbers
    )


def dilated_convolution(draw):
    W = _matrix(2, 1, 2)
    return (1, 1, 6), lambda x, i: lax.conv_general_dilated(x, W, (1,), "VALID", rhs_dilation=(2,))


def entrywise(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: jnp.sin(x) / (2 + jnp.cos(x)) - jnp.maximum(x, 0.3) ** 3 + x**2.5


def times_what_is_dense(draw):
    size = draw(SIZES)
    return (size,), lambda x, i: jnp.sin(x)[:, None] * jnp.cumsum(x)[None, :] * jnp.sum(x * x)


def lengths_beside(draw):
    shape = (draw(SIZES), draw(SIZES))
    matrix = _matrix(shape[1] + 1, 3)

    def features(x, i):
        length = jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True))
        return jnp.concatenate([x / length + x, length], axis=-1)

    return shape, lambda x, i: jnp.tanh(features(x, i) @ matrix)


def sums_of_neighbours(draw):
    size = draw(st.integers(4, 9))
    return (size,), lambda x, i: jnp.sin((x[1:-1] + x[2:]) + (x[:-2] + x[1:-1])) * x[1:-1]


def divided(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: (x / 3.0) / (1 + jnp.sum(x * x)) + 1.0 / x


def cumulated(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: jnp.cumsum(x, axis=0) * x


def branched(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: lax.cond(jnp.sum(x) > 0, lambda y: y * y, jnp.flip, x) * x


def looped(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: lax.scan(lambda c, row: (c + row * x[0], row), x[0], x)[0]


def converted(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: jnp.real(jnp.conj(lax.complex(x, x * x))).astype(jnp.float64) * 2.0


BUILDERS = {
    name.rstrip("_"): function
    for name, function in list(globals().items())
    if callable(function)
    and getattr(function, "__module__", None) == __name__
    and not name.startswith("_")
}
UNKNOWN_INDEX = 1
