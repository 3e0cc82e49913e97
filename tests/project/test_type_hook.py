"""A canary: the annotations of the library are really checked while the tests run."""

import jax
import jax.numpy as jnp
import jaxtyping
import pytest

import diffop as do


def test_a_wrong_shape_raises():
    problem = do.pde.ManyBody("allen-cahn", 2, 4, key=jax.random.key(0))
    with pytest.raises(jaxtyping.TypeCheckError):
        problem.solution(jnp.zeros((2, 4)))


def test_a_wrong_type_raises():
    with pytest.raises(jaxtyping.TypeCheckError):
        do.pde.unit_ball(jax.random.key(0), "many", 3)  # pyright: ignore[reportArgumentType]
