"""L-BFGS, for losses with fixed points."""

from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..scalars import checked_integer, plain
from .base import AbstractMethod, Evaluated, Objective, step_key


@final
class LBFGS(AbstractMethod):
    """L-BFGS with the zoom line search, as optax has it, on the points of the first step.

    It compares gradients of successive steps, and losses along a line, so all of them have to
    belong to one function: the loss with the key of step 0, whose points and jets stay. Give it as
    many points as the solution needs, since it sees no others.

    In single precision the line search ends when differences of the loss are rounding errors,
    usually at a loss of about 1e-7 of the first; after that steps are nearly 0. Complex parameters
    are two real ones each.

    Sources: Liu and Nocedal 1989, "On the limited memory BFGS method for large scale optimization";
    Nocedal and Wright 2006, "Numerical Optimization", chapters 3 and 7; `optax.lbfgs`.

    **Arguments:**

    - `history`: how many differences of gradients are kept.

    **Returns:** an optimiser for `diffop.train.fit`, for any loss.

    **Raises:** `ValueError` if `history` is less than 1; `TypeError` if it is not an integer.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        loss = lambda x, key: jnp.sum((x**2 - jnp.arange(3.0)) ** 2)
        do.train.fit(jnp.ones(3), loss, do.methods.LBFGS(), 30, key=jax.random.key(0)).model
        ```
    """

    helps: ClassVar[str] = "double precision"
    divisible: ClassVar[bool] = False

    history: int = eqx.field(static=True, converter=plain, default=20)

    def __check_init__(self) -> None:
        checked_integer(self.history, "the history of LBFGS", 1)

    def init(self, parameters: PyTree) -> PyTree:
        return self._optimiser().init(_real_parts(parameters))

    def step(
        self,
        objective: Objective,
        parameters: PyTree,
        memory: PyTree,
        key: PRNGKeyArray,
        index: Array,
    ) -> tuple[PyTree, PyTree, Evaluated]:
        fixed, parts = step_key(key, 0), _real_parts(parameters)

        with jax.numpy_dtype_promotion("standard"):  # optax mixes integers and floats
            kind = jnp.result_type(*jax.tree.leaves(parts))

            def loss(parts: PyTree) -> Float[Array, ""]:
                return jnp.asarray(objective(_joined(parts, parameters), fixed).value, kind)

            value, gradient = optax.value_and_grad_from_state(loss)(parts, state=memory)
            value = jnp.asarray(value)
            updates, memory = self._optimiser().update(
                gradient, memory, parts, value=value, grad=gradient, value_fn=loss
            )
            parameters = _joined(optax.apply_updates(parts, updates), parameters)
        return parameters, memory, Evaluated(value, {"loss": value})

    def _optimiser(self) -> optax.GradientTransformationExtraArgs:
        return optax.lbfgs(memory_size=self.history)


def _real_parts(parameters: PyTree) -> PyTree:
    """Real and imaginary part of each complex array, in its place."""
    return jax.tree.map(
        lambda p: (jnp.real(p), jnp.imag(p)) if jnp.iscomplexobj(p) else p, parameters
    )


def _joined(parts: PyTree, like: PyTree) -> PyTree:
    """The arrays of which these are the real parts, in the form of `like`."""
    rest = iter(jax.tree.leaves(parts))
    return jax.tree.map(
        lambda p: jax.lax.complex(next(rest), next(rest)) if jnp.iscomplexobj(p) else next(rest),
        like,
    )
