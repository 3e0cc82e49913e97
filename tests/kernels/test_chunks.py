"""Directions pushed a chunk at a time: the same result, in bounded memory."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop.kernels import chunks, device
from diffop.kernels.memory import peak_bytes

from ..coefficients.blocks import definition, random_blocks

pytestmark = pytest.mark.usefixtures("x64")
D = 13
OPERATORS = {
    "laplacian": lambda: do.Laplacian(),
    "third": lambda: do.DiagonalK(3),
    "orders": lambda: do.DiagonalK(4) - 2 * do.Laplacian() + do.Partial(3),
    "biharmonic": lambda: do.Biharmonic(),
    "parabolic": lambda: do.ParabolicTrace(lambda x: 1 + x**2),
    "some": lambda: do.Laplacian(dims=(0, 2, 3, 5, 7, 9, 11, 12)),
    "matrix": lambda: do.SecondOrder(jnp.arange(1.0, D * D + 1).reshape(D, D) / D),
    "estimate": lambda: do.Laplacian().estimate(jr.key(0), 8),
    "probes": lambda: do.Laplacian().estimate(jr.key(0), 8, probes="gaussian"),
}


def function():
    net = eqx.nn.MLP(D, "scalar", 5, depth=2, activation=jnp.tanh, key=jr.key(0))
    return lambda x: (1 - jnp.sum(x**2)) * net(x)


@functools.cache
def value_and_gradient(name, size):
    method = OPERATORS[name]().exact(function(), chunk=size)
    return jax.jit(jax.value_and_grad(method))(jr.normal(jr.key(1), (D,)))


SIZES = [(name, 4) for name in OPERATORS]
SIZES += [(name, size) for name in ("laplacian", "third", "estimate") for size in (1, 100)]


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_chunks_change_nothing(name, size):
    """Whether the last chunk is full or not, with one direction in each or all in one."""
    for a, b in zip(value_and_gradient(name, size), value_and_gradient(name, None), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_any_form(seed):
    """Directions are looked up by numbers that are known when run."""
    rng = np.random.default_rng(seed)
    blocks = random_blocks(rng, (4,), 5, known=seed % 2 == 0)
    columns = definition(blocks)
    x, weights = jnp.arange(1.0, 5.0), jnp.arange(1.0, 6.0)
    jets = do.taylor.Jets(((blocks,), (None,)), weights, top_only=True)
    u = lambda x: jnp.sum(jnp.sin(x) * jnp.cumsum(x))
    pushed = do.taylor.push(u, (x,), [jets], chunk=2)
    expected = jnp.einsum("r,ri,rj,ij", weights, columns, columns, jax.hessian(u)(x))
    np.testing.assert_allclose(pushed.derivatives[0][1], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("build", [do.Laplacian, lambda: do.DiagonalK(3)])
def test_points_on_several_devices(build):
    """Chunks inside `jax.shard_map` with its checks on: what is summed varies as its terms do."""
    devices = min(2, jax.device_count())
    mesh = jax.make_mesh((devices,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    points, w = jr.normal(jr.key(1), (2, D)), jr.normal(jr.key(2), (D,))

    def total(w, points):
        u = lambda x: jnp.sin(x @ w) * jnp.sum(x**3)
        return jnp.sum(jax.vmap(build().exact(u, chunk=4))(points))

    def everywhere(w, points):
        return jax.lax.psum(total(w, points), "i")

    specs = (jax.P(), jax.P("i"))
    sharded = jax.shard_map(everywhere, mesh=mesh, in_specs=specs, out_specs=jax.P())
    got, expected = (jax.jit(jax.value_and_grad(f))(w, points) for f in (sharded, total))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def peak(operator, d, **options):
    """Bytes that depend on the point, at most, while a gradient is computed."""
    u = lambda x: jnp.sum(jnp.tanh(jnp.ones((7, d)) @ jnp.sin(x)))
    gradient = jax.grad(operator.exact(u, **options))
    return peak_bytes(jax.make_jaxpr(gradient)(jnp.ones(d)))


def test_memory_is_bounded():
    """A chunk of 8 of 1009 directions: nothing of size d × width is left."""
    whole, chunked = (peak(do.DiagonalK(3), 1009, **o) for o in ({}, {"chunk": 8}))
    assert whole > 1009 * 7 * 8
    assert chunked < whole / 4


def test_the_default_follows_the_memory(monkeypatch):
    """With little memory many directions are chunked without being asked; few are not."""
    monkeypatch.setattr(device, "memory", lambda: 2**24)
    assert peak(do.DiagonalK(3), 1009) < peak(do.DiagonalK(3), 1009, chunk=1008)
    assert chunks.chunk_size(directions=1000, needed=10, budget=2**14) is None
    assert chunks.chunk_size(directions=10**6, needed=2**40, budget=2**14) == chunks.LEAST
    assert chunks.chunk_size(directions=10**4, needed=2**20, budget=2**14) == 128


@pytest.mark.parametrize("chunk", [0, -1])
def test_a_chunk_is_a_positive_number(chunk):
    with pytest.raises(ValueError, match="chunk must be"):
        do.Laplacian().exact(lambda x: jnp.sum(x), chunk=chunk)
    with pytest.raises(ValueError, match="chunk must be"):
        do.exact([do.Laplacian()])(lambda x: jnp.sum(x), chunk=chunk)
    jets = do.taylor.Jets(((jnp.eye(3),), (None,)), jnp.ones(3), top_only=True)
    with pytest.raises(ValueError, match="chunk must be"):
        do.taylor.push(lambda x: jnp.sum(x**2), (jnp.ones(3),), [jets], chunk=chunk)
