"""The residuals of a loss as one real vector, a function of the parameters as one vector."""

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

from ..equations.methods import has_method
from ..losses.pointwise import Pointwise, by_name
from .protocol import HasPointwise, HasResiduals

ParameterVector: TypeAlias = Float[Array, " parameters"]


@final
class ResidualBlock(NamedTuple):
    """Residuals that are evaluated together.

    - `function`: from the parameters as a pytree, and a point if there are points, to a vector.
    - `sizes`: the number of residuals by the name of the loss's term, in their order.
    - `points`: what the function is mapped over; None if it gives the whole block at once.
    """

    function: Callable[..., Float[Array, " entries"]]
    sizes: dict[str, int]
    points: PyTree = None

    def __call__(self, parameters: PyTree) -> Float[Array, " rows"]:
        if self.points is None:
            return self.function(parameters)
        return jax.vmap(partial(self.function, parameters))(self.points).reshape(-1)


@final
class Residuals:
    """The residuals of a loss for one key. Points, draws of jets and everything else that is random
    are the same in all calls.

    **Arguments:**

    - `loss`: a `HasPointwise`, or else a `HasResiduals`.
    - `parameters`, `static`: of the model.
    - `key`: of the step.
    """

    def __init__(self, loss: Any, parameters: PyTree, static: PyTree, key: PRNGKeyArray):
        self.parameters = parameters
        self.theta, self.unravel = jax.flatten_util.ravel_pytree(parameters)

        def model(parameters: PyTree) -> PyTree:
            return eqx.combine(parameters, static)

        kind = self.theta.dtype
        if has_method(loss, "pointwise"):
            self.blocks = _at_points(loss, model, parameters, kind, key)
        else:
            self.blocks = _all_at_once(loss, model, parameters, kind, key)

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(sum(block.sizes.values()) for block in self.blocks)

    def __call__(self, theta: ParameterVector) -> Float[Array, " rows"]:
        parameters = self.unravel(theta)
        return jnp.concatenate([block(parameters) for block in self.blocks])

    def loss(self, theta: ParameterVector) -> Float[Array, ""]:
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
    """**Raises:** `TypeError` if a loss does not give the numbers whose squares it sums."""
    if not (has_method(loss, "residuals") or has_method(loss, "pointwise")):
        raise TypeError(
            f"{method} expects a loss that says what it is the sum of squares of, by a method "
            f"residuals(model, key), got {loss!r}; give it one, or take an optimiser from optax."
        )


def usual_damping(theta: ParameterVector) -> float:
    """The damping of JᵀJ, in units of its mean, below which a type has only rounding errors."""
    return {4: 1e-3, 8: 1e-10}[max(4, theta.dtype.itemsize)]


def _at_points(
    loss: HasPointwise, model: Callable, parameters: PyTree, kind: Any, key: PRNGKeyArray
) -> tuple[ResidualBlock, ...]:
    blocks = []
    for name, given in loss.pointwise(model(parameters), key).items():
        for function, points in [given] if isinstance(given, Pointwise) else given:
            block = ResidualBlock(_real(lambda p, x, f=function: f(model(p), x), kind), {}, points)
            blocks.append(block._replace(sizes={name: _size(block, parameters)}))
    return tuple(blocks)


def _all_at_once(
    loss: HasResiduals, model: Callable, parameters: PyTree, kind: Any, key: PRNGKeyArray
) -> tuple[ResidualBlock, ...]:
    def values(parameters: PyTree) -> dict[str, PyTree]:
        return by_name(loss.residuals(model(parameters), key))

    sizes = {
        name: _size(_real(lambda p, name=name: values(p)[name], kind), parameters)
        for name in jax.eval_shape(values, parameters)
    }
    return (ResidualBlock(_real(values, kind), sizes),)


def _size(function: Callable[[PyTree], Array], parameters: PyTree) -> int:
    return math.prod(jax.eval_shape(function, parameters).shape)


def _real(function: Callable[..., PyTree], kind: Any) -> Callable[..., Float[Array, " entries"]]:
    """The entries of a function's value in a real type."""

    def entries(*arguments: PyTree) -> Float[Array, " entries"]:
        parts = real_parts(function(*arguments))
        return jnp.concatenate([part.astype(kind) for part in parts])

    return entries


def real_parts(tree: PyTree) -> list[Float[Array, " entries"]]:
    """The entries of each array of a pytree, for complex ones those of both parts."""
    leaves = map(jnp.asarray, jax.tree.leaves(tree))
    return [
        jnp.concatenate([leaf.real.ravel(), leaf.imag.ravel()])
        if jnp.iscomplexobj(leaf)
        else leaf.ravel()
        for leaf in leaves
    ]
