"""The parts of a run, made from its settings: problem, loss, network, optimiser; and loading."""

import dataclasses
import os
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray, PyTree

from .. import baselines, pde
from ..losses.causal import Causal
from ..losses.loss import ResidualLoss
from ..methods.balanced import Balanced
from ..methods.optimisers import OPTIMISERS, SCHEDULES, Maker, Optimiser, bound_by_fan_in, needs
from ..nn import Anchored, Curved, ScaledInput, ScaledOutput, SlidingMLP, WeightSharedMLP
from ..paths import is_path, path_of
from ..pde import AbstractProblem
from ..pde.own import made
from ..precision import PRECISIONS
from ..scalars import plain
from ..storage.disk import is_as_signed
from ..streams import stream
from .checkpoints import Checkpoints
from .iteration import State
from .runs import CHECKPOINTS, MODEL, REPORT, RUN, read, settings_of, started_with
from .settings import GivenProblem, Settings, identity, own_dim


@final
class Keys(NamedTuple):
    """The random keys of a run, from its seed."""

    problem: PRNGKeyArray
    net: PRNGKeyArray
    training: PRNGKeyArray
    test: PRNGKeyArray

    @classmethod
    def of(cls, settings: Settings) -> "Keys":
        key = jax.random.key(settings.seed)
        return cls(
            problem=stream(key, "problem"),
            net=stream(key, "network"),
            training=stream(key, "training"),
            test=stream(key, "test points"),
        )


def build_problem(settings: Settings, key: PRNGKeyArray) -> AbstractProblem:
    """The problem of a run.

    **Raises:** `ValueError` if only the name of a user's problem is known.
    """
    problem = settings.problem
    if isinstance(problem, AbstractProblem):
        return problem
    if isinstance(problem, type):
        return made(problem, settings.dim, key)
    if is_path(problem):
        raise ValueError(
            f"the run is of your own problem, {problem}; give it, or its class: problem=…"
        )
    return pde.make(problem, settings.dim, key=key)


def build_loss(settings: Settings, problem: pde.AbstractProblem) -> ResidualLoss:
    """The loss of a run."""
    probes = settings.probes
    return ResidualLoss(
        problem,
        batch=settings.batch,
        n=settings.n,
        probes=baselines.as_baseline(probes) if probes in baselines.names() else probes,
        data_weight=settings.data_weight,
        weights=settings.weights,
        gpinn=settings.gpinn,
        gpinn_terms=settings.gpinn_terms,
        square=settings.square,
        data_batch=settings.data_batch,
        pool=settings.pool,
        causal=Causal(problem.elapsed, settings.causal) if settings.causal else None,
    )


def untrained(settings: Settings, key: PRNGKeyArray) -> Callable:
    """A model with the structure and shapes of those that a run trains."""
    return build(settings, build_problem(settings, key), key)


def build(settings: Settings, problem: AbstractProblem, key: PRNGKeyArray) -> Callable:
    """The untrained model of a run: a tanh network in the problem's ansatz.

    It depends only on the problem's domain and boundary condition, not on its coefficients or
    solution. Its scale may follow from the source, at points of separate random streams.
    """
    sizes = (settings.width, settings.depth, settings.block, settings.channels)
    net = _network(problem, *sizes, settings.sharing, stream(key, "weights"))
    if settings.input_scale != 1:
        net = ScaledInput(net, settings.input_scale)
    anchor, scale = settings.anchor, settings.output_scale
    if isinstance(anchor, str):
        anchor = problem.location(stream(key, "points of the location"))
    if isinstance(scale, str):
        points = stream(key, "points of the magnitude")
        known = () if anchor is None else (anchor,)
        scale = problem.magnitude(points, *known)
    shape = () if problem.outputs == "scalar" else (problem.outputs,)
    unit = ScaledOutput(net, scale).unit()  # a parameter of size one
    if settings.curvature is not None:
        net = Curved(net, jnp.full(shape, settings.curvature / unit))
    if anchor is not None:
        net = Anchored(net, jnp.full(shape, anchor / unit))
    if settings.output_scale != 1:
        net = ScaledOutput(net, scale)
    return problem.ansatz(net)


def _network(
    problem: AbstractProblem,
    width: int,
    depth: int,
    block: int,
    channels: int,
    sharing: str,
    key: PRNGKeyArray,
) -> Callable:
    """The tanh network alone."""
    inputs, how = problem.inputs or problem.dim, {"activation": jnp.tanh, "key": key}
    if block == channels == 1 and sharing != "sliding":
        return eqx.nn.MLP(inputs, problem.outputs, width, depth, **how)
    how |= {"channels": channels, "out_size": problem.outputs}
    if sharing == "sliding":
        return SlidingMLP(inputs, block, width, depth, common=_common(problem), **how)
    return WeightSharedMLP(inputs, block, width, depth, summed=sharing == "summed", **how)


def _common(problem: AbstractProblem) -> int:
    """How many of the last coordinates have no place among the others: 1 for time."""
    if problem.inputs is not None:
        return 0
    domain = problem.domain
    in_time = isinstance(domain, pde.SpaceTime) and domain.argnum is None
    return int(in_time or isinstance(problem, pde.AbstractWholeSpace))


def build_optimiser(settings: Settings) -> Optimiser:
    """The optimiser of a run; options that are not settings keep their defaults.

    **Raises:** `ValueError` if only the path of a user's optimiser is known.
    """
    named = settings.optimiser
    if is_path(named):
        raise ValueError(f"the run has your own optimiser, {named}; give it: optimiser=…")
    first = settings.learning_rate if needs(named) == "rate" else 1.0
    schedule = SCHEDULES[settings.schedule](first, settings.steps)
    optimiser = OPTIMISERS[named].make(schedule) if isinstance(named, str) else named(schedule)
    if settings.fan_in_rate:
        if not isinstance(optimiser, optax.GradientTransformation):
            raise ValueError(
                f"fan-in-rate must be 0 for an optimiser that is not optax's, got "
                f"{settings.fan_in_rate}."
            )
        bound = bound_by_fan_in(settings.learning_rate, settings.fan_in_rate)
        optimiser = optax.chain(optimiser, bound)
    return Balanced(optimiser, settings.balance) if settings.balance else optimiser


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
