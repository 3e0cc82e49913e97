"""Families of curves, and the bundles of Taylor coefficients that a program's values carry along
them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import AnyArray, CollapsingWeights
from .coefficients import Coefficient, Dense, Series, Zero, all_zero, zeros


@final
class Family(eqx.Module):
    """Curves x(t) = x + Σ_k t^k x_k through one point, pushed together to order K.

    Every value of the program then has coefficients of order 1 … K−1 for each of the `size` curves,
    and of order K only the sums Σ_r w_r x_{K,r}: the top coefficient enters every rule linearly, so
    its weighted sum can be carried in its stead (the collapse). With `weights` of shape (m, size)
    there are m such sums; with `weights=None` order K is kept curve by curve. `size=None` is a lone
    curve without an axis for directions.
    """

    weights: CollapsingWeights | None
    order: int = eqx.field(static=True)
    size: int | None = eqx.field(static=True)

    def lead(self, order: int) -> int:
        """How many axes stand before the primal's in a coefficient of this order."""
        return len(self.lead_shape(order))

    def lead_shape(self, order: int) -> tuple[int, ...]:
        if order == self.order and self.weights is not None:
            return self.weights.shape[:-1]
        return () if self.size is None else (self.size,)

    @property
    def curves(self) -> int:
        """Leading axes of a coefficient held curve by curve."""
        return 0 if self.size is None else 1

    def collapse(self, coefficient: Coefficient) -> Coefficient:
        """Σ_r w_r c_r of a coefficient held curve by curve."""
        if isinstance(coefficient, Zero) or self.weights is None:
            return coefficient
        weights = self.weights.astype(coefficient.array.dtype)
        return Dense(jnp.tensordot(weights, coefficient.array, axes=1))


Families: TypeAlias = tuple[Family, ...]


@final
class Bundle(eqx.Module):
    """A value that depends on the curves: its primal, shared by all, and its series along each
    family.
    """

    primal: AnyArray
    series: tuple[Series, ...]


Value: TypeAlias = Any
"""A `Bundle`, or an array that does not depend on the curves."""


def primal_of(value: Value) -> Any:
    return value.primal if isinstance(value, Bundle) else value


def series_of(value: Value, families: Families, index: int) -> Series:
    """The series along one family; zeros for a value that does not move."""
    return value.series[index] if isinstance(value, Bundle) else zeros(families[index].order)


def is_moving(value: Value) -> bool:
    return isinstance(value, Bundle)


def bundle(primal: Any, series: Sequence[Series]) -> Value:
    """A bundle, or the plain primal when nothing moves or nothing can (integers, booleans)."""
    if all(map(all_zero, series)) or not jnp.issubdtype(jax.typeof(primal).dtype, jnp.inexact):
        return primal
    return Bundle(jnp.asarray(primal), tuple(series))


Expansion: TypeAlias = Callable[[Family, Sequence[Series]], Sequence[Series]]


def expand(
    families: Families,
    operands: Sequence[Value],
    primals_out: Sequence[Any],
    expansion: Expansion,
) -> list[Value]:
    """Run one rule along every family: `expansion` maps the operands' series to the outputs'
    series.
    """
    per_family = []
    for index, family in enumerate(families):
        series = [series_of(operand, families, index) for operand in operands]
        if all(map(all_zero, series)):
            per_family.append([zeros(family.order)] * len(primals_out))
        else:
            per_family.append(expansion(family, series))
    return [
        bundle(primal, [series[position] for series in per_family])
        for position, primal in enumerate(primals_out)
    ]
