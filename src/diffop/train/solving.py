"""A run from settings to results on disk."""

import contextlib
import dataclasses
import math
import os
import pathlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray, PyTree

from ..parallel.mesh import checked, shard
from ..parallel.processes import Stop, by_first, is_first, is_out_of_memory, on_host
from ..pde import AbstractProblem, AbstractReferenceProblem, AbstractSolvedProblem
from ..streams import VERSION
from . import runs
from .checkpoints import Checkpoints
from .disk import MARGIN, environment, make_folder, room
from .evaluate import FixedPoints, NoPoints, test_points
from .fitting import follow, newest
from .iteration import State, iterate, without_arrays
from .loggers import (
    TRACKERS,
    AbstractLogger,
    Bar,
    MetricsFile,
    in_a_line,
    require_train_extra,
    tell,
)
from .model import Keys, build, build_loss, build_optimiser, build_problem, untrained
from .pictures import Curve, save_curves, save_picture
from .report import Progress, Report, memory_bytes, summarise
from .settings import PRECISIONS, Problem, Settings, as_settings, recommended

_COORDINATES_PER_DISPATCH = 10**7
_CHECKPOINTS = 4  # the last two, the best, and one that is being written
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
    `NotADirectoryError` if the directory cannot be used, or another run is writing into it;
    `OSError` if there is no room for the network and its checkpoints;
    `MemoryError` naming the settings to lower if a step surely needs more memory than there is;
    `diffop.train.CheckpointMismatchError` naming the settings in which the run that is to be
    resumed differs; and `diffop.train.MissingExtraError` if the extra `train`, or that of a logger,
    is not installed.

    !!! example

        ```python
        import diffop as do

        do.train.check(do.train.Settings("allen-cahn-two-body", dim=10), "a-new-directory")
        ```
    """
    path, given = pathlib.Path(directory), as_settings(settings)
    _Run(given, path, overwrite, resume, checkpoint_every, log, mesh).check()


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
    results cannot be written; `MemoryError` if the memory does not suffice.

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
    run = _Run(given, path, overwrite, resume, checkpoint_every, log, mesh)
    run.check()
    return run.report()


@final
@dataclasses.dataclass(frozen=True)
class _Run:
    """A run as it was asked for: see `solve`."""

    settings: Settings
    path: pathlib.Path
    overwrite: bool
    resume: bool
    checkpoint_every: int | None
    log: Sequence[str]
    mesh: Mesh | None

    def check(self) -> None:
        require_train_extra(self.log)
        if self.checkpoint_every is not None and self.checkpoint_every < 0:
            raise ValueError(
                f"checkpoint-every must be a number of steps, or 0 for no checkpoints, got "
                f"{self.checkpoint_every}."
            )
        checked(self.mesh)
        self._check_memory()
        by_first(self._check_directory)
        with PRECISIONS[self.settings.precision]():
            key = jax.random.key(0)
            problem = eqx.filter_eval_shape(build_problem, self.settings, key)
            loss = build_loss(self.settings, problem)
            u = eqx.filter_eval_shape(untrained, self.settings, key)
            if self._may_not_fit():
                eqx.filter_eval_shape(loss, u, key)
            if isinstance(problem, AbstractReferenceProblem):
                problem.reference()
            by_first(lambda: self._check_room(u))

    def report(self) -> Report:
        """That of the run when it has ended, from its beginning or from where it was stopped."""
        if self.resume and by_first(lambda: runs.finished(self.path) is not None):
            ended = runs.finished(self.path)
            assert ended is not None
            tell(f"the run in {self.path} has ended: nothing to do.")
            return ended
        with PRECISIONS[self.settings.precision](), contextlib.ExitStack() as stack:
            by_first(lambda: self._claim(stack))
            try:
                return self._trained()
            except (MemoryError, jax.errors.JaxRuntimeError) as error:
                if jax.process_count() > 1 or not is_out_of_memory(error):
                    raise
                raise MemoryError(
                    f"the run in {self.path} needs more memory than there is ({in_a_line(error)}); "
                    f"lower --batch, --n, --width or --dim."
                ) from error

    def _check_directory(self) -> None:
        runs.check_directory(self.path, self.settings.as_json(), self.overwrite, self.resume)

    def _may_not_fit(self) -> bool:
        """Whether the weights may have other names than the residuals, or nothing to weigh, or the
        network other arguments or another shape than the problem takes, or there may be no time.
        Tracing the loss tells.
        """
        given = self.settings.data_weight
        asked = given != recommended(self.settings.problem, self.settings.dim).data_weight
        weighted = self.settings.weights is not None or isinstance(given, list) or asked
        return weighted or bool(self.settings.causal) or not isinstance(self.settings.problem, str)

    def _check_memory(self) -> None:
        """For the least that a step needs, before anything of it is made."""
        there, settings = memory_bytes(), self.settings
        with PRECISIONS[settings.precision]():
            each = jnp.zeros(()).dtype.itemsize
        first = settings.dim * settings.width if settings.block == settings.channels == 1 else 0
        network = first + (settings.depth - 1) * settings.width**2
        needed = {
            "--batch, --pool or --dim": each * settings.batch * settings.pool * settings.dim,
            "--data-batch or --dim": each * (settings.data_batch or 0) * settings.dim,
            "--width, --depth or --dim": each * 2 * network,  # and its gradient
            "--steps": each * settings.steps,  # the losses
        }
        total, largest = sum(needed.values()), max(needed, key=lambda name: needed[name])
        if there is not None and total > there * jax.process_count():
            raise MemoryError(
                f"the run needs {total / 1e9:.3g} GB of memory or more, and there are "
                f"{there / 1e9:.3g}; lower {largest}."
            )

    def _check_room(self, u: PyTree) -> None:
        """For the model, and for checkpoints beside those that are there, unless it has ended."""
        if self.resume and (self.path / runs.REPORT).is_file():
            return
        state = eqx.filter_eval_shape(State.initial, u, build_optimiser(self.settings))
        checkpoints = Checkpoints(self.path / runs.CHECKPOINTS, every=self.checkpoint_every)
        more = max(0, _CHECKPOINTS - len(checkpoints.steps)) if checkpoints.wanted else 0
        each = _size(state) + self.settings.steps * np.dtype(np.float64).itemsize
        free, needed = room(self.path), _size(u) + more * (each + MARGIN) + MARGIN
        if free < needed:
            raise OSError(
                f"there is room for {free / 1e6:.0f} MB in {self.path}, and the run may need "
                f"{needed / 1e6:.0f} for its network and checkpoints; make room, or say "
                f"--checkpoint-every 0 (checkpoint_every=0) for no checkpoints."
            )

    def _claim(self, stack: contextlib.ExitStack) -> None:
        make_folder(self.path)
        stack.enter_context(runs.claimed(self.path))

    def _trained(self) -> Report:
        keys = Keys.of(self.settings)
        problem = build_problem(self.settings, keys.problem)
        points = test_points(problem, keys.test, self.mesh)
        by_first(lambda: runs.begin(self.path, self._description(points), self.resume))
        checkpoints = Checkpoints(
            self.path / runs.CHECKPOINTS,
            every=self.checkpoint_every,
            configuration=runs.started_with(self.path),
            tell=tell,
        )
        start = State.initial(
            self._net(problem, keys.net), build_optimiser(self.settings), self.mesh
        )
        start, notes = self._resumed(start, checkpoints) if self.resume else (start, None)
        steps = self.settings.steps

        def keep(state: State) -> None:
            checkpoints.save(state, progress.notes(), progress.score(state))

        with (
            Stop(tell) as stop,
            Progress(points, steps, self._loggers(start.step), start.step, notes) as progress,
        ):
            states = self._states(problem, keys.training, start)
            if start.step < steps:
                start = without_arrays(start)  # they were copied
            state = follow(
                states,
                start,
                steps,
                progress,
                checkpoints=checkpoints,
                stop=stop,
                save=keep,
                again="the same command with --resume (resume=True)",
            )
        try:
            report, model = self._results(points, state, progress, checkpoints)
        except Exception as error:
            if checkpoints.wanted and checkpoints.last() != state.step:
                keep(state)  # the steps are not made again
            if not isinstance(error, OSError):
                raise
            raise OSError(
                f"the results could not be written to {self.path}: {error}; make room for them and "
                f"give the same command with --resume (resume=True): {newest(checkpoints)}."
            ) from error
        by_first(lambda: self._draw(problem, points, state._replace(model=model), progress))
        return report

    def _results(
        self,
        points: FixedPoints | NoPoints,
        state: State,
        progress: Progress,
        checkpoints: Checkpoints,
    ) -> tuple[Report, PyTree]:
        """The report and the network in memory, when both are on the disk."""
        report = summarise(self.settings, points, state, progress)
        model = on_host(state.model)

        def save() -> None:
            runs.save_model(self.path, model)
            checkpoints.remove_damaged()
            runs.save_report(self.path, report)

        by_first(save)
        return report, model

    def _net(self, problem: AbstractProblem, key: PRNGKeyArray) -> PyTree:
        """The untrained network; on a mesh it is made where it will be, never as a whole."""
        if self.mesh is None:
            return build(self.settings, problem, key)
        mesh = self.mesh
        return eqx.filter_jit(lambda key: shard(build(self.settings, problem, key), mesh))(key)

    def _description(self, points: FixedPoints | NoPoints) -> dict[str, Any]:
        """What is known of a run when it begins."""
        return {
            "settings": self.settings.as_json(),
            "test_points": points.count,
            "null_rel_l2": points.null_rel_l2,
            "environment": environment(),
            "streams": VERSION,
            "id": uuid.uuid4().hex,
        }

    def _resumed(
        self, start: State, checkpoints: Checkpoints
    ) -> tuple[State, dict[str, Any] | None]:
        """Where a run goes on, and what was noted before; with a word about it."""
        saved = checkpoints.newest(start)
        if saved is None:
            tell(f"there is no checkpoint in {self.path} to go on from: starting at step 0.")
            return start, None
        tell(f"going on after step {saved.state.step} in {self.path}.")
        return saved.state, saved.notes

    def _loggers(self, step: int) -> list[AbstractLogger]:
        if not is_first():
            return []
        run = runs.read_json(self.path / runs.RUN)
        trackers = [TRACKERS[name][1](self.path, run, step) for name in self.log]
        return [MetricsFile(self.path, step, tell), *trackers, Bar(step, self.settings.steps)]

    def _states(self, problem: AbstractProblem, key: PRNGKeyArray, start: State) -> Iterator[State]:
        settings = self.settings
        devices = 1 if self.mesh is None else self.mesh.size
        per_step = settings.batch * settings.pool * settings.dim // devices
        return iterate(
            start.model,
            build_loss(settings, problem),
            build_optimiser(settings),
            settings.steps,
            key=key,
            steps_per_dispatch=min(100, max(1, _COORDINATES_PER_DISPATCH // max(1, per_step))),
            start=start,
            mesh=self.mesh,
        )

    def _draw(
        self,
        problem: AbstractProblem,
        points: FixedPoints | NoPoints,
        state: State,
        progress: Progress,
    ) -> None:
        """The pictures; the results are worth having without them, and each without the other."""
        title = f"{problem.name}, {self.settings.dim} dimensions"

        def curves() -> None:
            steps = np.arange(1, state.step + 1)
            curve = Curve("network", steps, state.losses, progress.errors, points.null_rel_l2)
            save_curves(self.path / runs.CURVE, [curve], title)

        def beside_the_solution() -> None:
            if not isinstance(problem, AbstractSolvedProblem):
                return
            if sections := problem.sections(_RESOLUTION):
                network = jax.tree.map(_on_device, state.model)
                path = self.path / runs.PICTURE
                save_picture(path, sections, network, problem.solution, title)

        for name, draw in ((runs.CURVE, curves), (runs.PICTURE, beside_the_solution)):
            try:
                draw()
            except Exception as error:  # of a disk, or of what a problem says of its sections
                reason = in_a_line(error)
                tell(f"the pictures in {self.path} could not be written: {reason} ({name}).")


def _size(tree: PyTree) -> int:
    """Of its arrays, in bytes."""
    leaves = jax.tree.leaves(eqx.filter(tree, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)


def _on_device(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf
