"""Fits in windows of time, each of which begins where the last one ended."""

import itertools
import os
import pathlib
from collections.abc import Callable
from typing import Any

from jaxtyping import PRNGKeyArray, PyTree

from ..scalars import checked_integer
from ..streams import checked_key, stream
from .checkpoints import Checkpoints
from .fitting import Fit, fit
from .iteration import Loss, Optimiser


def march(
    model: PyTree,
    loss: Callable[[int, PyTree | None], Loss],
    optimiser: Optimiser,
    steps: int,
    windows: int,
    *,
    key: PRNGKeyArray,
    directory: str | os.PathLike | None = None,
    every: int | None = None,
    **options: Any,
) -> tuple[Fit, ...]:
    """Fits one window of time after the other. Each window's loss knows how the last window ended.
    Use it for equations that are chaotic, stiff or long, where one network does not learn all times
    at once, for steps in pseudo-time, of implicit Euler's method for instance, or for a parameter
    that grows, such as a Reynolds number.

    Each window begins with the last one's network, which has learnt the shape of the solution.

    Windows whose losses differ only in arrays share a program, as calls of a function of `jax.jit`
    do. To share one, write what differs, such as a window's initial value, as an `equinox.Module`,
    an `equinox.Partial` or an array, and make functions outside of `loss`.

    Source: Krishnapriyan et al. 2021, "Characterizing possible failure modes in physics-informed
    neural networks", the sequence-to-sequence scheme.

    **Arguments:**

    - `model`: what the first window begins with.
    - `loss`: a function of the number of a window, from 0 on, and the trained model of the window
        before, None at first; it returns the loss of the window.
    - `optimiser`, `steps`: of each window, as for `diffop.train.fit`.
    - `windows`: how many, at least 1.
    - `key`: a key from `jax.random.key`, from which each window's key follows.
    - `directory`: where checkpoints are kept, a folder for each window. The same call continues in
        the window in which it was stopped; the result is that of an uninterrupted call, bit for bit
        on a CPU. You may ask for more windows than before, of as many steps. Without a directory
        nothing is kept.
    - `every`: the number of steps between checkpoints, at least 1; by default, and at most, those
        of a window.
    - `**options`: others of `diffop.train.fit`, such as `steps_per_dispatch`. Its `listeners` see
        all windows, and are closed after each. If one raises `StopIteration`, the window ends, and
        stays ended when the same call is made again.

    **Returns:** a `diffop.train.Fit` for each window.

    **Raises:** `ValueError` if `windows` or `every` is less than 1, if `every` is given without a
    directory, or if finished windows have made another number of steps; `TypeError` if a number is
    not an integer, or `checkpoints` are given; otherwise as `diffop.train.fit`, in the window where
    it happens.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        line = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=0.5)  # each window's own time
        decay, end = do.Partial(1) + do.Identity(), lambda before, x: before(x.at[1].set(0.5))

        def loss(window, before):
            start = 1.0 if before is None else eqx.Partial(end, before)
            given = do.pde.Conditions(do.pde.Initial(start, on=line))
            equation = do.equations.Equation.linear(decay, 0.0, conditions=given)
            return do.losses.ResidualLoss(equation, 30, probes="exact", points=line.sample)

        net = eqx.nn.MLP(2, "scalar", 8, 1, jnp.tanh, key=jax.random.key(0))
        newton = do.methods.GaussNewton()
        fits = do.train.march(net, loss, newton, 50, 2, key=jax.random.key(1))
        fits[1].model(jnp.array([0.3, 0.5]))  # about 1/e, at t = 1
        ```
    """
    if every is not None and directory is None:
        raise ValueError(
            f"march expects a directory where there are checkpoints every so many steps, got "
            f"every={every} and directory=None."
        )
    if "checkpoints" in options:
        raise TypeError(
            "march makes a diffop.train.Checkpoints for each window itself; say where by "
            "directory=, and how often by every=."
        )
    checked_key(key, "march")
    if not callable(loss):
        raise TypeError(
            "march expects a function of a window's number and of the model before it, that "
            f"returns the window's loss, got {loss!r}."
        )
    windows = checked_integer(windows, "windows of march", 1)
    every = steps if every is None else min(checked_integer(every, "every of march", 1), steps)
    if directory is not None:
        _check_finished(directory, steps)
    fits: list[Fit] = []
    for window in range(windows):
        before = fits[-1].model if fits else None
        kept, number = None, steps
        if directory is not None:
            kept = _checkpoints(directory, window, every=every)
            number = kept.ended_at() or steps
        found = fit(
            model if before is None else before,
            loss(window, before),
            optimiser,
            number,
            key=stream(key, "window", window),
            checkpoints=kept,
            **options,
        )
        fits.append(found)
    return tuple(fits)


def _checkpoints(directory: str | os.PathLike, window: int, **options: Any) -> Checkpoints:
    return Checkpoints(pathlib.Path(directory) / str(window), keep=1, **options)


def _check_finished(directory: str | os.PathLike, steps: int) -> None:
    """Refuses other steps for windows that others have followed: with a window's model that had
    been trained further, the later windows' checkpoints would be of another fit.
    """
    for window in itertools.count():
        kept, following = (_checkpoints(directory, each) for each in (window, window + 1))
        made = kept.last()
        if made is None or following.last() is None:
            return
        if made != steps and kept.ended_at() is None:
            raise ValueError(
                f"march expects as many steps as its finished windows have made, {made} in "
                f"{kept.directory}, got steps={steps}; take steps={made}, or another directory."
            )
