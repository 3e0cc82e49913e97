"""The problem, the network, the loss and the optimiser of a run."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray, ScalarLike

from .. import pde
from ..losses.loss import ResidualLoss
from ..nn import ScaledInput, ScaledOutput, WeightSharedMLP
from ._optimisers import OPTIMISERS, SCHEDULES, bound_by_fan_in
from ._settings import SOURCE, Settings
from ._test_points import Measured


def build_problem(settings: Settings, key: PRNGKeyArray) -> Measured:
    """The problem of a run."""
    return pde.make(settings.problem, settings.dim, key=key)


def build_loss(settings: Settings, problem: pde.AbstractProblem) -> ResidualLoss:
    """The loss of a run."""
    return ResidualLoss(
        problem,
        batch=settings.batch,
        n=settings.n,
        probes=settings.probes,
        data_weight=settings.data_weight,
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
    net = _network(settings, problem.dim, key)
    if settings.input_scale != 1:
        net = ScaledInput(net, settings.input_scale)
    if settings.output_scale != 1:
        net = ScaledOutput(net, _output_scale(settings, problem))
    return problem.ansatz(net)


def _output_scale(settings: Settings, problem: pde.AbstractProblem) -> ScalarLike:
    """A number, or what the source tells: from points that depend on the seed alone."""
    if settings.output_scale == SOURCE:
        return problem.magnitude(jax.random.key(settings.seed))
    assert not isinstance(settings.output_scale, str)  # it was checked
    return settings.output_scale


def _network(settings: Settings, dim: int, key: PRNGKeyArray) -> Callable:
    if settings.block == settings.channels == 1:
        return eqx.nn.MLP(
            dim, "scalar", settings.width, settings.depth, activation=jnp.tanh, key=key
        )
    return WeightSharedMLP(
        dim,
        settings.block,
        settings.width,
        settings.depth,
        channels=settings.channels,
        activation=jnp.tanh,
        key=key,
    )


def build_optimiser(settings: Settings) -> optax.GradientTransformation:
    """The optimiser of a run; what is not a setting is as optax has it by default."""
    schedule = SCHEDULES[settings.schedule](settings.learning_rate, settings.steps)
    optimiser = OPTIMISERS[settings.optimiser](schedule)
    if settings.fan_in_rate == 0:
        return optimiser
    return optax.chain(optimiser, bound_by_fan_in(settings.learning_rate, settings.fan_in_rate))
