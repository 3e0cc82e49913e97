"""folx's values by the functions of its own suite: each of them, real and complex, with sparse
Jacobians and without.
"""

import functools

import folx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop import compat

close = functools.partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8)

X = np.random.default_rng(0).normal(size=(4, 3))
W = np.random.default_rng(1).normal(size=(3, 5))
TURN = jax.lax.complex(jnp.asarray(0.8), jnp.asarray(0.6))


def square(x):
    return x @ W[:, :4] + jnp.eye(4)


FUNCTIONS = {
    **{name: getattr(jnp, name) for name in ("sin", "cos", "tanh", "exp", "square", "expm1")},
    "log": lambda x: jnp.log(x**2 + 1),
    "sqrt": lambda x: jnp.sqrt(x**2 + 1),
    "sigmoid": jax.nn.sigmoid,
    "silu": jax.nn.silu,
    "softmax": lambda x: jax.nn.softmax(x, axis=-1),
    "logsumexp": lambda x: jax.nn.logsumexp(x, axis=0),
    "abs": jnp.abs,
    "sum": lambda x: jnp.sum(x, axis=0),
    "mean of squares": lambda x: jnp.mean(x**2, axis=1),
    "prod": lambda x: jnp.prod(x, axis=-1),
    "max": lambda x: jnp.max(x**2, axis=0),
    "cumsum": lambda x: jnp.cumsum(x**2, axis=0),
    "norm": lambda x: jnp.linalg.norm(x, axis=-1),
    "slice": lambda x: x[1:, ::2] ** 2,
    "gather": lambda x: x[np.array([2, 0, 2])] ** 3,
    "transpose": lambda x: jnp.sin(x.T).reshape(2, 6),
    "concatenate": lambda x: jnp.concatenate([x, x[:1] ** 2]),
    "dot with a constant": lambda x: jnp.tanh(x @ W),
    "dot": lambda x: x @ x.T,
    "einsum": lambda x: jnp.einsum("ij,kj->kij", x, jnp.sin(x)),
    "pairwise distances": lambda x: jnp.sum((x[:, None] - x[None]) ** 2, axis=-1),
    "division": lambda x: x / (2 + jnp.cos(x[::-1])),
    "power": lambda x: (x**2 + 1) ** 1.5,
    "where": lambda x: jnp.where(x > 0, x**2, x**3),
    "slogdet": lambda x: jnp.linalg.slogdet(square(x))[1],
    "inverse": lambda x: jnp.linalg.inv(square(x)),
    "solve": lambda x: jnp.linalg.solve(square(x), jnp.sin(x)),
    "jit": lambda x: jax.jit(jnp.tanh)(x) * jnp.sum(x),
    "turned": lambda x: jnp.exp(TURN * x) * x[:1],
    "abs of complex": lambda x: jnp.abs(jnp.exp(TURN * x) + 1),
    "real part": lambda x: jnp.real(TURN * jnp.sin(x) ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_the_suite(name):
    """By this package, and by folx with dense Jacobians and with sparse ones, in one program."""
    f = FUNCTIONS[name]

    @jax.jit
    def all_of(x):
        ways = (compat.folx, 0), (folx, 0), (folx, 6)
        results = [p.forward_laplacian(f, threshold, disable_jit=True)(x) for p, threshold in ways]
        return [(r.x, r.jacobian.dense_array, r.laplacian) for r in results]

    found, dense, sparse = all_of(jnp.asarray(X))
    jax.tree.map(close, found, dense)
    value, jacobian, laplacian = sparse
    rest = X.size - len(jacobian)  # coordinates behind the last one that matters
    rows = np.pad(jacobian, [(0, rest)] + [(0, 0)] * (jacobian.ndim - 1))
    jax.tree.map(close, found, (value, rows, laplacian))
