"""Coefficient fields: arrays, functions of the point, and matrices that are known by their products
alone.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from .._types import RowArray, SubRows, Vector
from .point import Point


@final
class MatVec(eqx.Module):
    """A square matrix known by its products v ↦ A v, never formed: for `SecondOrder` and
    `ParabolicTrace`.

    **Arguments:**

    - `mv`: a linear function of a vector of shape `(d,)`, returning such a vector.

    Any object with a method `mv`, such as a `lineax` linear operator, can be used in its place.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        shift = do.MatVec(lambda v: jnp.roll(v, 1))
        do.SecondOrder(shift).exact(lambda x: jnp.sum(x[1:] * x[:-1]))(jnp.ones(4))  # 3.0
        ```
    """

    mv: Callable[[Vector], Vector]


@final
class Scalar(eqx.Module):
    """A Python number as a field: static, as all Python numbers are."""

    value: int | float = eqx.field(static=True)


Field: TypeAlias = Any
"""An array, a `Scalar`, a callable with u's own signature that returns one (or a matrix-vector
product), a `MatVec` or its like.
"""


def is_matvec(field: Field) -> bool:
    return not isinstance(field, jax.Array) and hasattr(field, "mv")


def is_constant(field: Field) -> bool:
    """Whether a field has the same value at every point."""
    return is_matvec(field) or not callable(field)


def resolve(field: Field, point: Point) -> Any:
    """The field's value at a point: an array or a matrix-vector product."""
    if not is_constant(field):
        field = point.value_of(field)
    if isinstance(field, Scalar):
        return jnp.asarray(float(field.value))
    if is_matvec(field):
        return field.mv
    return field if callable(field) else jnp.asarray(field)


def resolve_vector(field: Field, point: Point) -> Vector:
    """The value of a vector field, which may be a pytree like the argument."""
    value = point.value_of(field) if callable(field) else field
    return ravel_pytree(value)[0]


def apply_rows(matrix: Callable[[Array], Array], rows: SubRows) -> RowArray:
    """A v_r for each row."""
    return jax.vmap(matrix)(rows)


def expect_shape(array: Any, shapes: tuple[tuple[int, ...], ...], what: str) -> None:
    """One clear sentence where a field does not fit its point."""
    if array.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{what} must have shape {expected} at this point; got {array.shape}.")
