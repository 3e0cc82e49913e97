"""Steps of an optimiser from optax."""

from typing import ClassVar, final

import equinox as eqx
import jax
import optax
from jaxtyping import Array, PRNGKeyArray, PyTree

from .base import AbstractMethod, Evaluated, Objective, step_key


@final
class FirstOrder(AbstractMethod):
    """Steps by the gradient at fresh points.

    **Arguments:**

    - `optimiser`: from optax.
    """

    helps: ClassVar[str] = "a smaller learning rate"
    divisible: ClassVar[bool] = True

    optimiser: optax.GradientTransformation = eqx.field(static=True)

    def init(self, parameters: PyTree) -> PyTree:
        return self.optimiser.init(parameters)

    def step(
        self,
        objective: Objective,
        parameters: PyTree,
        memory: PyTree,
        key: PRNGKeyArray,
        index: Array,
    ) -> tuple[PyTree, PyTree, Evaluated]:
        (value, terms), gradient = jax.value_and_grad(objective, has_aux=True)(
            parameters, step_key(key, index)
        )
        # optax mixes its integer step count with floats; a user's strict settings are for others
        with jax.numpy_dtype_promotion("standard"):
            update = optax.with_extra_args_support(self.optimiser).update
            updates, memory = update(gradient, memory, parameters, value=value)  # some want it
            parameters = optax.apply_updates(parameters, updates)
        return parameters, memory, Evaluated(value, terms)


def as_method(optimiser: optax.GradientTransformation | AbstractMethod) -> AbstractMethod:
    """A method, or the steps of an optimiser from optax."""
    return optimiser if isinstance(optimiser, AbstractMethod) else FirstOrder(optimiser)
