"""Checks before a run starts."""

import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from ..extras import require_train
from ..methods.first_order import as_method
from ..parallel.mesh import checked_mesh
from ..parallel.processes import by_first
from ..pde import AbstractReferenceProblem
from ..precision import PRECISIONS
from ..runs import directory as files
from ..runs.settings import GivenProblem, Settings, as_settings, recommended_settings
from ..scalars import is_integer, plain
from ..storage.disk import MARGIN, room
from .asked import check_mesh
from .checkpoints import Checkpoints
from .iteration import State
from .loggers import require_trackers
from .memory import memory_bytes
from .model import build_loss, build_optimiser, build_problem, untrained

_CHECKPOINTS = 4  # the last two, the best, and the one that is being written


def check(
    settings: Settings | GivenProblem,
    directory: str | os.PathLike,
    overwrite: bool = False,
    *,
    resume: bool = False,
    checkpoint_every: int | None = None,
    log: Sequence[str] = (),
    mesh: Mesh | None = None,
) -> None:
    """Checks everything that can be known before a run, without starting or writing anything.

    **Arguments:** as for `diffop.train.solve`.

    **Raises:** `ValueError` if the problem does not exist in this dimension, or has no solution
    there with which to measure an error, if the probes, the weights or the network do not suit it,
    if `overwrite` and `resume` are both set, if the mesh has other axes, or several devices where
    the optimiser takes one; `FileExistsError` or `NotADirectoryError` if the directory cannot be
    used, or another run is writing into it; `OSError` if there is no room for the network and its
    checkpoints; `MemoryError` naming the settings to lower if a step surely needs more memory than
    there is; `diffop.train.CheckpointMismatchError` naming the settings in which the run to be
    resumed differs; and `diffop.train.MissingExtraError` if the extra `train`, or that of a logger,
    is not installed.

    !!! example

        ```python
        import diffop as do

        do.train.check(do.train.Settings("allen-cahn-two-body", dim=10), "a-new-directory")
        ```
    """
    path, given = pathlib.Path(directory), as_settings(settings)
    require_train()
    require_trackers(log)
    whole = checkpoint_every is None or is_integer(plain(checkpoint_every))
    if not whole or (checkpoint_every or 0) < 0:
        raise ValueError(
            f"checkpoint-every must be a number of steps, or 0 for no checkpoints, got "
            f"{checkpoint_every!r}."
        )
    mesh = checked_mesh(mesh)
    with PRECISIONS[given.precision]():
        _check_memory(given)
        by_first(lambda: files.check_directory(path, given.as_json(), overwrite, resume))
        key = jax.random.key(0)
        problem = eqx.filter_eval_shape(build_problem, given, key)
        loss = build_loss(given, problem)
        u = eqx.filter_eval_shape(untrained, given, key)
        optimiser = build_optimiser(given)
        check_mesh(as_method(optimiser), mesh)
        if _may_not_fit(given):
            eqx.filter_eval_shape(loss, u, key)
        if isinstance(problem, AbstractReferenceProblem):
            problem.reference()
        if resume and (path / files.REPORT).is_file():
            return
        state = eqx.filter_eval_shape(State.initial, u, optimiser)
        by_first(lambda: _check_room(path, state, given.steps, checkpoint_every))


def _may_not_fit(given: Settings) -> bool:
    """Whether the weights may have other names than the residuals, or nothing to weigh, or the
    network other arguments or another shape than the problem takes, or time may be missing.
    Tracing the loss shows it.
    """
    asked = given.data_weight != recommended_settings(given.problem, given.dim).data_weight
    weighted = given.weights is not None or isinstance(given.data_weight, list) or asked
    return weighted or bool(given.causal) or not isinstance(given.problem, str)


def _check_memory(given: Settings) -> None:
    """Checks the least memory that a step needs, before any of it is allocated."""
    there, each = memory_bytes(), jnp.zeros(()).dtype.itemsize
    first = given.dim * given.width if given.block == given.channels == 1 else 0
    network = first + (given.depth - 1) * given.width**2
    needed = {
        "--batch, --pool or --dim": each * given.batch * given.pool * given.dim,
        "--data-batch or --dim": each * (given.data_batch or 0) * given.dim,
        "--width, --depth or --dim": each * 2 * network,  # and its gradient
        "--steps": each * given.steps,  # the losses
    }
    total, largest = sum(needed.values()), max(needed, key=lambda name: needed[name])
    if there is not None and total > there * jax.process_count():
        raise MemoryError(
            f"the run needs {total / 1e9:.3g} GB of memory or more, and there are "
            f"{there / 1e9:.3g}; lower {largest}."
        )


def _check_room(path: pathlib.Path, state: Any, steps: int, every: int | None) -> None:
    """Checks that there is room for the model, and for checkpoints beside the present ones."""
    checkpoints = Checkpoints(path / files.CHECKPOINTS, every=every)
    more = max(0, _CHECKPOINTS - len(checkpoints.steps)) if checkpoints.wanted else 0
    each = _size(state) + steps * np.dtype(np.float64).itemsize
    free, needed = room(path), _size(state.model) + more * (each + MARGIN) + MARGIN
    if free < needed:
        raise OSError(
            f"there is room for {free / 1e6:.0f} MB in {path}, and the run may need "
            f"{needed / 1e6:.0f} for its network and checkpoints; make room, or say "
            f"--checkpoint-every 0 (checkpoint_every=0) for no checkpoints."
        )


def _size(tree: PyTree) -> int:
    """The size of its arrays, in bytes."""
    leaves = jax.tree.leaves(eqx.filter(tree, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
