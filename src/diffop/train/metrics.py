"""The numbers that a run notes while it goes on, in a file that can be read at any time."""

import abc
import contextlib
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

from .durable import replacing, sync

METRICS = "metrics.jsonl"


@final
class Metric(NamedTuple):
    """What a run notes after a dispatch.

    - `step`: how many steps were made.
    - `loss`: the mean loss of the dispatch's steps.
    - `error`: the relative L2 error on a tenth of the test points, if it was measured.
    - `seconds`: since the start of the run, without the time between its parts if it was resumed.
    """

    step: int
    loss: float
    error: float | None
    seconds: float


class AbstractLogger(abc.ABC):
    """Where the numbers of a run go."""

    @abc.abstractmethod
    def log(self, metric: Metric) -> None:
        """Notes the numbers of a dispatch."""

    @abc.abstractmethod
    def sync(self) -> None:
        """Forces what was noted to where it stays, before a checkpoint is written that comes after
        it.
        """

    @abc.abstractmethod
    def close(self, failed: bool) -> None:
        """Ends, after the last one."""


@final
class MetricsFile(AbstractLogger):
    """Appends a line to `metrics.jsonl` after each dispatch.

    **Arguments:**

    - `directory`: of the run.
    - `step`: from which step the run goes on; later lines are removed.
    - `tell`: called with a sentence the first time that a line cannot be written.
    """

    def __init__(self, directory: pathlib.Path, step: int, tell: Callable[[str], None]):
        self._path = directory / METRICS
        self._tell = tell
        self._told = False
        kept = [metric for metric in read_metrics(directory) if metric.step <= step]
        with replacing(self._path) as file:
            file.write("".join(map(_line, kept)).encode())

    def log(self, metric: Metric) -> None:
        with self._telling(), self._path.open("a") as file:
            file.write(_line(metric))

    def sync(self) -> None:
        with self._telling():
            sync(self._path)

    def close(self, failed: bool) -> None:
        self.sync()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._told:
                self._tell(f"{self._path} could not be written: {error}; training goes on.")
            self._told = True


def read_metrics(directory: pathlib.Path) -> list[Metric]:
    """What a run has noted so far.

    A line that was not written to its end, in a run that was killed or whose disk was full, is left
    out.
    """
    path = directory / METRICS
    lines = path.read_text().splitlines() if path.is_file() else []
    return [metric for line in lines if (metric := _parsed(line)) is not None]


def _line(metric: Metric) -> str:
    return json.dumps(metric._asdict()) + "\n"


def _parsed(line: str) -> Metric | None:
    try:
        return Metric(**json.loads(line))
    except (ValueError, TypeError):
        return None
