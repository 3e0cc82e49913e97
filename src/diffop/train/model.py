"""The parts of a run, made from its settings: problem, loss, network, optimiser."""

from collections.abc import Callable
from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray

from .. import baselines, pde
from ..losses.causal import Causal
from ..losses.loss import ResidualLoss
from ..methods.balanced import Balanced
from ..methods.optimisers import OPTIMISERS, SCHEDULES, Optimiser, bound_by_fan_in, needs
from ..nn import Anchored, Curved, ScaledInput, ScaledOutput, SlidingMLP, WeightSharedMLP
from ..paths import is_path
from ..pde import AbstractProblem
from ..pde.own import made
from ..runs.settings import Settings
from ..streams import stream


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
