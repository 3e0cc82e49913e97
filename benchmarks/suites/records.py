"""The field's own problems, beside the best errors that are published of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do
from diffop.precision import PRECISIONS

from ..harness.case import Case, Scope, Size
from ..harness.records import Record, Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table
from ..subjects.continued import continued
from ..subjects.steps import OURS
from ..subjects.waves import marched_waves
from ..subjects.windows import marched
from .errors import MINI, AbstractTrained, error_columns, errors_table, summaries

SEEDS = [0, 1, 2]


class Published(NamedTuple):
    """An error that a paper or a package states, and how it was reached."""

    error: float
    source: str

    def __str__(self) -> str:
        return f"{self.error:.1e}, {self.source}"


_JAXPI2 = "jaxpi2, 50,000 to 100,000 steps on GPUs"

PUBLISHED: Mapping[str, tuple[Published, ...]] = {
    "burgers": (
        Published(4.8e-7, "DSGNAR (arXiv 2607.02194), 10 s of an H100 in float32"),
        Published(4.0e-5, _JAXPI2),
    ),
    "allen-cahn-1d": (Published(4.0e-6, _JAXPI2),),
    "kdv-cosine": (Published(1.5e-4, _JAXPI2),),
    "wave-1d": (Published(1.2e-5, _JAXPI2),),
    "advection": (Published(4.3e-2, _JAXPI2),),
    "kuramoto-sivashinsky": (Published(4.3e-3, _JAXPI2),),
    "ginzburg-landau": (
        Published(1.5e-2, "PirateNets (arXiv 2402.00326), five times 100,000 steps on GPUs"),
    ),
    "gray-scott": (
        Published(
            3.6e-3,
            "u, and 9.4e-3, v, to time 2, PirateNets (arXiv 2402.00326), ten times 100,000 steps "
            "on GPUs",
        ),
    ),
}

_LONGER: Mapping[str, Mapping[str, Size]] = {
    "burgers": {"steps": 800},
    "helmholtz": {"width": 32, "batch": 4000, "steps": 400},
    "wave-1d": {"steps": 600},
    "allen-cahn-1d": {"batch": 4000, "steps": 400},
    "cavity": {"steps": 600},
    "cavity-1000": {"steps": 1000},
    "backward-step": {},
    "ginzburg-landau": {"width": 20, "depth": 3, "batch": 2000, "steps": 300},
}
"""What is not as the problem recommends."""


class RecordErrors(AbstractTrained):
    name = "records/error"
    title = "errors on what papers compare with, in minutes, beside those that are published"

    def cases(self, scope: Scope) -> Iterator[Case]:
        every = list(_LONGER)
        for problem in scope.pick(every[:1], every[:1], every):
            sizes = MINI if scope.level == "mini" else _LONGER[problem]
            for seed in scope.pick([0], [0], SEEDS):
                yield self.case(OURS, problem=problem, **sizes, seed=seed)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield _table(ours)


_DENSE: Mapping[str, Size] = {
    "block": 1,
    "channels": 1,
    "sharing": "joined",
    "width": 512,
    "optimiser": "muon",
    "learning_rate": 0.02,
    "schedule": "cosine",
    "steps": 6000,
    "batch": 100,
    "data_batch": 200,
    "data_weight": 10.0,
    "precision": "default",
}
"""A network that knows nothing of neighbours."""

_ON_CUBES: list[tuple[str, Mapping[str, Size]]] = [
    ("poisson-cube", {"dim": 100, "steps": 300}),
    ("poisson-cube", {"dim": 100, "block": 3, "depth": 2}),
    ("poisson-cube", {"dim": 100, **_DENSE}),
    ("poisson-cube", {"dim": 1000}),
    ("sine-gordon-cube", {"dim": 1000, "steps": 30}),
    ("heat-cube", {"dim": 300}),
]


class RecordCubes(AbstractTrained):
    name = "records/cube"
    title = "errors in a hundred and in a thousand dimensions, where all coordinates count"

    def cases(self, scope: Scope) -> Iterator[Case]:
        for problem, sizes in scope.pick(_ON_CUBES[:1], _ON_CUBES[:1], _ON_CUBES):
            more = {"dim": 4, **MINI, "data_batch": 4} if scope.level == "mini" else {}
            for seed in scope.pick([0], [0], SEEDS):
                yield self.case(OURS, problem=problem, **{**sizes, **more}, seed=seed)


_MARCHED: Mapping[str, Mapping[str, Size]] = {
    "advection": {"windows": 10, "steps": 250, "batch": 800, "width": 20, "depth": 2},
    "kuramoto-sivashinsky": {
        **{"windows": 50, "waves": 128, "steps": 40, "batch": 3500},
        **{"width": 16, "depth": 1},
    },
    "kdv-cosine": {"windows": 8, "steps": 150, "batch": 2000, "width": 16, "depth": 3},
    "gray-scott": {
        **{"windows": 10, "first": 200, "steps": 50, "batch": 2500},
        **{"width": 20, "depth": 3},
    },
}
"""In windows: how many, and what each has, and how many steps the first if not as many."""

_CHAOTIC = do.pde.KuramotoSivashinsky(duration=1.0)
_PERIODIC: Mapping[str, do.pde.Advection | do.pde.AbstractComputed] = {
    "kuramoto-sivashinsky": _CHAOTIC,
    "advection": do.pde.Advection(speed=50.0, duration=2.0),  # as jaxpi2 has it
    "kdv-cosine": do.pde.KdVCosine(),
    "gray-scott": do.pde.GrayScott(duration=0.5),
}


class RecordWindows(AbstractSuite):
    name = "records/windows"
    title = "the same, window of time after window"
    limit = 7200.0
    timed = False

    def cases(self, scope: Scope) -> Iterator[Case]:
        every = list(_MARCHED)
        for problem in scope.pick(every[:1], every, every):
            sizes = {"windows": 2, **MINI, "depth": 1} if scope.level == "mini" else {}
            for seed in scope.pick([0], [0], SEEDS):
                yield self.case(OURS, problem=problem, **{**_MARCHED[problem], **sizes}, seed=seed)

    def measure(self, case: Case, runs: Path) -> Values:
        ours = ("windows", "waves", "first")
        sizes: dict[str, Any] = {k: size for k, size in case.sizes.items() if k not in ours}
        settings, key = do.train.Settings(**sizes), jax.random.key(case.whole("seed"))
        windows = case.whole("windows")
        with PRECISIONS["double"]():
            problem = _PERIODIC[sizes["problem"]]
            if "waves" in case.sizes:
                u, fits = marched_waves(_CHAOTIC, settings, windows, case.whole("waves"), key)
            else:
                first = case.whole("first") if "first" in case.sizes else 0
                u, fits = marched(problem, settings, windows, key, first)
            points = do.train.FixedPoints(problem, jax.random.key(0))
            error = points.errors(u).rel_l2
            own = {} if problem.outputs == "scalar" else _of_each(problem, u)
        return _values(fits, error, points.null_rel_l2) | own

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield _table(ours)


_CONTINUED: Mapping[str, Size] = {
    **{"reynolds": 5000, "earlier": 60, "steps": 600, "batch": 5000},
    **{"width": 32, "depth": 2},
}
"""How many steps there are at each smaller number, and at the last one."""

_AT_ONCE: Mapping[str, Size] = {**_CONTINUED, "earlier": 0, "steps": 840}
"""As many steps without smaller numbers."""


class RecordContinued(AbstractSuite):
    name = "records/continued"
    title = "a flow that training does not find by itself, through slower ones"
    limit = 7200.0
    timed = False

    def cases(self, scope: Scope) -> Iterator[Case]:
        mini = {"reynolds": 1000, "earlier": 1, **MINI, "depth": 1}
        sizes = mini if scope.level == "mini" else _CONTINUED
        for seed in scope.pick([0], [0], SEEDS):
            yield self.case(OURS, problem="cavity", **sizes, seed=seed)
        if scope.level == "full":
            yield self.case(OURS, problem="cavity", **_AT_ONCE, seed=0)

    def measure(self, case: Case, runs: Path) -> Values:
        problem, ours = do.pde.Cavity(case.whole("reynolds")), ("problem", "reynolds", "earlier")
        sizes: dict[str, Any] = {k: size for k, size in case.sizes.items() if k not in ours}
        settings, key = do.train.Settings(problem, **sizes), jax.random.key(case.whole("seed"))
        with PRECISIONS["double"]():
            fits = continued(problem, settings, case.whole("earlier"), key)
            points = do.train.FixedPoints(problem, jax.random.key(0))
            return _values(fits, points.errors(fits[-1].model).rel_l2, points.null_rel_l2)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield _table(ours)


def _values(fits: Sequence[do.train.Fit], error: float, null: float) -> Values:
    """The errors at the end of fits, and their seconds together."""
    return {
        "rel_l2": error,
        "null_rel_l2": null,
        "skill": null / error,
        "compile_seconds": sum(fit.compile_seconds for fit in fits),
        "seconds": sum(fit.seconds for fit in fits),
    }


def _of_each(problem: do.pde.AbstractProblem, u: Callable) -> Values:
    """Of a system the errors of its values, relative to each."""
    assert isinstance(problem, do.pde.AbstractReferenceProblem)
    known = problem.reference()
    found = eqx.filter_jit(lambda u, points: jax.lax.map(u, points, batch_size=1000))
    gaps = found(u, known.points) - known.values
    errors = jnp.linalg.norm(gaps, axis=0) / jnp.linalg.norm(known.values, axis=0)
    return {f"rel_l2_{number}": float(error) for number, error in enumerate(errors)}


_LAST = ("seeds", "options")


def _table(ours: Records) -> Table:
    """Their columns, with what is published before the seeds."""
    columns = error_columns()
    names = [name for name in columns if name not in _LAST]
    published = {**{name: columns[name] for name in names}, "published": _published}
    return errors_table(summaries(ours), published | {name: columns[name] for name in _LAST})


def _published(record: Record) -> str:
    return "; ".join(map(str, PUBLISHED.get(str(record.case.sizes["problem"]), ())))
