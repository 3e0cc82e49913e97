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
    after its beginnings. `sums` are what is only added up, with constant numbers, each under a name
    of its own. `residuals` are the components whose squares add up to the loss, made of the sums
    and of those words that enter products.
    """

    name: str
    coordinates: str
    words: tuple[str, ...]
    factors: tuple[str, ...]
    sums: Mapping[str, Mapping[str, float]]
    residuals: Callable[[Values], tuple[jax.Array, ...]]
    enhances: "Equation | None" = None
    """The equation whose residual, followed by its gradient, these residuals are."""

    @property
    def dim(self) -> int:
        return len(self.coordinates)


def _kdv(u: Values) -> tuple[jax.Array]:
    """u_ty + u_xxxy + 3 (u_y u_x)_x − u_xx + 2 u_yy"""
    advection = u["xy"] * u["x"] + u["y"] * u["xx"]
    return (u["linear"] + 3 * advection,)


def _kp(u: Values) -> tuple[jax.Array]:
    """u_tx + 6 u_x² + 6 u u_xx + u_xxxx + 3 u_yy"""
    return (u["linear"] + 6 * u["x"] ** 2 + 6 * u[""] * u["xx"],)


def _kdv_1d(u: Values) -> tuple[jax.Array]:
    """R = u_t + u u_x + α u_xxx"""
    return (u["linear"] + u[""] * u["x"],)


def _gradient_enhanced_kdv(u: Values) -> tuple[jax.Array, ...]:
    """R, R_x and R_t, each of weight one"""
    by_x = u["linear by x"] + u["x"] ** 2 + u[""] * u["xx"]
    by_t = u["linear by t"] + u["t"] * u["x"] + u[""] * u["xt"]
    return (*_kdv_1d(u), by_x, by_t)


_LINEAR = {"t": 1, "xxx": ALPHA}
KDV = Equation(
    "2D KdV",
    "xyt",
    ("x", "y", "xx", "xy", "yy", "yt", "xxxy"),
    ("x", "y", "xx", "xy"),
    {"linear": {"yt": 1, "xxxy": 1, "xx": -1, "yy": 2}},
    _kdv,
)
KP = Equation(
    "2D KP",
    "xyt",
    ("", "x", "xx", "xt", "yy", "xxxx"),
    ("", "x", "xx"),
    {"linear": {"xt": 1, "xxxx": 1, "yy": 3}},
    _kp,
)
G_KDV = Equation(
    "1D g-KdV",
    "xt",
    ("", "x", "t", "xx", "xt", "tt", "xxx", "xxxx", "xxxt"),
    ("", "x", "t", "xx", "xt"),
    {
        "linear": _LINEAR,
        "linear by x": {"xt": 1, "xxxx": ALPHA},
        "linear by t": {"tt": 1, "xxxt": ALPHA},
    },
    _gradient_enhanced_kdv,
    enhances=Equation(
        "1D KdV", "xt", ("", "x", "t", "xxx"), ("", "x"), {"linear": _LINEAR}, _kdv_1d
    ),
)
EQUATIONS = (KDV, KP, G_KDV)
BY_NAME = {equation.name: equation for equation in EQUATIONS}
