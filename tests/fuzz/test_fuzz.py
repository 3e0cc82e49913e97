"""Random programs, operators and probes: a fixed number of them here, more by
`python -m tests.fuzz --programs N`.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from .batches import random_case
from .checking import check_estimate, check_exact
from .evaluation import evaluate
from .operations import SIZE
from .oracle import derivatives
from .programs import shortened
from .relations import check_relation

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("number", range(5))
def test_operators_of_programs(number):
    case = random_case(-1, number)
    assert check_exact(case.program, case.wanted, case.x)


@pytest.mark.parametrize("number", range(5, 7))
def test_estimates_of_programs(number):
    case = random_case(-1, number)
    assert check_estimate(case.program, case.probes, jax.random.key(number), case.x)


@pytest.mark.parametrize("number", range(7, 11))
def test_operators_of_changed_programs(number):
    case = random_case(-1, number)
    assert check_relation(case.change, case.program, case.wanted, case.x)


@pytest.mark.parametrize("number", range(11, 15))
def test_derivatives_of_operations_are_those_of_the_program(number):
    case = random_case(-1, number)
    coordinates = number % SIZE, 1
    slope = case.program.reference
    for i in coordinates:
        slope = _slope(slope, jnp.eye(SIZE)[i])
    expected = evaluate(slope, case.x)
    (got,) = derivatives(case.program, case.x, [coordinates])
    np.testing.assert_allclose(got, expected, 1e-12, 1e-12)


def _slope(u, direction):
    return lambda x: jax.jvp(u, (x,), (direction,))[1]


def test_programs_are_shortened_to_what_disagrees():
    program = random_case(-1, 0).program
    wrong = program.lines[3].operation
    short = shortened(program, lambda p: any(line.operation == wrong for line in p.lines))
    assert short.lines[-1].operation == wrong and len(short.lines) < len(program.lines)
