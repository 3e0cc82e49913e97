"""Relations between the places of operands and of an output: multilinear maps whose arrays consist
of zeros and ones, described by coordinates.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import jax.numpy as jnp

from .coordinate import NOWHERE, Coordinate, along, stepped, variables
from .tied_product import TiedProduct


@final
class Relation(NamedTuple):
    """out[o(k)] += sign · Π_i operand_i[a_i(k)], for all places k of variables with some `sizes`
    that satisfy the `equations`.

    `operands` and `output` have a coordinate for each axis, whose names are the numbers of the
    variables; `shape` is the output's. `keep` is an array with a coordinate for each of its axes:
    places where it is false are left out.
    """

    sizes: tuple[int, ...]
    operands: tuple[tuple[Coordinate, ...], ...]
    output: tuple[Coordinate, ...]
    shape: tuple[int, ...]
    equations: tuple[tuple[Coordinate, Coordinate], ...] = ()
    keep: tuple[Any, tuple[Coordinate, ...]] | None = None
    sign: int = 1

    def tie(
        self,
        product: TiedProduct,
        coordinates: Sequence[Sequence[Coordinate]],
        arrays: Sequence[Any],
    ) -> list[Coordinate]:
        """The coordinates of the output, for operands that are blocks, given by their coordinates,
        or arrays.
        """
        names = [product.new_axis(size) for size in self.sizes]

        for places, own, array in zip(self.operands, coordinates, arrays, strict=True):
            if array is not None:
                axes = places[: jnp.ndim(array)]
                product.add_array(array, [place.named(names) for place in axes])
                continue
            for place, coordinate in zip(places, own, strict=True):
                product.equate(coordinate, place.named(names))
        for left, right in self.equations:
            product.equate(left.named(names), right.named(names))
        output = [place.named(names) for place in self.output]
        if self.keep is not None:
            product.add_mask(self.keep[0], [place.named(names) for place in self.keep[1]])
        product.number *= self.sign
        return output


def unchanged(shape: tuple[int, ...], keep: Any = None) -> Relation:
    """The relation that maps each entry to its own place."""
    each = variables(len(shape))
    where = None if keep is None else (keep, each if jnp.ndim(keep) else ())
    return Relation(shape, (each,), each, shape, keep=where)


def entrywise(shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]) -> Relation:
    """Operands broadcast to a shape, along axes of size one and from scalars."""

    def places(own: tuple[int, ...]) -> tuple[Coordinate, ...]:
        first = len(shape) - len(own)
        return tuple(
            along(first + v) if size == shape[first + v] else NOWHERE for v, size in enumerate(own)
        )

    output = variables(len(shape))
    return Relation(shape, tuple(map(places, operands)), output, shape)


def outer_relation(left: tuple[int, ...], right: tuple[int, ...]) -> Relation:
    """Each entry of one operand times each entry of the other."""
    return dot((((), ()), ((), ())), left, right)


def dot(dimension_numbers: Any, left: tuple[int, ...], right: tuple[int, ...]) -> Relation:
    """A `dot_general`."""
    (contract, batch), shapes = dimension_numbers, (left, right)
    sizes: list[int] = []
    places: list[dict[int, Coordinate]] = [{}, {}]
    output: list[Coordinate] = []
    for axes, stays in ((batch, True), (contract, False)):
        for pair in zip(*axes, strict=True):
            variable = along(len(sizes))
            sizes.append(left[pair[0]])
            output += [variable] if stays else []
            for own, axis in zip(places, pair, strict=True):
                own[axis] = variable
    for own, shape in zip(places, shapes, strict=True):
        for axis, size in enumerate(shape):
            if axis not in own:
                own[axis] = along(len(sizes))
                output.append(own[axis])
                sizes.append(size)
    operands = tuple(tuple(own[a] for a in range(len(own))) for own in places)
    shape = tuple(sizes[next(iter(place.terms))] for place in output)
    return Relation(tuple(sizes), operands, tuple(output), shape)


def convolution(
    params: dict[str, Any], left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, ...]
) -> Relation:
    """A `conv_general_dilated`: dilation · i = stride · o + dilation · k − padding along each
    spatial axis.
    """
    lhs, rhs, out = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    features = right[rhs[0]] // (groups * batches)
    batch, channels = left[lhs[0]] // batches, right[rhs[1]]
    # group of features, group of the batch, output feature, batch, channel of the group
    sizes = [groups, batches, features, batch, channels]
    output_feature = stepped(0, {0: batches * features, 1: features, 2: 1})
    operands: list[dict[int, Coordinate]] = [
        {lhs[0]: stepped(0, {1: batch, 3: 1}), lhs[1]: stepped(0, {0: channels, 4: 1})},
        {rhs[0]: output_feature, rhs[1]: along(4)},
    ]
    output, equations = {out[0]: along(3), out[1]: output_feature}, []
    for axis in range(len(lhs) - 2):
        i, k, o = range(len(sizes), len(sizes) + 3)
        sizes += [left[lhs[2 + axis]], right[rhs[2 + axis]], shape[out[2 + axis]]]
        low, stride = int(params["padding"][axis][0]), int(params["window_strides"][axis])
        spread, between = int(params["lhs_dilation"][axis]), int(params["rhs_dilation"][axis])
        equations.append((along(i, spread), stepped(-low, {o: stride, k: between})))
        operands[0][lhs[2 + axis]], operands[1][rhs[2 + axis]] = along(i), along(k)
        output[out[2 + axis]] = along(o)
    ordered = (tuple(each[a] for a in range(len(each))) for each in (*operands, output))
    first, second, places = ordered
    return Relation(tuple(sizes), (first, second), places, shape, tuple(equations))


def reshape(before: tuple[int, ...], after: tuple[int, ...]) -> Relation:
    """Entries in row-major order in another shape. Axes are split if both shapes consist of the
    same parts.
    """
    sizes = (*before, *after)
    count = len(before)

    def flat(shape: tuple[int, ...], first: int) -> Coordinate:
        steps, step = {}, 1
        for v in reversed(range(len(shape))):
            steps[first + v] = step
            step *= shape[v]
        return stepped(0, steps)

    equation = (flat(before, 0), flat(after, count))
    operand = variables(count)
    output = variables(len(after), count)
    return Relation(sizes, (operand,), output, after, (equation,))
