"""The terms of a loss, each with its own weight."""

import operator
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.methods import has_method
from .pointwise import NamedPointwise, Pointwise, by_name

LossWeights = dict[str, Float[Array, ""]]


def loss_with_weights(loss: Any, weights: LossWeights) -> Any:
    """The loss with weights on its terms. It has the same methods as the given loss: `terms`, and
    those of sums of squares.
    """
    ways = {"terms": _terms, "residuals": _residuals, "pointwise": _pointwise}
    said = {
        # static methods: they are functions of a model and a key
        name: staticmethod(partial(way, loss, weights))
        for name, way in ways.items()
        if has_method(loss, name)
    }
    return type("Weighted", (), said)()


def _terms(loss: Any, weights: LossWeights, u: PyTree, key: PRNGKeyArray) -> dict[str, PyTree]:
    found = loss.terms(u, key)
    return {name: weights[name].astype(term.dtype) * term for name, term in found.items()}


def _residuals(loss: Any, weights: LossWeights, u: PyTree, key: PRNGKeyArray) -> dict[str, PyTree]:
    found = by_name(loss.residuals(u, key))
    return {name: _times_root(weights[name], each) for name, each in found.items()}


def _pointwise(loss: Any, weights: LossWeights, u: PyTree, key: PRNGKeyArray) -> NamedPointwise:
    def scaled(weight: Float[Array, ""], given: Pointwise | Sequence[Pointwise]) -> Any:
        if not isinstance(given, Pointwise):
            return [scaled(weight, each) for each in given]
        return given._replace(function=lambda u, x: _times_root(weight, given.function(u, x)))

    return {name: scaled(weights[name], each) for name, each in loss.pointwise(u, key).items()}


def _times_root(weight: Float[Array, ""], residuals: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.sqrt(weight).astype(leaf.dtype) * leaf, residuals)


def gradient_norms(loss: Any, parameters: PyTree, static: PyTree, key: PRNGKeyArray) -> LossWeights:
    """The Euclidean norm of each term's gradient with respect to the parameters, by one reverse
    pass for each term.

    **Arguments:**

    - `loss`: with a method `terms`.
    - `parameters`, `static`: those of a model, and everything else in it.
    - `key`: of the loss.
    """
    terms, pull = jax.vjp(lambda given: loss.terms(eqx.combine(given, static), key), parameters)
    nothing = jax.tree.map(jnp.zeros_like, terms)
    return {
        name: _norm(pull(nothing | {name: jnp.ones_like(term)})[0]) for name, term in terms.items()
    }


def _norm(gradient: PyTree) -> Float[Array, ""]:
    """The norm, computed in units of the largest entry, so that no square is out of range. It goes
    leaf by leaf, so that arrays divided over devices stay there.
    """
    leaves = [jnp.abs(leaf) for leaf in jax.tree.leaves(gradient)]
    largest = reduce(jnp.maximum, [jnp.max(leaf, initial=0) for leaf in leaves])
    unit = jnp.where(largest > 0, largest, 1)
    squares = [jnp.sum((leaf / unit) ** 2) for leaf in leaves]
    return unit * jnp.sqrt(reduce(operator.add, squares))


def rebalanced(weights: LossWeights, norms: LossWeights, keep: float) -> LossWeights:
    """The next weights: α λ_i + (1 − α) Σ_j |g_j| / |g_i|, where α is `keep`, for a term i with a
    gradient g_i; the old weight if the gradient is zero.
    """
    total = reduce(operator.add, norms.values())
    return weights | {
        name: keep * weights[name]
        + (1 - keep) * jnp.where(norm > 0, total / jnp.where(norm > 0, norm, 1), weights[name])
        for name, norm in norms.items()
    }
