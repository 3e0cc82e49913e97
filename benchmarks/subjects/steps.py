"""Training steps of a problem that differ in who takes the derivatives, and in nothing else.

Problem, points, source, network and optimiser are the same. The names of methods are "diffop", the
names of diffop's baselines, and some of the paper's own.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import diffop as do

from ..harness.training import Loss, Training
from .methods import Method, stde
from .networks import BASE, Network, mlp

OURS = "diffop"
POINTS, JETS = 100, 16
GPINN_WEIGHT, GPINN_TERMS = 0.1, 4  # the paper's weight; the number of j it does not give

OPS = {"u": do.Identity(), "lap": do.Laplacian()}
"""What the residuals of the paper's problems on the unit ball are made of."""


def training(
    method: str,
    problem: str,
    dim: int,
    *,
    n: int = JETS,
    points: int = POINTS,
    network: Network = BASE,
    block: int = 1,
) -> Training:
    """Steps on a problem: one draw of n jets for all points of a step."""
    made = do.pde.make(problem, dim, key=jax.random.key(3))
    u = made.ansatz(_network(made.dim, network, block))
    return Training(_loss(method, n, points), u, _context(method, made, n, points))


def gradient_enhanced(method: str, problem: str, dim: int) -> Training:
    """Steps with the gradient of the residual in the loss: four of its components, equally far
    apart, each multiplied by d/4.
    """
    made = do.pde.make(problem, dim, key=jax.random.key(3))
    u = made.ansatz(mlp(dim))
    if method == "jvp-hvp":
        return Training(jvp_hvp, u, made)
    weight = 0.0 if method == "none" else GPINN_WEIGHT
    loss = do.losses.ResidualLoss(
        made, POINTS, JETS, "sparse", gpinn=weight, gpinn_terms=GPINN_TERMS
    )
    return Training(_as_given, u, loss)


def _network(dim: int, network: Network, block: int) -> Callable:
    if block == 1:
        return mlp(dim, network)
    return do.nn.WeightSharedMLP(
        dim, block, network.width, network.layers - 1, key=jax.random.key(0)
    )


_DRAWS = {"STDE": True, "STDE, a draw at each point": False}
"""The paper's method with the paper's sampler: whether all points share a draw. The paper's loss
has one draw; code that splits its key over the points pays for a draw each.
"""

PAPERS = tuple(_DRAWS)


def _context(method: str, problem: Any, n: int, points: int) -> Any:
    if method in PAPERS:
        return problem
    data = do.pde.recommended(problem.name).data_batch
    probes = "sparse" if method == OURS else do.baselines.as_baseline(method)
    return do.losses.ResidualLoss(problem, points, n, probes, data_batch=data)


def _loss(method: str, n: int, points: int) -> Loss:
    return _papers(_DRAWS[method], n, points) if method in PAPERS else _as_given


def _as_given(u: Any, key: jax.Array, loss: do.losses.ResidualLoss) -> jax.Array:
    return loss(u, key)


def _papers(one_draw: bool, n: int, points: int) -> Loss:
    def loss(u: Any, key: jax.Array, problem: Any) -> jax.Array:
        points_key, jets_key = jax.random.split(key)

        def residual(x: jax.Array, key: jax.Array) -> jax.Array:
            return problem.residual(stde(key, x.size, n)(u)(x), x)

        keys = jets_key if one_draw else jax.random.split(jets_key, points)
        residuals = jax.vmap(residual, in_axes=(0, None if one_draw else 0))
        return jnp.mean(residuals(problem.sample(points_key, points), keys) ** 2)

    return loss


def jvp_hvp(u: Any, key: jax.Array, problem: Any) -> jax.Array:
    """The paper's baseline: one more `jax.jvp` of a residual whose Laplacian is made of
    Hessian-vector products. Source: appendix `app:stde-gpinn`.
    """
    points_key, jets_key, first_key = jax.random.split(key, 3)
    method = do.baselines.estimate("sdgd", OPS, jets_key, JETS)
    first = jax.random.randint(first_key, (), 0, problem.dim)
    chosen = (first + jnp.arange(GPINN_TERMS) * problem.dim // GPINN_TERMS) % problem.dim
    directions = jax.nn.one_hot(chosen, problem.dim)

    def squares(x: jax.Array) -> jax.Array:
        def residual(x: jax.Array) -> jax.Array:
            return problem.residual(method(u)(x), x)

        value, push = jax.linearize(residual, x)
        gradient = jax.vmap(push)(directions)
        whole = problem.dim / GPINN_TERMS
        return value**2 + GPINN_WEIGHT * whole * jnp.sum(gradient**2)

    return jnp.mean(jax.vmap(squares)(problem.sample(points_key, POINTS)))


def methods_on_same_draws(key: jax.Array) -> dict[str, Method]:
    """Ours and the paper's way with our sampler: on the same coordinates they agree."""
    return {
        OURS: do.estimate(OPS, key, JETS),
        "jet": do.baselines.estimate("jet", OPS, key, JETS),
    }
