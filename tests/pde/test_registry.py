"""Problems by name."""

import equinox as eqx
import jax
import pytest

import diffop as do


def test_every_name_makes_its_problem(getkey):
    for name in do.pde.names():
        problem = do.pde.make(name, 3, key=getkey())
        assert isinstance(problem, do.pde.AbstractProblem)
        assert (problem.name, problem.dim) == (name, 3)


def test_the_key_is_passed_on():
    made = do.pde.make("allen-cahn-two-body", 6, key=jax.random.key(4))
    assert eqx.tree_equal(made, do.pde.AllenCahnTwoBody(6, key=jax.random.key(4)))


def test_unknown_names_get_the_nearest_ones(getkey):
    with pytest.raises(ValueError, match="no problem called 'alencahn-two'.*allen-cahn-two-body"):
        do.pde.make("alencahn-two", 3, key=getkey())


def test_names_like_none_get_all_of_them(getkey):
    with pytest.raises(ValueError, match="nearest names are: .*allen-cahn-two-body"):
        do.pde.make("", 3, key=getkey())
