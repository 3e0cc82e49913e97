"""Taylor coefficients, structured: what is known to be zero costs nothing.

A coefficient belongs to a value of the program (its *primal*). It has the primal's shape behind
`lead` leading axes, one for the directions or for the collapsed sums (see `Family`). Rules never
look inside a coefficient: they go through `linear_map`, `bilinear_map` and `total`, so a new
structure is a new class here and a case in these functions.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._types import AnyArray


@final
class Zero(eqx.Module):
    """A coefficient that is zero whatever the input: no array, no arithmetic."""


@final
class Dense(eqx.Module):
    """A coefficient held as one array, `lead` axes followed by the primal's shape."""

    array: AnyArray


Coefficient: TypeAlias = Zero | Dense
Series: TypeAlias = tuple[Coefficient, ...]
"""The coefficients of order 1, …, K of one value along one family (index k − 1 holds order k)."""


def is_zero(coefficient: Coefficient) -> bool:
    return isinstance(coefficient, Zero)


def all_zero(series: Sequence[Coefficient]) -> bool:
    return all(map(is_zero, series))


def zeros(order: int) -> Series:
    return (Zero(),) * order


def linear_map(
    function: Callable[..., Any],
    lead: int,
    operands: Sequence[Coefficient],
    primals: Sequence[Any],
) -> list[Coefficient]:
    """Apply a function that is jointly linear in its operands behind `lead` leading axes.

    `primals` give the shape and dtype of operands that are zero. The function returns a list of
    arrays.
    """
    if all_zero(operands):
        return []
    axes = tuple(0 if isinstance(operand, Dense) else None for operand in operands)
    arrays = [
        operand.array if isinstance(operand, Dense) else jnp.zeros_like(primal)
        for operand, primal in zip(operands, primals, strict=True)
    ]
    for _ in range(lead):
        function = jax.vmap(function, in_axes=axes)
    return [Dense(jnp.asarray(array)) for array in function(*arrays)]


def bilinear_map(
    function: Callable[..., Array],
    left: Coefficient,
    right: Coefficient,
    leads: tuple[int, int],
) -> Coefficient:
    """Apply a bilinear function to two coefficients with `leads` leading axes each (equal, or one
    of them none).
    """
    if not (isinstance(left, Dense) and isinstance(right, Dense)):
        return Zero()
    axes = tuple(0 if lead else None for lead in leads)
    for _ in range(max(leads)):
        function = jax.vmap(function, in_axes=axes)
    return Dense(jnp.asarray(function(left.array, right.array)))


def total(coefficients: Sequence[Coefficient]) -> Coefficient:
    """The sum of coefficients of one shape."""
    arrays = [coefficient.array for coefficient in coefficients if isinstance(coefficient, Dense)]
    if not arrays:
        return Zero()
    result = arrays[0]
    for array in arrays[1:]:
        result = result + array
    return Dense(result)


def scale(coefficient: Coefficient, factor: float | int) -> Coefficient:
    """A coefficient times a Python number."""
    if isinstance(coefficient, Zero) or factor == 1:
        return coefficient
    return Dense(coefficient.array * factor)


def instantiate(coefficient: Coefficient, lead_shape: tuple[int, ...], primal: Any) -> Dense:
    """The same coefficient as an array, also where it is zero."""
    if isinstance(coefficient, Dense):
        return coefficient
    return Dense(jnp.broadcast_to(jnp.zeros_like(primal), (*lead_shape, *jnp.shape(primal))))
