"""Functions of users, called with a point: one clear sentence if they take other arguments."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import PyTree

R = TypeVar("R")


def called_with_point(
    what: str,
    function: Callable[..., R],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    remedy: str = "let it take the arguments of u",
) -> R:
    """The value of a coefficient or the like; `what` is for the error if it takes other arguments.

    **Raises:** as `check_takes`.
    """
    try:
        return function(*args, **kwargs)
    except TypeError:
        check_takes(what, function, args, kwargs, remedy)
        raise


def check_takes(
    what: str,
    function: Callable,
    args: tuple[PyTree, ...],
    kwargs: Mapping[str, Any],
    remedy: str,
    before: Sequence[str] = (),
) -> None:
    """Refuses a function that cannot be called with a point.

    **Arguments:**

    - `what`: the function, in words.
    - `args`, `kwargs`: the point, or many.
    - `remedy`: what to write in its place.
    - `before`: the names of arguments that come before the point.

    **Raises:** `ValueError` naming what it takes and what it would get.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # it has no signature to inspect
    try:
        signature.bind(*before, *args, **kwargs)
    except TypeError:
        words = "1 argument" if len(args) == 1 else f"{len(args)} arguments"
        raise ValueError(
            f"{what} takes ({', '.join(signature.parameters)}), and here it gets "
            f"{''.join(f'{name} and ' for name in before)}{words} of points, of shape "
            f"{shapes_of((args, kwargs))}: {remedy}."
        ) from None


def shapes_of(points: PyTree) -> str:
    """The shapes of points, for an error."""
    return ", ".join(str(np.shape(leaf)) for leaf in jax.tree.leaves(points))


def take_all(what: str) -> str:
    """What to do with a function that takes fewer arguments than a point has."""
    joined = ", or make it of a network of one vector: diffop.nn.JoinedInput(net)"
    return f"let it take all of them{joined if what in ('u', 'the network') else ''}"
