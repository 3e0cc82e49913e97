"""A canary: the annotations of the library are really checked while the tests run."""

import concurrent.futures
import threading
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jaxtyping
import pytest

import diffop as do
from tests import checking


def test_a_wrong_shape_raises():
    problem = do.pde.ManyBody("allen-cahn", 2, 4, key=jax.random.key(0))
    with pytest.raises(jaxtyping.TypeCheckError):
        problem.solution(jnp.zeros((2, 4)))


def test_a_wrong_type_raises():
    with pytest.raises(jaxtyping.TypeCheckError):
        do.pde.unit_ball_by_radius(jax.random.key(0), "many", 3)  # pyright: ignore[reportArgumentType]


def test_each_thread_calls_its_own_function():
    """Functions of the same lines share their check, in which two threads are at once here."""
    within = threading.Barrier(1)

    def jaxtyped(function: Callable, typechecker: None) -> Callable:
        def call(x: int) -> int:
            within.wait()
            return function(x)

        return call

    on = checking.when_on(jaxtyped)(typechecker=None)

    def times(number: int) -> int:
        return on(lambda x: number * x)(1)

    assert times(3) == 3  # makes the check
    within = threading.Barrier(2, timeout=60)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert list(pool.map(times, [1, 2])) == [1, 2]


def test_some_of_many_calls_are_checked():
    """The first ones of a test, and one in so many then; the next test begins anew."""
    checked = []

    def jaxtyped(function: Callable, typechecker: None) -> Callable:
        def call(number: int) -> int:
            checked.append(number)
            return function(number)

        return call

    on = checking.when_on(jaxtyped)(typechecker=None)(lambda number: number)
    first, every = checking.FIRST, checking.EVERY
    assert [on(number) for number in range(1, 3 * every)] == list(range(1, 3 * every))
    assert checked == [*range(1, first + 1), every, 2 * every]
    checking.begin()
    checked.clear()
    on(0)
    assert checked == [0]
