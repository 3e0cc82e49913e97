"""`solve`: a run from its settings to its results on disk."""

import contextlib
import os
import pathlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray, PyTree

from ..failures import is_out_of_memory
from ..parallel.mesh import shard
from ..parallel.processes import Stop, by_first, is_first, on_host
from ..pde import AbstractProblem, AbstractReferenceProblem, AbstractSolvedProblem
from ..precision import PRECISIONS
from ..runs import directory as files
from ..runs.evaluate import FixedPoints, Measured, NoPoints
from ..runs.pictures import Curve, save_beside_reference, save_curves, save_picture
from ..runs.report import Report
from ..runs.settings import GivenProblem, Settings, as_settings
from ..storage.environment import environment
from ..streams import VERSION
from .checking import check
from .checkpoints import Checkpoints, Saved
from .iteration import State, iterate
from .listeners import AbstractListener
from .loggers import TRACKERS, AbstractLogger, Bar, MetricsFile, in_a_line, tell
from .model import Keys, build, build_loss, build_optimiser, build_problem
from .progress import Progress
from .summary import summarise

_COORDINATES_PER_DISPATCH = 10**7
_RESOLUTION = 201


def solve(
    settings: Settings | GivenProblem,
    directory: str | os.PathLike,
    overwrite: bool = False,
    *,
    resume: bool = False,
    checkpoint_every: int | None = None,
    log: Sequence[str] = (),
    mesh: Mesh | None = None,
    listeners: Sequence[AbstractListener] = (),
) -> Report:
    """Trains a network on a problem, measures its error beside the null model's (if the solution is
    known), and keeps the results.

    Each step has fresh points and fresh jets. The network, its initialisation and the optimiser
    know only the equation's source and the data on the boundary and at the initial time. The
    solution is used only to measure errors, and these to choose the best checkpoint.

    A run can be stopped: it writes checkpoints, and with `resume` it continues from the newest one
    to the results of a run that never stopped. They are equal bit for bit where equal programs give
    equal numbers, as on the CPUs of one machine. Ctrl-C and SIGTERM stop it after the running steps
    with a last checkpoint; a second Ctrl-C raises `KeyboardInterrupt` at once.

    **Arguments:**

    - `settings`: a `diffop.train.Settings`; or a problem, its class or its name, to be solved with
        the settings that it recommends.
    - `directory`: made if it does not exist. During the run it receives `run.json`,
        `metrics.jsonl` (a line after each dispatch) and `checkpoints`; at the end `model.eqx` (for
        `diffop.train.load`), `curve.png`, `solution.png` if the problem has sections to draw, or a
        reference on a grid, and `report.json`.
    - `overwrite`: whether results already in the directory may be replaced.
    - `resume`: whether the run in the directory continues. If there is none, one is started; if it
        has ended, its report is returned and nothing is done.
    - `checkpoint_every`: the number of steps between checkpoints, 0 for none; by default a minute
        lies between them. The last two are kept, and the one with the smallest error.
    - `log`: where the metrics go beside `metrics.jsonl`: any of `"tensorboard"` and `"wandb"`.
    - `mesh`: devices to divide the work over, as for `diffop.train.fit`. Results are those of one
        device, to rounding; a run may be resumed on another mesh. If there are several processes
        (after `jax.distributed.initialize`), all call this, with a mesh of all their devices and a
        directory that all of them see; the first one writes the files.
    - `listeners`: called with the state after each dispatch: [`diffop.train.EarlyStopping`][], and
        your own `diffop.train.AbstractListener`s. If one of them ends the run early, the results
        are those of the steps that were made.

    **Returns:** the `diffop.train.Report`.

    **Raises:** what `diffop.train.check` raises; `diffop.train.NonFiniteLossError` naming the step
    at which the loss ceased to be finite and the newest checkpoint; `diffop.train.Interrupted` if
    the run was stopped by a signal, and `KeyboardInterrupt` at a second Ctrl-C; `OSError` if the
    results cannot be written; `MemoryError` if memory is not sufficient.

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
    path, given = pathlib.Path(directory), as_settings(settings)
    how = {"resume": resume, "checkpoint_every": checkpoint_every, "log": log, "mesh": mesh}
    check(given, path, overwrite, **how)
    return run(given, path, **how, listeners=listeners)


def run(
    given: Settings,
    path: pathlib.Path,
    *,
    resume: bool,
    checkpoint_every: int | None,
    log: Sequence[str],
    mesh: Mesh | None,
    listeners: Sequence[AbstractListener] = (),
) -> Report:
    """`solve` after `check` has found nothing, so that the command line tells input that cannot be
    used from a run that failed.
    """
    if resume and by_first(lambda: files.finished(path) is not None):
        ended = files.finished(path)
        assert ended is not None
        tell(f"the run in {path} has ended: nothing to do.")
        return ended
    with (
        PRECISIONS[given.precision](),
        _out_of_memory_said(path),
        contextlib.ExitStack() as held,
    ):
        by_first(lambda: held.enter_context(files.claimed(path)))
        keys = Keys.of(given)
        problem = build_problem(given, keys.problem)
        is_known = isinstance(problem, Measured)
        points = FixedPoints(problem, keys.test, mesh=mesh) if is_known else NoPoints()
        by_first(lambda: files.begin(path, _description(given.as_json(), points), resume))
        checkpoints = Checkpoints(
            path / files.CHECKPOINTS,
            every=checkpoint_every,
            configuration=files.started_with(path),
            tell=tell,
        )
        optimiser = build_optimiser(given)
        make = partial(build, given, problem)
        start = Saved(State.initial(_made(make, keys.net, mesh), optimiser, mesh), {})
        if resume:
            start = _resumed(checkpoints, start, path)
        states = iterate(
            start.state.model,
            build_loss(given, problem),
            optimiser,
            given.steps,
            key=keys.training,
            steps_per_dispatch=_steps_per_dispatch(given.batch * given.pool * given.dim, mesh),
            start=start.state,
            mesh=mesh,
        )
        with Stop(tell) as stop:
            loggers = _loggers(path, log, start.state.step, given.steps) if is_first() else []
            progress = Progress(
                given.steps,
                [*loggers, *listeners],
                start,
                points=points,
                checkpoints=checkpoints,
                again="the same command with --resume (resume=True)",
            )
            held.enter_context(progress)
            del start  # with its arrays
            state = progress.through(states, stop)
        with _steps_kept(path, state, progress, checkpoints):
            report = summarise(given.as_json(), points, state, progress)
            model = on_host(state.model)
            by_first(lambda: _write(path, report, model, checkpoints))
        numbers = np.arange(1, state.step + 1)
        curve = Curve("network", numbers, state.losses, progress.errors, report.null_rel_l2)
        _draw(path, problem, f"{problem.name}, {given.dim} dimensions", curve, model)
        return report


@contextlib.contextmanager
def _out_of_memory_said(path: pathlib.Path) -> Iterator[None]:
    """A context in which a lack of memory raises a `MemoryError` that names what to lower."""
    try:
        yield
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if jax.process_count() > 1 or not is_out_of_memory(error):
            raise
        raise MemoryError(
            f"the run in {path} needs more memory than there is ({in_a_line(error)}); lower "
            f"--batch, --n, --width or --dim."
        ) from error


@contextlib.contextmanager
def _steps_kept(
    path: pathlib.Path, state: State, progress: Progress, checkpoints: Checkpoints
) -> Iterator[None]:
    """A context in which results that cannot be written leave a checkpoint, so no step is lost."""
    try:
        yield
    except Exception as error:
        if checkpoints.last() != state.step:
            progress.keep(state)
        if not isinstance(error, OSError):
            raise
        raise OSError(
            f"the results could not be written to {path}: {error}; make room for them and give the "
            f"same command with --resume (resume=True): {checkpoints.last_in_words()}."
        ) from error


def _made(net: Callable[[PRNGKeyArray], PyTree], key: PRNGKeyArray, mesh: Mesh | None) -> PyTree:
    """A network; on a mesh it is made where it will lie, never as a whole."""
    return net(key) if mesh is None else eqx.filter_jit(lambda key: shard(net(key), mesh))(key)


def _description(values: dict[str, Any], points: FixedPoints | NoPoints) -> dict[str, Any]:
    """What is known about a run when it begins, with its settings' values."""
    return {
        "settings": values,
        "test_points": points.count,
        "null_rel_l2": points.null_rel_l2,
        "environment": environment(),
        "streams": VERSION,
        "id": uuid.uuid4().hex,
    }


def _resumed(checkpoints: Checkpoints, start: Saved, path: pathlib.Path) -> Saved:
    """Where a run continues, with a message."""
    saved = checkpoints.newest(start.state)
    if saved is None:
        tell(f"there is no checkpoint in {path} to go on from: starting at step 0.")
        return start
    tell(f"going on after step {saved.state.step} in {path}.")
    return saved


def _steps_per_dispatch(coordinates: int, mesh: Mesh | None) -> int:
    """The number of steps in a dispatch, by how many coordinates of points a step has."""
    on_each = coordinates // (1 if mesh is None else mesh.size)
    return min(100, max(1, _COORDINATES_PER_DISPATCH // max(1, on_each)))


def _loggers(path: pathlib.Path, log: Sequence[str], made: int, steps: int) -> list[AbstractLogger]:
    run = files.read(path / files.RUN)
    trackers = [TRACKERS[name][1](path, run, made) for name in log]
    return [MetricsFile(path, made, tell), *trackers, Bar(made, steps)]


def _write(path: pathlib.Path, report: Report, model: PyTree, checkpoints: Checkpoints) -> None:
    files.save_model(path, model)
    checkpoints.remove_damaged()
    files.save_report(path, report)


def _draw(
    path: pathlib.Path, problem: AbstractProblem, title: str, curve: Curve, model: PyTree
) -> None:
    """Draws the curve, and the network beside the solution. If one picture fails, the other is
    still drawn.
    """

    def draw_curve(path: pathlib.Path) -> None:
        save_curves(path, [curve], title)

    def draw_solution(path: pathlib.Path) -> None:
        network = jax.tree.map(_on_device, model)
        if isinstance(problem, AbstractReferenceProblem):
            save_beside_reference(path, problem, network, title)
        elif isinstance(problem, AbstractSolvedProblem):
            if sections := problem.sections(_RESOLUTION):
                save_picture(path, sections, network, problem.solution, title)

    for name, draw in ((files.CURVE, draw_curve), (files.PICTURE, draw_solution)):
        try:
            by_first(partial(draw, path / name))
        except Exception as error:  # of the disk, or of a problem's own sections
            reason = in_a_line(error)
            tell(f"the pictures in {path} could not be written: {reason} ({name}).")


def _on_device(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf
