"""Laplacians of networks that people write out by hand, and of wave functions, beside diffop's."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax

from ..harness.case import Case, Scope, worded
from ..harness.program import Program
from ..harness.records import Record, Records
from ..harness.suite import Values
from ..harness.table import Table, duration, listing, ratio
from ..subjects import attention, by_hand, products
from ..subjects.agreement import PARTS
from ..subjects.operators import Subject
from ..subjects.steps import OURS
from .peers import EACH, AbstractOperators


class Group(NamedTuple):
    """Subjects that make a table together; `size` is what their dimension is called in it."""

    subjects: dict[str, Subject]
    dims: list[int]
    size: str = "d"
    parts: tuple[str, ...] = tuple(PARTS)


GROUPS = {
    "networks": Group(by_hand.SUBJECTS, [100, 512, 2000]),
    "products": Group(products.SUBJECTS, [10], parts=("forward", EACH)),
    "wave-functions": Group(attention.SUBJECTS, [10, 30], "electrons"),
}


class ByHand(AbstractOperators):
    name = "by-hand"
    title = "Laplacians of networks and wave functions, beside those by hand and by folx"
    budget = 5.0
    packages = ("jax", "folx")

    def cases(self, scope: Scope) -> Iterator[Case]:
        for table, group in GROUPS.items():
            for operator in scope.last(group.subjects):
                subject = group.subjects[operator]
                for dim in scope.pick([3], group.dims[:1], group.dims):
                    for part in scope.last(group.parts):
                        for method in scope.pick([OURS], list(subject.ways), list(subject.ways)):
                            sizes = {"operator": operator, "dim": dim, "part": part}
                            yield self.case(method, table=table, **sizes)

    def subject(self, case: Case) -> Subject:
        return GROUPS[str(case.sizes["table"])].subjects[str(case.sizes["operator"])]

    def check(self, case: Case) -> None:
        """In double precision: determinants of 30 electrons lose too many digits in single."""
        with jax.enable_x64(True):
            super().check(case)

    def values(self, case: Case, program: Program) -> Values:
        return {"flops": program.flops}

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        for name in ours.sizes("table"):
            chosen = ours.where(table=name)
            others = [method for method in chosen.methods if method != OURS]
            times = {way: _of(chosen, way, ratio) for way in others}
            needs = {way: _of(chosen, way, _needs) for way in (OURS, *others)}
            of = {
                "": lambda record: str(record.case.sizes["operator"]),
                GROUPS[name].size: lambda record: worded(record.case.sizes["dim"]),
                "part": lambda record: str(record.case.sizes["part"]),
            }
            yield listing(name, chosen.where(OURS), of | {OURS: duration} | times)
            yield listing(f"{name}-memory", chosen.where(OURS), of | needs)


Cell = Callable[[Record], str]


def _of(records: Records, way: str, cell: Cell) -> Cell:
    """The cell of another way to what a record is of."""

    def other(record: Record) -> str:
        found = records.one(way, **record.case.sizes)
        return "" if found is None else cell(found)

    return other


def _needs(record: Record) -> str:
    """`10 MB, 2.58`: arrays in between, and 10⁹ floating-point operations."""
    if "flops" not in record.values:
        return record.text("flops")
    return f"{record.values['temporary_mb']:,.1f} MB, {record.values['flops'] / 1e9:,.3g}"
