"""Equations of high order in few dimensions.

Derivatives are named by words: "xxxy" is u_xxxy, the empty word is u. Source: Shi et al. 2024,
"Stochastic Taylor Derivative Estimator", appendix `app:high-order-pde`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax

ALPHA = 0.0025  # of the dispersion in g-KdV; it changes no cost

Values = Mapping[str, jax.Array]


class Equation(NamedTuple):
    """The derivatives that a residual is made of, and the residual.

    `words` have their letters in the order in which nested differentiation shares most: a word
    after its beginnings. `residuals` are the components whose squares add up to the loss.
    """

    name: str
    coordinates: str
    words: tuple[str, ...]
    residuals: Callable[[Values], tuple[jax.Array, ...]]
    enhances: "Equation | None" = None
    """The equation whose residual, followed by its gradient, these residuals are."""

    @property
    def dim(self) -> int:
        return len(self.coordinates)


def _kdv(u: Values) -> tuple[jax.Array]:
    """u_ty + u_xxxy + 3 (u_y u_x)_x − u_xx + 2 u_yy"""
    advection = u["xy"] * u["x"] + u["y"] * u["xx"]
    return (u["yt"] + u["xxxy"] + 3 * advection - u["xx"] + 2 * u["yy"],)


def _kp(u: Values) -> tuple[jax.Array]:
    """u_tx + 6 u_x² + 6 u u_xx + u_xxxx + 3 u_yy"""
    return (u["xt"] + 6 * u["x"] ** 2 + 6 * u[""] * u["xx"] + u["xxxx"] + 3 * u["yy"],)


def _kdv_1d(u: Values) -> tuple[jax.Array]:
    """R = u_t + u u_x + α u_xxx"""
    return (u["t"] + u[""] * u["x"] + ALPHA * u["xxx"],)


def _gradient_enhanced_kdv(u: Values) -> tuple[jax.Array, ...]:
    """R, R_x and R_t, each of weight one"""
    by_x = u["xt"] + u["x"] ** 2 + u[""] * u["xx"] + ALPHA * u["xxxx"]
    by_t = u["tt"] + u["t"] * u["x"] + u[""] * u["xt"] + ALPHA * u["xxxt"]
    return (*_kdv_1d(u), by_x, by_t)


KDV = Equation("2D KdV", "xyt", ("x", "y", "xx", "xy", "yy", "yt", "xxxy"), _kdv)
KP = Equation("2D KP", "xyt", ("", "x", "xx", "xt", "yy", "xxxx"), _kp)
G_KDV = Equation(
    "1D g-KdV",
    "xt",
    ("", "x", "t", "xx", "xt", "tt", "xxx", "xxxx", "xxxt"),
    _gradient_enhanced_kdv,
    enhances=Equation("1D KdV", "xt", ("", "x", "t", "xxx"), _kdv_1d),
)
EQUATIONS = (KDV, KP, G_KDV)
BY_NAME = {equation.name: equation for equation in EQUATIONS}
