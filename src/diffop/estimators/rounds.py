"""Rounds of b draws each: their running mean and its variance.

With y = b z for the contributions z of a round, each y by itself is unbiased for the whole sum.
After k draws of one stratum the estimate is their mean ȳ, and

    Var ȳ = E[ S²/(k (k−1)) ] (1 − k/N),        S² = Σ |y − ȳ|²,

for independent draws (N infinite) and for the first k of a random order of N terms. S is pooled
over all draws: with k − 1 degrees of freedom it is less noisy than the rounds' own spreads, which
have (b − 1) k/b. Adding a draws with mean ȳ' and spread S' to k draws,

    ȳ ← ȳ + δ a/(k+a),    S² ← S² + S'² + |δ|² k a/(k+a),    δ = ȳ' − ȳ,

cancels nothing (Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983).

Draws that depend on each other in other ways (strata, orthogonal directions) do so only within
their round. Rounds with different keys are independent. So for R rounds with sums s_r and unbiased
estimates V_r of their variances, the estimate is the mean of the s_r, with the variance Σ_r V_r/R².
"""

import math
from abc import abstractmethod
from typing import NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..array_types import AnyArray, ScalarArray
from ..jets.design import Design, Stratum, deviations
from ..probes.windows import is_window
from .norms import norm_over_first


@final
class Tally(NamedTuple):
    """The estimate so far, and the numbers from which its standard error is computed: roots of
    sums of squares, because squares may be out of range.
    """

    mean: Array
    spread: Array


def empty_tally(zero: Array) -> Tally:
    """The tally before the first round, for contributions with the shape of `zero`. Half precision
    is too little for sums over rounds.
    """
    mean = zero.astype(np.promote_types(zero.dtype, np.float32))
    return Tally(mean, jnp.real(mean))


class AbstractRounds(eqx.Module):
    """How the rounds of one design are merged.

    - `batch`: draws in a round.
    - `most`: draws in all rounds.
    """

    batch: eqx.AbstractVar[int]
    most: eqx.AbstractVar[int]

    @property
    def number(self) -> int:
        """The largest number of rounds."""
        return -(-self.most // self.batch)

    def used(self, rounds: ScalarArray) -> ScalarArray:
        """The number of draws in this many rounds."""
        return jnp.minimum(rounds * self.batch, self.most)

    @abstractmethod
    def add(self, tally: Tally, contributions: AnyArray, rounds: ScalarArray) -> Tally:
        """Adds one round after this many; nothing new if all draws have been used."""

    @abstractmethod
    def standard_error(self, tally: Tally, rounds: ScalarArray) -> Array:
        """The root of an unbiased estimate of the variance of the mean after this many rounds."""


@final
class Pooled(AbstractRounds):
    """Draws of one stratum of a population, which is infinite for independent draws."""

    batch: int = eqx.field(static=True)
    most: int = eqx.field(static=True)
    population: int | float = eqx.field(static=True)

    def add(self, tally: Tally, contributions: AnyArray, rounds: ScalarArray) -> Tally:
        before, after = self.used(rounds), self.used(rounds + 1)
        y = self.batch * contributions.astype(tally.mean.dtype)
        valid = (jnp.arange(self.batch) < after - before).reshape((-1,) + (1,) * (y.ndim - 1))
        kind, real = y.dtype, tally.spread.dtype  # complex outputs have a real spread
        new, k, total = ((each).astype(real) for each in (after - before, before, after))
        mean = jnp.sum(jnp.where(valid, y, 0), axis=0) / jnp.maximum(new, 1).astype(kind)
        step = mean - tally.mean
        between = step * jnp.sqrt(k * new / total).astype(kind)
        return Tally(
            tally.mean + step * (new / total).astype(kind),
            _root_of_squares(tally.spread, jnp.where(valid, y - mean[None], 0), between[None]),
        )

    def standard_error(self, tally: Tally, rounds: ScalarArray) -> Array:
        k = jnp.maximum(self.used(rounds), 2).astype(tally.spread.dtype)
        error = tally.spread / jnp.sqrt(k * (k - 1))
        if math.isinf(self.population):
            return error
        left = (self.population - k) / self.population  # 1 − k/N rounds: not 0 for N
        return error * jnp.sqrt(left)


@final
class RoundByRound(AbstractRounds):
    """Whole rounds, independent of each other, for any design that has a standard error."""

    batch: int = eqx.field(static=True)
    most: int = eqx.field(static=True)
    design: Design = eqx.field(static=True)

    def add(self, tally: Tally, contributions: AnyArray, rounds: ScalarArray) -> Tally:
        z = contributions.astype(tally.mean.dtype)
        total = (rounds + 1).astype(z.dtype)
        step = (jnp.sum(z, axis=0) - tally.mean) / total
        more = rounds < self.number
        return Tally(
            tally.mean + jnp.where(more, step, 0),
            _root_of_squares(tally.spread, jnp.where(more, deviations(z, self.design), 0)),
        )

    def standard_error(self, tally: Tally, rounds: ScalarArray) -> Array:
        made = jnp.clip(rounds, 1, self.number).astype(tally.spread.dtype)
        return tally.spread / made


def rounds_of(design: Design, batch: int, most: int) -> AbstractRounds:
    """The best way to merge rounds of a design."""
    if is_window(design):
        (stratum,) = design.strata
        assert isinstance(stratum.population, int)
        return Pooled(batch, min(most, stratum.population), stratum.population)
    if design.strata == (Stratum(batch),) and design.unknown is None:
        return Pooled(batch, most, math.inf)
    return RoundByRound(batch, most // batch * batch, design)


def _root_of_squares(spread: Array, *more: Array) -> Array:
    """The root of the sum of squares of a spread and of deviations along first axes."""
    return norm_over_first(jnp.concatenate([spread[None], *map(jnp.abs, more)]))
