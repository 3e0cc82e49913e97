"""Scalar coefficients: Python numbers are part of an operator's structure, arrays are
its leaves.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from ..array_types import ScalarArray
from ..arrays import times
from ..called import called_with_point
from ..jets.fields import Number, as_floating
from ..jets.point import Point

ScalarCoefficient: TypeAlias = Number | ScalarArray

_WHAT = "a coefficient c, as in c * L,"

ZERO = Number(0)
"""Equal to 0, 0.0 and 0j as coefficients, and to no array, whose value may be learnt."""


def as_coefficient(value: Any) -> ScalarCoefficient | None:
    """A scalar as a coefficient, an array as a floating one; None for anything that is not a scalar
    or an array.

    **Raises:** `ValueError` for an array with axes.
    """
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float | complex):
        return Number(value)
    if isinstance(value, jax.Array | np.ndarray):
        if value.ndim:
            raise ValueError(
                "an operator is scaled by a scalar or a 0-d array; got an array of shape "
                f"{value.shape}. A coefficient that varies with the point is a callable: c * A "
                "with c(*args). A matrix M times the values of A is a function of them: "
                "FunctionOf(lambda value: M @ value, A)."
            )
        return as_floating(value, "a scalar coefficient", real=False)
    return None


def number_of(coefficient: ScalarCoefficient) -> Any:
    """The coefficient as a number or an array for computations."""
    return coefficient.value if isinstance(coefficient, Number) else coefficient


def add(left: ScalarCoefficient, right: ScalarCoefficient) -> ScalarCoefficient:
    result = number_of(left) + number_of(right)
    return Number(result) if isinstance(left, Number) and isinstance(right, Number) else result


def multiply(left: ScalarCoefficient, right: ScalarCoefficient) -> ScalarCoefficient:
    result = number_of(left) * number_of(right)
    return Number(result) if isinstance(left, Number) and isinstance(right, Number) else result


def coefficient_at(function: Callable[..., Any], point: Point) -> Array:
    """A coefficient function at a point."""
    value = jnp.asarray(called_with_point(_WHAT, function, point.args, point.kwargs))
    if value.shape != ():
        raise ValueError(
            f"a coefficient function must return a scalar at a point; got shape {value.shape}. "
            "Map over points with jax.vmap. A vector or a matrix times the values of A is a "
            "function of them and of the point: FunctionOf(lambda value, x: c(x) * value, A)."
        )
    return value


def times_scalar(leaf: Any, factor: Any) -> Any:
    """A floating output, or a literal of a program, times a scalar, in the output's own precision;
    complex if the factor is.

    **Raises:** `ValueError` for an integer beyond the range of double precision.
    """
    if isinstance(factor, int | float):
        if factor == 1:
            return leaf
        number = _as_float(factor)
        return times(leaf, number) if hasattr(leaf, "dtype") else leaf * number
    factor = jnp.asarray(factor)
    if not jnp.iscomplexobj(factor):
        return leaf * factor.astype(leaf.dtype)
    double = jnp.finfo(leaf.dtype).bits > 32
    kind = jnp.complex128 if double else jnp.complex64
    return leaf.astype(kind) * factor.astype(kind)


def _as_float(number: float | int) -> float:
    """The number as a float: JAX makes 32-bit arrays of integers."""
    try:
        return float(number)
    except OverflowError as error:
        raise ValueError(
            "a coefficient of an operator must be within double precision, below 1.8e308; got an "
            f"integer of {len(str(abs(number)))} digits. Scale the function or the point instead."
        ) from error


def sign_and_text(coefficient: ScalarCoefficient) -> tuple[str, str]:
    """How a coefficient prints in a sum: its sign and its magnitude, empty for one."""
    if isinstance(coefficient, Number):
        value = coefficient.value
    elif isinstance(coefficient, Tracer):
        return "+", "c"
    else:
        value = coefficient.item()
    if isinstance(value, complex) and value.real and value.imag:
        real, sign, imaginary = f"{value.real:g}", *_signed(value.imag)
        return "+", f"({real} {sign} {imaginary}i)".replace("-", "−")
    if isinstance(value, complex) and value.imag:
        sign, text = _signed(value.imag)
        return sign, f"{text}i"
    return _signed(value.real)


def _signed(value: int | float) -> tuple[str, str]:
    text = f"{abs(value):g}"
    return ("−" if value < 0 else "+"), ("" if text == "1" else text)
