"""Wave functions and energies in the ways that deepqmc, jaqmc, neural-pfaffian, sparse_wf and
programs with fwdlap write them. What they import from folx is imported from here.
"""

import functools
import warnings

import folx as theirs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.example_libraries import stax

from diffop.compat import fwdlap
from diffop.compat.folx import (
    ForwardLaplacianOperator,
    batched_vmap,
    forward_laplacian,
    register_function,
    warp_without_fwd_laplacian,
    wrap_forward_laplacian,
)
from diffop.compat.folx.api import FunctionFlags, FwdJacobian, FwdLaplArray

close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)

ELECTRONS, HEADS, WIDTH = 4, 2, 6


@functools.cache
def draw(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape) / shape[-2] ** 0.5


def walkers():
    return jax.random.normal(jax.random.key(5), (3, ELECTRONS, 3))


def nested(f, x):
    """Laplacian and gradient, one coordinate after another."""
    flat = lambda z: f(z.reshape(x.shape))
    return jnp.trace(jax.hessian(flat)(x.reshape(-1))), jax.grad(flat)(x.reshape(-1))


# deepqmc: attention under a name with a rule, and factories of Laplacians.


@jax.jit
def sparse_attention(q, k, v):
    scores = jax.nn.softmax(q @ jnp.swapaxes(k, -2, -1) / jnp.sqrt(q.shape[-1]), axis=-1)
    return scores @ v


def attention_rule(args, kwargs, sparsity_threshold):
    q, _, v = args
    return FwdLaplArray(v.x, FwdJacobian.from_dense(v.jacobian.dense_array * q.x), v.laplacian)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    register_function("sparse_attention", attention_rule)


def features(r):
    lengths = jnp.linalg.norm(r, axis=-1, keepdims=True)
    return jnp.concatenate([r, lengths], axis=-1) @ draw(4, WIDTH)


def log_psi(r):
    h = features(r)
    q, k, v = (jnp.einsum("ef,hfd->hed", h, draw(HEADS, WIDTH, n)) for n in (3, 3, 3))
    seen = sparse_attention(q, k, v)
    h = jnp.tanh(h + seen.transpose(1, 0, 2).reshape(ELECTRONS, -1) @ draw(HEADS * 3, WIDTH))
    orbitals = jnp.einsum("ef,dfo->deo", h, draw(2, WIDTH, ELECTRONS))
    decay = jnp.exp(-jnp.linalg.norm(r, axis=-1))[:, None]
    signs, logs = jnp.linalg.slogdet(orbitals * decay)
    most = jax.lax.stop_gradient(jnp.max(logs))
    return jnp.log(jnp.abs(jnp.sum(signs * jnp.exp(logs - most)))) + most


def kinetic(factory, r):
    """deepqmc's Hamiltonian: what a factory makes of a function of a flat array."""
    laplacian, force = factory(lambda flat: log_psi(flat.reshape(-1, 3)))(r.flatten())
    return -0.5 * (laplacian + jnp.sum(force**2, axis=-1))


def reverse_forward_laplacian(f):
    """The other factory that deepqmc has."""

    def laplacian(x):
        slope, along = jax.linearize(jax.grad(f), x)
        eye = jnp.eye(len(x))
        add = lambda i, total: total + along(eye[i])[i]
        return jax.lax.fori_loop(0, len(x), add, jnp.zeros(())), slope

    return laplacian


FACTORIES = {
    "ours": ForwardLaplacianOperator(0),
    "sparse": ForwardLaplacianOperator(0.6),
    "folx": theirs.ForwardLaplacianOperator(0),
}


@pytest.fixture(scope="module")
def energies():
    by_hand = functools.partial(kinetic, reverse_forward_laplacian)
    return jax.jit(jax.vmap(by_hand))(walkers())


@pytest.mark.parametrize("name", FACTORIES)
def test_energies_of_deepqmc(name, energies):
    found = jax.jit(batched_vmap(functools.partial(kinetic, FACTORIES[name]), 2))(walkers())
    close(found, energies)


def test_pseudo_hamiltonians_of_deepqmc():
    """Σ A ∂² with A = Q Qᵀ, as the Laplacian of a function of other coordinates."""
    r, q = walkers()[0], jnp.linalg.cholesky(jnp.eye(3) + draw(3, 3) @ draw(3, 3).T)
    moved = lambda v: log_psi(v.reshape(-1, 3) @ q.T)
    v = jax.scipy.linalg.solve_triangular(q, r.T, lower=True).T.flatten()
    laplacian, _ = jax.jit(ForwardLaplacianOperator(0)(moved))(v)
    hessian = jax.jit(jax.hessian(lambda z: log_psi(z.reshape(-1, 3))))(r.flatten())
    blocks = jnp.einsum("aibj,ab->ij", hessian.reshape(ELECTRONS, 3, ELECTRONS, 3), jnp.eye(4))
    close(laplacian, jnp.sum(blocks * (q @ q.T)))


# jaqmc: arguments that are marked, with weights.


def on_the_sphere(parameters, angles):
    """A complex log ψ of electrons on a sphere."""
    theta, phi = angles[..., 0], angles[..., 1]
    u, v = jnp.cos(theta / 2) * jnp.exp(0.5j * phi), jnp.sin(theta / 2) * jnp.exp(-0.5j * phi)
    i, j = jnp.triu_indices(len(angles), 1)
    return jnp.sum(jnp.log(u[i] * v[j] - u[j] * v[i])) + parameters * jnp.sum(jnp.cos(theta)) ** 2


def test_weighted_seeds_of_jaqmc():
    """The Laplace–Beltrami operator: 1 and 1/sin θ at θ and φ."""
    angles = jnp.abs(walkers()[0][:, :2]) + 0.3
    weights = jnp.stack([jnp.ones(ELECTRONS), 1 / jnp.sin(angles[:, 0])], axis=-1)
    f = functools.partial(on_the_sphere, 0.3)
    result = jax.jit(lambda x: forward_laplacian(f)(x, weights=weights))(angles)
    scale = weights.reshape(-1)
    for part in (jnp.real, jnp.imag):
        flat = lambda z, part=part: part(f(z.reshape(angles.shape)))
        slope, second = jax.grad(flat), jax.jit(jax.hessian(flat))(angles.reshape(-1))
        close(part(result.jacobian.dense_array), scale * slope(angles.reshape(-1)))
        close(part(result.laplacian), jnp.sum(scale**2 * jnp.diagonal(second)))


# neural-pfaffian: rules of functions with rules of JAX.


@jax.custom_jvp
def slog_pfaffian(a):
    sign, log = jnp.linalg.slogdet(a)
    return sign, log / 2


@slog_pfaffian.defjvp
def _(primals, tangents):
    (a,), (moved,) = primals, tangents
    sign, log = slog_pfaffian(a)
    return (sign, log), (jnp.zeros_like(sign), jnp.trace(jnp.linalg.solve(a, moved)) / 2)


slog_pfaffian = jax.jit(slog_pfaffian)


def pfaffian_rule(args, kwargs, sparsity_threshold):
    wrapped = wrap_forward_laplacian(slog_pfaffian, flags=FunctionFlags.GENERAL)
    sign, log = wrapped(args, kwargs, sparsity_threshold=sparsity_threshold)
    plain = warp_without_fwd_laplacian(lambda x: x)
    return plain((sign,), {}, sparsity_threshold=sparsity_threshold), log


def test_pfaffians():
    """By the function, and by calling its rule with results."""
    skew = lambda r: features(r) @ (draw(WIDTH, WIDTH) - draw(WIDTH, WIDTH).T) @ features(r).T
    r = walkers()[0]
    sign, log = jax.jit(forward_laplacian(lambda r: slog_pfaffian(skew(r))))(r)
    middle = forward_laplacian(skew)(r)
    same_sign, same = pfaffian_rule((middle,), {}, 0)
    laplacian, gradient = jax.jit(nested, static_argnums=0)(lambda r: slog_pfaffian(skew(r))[1], r)
    assert abs(sign.x) == 1 and abs(same_sign) == 1
    for each in (log, same):
        close(each.laplacian, laplacian)
        close(each.jacobian.dense_array, gradient)


# sparse_wf: results that a program makes itself.


def test_results_that_a_program_makes():
    """Electrons one by one, each with its own three coordinates, put together by hand."""
    r = walkers()[0]
    one = jax.vmap(forward_laplacian(lambda x: jnp.tanh(x @ draw(3, WIDTH))))(r)
    jacobian = jnp.zeros((ELECTRONS, 3, ELECTRONS, WIDTH))
    index = jnp.arange(ELECTRONS)
    jacobian = jacobian.at[index, :, index].set(one.jacobian.data)
    rows = FwdJacobian(data=jacobian.reshape(-1, ELECTRONS, WIDTH), x0_idx=None)
    together = FwdLaplArray(one.x, rows, one.laplacian)
    numbers = np.arange(3)[:, None, None] + 3 * np.arange(ELECTRONS)[:, None]
    data = jnp.moveaxis(one.jacobian.data, 1, 0)
    sparse = FwdJacobian(data, np.broadcast_to(numbers, data.shape))
    close(sparse.dense_array, rows.dense_array)
    rest = lambda h: jnp.sum(jnp.sin(h @ h.T))
    found = forward_laplacian(rest)(together)
    whole = lambda r: rest(jnp.tanh(r @ draw(3, WIDTH)))
    laplacian, gradient = jax.jit(nested, static_argnums=0)(whole, r)
    close(found.laplacian, laplacian)
    close(found.jacobian.data, gradient)


# fwdlap: its own network, and vmcnet's kinetic energy.


def test_network_of_fwdlap():
    init, apply = stax.serial(
        stax.Conv(4, (3, 3), padding="SAME"), stax.Tanh, stax.MaxPool((2, 2)), stax.Flatten,
        stax.Dense(8), stax.Relu, stax.Dense(5), stax.Softmax,
    )  # fmt: skip
    weights = init(jax.random.key(0), (1, 4, 4, 2))[1]
    f, x = functools.partial(apply, weights), jax.random.normal(jax.random.key(1), (1, 4, 4, 2))
    eye, zero = jnp.eye(x.size).reshape(x.size, *x.shape), fwdlap.zero_tangent_from_primal(x)

    @jax.jit
    def both(x):
        value, rest = fwdlap.lap_partial(f, (x,), (eye,), (zero,))
        return fwdlap.lap(f, (x,), (eye,), (zero,)), (value, *rest((eye,), (zero,)))

    @jax.jit
    def expected(x):
        first = jax.jacfwd(f)(x).reshape(1, 5, x.size)
        second = jax.hessian(f)(x).reshape(1, 5, x.size, x.size)
        return f(x), jnp.moveaxis(first, -1, 0), jnp.trace(second, axis1=-2, axis2=-1)

    for found in both(x):
        jax.tree.map(close, found, expected(x))


def test_kinetic_energy_of_vmcnet(energies):
    def kinetic_energy(x):
        flat = x.reshape(-1)
        f = lambda z: log_psi(z.reshape(x.shape))
        zero = fwdlap.zero_tangent_from_primal(flat)
        _, gradients, laplacians = fwdlap.lap(f, (flat,), (jnp.eye(flat.size),), (zero,))
        return -0.5 * (jnp.sum(gradients**2) + laplacians)

    close(jax.jit(jax.vmap(kinetic_energy))(walkers()), energies)
