"""Solitons by Hirota's method.

A polynomial P(p) of the wave vector p = (k, …, ω), even and linear in ω, is an equation's bilinear
form. For waves θ_i = p_i·(x, …, t) + phase_i that satisfy the dispersion relation P(p_i) = 0 let

    F = Σ_S exp(Σ_{i∈S} θ_i + Σ_{i<j∈S} log A_ij),     A_ij = −P(p_i − p_j) / P(p_i + p_j),

where the sum is over the subsets S of the waves: 1 + e^θ for one, 1 + e^θ₁ + e^θ₂ + A₁₂ e^(θ₁+θ₂)
for two. Then derivatives of log F solve the equation. Source: Hirota, "Exact solution of the
Korteweg-de Vries equation for multiple collisions of solitons", 1971.

Each term of F is the exponential of an affine function, E_S = κ_S·(x, …, t) + const. With the
probabilities π = softmax(E), which neither overflow nor cancel,

    ∂_x log F = Σ π_S κ_S = mean of κ,     ∂_x² log F = Σ π_S (κ_S − mean)² = variance of κ,

where κ_S is the first component of the slope.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Bilinear = Callable[..., float]
"""P as a function of k, …, ω."""


@final
class Soliton(NamedTuple):
    """One soliton: $θ = k·x + ω t$ + phase, where the equation determines $ω$.

    - `wavenumber`: one number for each coordinate of space.
    - `phase`: $θ$ at the origin at time 0.
    """

    wavenumber: tuple[int | float, ...]
    phase: int | float = 0.0


@final
class Tau(NamedTuple):
    """log F, where the terms of F are exponentials of affine functions of the point.

    - `slopes`: shape `(terms, dim)`.
    - `offsets`: shape `(terms,)`.
    """

    slopes: np.ndarray
    offsets: np.ndarray

    def log_derivatives(self, x: Float[Array, " dim"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """$∂ log F$ and $∂² log F$, along the first coordinate."""
        weights = jax.nn.softmax(
            jnp.asarray(self.slopes, x.dtype) @ x + jnp.asarray(self.offsets, x.dtype)
        )
        slopes = jnp.asarray(self.slopes[:, 0], x.dtype)
        mean = weights @ slopes
        return mean, weights @ jnp.square(slopes - mean)


def frequency(bilinear: Bilinear, wavenumber: Sequence[int | float]) -> float:
    """The ω with P(k, …, ω) = 0; P is linear in ω."""
    constant = bilinear(*wavenumber, 0.0)
    return -constant / (bilinear(*wavenumber, 1.0) - constant)


def tau(bilinear: Bilinear, solitons: Sequence[Soliton]) -> Tau:
    """The tau function F of some waves.

    **Raises:** `ValueError` if a wave has no frequency, or if two waves have no regular
    superposition: A must be positive so that F has no zeros.
    """
    vectors = [
        np.array((*soliton.wavenumber, _frequency(bilinear, soliton))) for soliton in solitons
    ]
    slopes, offsets = [], []
    for choice in itertools.product((False, True), repeat=len(solitons)):
        members = [index for index, chosen in enumerate(choice) if chosen]
        slopes.append(sum((vectors[i] for i in members), np.zeros(len(vectors[0]))))
        offsets.append(
            math.fsum(solitons[i].phase for i in members)
            + math.fsum(
                _interaction(bilinear, vectors[i], vectors[j])
                for i, j in itertools.combinations(members, 2)
            )
        )
    return Tau(np.stack(slopes), np.array(offsets))


def _frequency(bilinear: Bilinear, soliton: Soliton) -> float:
    try:
        return frequency(bilinear, soliton.wavenumber)
    except ZeroDivisionError:
        raise ValueError(
            f"a wave of wavenumber {soliton.wavenumber} has no frequency; choose another "
            "wavenumber."
        ) from None


def _interaction(bilinear: Bilinear, p: np.ndarray, q: np.ndarray) -> float:
    """log A of two waves."""
    apart, together = float(bilinear(*(p - q))), float(bilinear(*(p + q)))
    if apart * together >= 0:
        raise ValueError(
            f"waves of wavenumbers {p[:-1].tolist()} and {q[:-1].tolist()} have no regular "
            f"superposition; choose other wavenumbers."
        )
    return math.log(-apart / together)
