"""What a fit is asked to do, seen before anything is made: the mistakes that are made most."""

import inspect
from typing import Any

from ..equations.methods import has_method
from ..scalars import is_integer, plain
from ..terms.arguments import checked_key


def check_asked(loss: Any, steps: Any, key: Any) -> None:
    """Checks what a fit is called with.

    **Raises:** `TypeError` for a loss that is not one of a model and a key, for steps that are no
    integer, and for a key that is none.
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
        return  # it does not tell
    try:
        signature.bind("model", "key")
    except TypeError:
        raise TypeError(
            "fit expects a loss of a model and a key, such as lambda model, key: …, got one of "
            f"({', '.join(signature.parameters)}); a loss without random numbers leaves the key "
            "unused."
        ) from None
