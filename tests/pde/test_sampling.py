"""Points of boxes, Sobol points, and points chosen by a residual."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import diffop as do

from ..draws import check_mean, many, uniform
from ..refused import refusals

KEY = jax.random.key(0)
LOWER, UPPER = [-1.0, 0.0, 2.0], [1.0, 5.0, 2.5]


def fractions(points):
    """Where the points are between the ends of each coordinate, from 0 to 1."""
    return (np.asarray(points, np.float64) - LOWER) / np.subtract(UPPER, LOWER)


@pytest.mark.parametrize("ends", [tuple, np.array, jnp.array])
def test_points_of_a_box_are_uniform(ends, getkey):
    points = fractions(do.pde.points_in_box(getkey(), 4000, ends(LOWER), ends(UPPER)))
    assert points.shape == (4000, 3)
    assert points.min() >= -1e-6 and points.max() <= 1 + 1e-6
    assert all(uniform(points[:, axis]) for axis in range(3))
    assert np.abs(np.corrcoef(points.T) - np.eye(3)).max() < 4 / np.sqrt(4000)


def test_points_of_the_boundary_are_on_all_faces_alike(getkey):
    points = fractions(do.pde.points_on_box(getkey(), 6000, LOWER, UPPER))
    on_faces = np.stack([np.abs(points) < 1e-6, np.abs(points - 1) < 1e-6])
    assert (on_faces.any(axis=(0, 2))).all()
    # four standard deviations of a count
    assert np.abs(on_faces.sum(axis=1) - 1000).max() < 4 * np.sqrt(1000 * 5 / 6)
    for axis in range(3):
        assert uniform(points[~on_faces[:, :, axis].any(axis=0), axis])


def digits(points):
    """The leading binary digits of numbers between 0 and 1, as integers."""
    return np.floor(np.asarray(points, np.float64) * 2**23).astype(np.uint32)


@pytest.mark.parametrize(("count", "dim"), [(1, 3), (2, 1), (100, 7), (256, 40)])
def test_sobol_points_are_those_of_scipy_up_to_a_shift_of_digits(count, dim, getkey):
    ours = digits(do.pde.sobol(getkey(), count, dim))
    engine = scipy.stats.qmc.Sobol(dim, scramble=False, bits=32)
    theirs = digits(np.stack([engine.random(1)[0] for _ in range(count)]))
    np.testing.assert_array_equal(ours ^ ours[:1], theirs ^ theirs[:1])


def test_sobol_points_are_uniform_over_keys_and_never_at_an_end():
    points = many(lambda key: do.pde.sobol(key, 3, 2), 2000)
    assert all(uniform(points[:, number, axis]) for number in range(3) for axis in range(2))
    assert points.min() > 0 and points.max() < 1


def means(unit, product, count, dim):
    """Of a product over unit coordinates whose mean is 1, for 200 keys."""
    f = lambda x: jnp.mean(jnp.prod(product(x), axis=1))
    return many(lambda key: f(unit(key, count, dim)), 200).astype(np.float64)


def independent(key, *shape):
    return jax.random.uniform(key, shape)


def test_sobol_points_integrate_better():
    """The mean of Π (1 + (x_i − ½)) over 6 coordinates is 1: its spread over keys, both ways."""
    even, others = (means(u, lambda x: 0.5 + x, 256, 6) for u in (do.pde.sobol, independent))
    check_mean(even, 1.0)
    assert even.std() < others.std() / 5


def test_sobol_points_in_a_box(getkey):
    key = getkey()
    points = fractions(do.pde.points_in_box(key, 64, LOWER, UPPER, unit=do.pde.sobol))
    np.testing.assert_allclose(points, do.pde.sobol(key, 64, 3), atol=1e-5)


def pool_of(key, count):
    """The same pool for every key: the numbers 0, 1, …, as points with one coordinate."""
    return jnp.arange(float(count))[:, None]


@pytest.mark.parametrize(("power", "floor"), [(1.0, 1.0), (2.0, 0.0), (0.0, 1.0)])
def test_points_are_chosen_with_the_stated_probabilities(power, floor):
    """Of r = 0, 1, 2, 3: a chi-squared test at a level of one in a thousand."""
    weights = np.arange(4.0) ** power / np.mean(np.arange(4.0) ** power) + floor

    def first(key):
        return do.losses.residual_adaptive(
            key, lambda x: -x[0], pool_of, 1, pool=4, power=power, floor=floor
        )[0, 0]

    chosen = jax.jit(jax.vmap(first))(jax.random.split(jax.random.key(0), 8000))
    counts = np.bincount(np.asarray(chosen, int), minlength=4)
    expected = 8000 * weights / weights.sum()
    likely = expected > 0
    assert not counts[~likely].any()
    assert scipy.stats.chisquare(counts[likely], expected[likely]).pvalue > 1e-3


def test_chosen_points_are_different_ones_of_the_pool(getkey):
    points = do.losses.residual_adaptive(getkey(), lambda x: x[0], pool_of, 5, pool=5)
    assert sorted(points[:, 0].tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [1e-12, 1e10])
def test_residuals_of_any_size(size):
    """Their powers leave the range of single precision."""

    def first(key, size):
        return do.losses.residual_adaptive(
            key, lambda x: size * x[0], pool_of, 1, pool=4, power=4, floor=0.0
        )[0, 0]

    keys = jax.random.split(jax.random.key(0), 100)
    with jax.enable_x64(False):
        found = [
            jax.jit(jax.vmap(lambda key, size=each: first(key, size)))(keys) for each in (1.0, size)
        ]
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_residual_that_is_not_finite_is_chosen(value):
    """As often as the largest of the others, which is that of 3."""
    residual = lambda x: jnp.where(x[0] == 2, value, jnp.where(x[0] == 3, 1e6, 1.0))

    def first(key):
        return do.losses.residual_adaptive(key, residual, pool_of, 1, pool=4, power=8, floor=0.0)[
            0, 0
        ]

    chosen = jax.jit(jax.vmap(first))(jax.random.split(jax.random.key(0), 400))
    counts = np.bincount(np.asarray(chosen, int), minlength=4)
    assert not counts[:2].any()
    assert abs(counts[2] - 200) < 4 * 10  # four standard deviations


def test_where_nothing_is_left_all_points_are_alike(getkey):
    points = do.losses.residual_adaptive(
        getkey(), lambda x: 0 * x[0], pool_of, 3, pool=9, floor=0.0
    )
    assert len(set(points[:, 0].tolist())) == 3


test_what_cannot_be_is_refused = refusals(
    {
        "the count of points must be at least 1; got 0": [
            lambda: do.pde.points_in_box(KEY, 0, [0.0], [1.0]),
            lambda: do.pde.points_on_box(KEY, 0, [0.0], [1.0]),
        ],
        r"shapes \(1,\) and \(2,\)": lambda: do.pde.points_in_box(KEY, 1, [0.0], [1.0, 2.0]),
        "on_box expects at least one lower end": lambda: do.pde.points_on_box(KEY, 1, [], []),
        "halton expects .*, got count=0 and dim=1": lambda: do.pde.halton(KEY, 0, 1),
        "a dim from 1 to 6542, got count=4 and dim=7000": lambda: do.pde.halton(KEY, 4, 7000),
        "latin_hypercube .* count=4 and dim=0": lambda: do.pde.latin_hypercube(KEY, 4, 0),
        "sobol expects .*, got count=0 and dim=1": lambda: do.pde.sobol(KEY, 0, 1),
        "a dim from 1 to 21201, got count=4 and dim=30": lambda: do.pde.sobol(KEY, 4, 30_000),
        "residual_adaptive expects 1 <= count <= pool, .* got count=5, pool=4, power=1.0": lambda: (
            do.losses.residual_adaptive(KEY, jnp.sum, pool_of, 5, pool=4)
        ),
        "not both 0, got .* power=0 and floor=0": lambda: do.losses.residual_adaptive(
            KEY, jnp.sum, pool_of, 1, pool=4, power=0, floor=0
        ),
    }
)


@pytest.mark.parametrize(("count", "dim"), [(1, 2), (7, 3), (100, 20)])
def test_each_slice_of_a_coordinate_has_one_point(count, dim, getkey):
    points = np.asarray(do.pde.latin_hypercube(getkey(), count, dim), np.float64)
    slices = np.sort(np.floor(points * count), axis=0)
    np.testing.assert_array_equal(slices, np.repeat(np.arange(count)[:, None], dim, axis=1))


def in_base(number, base, digits):
    """The digits of an integer, the least first."""
    return [number // base**k % base for k in range(digits)]


def test_the_first_halton_points_are_those_by_hand_up_to_permuted_digits(getkey):
    """0, ½, ¼, ¾ in base 2 and 0, ⅓, ⅔, 1/9, 4/9, … in base 3: which points share their leading
    digits. In base 5 and 7, too, digits are permuted by linear maps.
    """
    points = np.asarray(do.pde.halton(getkey(), 49, 4), np.float64)
    for axis, base in enumerate((2, 3, 5, 7)):
        shown = [in_base(int(x * base**2), base, 2)[::-1] for x in points[:, axis]]
        for k in range(2):
            at = {n // base**k % base: digits[k] for n, digits in enumerate(shown)}
            shift, factor = at[0], (at[1] - at[0]) % base
            assert sorted(at.values()) == list(range(base))
            for n, digits in enumerate(shown):
                d = in_base(n, base, 2)[k]
                assert digits[k] == (factor * d + shift) % base


def test_halton_points_lie_to_each_other_as_scipys(getkey):
    """As many share each number of leading digits."""

    def shared(points, base):
        cells = np.floor(np.asarray(points, np.float64)[:, None] * float(base) ** np.arange(1, 5))
        return np.sum(cells[:, None] == cells[None], axis=-1)

    theirs = scipy.stats.qmc.Halton(5, scramble=False).random(200) + 1e-9
    ours = do.pde.halton(getkey(), 200, 5)
    for axis, base in enumerate((2, 3, 5, 7, 11)):
        found, expected = (shared(each[:, axis], base) for each in (ours, theirs))
        np.testing.assert_array_equal(found, expected, err_msg=str(base))


@pytest.mark.parametrize("unit", [do.pde.halton, do.pde.latin_hypercube])
def test_even_points_are_uniform_over_keys_and_integrate_better(unit):
    """The mean of Π (1 + (x_i − ½)/2) over 4 coordinates is 1: its spread over keys, both ways."""
    points = many(lambda key: unit(key, 3, 5), 2000)
    assert all(uniform(points[:, number, axis]) for number in range(3) for axis in range(5))
    assert points.min() >= 0 and points.max() < 1
    for number in (0, 2):  # coordinates are independent of one another: the law of their distance
        apart = np.abs(points[:, number, 3] - points[:, number, 4])
        assert uniform(apart * (2 - apart))

    even, others = (means(u, lambda x: 1 + (x - 0.5) / 2, 100, 4) for u in (unit, independent))
    check_mean(even, 1.0)
    assert even.std() < others.std() / 3


def test_more_halton_points_begin_with_those_of_fewer(getkey):
    key = getkey()
    np.testing.assert_array_equal(do.pde.halton(key, 100, 3)[:10], do.pde.halton(key, 10, 3))
