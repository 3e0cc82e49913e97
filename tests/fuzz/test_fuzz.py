"""Random programs, operators and probes: a fixed number of them here, more by
`python -m tests.fuzz --programs N`. Random products are few of these, so some have programs of
their own, and what once went wrong of them is said.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .batches import check, random_case
from .checking import Wanted, check_estimate, check_exact
from .evaluation import evaluate
from .operations import ENTRYWISE, SIZE, Operation
from .oracle import derivatives
from .products import CONTRACTIONS, Einsum, Mapped, Multiplied, Operand, Product
from .programs import Line, Program, shortened
from .relations import check_relation

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("number", range(5))
def test_operators_of_programs(number):
    case = random_case(-1, number)
    assert all([check_exact(case.program, wanted, case.x) for wanted in case.wanted])


@pytest.mark.parametrize("number", range(5, 7))
def test_estimates_of_programs(number):
    case = random_case(-1, number)
    assert check_estimate(case.program, case.estimated, jax.random.key(number), case.x)


@pytest.mark.parametrize("number", range(7, 11))
def test_operators_of_changed_programs(number):
    case = random_case(-1, number)
    assert check_relation(case.change, case.program, case.wanted[-1], case.x)


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


@pytest.mark.parametrize("contraction", sorted(CONTRACTIONS))
@pytest.mark.parametrize("number", range(3, 5))
def test_products_alone(contraction, number):
    check(random_case(-1, number, contraction))


ALL_ENTRIES = Operand(0, (SIZE,), (0,), 0, "")
LAST, SQUARE = Operand(0, (2,), (0,), 2, ""), Operand(0, (2, 2), (0, 1), 0, "")
NUMBERS = Operand(None, (3, 2), (0, 1), 0, "")
PRODUCTS = {
    "a batch": (Einsum("i,i->i"), ALL_ENTRIES, ALL_ENTRIES),
    "a batch of dots": (Mapped("dot", (((0, 0), 0),)), ALL_ENTRIES, ALL_ENTRIES),
    "a broadcast multiplied up": (Multiplied("prod", 0), Operand(0, (2, SIZE), (1,), 0, "")),
    "a batch last": (Einsum("jk,k->k"), SQUARE, LAST),
    "a batch first": (Einsum("j,ji->j"), LAST._replace(function="sin"), SQUARE),
    "a batch between": (Einsum("db,bac->b"), SQUARE, Operand(0, (2, 1, 2), (0, 1, 2), 0, "cos")),
    "numbers that are transposed": (Einsum("i,jk->jki"), ALL_ENTRIES, NUMBERS),
    "numbers in between": (Einsum("c,da->adc"), LAST, NUMBERS),
    "three of a vector": (Einsum("i,i,i->"), *3 * [ALL_ENTRIES]),
}
JUDGED = (
    Wanted(do.Hessian(), [(np.outer(*np.eye(SIZE)[[i, j]]), (i, j)) for i, j in np.ndindex(4, 4)]),
    Wanted(do.Partial(2, 2), [(1.0, (2, 2))]),
    Wanted(do.Mixed({0: 1, 2: 2}), [(1.0, (0, 2, 2))]),
    Wanted(do.Laplacian(), [(1.0, (i, i)) for i in range(SIZE)]),
)


@pytest.mark.parametrize("name", PRODUCTS)
def test_operators_of_products(name):
    contraction, *operands = PRODUCTS[name]
    product = Product(contraction, tuple(operands), weighted=True, gives="v")
    lines = Line(Operation(name, "v", "v", product), (0,)), Line(SINE, (0,))
    x = random_case(-1, 0).x
    assert all([check_exact(Program(lines), wanted, x) for wanted in JUDGED])


SINE = Operation("sin", "v", "v", ENTRYWISE["sin"])


def test_programs_are_shortened_to_what_disagrees():
    program = random_case(-1, 0).program
    wrong = program.lines[3].operation
    short = shortened(program, lambda p: any(line.operation == wrong for line in p.lines))
    assert short.lines[-1].operation == wrong and len(short.lines) < len(program.lines)


def test_programs_keep_a_line():
    program = random_case(-1, 0, "einsum").program
    assert len(shortened(program, lambda p: True).lines) == 1
