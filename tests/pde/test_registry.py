"""Problems by name."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import diffop as do

from ..problems import FIXED

IN_TIME = [
    name
    for name in do.pde.names()
    if name.startswith(("semi", "hjb", "black", "wave", "heat")) and name not in FIXED
]
"""In any dimension of space; time is one coordinate more."""


def test_every_name_makes_its_problem(getkey):
    for name in do.pde.names():
        problem = do.pde.make(name, FIXED.get(name, 7), key=getkey())
        assert isinstance(problem, do.pde.AbstractProblem)
        assert (problem.name, problem.dim) == (name, FIXED.get(name, 7) + (name in IN_TIME))


def test_the_dimension_is_the_recommended_one(getkey):
    for name in do.pde.names():
        problem = do.pde.make(name, key=getkey())
        assert problem.dim == do.pde.recommended(name).dim + (name in IN_TIME)
        for dim in (None, 5, 17, 12_345):
            assert problem.recommended.at(dim) == do.pde.recommended(name, dim)


@pytest.mark.parametrize("name", FIXED)
def test_some_have_one_dimension(name, getkey):
    message = f"{name} has {FIXED[name]} coordinates, time among them, got dim 5; leave"
    with pytest.raises(ValueError, match=message):
        do.pde.make(name, 5, key=getkey())


def test_the_key_is_passed_on():
    made = do.pde.make("allen-cahn-two-body", 6, key=jax.random.key(4))
    assert eqx.tree_equal(made, do.pde.ManyBody("allen-cahn", 2, 6, key=jax.random.key(4)))


@pytest.mark.parametrize("ask", [do.pde.make, lambda name, **_: do.pde.recommended(name)])
def test_unknown_names_get_the_nearest_ones(ask, getkey):
    with pytest.raises(ValueError, match="no problem called 'alencahn-two'.*allen-cahn-two-body"):
        ask("alencahn-two", key=getkey())


def test_names_like_none_get_all_of_them(getkey):
    with pytest.raises(ValueError, match="nearest names are: .*allen-cahn-two-body"):
        do.pde.make("", 3, key=getkey())


KEYS = {
    "many_body": lambda key: do.pde.ManyBody("allen-cahn", 2, 10, key=key),
    "on_cube": lambda key: do.pde.OnCube("poisson", 10, key=key),
    "fokker_planck": lambda key: do.pde.StationaryFokkerPlanck(10, key=key),
    "made": lambda key: do.pde.make("allen-cahn-two-body", 10, key=key),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize(
    ("key", "got"),
    [(0, "0 of type int"), (jnp.ones(3), r"an array of type float32 and shape \(3,\)")],
    ids=["number", "array"],
)
def test_what_is_no_key(name, key, got, as_users_see_it):
    message = rf"^the solution of [a-z-]+ needs a JAX random key such as .*; got {got}\.$"
    with pytest.raises(TypeError, match=message):
        KEYS[name](key)
