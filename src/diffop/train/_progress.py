"""What a run shows and notes while it goes on."""

import sys
from typing import final

import numpy as np
from jaxtyping import PyTree

from ._evaluate import FixedPoints

_MEASUREMENTS = 50
_FRACTION = 0.1


@final
class Progress:
    """Observes `diffop.train.fit`: moves a progress bar and notes the error from time to time.

    The bar shows the steps per second, the loss and the time left; it is quiet when the error
    stream is not a terminal. The errors are measured on the first tenth of the test points.

    **Arguments:**

    - `points`: the test points.
    - `steps`: how many steps there will be.
    """

    def __init__(self, points: FixedPoints, steps: int):
        from tqdm import tqdm  # an extra: imported where it is used

        self.errors: list[tuple[int, float]] = []
        self._points = points
        self._interval = steps / _MEASUREMENTS
        self._steps = steps
        self._bar = tqdm(total=steps, unit="step", disable=None, file=sys.stderr)

    def __call__(self, step: int, model: PyTree, losses: np.ndarray) -> None:
        self._bar.set_postfix(loss=f"{losses[-1]:.2e}", refresh=False)
        self._bar.update(losses.size)
        if step == self._steps or step >= len(self.errors) * self._interval:
            self.errors.append((step, self._points.errors(model, _FRACTION).rel_l2))

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
