"""Models that are not written here, each as a function of a vector to a number, in float64."""

import diffrax
import equinox as eqx
import flax.linen
import flax.nnx
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from ..oracle import to64

KEY = jax.random.key(0)


def _equinox(build, shape):
    """A layer between a fixed way in and a fixed way out, which every coordinate has a part in."""
    layer = to64(build(KEY))

    def model(x):
        y = layer(jnp.sin(x).reshape(shape) + 0.1)
        return jnp.sum(jnp.tanh(y) * jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape))

    return model


def mlp(activation):
    return lambda key: eqx.nn.MLP(6, 3, 8, depth=2, activation=activation, key=key)


def attention():
    layer = to64(eqx.nn.MultiheadAttention(2, 4, key=KEY))

    def model(x):
        tokens = jnp.tile(x.reshape(3, 2), (1, 2))
        return jnp.sum(layer(tokens, jnp.sin(tokens), tokens) ** 2)

    return model


def recurrent(cell):
    layer = to64(cell(2, 4, key=KEY))

    def model(x):
        state = jnp.zeros(4)
        state = (state, state) if cell is eqx.nn.LSTMCell else state
        last, _ = jax.lax.scan(lambda h, row: (layer(row, h), None), state, x.reshape(3, 2))
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(last))

    return model


def embedding():
    layer = to64(eqx.nn.Embedding(5, 6, key=KEY))
    return lambda x: jnp.sum(jnp.tanh(layer(jnp.asarray(3)) * x) ** 2)


def dropout():
    layer = eqx.nn.Dropout(0.5, inference=True)
    return lambda x: jnp.sum(jnp.sin(layer(x)) * layer(x[::-1]))


class LinenMLP(flax.linen.Module):
    @flax.linen.compact
    def __call__(self, x):
        for width in (8, 8):
            x = flax.linen.gelu(flax.linen.Dense(width, param_dtype=jnp.float64)(x))
            x = flax.linen.LayerNorm(param_dtype=jnp.float64)(x)
        return flax.linen.Dense(1, param_dtype=jnp.float64)(x)[0]


def linen():
    module = LinenMLP()
    parameters = module.init(KEY, jnp.ones(6))
    return lambda x: module.apply(parameters, x)


class NNXMLP(flax.nnx.Module):
    def __init__(self, rngs):
        self.first = flax.nnx.Linear(6, 8, rngs=rngs, param_dtype=jnp.float64)
        self.last = flax.nnx.Linear(8, 1, rngs=rngs, param_dtype=jnp.float64)

    def __call__(self, x):
        return self.last(flax.nnx.silu(self.first(x)))[0]


def nnx():
    return NNXMLP(flax.nnx.Rngs(0))


def haiku_mlp():
    forward = haiku.without_apply_rng(
        haiku.transform(lambda x: haiku.nets.MLP([8, 8, 1], activation=jax.nn.softplus)(x)[0])
    )
    parameters = to64(forward.init(KEY, jnp.ones(6)))
    return lambda x: forward.apply(parameters, x)


def ode():
    """The state of a nonlinear system at time 1, solved with steps of its own choice."""
    A = jnp.asarray(np.random.default_rng(0).normal(size=(6, 6))) / 3
    term = diffrax.ODETerm(lambda t, y, args: jnp.tanh(A @ y) - 0.1 * t * y)

    def model(x):
        solution = diffrax.diffeqsolve(
            term,
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            x,
            adjoint=diffrax.DirectAdjoint(),
            max_steps=16,
        )
        return jnp.sum(solution.ys**2)

    return model


def root():
    """z = ½ tanh(Wz) + sin x, by Newton's method; its derivatives are those of the equation."""
    W = jnp.asarray(np.random.default_rng(1).normal(size=(6, 6))) / 4

    def model(x):
        solution = optimistix.root_find(
            lambda z, x: z - 0.5 * jnp.tanh(W @ z) - jnp.sin(x),
            optimistix.Newton(rtol=1e-13, atol=1e-13),
            jnp.zeros(6),
            args=x,
        )
        return jnp.sum(solution.value**2)

    return model


def determinant():
    """As FermiNet: orbitals of each electron that see the mean of the others, and envelopes."""
    orbitals = to64(eqx.nn.MLP(4, 3, 8, depth=2, activation=jnp.tanh, key=KEY))

    def model(x):
        electrons = x.reshape(3, 2)
        mean = jnp.broadcast_to(jnp.mean(electrons, axis=0), (3, 2))
        seen = jnp.concatenate([electrons, jnp.tanh(mean)], axis=1)
        distances = jnp.sqrt(jnp.sum(electrons**2, axis=1, keepdims=True))
        matrix = jax.vmap(orbitals)(seen) * jnp.exp(-distances) + jnp.diag(electrons[:, 0])
        sign, log = jnp.linalg.slogdet(matrix)
        return log

    return model


MODELS = {
    "eqx.nn.MLP, tanh": lambda: _equinox(mlp(jnp.tanh), (6,)),
    "eqx.nn.MLP, gelu": lambda: _equinox(mlp(jax.nn.gelu), (6,)),
    "eqx.nn.Conv1d": lambda: _equinox(lambda k: eqx.nn.Conv1d(2, 3, 2, key=k), (2, 3)),
    "eqx.nn.Conv2d": lambda: _equinox(
        lambda k: eqx.nn.Conv2d(1, 2, 2, padding=1, key=k), (1, 3, 2)
    ),
    "eqx.nn.MaxPool1d": lambda: _equinox(lambda k: eqx.nn.MaxPool1d(2, 1), (2, 3)),
    "eqx.nn.LayerNorm": lambda: _equinox(lambda k: eqx.nn.LayerNorm(6), (6,)),
    "eqx.nn.GroupNorm": lambda: _equinox(lambda k: eqx.nn.GroupNorm(2, 2), (2, 3)),
    "eqx.nn.MultiheadAttention": attention,
    "eqx.nn.GRUCell": lambda: recurrent(eqx.nn.GRUCell),
    "eqx.nn.LSTMCell": lambda: recurrent(eqx.nn.LSTMCell),
    "eqx.nn.Embedding": embedding,
    "eqx.nn.Dropout": dropout,
    "flax.linen": linen,
    "flax.nnx": nnx,
    "haiku": haiku_mlp,
    "diffrax.diffeqsolve": ode,
    "optimistix.root_find": root,
    "a determinant of orbitals": determinant,
}
