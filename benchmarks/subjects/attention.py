"""A wave function with attention, and its kinetic energy by several ways.

Each electron's coordinates are in its own row until the scores of the first block mix them; after
that every row has all 3 N directions.
"""

from collections.abc import Callable
from typing import Any

import folx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import diffop as do

Walker = Float[Array, "electrons 3"]
Scalar = Float[Array, ""]


def parameters(
    electrons: int, width: int = 64, heads: int = 4, blocks: int = 2, determinants: int = 4
) -> Any:
    """Weights, of the size of small published networks."""
    keys = iter(jax.random.split(jax.random.key(0), 2 + 5 * blocks))

    def draw(*shape: int) -> jax.Array:
        return jax.random.normal(next(keys), shape) / shape[-2] ** 0.5

    own = (heads, width, width // heads)
    return {
        "embedding": draw(4, width),
        "orbitals": draw(determinants, width, electrons),
        "decay": jnp.linspace(0.5, 1.0, electrons),
        "blocks": [
            {
                **{name: draw(*own) for name in "qkv"},
                "out": draw(width, width),
                "mlp": draw(width, width),
            }
            for _ in range(blocks)
        ],
    }


def log_psi(weights: Any, r: Walker) -> Scalar:
    """log |Σ of determinants| of orbitals with envelopes."""
    distance = jnp.linalg.norm(r, axis=-1, keepdims=True)
    features = jnp.concatenate([r / distance * jnp.log1p(distance), jnp.log1p(distance)], axis=-1)
    h = features @ weights["embedding"]
    for block in weights["blocks"]:
        h = _attention(block, h)
        h = h + jnp.tanh(_normed(h) @ block["mlp"])
    orbitals = jnp.einsum("ef,dfo->deo", h, weights["orbitals"])
    signs, logs = jnp.linalg.slogdet(orbitals * jnp.exp(-distance * weights["decay"]))
    most = jax.lax.stop_gradient(jnp.max(logs))
    return jnp.log(jnp.abs(jnp.sum(signs * jnp.exp(logs - most)))) + most


def _attention(block: Any, h: Float[Array, "e f"]) -> Float[Array, "e f"]:
    q, k, v = (jnp.einsum("ef,hfd->hed", _normed(h), block[name]) for name in "qkv")
    scores = jax.nn.softmax(jnp.einsum("hed,hgd->heg", q, k) / q.shape[-1] ** 0.5, axis=-1)
    return h + jnp.einsum("heg,hgd->ehd", scores, v).reshape(h.shape) @ block["out"]


def _normed(h: Float[Array, "e f"]) -> Float[Array, "e f"]:
    h = h - jnp.mean(h, axis=-1, keepdims=True)
    return h / jnp.sqrt(jnp.mean(h**2, axis=-1, keepdims=True) + 1e-5)


def by_forward_laplacian(package: Any, threshold: int) -> Callable[[Any, Walker], Scalar]:
    """−½ (Δ + |∇|²) log ψ, the one interface of folx and `diffop.compat.folx`."""

    def energy(weights: Any, r: Walker) -> Scalar:
        out = package.forward_laplacian(lambda r: log_psi(weights, r), threshold)(r)
        return -0.5 * (out.laplacian + jnp.sum(out.jacobian.dense_array**2))

    return energy


def nested(weights: Any, r: Walker) -> Scalar:
    """Forward over reverse mode, direction by direction."""
    flat = r.reshape(-1)
    slopes = jax.grad(lambda x: log_psi(weights, x.reshape(r.shape)))

    def along(v: jax.Array) -> jax.Array:
        return jax.jvp(slopes, (flat,), (v,))[1] @ v

    return -0.5 * (jnp.sum(jax.lax.map(along, jnp.eye(flat.size))) + jnp.sum(slopes(flat) ** 2))


WAYS = {
    "diffop": by_forward_laplacian(do.compat.folx, 6),
    "folx, sparse": by_forward_laplacian(folx, 6),
    "folx, dense": by_forward_laplacian(folx, 0),
    "nested": nested,
}
