"""Coefficient fields: arrays, functions of the point, and matrices that are known only by their
products.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from ..array_types import ColumnArray, DirectionValues, Positions, RowArray, SubRows, Vector
from ..called import called_with_point
from ..held import array_of
from .directions import Rows
from .identity import held_if_known
from .point import Point

if TYPE_CHECKING:
    from jax.experimental.sparse import BCOO


@final
class MatVec(eqx.Module):
    """A square matrix known by its products v ↦ A v, never formed: for `SecondOrder` and
    `ParabolicTrace`.

    **Arguments:**

    - `mv`: a linear function of a vector of shape `(d,)`, returning such a vector.

    Any object with a method `mv`, such as a `lineax` linear operator, can be used instead.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        shift = do.operators.MatVec(lambda v: jnp.roll(v, 1))
        do.SecondOrder(shift).exact(lambda x: jnp.sum(x[1:] * x[:-1]))(jnp.ones(4))  # 3.0
        ```
    """

    mv: Callable[[Vector], Vector]


@final
class Number(eqx.Module):
    """A Python number as a coefficient or a field: static, as all Python numbers are."""

    value: Any = eqx.field(static=True)


@final
class SparseColumns(eqx.Module):
    """A matrix with few entries in each column, for `ParabolicTrace` and `SecondOrder`. Each column
    is then a sparse direction.

    **Arguments:**

    - `positions`: the rows of the entries of each column, `(columns, s)`. Columns with fewer than s
        entries are padded with zeros; entries at one position add up.
    - `values`: the entries, of the same shape.
    - `rows`: how many rows the matrix has.

    **Raises:** `ValueError` for other shapes, and for positions outside of the matrix.

    The entries are its leaves; positions are part of its structure, unless they are traced. A
    constant `jax.experimental.sparse.BCOO` may be given instead.

    !!! example

        ```python
        import jax.numpy as jnp
        import numpy as np
        import diffop as do

        i = np.arange(5)
        pairs = np.stack([i, (i + 1) % 5], axis=1)  # column i moves coordinates i and i + 1
        sigma = lambda x: do.operators.SparseColumns(pairs, x[pairs], rows=5)
        do.ParabolicTrace(sigma).exact(lambda x: jnp.sum(x**2))(jnp.ones(5))  # 10.0
        ```
    """

    values: DirectionValues
    rows: int = eqx.field(static=True)
    _positions: Any

    def __init__(self, positions: Positions, values: DirectionValues, rows: int) -> None:
        wrong: Any = len(jnp.shape(values)) != 2 or jnp.shape(positions) != jnp.shape(values)
        if not isinstance(positions, Tracer):
            positions = np.asarray(positions)
            wrong |= positions.dtype.kind not in "iu"
            wrong |= np.any((positions < 0) | (positions >= rows))
        if wrong:
            raise ValueError(
                f"SparseColumns expects values (columns, s), and for each a position that is an "
                f"integer from 0 to {rows - 1}, for {rows} rows; got values {jnp.shape(values)} "
                f"and positions {positions.dtype}{jnp.shape(positions)}, not all of this kind."
            )
        self._positions = held_if_known(positions)
        self.values, self.rows = values, rows

    @property
    def positions(self) -> Positions:
        return array_of(self._positions)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.positions.shape[0]

    @property
    def ndim(self) -> int:
        return 2

    def mv(self, v: Vector) -> Vector:
        """The product with a vector."""
        products = self.values.astype(v.dtype) * v[:, None]
        return jnp.zeros(self.rows, v.dtype).at[self.positions].add(products)

    def matrix(self) -> ColumnArray:
        """All entries, as an array."""
        return Rows(self.values, self.positions).dense(self.rows, self.values.dtype).T


def is_bcoo(field: Any) -> "TypeGuard[BCOO]":
    """Whether a field is a sparse matrix of JAX. It cannot be if that module was not imported,
    which takes half a second.
    """
    sparse = sys.modules.get("jax.experimental.sparse")
    return sparse is not None and isinstance(field, sparse.BCOO)


def sparse_columns(matrix: "BCOO", what: str) -> SparseColumns:
    """The columns of a sparse matrix whose indices are known."""
    if matrix.n_batch or matrix.n_dense or matrix.ndim != 2:
        raise ValueError(
            f"{what} as a BCOO must be a matrix without batch or dense axes; got {matrix!r}."
        )
    if isinstance(matrix.indices, Tracer):
        raise TypeError(
            f"the indices of {what} as a BCOO must be known while tracing; got an array that "
            "depends on traced values. Make the matrix outside of jit, or use "
            "diffop.operators.SparseColumns with positions that are a NumPy array."
        )
    row, column = np.asarray(matrix.indices).T
    inside = (row < matrix.shape[0]) & (column < matrix.shape[1])  # BCOO pads with indices outside
    order = np.argsort(column, kind="stable")
    order = order[inside[order]]
    counts = np.bincount(column[order], minlength=matrix.shape[1])
    rank = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = np.zeros((matrix.shape[1], max(1, int(counts.max(initial=0)))), np.int32)
    known = np.zeros(entry.shape, bool)
    entry[column[order], rank], known[column[order], rank] = order, True
    positions = np.where(known, row[entry] if row.size else 0, 0).astype(np.int32)
    data = jnp.asarray(matrix.data)
    values = jnp.where(known, data[entry] if row.size else 0, jnp.zeros((), data.dtype))
    return SparseColumns(positions, values, matrix.shape[0])


Field: TypeAlias = Any
"""An array, a `Number`, a callable with u's own signature that returns one (or a matrix-vector
product), `SparseColumns`, a `MatVec` or a similar object.
"""


def is_matvec(field: Field) -> bool:
    return not isinstance(field, jax.Array | SparseColumns) and hasattr(field, "mv")


def is_constant(field: Field) -> bool:
    """Whether a field has the same value at every point."""
    return is_matvec(field) or not callable(field)


def resolve(field: Field, point: Point, argnums: int | tuple[int, ...], what: str) -> Any:
    """The field's value at a point: a floating array or a matrix-vector product.

    **Raises:** `TypeError` if it is complex and a differentiated argument is real; `ValueError` for
    a function that takes other arguments than u.
    """
    if not is_constant(field):
        field = field_at(point, field, what)
    if isinstance(field, Number):
        return jnp.asarray(float(field.value))
    if is_bcoo(field):
        field = sparse_columns(field, what)
    real = not _is_complex(point, argnums)
    if isinstance(field, SparseColumns):
        values = as_floating(field.values, what, real)
        return eqx.tree_at(lambda columns: columns.values, field, values)
    product = field.mv if is_matvec(field) else field
    if not callable(product):
        return as_floating(field, what, real)
    return lambda v: expect_shape(
        as_floating(product(v), what, not jnp.iscomplexobj(v)).astype(v.dtype),
        (v.shape,),
        f"a product of {what} with a vector",
    )


def field_at(point: Point, field: Callable[..., Any], what: str) -> Any:
    """The value of a field that is a function of the point; `what` is for the error."""
    return called_with_point(what, field, point.args, point.kwargs)


def resolve_vector(field: Field, point: Point, argnum: int, what: str) -> Vector:
    """The value of a vector field, which may be a pytree like the argument."""
    value = field_at(point, field, what) if callable(field) else field
    # a vector, or a row of numbers, is all coordinates; anything else is like the argument
    rank = 1 if jax.tree_util.all_leaves([value]) else {list: 0, tuple: 0}.get(type(value), -1)
    shapes, like = (jax.tree.map(jnp.shape, tree) for tree in (value, point.args[argnum]))
    if shapes != like and any(np.ndim(leaf) > rank for leaf in jax.tree.leaves(value)):
        raise ValueError(f"{what} must be a vector, or like u's argument, {like}; got {shapes}.")
    return constant_vector(value, what, not _is_complex(point, argnum))


def constant_vector(field: Field, what: str = "a field", real: bool = True) -> Vector:
    """A constant vector field: the entries of a pytree, or one number."""
    if isinstance(field, Number):
        return jnp.full(1, float(field.value))
    return ravel_pytree(jax.tree.map(lambda leaf: as_floating(leaf, what, real), field))[0]


def as_floating(array: Any, what: str, real: bool = True) -> Array:
    """Coefficients as floating numbers, since integers would overflow and truncate. Complex ones
    are refused if the directions cannot be complex.
    """
    array = jnp.asarray(array)
    if real and jnp.iscomplexobj(array):
        raise TypeError(
            f"{what} must be real; got {array.dtype}. Scale the operator by a complex number."
        )
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(float)


def _is_complex(point: Point, argnums: int | tuple[int, ...]) -> bool:
    """Whether all these arguments are complex; u is then analytic in them."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    return all(jnp.issubdtype(point.dtype(a), jnp.complexfloating) for a in numbers)


def product_with_matrix(value: Any) -> Callable[[Array], Array]:
    """A field's value as a matrix-vector product."""
    if isinstance(value, SparseColumns):
        return value.mv
    if callable(value):
        product: Callable[..., Any] = value
        return product
    if value.ndim <= 1:
        return lambda v: value.astype(v.dtype) * v
    return lambda v: value.astype(v.dtype) @ v


def apply_rows(value: Any, rows: SubRows) -> RowArray:
    """A v_r for each row, where A is a field's value."""
    return jax.vmap(product_with_matrix(value))(rows)


def expect_shape(array: Any, shapes: tuple[tuple[int, ...], ...], what: str) -> Any:
    """The array itself. Raises one clear sentence if a field does not fit its point."""
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{what} must have shape {expected} at this point; got {array.shape}.")
    return array
