"""A run from settings to results on disk."""

import os
from collections.abc import Callable

import equinox as eqx
import jax
import optax
from jaxtyping import PyTree

from ..pde import AbstractProblem, AbstractReferenceProblem, AbstractSolvedProblem
from . import _output
from ._curve import save_curve
from ._environment import environment
from ._evaluate import FixedPoints
from ._extras import require_train_extra
from ._fit import Fit, fit
from ._memory import peak_memory_mb
from ._model import build, build_loss, build_problem
from ._picture import save_picture
from ._progress import Progress
from ._report import Report
from ._settings import Settings

_COORDINATES_PER_DISPATCH = 10**7
_RESOLUTION = 201
_OTHER_SETTINGS = tuple(
    name for name in Settings.__dataclass_fields__ if name not in Report.__dataclass_fields__
)


def check(settings: Settings, directory: str | os.PathLike, overwrite: bool = False) -> None:
    """Checks everything that can be known before a run, without starting or writing anything.

    **Arguments:** as for `diffop.train.solve`.

    **Raises:** `ValueError` if the problem does not exist in this dimension, or has nothing to
    measure an error with there, or the estimator does not suit it, `FileExistsError` or
    `NotADirectoryError` if the directory cannot be used, and `diffop.train.MissingExtraError` if
    the extra `train` is not installed.

    !!! example

        ```python
        import diffop as do

        do.train.check(do.train.Settings("allen-cahn-two-body", dim=10), "a-new-directory")
        ```
    """
    require_train_extra()
    _output.check_directory(directory, overwrite)
    problem = eqx.filter_eval_shape(build_problem, settings, jax.random.key(0))
    build_loss(settings, problem)
    if isinstance(problem, AbstractReferenceProblem):
        problem.reference()


def solve(settings: Settings, directory: str | os.PathLike, overwrite: bool = False) -> Report:
    """Trains a network on a problem, measures it beside the null model and keeps the results.

    Adam, with a learning rate that decays linearly to 0; fresh points and fresh jets at each step.
    The network, its initialisation and the optimiser know the equation's source and the data on the
    boundary and at the initial time only: the solution is used for measuring errors and for nothing
    else.

    **Arguments:**

    - `settings`: a `diffop.train.Settings`.
    - `directory`: where `report.json`, `curve.png`, `model.eqx` (for `diffop.train.load`) and, if
        the problem has sections to draw, `solution.png` are written; it is made if it does not
        exist.
    - `overwrite`: whether results already in the directory may be replaced.

    **Returns:** the `diffop.train.Report`.

    **Raises:** what `diffop.train.check` raises, and `diffop.train.NonFiniteLossError` naming the
    step at which the loss ceased to be finite.

    !!! example

        ```python
        import tempfile
        import diffop as do

        with tempfile.TemporaryDirectory() as directory:
            settings = do.train.Settings("allen-cahn-two-body", dim=4, steps=20, width=8)
            report = do.train.solve(settings, directory)
        print(report.as_text())
        ```
    """
    check(settings, directory, overwrite)
    path = _output.prepare_directory(directory)
    problem_key, net_key, train_key, test_key = jax.random.split(jax.random.key(settings.seed), 4)
    problem = build_problem(settings, problem_key)
    points = FixedPoints(problem, test_key)
    with Progress(points, settings.steps) as progress:
        result = _train(settings, problem, build(settings, problem, net_key), train_key, progress)
    report = _report(settings, points, result)
    _output.save(path, report, result.model)
    title = f"{settings.problem}, {settings.dim} dimensions"
    save_curve(path / _output.CURVE, result.losses, progress.errors, points.null_rel_l2, title)
    if isinstance(problem, AbstractSolvedProblem) and (sections := problem.sections(_RESOLUTION)):
        save_picture(path / _output.PICTURE, sections, result.model, problem.solution, title)
    return report


def _train(
    settings: Settings, problem: AbstractProblem, model: PyTree, key, observe: Callable
) -> Fit:
    schedule = optax.linear_schedule(settings.learning_rate, 0.0, settings.steps)
    per_step = settings.batch * settings.dim
    return fit(
        model,
        build_loss(settings, problem),
        optax.adam(schedule),
        settings.steps,
        key=key,
        steps_per_dispatch=min(100, max(1, _COORDINATES_PER_DISPATCH // per_step)),
        observe=observe,
    )


def _report(settings: Settings, points: FixedPoints, result: Fit) -> Report:
    errors = points.errors(result.model)
    arrays = jax.tree.leaves(eqx.filter(result.model, eqx.is_inexact_array))
    return Report(
        problem=settings.problem,
        dim=settings.dim,
        steps=settings.steps,
        n=settings.n,
        seed=settings.seed,
        rel_l1=errors.rel_l1,
        rel_l2=errors.rel_l2,
        null_rel_l2=points.null_rel_l2,
        skill=points.null_rel_l2 / errors.rel_l2,
        it_per_s=settings.steps / result.seconds,
        compile_s=result.compile_seconds,
        peak_memory_mb=peak_memory_mb(),
        parameters=sum(array.size for array in arrays),
        settings={
            **{name: getattr(settings, name) for name in _OTHER_SETTINGS},
            "test_points": points.count,
            **({"reference_rel_error": points.rel_error} if points.rel_error else {}),
        },
        environment=environment(),
    )
