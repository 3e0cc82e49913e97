"""The paper's jets with several tangents, pushed by `jax.experimental.jet`.

A jet is the curve x + Σ_i v_i tⁱ/i!; the derivatives of u along it at t = 0 are J[0], J[1], …. By
Faà di Bruno's formula J[k] is the sum over all Π_i v_i^{m_i} with Σ_i i m_i = k, each with the
factor k!/Π_i (i!^{m_i} m_i!). Some of the printed formulas leave terms out; here all are taken.
Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", section `sec:mixed-partial`
and appendix `app:high-order-pde`; written anew here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import jet

from .equations import G_KDV, KDV, KP, Equation
from .methods import Function, Method

Direction = Mapping[str, float]
X, Y, T = {"x": 1}, {"y": 1}, {"t": 1}


class Jet(NamedTuple):
    """Its order and the tangents that are not zero, {i: v_i}."""

    order: int
    tangents: Mapping[int, Direction]


class Scheme(NamedTuple):
    """Jets, and the derivatives of u as sums of what they give."""

    name: str
    equation: Equation
    jets: tuple[Jet, ...]
    derivatives: Callable[..., dict[str, Any]]


def by_jets(scheme: Scheme) -> Method:
    """The method whose values are {word: derivative}."""

    def transform(u: Function) -> Function:
        def values(x: jax.Array) -> dict[str, jax.Array]:
            pushed = [_push(u, x, jet, scheme.equation.coordinates) for jet in scheme.jets]
            found = scheme.derivatives(*pushed)
            return {word: found[word] for word in scheme.equation.words}

        return values

    return transform


def _push(u: Function, x: jax.Array, curve: Jet, coordinates: str) -> Sequence[jax.Array]:
    """J[0], …, J[order]."""

    def tangent(direction: Direction) -> jax.Array:
        return jnp.array([direction.get(letter, 0) for letter in coordinates], x.dtype)

    series = [tangent(curve.tangents.get(i + 1, {})) for i in range(curve.order)]
    value, derivatives = jet.jet(u, (x,), (series,))
    return [value, *derivatives]


def _kdv(j: Any, t: Any, x_plus_t: Any, x_minus_t: Any, x_plus_y: Any, x_minus_y: Any) -> Any:
    """One jet of order 13, of which four terms have company.

        J[7] = 35 u_xy + u_t               J[11] = 330 u_yt + 5775 u_xyy
        J[9] = 280 u_xxx                   J[13] = 200200 u_xxxy + 17160 u_xxt

    What goes with them comes of jets of order 3 along straight lines:
    (x + t)³ − (x − t)³ = 6 x²t + 2 t³ and (x + y)³ + (x − y)³ = 6 xy² + 2 x³.
    """
    u_xxt = (x_plus_t[3] - x_minus_t[3] - 2 * t[3]) / 6
    u_xyy = (x_plus_y[3] + x_minus_y[3] - 2 * j[9] / 280) / 6
    return {
        "x": j[3],
        "y": j[4],
        "xx": j[6] / 10,
        "xy": (j[7] - t[1]) / 35,
        "yy": j[8] / 35,
        "yt": (j[11] - 5775 * u_xyy) / 330,
        "xxxy": (j[13] - 17160 * u_xxt) / 200200,
    }


def _kdv_alternative(j: Any, y_t: Any, y: Any) -> Any:
    """J[9] = 1260 u_xxxy + 280 u_yyy; along v_1 = e_y, v_2 = e_t the third is 3 u_yt + u_yyy."""
    return {
        "x": j[2],
        "y": j[3],
        "xx": j[4] / 3,
        "xy": j[5] / 10,
        "yy": y[2],
        "yt": (y_t[3] - y[3]) / 3,
        "xxxy": (j[9] - 280 * y[3]) / 1260,
    }


def _kp(t_x: Any, x: Any, y: Any) -> Any:
    return {"": x[0], "x": x[1], "xx": x[2], "xt": t_x[5] / 10, "yy": y[2], "xxxx": x[4]}


def _gradient_enhanced_kdv(x: Any, x_t: Any, t: Any) -> Any:
    """Along v_1 = e_x, v_4 = e_t: J[7] = 35 u_xxxt + u_xxxxxxx, J[5] = 5 u_xt + u_xxxxx."""
    return {
        "": x[0],
        "x": x[1],
        "xx": x[2],
        "xxx": x[3],
        "xxxx": x[4],
        "t": x_t[4] - x[4],
        "xt": (x_t[5] - x[5]) / 5,
        "xxxt": (x_t[7] - x[7]) / 35,
        "tt": t[2],
    }


SCHEMES = (
    Scheme(
        "paper's 13-jet",
        KDV,
        (
            Jet(13, {3: X, 4: Y, 7: T}),
            Jet(3, {1: T}),
            Jet(3, {1: {"x": 1, "t": 1}}),
            Jet(3, {1: {"x": 1, "t": -1}}),
            Jet(3, {1: {"x": 1, "y": 1}}),
            Jet(3, {1: {"x": 1, "y": -1}}),
        ),
        _kdv,
    ),
    Scheme(
        "paper's 9-jet",
        KDV,
        (Jet(9, {2: X, 3: Y}), Jet(3, {1: Y, 2: T}), Jet(3, {1: Y})),
        _kdv_alternative,
    ),
    Scheme("paper's jets", KP, (Jet(5, {2: T, 3: X}), Jet(4, {1: X}), Jet(2, {1: Y})), _kp),
    Scheme(
        "paper's jets",
        G_KDV,
        (Jet(7, {1: X}), Jet(7, {1: X, 4: T}), Jet(2, {1: T})),
        _gradient_enhanced_kdv,
    ),
)
