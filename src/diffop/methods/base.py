"""The base class of methods, and the loss that they see."""

import operator
from abc import abstractmethod
from functools import reduce
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..complete import Complete
from ..equations.methods import has_method
from ..streams import stream

_NUMBERS = jax.Array, np.ndarray, np.generic, float


@final
class Evaluated(NamedTuple):
    """A loss, and the terms that add up to it, by name."""

    value: Float[Array, ""]
    terms: dict[str, Float[Array, ""]]


@final
class Objective(NamedTuple):
    """A loss as a function of parameters: what a [`diffop.methods.AbstractMethod`][] minimises.

    - `loss`: of models.
    - `static`: everything in a model except its parameters.
    """

    loss: Any
    static: PyTree

    def __call__(self, parameters: PyTree, key: PRNGKeyArray) -> Evaluated:
        """The loss. If it has a method `terms` it is their sum; otherwise it is its only term.

        **Raises:** `TypeError` for a loss that is not a single real number.
        """
        model = eqx.combine(parameters, self.static)
        if has_method(self.loss, "terms"):
            terms = self.loss.terms(model, key)
            return Evaluated(reduce(operator.add, terms.values()), terms)
        value = self.loss(model, key)
        if not isinstance(value, _NUMBERS):
            raise TypeError(
                f"fit expects a loss whose value is one real number, got {value!r} of type "
                f"{type(value).__name__}; return a scalar, or give the loss a method `terms`."
            )
        value = jnp.asarray(value)
        if value.ndim or not jnp.issubdtype(value.dtype, jnp.floating):
            raise TypeError(
                f"fit expects a loss whose value is one real number, got an array of shape "
                f"{value.shape} and type {value.dtype}; take its mean, such as "
                "jnp.mean(jnp.abs(residuals) ** 2)."
            )
        return Evaluated(value, {"loss": value})


class AbstractMethod(Complete):
    """How a fit makes a step. Subclass it for an optimiser for `diffop.train.fit` that does more
    than optax allows.

    - `helps`: advice for the error message if a number is not finite.
    - `divisible`: whether its work can be divided over a mesh of devices.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        class Descent(do.methods.AbstractMethod):
            helps = "a shorter step"
            divisible = True

            def init(self, parameters):
                return ()

            def step(self, objective, parameters, memory, key, index):
                evaluated, pull = jax.vjp(lambda p: objective(p, key), parameters)
                one = jax.tree.map(jnp.zeros_like, evaluated)._replace(value=jnp.ones(()))
                (gradient,) = pull(one)
                return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradient), (), evaluated

        loss = lambda x, key: jnp.sum((x - 2) ** 2)
        result = do.train.fit(jnp.zeros(3), loss, Descent(), 50, key=jax.random.key(0))
        result.model  # [2.00, 2.00, 2.00]
        ```
    """

    helps: eqx.AbstractVar[str]
    divisible: eqx.AbstractVar[bool]

    @abstractmethod
    def init(self, parameters: PyTree) -> PyTree:
        """The memory before the first step: arrays, which checkpoints keep."""

    @abstractmethod
    def step(
        self,
        objective: Objective,
        parameters: PyTree,
        memory: PyTree,
        key: PRNGKeyArray,
        index: Array,
    ) -> tuple[PyTree, PyTree, Evaluated]:
        """The parameters and the memory after a step, and the loss before it.

        **Arguments:**

        - `objective`: the loss to minimise.
        - `parameters`, `memory`: before the step.
        - `key`: of the fit; the step's own key follows from it and `index`.
        - `index`: of the step, from 0 on.

        **Raises:** `TypeError` if the loss lacks what the method needs.
        """


def step_key(key: PRNGKeyArray, index: int | Array) -> PRNGKeyArray:
    """The key of a step, from the key of the fit."""
    return stream(key, "step", index)
