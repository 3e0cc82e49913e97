"""What a method of least squares asks of a loss: the numbers whose squares it is the sum of."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, final, runtime_checkable

import jax
from jaxtyping import PRNGKeyArray, PyTree


@final
class Pointwise(NamedTuple):
    """Residuals that belong to points, one of which knows nothing of the others.

    - `function`: from a model and one point to an array, or a pytree of arrays: what is missed
        there, times the root of what its square weighs in the loss.
    - `points`: an array with one point in each row, or a pytree of such arrays: what `function` is
        mapped over.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        points = jnp.linspace(0.0, 1.0, 5)
        data = do.train.Pointwise(lambda u, x: (u(x) - x**2) / 5**0.5, points)
        data(jnp.sin).shape  # (5,)
        ```
    """

    function: Callable[[PyTree, PyTree], PyTree]
    points: PyTree

    def __call__(self, model: PyTree) -> PyTree:
        """The residuals of a model at all points, which are along the first axes."""
        return jax.vmap(partial(self.function, model))(self.points)


@runtime_checkable
class HasResiduals(Protocol):
    """A loss that is a sum of squares, and can say of what.

    `residuals(model, key)` is a pytree of arrays whose sum of squares, of complex ones of the
    magnitudes, is the loss: `sqrt(weight / number)` times what is missed at each point. Where it is
    a dictionary its names are those of the loss's terms.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        class Line:
            def residuals(self, model, key):
                x = jax.random.uniform(key, (20,))
                return (model[0] + model[1] * x - jnp.exp(x)) / 20**0.5

        isinstance(Line(), do.train.HasResiduals)  # True
        ```
    """

    def residuals(self, model: PyTree, key: PRNGKeyArray, /) -> PyTree: ...


@runtime_checkable
class HasPointwise(Protocol):
    """A loss that is a sum of squares of residuals at points, which know nothing of one another.

    The gradient of one residual then costs what it costs at a point; of a loss that has `residuals`
    alone it costs a gradient of all of them.

    `pointwise(model, key)` are the `diffop.train.Pointwise`s by the names of the loss's terms. The
    model is there for losses that choose their points by it; the functions are called with others.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        class Line:
            def pointwise(self, model, key):
                def missed(model, x):
                    return (model[0] + model[1] * x - jnp.exp(x)) / 20**0.5

                return {"data": do.train.Pointwise(missed, jax.random.uniform(key, (20,)))}

        isinstance(Line(), do.train.HasPointwise)  # True
        ```
    """

    def pointwise(self, model: PyTree, key: PRNGKeyArray, /) -> dict[str, Pointwise]: ...
