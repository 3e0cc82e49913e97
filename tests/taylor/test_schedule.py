"""What is pushed in which order, and where directions are replaced: a value before it is done."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.compat import folx
from diffop.taylor.replacing import walk

D, H = 41, 5
RNG = np.random.default_rng(0)
FIRST = RNG.normal(size=(H, D)).astype(np.float32)
SECOND = RNG.normal(size=(H, H)).astype(np.float32)


def ansatz(x):
    return (1 - jnp.sum(x**2)) * jnp.sum(jnp.tanh(SECOND @ jnp.tanh(FIRST @ x)))


@pytest.fixture
def schedules(monkeypatch):
    made, scheduled = [], walk.scheduled

    def noted(*args):
        made.append(scheduled(*args))
        return made[-1]

    monkeypatch.setattr(walk, "scheduled", noted)
    return made


REST = """\
   0 sub → float32[]
   1 tanh → float32[5]
   2 dot_general → float32[5]
   3 tanh → float32[5]
   4 reduce_sum → float32[]
   5 mul → float32[]"""


@pytest.mark.parametrize("operator", [do.Laplacian(), do.SecondOrder(jnp.eye(D) + 1)])
def test_directions_are_replaced_behind_the_first_layer(operator, schedules):
    """|x|² and the first layer are pushed before: what is live then is a number and the layer."""
    operator.exact(ansatz)(jnp.ones(D) / D)
    (schedule,) = schedules
    assert str(schedule) == f"family 0: basis vectors of 1 + {H} entries\n{REST}"


def test_nothing_is_replaced_in_few_dimensions(schedules):
    """With as many directions as the layer has entries."""
    do.Laplacian().exact(lambda x: ansatz(jnp.pad(x, (0, D - 2))))(jnp.ones(2))
    (schedule,) = schedules
    assert not schedule.cuts
    assert "family" not in str(schedule)


def _late(x):
    """Its values are few behind most of the work alone."""
    return jax.nn.logsumexp(FIRST @ jnp.sin(jnp.sin(jnp.sin(x))))


@pytest.mark.parametrize(("function", "cuts"), [(ansatz, 1), (_late, 0)])
def test_nothing_is_replaced_where_that_saves_less_than_it_costs(function, cuts, schedules):
    """A Jacobian is a pass backwards where directions are replaced."""
    do.Laplacian().exact(function)(jnp.ones(D) / D)
    assert schedules.pop().cuts
    folx.forward_laplacian(function, disable_jit=True)(jnp.ones(D) / D)
    assert len(schedules.pop().cuts) == cuts


def test_families_that_are_not_replaced_need_no_schedule(schedules):
    do.DiagonalK(3).exact(ansatz)(jnp.ones(D))
    assert not schedules
