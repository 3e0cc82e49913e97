"""Errors on fixed points and the null model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.runs import evaluate
from diffop.streams import stream

from .toy import Poisson


def relative(gap, solution):
    """The errors by their definition."""
    squares = (gap**2).sum() / (solution**2).sum()
    return np.abs(gap).sum() / np.abs(solution).sum(), np.sqrt(squares)


def places(problem, key):
    """The 500 points of a key."""
    return np.asarray(problem.sample(stream(key, "chunk", 0), 500), np.float64)[:, 0]


def test_errors_against_their_definition(getkey):
    problem, key = Poisson(), getkey()
    points, x = do.train.FixedPoints(problem, key, 500), places(problem, key)
    solution = (1 - x**2) * (1 + 0.5 * x)
    expected = relative(solution - x**3, solution)
    np.testing.assert_allclose(points.errors(lambda x: x[0] ** 3), expected, rtol=1e-5)
    assert points.errors(problem.solution) == (0.0, 0.0)


def test_null_model_is_the_best_multiple(getkey):
    problem = do.pde.ManyBody("allen-cahn", 2, 8, key=getkey())
    points = do.train.FixedPoints(problem, getkey(), 2000)
    shape, solution = (
        np.asarray(points._points.evaluate(u), np.float64)
        for u in (problem.null_shape, problem.solution)
    )
    best, width = 0.0, 20.0
    for _ in range(3):
        scales = best + np.linspace(-width, width, 201)
        gaps = np.linalg.norm(scales[:, None] * shape - solution, axis=1)
        errors, width = gaps / np.linalg.norm(solution), width / 50
        best = scales[errors.argmin()]
    np.testing.assert_allclose(points.null_rel_l2, errors.min(), rtol=1e-4)
    assert points.null_rel_l2 <= errors.min()


def test_null_model_of_its_own_shape_has_no_error(getkey):
    problem = Poisson(slope=jnp.asarray(0.0))
    assert do.train.FixedPoints(problem, getkey(), 100).null_rel_l2 < 1e-15


def test_chunks_bound_the_memory(getkey, monkeypatch):
    monkeypatch.setattr(evaluate, "_COORDINATES_AT_ONCE", 60)
    sizes = []

    def u(x):
        jax.debug.callback(lambda x: sizes.append(np.shape(x)), x)
        return x[0]

    problem = do.pde.ManyBody("allen-cahn", 2, 4, key=getkey())
    points = do.train.FixedPoints(problem, getkey(), 100)
    assert points._points.size == 10
    points.errors(u)
    jax.effects_barrier()
    assert len(sizes) == 100


def test_a_fraction_uses_the_first_chunks(getkey, monkeypatch):
    monkeypatch.setattr(evaluate, "_COORDINATES_AT_ONCE", 40)
    problem = do.pde.ManyBody("allen-cahn", 2, 4, key=getkey())
    points = do.train.FixedPoints(problem, getkey(), 100)
    part, whole = points._points.evaluate(jnp.sum, 0.25), points._points.evaluate(jnp.sum)
    assert part.size == 30
    np.testing.assert_array_equal(part, whole[:30])


class Pair(Poisson):
    """A system: (1 − x², x), or the same by name."""

    names: bool = False

    def _like(self, first, second):
        return {"u": first, "v": second[None]} if self.names else jnp.stack([first, second])

    def solution(self, x):
        return self._like(1 - x[0] ** 2, x[0])

    def null_shape(self, x):
        return self._like(1 - x[0] ** 2, jnp.zeros(()))


@pytest.mark.parametrize("names", [False, True])
def test_errors_of_systems(getkey, names):
    """Over all entries, and of each; the null model's is that of the second, which it leaves 0."""
    problem, key = Pair(names=names), getkey()
    points, x = do.train.FixedPoints(problem, key, 500), places(problem, key)
    solution, values = np.stack([1 - x**2, x]), np.stack([x**2, 0.5 * x])
    u = lambda x: problem._like(x[0] ** 2, 0.5 * x[0])  # noqa: E731
    gap = values - solution
    for _ in range(2):  # the points do not depend on when they are made
        np.testing.assert_array_equal(points.errors(u), points.errors(u))
    np.testing.assert_allclose(points.errors(u), relative(gap, solution), rtol=1e-5)
    components = points.component_errors(u)
    assert tuple(components) == points.components == (("u", "v[0]") if names else ("[0]", "[1]"))
    for got, mine, other in zip(components.values(), gap, solution, strict=True):
        np.testing.assert_allclose(got, relative(mine, other), rtol=1e-5)
    best = (x**2).sum() / (solution**2).sum()
    np.testing.assert_allclose(points.null_rel_l2, np.sqrt(best), rtol=1e-5)
    if not names:
        with pytest.raises(ValueError, match=r"u at a point has shape \(\), and .* shape \(2,\)"):
            points.errors(lambda x: x[0])


def turned(angle, imaginary=1.0):
    """cos α + i c sin α."""
    return jax.lax.complex(jnp.cos(angle), imaginary * jnp.sin(angle))


class Wave(Poisson):
    """A complex solution, e^{2ix}; the null shape is real."""

    def solution(self, x):
        return turned(2 * x[0])


class Measured(Wave, do.pde.AbstractReferenceProblem):
    """The same, of which two values are known."""

    def reference(self):
        values = jnp.array([1.0, 1j], jnp.complex64)
        return do.pde.Reference(jnp.array([[0.0], [0.5]]), values, 1e-3)

    def conditions(self, key, count):
        x = do.pde.unit_ball_by_radius(key, count, 1)
        twice = 2 * (1 - x[:, 0] ** 2)
        values = jax.lax.complex(jnp.zeros_like(twice), twice)
        return (do.equations.Condition(do.Identity(), x, values),)


def test_errors_of_complex_values(getkey):
    """Both parts count, and the number of the null model is complex."""
    problem, key = Wave(), getkey()
    points, x = do.train.FixedPoints(problem, key, 500), places(problem, key)
    solution, shape = np.exp(2j * x), 1 - x**2
    gap = np.abs(0.5 * np.sin(2 * x))
    expected = gap.mean(), np.sqrt((gap**2).mean())  # |e^{2ix}| = 1
    errors = points.errors(lambda x: turned(2 * x[0], imaginary=0.5))
    np.testing.assert_allclose(errors, expected, rtol=1e-5)
    parts = np.stack([solution.real, solution.imag])
    (factors, *_) = np.linalg.lstsq(shape[:, None], parts.T)
    null = np.linalg.norm(parts - (shape[:, None] * factors).T) / np.sqrt(500)
    np.testing.assert_allclose(points.null_rel_l2, null, rtol=1e-5)


def test_complex_reference_values(getkey):
    """The null model is fitted to the data: 2i (1 − x²)."""
    points = do.train.FixedPoints(Measured(), getkey())
    errors = points.errors(lambda x: turned(2 * x[0]))
    np.testing.assert_allclose(errors.rel_l1, abs(np.exp(1j) - 1j) / 2, rtol=1e-5)
    np.testing.assert_allclose(points.null_rel_l2, np.sqrt((5 + 0.25) / 2), rtol=1e-5)


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5, float("nan")])
def test_fractions_that_are_refused(fraction, getkey):
    points = do.train.FixedPoints(Poisson(), getkey(), 10)
    with pytest.raises(ValueError, match=f"more than 0 and at most 1, got {fraction}"):
        points.errors(jnp.sum, fraction)


def test_scalars_have_no_components(getkey):
    points = do.train.FixedPoints(Poisson(), getkey(), 10)
    assert points.components == () and points.component_errors(jnp.sum) == {}


@pytest.mark.parametrize(
    ("dim", "count"), [(2, 20_000), (10_000, 20_000), (100_000, 2000), (10**6, 200), (10**8, 100)]
)
def test_point_count(dim, count):
    assert evaluate.point_count(dim) == count


class Pinned(Poisson, do.pde.AbstractReferenceProblem):
    """The same, its solution known at two points only."""

    def reference(self):
        return do.pde.Reference(jnp.array([[0.0], [0.5]]), jnp.array([1.0, 0.9]), 1e-3)

    def conditions(self, key, count):
        x = do.pde.unit_ball_by_radius(key, count, 1)
        slope = do.equations.Condition(do.Partial(0), x, jnp.full(count, 7.0))
        return (slope, do.equations.Condition(do.Identity(), x, 2 * (1 - x[:, 0] ** 2)))


def test_reference_values(getkey):
    """The null model is fitted to the data, which are twice its shape here: 2 (1 − x²), so 2 and
    1.5 at the reference points.
    """
    points = do.train.FixedPoints(Pinned(), getkey())
    assert (points.count, points.rel_error) == (2, 1e-3)
    errors = points.errors(lambda x: jnp.cos(x[0]), fraction=0.1)
    value = np.array([1.0, 0.9])
    expected = relative(np.array([0.0, np.cos(0.5) - 0.9]), value)
    np.testing.assert_allclose(errors, expected, rtol=1e-4)
    np.testing.assert_allclose(points.null_rel_l2, relative([2, 1.5] - value, value)[1], rtol=1e-5)


class Sloping(Pinned):
    """The same, of which slopes are known, and not values."""

    def reference(self):
        points, values = jnp.array([[0.0], [0.5]]), jnp.array([0.0, -0.5])
        return do.pde.Reference(points, values, 1e-3, do.Partial(0))

    def conditions(self, key, count):
        x = do.pde.unit_ball_by_radius(key, count, 1)
        slope = do.equations.Condition(do.Partial(0), x, -6 * x[:, 0])
        return (slope, do.equations.Condition(do.Identity(), x, jnp.full(count, 7.0)))


def test_reference_values_of_an_operator(getkey):
    """The slope of u = 3 cos x, and of the null model, 3 (1 − x²) by the slopes in the data."""
    points = do.train.FixedPoints(Sloping(), getkey())
    got = points.errors(lambda x: 3 * jnp.cos(x[0])).rel_l2
    np.testing.assert_allclose(got, abs(0.5 - 3 * np.sin(0.5)) / 0.5, rtol=1e-5)
    np.testing.assert_allclose(points.null_rel_l2, abs(0.5 - 3.0) / 0.5, rtol=1e-5)


class Curved(Pinned):
    def reference(self):
        return super().reference()._replace(operator=do.Partial(0, 2))


class Short(Pinned):
    def reference(self):
        return super().reference()._replace(values=jnp.array([1.0]))


class Free(Pinned):
    def conditions(self, key, count):
        return ()


@pytest.mark.parametrize(
    ("problem", "count", "message"),
    [
        (Poisson(), 0, "count of at least 1, got 0"),
        (Curved(), None, "no condition on the values of .*, which its null model"),
        (Short(), None, "a reference value for each of its 2 points, got 1"),
        (Free(), None, "toy-poisson has reference values but no condition on"),
    ],
)
def test_points_that_are_refused(problem, count, message, getkey):
    with pytest.raises(ValueError, match=message):
        do.train.FixedPoints(problem, getkey(), count)
