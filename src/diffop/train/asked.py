"""Checks of a fit's arguments that catch the most common mistakes first."""

import inspect
from typing import Any

from ..equations.methods import has_method
from ..scalars import is_integer, plain
from ..terms.arguments import checked_key


def check_asked(loss: Any, steps: Any, key: Any) -> None:
    """Checks the arguments of a fit.

    **Raises:** `TypeError` if the loss does not take a model and a key, if `steps` is not an
    integer, or if `key` is not a key.
    """
    _check_loss(loss)
    if not is_integer(plain(steps)):
        raise TypeError(
            "fit expects steps to be an integer, such as 10_000, got "
            f"{steps!r} of type {type(steps).__name__}."
        )
    checked_key(key, "fit")


def _check_loss(loss: Any) -> None:
    if any(has_method(loss, each) for each in ("terms", "residuals", "pointwise")):
        return  # it is not called
    if not callable(loss):
        raise TypeError(
            "fit expects a loss that is a function of a model and a key, such as "
            f"diffop.losses.ResidualLoss(equation, …), got a {type(loss).__name__}."
        )
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):
        return  # it has no signature to inspect
    try:
        signature.bind("model", "key")
    except TypeError:
        raise TypeError(
            "fit expects a loss of a model and a key, such as lambda model, key: …, got one of "
            f"({', '.join(signature.parameters)}); a loss without random numbers leaves the key "
            "unused."
        ) from None
