"""Checks of a loss's arguments when it is made."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import PRNGKeyArray, PyTree

from ..equations.equation import AbstractEquation
from ..equations.points import Points, arguments, chosen
from ..estimators.draws import AbstractProbe
from ..scalars import checked_integer
from .causal import Causal
from .drawn import PointsFrom, domain
from .probes import LossProbes, exact_name
from .squares import SQUARES, RandomResidual


def check_counts(**counts: int | None) -> None:
    """Checks that the given counts are numbers of points, or of terms.

    **Raises:** `TypeError` for anything but an integer, `ValueError` for less than one.
    """
    for name, count in counts.items():
        if count is not None:
            checked_integer(count, f"{name} of ResidualLoss", 1)


def check_square(square: str, probes: LossProbes) -> None:
    """Checks that the square exists, and that something is random if it needs that.

    **Raises:** `ValueError` otherwise.
    """
    if square not in SQUARES:
        raise ValueError(
            f"ResidualLoss expects a square among {', '.join(SQUARES)}, got {square!r}."
        )
    if square != "biased" and exact_name(probes):
        raise ValueError(
            f"the square {square!r} takes away the bias of random jets, got the probes "
            f"{exact_name(probes)!r}, whose loss has no bias; say square='biased', or probes that "
            "are random, such as 'sparse', and their number n."
        )


def check_causal(causal: Causal | None, square: str) -> None:
    """Checks that these are causal weights, and that they suit the square.

    **Raises:** `TypeError` for anything else, and `ValueError` for another square.
    """
    if causal is not None and not isinstance(causal, Causal):
        raise TypeError(
            "ResidualLoss expects a causal that is a diffop.losses.Causal, such as "
            f"Causal(lambda x: x[-1]), got {causal!r}."
        )
    if causal is not None and square != "biased":
        raise ValueError(
            "causal weights depend on the draw of jets, so that no square has the mean that "
            f"{square!r} is for; leave one of the two out."
        )


def check_gpinn(gpinn: int | float, probes: LossProbes) -> None:
    """Checks that it is a weight, and that the residual can be differentiated.

    **Raises:** `ValueError` otherwise.
    """
    if not 0 <= gpinn < math.inf:
        raise ValueError(
            f"ResidualLoss expects a gpinn of at least 0, a weight of squares, got {gpinn}."
        )
    if gpinn and not (probes is None or isinstance(probes, AbstractProbe)):
        raise ValueError(
            "gPINN differentiates the residual, and baselines take derivatives of order two at "
            f"most, got gpinn={gpinn} and the probes {probes.name!r}; leave one of the two out."
        )


def check_weights(weights: PyTree) -> None:
    """Checks that these can be weights of squares, as far as their values are known.

    **Raises:** `ValueError` if one is negative or not finite.
    """
    for leaf in jax.tree.leaves(weights):
        known = not isinstance(leaf, Tracer)
        if known and not np.all((np.asarray(leaf) >= 0) & np.isfinite(leaf)):
            raise ValueError(
                "ResidualLoss expects weights of squares that are finite and at least 0, got "
                f"{leaf}."
            )


def check_draws(n: int | None, probes: LossProbes) -> None:
    """Checks that the number of draws is given if it is needed.

    **Raises:** `ValueError` otherwise, and for less than one.
    """
    if n is not None:
        checked_integer(n, "n, the number of draws of jets,", 1)
    elif not exact_name(probes):
        raise ValueError(
            f"ResidualLoss expects n, the number of draws of jets, for the probes "
            f'{getattr(probes, "name", probes)!r}, or probes="exact".'
        )


def check_points(
    equation: AbstractEquation, where: PointsFrom, batch: int | None, pool: int
) -> None:
    """Checks that it is given where the points are, and how many.

    **Raises:** `ValueError` if it is missing, or given twice, and for points that are known and not
    finite.
    """
    if where is None and domain(equation) is None:
        raise ValueError(
            "ResidualLoss expects points for an equation without a domain to draw them from: an "
            "array of shape (count, d), or a function (key, count)."
        )
    if where is None or callable(where):
        if batch is None:
            raise ValueError(
                "ResidualLoss expects a batch, the number of points of a call, got None; say for "
                "instance batch=100."
            )
        return
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(where)]
    if not _are_points(where, shapes):
        one = " one point is x[None];" if shapes and len(shapes[0]) == 1 else ""
        raise ValueError(
            "a loss expects points of shape (count, d), or a tuple of arrays with count points "
            f"each, one for each argument of u, got shape {', '.join(map(str, shapes))};{one} many "
            "points have the first axis to themselves."
        )
    if 0 in (shape[0] for shape in shapes):
        raise ValueError(f"a loss expects at least one point, got points of shape {shapes[0]}.")
    if batch is not None or pool != 1:
        raise ValueError(
            "ResidualLoss takes all points that are given at each call, and no batch or pool "
            f"beside them, got batch={batch} and pool={pool}; let a function (key, count) choose "
            "some, or diffop.pde.PointCloud(points)."
        )
    _check_finite(where)


def _check_finite(points: Points) -> None:
    """Refuses points that are known and not finite: the loss would be NaN, and training would look
    for the reason in the network.

    **Raises:** `ValueError` saying how many.
    """
    for leaf in jax.tree.leaves(points):
        if isinstance(leaf, Tracer) or not getattr(leaf, "is_fully_addressable", True):
            continue  # not known, or a part of it in other processes alone
        rows = np.asarray(leaf).reshape(len(leaf), -1)
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            raise ValueError(
                f"a loss expects points with finite coordinates, got {len(wrong)} of {len(rows)} "
                f"with NaN or infinity, the first of them number {wrong[0]}; leave them out."
            )


def _are_points(where: Any, shapes: list[tuple[int, ...]]) -> bool:
    """Whether all arrays have the same number of points; for a single array, its rows."""
    if isinstance(where, jax.Array):
        return where.ndim == 2
    return len({shape[:1] for shape in shapes}) == 1 and all(shapes)


def check_variance(random: Callable[[PRNGKeyArray], RandomResidual]) -> None:
    """Checks that the residual has a variance. This depends only on the shapes of the sampled
    operators.

    **Arguments:**

    - `random`: from a key to the residual at any points, for any scalar function. A system's
        residual needs its own u, so systems are not checked here.

    **Raises:** `ValueError` if there is no variance.
    """

    def variance(random: Callable[[PRNGKeyArray], RandomResidual], key: PRNGKeyArray) -> PyTree:
        found = random(key)
        draws = found.draws(0)
        try:
            drawn = draws(*arguments(chosen(found.points, 0)))
        except (TypeError, ValueError):
            return None  # a vector-valued function is needed: the call will raise errors
        return drawn.variance()

    try:
        eqx.filter_eval_shape(variance, random, jax.random.key(0))
    except ValueError as error:
        raise ValueError(
            f"the square 'pairs' takes the variance of an estimate away: {error}"
        ) from None
