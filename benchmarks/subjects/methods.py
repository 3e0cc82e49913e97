"""Other ways to compute the same, each a map from functions to functions, as diffop's are."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import diffop as do

Function = Callable[[jax.Array], Any]
Method = Callable[[Function], Function]


def itself(u: Function) -> Function:
    """No derivative at all: the plain network, the floor of every cost."""
    return u


def laplacian_by(baseline: str) -> Method:
    """The exact Laplacian by one of diffop's baselines: there are as many draws as coordinates."""

    def transform(u: Function) -> Function:
        def laplacian(x: jax.Array) -> jax.Array:
            key = jax.random.key(0)
            return do.baselines.estimate(baseline, do.Laplacian(), key, x.size)(u)(x)

        return laplacian

    return transform


def stde(key: jax.Array, dim: int, n: int) -> Method:
    """The paper's method with the paper's sampler: u and its estimated Laplacian from n jets along
    basis vectors. `jax.random.choice` sorts all the coordinates.

    The columns √(2d/n) e_i of a matrix σ are exactly what ½σσᵀ:∇² needs jets for, as
    ½σσᵀ:∇² = (d/n) Σ ∂_i². Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator",
    equations `eqn:stde-sparse` and `eqn:forward-lapl`.
    """
    coordinates = jax.random.choice(key, dim, (n,), replace=False)
    length = jnp.full((n, 1), math.sqrt(2 * dim / n))
    sampled = do.ParabolicTrace(do.operators.SparseColumns(coordinates[:, None], length, rows=dim))
    return do.baselines.estimate("jet", {"u": do.Identity(), "lap": sampled}, key, n)


def laplacian_by_hand(u: Any) -> Function:
    """The exact Laplacian of (1 − |x|²) mlp(x), on paper: a check in every dimension.

    For `networks.ansatz` only.

    Write mlp(x) = h(Wx + b) with h all that follows the first product. By the product rule

        Δu = (1 − |x|²) Δmlp − 4 x·∇mlp − 2d mlp,   Δmlp = ⟨W Wᵀ, D²h⟩,   x·∇mlp = Dh (W x),

    and D²h is no larger than the first hidden layer.
    """
    first, *others = u.net.layers
    activation = u.net.activation

    def behind(z: jax.Array) -> jax.Array:
        for layer in others:
            z = layer(activation(z))
        return z

    def laplacian(x: jax.Array) -> jax.Array:
        z = first(x)
        value, radial = jax.jvp(behind, (z,), (first.weight @ x,))
        trace = jnp.vdot(first.weight @ first.weight.T, jax.hessian(behind)(z))
        return (1 - x @ x) * trace - 4 * radial - 2 * x.size * value

    return laplacian
