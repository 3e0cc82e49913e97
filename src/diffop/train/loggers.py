"""Loggers: they send the numbers of a run to a file, to other programs and to the error stream."""

import abc
import contextlib
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

import numpy as np

from ..extras import require
from ..parallel.processes import is_first
from ..runs.directory import EVENTS
from ..runs.metrics import METRICS, Metric, line, read_metrics
from ..storage.disk import replacing, sync
from .iteration import State
from .listeners import AbstractListener

_INTERVAL = 30.0  # seconds between progress lines
_LENGTH = 300  # characters of a reason


class AbstractLogger(AbstractListener):
    """A listener that records the numbers of a run, which continues from a step."""

    def __init__(self, step: int):
        self._made = step

    def after(self, state: State) -> None:
        losses, self._made = state.losses[self._made :], state.step
        seconds = state.seconds + state.compile_seconds
        self.log(Metric(state.step, float(np.mean(losses)), state.error, seconds))

    @abc.abstractmethod
    def log(self, metric: Metric) -> None:
        """Records the numbers of a dispatch."""


@final
class MetricsFile(AbstractLogger):
    """Appends a line to `metrics.jsonl` after each dispatch. Lines from after the step from which
    the run continues are removed. Only the first line that cannot be written is told.
    """

    def __init__(self, directory: pathlib.Path, step: int, tell: Callable[[str], None]):
        super().__init__(step)
        self._path = directory / METRICS
        self._tell = tell
        self._told = False
        kept = [metric for metric in read_metrics(directory) if metric.step <= step]
        with replacing(self._path) as file:
            file.write("".join(map(line, kept)).encode())

    def log(self, metric: Metric) -> None:
        with self._telling(), self._path.open("a") as file:
            file.write(line(metric))

    def notes(self) -> None:
        with self._telling():
            sync(self._path)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._told:
                self._tell(f"{self._path} could not be written: {error}; training goes on.")
            self._told = True


@final
class TensorBoard(AbstractLogger):
    """Writes events for TensorBoard below the run's directory: `tensorboard --logdir DIR`, which
    leaves out earlier events from after the step from which the run continues.
    """

    def __init__(self, directory: pathlib.Path, run: dict[str, Any], step: int):
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]

        super().__init__(step)
        purge = step + 1 if step else None
        self._writer = SummaryWriter(str(directory / EVENTS), purge_step=purge, flush_secs=10)
        if not step:
            self._writer.add_text("settings", str(run["settings"]))

    def log(self, metric: Metric) -> None:
        for name, value in _values(metric).items():
            self._writer.add_scalar(name, value, metric.step)

    def notes(self) -> None:
        self._writer.flush()

    def close(self, failed: bool) -> None:
        self._writer.close()


@final
class WeightsAndBiases(AbstractLogger):
    """Logs to the project `diffop` of Weights & Biases; a resumed run keeps its name there.

    Configure where the numbers go as for any use of `wandb`: by `wandb login` or its environment
    variables, such as `WANDB_MODE=offline`.
    """

    def __init__(self, directory: pathlib.Path, run: dict[str, Any], step: int):
        import wandb  # pyright: ignore[reportMissingImports]

        super().__init__(step)
        self._run = wandb.init(
            project="diffop",
            name=directory.name,
            dir=str(directory),
            id=run["id"],
            resume="allow",
            config=run["settings"] | {"null_rel_l2": run["null_rel_l2"]},
        )
        # a resumed run logs some steps again, which wandb's own counter would refuse
        self._run.define_metric("*", step_metric="step")

    def log(self, metric: Metric) -> None:
        self._run.log({"step": metric.step, **_values(metric)})

    def close(self, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))


def _values(metric: Metric) -> dict[str, float]:
    values = {"loss": metric.loss, "error": metric.error}
    return {name: value for name, value in values.items() if value is not None}


TRACKERS = {
    "tensorboard": ("tensorboardX", TensorBoard),
    "wandb": ("wandb", WeightsAndBiases),
}
"""By name: the required package, and the logger."""


def tell(text: str) -> None:
    """Writes a sentence to the error stream, above the progress bar if there is one.

    If there are several processes, only the first writes.
    """
    from tqdm import tqdm  # an extra: imported where it is used

    if is_first():
        with contextlib.suppress(OSError):  # nobody reads the stream
            tqdm.write(f"diffop: {text}", file=sys.stderr)


def in_a_line(error: Exception) -> str:
    """The first line of an error, with its type unless it is a system error."""
    reason, *_ = str(error).strip().splitlines() or [""]
    kind = "" if isinstance(error, OSError) else f"{type(error).__name__}: "
    return f"{kind}{reason[:_LENGTH].rstrip('.')}"


@final
class Bar(AbstractLogger):
    """Shows steps, loss, error, speed and the time left on the error stream: as a bar on a
    terminal, otherwise as a line from time to time.
    """

    def __init__(self, made: int, steps: int):
        from tqdm import tqdm

        super().__init__(made)
        # None: tqdm disables the bar if the stream is not a terminal
        self._bar = tqdm(total=steps, initial=made, unit="step", disable=None, file=sys.stderr)
        self._began = self._told = time.monotonic()
        self._first = self._shown = made
        self._steps = steps
        self._error: float | None = None

    def log(self, metric: Metric) -> None:
        self._error = self._error if metric.error is None else metric.error
        shown = {"loss": f"{metric.loss:.2e}"}
        if self._error is not None:
            shown["error"] = f"{self._error:.2e}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update(metric.step - self._shown)
        self._shown = metric.step
        if self._bar.disable and time.monotonic() - self._told >= _INTERVAL:
            self._told = time.monotonic()
            numbers = ", ".join(f"{name} {value}" for name, value in shown.items())
            tell(f"step {metric.step} of {self._steps}, {numbers}, {self._speed()}")

    def close(self, failed: bool) -> None:
        self._bar.close()

    def _speed(self) -> str:
        speed = (self._shown - self._first) / (time.monotonic() - self._began)
        left = self._bar.format_interval((self._steps - self._shown) / speed)
        return f"{speed:.3g} steps/s, {left} left"


def require_trackers(names: Iterable[str]) -> None:
    """Checks that the packages of trackers are installed.

    **Raises:** `MissingExtraError` if one is not; `ValueError` if a tracker is unknown; `TypeError`
    for a single word, or no words.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"log expects names of trackers, such as ['tensorboard'], got {names!r}.")
    for name in names:
        if name not in TRACKERS:
            raise ValueError(f"log must be one of {', '.join(TRACKERS)}, got {name!r}.")
        package, _ = TRACKERS[name]
        require(f"logging to {name}", name, (package,))
