"""Many random programs in a row, by a process of its own."""

import collections
import time

import hypothesis
import hypothesis.strategies as st
import jax

from .. import conftest  # also how tests compile, and what they keep of it
from ..taylor.coverage import primitives_in
from .checking import OPERATORS, PROBES, check_estimate, point
from .programs import programs
from .relations import CHANGES, check_relation

OF_A_BATCH = 100
KEPT = 2**32
"""Bytes of what a process has compiled, before it forgets that."""


def set_up() -> None:
    jax.config.update("jax_enable_x64", True)


def run_batch(
    seed: int, batch: int, shrink: bool, until: float
) -> tuple[collections.Counter, list[str]]:
    """How many programs there were, how many of them reached what, and what disagreed; none begins
    after a time of the clock.
    """
    counts: collections.Counter = collections.Counter()
    failures: list[str] = []
    if time.time() > until:
        return counts, failures
    conftest.let_go(KEPT)

    def check(program, wanted, probes, change, number):
        x = point(number)
        counts["programs"] += 1
        counts.update(set(primitives_in(jax.make_jaxpr(program)(x).jaxpr)))
        try:
            counts["say nothing"] += not check_relation(change, program, wanted, x)
            if counts["programs"] % 4 == 0:
                counts["estimates"] += 1
                check_estimate(program, probes, jax.random.key(number), x)
        except Exception as error:
            if shrink:
                raise
            what = f"{wanted} or {probes} at {number}, {change}, of {program}"
            failures.append(f"batch {batch}: {what}: {type(error).__name__} {str(error)[:300]}")

    hypothesis.settings.register_profile(
        "many",
        max_examples=OF_A_BATCH,
        deadline=None,
        database=None,
        phases=list(hypothesis.Phase) if shrink else [hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("many")
    run = hypothesis.given(programs(), OPERATORS, PROBES, CHANGES, st.integers(0, 10**6))(check)
    hypothesis.seed(seed * 100_000 + batch)(run)()
    return counts, failures
