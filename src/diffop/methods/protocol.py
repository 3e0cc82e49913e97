"""What a method of least squares asks of a loss: the numbers whose squares it is the sum of."""

from typing import Protocol, runtime_checkable

from jaxtyping import PRNGKeyArray, PyTree

from ..losses.pointwise import NamedPointwise


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

        isinstance(Line(), do.methods.HasResiduals)  # True
        ```
    """

    def residuals(self, model: PyTree, key: PRNGKeyArray, /) -> PyTree: ...


@runtime_checkable
class HasPointwise(Protocol):
    """A loss that is a sum of squares of residuals at points, which know nothing of one another.

    The gradient of one residual then costs what it costs at a point; of a loss that has `residuals`
    alone it costs a gradient of all of them.

    `pointwise(model, key)` are `diffop.losses.Pointwise`s, one or a list, by the names of the
    loss's terms. The model is there for losses that choose their points by it; the functions are
    called with others.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        class Line:
            def pointwise(self, model, key):
                def missed(model, x):
                    return (model[0] + model[1] * x - jnp.exp(x)) / 20**0.5

                return {"data": do.losses.Pointwise(missed, jax.random.uniform(key, (20,)))}

        isinstance(Line(), do.methods.HasPointwise)  # True
        ```
    """

    def pointwise(self, model: PyTree, key: PRNGKeyArray, /) -> NamedPointwise: ...
