"""Probes that draw terms from parts of a sum: strata of neighbours, even steps, fixed terms."""

from collections.abc import Iterable
from operator import index
from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..array_types import Key, Magnitudes
from ..jets.design import Stratum
from ..jets.point import Point
from ..jets.terms import Factors
from ..scalars import is_integer, plain
from . import sampling
from .base import number_of_terms
from .by_term import AbstractTermProbe, Selection, without_replacement


@final
class Stratified(AbstractTermProbe):
    """Terms in strata of neighbours, with some drawn from each, without replacement.

    With `per_stratum` = m the N terms are cut into ⌊n/m⌋ strata of nearly equal size. The variance
    is $Σ_h N_h²/n_h (1 − n_h/N_h) S_h²$. Only the variance within the strata counts, so it is small
    if terms change slowly with their number.

    **Arguments:**

    - `per_stratum`: how many are drawn from each stratum. With 2 or more there is an unbiased
        standard error. 1 has the least variance if terms change slowly, and no standard error.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 16, probes=do.probes.Stratified())
        ```
    """

    per_stratum: int = eqx.field(static=True, converter=plain, default=2)
    name: ClassVar[str] = "stratified"

    def __check_init__(self) -> None:
        if not is_integer(self.per_stratum) or self.per_stratum < 1:
            raise ValueError(
                f"per_stratum of Stratified must be an integer of at least 1; got "
                f"{self.per_stratum!r}."
            )

    def select(self, key: Key, total: int, n: int) -> Selection:
        strata = cut(total, n, max(1, n // self.per_stratum))
        numbers = sampling.stratified(key, strata)
        weights = np.concatenate([np.full(k, size / k) for k, size in strata])
        unknown = None
        if any(k == 1 < size for k, size in strata):
            unknown = (
                "one draw from each stratum has no unbiased standard error; got Stratified with "
                f"{n} draws in {len(strata)} strata. Use per_stratum=2."
            )
        return Selection(numbers, weights, strata, unknown)

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        return without_replacement(values, cut(values.shape[0], n, max(1, n // self.per_stratum)))


def cut(total: int, n: int, number: int) -> tuple[Stratum, ...]:
    """Strata of nearly equal size with nearly equal numbers of draws, large ones first. Large
    strata have one term more than the others, and one draw more if draws are left over.
    """
    size, larger = divmod(total, number)
    draws, more = divmod(n, number)
    return tuple(Stratum(draws + (h < more), size + (h < larger)) for h in range(number))


@final
class Systematic(AbstractTermProbe):
    """Every (N/n)-th term, cyclically, from a random first one on.

    It is as even as [`diffop.probes.Stratified`][] with one draw for each stratum, and the cheapest
    draw. It has no unbiased standard error, and a large error if terms have a period.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 16, probes="systematic")
        ```
    """

    name: ClassVar[str] = "systematic"

    def select(self, key: Key, total: int, n: int) -> Selection:
        first = sampling.uniform(key, total, 1)
        numbers = (first + jnp.asarray(self._steps(total, n))) % total
        unknown = (
            "systematic draws have no unbiased standard error: all of them follow from the first. "
            'Use probes="stratified" or "sparse".'
        )
        return Selection(numbers, np.full(n, total / n), (Stratum(n),), unknown)

    def _steps(self, total: int, n: int) -> np.ndarray:
        return np.arange(n) * total // n

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        """The variance over all first terms, which are equally likely."""
        total = values.shape[0]
        estimates = sum(jnp.roll(values, -int(step), axis=0) for step in self._steps(total, n))
        return jnp.var(jnp.asarray(estimates) * (total / n), axis=0)


@final
class Split(AbstractTermProbe):
    """Some terms always, and n of the others without replacement.

    It is for operators with a few large terms that are known beforehand: these have no variance.

    **Arguments:**

    - `exact`: the numbers of the terms that are always taken, such as coordinates for $Δ$.

    **Raises:** `ValueError` for repeated or negative numbers, and, when it is evaluated, for
    numbers of terms that do not exist.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        probe = do.probes.Split(exact=(0, 1))
        E = do.Laplacian().estimate(jax.random.key(0), 4, probes=probe)
        stats = E.stats(lambda x: 50 * x[0] ** 2 + jnp.sum(x**2))(jnp.ones(100))
        stats.value, stats.standard_error, stats.jets  # 300, 0, 6
        ```
    """

    exact: tuple[int, ...] = eqx.field(static=True)
    name: ClassVar[str] = "split"

    def __init__(self, exact: Iterable[int]) -> None:
        chosen: tuple[Any, ...] = tuple(exact) if isinstance(exact, Iterable) else (None,)
        numbers = tuple(sorted(index(i) for i in map(plain, chosen) if is_integer(i)))
        different = len(set(numbers)) == len(chosen)
        if not different or (numbers and numbers[0] < 0):
            raise ValueError(
                f"exact of Split must be different numbers of terms, counted from 0; got {exact!r}."
            )
        self.exact = numbers

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        # not if the last of them does not exist, which `select` refuses
        return (self.exact or (-1,))[-1] < number_of_terms(factors, point) <= n + len(self.exact)

    def select(self, key: Key, total: int, n: int) -> Selection:
        kept = np.array(self.exact, dtype=np.int32)
        if kept.size and kept[-1] >= total:
            raise ValueError(
                f"exact of Split names term {kept[-1]}, but there are only {total} here (numbered "
                "from 0)."
            )
        others = total - kept.size
        drawn = sampling.subset(key, others, n)
        # the j-th of the others is j plus the number of exact terms before it
        before = jnp.asarray(kept - np.arange(kept.size), drawn.dtype)
        drawn = drawn + jnp.searchsorted(before, drawn, "right").astype(drawn.dtype)
        return Selection(
            jnp.concatenate([jnp.asarray(kept), drawn.astype(kept.dtype)]),
            np.concatenate([np.ones(kept.size), np.full(n, others / n)]),
            tuple(each for each in (Stratum(kept.size, kept.size), Stratum(n, others)) if each.n),
        )

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        others = jnp.delete(values, np.array(self.exact, int), axis=0)
        return without_replacement(others, (Stratum(n, others.shape[0]),))
