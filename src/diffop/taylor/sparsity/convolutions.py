"""Convolutions of structured coefficients with a kernel that stands still.

An entry at spatial position p reaches the outputs o = (p + padding − k · dilation) / stride for
the offsets k of the kernel for which that is a whole number inside: ⌈kernel / stride⌉ of them along
an axis without dilation. With stride = kernel (weights shared by blocks) it is one.
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..coefficients import ByDirection, ByEntry, Coefficient, Full
from ..equation import BilinearMap
from . import by_entry
from .by_direction import unravel
from .numbers import Numbers


def convolution(
    product: BilinearMap, side: int, moving: Coefficient, still: Any
) -> ByDirection | ByEntry | Full | None:
    """The convolution of a structured input, or None where it has to become an array."""
    params = product.params
    plain = params["feature_group_count"] == params["batch_group_count"] == 1
    dilated = any(k != 1 for k in (*params["lhs_dilation"], *params["rhs_dilation"]))
    if side != 0 or not plain or dilated:
        return None
    reach = _Reach(product)
    if isinstance(moving, ByDirection):
        return _sparse(reach, moving, still)
    assert isinstance(moving, ByEntry)
    return _diagonal(reach, moving, still)


class _Reach:
    """The geometry of a convolution without dilation or groups."""

    def __init__(self, product: BilinearMap) -> None:
        params = product.params
        numbers = params["dimension_numbers"]
        self.lhs, self.rhs, self.out = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
        self.input = jnp.shape(product.operands[0])
        self.kernel_shape = jnp.shape(product.operands[1])
        self.output = product.output.shape
        self.strides = params["window_strides"]
        self.padding = [low for low, _ in params["padding"]]
        self.kernel = tuple(self.kernel_shape[axis] for axis in self.rhs[2:])
        self.out_spatial = tuple(self.output[axis] for axis in self.out[2:])
        self.channels = self.kernel_shape[self.rhs[1]]
        self.features = self.kernel_shape[self.rhs[0]]
        self.step = (product.form, str(params), self.input, self.kernel_shape)

    def kernel_rows(self, kernel: Any) -> Any:
        """The kernel as `(in channels · offsets, out channels)`."""
        turned = kernel.transpose(self.rhs[1], *self.rhs[2:], self.rhs[0])
        return turned.reshape(-1, self.features)

    def position(self, batch: Any, spatial: list[Any], features: Any) -> Any:
        """Flat positions in the output."""
        coordinates: list[Any] = [0] * len(self.output)
        for axis, value in zip(self.out, [batch, features, *spatial], strict=True):
            coordinates[axis] = value
        flat: Any = 0
        for value, size in zip(coordinates, self.output, strict=True):
            flat = flat * size + value
        return flat


def _sparse(reach: _Reach, coefficient: ByDirection, kernel: Any) -> ByDirection:
    values = coefficient.values
    coordinates = unravel(coefficient.positions, reach.input)
    batch, channel, *spatial = (coordinates[axis] for axis in reach.lhs)
    counts = [math.ceil(k / s) for k, s in zip(reach.kernel, reach.strides, strict=True)]
    steps = np.indices(counts, dtype=np.int32).reshape(len(counts), -1)
    row, keep, places = channel[..., None] + np.zeros_like(steps[:1]).reshape(_row(batch)), True, []
    for axis, p in enumerate(spatial):
        shifted = p + reach.padding[axis]
        stride, size = reach.strides[axis], reach.kernel[axis]
        offset = (shifted % stride)[..., None] + (steps[axis] * stride).reshape(_row(batch))
        place = (shifted[..., None] - offset) // stride
        keep = keep & (offset < size) & (place >= 0) & (place < reach.out_spatial[axis])
        row = row * size + offset.clip(0, size - 1)
        places.append(place.clip(0, reach.out_spatial[axis] - 1))
    rows = reach.kernel_rows(kernel)[row]
    features = np.arange(reach.features, dtype=np.int32).reshape((1,) * row.ndim + (-1,))
    at = reach.position(batch[..., None, None], [p[..., None] for p in places], features)
    at = at + row[..., None] * 0
    extra = (1,) * (values.ndim - row.ndim + 1)
    values = values.astype(rows.dtype)[..., None, None] * rows.reshape(extra + rows.shape)
    keep = jnp.asarray(keep)[..., None].reshape((*extra, *row.shape, 1))
    values = jnp.where(keep, values, jnp.zeros((), values.dtype))
    return coefficient.moved_to(
        at.reshape(*coefficient.positions.shape[:-1], -1),
        values.reshape(*values.shape[:-3], -1),
        reach.step,
    )


def _row(positions: Any) -> tuple[int, ...]:
    return (1,) * positions.ndim + (-1,)


def _diagonal(reach: _Reach, coefficient: ByEntry, kernel: Any) -> ByEntry | None:
    """One column for each channel and offset of the kernel: what the window reads there."""
    c = coefficient
    columns = reach.channels * math.prod(reach.kernel) * c.numbers.count
    if columns >= c.size:
        return None
    read = by_entry.taken(c, _window(reach))
    rows, numbers = reach.kernel_rows(kernel), read.numbers.array
    values = jnp.asarray(read.numbers.known, rows.dtype) if read.is_ones else read.columns
    # (count, rows, batch · spatial) with the features behind, then in the output's own order
    values = values[..., None] * rows[None, :, None, :]
    numbers = np.broadcast_to(numbers[..., None], (*numbers.shape, reach.features))
    values = jnp.broadcast_to(values, numbers.shape)
    return ByEntry(_placed(reach, values), Numbers(_placed(reach, numbers)), c.size, c.factor)


def _window(reach: _Reach) -> np.ndarray:
    """For each channel and offset of the kernel, each batch entry and output place: the flat
    position of the input that is read, −1 in the padding. `(rows, batch · spatial)`.
    """
    sizes = (reach.channels, *reach.kernel, reach.input[reach.lhs[0]], *reach.out_spatial)
    grid = np.indices(sizes)
    count = len(reach.kernel)
    channel, offsets, batch, places = (
        grid[0],
        grid[1 : 1 + count],
        grid[1 + count],
        grid[2 + count :],
    )
    coordinates: list[Any] = [0] * len(reach.input)
    coordinates[reach.lhs[0]], coordinates[reach.lhs[1]] = batch, channel
    inside = np.ones(sizes, bool)
    for axis in range(count):
        read = places[axis] * reach.strides[axis] - reach.padding[axis] + offsets[axis]
        size = reach.input[reach.lhs[2 + axis]]
        inside &= (read >= 0) & (read < size)
        coordinates[reach.lhs[2 + axis]] = read.clip(0, size - 1)
    flat = np.zeros(sizes, np.int64)
    for value, size in zip(coordinates, reach.input, strict=True):
        flat = flat * size + value
    rows = reach.channels * math.prod(reach.kernel)
    return np.where(inside, flat, -1).reshape(rows, -1)


def _placed(reach: _Reach, array: Any) -> Any:
    """`(count, rows, batch · spatial, features)` as `(columns, *output shape)`."""
    columns = array.shape[0] * array.shape[1]
    batch = reach.output[reach.out[0]]
    array = array.reshape(columns, batch, *reach.out_spatial, reach.features)
    order = [0] * len(reach.output)
    order[reach.out[0]], order[reach.out[1]] = 1, len(reach.output)
    for axis, place in enumerate(reach.out[2:]):
        order[place] = 2 + axis
    return array.transpose(0, *order)
