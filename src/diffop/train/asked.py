"""Checks of a fit's arguments."""

import inspect
from typing import Any

import equinox as eqx
import jax
from jax.sharding import Mesh
from jaxtyping import PyTree

from ..equations.equation import has_unknowns, learnable, with_unknowns
from ..equations.methods import has_method
from ..losses.loss import ResidualLoss
from ..methods.base import AbstractMethod
from ..scalars import is_integer, plain
from ..streams import checked_key
from ..terms.arguments import kind_of


def check_asked(loss: Any, steps: Any, steps_per_dispatch: Any, key: Any) -> None:
    """Checks the arguments of a fit.

    **Raises:** `TypeError` if the loss does not take a model and a key, if a number of steps is not
    an integer, or if `key` is not a key.
    """
    _check_loss(loss)
    for name, number in (("steps", steps), ("steps_per_dispatch", steps_per_dispatch)):
        if not is_integer(plain(number)):
            raise TypeError(
                f"fit expects {name} to be an integer, such as 10_000, got "
                f"{number!r} of type {type(number).__name__}."
            )
    checked_key(key, "fit")


def check_steps(steps: int, steps_per_dispatch: int, made: int) -> None:
    """**Raises:** `ValueError` if numbers of steps are too small, or more were made than asked."""
    if steps < 1 or steps_per_dispatch < 1:
        raise ValueError(
            f"fit expects steps and steps_per_dispatch of at least 1, got {steps} and "
            f"{steps_per_dispatch}; ask for at least one step."
        )
    if made > steps:
        raise ValueError(
            f"fit expects a start of at most {steps} steps, got one that has made {made}; ask for "
            f"at least as many steps, or start anew."
        )


def check_model(model: PyTree, loss: Any) -> None:
    """Checks that a model has something to train, and what the equation of its loss learns.

    **Raises:** `ValueError` if it lacks one of these.
    """
    if not jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)):
        raise ValueError(
            "fit expects a model with inexact arrays, which are what is trained, got none in it; "
            "give it parameters that are JAX's or NumPy's arrays of floating-point numbers. JAX "
            "does not see a network inside of a plain function: an ansatz is an equinox.Module "
            "that has it as a field."
        )
    asked = isinstance(loss, ResidualLoss) and has_unknowns(learnable(loss.equation))
    if asked and with_unknowns(model) is None:
        raise ValueError(
            "fit expects a model that has the arrays which the equation of its loss says are to be "
            f"learnt, got {kind_of(model)}; give it diffop.nn.PINN(net, equation), or say "
            "of the equation trainable=False."
        )


def check_mesh(method: AbstractMethod, mesh: Mesh | None) -> None:
    """**Raises:** `ValueError` if a method makes its steps on one device, and there are several."""
    if mesh is not None and mesh.size > 1 and not method.divisible:
        raise ValueError(
            f"{type(method).__name__} makes its steps on one device, got a mesh of {mesh.size}; "
            f"leave the mesh out, or take an optimiser from optax, such as muon."
        )


def _check_loss(loss: Any) -> None:
    if any(has_method(loss, each) for each in ("terms", "residuals", "pointwise")):
        return  # it is not called
    if not callable(loss):
        raise TypeError(
            "fit expects a loss that is a function of a model and a key, such as "
            f"diffop.losses.ResidualLoss(equation, …), got {kind_of(loss)}."
        )
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):
        return  # it has no signature to inspect
    try:
        signature.bind("model", "key")
    except TypeError:
        if isinstance(loss, eqx.Module):  # a network, more likely
            raise TypeError(
                f"fit expects the model before the loss, got {kind_of(loss)} for the loss."
            ) from None
        raise TypeError(
            "fit expects a loss of a model and a key, such as lambda model, key: …, got one of "
            f"({', '.join(signature.parameters)}); a loss without random numbers leaves the key "
            "unused."
        ) from None
