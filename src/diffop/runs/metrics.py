"""`metrics.jsonl`: a line of numbers for each dispatch of a run."""

import pathlib
from typing import NamedTuple, final

from ..storage import strict_json

METRICS = "metrics.jsonl"


@final
class Metric(NamedTuple):
    """The numbers that a run records after a dispatch.

    - `step`: how many steps were made.
    - `loss`: the mean loss of the dispatch's steps.
    - `error`: the relative L2 error on a tenth of the test points, if it was measured.
    - `seconds`: how long the steps and compiling have taken, from the start of the run.
    """

    step: int
    loss: float
    error: float | None
    seconds: float


def read_metrics(directory: pathlib.Path) -> list[Metric]:
    """The metrics of a run so far.

    An incomplete line, of a run that was killed or whose disk was full, is left out, and so are
    lines that are damaged.
    """
    path = directory / METRICS
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    return [metric for line in lines if (metric := _parsed(line)) is not None]


def line(metric: Metric) -> str:
    """The line of a metric."""
    return strict_json.dumps(metric._asdict()) + "\n"


def _parsed(line: str) -> Metric | None:
    try:
        return Metric(**strict_json.loads(line))
    except (ValueError, TypeError):
        return None
