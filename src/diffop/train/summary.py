"""The report of a run that has made its steps."""

import math
from typing import Any

import equinox as eqx
import jax

from ..parallel.mesh import sizes_of
from ..runs.evaluate import FixedPoints, NoPoints
from ..runs.report import Report
from ..storage.environment import environment
from .iteration import State, recent_loss
from .progress import Progress


def summarise(
    run: dict[str, Any], points: FixedPoints | NoPoints, state: State, progress: Progress
) -> Report:
    """The report of a run that has made all its steps, whose settings files hold as `run`."""
    arrays = jax.tree.leaves(eqx.filter(state.model, eqx.is_inexact_array))
    return Report(
        **{name: run[name] for name in ("problem", "dim", "steps", "n", "seed")},
        **_measured(points, state),
        it_per_s=state.step / state.seconds,
        compile_s=state.compile_seconds,
        peak_memory_mb=progress.peak_memory_mb,
        parameters=sum(array.size for array in arrays),
        settings=run,
        environment=environment(),
        loss=recent_loss(state),
        resumed_at=progress.resumed_at,
        mesh=sizes_of(state.model),
        test_points=points.count,
        reference_rel_error=points.rel_error,
        ended_at=state.step if state.step < run["steps"] else None,
    )


def _measured(points: FixedPoints | NoPoints, state: State) -> dict[str, Any]:
    """The errors, beside the null model's."""
    errors, null = points.errors(state.model), points.null_rel_l2
    if errors is None or null is None:
        return dict.fromkeys(("rel_l1", "rel_l2", "null_rel_l2", "skill"))
    components = points.component_errors(state.model)
    return {
        "rel_l1": errors.rel_l1,
        "rel_l2": errors.rel_l2,
        "null_rel_l2": null,
        "skill": _skill(null, errors.rel_l2),
        "components": {name: each.rel_l2 for name, each in components.items()},
    }


def _skill(null: float, error: float) -> float:
    """The null model's error over the network's: 1 for equal ones, also where both are 0."""
    if null == error:
        return 1.0
    return null / error if error else math.inf
