"""Designs: how draws depend on each other, and the standard error that follows.

An estimate is a sum Σ_r z_r of the contributions of its draws. They come in strata: draws of one
stratum are exchangeable, draws of different strata uncorrelated. With n draws in a stratum

    Var[Σ_r z_r] = E[ n/(n−1) Σ_r |z_r − z̄|² ] · (1 − n/N),

where N is infinite for independent draws. For n of N terms without replacement N is their number
(survey sampling). For n orthogonal directions of R^N it is N as well: Σ_r v_rᵀA v_r over all N of
them is N tr A, so the covariance of two is −1/(N − 1) times the variance of one, as for terms
without replacement.
"""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..array_types import AnyArray


@final
class Stratum(NamedTuple):
    """n draws; `population` is N."""

    n: int
    population: int | float = math.inf


@final
class Design(NamedTuple):
    """How the draws of an estimate were made.

    - `name`: estimates of one design with one key use the same draws.
    - `strata`: in the order of the draws.
    - `unknown`: why there is no standard error, or None if there is one.
    """

    name: Hashable
    strata: tuple[Stratum, ...]
    unknown: str | None = None


def deviations(contributions: AnyArray, design: Design) -> Array:
    """√(n/(n−1) (1 − n/N)) (z_r − z̄) of every draw, of its own stratum, from z, draws along the
    first axis. The sum of their squares is an unbiased estimate of Var[Σ_r z_r].

    **Raises:** `ValueError` if the design has no standard error.
    """
    if design.unknown is not None:
        raise ValueError(design.unknown)
    strata = design.strata
    for stratum in strata:
        if stratum.n == 1 and stratum.population != 1:
            where = "" if len(strata) == 1 else " in each stratum"
            raise ValueError(
                f"a standard error needs at least 2 draws{where}; got an estimate with n = 1"
                f"{where}."
            )
    found = []
    for these, draws in by_size(strata):
        values = contributions[draws]  # (strata of one size, draws in each, …)
        roots = np.array([math.sqrt(_factor(strata[number])) for number in these])
        roots = roots.reshape(-1, *[1] * (values.ndim - 1))
        own = values - jnp.mean(values, axis=1, keepdims=True)
        found.append((jnp.asarray(roots, own.dtype) * own).reshape(draws.size, *own.shape[2:]))
    return found[0] if len(found) == 1 else jnp.concatenate(found)


def by_size(strata: Sequence[Stratum]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The strata grouped by their number of draws: their numbers, and the positions of their draws
    among all draws, of shape (strata, draws in each).
    """
    sizes = np.array([stratum.n for stratum in strata])
    starts = np.cumsum(sizes) - sizes
    groups = [np.flatnonzero(sizes == n) for n in np.unique(sizes)]
    return [(these, starts[these, None] + np.arange(int(sizes[these[0]]))) for these in groups]


def _factor(stratum: Stratum) -> float:
    n, population = stratum
    return 0.0 if n == population else n / (n - 1) * (1 - n / population)
