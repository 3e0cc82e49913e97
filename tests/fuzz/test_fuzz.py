"""Random programs, operators and probes: a fixed number of them here, more by
`python -m tests.fuzz --programs N`.
"""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from .checking import OPERATORS, PROBES, check_estimate, check_exact, point
from .evaluation import evaluate
from .oracle import derivatives
from .programs import programs
from .relations import CHANGES, check_relation

pytestmark = pytest.mark.usefixtures("x64")

POINTS = st.integers(0, 10**6).map(point)


@hypothesis.settings(max_examples=5, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(programs(), OPERATORS, POINTS)
def test_operators_of_programs(program, wanted, x):
    check_exact(program, wanted, x)


@hypothesis.settings(max_examples=2, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(programs(), PROBES, st.integers(0, 100), POINTS)
def test_estimates_of_programs(program, probes, seed, x):
    check_estimate(program, probes, jax.random.key(seed), x)


@hypothesis.settings(max_examples=4, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(CHANGES, programs(), OPERATORS, POINTS)
def test_operators_of_changed_programs(change, program, wanted, x):
    check_relation(change, program, wanted, x)


@hypothesis.settings(max_examples=4, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(programs(), st.tuples(st.integers(0, 3), st.integers(0, 3)), POINTS)
def test_derivatives_of_operations_are_those_of_the_program(program, coordinates, x):
    slope = program.reference
    for i in coordinates:
        slope = _slope(slope, jnp.eye(4)[i])
    np.testing.assert_allclose(
        derivatives(program, x, [coordinates])[0], evaluate(slope, x), 1e-12, 1e-12
    )


def _slope(u, direction):
    return lambda x: jax.jvp(u, (x,), (direction,))[1]
