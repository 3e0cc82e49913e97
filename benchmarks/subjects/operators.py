"""Operators by all ways to apply them: diffop's, and others' in JAX.

Random ones share their directions with diffop's, so that all ways compute the same numbers.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import jet

import diffop as do

from .methods import Function, Method, laplacian_by
from .networks import ansatz, ball_points, mlp, normal_points

DRAWS = 16
POINTS = 100


class Subject(NamedTuple):
    """An operator: its ways by name, each made for a dimension, what it is applied to, and where.

    `points` are called with their number and a dimension; `number` is how many are timed.
    """

    ways: Mapping[str, Callable[[int], Any]]
    network: Callable[[int], Any] = mlp
    points: Callable[[int, int], Any] = normal_points
    number: int = POINTS


def _reverse_over_reverse(u: Function) -> Function:
    return lambda x: jnp.trace(jax.jacrev(jax.grad(u))(x))


def always(method: Any) -> Callable[[int], Any]:
    """A way that is the same in every dimension."""
    return lambda dim: method


def _twice(method: Method) -> Callable[[int], Method]:
    return lambda dim: lambda u: method(method(u))


def _sigma(dim: int) -> jax.Array:
    return jax.random.normal(jax.random.key(7), (dim, dim)) / math.sqrt(dim)


def _folx_weighted(dim: int) -> Method:
    """The Laplacian by z of u(x + σz) at z = 0."""
    laplacian, sigma = laplacian_by("folx"), _sigma(dim)

    def transform(u: Function) -> Function:
        return lambda x: laplacian(lambda z: u(x + sigma @ z))(jnp.zeros_like(x))

    return transform


def _estimated(operator: do.Laplacian | do.Biharmonic, probes: str) -> do.operators.Estimate:
    return operator.estimate(jax.random.key(2), DRAWS, probes)


def _directions(estimate: do.operators.Estimate, dim: int) -> jax.Array:
    """The directions that an estimate has drawn, in more dimensions than it has draws."""
    plan: Any = estimate.jets(jnp.zeros(dim))
    (directions,) = plan.jets[0].tangents.values()
    return directions[0].dense(dim, jnp.zeros(()).dtype)


Derivative = Callable[[Function, jax.Array, jax.Array], jax.Array]


def _columns(derivative: Derivative) -> Callable[[int], Method]:
    """Σ_ij C_ij ∂_i ∂_j with C = σσᵀ is the sum over the columns s of σ of ∂_s²."""
    return lambda dim: _along(_sigma(dim).T, derivative)


def _signs(derivative: Derivative) -> Callable[[int], Method]:
    """The mean over random signs v of vᵀ(∇²u)v."""

    def way(dim: int) -> Method:
        estimate = _estimated(do.Laplacian(), "rademacher")
        return _along(_directions(estimate, dim), derivative, 1 / DRAWS)

    return way


def _normal(derivative: Derivative) -> Callable[[int], Method]:
    """The mean over normal v of ∂_v⁴u / 3, for E[v_i v_j v_k v_l] is 3 once symmetrised."""

    def way(dim: int) -> Method:
        estimate = _estimated(do.Biharmonic(), "gaussian")
        return _along(_directions(estimate, dim), derivative, 1 / (3 * DRAWS))

    return way


def _along(directions: jax.Array, derivative: Derivative, weight: float = 1.0) -> Method:
    """A weighted sum of directional derivatives."""

    def transform(u: Function) -> Function:
        def summed(x: jax.Array) -> jax.Array:
            return weight * jnp.sum(jax.vmap(lambda v: derivative(u, x, v))(directions))

        return summed

    return transform


def _curvature(u: Function, x: jax.Array, v: jax.Array) -> jax.Array:
    """vᵀ(∇²u)v, forward over reverse."""
    return v @ jax.jvp(jax.grad(u), (x,), (v,))[1]


def _second_of_jet(u: Function, x: jax.Array, v: jax.Array) -> jax.Array:
    return jet.jet(u, (x,), ((v, jnp.zeros_like(v)),))[1][1]


def _fourth_of_jet(u: Function, x: jax.Array, v: jax.Array) -> jax.Array:
    zero = jnp.zeros_like(v)
    return jet.jet(u, (x,), ((v, zero, zero, zero),))[1][3]


def _fourth_nested(u: Function, x: jax.Array, v: jax.Array) -> jax.Array:
    """Four `jax.jvp`, one in the other."""
    for _ in range(4):
        u = _derivative(u, v)
    return u(x)


def _derivative(u: Function, v: jax.Array) -> Function:
    return lambda x: jax.jvp(u, (x,), (v,))[1]


_FORWARD_OVER_REVERSE, _JET = laplacian_by("forward-over-reverse"), laplacian_by("jet")
_FOLX = laplacian_by("folx")

OPERATORS = {
    "Laplacian": Subject(
        {
            "diffop": lambda dim: do.Laplacian().exact,
            "forward over reverse": always(_FORWARD_OVER_REVERSE),
            "reverse over reverse": always(_reverse_over_reverse),
            "jax.experimental.jet": always(_JET),
            "folx": always(_FOLX),
        }
    ),
    "Laplacian of the ansatz": Subject(
        {"diffop": lambda dim: do.Laplacian().exact, "folx": always(_FOLX)}, ansatz, ball_points
    ),
    "weighted Laplacian": Subject(
        {
            "diffop": lambda dim: (2 * do.ParabolicTrace(_sigma(dim))).exact,
            "forward over reverse": _columns(_curvature),
            "jax.experimental.jet": _columns(_second_of_jet),
            "folx": _folx_weighted,
        }
    ),
    "biharmonic": Subject(
        {
            "diffop": lambda dim: do.Biharmonic().exact,
            "forward over reverse": _twice(_FORWARD_OVER_REVERSE),
            "jax.experimental.jet": _twice(_JET),
            "folx": _twice(_FOLX),
        }
    ),
    "stochastic Laplacian": Subject(
        {
            "diffop": lambda dim: _estimated(do.Laplacian(), "rademacher"),
            "forward over reverse": _signs(_curvature),
            "jax.experimental.jet": _signs(_second_of_jet),
        }
    ),
    "stochastic biharmonic": Subject(
        {
            "diffop": lambda dim: _estimated(do.Biharmonic(), "gaussian"),
            "nested jvp": _normal(_fourth_nested),
            "jax.experimental.jet": _normal(_fourth_of_jet),
        }
    ),
}
