"""How values change if a number s is added to something: x + s, eˣ e^s, and functions of these.

Softmax and similar functions subtract the largest number from all, which changes nothing but the
range, and stop its gradient. If that number moves instead, the largest exponential is constant,
which saves digits: where 1 + Σ_i e^{x_i} is rounded to 1, a quotient's derivative along the largest
entry would be the difference of two equal numbers. To find which numbers have no effect, they are
followed to the outputs (`_shifted` in `taylor/program.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax.extend.core as jex
import jax.numpy as jnp

from ..primitive import Following, enter_further, of

ShiftRule: TypeAlias = Callable[[jex.JaxprEqn, Sequence[Following]], Following | None]


def _same(eqn: jex.JaxprEqn, operands: Sequence[Following]) -> Following | None:
    first, *others = operands
    kinds: list[Any] = [var.aval for var in eqn.outvars]
    if not all(jnp.issubdtype(kind.dtype, jnp.inexact) for kind in kinds):
        return None  # a rounded number does not follow
    return first if all(other == Following() for other in others) else None


def _of_factors(signs: tuple[int, ...]) -> ShiftRule:
    """For a product or quotient of numbers to which nothing is added."""

    def rule(_: jex.JaxprEqn, operands: Sequence[Following]) -> Following | None:
        if any(operand.added for operand in operands):
            return None
        return Following(
            factor=sum(s * operand.factor for s, operand in zip(signs, operands, strict=True))
        )

    return rule


def _sum(eqn: jex.JaxprEqn, operands: Sequence[Following]) -> Following | None:
    """Terms of a sum must have a common factor, or none."""
    signs = of(eqn).signs
    assert signs is not None
    factors = {operand.factor for operand in operands}
    if len(factors) > 1:
        return None
    added = sum(s * operand.added for s, operand in zip(signs, operands, strict=True))
    return Following(added, factors.pop())


def _exponential(_: jex.JaxprEqn, operands: Sequence[Following]) -> Following | None:
    (operand,) = operands
    return None if operand.factor else Following(factor=operand.added)


def _logarithm(_: jex.JaxprEqn, operands: Sequence[Following]) -> Following | None:
    (operand,) = operands
    return None if operand.added else Following(added=operand.factor)


def _sign(_: jex.JaxprEqn, operands: Sequence[Following]) -> Following | None:
    (operand,) = operands
    return None if operand.added else Following()


enter_further("reshape broadcast_in_dim squeeze transpose convert_element_type", under_shift=_same)
enter_further("name copy", under_shift=_same)
enter_further("add sub neg add_any", under_shift=_sum)
enter_further("reduce_sum abs", under_shift=_of_factors((1,)))
enter_further("mul", under_shift=_of_factors((1, 1)))
enter_further("div", under_shift=_of_factors((1, -1)))
enter_further("exp", under_shift=_exponential)
enter_further("log", under_shift=_logarithm)
enter_further("sign", under_shift=_sign)
