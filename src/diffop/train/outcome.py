"""What a dispatch tells of its steps, and whether training may go on after it."""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Array, Bool, Float


@final
class Outcome(NamedTuple):
    """What a dispatch tells of its steps.

    - `losses`: one for each step.
    - `terms`: what they are the sums of, by name.
    - `finite`: whether all parameters are finite numbers after the last step.
    """

    losses: Float[Array, " steps"]
    terms: dict[str, Float[Array, " steps"]]
    finite: Bool[Array, ""]


@final
class NonFiniteLossError(RuntimeError):
    """The loss, or a parameter, was not a finite number at some step, so training stopped there.

    - `step`: that step; the first one is 1.
    - `terms`: the names of the terms of the loss that were not finite.

    **Arguments:** `step` and `terms`, and

    - `what`: what was not finite.
    - `checkpoint`: where the newest checkpoint is, all of whose parameters are finite.
    - `helps`: what usually helps.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        try:
            do.train.fit(
                jnp.ones(2), lambda x, key: -x @ x, optax.sgd(9.0), 100, key=jax.random.key(0)
            )
        except do.train.NonFiniteLossError as error:
            error.step
        ```
    """

    def __init__(
        self,
        what: str,
        step: int,
        terms: tuple[str, ...],
        checkpoint: str | None = None,
        helps: str = "a smaller learning rate",
    ):
        known = "" if checkpoint is None else f"; {checkpoint}"
        super().__init__(f"{what}{known}; {helps} usually helps.")
        self.step = step
        self.terms = terms
        self._what = what
        self._helps = helps

    def with_checkpoint(self, checkpoint: str) -> "NonFiniteLossError":
        """The same, with where the newest checkpoint is."""
        return NonFiniteLossError(self._what, self.step, self.terms, checkpoint, self._helps)


def check_finite(outcome: Outcome, first: int, steps: int, helps: str) -> None:
    """Checks what a dispatch has made, before anyone sees it.

    **Arguments:**

    - `outcome`: of the dispatch.
    - `first`: how many steps were made before.
    - `steps`: how many there will be in all.
    - `helps`: what usually helps where something is not finite.

    **Raises:** `NonFiniteLossError` naming the step, and the terms of the loss that were not
    finite.
    """
    losses = np.asarray(outcome.losses)
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise _bad_loss(outcome, int(bad[0]), first, steps, helps)
    if not outcome.finite:
        # a parameter of which the loss makes no use, or one that the last step has ruined
        last = first + losses.size
        raise NonFiniteLossError(
            f"a parameter was not finite after step {last} of {steps}, while the loss was",
            last,
            (),
            helps=helps,
        )


def _bad_loss(
    outcome: Outcome, index: int, first: int, steps: int, helps: str
) -> NonFiniteLossError:
    values = {name: float(np.asarray(each)[index]) for name, each in outcome.terms.items()}
    bad = tuple(name for name, value in values.items() if not np.isfinite(value))
    step = first + index + 1
    what = f"the loss became {np.asarray(outcome.losses)[index]} at step {step} of {steps}"
    if len(values) > 1 or "loss" not in values:
        what += (
            f" (its terms: {', '.join(f'{name} {value:.3g}' for name, value in values.items())})"
        )
    return NonFiniteLossError(what, step, bad, helps=helps)
