"""Functions of several primitives that structured coefficients can follow, over shapes and indices
drawn by Hypothesis. Single primitives, with all of their parameters, are in `twins`.

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


def concatenated(draw):
    shape = draw(SHAPES)
    axis = draw(st.integers(0, len(shape) - 1))
    return shape, lambda x, i: jnp.concatenate([x * x, _matrix(*shape), jnp.flip(x)], axis)


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


def broadcast_by_a_product(draw):
    size = draw(SIZES)
    return (size,), lambda x, i: x[:, None] * jnp.cos(x)[None, :] - x[None, :]


def summed_in_part(draw):
    size = draw(st.integers(3, 6))
    return (size,), lambda x, i: jnp.sum(x[1:] ** 2) * jnp.sum(jnp.broadcast_to(x, (3, size)), 0)


def gathered(draw):
    size = draw(SIZES)
    index = np.array(draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9)))
    return (size,), lambda x, i: x[index] * x[index[::-1]]


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


def branched(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: lax.cond(jnp.sum(x) > 0, lambda y: y * y, jnp.flip, x) * x


def looped(draw):
    shape = draw(SHAPES)
    return shape, lambda x, i: lax.scan(lambda c, row: (c + row * x[0], row), x[0], x)[0]


BUILDERS = {
    name.rstrip("_"): function
    for name, function in list(globals().items())
    if callable(function)
    and getattr(function, "__module__", None) == __name__
    and not name.startswith("_")
}
UNKNOWN_INDEX = 1
