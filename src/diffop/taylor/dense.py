"""Products of coefficients that are arrays, mapped over their leading axes."""

from typing import Any

import jax
from jax import lax
from jaxtyping import Array

from ..arrays import as_array, product_of
from ..kernels import call
from .coefficients import Full
from .equation import BilinearMap
from .primitive import Form


def of_arrays(product: BilinearMap, left: Full, right: Full, leads: tuple[int, int]) -> Full:
    """B of two arrays, mapped over their leading axes."""
    factor = left.factor * right.factor
    if product.form is Form.ENTRYWISE:
        rank = len(product.output.shape)
        arrays = (
            _behind(product, each.base, lead, max(leads), rank)
            for each, lead in zip((left, right), leads, strict=True)
        )
        return Full(product.function(*arrays), factor)
    if product.form is Form.DOT and 0 in leads:
        array = _flat_dot(product, left, right, leads)
        if array is not None:
            return Full(array, factor)
    function = product.function
    axes = tuple(0 if lead else None for lead in leads)
    for _ in range(max(leads)):
        function = jax.vmap(function, in_axes=axes)
    return Full(as_array(function(left.base, right.base)), factor)


def _behind(product: BilinearMap, array: Any, lead: int, most: int, rank: int) -> Any:
    """An array with axes of size one where a product with another array needs them, which has
    `most` leading axes and some rank. `jax.vmap` would do the same in ten times the time.
    """
    if array.ndim == 0:
        return array
    missing = rank + lead - array.ndim
    axes = (*range(lead, most), *range(most, most + missing))
    if not axes:
        return array
    return lax.expand_dims(array, axes) if lead else product.expanded(array, axes)


def _flat_dot(product: BilinearMap, left: Full, right: Full, leads: tuple[int, int]) -> Any:
    """A coefficient times a primal matrix, with the coefficient on the left. Points and directions
    are then the rows of one product, in order, whichever side the matrix was on.
    """
    contract, batch = product.params["dimension_numbers"]
    if any(batch) or product.params["out_sharding"] is not None:
        return None
    side = 0 if leads[0] or (leads == (0, 0) and left.base.ndim == 1) else 1
    lead = leads[side]
    coefficient, still = (left, right.base) if side == 0 else (right, left.base)
    moving = coefficient.base
    params = {
        "precision": _precision(product.params["precision"], side),
        "preferred_element_type": product.params["preferred_element_type"],
    }
    is_vector = moving.ndim == lead + 1 and len(contract[side]) == 1
    if is_vector and still.ndim == 2:
        (axis,) = contract[1 - side]
        if coefficient.weighted is not None:
            operands = *coefficient.weighted, still
            return call("weighted rows", _weighted_rows, *operands, axis=axis, **params)
        return call("rows", _rows, moving, still, axis=axis, **params)
    if leads == (0, 0):
        return None
    inner = tuple(axis + lead for axis in contract[side])
    array = lax.dot_general(moving, still, ((inner, contract[1 - side]), ((), ())), **params)
    free = moving.ndim - lead - len(inner)
    others = array.ndim - lead - free
    if side == 0:
        return array
    order = (*range(lead), *range(lead + free, array.ndim), *range(lead, lead + free))
    return array if free == 0 or others == 0 else array.transpose(order)


def _rows(rows: Array, matrix: Array, *, axis: int, **params: Any) -> Array:
    """`(*rows, k) · (k, h)`, or `(*rows, k) · (h, k)`; `axis` is the matrix's axis k."""
    return lax.dot_general(rows, matrix, (((rows.ndim - 1,), (axis,)), ((), ())), **params)


def _weighted_rows(
    numbers: Array, rows: Array, matrix: Array, *, axis: int, **params: Any
) -> Array:
    """`Σ_k numbers_k rows_rk matrix_kh`."""
    return call("rows", _rows, product_of(numbers[None], rows), matrix, axis=axis, **params)


def _precision(precision: Any, side: int) -> Any:
    return precision[::-1] if side == 1 and isinstance(precision, tuple) else precision
