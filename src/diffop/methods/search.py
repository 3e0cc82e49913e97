"""The line search of a step, and the damping of the next step."""

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
    """A size that was tried, the losses at it and at twice the size, and the number of trials."""

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
    """Halves the size of a step, from `whole` on, as long as that makes the loss smaller, and until
    the loss is smaller than its `value` at 0. A NaN counts as infinite.

    **Returns:** the size and the loss there.
    """

    def at(size: Float[Array, ""]) -> Float[Array, ""]:
        reached = loss(size)
        return jnp.where(jnp.isfinite(reached), reached, jnp.inf)

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
    """The damping of the next step, from the fraction of the promised decrease that was reached.

    Source: Marquardt 1963, "An algorithm for least-squares estimation of nonlinear parameters"; the
    bounds are those of Moré 1978, "The Levenberg-Marquardt algorithm".

    **Arguments:**

    - `damping`: of this step.
    - `value`, `reached`, `promised`: the loss before the step, after it, and after the whole step
        by the linear model, at the same points. So a step that had to be shortened leads to more
        damping, even if it kept its promise for that length.
    """
    ratio = (value - reached) / (value - promised)
    factor = jnp.where(
        ratio > _TRUSTED, _LOWERED, jnp.where(ratio > _DISTRUSTED, 1.0, _RAISED)
    )  # NaN raises it
    least = jnp.finfo(damping.dtype).eps
    return jnp.clip(damping * factor, least, _MOST).astype(damping.dtype)


def restored(
    damping: Float[Array, ""], given: Float[Array, ""], made: Bool[Array, ""]
) -> Float[Array, ""]:
    """The damping of the next step, of a method that has a `given` one: raised after a step that
    was not made, since the same step would fail again at the same points, and lowered again after
    one that was.
    """
    raised = jnp.clip(_RAISED * damping, jnp.finfo(damping.dtype).eps, _MOST)
    after = jnp.where(made, _LOWERED * damping, raised).astype(damping.dtype)
    return jnp.maximum(after, given)
