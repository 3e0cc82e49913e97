"""Suites: what cases there are, how one is measured, and which tables they make."""

import abc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import jax

from .case import Case, Scope
from .memory import available_mb, peak_mb
from .program import Runnable
from .records import Records
from .table import Curves, Table
from .timing import interleaved, spread

Values = dict[str, float]


class AbstractSuite(abc.ABC):
    """Cases that make tables together.

    - `name`: on the command line and in result files; "a/b" belongs to the suite "a".
    - `title`: what is measured, in a line.
    - `limit`: seconds for one case, after which "timeout" is its result.
    - `packages`: those whose versions are said below its tables.
    - `papers`: the suites of the paper's numbers that are beside; its own if not given.
    - `timed`: whether the number of cores says anything about its numbers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    limit: ClassVar[float] = 300.0
    packages: ClassVar[tuple[str, ...]] = ("jax",)
    papers: ClassVar[tuple[str, ...]] = ()
    timed: ClassVar[bool] = True

    @abc.abstractmethod
    def cases(self, scope: Scope) -> Iterator[Case]:
        """All cases, in the order in which they are measured."""

    @abc.abstractmethod
    def measure(self, case: Case, runs: Path) -> Values:
        """The numbers of one case; called in a process of its own.

        `runs` is a directory for what long measurements leave, so that they can go on.
        """

    @abc.abstractmethod
    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        """Tables of what was measured on one machine, with the paper's numbers beside."""

    def pictures(self, ours: Records) -> Iterator[Curves]:
        """Curves of the same."""
        yield from ()

    def case(self, method: str, **sizes: int | float | str) -> Case:
        return Case(self.name, method, sizes)


class AbstractTimed(AbstractSuite):
    """Suites that time compiled programs.

    The memory of a program is that of a process that has run nothing else. After that it is timed,
    in turns with the program that it is compared with.

    - `budget`: seconds that the turns may take.
    """

    budget: ClassVar[float] = 15.0

    @abc.abstractmethod
    def program(self, case: Case) -> Runnable:
        """What is timed."""

    def beside(self, case: Case) -> Case | None:
        """What it takes turns with; None for nothing."""
        return None

    def check(self, case: Case) -> None:
        """Raises where the method does not compute what it is compared with."""

    def values(self, case: Case, program: Any) -> Values:
        """More numbers, of the program itself."""
        return {}

    def measure(self, case: Case, runs: Path) -> Values:
        program = self.program(case)
        _check_room(program)
        jax.block_until_ready(program())
        values = {
            "compile_seconds": program.compile_seconds,
            "peak_mb": peak_mb(),
            "temporary_mb": program.temporary_mb,
            **self.values(case, program),
        }
        self.check(case)
        beside = self.beside(case)
        others = [] if beside is None else [self.program(beside)]
        seconds = interleaved([program, *others], self.budget)
        values |= spread("seconds", seconds[:, 0]) | {"repeats": len(seconds)}
        if beside is not None:
            values |= spread("beside_seconds", seconds[:, 1])
            values |= spread("ratio", seconds[:, 0] / seconds[:, 1])
        return values


def _check_room(program: Runnable) -> None:
    needed, free = program.temporary_mb, available_mb()
    if needed > free:
        raise MemoryError(f"needs {needed:,.0f} MB of intermediate arrays, {free:,.0f} are free")
