"""Errors of every problem in minutes, as recommended, and of what else might be chosen."""

from collections.abc import Iterator
from functools import partial

import diffop as do

from ..harness.case import Case, Scope, Size
from ..harness.records import Record, Records
from ..harness.table import Table, listing
from ..subjects.steps import OURS
from .errors import MINI, AbstractTrained, error_columns, options, ranged, seconds, summaries
from .unit_ball import SEEDS


class Problems(AbstractTrained):
    name = "problems"
    title = "an error for every problem, in minutes"

    def cases(self, scope: Scope) -> Iterator[Case]:
        every = list(do.pde.names())
        for problem in scope.pick(["g-kdv-1d"], ["g-kdv-1d", "kp-2d"], every):
            sizes = MINI if scope.level == "mini" else {}
            yield self.case(OURS, problem=problem, **sizes, seed=0)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        """All of them, and each by itself for the gallery, with the command that makes it."""
        yield from super().tables(ours, paper)
        columns = error_columns()
        shown = {name: columns[name] for name in columns if name not in _IN_COMMAND}
        for record in summaries(ours):
            name, words = str(record.case.sizes["problem"]), options(record).strip("`")
            command = f"python -m diffop solve {name} {words} --seed 0 --out out/{name}"
            table = listing(name, Records([record]), shown)
            yield table._replace(command=" ".join(command.split()))
        yield _fields(ours)


_FIELDS = {
    "flow, steady Navier-Stokes": "kovasznay",
    "a shock, Burgers' equation": "burgers",
    "solitons that cross, order four": "kp-2d",
    "quantum, a ground state": "schroedinger",
    "finance, a hundred assets": "black-scholes-barenblatt",
}


def _fields(ours: Records) -> Table:
    """One problem of each of some fields."""
    columns = error_columns()
    shown = {name: columns[name] for name in ("problem", *columns) if name not in _IN_COMMAND[1:]}
    names = ["field", *shown]
    lines = [
        [field, *(cell(record) for cell in shown.values())]
        for field, problem in _FIELDS.items()
        for record in summaries(ours.where(problem=problem))
    ]
    return Table("fields", names, lines)


_IN_COMMAND = ("problem", "options", "seeds")


_OTHERWISE: dict[str, dict[str, Size]] = {
    # without it, for twice the steps
    "schroedinger": {"gpinn": 0.0, "steps": 12_000},
    "hjb-lqg": {"gpinn": 0.0, "steps": 48_000},
    "fokker-planck": {"gpinn": 0.0, "steps": 24_000, "batch": 100},
    "allen-cahn-three-body": {"gpinn": 0.0, "steps": 12_000},
    # with it, for half of the steps
    "semilinear-heat": {"gpinn": 1.0, "steps": 2000},
}


class Gradient(AbstractTrained):
    name = "gradient"
    title = "errors of the other choice: with the residual's gradient, or without it"

    def cases(self, scope: Scope) -> Iterator[Case]:
        every = list(_OTHERWISE)
        for problem in scope.pick(every[:1], every[:1], every):
            sizes = MINI if scope.level == "mini" else {}
            yield self.case(OURS, problem=problem, **{**_OTHERWISE[problem], **sizes}, seed=0)


class Recipe(AbstractTrained):
    name = "recipe"
    title = "errors on two-body Allen-Cahn beyond the null model's, from the paper's settings on"
    paper = True

    def cases(self, scope: Scope) -> Iterator[Case]:
        full = [(1000, 5.0), (10_000, 15.0)]
        for dim, scale in scope.pick([(10, 1.0)], full[:1], full):
            for seed in scope.pick([0], [0], SEEDS):
                sizes = {"dim": dim, "input_scale": scale, "learning_rate": 5e-3, "n": 8}
                more = MINI if scope.level == "mini" else {}
                yield self.case(OURS, problem="allen-cahn-two-body", **sizes, **more, seed=seed)


_TWO_BODY = ["allen-cahn-two-body", "poisson-two-body", "sine-gordon-two-body"]
_THREE_BODY = ["allen-cahn-three-body", "poisson-three-body", "sine-gordon-three-body"]


class WholeGradient(AbstractTrained):
    name = "whole-gradient"
    title = "errors on the unit ball of losses that see the residual's whole gradient"
    papers = ("two-body", "gpinn")

    def cases(self, scope: Scope) -> Iterator[Case]:
        dims = scope.pick([10], [1000], [1000, 10_000, 100_000, 1_000_000])
        for problem in scope.pick(_TWO_BODY[:1], _TWO_BODY[:1], _TWO_BODY):
            for dim in dims:
                more = MINI if scope.level == "mini" else {}
                several = SEEDS if dim < 1_000_000 else SEEDS[:3]  # minutes each
                for seed in scope.pick([0], [0], several):
                    yield self.case(OURS, problem=problem, dim=dim, **more, seed=seed)
        for problem in scope.pick([], [], _THREE_BODY):
            for seed in SEEDS:
                yield self.case(OURS, problem=problem, dim=100, seed=seed)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        """All, and by dimension beside the paper's errors: without and with a gradient."""
        yield from super().tables(ours, paper)
        columns = {
            "dimensions": lambda record: f"{record.case.whole('dim'):,}",
            "relative L2 error": lambda record: ranged(record, "rel_l2", ".1e"),
            "null model": lambda record: record.text("null_rel_l2", ".1e"),
            "seconds": seconds,
        }
        for suite, words in (("two-body", "the paper's error"), ("gpinn", "its gPINN's")):
            columns[words] = partial(_papers, paper.of(suite).where("jet"))
        yield listing("by-dimension", summaries(ours.where(problem=_TWO_BODY[0])), columns)


def _papers(paper: Records, record: Record) -> str:
    """The paper's error for the problem and dimension of a record; nothing where it has none."""
    sizes = {name: record.case.sizes[name] for name in ("problem", "dim")}
    found = paper.where(**sizes).good
    return f"{found[0].values['rel_l2']:.1e}" if found else ""


class Solitons(AbstractTrained):
    name = "solitons"
    title = "errors on equations with mixed derivatives of order four, as recommended"

    def cases(self, scope: Scope) -> Iterator[Case]:
        every = ["kdv-2d", "kp-2d", "g-kdv-1d"]
        for problem in scope.pick(every[-1:], every, every):
            for seed in scope.pick([0], [0], [0, 1, 2]):
                more = MINI if scope.level == "mini" else {}
                yield self.case(OURS, problem=problem, **more, seed=seed)
