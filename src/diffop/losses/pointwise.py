"""Residuals at single points, for methods that differentiate them point by point."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..equations.condition import AnyCondition, Condition
from ..equations.points import chosen, count_of
from . import misfit


@final
class Pointwise(NamedTuple):
    """Residuals at points, each of which depends on its own point only.

    - `function`: from a model and one point to an array, or a pytree of arrays: the misfit there,
        times the root of its square's weight in the loss.
    - `points`: an array with one point in each row, or a pytree of such arrays: what `function` is
        mapped over.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        points = jnp.linspace(0.0, 1.0, 5)
        data = do.losses.Pointwise(lambda u, x: (u(x) - x**2) / 5**0.5, points)
        data(jnp.sin).shape  # (5,)
        ```
    """

    function: Callable[[PyTree, PyTree], PyTree]
    points: PyTree

    def __call__(self, model: PyTree) -> PyTree:
        """The residuals of a model at all points, which are the first axes."""
        return jax.vmap(partial(self.function, model))(self.points)


NamedPointwise: TypeAlias = dict[str, Pointwise | Sequence[Pointwise]]
"""By the names of a loss's terms."""


def by_name(residuals: PyTree) -> dict[str, PyTree]:
    """The residuals of a loss by the names of its terms; without names they are those of "loss"."""
    return residuals if isinstance(residuals, dict) else {"loss": residuals}


def of_condition(condition: AnyCondition, weight: int | float) -> Pointwise:
    """The pointwise residuals of a condition; one of a user's class counts as one point."""
    if not isinstance(condition, Condition):
        return Pointwise(lambda u, _: misfit.residuals([condition], weight, u), jnp.zeros(1))
    share = weight / count_of(condition.points)

    def at_point(u: Callable, datum: PyTree) -> PyTree:
        points, values = chosen(datum, None)
        one = Condition(condition.operator, points, values, condition.weight)
        return misfit.residuals([one], share, u)

    return Pointwise(at_point, (condition.points, condition.values))
