"""How far a run is: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from typing import final

from .metrics import Metric
from .processes import is_first

_INTERVAL = 30.0  # seconds between lines


def tell(text: str) -> None:
    """Writes a sentence to the error stream, above the bar if there is one.

    Of several processes the first one does.
    """
    from tqdm import tqdm  # an extra: imported where it is used

    if is_first():
        tqdm.write(f"diffop: {text}", file=sys.stderr)


@final
class Bar:
    """Shows steps, loss, error, speed and the time left on the error stream.

    **Arguments:**

    - `made`: how many steps were made before.
    - `steps`: how many there will be in all.
    """

    def __init__(self, made: int, steps: int):
        from tqdm import tqdm

        # None: only where the stream is not a terminal
        hidden = None if is_first() else True
        self._bar = tqdm(total=steps, initial=made, unit="step", disable=hidden, file=sys.stderr)
        self._began = self._told = time.monotonic()
        self._first = self._made = made
        self._steps = steps
        self._error: float | None = None

    def move(self, metric: Metric) -> None:
        """Goes on to the step of a metric."""
        self._error = self._error if metric.error is None else metric.error
        shown = {"loss": f"{metric.loss:.2e}"}
        if self._error is not None:
            shown["error"] = f"{self._error:.2e}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update(metric.step - self._made)
        self._made = metric.step
        if self._bar.disable and time.monotonic() - self._told >= _INTERVAL:
            self._told = time.monotonic()
            numbers = ", ".join(f"{name} {value}" for name, value in shown.items())
            tell(f"step {metric.step} of {self._steps}, {numbers}, {self._speed()}")

    def close(self) -> None:
        """Leaves the bar as it is."""
        self._bar.close()

    def _speed(self) -> str:
        speed = (self._made - self._first) / (time.monotonic() - self._began)
        left = self._bar.format_interval((self._steps - self._made) / speed)
        return f"{speed:.3g} steps/s, {left} left"
