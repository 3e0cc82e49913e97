"""Rules on structured operands beside the same rules on arrays: for each primitive, for operands of
every kind of coefficient, with random parameters.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from diffop import taylor

from . import twins

pytestmark = pytest.mark.usefixtures("x64")

TURN = len(twins.KINDS) ** 2
MORE = {"copies_multiplied": 18}
"""Where half of the coefficients by direction cannot fail: their entries share positions."""


@pytest.mark.parametrize("name", twins.EQUATIONS)
def test_structured_operands(name):
    """Each pair of kinds once."""
    seeds = range(TURN + MORE.get(name, 0))
    assert twins.differences([twins.case(name, seed) for seed in seeds]) == []


@pytest.mark.slow("the same with other parameters")
@pytest.mark.parametrize("name", twins.EQUATIONS)
def test_structured_operands_with_other_parameters(name):
    seeds = range(3 * TURN, 4 * TURN)
    assert twins.differences([twins.case(name, seed) for seed in seeds]) == []


def test_values_where_there_is_no_direction_do_not_count():
    """A user's `ByEntry` may hold anything where its numbers are −1."""
    numbers = taylor.Numbers(np.array([[0, -1, 1]]))
    basis = taylor.ByEntry(jnp.array([[1.0, 7.0, 2.0]]), numbers, 2)
    jets = taylor.Jets(((basis,), (None,)), weights=np.array([1.0, 10.0]))
    _, (orders,) = taylor.push(
        lambda x: jnp.sum(x**2 * jnp.arange(1.0, 4.0)), (jnp.ones(3),), [jets]
    )
    np.testing.assert_allclose(orders[1], 2 * 1 + 2 * 3 * 10 * 2**2, rtol=1e-12)
