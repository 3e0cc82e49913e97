"""Steps of an optimiser from optax."""

from collections.abc import Callable
from typing import Any, ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
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
        # JAX's gradient of a real function is the conjugate of the direction of steepest ascent
        gradient = jax.tree.map(jnp.conj, gradient)
        # optax mixes its integer step count with floats; strict promotion is for users' code
        with jax.numpy_dtype_promotion("standard"):
            update = optax.with_extra_args_support(self.optimiser).update
            updates, memory = _updates(update, gradient, memory, parameters, value=value)
            parameters = optax.apply_updates(parameters, updates)
        return parameters, memory, Evaluated(value, terms)


def as_method(optimiser: optax.GradientTransformation | AbstractMethod) -> AbstractMethod:
    """A method as it is, or a method that makes the steps of an optimiser from optax.

    **Raises:** `TypeError` for anything else.
    """
    if isinstance(optimiser, AbstractMethod):
        return optimiser
    if isinstance(optimiser, type) or not hasattr(optimiser, "init"):
        name = getattr(optimiser, "__name__", "")
        got = f"{name} itself; call it: {name}(…)" if name else f"{optimiser!r}"
        raise TypeError(
            "fit expects an optimiser of optax, such as optax.adam(1e-3), or of diffop.methods, "
            f"such as GaussNewton(), got {got}."
        )
    return FirstOrder(optimiser)


def _updates(update: Callable[..., Any], *given: PyTree, value: Array) -> Any:
    """The updates of an optax optimiser for a gradient; some optimisers need the loss's value.

    **Raises:** `TypeError` for an optimiser that needs the loss itself.
    """
    try:
        return update(*given, value=value)
    except TypeError as error:
        if "value_fn" not in str(error):
            raise
        raise TypeError(
            "fit draws fresh points at each step, and this optimiser evaluates one loss several "
            "times in a step (value_fn); give it an optimiser of optax without a line search, such "
            "as optax.adam(1e-3), or diffop.methods.LBFGS()."
        ) from error
