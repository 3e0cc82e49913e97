"""The problem, the network, the loss and the optimiser of a run."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from .. import pde
from ..losses.loss import ResidualLoss
from ..nn import ScaledInput, ScaledOutput, WeightSharedMLP
from ..pde import AbstractProblem
from ..pde.own import made
from .identity import is_own
from .iteration import Optimiser
from .optimisers import OPTIMISERS, SCHEDULES, bound_by_fan_in
from .settings import SOURCE, Settings


def build_problem(settings: Settings, key: PRNGKeyArray) -> AbstractProblem:
    """The problem of a run.

    **Raises:** `ValueError` where only a word of it is known.
    """
    problem = settings.problem
    if isinstance(problem, AbstractProblem):
        return problem
    if isinstance(problem, type):
        return made(problem, settings.dim, key)
    if is_own(problem):
        raise ValueError(
            f"the run is of a problem of one's own, {problem}; give it, or its class: problem=…"
        )
    return pde.make(problem, settings.dim, key=key)


def build_loss(settings: Settings, problem: pde.AbstractProblem) -> ResidualLoss:
    """The loss of a run."""
    return ResidualLoss(
        problem,
        batch=settings.batch,
        n=settings.n,
        probes=settings.probes,
        data_weight=settings.data_weight,
        weights=settings.weights,
        gpinn=settings.gpinn,
        gpinn_terms=settings.gpinn_terms,
        square=settings.square,
        data_batch=settings.data_batch,
        pool=settings.pool,
    )


def untrained(settings: Settings, key: PRNGKeyArray) -> Callable:
    """A model of the kind that a run trains, for its structure and shapes."""
    return build(settings, build_problem(settings, key), key)


def build(settings: Settings, problem: pde.AbstractProblem, key: PRNGKeyArray) -> Callable:
    """The untrained model of a run: a tanh network in the problem's ansatz.

    It depends on the problem's domain and boundary condition only, not on its coefficients or
    solution.
    """
    net = _network(settings, problem, key)
    if settings.input_scale != 1:
        net = ScaledInput(net, settings.input_scale)
    if settings.output_scale != 1:
        net = ScaledOutput(net, _output_scale(settings, problem))
    return problem.ansatz(net)


def _output_scale(
    settings: Settings, problem: pde.AbstractProblem
) -> int | float | Float[Array, ""]:
    """A number, or what the source tells: from points that depend on the seed alone."""
    if settings.output_scale == SOURCE:
        return problem.magnitude(jax.random.key(settings.seed))
    assert not isinstance(settings.output_scale, str)  # it was checked
    return settings.output_scale


def _network(settings: Settings, problem: AbstractProblem, key: PRNGKeyArray) -> Callable:
    dim, outputs = problem.dim, problem.outputs
    if settings.block == settings.channels == 1:
        return eqx.nn.MLP(
            dim, outputs, settings.width, settings.depth, activation=jnp.tanh, key=key
        )
    return WeightSharedMLP(
        dim,
        settings.block,
        settings.width,
        settings.depth,
        channels=settings.channels,
        summed=settings.sharing == "summed",
        activation=jnp.tanh,
        key=key,
    )


def build_optimiser(settings: Settings) -> Optimiser:
    """The optimiser of a run; what is not a setting is as it is by default."""
    schedule = SCHEDULES[settings.schedule](settings.learning_rate, settings.steps)
    optimiser = OPTIMISERS[settings.optimiser](schedule)
    if settings.fan_in_rate == 0:
        return optimiser
    assert isinstance(optimiser, optax.GradientTransformation)  # the settings are checked
    return optax.chain(optimiser, bound_by_fan_in(settings.learning_rate, settings.fan_in_rate))
