"""Listeners of a fit or a run: they are called after each dispatch of steps, and may end it."""

import abc
from typing import Any, final

from ..scalars import plain
from .iteration import State, recent_loss


class AbstractListener(abc.ABC):
    """Code that runs between the dispatches of a fit. Subclass it, and pass your own in
    `listeners=[…]` to `diffop.train.fit` and `diffop.train.solve`.

    Listeners are called in their order. Each of them sees every state, also the state at which
    another listener ends the fit. If several processes train together, each has its own listeners,
    and the decision of the first process holds for all.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        class Largest(do.train.AbstractListener):
            largest = 0.0

            def after(self, state):
                self.largest = max(self.largest, float(jnp.max(jnp.abs(state.model))))

        listener = Largest()
        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (2,))) ** 2)
        do.train.fit(
            jnp.ones(2), loss, optax.sgd(0.01), 200, key=jax.random.key(0), listeners=[listener]
        )
        assert listener.largest > 0
        ```
    """

    @abc.abstractmethod
    def after(self, state: State) -> None:
        """Called after each dispatch, before a checkpoint is written.

        **Arguments:**

        - `state`: a `diffop.train.State`. The next dispatch reuses its arrays: copy what you keep.
            In a run of `solve` it has an `error` if that was measured.

        **Raises:** `StopIteration`, to end the fit there, with a last checkpoint.
        """

    def notes(self) -> Any:
        """What this listener needs in order to continue. It is called before a checkpoint is
        written, which keeps the notes, and after the last step. Whatever the listener has written
        elsewhere should be on the disk by then.

        **Returns:** anything that `json` can write; None for nothing.
        """
        return None

    def resume(self, notes: Any) -> None:
        """Called before the first step of a fit that continues from a checkpoint.

        **Arguments:**

        - `notes`: what `notes` returned for that checkpoint; not called if it was None.
        """

    def close(self, failed: bool) -> None:
        """Called once, after the last step, and after the results of a run are written.

        **Arguments:**

        - `failed`: whether an error or a signal ended the fit; it is raised afterwards.
        """


@final
class EarlyStopping(AbstractListener):
    """Ends a fit whose loss no longer decreases.

    The loss is random, so after each dispatch its mean over the last 100 steps is compared. The
    error on test points is not used: a run that ends by it would be fitted to them.

    **Arguments:**

    - `patience`: the fit ends after this many steps without a smaller mean, at least 1.
    - `least`: the relative amount by which a mean has to be smaller to count as smaller; from 0 to
        below 1.

    **Raises:** `ValueError` if one of these is out of its range.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        loss = lambda x, key: jnp.sum(x**2)
        patient = do.train.EarlyStopping(200, least=0.01)
        result = do.train.fit(
            jnp.ones(2), loss, optax.sgd(0.5), 10_000, key=jax.random.key(0), listeners=[patient]
        )
        result.losses.size  # 400
        ```
    """

    def __init__(self, patience: int, least: float = 0.0):
        self._patience, self._least = plain(patience), plain(least)
        if self._patience < 1 or not 0 <= self._least < 1:
            raise ValueError(
                f"EarlyStopping expects a patience of at least 1 and least from 0 to below 1, got "
                f"{patience} and {least}."
            )
        self._forget()

    def _forget(self) -> None:
        self._best: float | None = None
        self._step = 0

    def after(self, state: State) -> None:
        mean = recent_loss(state)
        if self._best is None or mean < self._best - self._least * abs(self._best):
            self._best, self._step = mean, state.step
        if state.step - self._step >= self._patience:
            raise StopIteration

    def notes(self) -> dict[str, Any]:
        return {"best": self._best, "step": self._step}

    def resume(self, notes: dict[str, Any]) -> None:
        self._best, self._step = notes["best"], notes["step"]

    def close(self, failed: bool) -> None:
        self._forget()  # another fit, such as the next window of a march, counts from its start
