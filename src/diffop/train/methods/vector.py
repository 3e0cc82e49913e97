"""The residuals of a loss as one real vector, as a function of the parameters as one vector."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...losses.pointwise import Pointwise
from .protocol import HasPointwise, HasResiduals

Vector: TypeAlias = Float[Array, " parameters"]


@final
class Block(NamedTuple):
    """Residuals that are evaluated together.

    - `function`: from the parameters, and a point where there are points, to a vector.
    - `sizes`: how many there are, by the name of the term of the loss, in their order.
    - `points`: what the function is mapped over; None where it gives all of the block at once.
    """

    function: Callable[..., Float[Array, " entries"]]
    sizes: dict[str, int]
    points: PyTree = None

    def __call__(self, theta: Vector) -> Float[Array, " rows"]:
        if self.points is None:
            return self.function(theta)
        return jax.vmap(partial(self.function, theta))(self.points).reshape(-1)


@final
class Residuals:
    """The residuals of a loss for one key: points, draws of jets and all else that is random are
    the same wherever they are asked for.

    **Arguments:**

    - `loss`: a `HasPointwise`, or else a `HasResiduals`.
    - `parameters`, `static`: of the model.
    - `key`: of the step.
    """

    def __init__(self, loss: Any, parameters: PyTree, static: PyTree, key: PRNGKeyArray):
        self.theta, self.unravel = jax.flatten_util.ravel_pytree(parameters)

        def model(theta: Vector) -> PyTree:
            return eqx.combine(self.unravel(theta), static)

        if isinstance(loss, HasPointwise):
            self.blocks = _at_points(loss, model, self.theta, key)
        else:
            self.blocks = _all_at_once(loss, model, self.theta, key)

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(sum(block.sizes.values()) for block in self.blocks)

    def __call__(self, theta: Vector) -> Float[Array, " rows"]:
        return jnp.concatenate([block(theta) for block in self.blocks])

    def loss(self, theta: Vector) -> Float[Array, ""]:
        values = self(theta)
        return values @ values

    def terms(self, values: Float[Array, " rows"]) -> dict[str, Float[Array, ""]]:
        """The sums of squares by name."""
        sizes = [pair for block in self.blocks for pair in block.sizes.items()]
        ends = list(itertools.accumulate(size for _, size in sizes))
        terms: dict[str, Float[Array, ""]] = {}
        for (name, _), part in zip(sizes, jnp.split(values, ends[:-1]), strict=True):
            terms[name] = terms.get(name, jnp.zeros((), part.dtype)) + part @ part
        return terms


def check_residuals(loss: Any, method: str) -> None:
    """**Raises:** `TypeError` if a loss does not say what it is the sum of squares of."""
    if not isinstance(loss, HasResiduals | HasPointwise):
        raise TypeError(
            f"{method} expects a loss that says what it is the sum of squares of, by a method "
            f"residuals(model, key), got {loss!r}; give it one, or take an optimiser from optax."
        )


def _at_points(
    loss: HasPointwise, model: Callable, theta: Vector, key: PRNGKeyArray
) -> tuple[Block, ...]:
    blocks = []
    for name, given in loss.pointwise(model(theta), key).items():
        for function, points in [given] if isinstance(given, Pointwise) else given:
            block = Block(_real(lambda theta, x, f=function: f(model(theta), x)), {}, points)
            blocks.append(block._replace(sizes={name: _size(block, theta)}))
    return tuple(blocks)


def _all_at_once(
    loss: HasResiduals, model: Callable, theta: Vector, key: PRNGKeyArray
) -> tuple[Block, ...]:
    def values(theta: Vector) -> dict[str, PyTree]:
        residuals = loss.residuals(model(theta), key)
        return residuals if isinstance(residuals, dict) else {"loss": residuals}

    sizes = {
        name: _size(_real(lambda theta, name=name: values(theta)[name]), theta)
        for name in jax.eval_shape(values, theta)
    }
    return (Block(_real(values), sizes),)


def _size(function: Callable[[Vector], Array], theta: Vector) -> int:
    return math.prod(jax.eval_shape(function, theta).shape)


def _real(function: Callable[..., PyTree]) -> Callable[..., Float[Array, " entries"]]:
    """The entries of what a function gives, in the precision of its first argument; of complex ones
    real and imaginary parts.
    """

    def entries(theta: Vector, *point: PyTree) -> Float[Array, " entries"]:
        parts: list[Array] = []
        for leaf in map(jnp.asarray, jax.tree.leaves(function(theta, *point))):
            both = (leaf.real, leaf.imag) if jnp.iscomplexobj(leaf) else (leaf,)
            parts += [jnp.ravel(part).astype(theta.dtype) for part in both]
        return jnp.concatenate(parts)

    return entries
