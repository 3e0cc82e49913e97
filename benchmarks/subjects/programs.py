"""Programs that the engine makes: what a redesign must not make larger.

Each is a function and its arguments, as types where arrays would be large. Nothing is computed.
"""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do

from . import attention, by_hand, products
from .agreement import PARTS, gradients
from .equations import EQUATIONS
from .methods import Method, laplacian_by
from .networks import BASE, Network, ball_points, mlp, normal_points
from .operators import OPERATORS
from .steps import JETS
from .words import OURS, residuals

POINTS = 100
Program = tuple[Callable[..., Any], tuple[Any, ...]]
Make = Callable[[], Program]


def nested() -> tuple[Method, Any, Any]:
    """The unit of tracing: a Laplacian by `jax.jvp` of `jax.grad`, of the base network."""
    u, points = _typed(mlp, 10), _typed(normal_points, POINTS, 10)
    return laplacian_by("forward-over-reverse"), u, points


def _typed(make: Callable[..., Any], *args: Any) -> Any:
    """What a function makes, with types in the place of arrays."""
    return eqx.filter_eval_shape(lambda: make(*args))


def _parts(
    method: Method, network: Callable[[], Any], points: Callable[[], Any], parts: Any = PARTS
) -> dict[str, Make]:
    """The values at all points, and the gradient by the parameters of their mean square."""

    def make(part: Callable[..., Any]) -> Program:
        return functools.partial(part, method), (_typed(network), _typed(points))

    return {name: functools.partial(make, part) for name, part in parts.items()}


def _of_mlp(method: Method, dim: int, network: Network = BASE, unit_ball: bool = False) -> Any:
    if unit_ball:
        return _parts(
            method,
            lambda: do.nn.ZeroOnUnitSphere(mlp(dim, network)),
            lambda: ball_points(POINTS, dim),
        )
    return _parts(method, lambda: mlp(dim, network), lambda: normal_points(POINTS, dim))


def _of_subject(subject: Any, dim: int, parts: Any = PARTS) -> Any:
    return _parts(
        subject.ways[OURS](dim),
        lambda: subject.network(dim),
        lambda: subject.points(subject.number, dim),
        parts,
    )


def _residual(equation: Any) -> Any:
    method = residuals(equation)[OURS]
    return _of_mlp(lambda u: lambda x: jnp.stack(method(u)(x)), equation.dim)


def _estimate(operator: Any, n: int = JETS, probes: str = "sparse") -> Method:
    return operator.estimate(jax.random.key(2), n, probes)


def _loss(problem: str, dim: int, network: Network = BASE, block: int = 1, **settings: Any) -> Any:
    """A residual loss, and its gradient by the parameters."""

    @functools.cache
    def context() -> tuple[Any, Any, Any]:
        made = do.pde.make(problem, dim, key=jax.random.key(3))
        shared = functools.partial(do.nn.WeightSharedMLP, made.dim, block, network.width)
        net = (
            mlp(made.dim, network)
            if block == 1
            else shared(network.layers - 1, key=jax.random.key(0))
        )
        loss = do.losses.ResidualLoss(made, **{"batch": POINTS, "n": JETS, **settings})
        return made.ansatz(net), loss, jax.random.key(4)

    def value(u: Any, loss: Any, key: jax.Array) -> jax.Array:
        return loss(u, key)

    parts = {"forward": value, "gradient": eqx.filter_grad(value)}
    return {
        name: functools.partial(lambda function: (function, context()), part)
        for name, part in parts.items()
    }


def _activated(name: str, activation: Callable[..., Any]) -> Any:
    def network() -> Any:
        return eqx.nn.MLP(10, "scalar", 32, 2, activation=activation, key=jax.random.key(0))

    return _parts(do.Laplacian().exact, network, lambda: normal_points(POINTS, 10))


class _Normed(eqx.Module):
    """Layers with a norm and a residual connection."""

    first: eqx.nn.Linear
    inner: tuple[eqx.nn.Linear, ...]
    norms: tuple[eqx.nn.LayerNorm, ...]

    def __init__(self) -> None:
        keys = jax.random.split(jax.random.key(0), 3)
        self.first = eqx.nn.Linear(10, 32, key=keys[0])
        self.inner = tuple(eqx.nn.Linear(32, 32, key=key) for key in keys[1:])
        self.norms = tuple(eqx.nn.LayerNorm(32) for _ in keys[1:])

    def __call__(self, x: Any) -> Any:
        x = self.first(x)
        for layer, norm in zip(self.inner, self.norms, strict=True):
            x = x + jax.nn.gelu(layer(norm(x)))
        return jnp.sum(x)


class _Recurrent(eqx.Module):
    """A cell that goes through the coordinates in a loop."""

    cell: eqx.nn.GRUCell

    def __init__(self) -> None:
        self.cell = eqx.nn.GRUCell(1, 16, key=jax.random.key(0))

    def __call__(self, x: Any) -> Any:
        state, _ = jax.lax.scan(lambda h, x: (self.cell(x[None], h), None), jnp.zeros(16), x)
        return jnp.sum(jnp.tanh(state))


class _Convolved(eqx.Module):
    """Two convolutions of a picture."""

    layers: tuple[eqx.nn.Conv2d, ...]

    def __init__(self) -> None:
        keys = jax.random.split(jax.random.key(0))
        self.layers = tuple(
            eqx.nn.Conv2d(n, 4, 3, padding=1, key=key) for n, key in zip((1, 4), keys, strict=True)
        )

    def __call__(self, x: Any) -> Any:
        x = x.reshape(1, 8, 8)
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return jnp.sum(x)


def _chain(x: jax.Array) -> jax.Array:
    """Each coordinate meets its neighbour."""
    return jnp.sum(jnp.sin(x[1:] * x[:-1]))


def _on(model: Callable[[], Any], dim: int, method: Method) -> Any:
    return _parts(method, model, lambda: normal_points(10, dim))


_matrix = functools.partial(jax.random.normal, jax.random.key(7))
_SUBJECTS: dict[str, Any] = {
    "Δ, d = 2, width 32": _of_mlp(do.Laplacian().exact, 2, Network(3, 32)),
    "Δ, d = 10, width 64": _of_mlp(do.Laplacian().exact, 10, Network(3, 64)),
    "Δ, d = 1,000, ansatz": _of_mlp(do.Laplacian().exact, 1000, unit_ball=True),
    "Δ, d = 1,000, width 512": _of_mlp(do.Laplacian().exact, 1000, Network(3, 512)),
    "Δ, d = 1,000,000": _of_mlp(do.Laplacian().exact, 1_000_000, unit_ball=True),
    "Δ, 16 draws, d = 1,000": _of_mlp(_estimate(do.Laplacian()), 1000, unit_ball=True),
    "Δ, 16 draws, d = 1,000,000": _of_mlp(_estimate(do.Laplacian()), 1_000_000, unit_ball=True),
    "Δ, Rademacher": _of_mlp(_estimate(do.Laplacian(), probes="rademacher"), 50),
    "Δ², d = 5": _of_mlp(do.Biharmonic().exact, 5, Network(3, 32)),
    "Δ², Gaussian": _of_mlp(_estimate(do.Biharmonic(), probes="gaussian"), 50),
    "Σ ∂⁴, 16 draws": _of_mlp(_estimate(do.DiagonalK(4)), 1000),
    "Σ ∂⁸, 16 draws": _of_mlp(_estimate(do.DiagonalK(8)), 1000, Network(3, 32)),
    "Σ ∂³, d = 10": _of_mlp(do.DiagonalK(3).exact, 10, Network(3, 32)),
    "∂₀²∂₁": _of_mlp(do.Mixed({0: 2, 1: 1}).exact, 10, Network(3, 32)),
    "Hessian": _of_mlp(lambda u: lambda x: do.Hessian().exact(u)(x), 10, Network(3, 32)),
    "½σσᵀ:∇²": _of_subject(OPERATORS["weighted Laplacian"], 50),
    "C:∇²": _of_mlp(do.SecondOrder(_matrix((20, 20))).exact, 20, Network(3, 32)),
    **{f"residual of {equation.name}": _residual(equation) for equation in EQUATIONS},
    **{f"{name} with time": _of_subject(s, 100) for name, s in by_hand.SUBJECTS.items()},
    **{
        name: _of_subject(s, 10, {**PARTS, "gradients": gradients})
        for name, s in products.SUBJECTS.items()
    },
    **{f"log ψ, {name}": _of_subject(s, 4) for name, s in attention.SUBJECTS.items()},
    **{
        f"Δ through {name}": _activated(name, function)
        for name, function in (
            ("gelu", jax.nn.gelu),
            ("softplus", jax.nn.softplus),
            ("sin", jnp.sin),
        )
    },
    "Δ through norms": _on(_Normed, 10, do.Laplacian().exact),
    "Δ through a GRU": _on(_Recurrent, 10, do.Laplacian().exact),
    "Δ through convolutions": _on(_Convolved, 64, do.Laplacian().exact),
    "Δ along a chain, d = 1,000": _on(lambda: _chain, 1000, do.Laplacian().exact),
    "loss of allen-cahn-two-body": _loss("allen-cahn-two-body", 1000),
    "loss of allen-cahn-two-body, d = 100,000": _loss("allen-cahn-two-body", 100_000),
    "loss of poisson-three-body": _loss("poisson-three-body", 1000),
    "loss with the whole gradient": _loss(
        "allen-cahn-two-body", 1000, batch=4, n=4, gpinn=1e-2, gpinn_terms=None
    ),
    "loss with weights that are shared": _loss("allen-cahn-two-body", 10_000, block=10),
    "loss of semilinear-heat": _loss("semilinear-heat", 100, Network(4, 64)),
    "loss of kdv-2d": _loss("kdv-2d", 3, Network(3, 32)),
}

PROGRAMS: dict[str, Make] = {
    f"{name}: {part}": make
    for name, parts in _SUBJECTS.items()
    for part, make in parts.items()
    if not (part == "gradient" and name.startswith("Δ along a chain"))
}
"""By name and part; a chain has no parameters."""
