"""Programs that import folx, with ours in its place: an attention wave function, its energies and
their gradients.
"""

import functools
import sys
import types

import folx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop import compat

close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)

PROGRAM = '''
import jax
import jax.numpy as jnp
from folx import ForwardLaplacianOperator, LoopLaplacianOperator, batched_vmap, forward_laplacian


def layer_norm(h):
    h = h - jnp.mean(h, axis=-1, keepdims=True)
    return h / jnp.sqrt(jnp.mean(h**2, axis=-1, keepdims=True) + 1e-5)


def attention(weights, h):
    """Several heads; every electron sees all others."""
    q, k, v = (jnp.einsum("ef,hfd->hed", h, weights[name]) for name in "qkv")
    scores = jax.nn.softmax(jnp.einsum("hed,hgd->heg", q, k) / q.shape[-1] ** 0.5, axis=-1)
    seen = jnp.einsum("heg,hgd->ehd", scores, v)
    return h + seen.reshape(h.shape) @ weights["out"]


def block(weights, h):
    h = attention(weights, layer_norm(h))
    return h + jnp.tanh(layer_norm(h) @ weights["mlp"])


def log_psi(parameters, r):
    """log|sum of determinants| of orbitals with envelopes, and a factor for electrons that meet."""
    distance = jnp.linalg.norm(r, axis=-1, keepdims=True)
    features = jnp.concatenate([r / distance * jnp.log1p(distance), jnp.log1p(distance)], axis=-1)
    h = features @ parameters["embedding"]
    for weights in parameters["blocks"]:
        h = block(weights, h)
    orbitals = jnp.einsum("ef,dfo->deo", h, parameters["orbitals"])
    envelopes = jnp.exp(-distance * parameters["decay"])
    signs, logs = jnp.linalg.slogdet(orbitals * envelopes)
    most = jax.lax.stop_gradient(jnp.max(logs))
    i, j = jnp.triu_indices(len(r), 1)
    jastrow = -0.25 * jnp.sum(1 / (1 + jnp.linalg.norm(r[i] - r[j], axis=-1)))
    return jnp.log(jnp.abs(jnp.sum(signs * jnp.exp(logs - most)))) + most + jastrow


def init(key, electrons, width=8, heads=2, blocks=1, determinants=2):
    def draw(*shape):
        nonlocal key
        key, own = jax.random.split(key)
        return jax.random.normal(own, shape) / shape[-2] ** 0.5

    names = {name: (heads, width, width // heads) for name in "qkv"}
    names |= {"out": (width, width), "mlp": (width, width)}
    return {
        "embedding": draw(4, width),
        "blocks": [{name: draw(*shape) for name, shape in names.items()} for _ in range(blocks)],
        "orbitals": draw(determinants, width, electrons),
        "decay": jnp.linspace(0.5, 1.0, electrons),
    }


def kinetic(parameters, r, threshold):
    result = forward_laplacian(lambda r: log_psi(parameters, r), threshold)(r)
    return -0.5 * (result.laplacian + jnp.sum(result.jacobian.dense_array**2))


def local_energies(parameters, walkers, threshold=0, batch=3):
    return batched_vmap(lambda r: kinetic(parameters, r, threshold), batch)(walkers)


def by_operators(parameters, r):
    function = lambda flat: log_psi(parameters, flat.reshape(r.shape))
    return [
        operator(function)(r.reshape(-1))
        for operator in (ForwardLaplacianOperator(0), LoopLaplacianOperator())
    ]


def layers(parameters, r):
    """What a code reads of the results in the middle of a network."""
    result = forward_laplacian(lambda r: r @ parameters["embedding"][:3], 0)(r)
    behind = forward_laplacian(lambda h: jnp.sum(jnp.tanh(h) ** 2, axis=0))(result)
    return behind.x, behind.laplacian, behind.jacobian.dense_array
'''


def program(package):
    """The program above, for which `import folx` finds this package."""
    before = sys.modules["folx"]
    sys.modules["folx"] = package
    try:
        made = types.ModuleType("program")
        exec(PROGRAM, made.__dict__)
        return made
    finally:
        sys.modules["folx"] = before


THEIRS, OURS = program(folx), program(compat.folx)


@functools.cache
def setting():
    """Parameters, and walkers of three electrons."""
    parameters = THEIRS.init(jax.random.key(0), 3)
    return parameters, jax.random.normal(jax.random.key(1), (5, 3, 3))


def test_the_program_has_our_package():
    assert OURS.forward_laplacian is compat.folx.forward_laplacian
    assert THEIRS.forward_laplacian is folx.forward_laplacian


@pytest.mark.parametrize("threshold", [0, 6, 0.6])
def test_local_energies(threshold):
    arguments = (*setting(), threshold)
    found, expected = (
        jax.jit(p.local_energies, static_argnums=2)(*arguments) for p in (OURS, THEIRS)
    )
    close(found, expected)


def test_local_energies_by_nested_differentiation():
    parameters, walkers = setting()

    def nested(r):
        flat = lambda z: OURS.log_psi(parameters, z.reshape(r.shape))
        first = jax.grad(flat)(r.reshape(-1))
        return -0.5 * (jnp.trace(jax.hessian(flat)(r.reshape(-1))) + first @ first)

    found = jax.jit(OURS.local_energies)(parameters, walkers)
    close(found, jax.jit(jax.vmap(nested))(walkers))


def test_gradients_of_energies_by_parameters():
    parameters, walkers = setting()
    mean = lambda p: jax.jit(jax.grad(lambda w: jnp.mean(p.local_energies(w, walkers))))
    jax.tree.map(close, mean(OURS)(parameters), mean(THEIRS)(parameters))


def test_operators():
    parameters, walkers = setting()
    found, expected = (jax.jit(p.by_operators)(parameters, walkers[0]) for p in (OURS, THEIRS))
    jax.tree.map(close, found, expected)


def test_results_of_layers():
    parameters, walkers = setting()
    jax.tree.map(close, *(p.layers(parameters, walkers[0]) for p in (OURS, THEIRS)))
