"""Factors of entries that all directions share: derivatives of the primal."""

from collections.abc import Hashable
from typing import final

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ...arrays import is_finite, product_of, shifted, times, zeros_like


@final
class EntryFactor:
    """A number for each entry, which multiplies coefficients of all orders."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._behind = {0: array}
        self._where: dict[int, Array] = {}
        self._zeros: dict[Hashable, Array] = {}

    def behind(self, lead: int) -> Array:
        """The same with leading axes of size one; a single number needs none."""
        if self.array.ndim == 0:
            return self.array
        if lead not in self._behind:
            self._behind[lead] = lax.expand_dims(self.array, tuple(range(lead)))
        return self._behind[lead]

    def times(self, values: Array, lead: int) -> Array:
        """Values with leading axes, times it."""
        return product_of(self.behind(lead), values)

    def masked(self, values: Array, whole: bool) -> Array:
        """Values that it will multiply, masked where it vanishes, see `masks.masked`."""
        lead, shape = values.ndim - self.array.ndim, values.shape
        if lead not in self._where:
            self._where[lead] = lax.ne(self.behind(lead), self.array.dtype.type(0))
        counts = self._where[lead]
        if not whole:
            counts = lax.bitwise_or(counts, is_finite(values))
        elif counts.shape != shape:
            axes = tuple(range(values.ndim - counts.ndim, values.ndim))
            counts = lax.broadcast_in_dim(counts, shape, axes)
        kind = jax.typeof(values)
        if kind not in self._zeros:
            self._zeros[kind] = zeros_like(values)
        return lax.select(counts, values, self._zeros[kind])

    def capped(self, values: Array) -> Array:
        """Nonnegative values that it will multiply, finite where it vanishes. The cap is so far
        below the largest number that reverse mode has room for another factor.
        """
        factor = self.behind(values.ndim - self.array.ndim)
        limits = jnp.finfo(factor.dtype)
        most, room = float(limits.max), float(limits.max) * float(limits.eps)
        cap = shifted(times(lax.abs(lax.sign(factor)), most), room)  # infinite unless it is 0
        return _at_most(values, jnp.broadcast_to(cap, values.shape))


@jax.custom_jvp
def _at_most(values: Array, cap: Array) -> Array:
    return lax.min(values, cap)


@_at_most.defjvp
def _at_most_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Where values are capped the factor that multiplies them is 0, and so is their gradient.
    Comparing again would only multiply by 0.
    """
    return _at_most(*primals), tangents[0]
