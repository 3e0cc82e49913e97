"""The exact Laplacian in few and in many dimensions, by diffop and by others: README's table."""

from collections.abc import Iterator

import jax

import diffop as do

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.table import Table, grid, multiple
from ..subjects.agreement import check_agreement
from ..subjects.methods import Method, laplacian_by
from ..subjects.networks import ansatz, ball_points
from ..subjects.operators import DRAWS, Subject
from ..subjects.steps import OURS
from .peers import AbstractOperators

_ESTIMATE = f"diffop, {DRAWS} random jets"


def _estimate(dim: int) -> Method:
    return do.Laplacian().estimate(jax.random.key(2), min(dim, DRAWS))


def _same_draws(dim: int) -> Method:
    return do.baselines.estimate("jet", do.Laplacian(), jax.random.key(2), min(dim, DRAWS))


_SUBJECT = Subject(
    {
        OURS: lambda dim: do.Laplacian().exact,
        _ESTIMATE: _estimate,
        "folx": lambda dim: laplacian_by("folx"),
        "jax.experimental.jet": lambda dim: laplacian_by("jet"),
        "forward over reverse": lambda dim: laplacian_by("forward-over-reverse"),
    },
    ansatz,
    ball_points,
)


class Headline(AbstractOperators):
    name = "headline"
    title = "gradients of a loss of Laplacians in few and in many dimensions"
    packages = ("jax", "folx")

    def subject(self, case: Case) -> Subject:
        return _SUBJECT

    def cases(self, scope: Scope) -> Iterator[Case]:
        for dim in scope.pick([3], [10, 1000], [10, 1000, 1_000_000]):
            for method in _SUBJECT.ways:
                yield self.case(method, dim=dim, part="gradient")

    def check(self, case: Case) -> None:
        if case.method != _ESTIMATE:
            return super().check(case)
        dim = case.whole("dim")
        ways = {"jet": _same_draws(dim), _ESTIMATE: _estimate(dim)}
        check_agreement(ways, ansatz(dim), ball_points(2, dim))

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield grid("laplacian", ours, "dim", multiple, "d =", _named)


def _named(record: Record) -> str:
    names = {OURS: "diffop, exact", "forward over reverse": "`jax.jvp` of `jax.grad`"}
    return names.get(record.case.method, record.case.method)
