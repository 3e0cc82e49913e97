"""Other ways to compute the same, each a map from functions to functions, as diffop's are."""

import importlib.util
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import jet

Function = Callable[[jax.Array], Any]
Method = Callable[[Function], Function]


def itself(u: Function) -> Function:
    """No derivative at all: the plain network, the floor of every cost."""
    return u


def nested(u: Function) -> Function:
    """The Laplacian forward over reverse: a Hessian-vector product for each basis vector."""

    def laplacian(x: jax.Array) -> jax.Array:
        def second(v: jax.Array) -> jax.Array:
            return v @ jax.jvp(jax.grad(u), (x,), (v,))[1]

        return jnp.sum(jax.vmap(second)(jnp.eye(x.size)))

    return laplacian


def one_hot_jets(u: Function) -> Function:
    """The Laplacian by `jax.experimental.jet`: a second-order jet for each basis vector."""
    return lambda x: jnp.sum(_second_derivatives(u, x, jnp.eye(x.size))[1])


def folx_laplacian(u: Function) -> Function:
    """The forward Laplacian of the package folx."""
    import folx  # optional  # pyright: ignore[reportMissingImports]

    return lambda x: folx.forward_laplacian(u)(x).laplacian


def folx_biharmonic(u: Function) -> Function:
    """The forward Laplacian of the forward Laplacian."""
    return folx_laplacian(folx_laplacian(u))


def has_folx() -> bool:
    """Whether folx can be imported; says so if not, since rows will be missing."""
    found = importlib.util.find_spec("folx") is not None
    if not found:
        print("folx is not installed (pip install '.[bench]'): left out")
    return found


def stde(key: jax.Array, dim: int, n: int) -> Method:
    """The paper's method: u and its estimated Laplacian from n basis vectors.

    The coordinates are drawn without replacement and become dense one-hot directions of
    second-order jets. Source: Shi et al. 2024, "Stochastic Taylor Derivative
    Estimator", equations `eqn:stde-sparse` and `eqn:forward-lapl`; written anew here.
    """
    return stde_at(jax.random.choice(key, dim, (n,), replace=False))


def stde_at(coordinates: jax.Array) -> Method:
    """The paper's method with given coordinates."""

    def transform(u: Function) -> Function:
        def values(x: jax.Array) -> dict[str, jax.Array]:
            value, seconds = _second_derivatives(u, x, jax.nn.one_hot(coordinates, x.size))
            return {"u": value, "lap": x.size / coordinates.size * jnp.sum(seconds)}

        return values

    return transform


def laplacian_by_hand(u: Any) -> Function:
    """The exact Laplacian of (1 − |x|²) mlp(x), on paper: a check in every dimension.

    For `subjects.ansatz` only.

    Write mlp(x) = h(Wx + b) with h all that follows the first product. By the product rule

        Δu = (1 − |x|²) Δmlp − 4 x·∇mlp − 2d mlp,   Δmlp = ⟨W Wᵀ, D²h⟩,   x·∇mlp = Dh (W x),

    and D²h is no larger than the first hidden layer.
    """
    first, *others = u.net.layers
    activation = u.net.activation

    def behind(z: jax.Array) -> jax.Array:
        for layer in others:
            z = layer(activation(z))
        return z

    def laplacian(x: jax.Array) -> jax.Array:
        z = first(x)
        value, radial = jax.jvp(behind, (z,), (first.weight @ x,))
        trace = jnp.vdot(first.weight @ first.weight.T, jax.hessian(behind)(z))
        return (1 - x @ x) * trace - 4 * radial - 2 * x.size * value

    return laplacian


def _second_derivatives(
    u: Function, x: jax.Array, directions: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """u(x), and the second derivative along each direction."""

    def push(v: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, (_, second) = jet.jet(u, (x,), ([v, jnp.zeros_like(v)],))
        return value, second

    values, seconds = jax.vmap(push)(directions)
    return values[0], seconds
