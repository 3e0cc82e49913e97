"""Random programs along random blocks: a fixed number of them here, more by
`python -m tests.coefficients --programs N`.
"""

import numpy as np
import pytest

from diffop import taylor

from .fuzz import Case, disagree, random_case
from .programs import Program, random_program

pytestmark = pytest.mark.usefixtures("x64")
OF_A_BATCH = 8


@pytest.mark.parametrize("batch", range(5))
def test_derivatives_of_programs(batch):
    seeds = range(batch * OF_A_BATCH, (batch + 1) * OF_A_BATCH)
    assert disagree([random_case(seed) for seed in seeds]) == []


def test_every_line_can_be_drawn():
    """None of them is one that cannot be traced, and so is left out."""
    drawn = [random_program(np.random.default_rng(seed)).lines for seed in range(80)]
    text = "\n".join(line for lines in drawn for line in lines)
    every = (
        "rev transpose reshape expand_dims squeeze broadcast_in_dim slice pad concatenate split "
    )
    every += "dynamic_slice dynamic_update_slice gather scatter scatter_add scatter_sub select_n "
    every += "sum cumsum sort dot_general conv_general_dilated reduce_window sin"
    assert [name for name in every.split() if f".{name}(" not in text] == []
    assert "x * v" in text and "x[..., None] * v" in text and ") + i)" in text


ONCE_WRONG = {
    "nothing of it is left": (
        (3,),
        "lax.concatenate([x, x, x], 0)",
        "lax.slice(x[:, None] * np.ones((9, 2)), [3, 0], [9, 2], [1, 1])",
    ),
    "entries of a turned axis": (
        (4,),
        "jnp.zeros((4, 4)).at[np.array([0, 1, 3, 2]), np.array([3, 2, 1, 0])].add(x)",
        "jnp.sin(x)",
    ),
}


@pytest.mark.parametrize("name", ONCE_WRONG)
def test_programs_that_once_were_wrong(name):
    shape, *lines = ONCE_WRONG[name]
    basis = taylor.basis(shape)
    x = np.random.default_rng(0).uniform(0.3, 1.5, shape)
    weights = np.random.default_rng(1).normal(size=basis.shape[0])
    assert disagree([Case(0, Program(shape, tuple(lines)), x, basis, weights)]) == []


def test_a_wrong_derivative_is_seen(monkeypatch):
    """As where a reversal moves nothing."""
    case = Case(0, Program((3,), ("lax.rev(x, (0,))",)), np.ones(3), taylor.basis((3,)), np.ones(3))
    assert disagree([case]) == []
    monkeypatch.setattr(Case, "along", lambda self, x, v, i: ((v, v), (0 * v, v)))
    (text,) = disagree([case])
    assert "lax.rev(x, (0,))" in text and "slope 0 is off by 1" in text
