"""The functions that the operators are tested on, with points, and their derivatives by the oracle.

Every model is a pytree of parameters that is called with one point. Its first argument has d
coordinates in all, whatever its structure.
"""

import dataclasses
import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, PRNGKeyArray

from . import oracle

POINTS = 5
ORDER = 4  # the highest derivative in `Function.derivatives`
DTYPES = {"float32": jnp.float32, "float64": jnp.float64}
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}  # relative to the root mean square over the points


class Polynomial(eqx.Module):
    """Σ_j c_j x^alpha_j of a vector x."""

    coefficients: Array
    alphas: tuple = eqx.field(static=True)

    def __call__(self, x):
        powers = [
            functools.reduce(jnp.multiply, (x[i] ** k for i, k in enumerate(alpha) if k))
            for alpha in self.alphas
        ]
        return jnp.stack(powers) @ self.coefficients


class Residual(eqx.Module):
    """x ↦ v·h with h = x, then h += A tanh(B h) twice: a residual network."""

    A: Array
    B: Array
    v: Array

    def __call__(self, x):
        h = x
        for A, B in zip(self.A, self.B, strict=True):
            h = h + A @ jnp.tanh(B @ h)
        return self.v @ h


class Recurrent(eqx.Module):
    """A `lax.scan` whose body branches on the value that it carries."""

    W: Array

    def __call__(self, x):
        def step(h, W):
            h = lax.cond(h[0] > 0.0, lambda h: jnp.tanh(W @ h), lambda h: h + jnp.sin(W @ h), h)
            return h, jnp.sum(h**2)

        h, sums = lax.scan(step, x, self.W)
        return jnp.sum(sums) + h[1]


class Wave(eqx.Module):
    """Complex: mlp(x) exp(i k·x)."""

    mlp: eqx.nn.MLP
    k: Array

    def __call__(self, x):
        phase = self.k @ x
        wave = jnp.exp(lax.complex(jnp.zeros_like(phase), phase))
        return self.mlp(x).astype(wave.dtype) * wave


class Tree(eqx.Module):
    """Several outputs of different shapes."""

    mlp: eqx.nn.MLP

    def __call__(self, x):
        y = self.mlp(x)
        return {"scalar": jnp.sin(y[0]) * x[2], "rest": (y[:2], jnp.outer(y, x[:2]))}


class SpaceTime(eqx.Module):
    """u(x, t)."""

    mlp: eqx.nn.MLP

    def __call__(self, x, t):
        return jnp.exp(-t) * self.mlp(jnp.append(x, t))


class TreeInput(eqx.Module):
    """Of one point given as a pytree with arrays of rank 0 and 2."""

    mlp: eqx.nn.MLP

    def __call__(self, point):
        return self.mlp(jnp.append(point["b"].ravel(), point["a"])) * (1 + point["a"] ** 2)


class ScalarInput(eqx.Module):
    mlp: eqx.nn.MLP

    def __call__(self, x):
        return self.mlp(x[None]) + jnp.cos(x)


class Ansatz(eqx.Module):
    """(1 − |x|²) mlp(x)."""

    mlp: eqx.nn.MLP

    def __call__(self, x):
        return (1 - jnp.sum(x**2)) * self.mlp(x)


class Products(eqx.Module):
    """Of entries with copies of themselves, and with those of the same number along axes of a
    batch, before any layer makes arrays of their directions.
    """

    W: Array

    def __call__(self, x):
        copies = jnp.broadcast_to(x[:, None], (3, 2))
        along = jax.vmap(jnp.dot)(x, jnp.sin(x))
        summed = (copies[:, :1] + copies[:, 1:] * x[:, None]) ** 2
        rows = jnp.einsum("jk,k->k", jnp.cos(copies.T), x) * jnp.prod(copies, 1)
        three = jnp.einsum("i,i,i->", x, x, along)
        return jnp.sum(along**2) + jnp.sum(summed) + jnp.sin(rows @ self.W @ along) + three


class Field(eqx.Module):
    """A vector field ℝ³ → ℝ³."""

    mlp: eqx.nn.MLP

    def __call__(self, x):
        return self.mlp(x) * jnp.sum(x)


def mlp(activation=jnp.tanh, size_in=3, size_out="scalar", depth=2):
    return lambda key: eqx.nn.MLP(size_in, size_out, 8, depth, activation, key=key)


def around(module, *args):
    """A model that wraps an MLP."""
    return lambda key: module(mlp(*args)(key))


def vector(key):
    return (jr.normal(key, (3,)),)


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    build: Callable[[PRNGKeyArray], eqx.Module]
    point: Callable[[PRNGKeyArray], tuple] = vector
    d: int = 3
    argnums: tuple[int, ...] = (0,)

    def __repr__(self):
        return self.name

    def model(self, dtype: str):
        with jax.enable_x64(True):
            return _cast(self.build(jr.key(11)), dtype)

    def points(self, dtype: str) -> tuple:
        """The arguments, each with a leading axis for the points."""
        with jax.enable_x64(True):
            return _cast(jax.vmap(self.point)(jr.split(jr.key(7), POINTS)), dtype)

    @functools.cache  # noqa: B019
    def derivatives(self, dtype: str) -> list:
        """[u, Du, …, D⁴u] by the oracle, each with a leading axis for the points."""
        model, points = oracle.to64((self.model(dtype), self.points(dtype)))

        @jax.jit
        @jax.vmap
        def at_point(*args):
            return oracle.derivatives(model, args, ORDER, self.argnums)

        return at_point(*points)


def _cast(tree, dtype: str):
    def cast(x):
        return x.astype(DTYPES[dtype]) if eqx.is_inexact_array(x) else x

    return jax.tree.map(cast, tree)


def _polynomial(key):
    alphas = (
        (4, 0, 0),
        (2, 2, 1),
        (1, 1, 1),
        (0, 3, 2),
        (0, 1, 3),
        (0, 0, 1),
        (1, 2, 0),
        (3, 1, 0),
    )
    return Polynomial(jr.normal(key, (len(alphas),)), alphas)


def _residual(key):
    a, b, v = jr.split(key, 3)
    return Residual(jr.normal(a, (2, 3, 8)) / 3, jr.normal(b, (2, 8, 3)) / 2, jr.normal(v, (3,)))


def _wave(key):
    return Wave(mlp()(key), jr.normal(key, (3,)))


def _space_time(key):
    x, t = jr.split(key)
    return jr.normal(x, (3,)), jr.uniform(t)


def _tree_point(key):
    a, b = jr.split(key)
    return ({"a": jr.normal(a), "b": jr.normal(b, (1, 2))},)


# Of a vector in ℝ³, one scalar out
SCALAR = [
    Function("polynomial", _polynomial),
    Function("tanh", mlp()),
    Function("gelu", mlp(jax.nn.gelu)),
    Function("softplus", mlp(jax.nn.softplus)),
    Function("silu", mlp(jax.nn.silu)),
    Function("residual", _residual),
    Function("scan_cond", lambda key: Recurrent(jr.normal(key, (3, 3, 3)) / 2)),
    Function("ansatz", around(Ansatz)),
    Function("products", lambda key: Products(jr.normal(key, (3, 3)))),
]
SHALLOW = Function("shallow", mlp(jax.nn.gelu, depth=1))  # quick to compile, one custom rule
COMPLEX = Function("complex", _wave)
TREE_OUTPUT = Function("tree_output", around(Tree, jnp.tanh, 3, 4))
TREE_INPUT = Function("tree_input", around(TreeInput), _tree_point)
SPACE_TIME = Function("space_time", around(SpaceTime, jnp.tanh, 4), _space_time)
SPACE_AND_TIME = dataclasses.replace(SPACE_TIME, d=4, argnums=(0, 1))
SCALAR_INPUT = Function(
    "scalar_input", around(ScalarInput, jnp.tanh, 1), lambda k: (jr.normal(k),), 1
)
FIELD = Function("field", around(Field, jnp.tanh, 3, 3))


def relative_error(got, expected) -> float:
    """The largest over the arrays of the output of (error) / (root mean square over the points)."""

    def of_leaf(got, expected):
        assert got.shape == expected.shape
        expected = np.asarray(expected)
        scale = np.sqrt(np.mean(np.abs(expected) ** 2))
        return float(np.max(np.abs(np.asarray(got, expected.dtype) - expected)) / scale)

    assert jax.tree.structure(got) == jax.tree.structure(expected)
    return max(jax.tree.leaves(jax.tree.map(of_leaf, got, expected)))


@functools.cache
def expected_values(cases: tuple, function, dtype):
    """What the oracles of operators make of a function at every point: one program."""

    def every(D, args):
        return {case.name: case.oracle.value(D, args) for case in cases}

    points = oracle.to64(function.points(dtype))
    return jax.jit(jax.vmap(every))(function.derivatives(dtype), points)


def weigh(tree):
    """A fixed weighted sum of all entries: a real loss without symmetries, for any output."""
    total = 0.0
    for leaf in jax.tree.leaves(tree):
        y = leaf.ravel()
        weights = jnp.cos(jnp.arange(y.size, dtype=y.real.dtype) + 1)
        total = total + jnp.sum(weights * y.real) + 2 * jnp.sum(weights * y.imag)
    return total
