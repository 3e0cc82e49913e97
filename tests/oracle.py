"""An independent, slow oracle: full derivative tensors by nested `jax.jacfwd` in double precision.

`derivatives(u, args, order)` is `[u, Du, …, D^order u]` at one point. The axes of `D^k u` are those
of the output, then k axes of length d: the coordinates of the differentiated arguments, flattened
and laid end to end. An `Oracle` contracts them with explicit coefficient tensors. Nothing here
imports the library under test.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

Tensors = dict[int, Any]  # order -> coefficient tensor: that many axes of length d, then others


def to64(tree):
    """The same tree with its floating-point and complex arrays in double precision."""

    def cast(x):
        if not isinstance(x, jax.Array | np.ndarray):
            return x
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            return x.astype(jnp.complex128)
        return x.astype(jnp.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(cast, tree)


def derivatives(u, args, order: int, argnums: Sequence[int] = (0,)) -> list:
    flat, unravel = ravel_pytree([args[i] for i in argnums])

    def of_coordinates(flat):
        new = list(args)
        for i, value in zip(argnums, unravel(flat)):
            new[i] = value
        return u(*new)

    result = []
    f = of_coordinates
    for _ in range(order + 1):
        result.append(f(flat))
        f = jax.jacfwd(f)
    return result


def contract(tensors: Tensors, D: list):
    """Σ_k D^k u · C_k, for each array in the output of u."""

    def contract_leaf(*leaves):
        return sum(
            jnp.tensordot(leaves[k], jnp.asarray(C).astype(leaves[k].dtype), axes=k)
            for k, C in tensors.items()
        )

    return jax.tree.map(contract_leaf, *D)


@dataclasses.dataclass(frozen=True)
class Oracle:
    """A differential operator: `value(D, args)` from the derivatives at one point."""

    order: int
    value: Callable
    argnums: tuple[int, ...] = (0,)

    def __call__(self, u):
        """The function L u, by nested differentiation; it can be differentiated again."""
        return lambda *args: self.value(derivatives(u, args, self.order, self.argnums), args)

    def __add__(self, other: "Oracle") -> "Oracle":
        assert self.argnums == other.argnums

        def value(D, args):
            return jax.tree.map(jnp.add, self.value(D, args), other.value(D, args))

        return Oracle(max(self.order, other.order), value, self.argnums)

    def __rmul__(self, c) -> "Oracle":
        """c: a number, or a function of the point."""

        def value(D, args):
            scale = c(*args) if callable(c) else c
            return jax.tree.map(lambda y: y * jnp.asarray(scale, y.dtype), self.value(D, args))

        return Oracle(self.order, value, self.argnums)


def of_tensors(order: int, tensors, argnums=(0,)) -> Oracle:
    """tensors: what `contract` takes, or a function of the point that returns it."""

    def value(D, args):
        return contract(tensors(*to64(args)) if callable(tensors) else tensors, D[: order + 1])

    return Oracle(order, value, argnums)


# The operators, each from its definition. d: the number of coordinates.


def identity(argnums=(0,)) -> Oracle:
    return of_tensors(0, {0: 1.0}, argnums)


def monomial(d: int, alpha: dict[int, int]) -> np.ndarray:
    """The tensor of ∂^alpha: one entry, which is enough because D^k u is symmetric."""
    coordinates = [i for i, order in alpha.items() for _ in range(order)]
    C = np.zeros((d,) * len(coordinates))
    C[tuple(coordinates)] = 1.0
    return C


def terms(d: int, alphas: Sequence[dict[int, int]], coefficients, argnums=(0,)) -> Oracle:
    """Σ_j coefficients[j] ∂^alphas[j]."""
    tensors: dict[int, np.ndarray] = {}
    for alpha, c in zip(alphas, coefficients, strict=True):
        C = float(c) * monomial(d, alpha)
        tensors[C.ndim] = tensors.get(C.ndim, 0.0) + C
    return of_tensors(max(tensors), tensors, argnums)


def partial(d: int, i: int, order: int = 1, argnums=(0,)) -> Oracle:
    return terms(d, [{i: order}], [1.0], argnums)


def mixed(d: int, alpha: dict[int, int], argnums=(0,)) -> Oracle:
    return terms(d, [alpha], [1.0], argnums)


def directional(b, argnums=(0,)) -> Oracle:
    return of_tensors(1, _of_point(b, lambda b: {1: b}), argnums)


def gradient(d: int, sigma=None, argnums=(0,)) -> Oracle:
    sigma = np.eye(d) if sigma is None else sigma
    return of_tensors(1, _of_point(sigma, lambda sigma: {1: sigma}), argnums)


def diagonal(d: int, k: int, dims=None, argnums=(0,)) -> Oracle:
    dims = range(d) if dims is None else dims
    return terms(d, [{i: k} for i in dims], [1.0] * len(dims), argnums)


def laplacian(d: int, dims=None, argnums=(0,)) -> Oracle:
    return polylaplacian(d, 1, dims, argnums)


def polylaplacian(d: int, m: int, dims=None, argnums=(0,)) -> Oracle:
    """Σ_{i₁…i_m} ∂_{i₁}² … ∂_{i_m}²."""
    dims = range(d) if dims is None else dims
    C = np.zeros((d,) * (2 * m))
    for index in np.ndindex((len(dims),) * m):
        C[tuple(dims[i] for i in index for _ in range(2))] += 1.0
    return of_tensors(2 * m, {2 * m: C}, argnums)


def second_order(C, argnums=(0,)) -> Oracle:
    """Σ_ij C_ij ∂_i ∂_j, C a matrix or the diagonal of one."""
    return of_tensors(2, _of_point(C, lambda C: {2: _matrix(C)}), argnums)


def parabolic(sigma, d: int, argnums=(0,)) -> Oracle:
    """½ tr(σ σᵀ Hess), σ a matrix, the diagonal of one, or a number."""

    def tensor(sigma):
        sigma = _matrix(jnp.full(d, sigma) if jnp.ndim(sigma) == 0 else sigma)
        return {2: 0.5 * sigma @ sigma.T}

    return of_tensors(2, _of_point(sigma, tensor), argnums)


def divergence(d: int, argnums=(0,)) -> Oracle:
    """Σ_i ∂_i u_i of a function with values in ℝ^d."""
    return Oracle(1, lambda D, args: jnp.trace(D[1]), argnums)


def _of_point(coefficient, tensors):
    if callable(coefficient):
        return lambda *args: tensors(coefficient(*args))
    return tensors(coefficient)


def _matrix(C):
    C = jnp.asarray(C)
    return jnp.diag(C) if C.ndim == 1 else C
