"""Indices beside the numbers that they are."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.coefficients.index import Range, Table, Traced, known, places_of, sum_of_indices, taken
from diffop.taylor import Source

from .blocks import numbers

SIZE = 6
KINDS = ("range", "table", "traced")


def index_of(kind, rng, low=-3, high=9):
    """An index of `SIZE` places, with numbers from `low` to `high`."""
    if kind == "range":
        step = int(rng.integers(-1, 2))
        return Range(
            low + (SIZE - 1 if step < 0 else int(rng.integers(high - low - SIZE + 2))), step
        )
    array = rng.integers(low, high + 1, SIZE).astype(np.int32)
    return Table(array) if kind == "table" else Traced(jnp.asarray(array), Source(), low, high)


def within(index, size, expected):
    """An index that has some numbers, which its bounds say."""
    np.testing.assert_array_equal(numbers(index, size), expected)
    low, high = index.bounds(size)
    assert low <= min(expected) and max(expected) <= high
    if not isinstance(index, Traced):
        assert (low, high) == (min(expected), max(expected))


@pytest.mark.parametrize(("first", "second"), [*itertools.product(KINDS, KINDS)])
def test_sums_and_places(first, second):
    rng = np.random.default_rng([KINDS.index(first), KINDS.index(second)])
    for _ in range(3):
        left, right = index_of(first, rng), index_of(second, rng)
        a, b = numbers(left, SIZE), numbers(right, SIZE)
        within(sum_of_indices(left, right, SIZE), SIZE, a + b)
        assert sum_of_indices(left, right, SIZE) == sum_of_indices(left, right, SIZE)
        within(left.scaled(-2, 5), SIZE, 5 - 2 * a)
        places = Range(4, -2) if second == "range" else index_of(second, rng, 0, SIZE - 1)
        count = 3 if second == "range" else SIZE
        at = numbers(places, count)
        within(taken(left, places, count), count, a[at])
        assert taken(left, places, count) == taken(left, places, count)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_added_and_taken_is_part_of_the_name(kind):
    """Indices that are known when run are equal only where their numbers are, whatever they are."""
    rng = np.random.default_rng(0)
    index = index_of("traced", rng)
    different = [index_of(kind, rng, 0, SIZE - 1) for _ in range(2)]
    if kind == "range":
        different = [Range(0, 1), Range(SIZE - 1, -1)]
    for make in (
        lambda other: sum_of_indices(index, other, SIZE),
        lambda other: taken(index, other, SIZE),
    ):
        first, second = map(make, different)
        assert first != second and hash(first) != hash(second)
    assert index.scaled(2, 0) != index and index.scaled(2, 0) == index.scaled(2, 0)
    assert index.scaled(1, 0) == index
    assert index != index_of("traced", np.random.default_rng(0))  # other arrays are no equal ones
    wide = Range(0, 1), Range(0, 1)
    assert taken(index, wide[0], 3) != taken(index, wide[1], 4)


def test_how_often_a_number_is_contained():
    index = index_of("traced", np.random.default_rng(1), -7, 20)
    whole, rest = index.divided(4)
    within(whole, SIZE, numbers(index, SIZE) // 4)
    within(rest, SIZE, numbers(index, SIZE) % 4)
    assert index.divided(4) == (whole, rest) and index.divided(5)[1] != rest


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ([], Range(0, 0)),
        ([7], Range(7, 0)),
        ([3, 3, 3], Range(3, 0)),
        ([5, 3, 1], Range(5, -2)),
        ([0, 1, 3], Table(np.array([0, 1, 3]))),
        ([2, 1], Range(2, -1)),
    ],
)
def test_known_numbers(array, expected):
    found = known(np.array(array, int))
    assert found == expected
    np.testing.assert_array_equal(numbers(found, len(array)), array)


def test_tables_are_equal_by_what_they_say():
    one, same, other = (Table(np.array(rows)) for rows in ([0, 2, 1], [0, 2, 1], [0, 1, 2]))
    assert one == same and hash(one) == hash(same) and one != other
    assert one != Range(0, 1) and other != Range(0, 1)


@pytest.mark.parametrize("kind", ["range", "table", "apart"])
@pytest.mark.parametrize("seed", range(3))
def test_places_of_numbers(kind, seed):
    rng = np.random.default_rng(seed)
    apart = Table(rng.permutation(12)[:SIZE] - 3)
    index = apart if kind == "apart" else index_of(kind, rng)
    own, wanted = numbers(index, SIZE).tolist(), np.arange(-5, 12)
    every = [[k for k in range(SIZE) if own[k] == number] for number in wanted]
    found = places_of(wanted, index, SIZE)
    if len(set(own)) < SIZE:
        assert found is None
    else:
        assert found is not None
        np.testing.assert_array_equal(found, [each[0] if each else -1 for each in every])


def test_numbers_through_a_program():
    """An index that is known when run has the same name inside of a program as outside."""
    index = index_of("traced", np.random.default_rng(2))
    back = jax.jit(lambda index: index.scaled(3, 1))(index)
    assert back == index.scaled(3, 1)
    np.testing.assert_array_equal(back.array, 3 * index.array + 1)
