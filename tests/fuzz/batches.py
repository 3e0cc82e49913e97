"""Many random programs in a row, by a process of its own."""

import collections
import random
import time
from typing import Any, NamedTuple

import jax

from .. import conftest  # also how tests compile, and what they keep of it
from ..taylor.coverage import primitives_in
from .checking import (
    Estimated,
    Wanted,
    check_estimate,
    check_exact,
    random_estimate,
    random_operators,
    random_point,
)
from .programs import Program, random_program, random_short_program, shortened
from .relations import Change, check_relation, random_change

OF_A_BATCH = 100
KEPT = 2**32
"""Bytes of what a process has compiled, before it forgets that."""


class Case(NamedTuple):
    """A program, and what is asked of it: of the last operator as the program is changed."""

    number: int
    program: Program
    wanted: tuple[Wanted, ...]
    estimated: Estimated
    change: Change | None
    x: Any

    def __str__(self):
        wanted = ", ".join(map(str, self.wanted))
        return f"{wanted} or {self.estimated}, {self.change}, of {self.program}"


def random_case(seed: int, number: int, contraction: str | None = None) -> Case:
    """Of any program; or of products of one kind alone, in few lines and as they are, which is
    quickly traced, so that there can be many.
    """
    choose = random.Random(f"{seed}, {number}")
    if contraction is None:
        program, change = random_program(choose), random_change(choose)
    else:
        program, change = random_short_program(choose, contraction), None
    wanted = random_operators(choose)
    return Case(number, program, wanted, random_estimate(choose), change, random_point(choose))


def check(case: Case) -> collections.Counter:
    """What a program said, after an assertion that it is right; every fourth is estimated, too."""
    as_it_is, last = case.wanted if case.change is None else case.wanted[:-1], case.wanted[-1]
    said = [check_exact(case.program, wanted, case.x) for wanted in as_it_is]
    if case.change is not None:
        said.append(check_relation(case.change, case.program, last, case.x))
    estimated = case.number % 4 == 0
    if estimated:
        check_estimate(case.program, case.estimated, jax.random.key(case.number), case.x)
    return collections.Counter({"say nothing": not any(said), "estimates": estimated})


def disagrees(case: Case) -> str:
    """In which way, if it does."""
    try:
        check(case)
    except Exception as error:
        return f"{type(error).__name__} {str(error)[:300]}"
    return ""


def shrunk(case: Case) -> Case:
    """The same with fewer lines."""
    shorter = shortened(
        case.program, lambda program: bool(disagrees(case._replace(program=program)))
    )
    return case._replace(program=shorter)


def set_up() -> None:
    jax.config.update("jax_enable_x64", True)


def run_batch(
    seed: int, numbers: range, contraction: str | None, until: float
) -> tuple[collections.Counter, list[str]]:
    """How many programs there were, how many of them reached what, and what disagreed; none begins
    after a time of the clock. `contraction` is as of `random_case`.
    """
    counts: collections.Counter = collections.Counter()
    failures: list[str] = []
    conftest.let_go(KEPT)
    for number in numbers:
        if time.time() > until:
            break
        case = random_case(seed, number, contraction)
        counts["programs"] += 1
        counts.update(set(primitives_in(jax.make_jaxpr(case.program)(case.x).jaxpr)))
        try:
            counts += check(case)
        except Exception as error:
            failures.append(f"{number}: {case}: {type(error).__name__} {str(error)[:300]}")
    return counts, failures
