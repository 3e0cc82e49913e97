"""Arrays with named axes, and their products."""

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..arrays import product_of, sum_over
from ..kernels import call
from .index import Index, Range, Traced, nearest_entries

_SLICES = 16
"""Windows of at most this many places are sliced one by one: a gather and its gradient are slow."""
_LONG = 256
"""A single place of a longer axis is not sliced: the transpose is a pad, and devices that share the
axis would fill in all of it.
"""


@final
class Operand(NamedTuple):
    """An array, and the name of each of its axes."""

    array: Any
    names: tuple[int, ...]

    def taken(self, name: int, index: Index, size: int) -> "Operand":
        """The entries at `size` places along an axis."""
        axis = self.names.index(name)
        if isinstance(index, Range) and index.step != 0:
            return Operand(sliced_operand(self.array, axis, index, size), self.names)
        at = (slice(None),) * axis + (index.numbers(size),)
        if isinstance(self.array, np.ndarray) and not isinstance(index, Traced):
            return Operand(self.array[at], self.names)
        return Operand(nearest_entries(self.array, at), self.names)

    def renamed(self, old: int, new: int) -> "Operand":
        """With an axis renamed; the diagonal if there is already an axis of that name."""
        if new not in self.names:
            return Operand(self.array, tuple(new if n == old else n for n in self.names))
        a, b = self.names.index(old), self.names.index(new)
        rest = tuple(n for n in self.names if n not in (old, new))
        return Operand(jnp.diagonal(self.array, axis1=a, axis2=b), (*rest, new))

    def window(
        self, name: int, steps: dict[int, int], start: int, sizes: dict[int, int]
    ) -> "Operand":
        """The array at `start + Σ step · (place along another axis)` along an axis, and zeros
        outside.
        """
        axis, names = self.names.index(name), tuple(steps)
        ends = [(min(0, s * (sizes[n] - 1)), max(0, s * (sizes[n] - 1))) for n, s in steps.items()]
        before = max(0, -(start + sum(low for low, _ in ends)))
        after = max(0, start + sum(high for _, high in ends) - self.array.shape[axis] + 1)
        if before or after:
            pads = [(before, after, 0) if a == axis else (0, 0, 0) for a in range(self.array.ndim)]
            wide = Operand(lax.pad(self.array, self.array.dtype.type(0), pads), self.names)
            return wide.window(name, steps, start + before, sizes)
        apart = not set(names) & set(self.names) and len(names) == 2
        short = min(names, key=lambda n: sizes[n])
        if apart and sizes[short] <= _SLICES:
            (long,) = (n for n in names if n != short)
            parts = [
                sliced_operand(
                    self.array, axis, Range(start + steps[short] * k, steps[long]), sizes[long]
                )
                for k in range(sizes[short])
            ]
            rest = (*self.names[:axis], long, *self.names[axis + 1 :])
            return Operand(jnp.stack(parts), (short, *rest))
        grid = np.indices([sizes[n] for n in names], np.int32, sparse=True)
        ahead = zip(steps.values(), grid, strict=True)
        return self.looked_up(name, start + sum(step * own for step, own in ahead), names)

    def looked_up(self, name: int, places: Any, names: Sequence[int]) -> "Operand":
        """The array at these places along an axis, one for each place along others."""
        within = [n for n in self.names if n in names]  # axes with the same places
        others = [n for n in names if n not in within]
        rest = [n for n in self.names if n != name and n not in names]
        places = laid(Operand(places, tuple(names)), (*within, *others))
        array, look_up = laid(self, (*within, name, *rest)), nearest_entries
        for _ in within:
            look_up = jax.vmap(look_up)
        return Operand(look_up(array, places), (*within, *others, *rest))

    def fused(self, names: Sequence[int], new: int, sizes: dict[int, int]) -> "Operand":
        """With several axes fused to one."""
        rest = tuple(n for n in self.names if n not in names)
        whole = laid(self, (*rest, *names))
        shape = (*whole.shape[: len(rest)], *(sizes[n] for n in names))
        whole = jnp.broadcast_to(whole, shape)
        return Operand(whole.reshape(*whole.shape[: len(rest)], -1), (*rest, new))


def sliced_operand(array: Any, axis: int, index: Range, size: int) -> Any:
    """The entries at `size` places of a range along an axis."""
    start, step = index
    last = start + step * (size - 1)
    if (start, step, size) == (0, 1, array.shape[axis]):
        return array
    if size == 1 and array.shape[axis] > _LONG:
        return lax.dynamic_slice_in_dim(array, np.int32(start), 1, axis)
    cut = lax.slice_in_dim(array, min(start, last), max(start, last) + 1, abs(step), axis)
    return lax.rev(cut, (axis,)) if step < 0 else cut


def laid(operand: Operand, names: Sequence[int]) -> Any:
    """The array with its axes in this order; missing axes have size one."""
    own = [n for n in names if n in operand.names]
    order = tuple(operand.names.index(n) for n in own)
    array = operand.array
    if order != tuple(range(len(order))):
        array = lax.transpose(array, order)
    missing = tuple(i for i, n in enumerate(names) if n not in operand.names)
    return lax.expand_dims(array, missing) if missing else array


def contracted(operands: Sequence[Operand], kept: Collection[int], **how: Any) -> Operand:
    """The product of operands, summed over all axes except the kept ones: the smallest first, each
    axis summed as soon as no other operand has it.
    """
    left = sorted(operands, key=lambda each: math.prod(jnp.shape(each.array)))
    while len(left) > 1:
        first, second, *left = left
        wanted = set(kept).union(*(each.names for each in left))
        pairs = (first, second), (second, first)
        first, second = (_sum(each, wanted.union(other.names)) for each, other in pairs)
        left.insert(0, _product(first, second, wanted, how))
    return _sum(left[0], set(kept))


def _sum(operand: Operand, wanted: set[int]) -> Operand:
    """Summed over the axes that no other operand has."""
    axes = [a for a, n in enumerate(operand.names) if n not in wanted]
    if not axes:
        return operand
    names = tuple(n for a, n in enumerate(operand.names) if a not in axes)
    return Operand(sum_over(operand.array, axes), names)


def _product(left: Operand, right: Operand, wanted: set[int], how: dict[str, Any]) -> Operand:
    """The product of two operands, summed over axes that both have and nothing else needs: entry by
    entry if there are none, or if all axes are shared, and as one `dot_general` otherwise.
    """
    shared = [n for n in left.names if n in right.names]
    batch = [n for n in shared if n in wanted]
    inner = [n for n in shared if n not in wanted]
    if not inner or (batch and len(shared) == len(left.names) == len(right.names)):
        names = (*left.names, *(n for n in right.names if n not in left.names))
        if len(left.names) == 1 and len(right.names) == 2 and right.names[:1] == left.names:
            return Operand(call("scaled rows", _scaled, left.array, right.array), right.names)
        if set(names) == set(right.names):
            names = right.names
        return _sum(Operand(product_of(laid(left, names), laid(right, names)), names), wanted)
    places = [
        [[each.names.index(n) for n in ns] for each in (left, right)] for ns in (inner, batch)
    ]
    array = lax.dot_general(left.array, right.array, places, **how)  # pyright: ignore
    rest = (n for each in (left, right) for n in each.names if n not in shared)
    return Operand(array, (*batch, *rest))


def _scaled(numbers: Any, matrix: Any) -> Any:
    return numbers[:, None] * matrix
