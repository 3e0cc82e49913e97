"""The kernel J Jᵀ of residuals by residuals, layer by layer, without the matrix J.

With N residuals, a matrix of m × n parameters takes N² m n multiplications of J Jᵀ, but only
T² (m + n) by products of factors (`layers`) if T rows go through the layer at all points. So
factors are for wide layers through which few jets go: boundary data, and operators that are
estimated. For other parameters the columns of J are formed.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..kernels import call
from .layers import Gradients, LayerFactors, Layers
from .vector import Residuals

_GAIN = 4.0  # in multiplications: products of factors are slower, and are multiplied once more
_ROOM = 2**24  # numbers of the products of rows that are in memory at once

KernelMatrix = Float[Array, "rows rows"]


@final
class KernelPlan(NamedTuple):
    """How the kernel is formed: the program of each block of residuals, and the numbers of the
    parameter arrays whose part comes from factors.
    """

    layers: tuple[Layers, ...]
    factored: frozenset[int]


def planned(residuals: Residuals, gain: float = _GAIN) -> KernelPlan | None:
    """A plan by factors if they take `gain` times fewer multiplications. None if they do so for no
    array of parameters, or if it is not known to which points residuals belong.
    """
    points = [block.points for block in residuals.blocks]
    if any(each is None for each in points):
        return None
    layers = tuple(
        Layers(block.function, residuals.parameters, _one_of(each))
        for block, each in zip(residuals.blocks, points, strict=True)
    )
    counts = [sum(block.sizes.values()) for block in residuals.blocks]
    factored: set[int] = set()
    for k, leaf in enumerate(jax.tree.leaves(residuals.parameters)):
        if all(k in each.rows for each in layers):
            through = sum(n * each.rows[k] for n, each in zip(counts, layers, strict=True))
            if gain * through**2 * sum(leaf.shape) <= sum(counts) ** 2 * leaf.size:
                factored.add(k)
    return KernelPlan(layers, frozenset(factored)) if factored else None


def kernel(
    residuals: Residuals, plan: KernelPlan, chunk: int | None
) -> tuple[Float[Array, " rows"], KernelMatrix]:
    """The residuals, and J Jᵀ by a plan for them, from the gradients of `chunk` points at once, or
    of all if it is None.
    """

    def at_point(layers: Layers, point: PyTree) -> tuple[Float[Array, " entries"], Gradients]:
        return layers.gradients(residuals.parameters, point, plan.factored)

    values, found = [], []
    for block, layers in zip(residuals.blocks, plan.layers, strict=True):
        count = len(jax.tree.leaves(block.points)[0])
        at_points = jax.lax.map(
            partial(at_point, layers), block.points, batch_size=max(1, min(chunk or count, count))
        )
        of_points, gradients = jax.tree.map(
            lambda leaf: leaf.reshape(math.prod(leaf.shape[:2]), *leaf.shape[2:]), at_points
        )
        values.append(of_points)
        found.append(gradients)
    total = times_transpose(jnp.concatenate([each.whole for each in found]))
    for k in sorted(plan.factored):
        total += _of_factors([each.factors[k] for each in found])
    return jnp.concatenate(values), total


def times_transpose(wide: Float[Array, "n m"]) -> KernelMatrix:
    """A Aᵀ."""
    return call("symmetric product", _times_transpose, wide)


def _times_transpose(wide: Float[Array, "n m"]) -> KernelMatrix:
    return wide @ wide.T


def _one_of(points: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), points)


def _of_factors(blocks: Sequence[LayerFactors]) -> KernelMatrix:
    """⟨Σ_i x_i ⊗ g_i, Σ_j x'_j ⊗ g'_j⟩ = Σ_ij (x_i · x'_j)(g_i · g'_j) for all residuals."""
    through = sum(each.first.shape[0] * each.first.shape[1] for each in blocks)

    def against_all(one: LayerFactors) -> Float[Array, " rows"]:
        return jnp.concatenate([_products(one, other) for other in blocks])

    parts = []
    for each in blocks:
        entries, rows = each.first.shape[:2]
        at_once = max(1, min(entries, _ROOM // max(1, rows * through)))
        parts.append(jax.lax.map(against_all, each, batch_size=at_once))
    return jnp.concatenate(parts)


def _products(one: LayerFactors, others: LayerFactors) -> Float[Array, " entries"]:
    """The products of one residual's gradient with those of others."""
    first = jnp.einsum("im,ejm->iej", one.first, others.first)
    second = jnp.einsum("in,ejn->iej", one.second, others.second)
    return jnp.sum(first * second, axis=(0, 2))
