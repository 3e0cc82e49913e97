"""What a least-squares method needs from a loss: the numbers whose squares it sums."""

from typing import Protocol, runtime_checkable

from jaxtyping import PRNGKeyArray, PyTree

from ..losses.pointwise import NamedPointwise


@runtime_checkable
class HasResiduals(Protocol):
    """A loss that is a sum of squares, and gives the numbers that are squared.

    `residuals(model, key)` is a pytree of arrays whose sum of squares (of magnitudes, if complex)
    is the loss: `sqrt(weight / number)` times the misfit at each point. If it is a dictionary, its
    names are those of the loss's terms.

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
    """A loss that is a sum of squares of residuals at points that are independent of one another.

    The gradient of one residual then costs as much as at a single point; with `residuals` alone it
    costs a gradient of all of them.

    `pointwise(model, key)` gives `diffop.losses.Pointwise`s, one or a list, by the names of the
    loss's terms. Losses that choose their points by the model use it for that; the functions are
    called with other models.

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
