"""A run from settings to results on disk."""

import os
import pathlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray, PyTree

from ..pde import AbstractProblem, AbstractReferenceProblem, AbstractSolvedProblem
from . import output
from .bar import tell
from .checkpoints import Checkpoints
from .curve import Curve, save_curves
from .environment import environment
from .evaluate import FixedPoints, NoPoints, test_points
from .extras import require_train_extra
from .identity import Problem
from .iteration import State, iterate, without_arrays
from .layout import shard
from .mesh import checked
from .metrics import AbstractLogger, MetricsFile
from .model import build, build_loss, build_optimiser, build_problem, untrained
from .picture import save_picture
from .precision import PRECISIONS
from .processes import by_first, is_first, on_host
from .progress import Progress
from .report import Report, summarise
from .settings import Settings, as_settings
from .stop import Stop
from .trackers import TRACKERS
from .watch import newest, watch

_COORDINATES_PER_DISPATCH = 10**7
_RESOLUTION = 201


def check(
    settings: Settings | Problem,
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

    **Raises:** `ValueError` if the problem does not exist in this dimension, or has nothing to
    measure an error with there, if the probes, the weights or the network do not suit it, if
    `overwrite` and `resume` are both set, or if the mesh has other axes; `FileExistsError` or
    `NotADirectoryError`
    if the directory cannot be used; `diffop.train.CheckpointMismatchError` naming the settings in
    which the run that is to be resumed differs; and `diffop.train.MissingExtraError` if the extra
    `train`, or that of a logger, is not installed.

    !!! example

        ```python
        import diffop as do

        do.train.check(do.train.Settings("allen-cahn-two-body", dim=10), "a-new-directory")
        ```
    """
    settings = as_settings(settings)
    require_train_extra(log)
    if checkpoint_every is not None and checkpoint_every < 0:
        raise ValueError(
            f"checkpoint-every must be a number of steps, or 0 for no checkpoints, got "
            f"{checkpoint_every}."
        )
    checked(mesh)
    by_first(lambda: output.check_directory(directory, settings, overwrite, resume))
    with PRECISIONS[settings.precision]():
        problem = eqx.filter_eval_shape(build_problem, settings, jax.random.key(0))
        loss = build_loss(settings, problem)
        u = eqx.filter_eval_shape(untrained, settings, jax.random.key(0))
        if _may_not_fit(settings):
            eqx.filter_eval_shape(loss, u, jax.random.key(0))
        if isinstance(problem, AbstractReferenceProblem):
            problem.reference()


def _may_not_fit(settings: Settings) -> bool:
    """Whether the weights may have other names than the residuals, or the network other arguments
    or another shape than the problem takes. Tracing the loss tells.
    """
    weighted = settings.weights is not None or isinstance(settings.data_weight, list)
    return weighted or not isinstance(settings.problem, str)


def solve(
    settings: Settings | Problem,
    directory: str | os.PathLike,
    overwrite: bool = False,
    *,
    resume: bool = False,
    checkpoint_every: int | None = None,
    log: Sequence[str] = (),
    mesh: Mesh | None = None,
) -> Report:
    """Trains a network on a problem, measures it beside the null model, where the problem says what
    is known of its solution, and keeps the results.

    Each step has fresh points and fresh jets. The network, its initialisation and the optimiser
    know the equation's source and the data on the boundary and at the initial time only: the
    solution is used for measuring errors, and with them for saying which checkpoint is the best
    one, and for nothing else.

    A run survives being stopped: it writes checkpoints, and with `resume` it goes on from the
    newest one to the results of a run that never stopped, bit for bit where equal programs give
    equal numbers: on the CPUs of the same machine. Ctrl-C and SIGTERM stop it after the running
    steps with a last checkpoint; a second Ctrl-C raises `KeyboardInterrupt` at once.

    **Arguments:**

    - `settings`: a `diffop.train.Settings`; or a problem, its class or its name, to be solved with
        the settings that it recommends.
    - `directory`: made if it does not exist. While the run goes on it writes `run.json`,
        `metrics.jsonl` (a line after each dispatch) and `checkpoints` there; at its end `model.eqx`
        (for `diffop.train.load`), `curve.png`, `solution.png` if the problem has sections to draw,
        and `report.json`.
    - `overwrite`: whether results already in the directory may be replaced.
    - `resume`: whether the run in the directory goes on. If there is none, one is started; if it
        has ended, its report is returned and nothing is done.
    - `checkpoint_every`: how many steps lie between checkpoints, 0 for none; a minute lies between
        them if not given. The last two are kept, and the one with the smallest error.
    - `log`: where the metrics go beside `metrics.jsonl`: any of `"tensorboard"` and `"wandb"`.
    - `mesh`: devices to divide the work over, as for `diffop.train.fit`. Results are those of one
        device, to rounding; a run may be resumed on another mesh. Several processes (after
        `jax.distributed.initialize`) all call this, with a mesh of all their devices and a
        directory that all of them see; the first one writes the files.

    **Returns:** the `diffop.train.Report`.

    **Raises:** what `diffop.train.check` raises; `diffop.train.NonFiniteLossError` naming the step
    at which the loss ceased to be finite and the newest checkpoint; `diffop.train.Interrupted` if
    the run was stopped by a signal, and `KeyboardInterrupt` at a second Ctrl-C; `OSError` if the
    results cannot be written.

    !!! example

        ```python
        import tempfile
        import diffop as do

        with tempfile.TemporaryDirectory() as directory:
            settings = do.train.Settings("allen-cahn-two-body", dim=4, steps=20, width=8)
            report = do.train.solve(settings, directory, resume=True)
        print(report.as_text())
        ```
    """
    settings = as_settings(settings)
    how = {"checkpoint_every": checkpoint_every, "log": log, "mesh": mesh}
    check(settings, directory, overwrite, resume=resume, **how)
    if resume and by_first(lambda: output.finished(directory) is not None):
        ended = output.finished(directory)
        assert ended is not None
        tell(f"the run in {directory} has ended: nothing to do.")
        return ended
    with PRECISIONS[settings.precision]():
        return _solved(settings, pathlib.Path(directory), resume, checkpoint_every, log, mesh)


def _solved(
    settings: Settings,
    path: pathlib.Path,
    resume: bool,
    checkpoint_every: int | None,
    log: Sequence[str],
    mesh: Mesh | None,
) -> Report:
    """A run that was checked, from its beginning or from where it was stopped, to its results."""
    problem_key, net_key, train_key, test_key = jax.random.split(jax.random.key(settings.seed), 4)
    problem = build_problem(settings, problem_key)
    points = test_points(problem, test_key, mesh)
    by_first(lambda: output.begin(path, _description(settings, points), resume))
    checkpoints = Checkpoints(
        path / output.CHECKPOINTS,
        every=checkpoint_every,
        configuration=output.started_with(path),
        tell=tell,
    )
    optimiser = build_optimiser(settings)
    start = State.initial(_net(settings, problem, net_key, mesh), optimiser, mesh)
    start, notes = _resumed(start, checkpoints) if resume else (start, None)
    with Stop(tell) as stop:
        loggers = _loggers(path, start.step, log) if is_first() else []
        with Progress(points, settings.steps, loggers, start.step, notes) as progress:
            states = _states(settings, problem, train_key, start, mesh)
            if start.step < settings.steps:
                start = without_arrays(start)  # they were copied
            state = watch(states, start, settings.steps, progress, checkpoints, stop)
    report = summarise(settings, points, state, progress)
    state = state._replace(model=on_host(state.model))

    def save() -> None:
        output.save_model(path, state.model)
        _draw(path, settings, problem, points, state, progress)
        checkpoints.remove_damaged()
        output.save_report(path, report)

    try:
        by_first(save)
    except OSError as error:
        raise OSError(
            f"the results could not be written to {path}: {error}; make room for them and give the "
            f"same command with --resume (resume=True): {newest(checkpoints)}."
        ) from error
    return report


def _net(
    settings: Settings, problem: AbstractProblem, key: PRNGKeyArray, mesh: Mesh | None
) -> PyTree:
    """The untrained network; on a mesh it is made where it will be, never whole on one device."""
    if mesh is None:
        return build(settings, problem, key)
    return eqx.filter_jit(lambda key: shard(build(settings, problem, key), mesh))(key)


def _description(settings: Settings, points: FixedPoints | NoPoints) -> dict[str, Any]:
    """What is known of a run when it begins."""
    return {
        "settings": settings.as_json(),
        "test_points": points.count,
        "null_rel_l2": points.null_rel_l2,
        "environment": environment(),
        "id": uuid.uuid4().hex,
    }


def _resumed(start: State, checkpoints: Checkpoints) -> tuple[State, dict[str, Any] | None]:
    """Where a run goes on, and what was noted before; with a word about it."""
    where = checkpoints.directory.parent
    saved = checkpoints.newest(start)
    if saved is None:
        tell(f"there is no checkpoint in {where} to go on from: starting at step 0.")
        return start, None
    tell(f"going on after step {saved.state.step} in {where}.")
    return saved.state, saved.notes


def _loggers(path: pathlib.Path, step: int, log: Sequence[str]) -> list[AbstractLogger]:
    run = output.read_json(path / output.RUN)
    trackers = [TRACKERS[name][1](path, run, step) for name in log]
    return [MetricsFile(path, step, tell), *trackers]


def _states(
    settings: Settings,
    problem: AbstractProblem,
    key: PRNGKeyArray,
    start: State,
    mesh: Mesh | None,
) -> Iterator[State]:
    devices = 1 if mesh is None else mesh.size
    per_step = settings.batch * settings.pool * settings.dim // devices
    return iterate(
        start.model,
        build_loss(settings, problem),
        build_optimiser(settings),
        settings.steps,
        key=key,
        steps_per_dispatch=min(100, max(1, _COORDINATES_PER_DISPATCH // max(1, per_step))),
        start=start,
        mesh=mesh,
    )


def _draw(
    path: pathlib.Path,
    settings: Settings,
    problem: AbstractProblem,
    points: FixedPoints | NoPoints,
    state: State,
    progress: Progress,
) -> None:
    """The pictures; the results are worth having without them."""
    title = f"{problem.name}, {settings.dim} dimensions"
    steps = np.arange(1, state.step + 1)
    curve = Curve("network", steps, state.losses, progress.errors, points.null_rel_l2)
    try:
        save_curves(path / output.CURVE, [curve], title)
        solved = isinstance(problem, AbstractSolvedProblem)
        if solved and (sections := problem.sections(_RESOLUTION)):
            network = jax.tree.map(_on_device, state.model)
            save_picture(path / output.PICTURE, sections, network, problem.solution, title)
    except OSError as error:
        tell(f"the pictures in {path} could not be written: {error}.")


def _on_device(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf
