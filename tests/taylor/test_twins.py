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
