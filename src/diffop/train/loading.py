"""Networks of runs, read from disk."""

import dataclasses
import os
import pathlib
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from ..methods.optimisers import Maker
from ..paths import path_of
from ..pde import AbstractProblem
from ..precision import PRECISIONS
from ..runs.directory import CHECKPOINTS, MODEL, REPORT, RUN, read, settings_of, started_with
from ..runs.settings import GivenProblem, Settings, identity, own_dim
from ..scalars import plain
from ..storage.disk import is_as_signed
from .checkpoints import Checkpoints
from .iteration import State
from .model import build_optimiser, untrained


def load(
    directory: str | os.PathLike,
    checkpoint: int | str | None = None,
    *,
    problem: GivenProblem | None = None,
    optimiser: Maker | None = None,
) -> PyTree:
    """The trained model of a run, or that of one of its checkpoints.

    **Arguments:**

    - `directory`: where `diffop.train.solve` or `python -m diffop solve … --out` left its results.
    - `checkpoint`: a step, `"last"`, or `"best"`: the one with the smallest error. This also works
        while the run goes on. By default the final model.
    - `problem`: the problem of the run, or its class, if it is your own. Files only say which
        problem it was; nothing in them is imported.
    - `optimiser`: the optimiser of the run, if it is your own, for a checkpoint.

    **Returns:** a function (an Equinox module) from one point of shape `(d,)` to a scalar. If the
    run had double precision, its parameters do too: evaluate it inside `jax.enable_x64(True)`.

    **Raises:** `FileNotFoundError` if there is no finished run, or no such checkpoint, in the
    directory; `ValueError` if the model or checkpoint is damaged, if `checkpoint` is neither a step
    nor one of the names, or if the run is of another problem. Files are arrays and JSON: nothing in
    them is executed.

    !!! example

        ```python
        import tempfile
        import jax.numpy as jnp
        import diffop as do

        with tempfile.TemporaryDirectory() as directory:
            settings = do.train.Settings("allen-cahn-two-body", dim=4, steps=10, depth=1)
            do.train.solve(settings, directory, checkpoint_every=10)
            u, v = do.train.load(directory), do.train.load(directory, "best")
        assert u(jnp.zeros(4)) == v(jnp.zeros(4))  # of the only checkpoint
        ```
    """
    path = pathlib.Path(directory)
    if checkpoint is not None:
        return _load_checkpoint(path, checkpoint, problem, optimiser)
    if not (path / REPORT).is_file():
        raise FileNotFoundError(
            f"{path} has no {REPORT}; name the directory of a finished run, or ask for a "
            f'checkpoint="last".'
        )
    settings = _settings(path, read(path / REPORT)["settings"], problem)
    try:
        _check_depth(settings.depth, path / MODEL)
        with PRECISIONS[settings.precision](), (path / MODEL).open("rb") as file:
            skeleton = eqx.filter_eval_shape(untrained, settings, jax.random.key(0))
            model = eqx.tree_deserialise_leaves(file, skeleton)
            if not is_as_signed(file):
                raise ValueError("it has changed since it was written")
            return model
    except OSError:
        raise
    except Exception as error:  # damaged headers of arrays make numpy raise anything
        raise ValueError(
            f"{path / MODEL} is not the network that {REPORT} describes: it is damaged, or of "
            f"another run ({error})."
        ) from error


def _check_depth(depth: int, *files: pathlib.Path) -> None:
    """Layers are made one by one, as many as settings say. Before that, this checks whether the
    files hold that many: each layer takes at least four bytes for its weights, and its name.

    **Raises:** `ValueError` if they do not.
    """
    size = sum(file.stat().st_size for file in files)
    if 4 * depth > size:
        raise ValueError(f"{depth} hidden layers are not in {size} bytes")


def _settings(path: pathlib.Path, stored: dict[str, Any], problem: GivenProblem | None) -> Settings:
    """The settings of a run, with the problem itself in place of its name."""
    settings = settings_of(stored)
    if problem is None:
        return settings
    if identity(problem) != settings.problem:
        raise ValueError(
            f"{path} is a run of {settings.problem}, got the problem {identity(problem)}; give the "
            "problem, or the class, that it was started with."
        )
    dim = own_dim(problem) if isinstance(problem, AbstractProblem) else settings.dim
    return dataclasses.replace(settings, problem=problem, dim=dim)


def _load_checkpoint(
    path: pathlib.Path, which: int | str, problem: GivenProblem | None, optimiser: Maker | None
) -> PyTree:
    started = started_with(path)
    if started is None:
        raise FileNotFoundError(f"{path} holds no run; name the directory of one.")
    checkpoints = Checkpoints(path / CHECKPOINTS, configuration=started)
    settings = _settings(path, started, problem)
    if optimiser is not None and path_of(optimiser) == settings.optimiser:
        settings = dataclasses.replace(settings, optimiser=optimiser)
    with PRECISIONS[settings.precision]():
        step = _step(checkpoints, which)
        place = checkpoints.path(step)
        if place.is_dir():
            try:
                _check_depth(settings.depth, *(each for each in place.rglob("*") if each.is_file()))
            except ValueError as error:
                raise ValueError(
                    f"{place} is not a checkpoint of the run that {RUN} describes: {error}."
                ) from None
        like = State.initial(untrained(settings, jax.random.key(0)), build_optimiser(settings))
        return checkpoints.restore(step, like).state.model


def _step(checkpoints: Checkpoints, which: int | str) -> int:
    which = plain(which)
    if which not in ("last", "best") and not isinstance(which, int):
        raise ValueError(f'load expects a step, "last" or "best" as checkpoint, got {which!r}.')
    if isinstance(which, int):
        return which
    step = checkpoints.best() if which == "best" else checkpoints.last()
    if step is None:
        raise FileNotFoundError(f"{checkpoints.directory} has no checkpoint yet; ask later.")
    return step
