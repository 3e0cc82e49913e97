"""Primitives that are not JAX's, by the class that their owner names."""

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import ad, batching, mlir

import diffop as do
from diffop.taylor.rules import by_jvp

pytestmark = pytest.mark.usefixtures("x64")

MATRIX = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [4.0, 0.0, 1.0]])
X = np.array([0.5, -1.5, 2.0])


def primitive(name, function, batched=batching.defvectorized):
    new = jex.Primitive(name)
    new.def_impl(function)
    new.def_abstract_eval(lambda x, *_: x)
    mlir.register_lowering(new, mlir.lower_fun(function, multiple_results=False))
    batched(new)
    return new


mix = primitive("declared_mix", lambda x: x @ MATRIX)
ad.deflinear2(mix, lambda cotangent, x: [cotangent @ MATRIX.T])
wave = primitive("declared_wave", jnp.sin)
ad.defjvp(wave, lambda t, x: t * jnp.cos(x))
times = primitive("declared_times", lambda x, y: x * y, batching.defbroadcasting)
ad.defbilinear(times, lambda c, x, y: times.bind(c, y), lambda c, x, y: times.bind(c, x))
steps = primitive("declared_steps", jnp.floor)

do.taylor.register(mix, "linear")
do.taylor.register(wave, "elementwise")
do.taylor.register(times, "bilinear")
do.taylor.register(steps, "constant")


def declared(x):
    w = wave.bind(x)
    return jnp.sum(times.bind(w, mix.bind(x)) ** 2) + jnp.sum(steps.bind(x) * x)


def plain(x):
    return jnp.sum((jnp.sin(x) * (x @ MATRIX)) ** 2) + jnp.sum(jnp.floor(x) * x)


def test_beside_what_it_is_made_of():
    x, tensors = jnp.asarray(X), [plain]
    for _ in range(4):
        tensors.append(jax.jacfwd(tensors[-1]))
    second, third, fourth = jax.jit(lambda x: [tensor(x) for tensor in tensors[2:]])(x)
    operators = [do.Laplacian(), do.Mixed({0: 2, 1: 1}), do.DiagonalK(4)]
    expected = [np.trace(second), third[0, 0, 1], np.einsum("iiii", fourth)]
    found = do.exact(operators)(declared)(x)
    np.testing.assert_allclose(np.stack(found), expected, rtol=1e-12)


def test_nothing_falls_back(caplog, monkeypatch):
    monkeypatch.setattr(by_jvp, "_logged", set())  # each primitive is logged once
    with caplog.at_level("INFO", logger="diffop.taylor"):
        do.Laplacian().exact(declared)(jnp.asarray(X))
    assert not any("has no Taylor rule" in message for message in caplog.messages)


def test_wrong_input():
    with pytest.raises(TypeError, match="expects a jax.extend.core.Primitive, got function"):
        do.taylor.register(lambda x: x, "linear")
    with pytest.raises(ValueError, match="kind must be one of linear, bilinear, .* got 'affine'"):
        do.taylor.register(jex.Primitive("declared_other"), "affine")
    with pytest.raises(ValueError, match="the primitive 'declared_mix' has a rule already"):
        do.taylor.register(mix, "elementwise")
