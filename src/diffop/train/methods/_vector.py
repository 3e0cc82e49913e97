"""The residuals of a loss as one real vector, as a function of the parameters as one vector."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ._protocol import HasPointwise, HasResiduals

Vector: TypeAlias = Float[Array, " parameters"]


@final
class Block(NamedTuple):
    """Residuals with one name.

    - `name`: of the term of the loss.
    - `function`: from the parameters, and a point where there are points, to a vector.
    - `points`: what the function is mapped over; None where it gives all of the block at once.
    """

    name: str
    function: Callable[..., Float[Array, " entries"]]
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

        self.blocks = _blocks(loss, model, self.theta, key)
        shapes = [jax.eval_shape(block, self.theta) for block in self.blocks]
        self.sizes = tuple(math.prod(shape.shape) for shape in shapes)

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(self.sizes)

    def __call__(self, theta: Vector) -> Float[Array, " rows"]:
        return jnp.concatenate([block(theta) for block in self.blocks])

    def loss(self, theta: Vector) -> Float[Array, ""]:
        values = self(theta)
        return values @ values

    def terms(self, values: Float[Array, " rows"]) -> dict[str, Float[Array, ""]]:
        """The sums of squares by name."""
        ends = [sum(self.sizes[: i + 1]) for i in range(len(self.sizes))]
        parts = jnp.split(values, ends[:-1])
        return {block.name: part @ part for block, part in zip(self.blocks, parts, strict=True)}


def check_residuals(loss: Any, method: str) -> None:
    """**Raises:** `TypeError` if a loss does not say what it is the sum of squares of."""
    if not isinstance(loss, HasResiduals | HasPointwise):
        raise TypeError(
            f"{method} expects a loss that says what it is the sum of squares of, by a method "
            f"residuals(model, key), got {loss!r}; give it one, or take an optimiser from optax."
        )


def _blocks(loss: Any, model: Callable, theta: Vector, key: PRNGKeyArray) -> tuple[Block, ...]:
    if isinstance(loss, HasPointwise):
        there = jax.lax.stop_gradient(theta)
        return tuple(
            Block(name, _at_a_point(each.function, model), jax.lax.stop_gradient(each.points))
            for name, each in loss.pointwise(model(there), key).items()
        )

    def all_at_once(theta: Vector, name: str | None) -> Float[Array, " rows"]:
        values = loss.residuals(model(theta), key)
        return _real(values if name is None else values[name])

    names = jax.eval_shape(lambda theta: loss.residuals(model(theta), key), theta)
    if not (isinstance(names, dict) and names):
        return (Block("loss", partial(all_at_once, name=None)),)
    return tuple(Block(str(name), partial(all_at_once, name=name)) for name in names)


def _at_a_point(function: Callable, model: Callable) -> Callable:
    return lambda theta, point: _real(function(model(theta), point))


def _real(values: PyTree) -> Float[Array, " entries"]:
    """The entries of a pytree; of complex ones real and imaginary parts."""
    parts: list[Array] = []
    for leaf in map(jnp.asarray, jax.tree.leaves(values)):
        both = (leaf.real, leaf.imag) if jnp.iscomplexobj(leaf) else (leaf,)
        parts += [jnp.ravel(part) for part in both]
    return jnp.concatenate(parts)
