"""Products with a symmetric matrix, or with a symmetric result, by halves.

Of two blocks beside the diagonal one is the other's transpose. With blocks of blocks a product then
takes little more than half of the multiplications. Under `jax.vmap` the primitives below have one
axis of points in front, and where there is one CPU they go through the points one after another:
what belongs to one point stays in its caches, and no array of all points is transposed.

Matrices are symmetric, and so are their tangents; cotangents of matrices come out symmetric.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float

from .binding import varying_alike

_LEAST = 128
"""Blocks with fewer rows are no faster than the whole that they are halves of."""
_LARGE = 256**3
"""From so many multiplications for one point on halves are taken."""

quadratic_p = jex.Primitive("quadratic")
"""`Σ_ij M_ij a_i a_j: (*n, m, m), (*n, m, k) -> (*n, k)`."""
squares_p = jex.Primitive("squares")
"""`Σ_k w_k a_k ⊗ a_k: (*n, m, k), (*n, k) -> (*n, m, m)`, or their sum over all points."""
applied_p = jex.Primitive("applied")
"""`M a: (*n, l, m), (*n, m, k) -> (*n, l, k)`."""

Blocks: TypeAlias = list[Array]


def are_halved(size: int, width: int) -> bool:
    """Whether halves are taken of an m × m matrix and an array `(m, k)`."""
    return size >= 2 * _LEAST and size * size * width >= _LARGE


def share(size: int, width: int) -> float:
    """The part of the multiplications of M a that Σ_ij M_ij a_i a_j takes."""
    return _share(size) if are_halved(size, width) else 1.0


def _share(size: int) -> float:
    half = size // 2
    if half < _LEAST:
        return 1.0
    rest = size - half
    return (half * rest + half**2 * _share(half) + rest**2 * _share(rest)) / size**2


def quadratic(matrix: Array, array: Array) -> Array:
    """Σ_ij M_ij a_i a_j of a symmetric matrix."""
    return quadratic_p.bind(*varying_alike((matrix, array)))


def applied(matrix: Array, array: Array) -> Array:
    """M a, of any matrix."""
    return applied_p.bind(*varying_alike((matrix, array)))


def squares(array: Array, weights: Array, summed: bool = False) -> Array:
    """Σ_k w_k a_k ⊗ a_k."""
    return squares_p.bind(*varying_alike((array, weights)), summed=summed)


def symmetric_product(wide: Float[Array, "n m"], least: int = 512) -> Float[Array, "n n"]:
    """A Aᵀ. XLA's product of a matrix with its own transpose computes all of it."""
    return _whole(_products(wide, wide, least), len(wide), least)


def _products(left: Array, right: Array, least: int) -> Blocks:
    """The blocks of A Bᵀ, which is symmetric, on and below the diagonal."""
    half = left.shape[0] // 2
    if half < least:
        return [left @ right.T]
    upper = _products(left[:half], right[:half], least)
    return [*upper, left[half:] @ right[:half].T, *_products(left[half:], right[half:], least)]


def _whole(blocks: Blocks, size: int, least: int) -> Array:
    """The symmetric matrix of these blocks."""
    rest = iter(blocks)

    def whole(size: int) -> Array:
        half = size // 2
        if half < least:
            return next(rest)
        upper, beside, lower = whole(half), next(rest), whole(size - half)
        return jnp.block([[upper, beside.T], [beside, lower]])

    return whole(size)


def _quadratic(matrix: Array, array: Array) -> Array:
    half = array.shape[0] // 2
    if half < _LEAST:
        return jnp.sum(array * (matrix @ array), axis=0)
    upper, lower = array[:half], array[half:]
    beside = jnp.sum(lower * (matrix[half:, :half] @ upper), axis=0)
    ends = _quadratic(matrix[:half, :half], upper) + _quadratic(matrix[half:, half:], lower)
    return ends + 2 * beside


def _squares(array: Array, weights: Array) -> Array:
    return _whole(_products(array * weights, array, _LEAST), array.shape[0], _LEAST)


def _applied(matrix: Array, array: Array) -> Array:
    return matrix @ array


def _each_point(
    function: Callable[..., Any], ranks: tuple[int, int], one_by_one: bool, *operands: Array
) -> Array:
    """A function of one point at all of them."""
    axes = tuple(0 if x.ndim > rank else None for x, rank in zip(operands, ranks, strict=True))
    if axes == (None, None):
        return function(*operands)
    if not one_by_one:
        return jax.vmap(function, axes)(*operands)
    return lax.map(lambda moving: function(*_beside(moving, operands)), _moving(operands, axes))


def _moving(operands: tuple[Array, ...], axes: tuple[int | None, ...]) -> tuple[Array | None, ...]:
    return tuple(None if axis is None else x for x, axis in zip(operands, axes, strict=True))


def _beside(moving: tuple[Array | None, ...], operands: tuple[Array, ...]) -> list[Array]:
    return [own if x is None else x for x, own in zip(moving, operands, strict=True)]


def _squares_of_points(one_by_one: bool, *operands: Array, summed: bool) -> Array:
    array, weights = operands
    if not summed:
        return _each_point(_squares, (2, 1), one_by_one, *operands)
    if not one_by_one:
        return jnp.sum(_each_point(_squares, (2, 1), False, *operands), axis=0)

    def blocks(moving: tuple[Array | None, ...]) -> Blocks:
        array, weights = _beside(moving, operands)
        return _products(array * weights, array, _LEAST)

    def add(total: Blocks, moving: tuple[Array | None, ...]) -> tuple[Blocks, None]:
        return jax.tree.map(jnp.add, total, blocks(moving)), None

    points = _moving(operands, (0 if array.ndim > 2 else None, 0 if weights.ndim > 1 else None))
    one = jax.eval_shape(lambda: blocks(jax.tree.map(lambda x: x[0], points)))
    nothing = [jnp.zeros(block.shape, block.dtype) for block in one]
    return _whole(lax.scan(add, nothing, points)[0], array.shape[-2], _LEAST)


def _define(
    primitive: jex.Primitive,
    ranks: tuple[int, int],
    function: Callable[..., Any],
    static: tuple[str, ...] = (),
) -> None:
    """Evaluation, shapes, lowering and batching of `function(one_by_one, *operands, **params)`."""

    def abstract(*avals: Any, **params: Any) -> Any:
        shape = jax.eval_shape(functools.partial(function, False, **params), *avals)
        return avals[0].update(shape=shape.shape, dtype=shape.dtype, weak_type=False)

    def lowering(context: Any, *operands: Any, **params: Any) -> Any:
        module = context.module_context
        alone = getattr(module.axis_context, "num_devices", 1) == 1  # or inside of `shard_map`
        chosen = functools.partial(function, alone and tuple(module.platforms) == ("cpu",))
        return mlir.lower_fun(chosen, multiple_results=False)(context, *operands, **params)

    def batch(operands: Any, axes: Any, **params: Any) -> tuple[Array, int]:
        moved = tuple(
            x if axis is None else jnp.moveaxis(x, axis, 0)
            for x, axis in zip(operands, axes, strict=True)
        )
        own = [x.ndim - (a is not None) - r for x, a, r in zip(moved, axes, ranks, strict=True)]
        if not any(own):
            return primitive.bind(*moved, **params), 0
        moving = _moving(moved, tuple(None if axis is None else 0 for axis in axes))
        return lax.map(lambda each: primitive.bind(*_beside(each, moved), **params), moving), 0

    evaluate = functools.partial(function, False)
    primitive.def_impl(jax.jit(evaluate, static_argnames=static))
    primitive.def_abstract_eval(abstract)
    mlir.register_lowering(primitive, lowering)
    batching.primitive_batchers[primitive] = batch


_define(quadratic_p, (2, 2), functools.partial(_each_point, _quadratic, (2, 2)))
_define(applied_p, (2, 2), functools.partial(_each_point, _applied, (2, 2)))
_define(squares_p, (2, 1), _squares_of_points, ("summed",))


def _of_rank(array: Array, rank: int) -> Array:
    """Summed over points, where what it is the cotangent of is the same at all of them."""
    return jnp.sum(array, axis=0) if array.ndim > rank else array


def _turned(matrix: Array) -> Array:
    return jnp.swapaxes(matrix, -1, -2)


def _quadratic_by_array(tangent: Array, matrix: Array, array: Array) -> Array:
    return 2 * jnp.sum(tangent * applied(matrix, array), axis=-2)


def _quadratic_matrix_bar(ct: Array, matrix: Any, array: Array) -> Array:
    points = matrix.aval.ndim > 2
    return squares(array, ct, summed=ct.ndim > 1 and not points)


def _squares_by_array(tangent: Array, array: Array, weights: Array, *, summed: bool) -> Array:
    half = (tangent * weights[..., None, :]) @ _turned(array)
    half = _of_rank(half, 2) if summed else half
    return half + _turned(half)


def _squares_weights_bar(ct: Array, array: Array, weights: Any, *, summed: bool) -> Array:
    found = _of_rank(quadratic((ct + _turned(ct)) / 2, array), weights.aval.ndim)
    return jnp.broadcast_to(found, weights.aval.shape)


def _applied_matrix_bar(ct: Array, matrix: Any, array: Array) -> Array:
    if matrix.aval.ndim == 2 and ct.ndim == array.ndim == 3:
        return lax.dot_general(ct, array, (((0, 2), (0, 2)), ((), ())))
    return _of_rank(ct @ _turned(array), matrix.aval.ndim)


def _applied_array_bar(ct: Array, matrix: Array, array: Any) -> Array:
    return _of_rank(applied(_turned(matrix), ct), array.aval.ndim)


ad.defbilinear(applied_p, _applied_matrix_bar, _applied_array_bar)
ad.defjvp(
    quadratic_p, lambda tangent, matrix, array: quadratic(tangent, array), _quadratic_by_array
)
ad.primitive_transposes[quadratic_p] = lambda ct, matrix, array: (
    _quadratic_matrix_bar(ct, matrix, array),
    None,
)
ad.defjvp(
    squares_p,
    _squares_by_array,
    lambda tangent, array, weights, **params: squares(array, tangent, **params),
)
ad.primitive_transposes[squares_p] = lambda ct, array, weights, **params: (
    None,
    _squares_weights_bar(ct, array, weights, **params),
)
