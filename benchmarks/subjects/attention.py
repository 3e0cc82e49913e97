"""Wave functions with and without attention, and their kinetic energies by several ways.

Each electron's coordinates are in its own row until the scores of the first block mix them; after
that every row has all 3 N directions. Without attention they stay there until the determinants.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import folx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import diffop as do

from .operators import Subject, always

Walker = Float[Array, "electrons 3"]
Scalar = Float[Array, ""]


def parameters(
    electrons: int, attends: bool = True, width: int = 64, heads: int = 4, determinants: int = 4
) -> Any:
    """Weights of two blocks, of the size of small published networks."""
    keys = iter(jax.random.split(jax.random.key(0), 12))

    def draw(*shape: int) -> jax.Array:
        return jax.random.normal(next(keys), shape) / shape[-2] ** 0.5

    def block() -> dict[str, jax.Array]:
        mlp = {"mlp": draw(width, width)}
        if not attends:
            return mlp
        own = {name: draw(heads, width, width // heads) for name in "qkv"}
        return {**own, "out": draw(width, width), **mlp}

    return {
        "embedding": draw(4, width),
        "orbitals": draw(determinants, width, electrons),
        "decay": jnp.linspace(0.5, 1.0, electrons),
        "blocks": [block() for _ in range(2)],
    }


def log_psi(weights: Any, r: Walker) -> Scalar:
    """log |Σ of determinants| of orbitals with envelopes."""
    distance = jnp.linalg.norm(r, axis=-1, keepdims=True)
    features = jnp.concatenate([r / distance * jnp.log1p(distance), jnp.log1p(distance)], axis=-1)
    h = features @ weights["embedding"]
    for block in weights["blocks"]:
        h = _attention(block, h) if "q" in block else h
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


Energy = Callable[[Any], Callable[[Walker], Scalar]]


def by_forward_laplacian(package: Any, threshold: int) -> Energy:
    """−½ (Δ + |∇|²) log ψ, the one interface of folx and `diffop.compat.folx`."""

    def energy(weights: Any, r: Walker) -> Scalar:
        out = package.forward_laplacian(lambda r: log_psi(weights, r), threshold)(r)
        return -0.5 * (out.laplacian + jnp.sum(out.jacobian.dense_array**2))

    return lambda weights: partial(energy, weights)


def nested(weights: Any) -> Callable[[Walker], Scalar]:
    """Forward over reverse mode, direction by direction."""

    def energy(r: Walker) -> Scalar:
        flat = r.reshape(-1)
        slopes = jax.grad(lambda x: log_psi(weights, x.reshape(r.shape)))

        def along(v: jax.Array) -> jax.Array:
            return jax.jvp(slopes, (flat,), (v,))[1] @ v

        return -0.5 * (jnp.sum(jax.lax.map(along, jnp.eye(flat.size))) + jnp.sum(slopes(flat) ** 2))

    return energy


WAYS = {
    "diffop": by_forward_laplacian(do.compat.folx, 6),
    "folx, sparse": by_forward_laplacian(folx, 6),
    "folx, dense": by_forward_laplacian(folx, 0),
    "nested": nested,
}


def walkers(count: int, electrons: int) -> jax.Array:
    return jax.random.normal(jax.random.key(1), (count, electrons, 3))


def _subject(attends: bool) -> Subject:
    ways = {name: always(way) for name, way in WAYS.items()}
    return Subject(ways, partial(parameters, attends=attends), walkers, 4)


SUBJECTS = {"attention": _subject(True), "determinants": _subject(False)}
