"""How far to go along a direction, and how much to damp the next one."""

from collections.abc import Callable
from typing import NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

_TRUSTED, _DISTRUSTED = 0.75, 0.25
_LOWERED, _RAISED = 1 / 3, 4.0
_MOST = 1e3


@final
class _Trial(NamedTuple):
    """A size that was tried, the loss there and at twice the size, and how many were tried."""

    size: Float[Array, ""]
    loss: Float[Array, ""]
    before: Float[Array, ""]
    tried: Float[Array, ""]


def halved(
    loss: Callable[[Float[Array, ""]], Float[Array, ""]],
    value: Float[Array, ""],
    halvings: int,
    whole: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Halves the size of a step for as long as that makes the loss smaller, and until it is smaller
    than where the step begins.

    **Arguments:**

    - `loss`: by the size.
    - `value`: the loss at 0.
    - `halvings`: at most how many.
    - `whole`: the first size.

    **Returns:** the size and the loss there; NaN of the loss is taken for infinite.
    """

    def at(size: Float[Array, ""]) -> Float[Array, ""]:
        return _finite_or_infinite(loss(size))

    def worth_another(trial: _Trial) -> Bool[Array, ""]:
        better = (trial.loss < trial.before) | (trial.before >= value)
        return better & (trial.tried < halvings)

    def another(trial: _Trial) -> _Trial:
        size = trial.size / 2
        return _Trial(size, at(size), trial.loss, trial.tried + 1)

    infinite = jnp.full((), jnp.inf, value.dtype)
    last = jax.lax.while_loop(
        worth_another, another, _Trial(whole, at(whole), infinite, jnp.zeros((), value.dtype))
    )
    back = last.before < last.loss
    return jnp.where(back, 2 * last.size, last.size), jnp.minimum(last.before, last.loss)


def adapted(
    damping: Float[Array, ""],
    value: Float[Array, ""],
    reached: Float[Array, ""],
    promised: Float[Array, ""],
) -> Float[Array, ""]:
    """The damping of the next step, by how much of what the linear model promised came true.

    Source: Marquardt 1963, "An algorithm for least-squares estimation of nonlinear parameters"; the
    bounds are those of Moré 1978, "The Levenberg-Marquardt algorithm".

    **Arguments:**

    - `damping`: of this step.
    - `value`, `reached`, `promised`: the loss before the step, after it, and as the linear model
        has it after the whole step, at the same points. A step that had to be made shorter to help
        then has more damping after it, though it may have done what was promised of its length.
    """
    ratio = (value - reached) / (value - promised)
    factor = jnp.where(
        ratio > _TRUSTED, _LOWERED, jnp.where(ratio > _DISTRUSTED, 1.0, _RAISED)
    )  # NaN raises it
    least = jnp.finfo(damping.dtype).eps
    return jnp.clip(damping * factor, least, _MOST).astype(damping.dtype)


def _finite_or_infinite(loss: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.where(jnp.isfinite(loss), loss, jnp.inf)
