"""Loggers that other programs show: TensorBoard and Weights & Biases."""

import pathlib
from typing import Any, final

from .metrics import AbstractLogger, Metric

EVENTS = "tensorboard"


@final
class TensorBoard(AbstractLogger):
    """Writes events for TensorBoard below the run's directory: `tensorboard --logdir DIR`.

    **Arguments:**

    - `directory`: of the run.
    - `run`: what `run.json` holds.
    - `step`: from which step the run goes on; TensorBoard leaves later events out.
    """

    def __init__(self, directory: pathlib.Path, run: dict[str, Any], step: int):
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]

        purge = step + 1 if step else None
        self._writer = SummaryWriter(str(directory / EVENTS), purge_step=purge, flush_secs=10)
        if not step:
            self._writer.add_text("settings", str(run["settings"]))

    def log(self, metric: Metric) -> None:
        for name, value in _values(metric).items():
            self._writer.add_scalar(name, value, metric.step)

    def sync(self) -> None:
        self._writer.flush()

    def close(self, failed: bool) -> None:
        self._writer.close()


@final
class WeightsAndBiases(AbstractLogger):
    """Logs to the project `diffop` of Weights & Biases; a resumed run goes on under its name there.

    Where the numbers go, and whether at all, is set as for any use of `wandb`: by `wandb login` or
    its environment variables, such as `WANDB_MODE=offline`.

    **Arguments:** as for `TensorBoard`.
    """

    def __init__(self, directory: pathlib.Path, run: dict[str, Any], step: int):
        import wandb  # pyright: ignore[reportMissingImports]

        self._run = wandb.init(
            project="diffop",
            name=directory.name,
            dir=str(directory),
            id=run["id"],
            resume="allow",
            config=run["settings"] | {"null_rel_l2": run["null_rel_l2"]},
        )
        # a resumed run repeats steps that it has logged, which wandb's own counter would refuse
        self._run.define_metric("*", step_metric="step")

    def log(self, metric: Metric) -> None:
        self._run.log({"step": metric.step, **_values(metric)})

    def sync(self) -> None:
        pass  # wandb has a process of its own for that

    def close(self, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))


def _values(metric: Metric) -> dict[str, float]:
    values = {"loss": metric.loss, "error": metric.error}
    return {name: value for name, value in values.items() if value is not None}


TRACKERS = {
    "tensorboard": ("tensorboardX", TensorBoard),
    "wandb": ("wandb", WeightsAndBiases),
}
"""By name: the package that is needed, and the logger."""
