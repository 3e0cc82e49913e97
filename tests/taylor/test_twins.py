"""Rules on structured operands beside the same rules on arrays: for each primitive, for operands of
every kind of coefficient, with random parameters.
"""

import pytest

from . import twins

pytestmark = pytest.mark.usefixtures("x64")

TURN = len(twins.KINDS) ** 2
MORE = {"copies_multiplied": 9}
"""Of axes of copies, there are several forms."""


@pytest.mark.parametrize("name", twins.EQUATIONS)
def test_structured_operands(name):
    """Each pair of kinds."""
    seeds = range(TURN + MORE.get(name, 0))
    assert twins.differences([twins.case(name, seed) for seed in seeds]) == []


@pytest.mark.slow("the same with other parameters")
@pytest.mark.usefixtures("compiled_quickly")
@pytest.mark.parametrize("name", twins.EQUATIONS)
def test_structured_operands_with_other_parameters(name):
    """A third of the pairs, each kind once as the first operand and once as the second; the next
    primitive has others.
    """
    kinds = len(twins.KINDS)
    shift = list(twins.EQUATIONS).index(name)
    seeds = [3 * TURN + first + kinds * ((first + shift) % kinds) for first in range(kinds)]
    assert twins.differences([twins.case(name, seed) for seed in seeds]) == []
