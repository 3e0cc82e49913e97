"""The closed forms of the problems on the unit ball, against nested differentiation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.train.model import build

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")

NONLINEARITIES = {
    "poisson": lambda u: 0 * u,
    "allen-cahn": lambda u: u - u**3,
    "sine-gordon": jnp.sin,
}
PROBLEMS = {
    f"{equation}-{sum_}-body": functools.partial(do.pde.ManyBody, equation, bodies)
    for equation in NONLINEARITIES
    for sum_, bodies in (("two", 2), ("three", 3))
}
LATTICE = functools.partial(PROBLEMS["allen-cahn-two-body"], period=3)
PROBLEMS["allen-cahn-two-body-lattice"] = LATTICE


def two_body(c, x):
    return [
        c[i] * jnp.sin(x[i] + jnp.cos(x[i + 1]) + x[i + 1] * jnp.cos(x[i]))
        for i in range(len(x) - 1)
    ]


def three_body(c, x):
    return [c[i] * jnp.exp(x[i] * x[i + 1] * x[i + 2]) for i in range(len(x) - 2)]


def written_out(problem, x):
    """The paper's formula, term by term."""
    terms = {2: two_body, 3: three_body}[problem.bodies]
    return (1 - jnp.sum(x**2)) * sum(terms(problem.coefficients, x))


def points_of(problem, key):
    """Random points, and the corners of the ball where a coordinate is as large as it can be."""
    corners = jnp.concatenate([jnp.eye(problem.dim), -jnp.eye(problem.dim)])
    return jnp.concatenate([problem.sample(key, 40), corners])


@pytest.fixture(params=PROBLEMS)
def name(request):
    return request.param


@pytest.fixture
def problem(name, getkey):
    return PROBLEMS[name](7, key=getkey())


def test_solution_is_the_formula(problem, getkey):
    def both(x):
        return problem.solution(x), written_out(problem, x)

    got, expected = jax.jit(jax.vmap(both))(points_of(problem, getkey()))
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


def test_source_is_the_operator_applied_to_the_solution(problem, getkey):
    def source(x):
        def u(x):
            return written_out(problem, x)

        return jnp.trace(jax.hessian(u)(x)) + NONLINEARITIES[problem.equation](u(x))

    x = points_of(problem, getkey())
    expected = jax.jit(jax.vmap(source))(x)
    scale = np.sqrt(np.mean(expected**2))
    got = jax.jit(jax.vmap(problem.source))(x)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13 * scale)


def test_residual_of_the_solution_is_zero(problem, getkey):
    def residual(x):
        return problem.residual(do.exact(problem.operators())(problem.solution)(x), x)

    x = problem.sample(getkey(), 20)
    scale = np.abs(jax.jit(jax.vmap(problem.source))(x)).max()
    np.testing.assert_allclose(jax.jit(jax.vmap(residual))(x), 0.0, atol=1e-13 * scale)


def test_residual_is_nonlinear_in_u(problem):
    x = jnp.zeros(problem.dim)
    values = {"u": jnp.asarray(2.0), "lap": jnp.asarray(1.0)}
    expected = 1 + NONLINEARITIES[problem.equation](2.0) - problem.source(x)
    np.testing.assert_allclose(problem.residual(values, x), expected)


def test_the_ansatz_builds_all_data_in(problem, getkey):
    assert problem.conditions(getkey(), 3) == ()
    assert problem.sections(5) == ()


def test_boundary_and_null_shape_vanish_on_the_sphere(problem, getkey):
    x = problem.sample(getkey(), 1)[0]
    x = x / jnp.linalg.norm(x)
    for u in (problem.solution, problem.null_shape, problem.ansatz(jnp.sum)):
        np.testing.assert_allclose(u(x), 0.0, atol=1e-14)


def test_coefficients_are_standard_normal_and_given_by_the_key(getkey):
    make = functools.partial(do.pde.ManyBody, "allen-cahn", 2, 20_001)
    c = make(key=jax.random.key(5)).coefficients
    assert c.shape == (20_000,)
    assert abs(float(jnp.mean(c))) < 0.03 and abs(float(jnp.std(c)) - 1) < 0.03
    assert jnp.array_equal(c, make(key=jax.random.key(5)).coefficients)
    assert not jnp.array_equal(c, make(key=getkey()).coefficients)


def test_coefficients_of_a_lattice_repeat_and_have_no_sum(getkey):
    problem = do.pde.ManyBody("poisson", 2, 24, key=getkey(), period=10)
    c = np.asarray(problem.coefficients)
    assert problem.name == "poisson-two-body-lattice" and c.shape == (23,)
    np.testing.assert_array_equal(c[10:], c[:-10])
    np.testing.assert_allclose(np.sum(c[:10]), 0.0, atol=1e-14)
    assert np.std(c[:10]) > 0.1


@pytest.mark.parametrize("period", [1, 24])
def test_a_period_is_among_the_terms(period, getkey):
    message = f"period from 2 to the 23 terms of its sum, got {period}; leave it out for"
    with pytest.raises(ValueError, match=message):
        do.pde.ManyBody("poisson", 2, 24, key=getkey(), period=period)


def test_equal_keys_give_equal_solutions(getkey):
    problems = [make(5, key=jax.random.key(2)) for make in PROBLEMS.values()]
    x = problems[0].sample(getkey(), 1)[0]
    alike = [problem for problem in problems if problem.bodies == 2 and problem.period is None]
    assert len({float(problem.solution(x)) for problem in alike}) == 1
    assert len({float(problem.solution(x)) for problem in problems if problem.bodies == 3}) == 1


@pytest.mark.parametrize(("bodies", "passes"), [(2, 0), (3, 1)])
def test_source_takes_few_elementary_functions_and_linear_memory(bodies, passes, getkey):
    """None with two bodies, whose sines are polynomials, and one exponential with three."""
    problem = do.pde.ManyBody("allen-cahn", bodies, 50, key=getkey())
    equations = jaxprs.of(problem.source, jnp.zeros(50))
    names = [equation.primitive.name for equation in equations]
    assert sum(map(names.count, ("sin", "cos", "tan", "exp", "expm1"))) == passes
    sizes = [variable.aval.size for equation in equations for variable in equation.outvars]
    assert max(sizes) == 50


def test_single_precision_source(name, getkey):
    problem = PROBLEMS[name](1000, key=getkey())
    x = problem.sample(getkey(), 50)
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (problem, x))
    expected = np.asarray(jax.jit(jax.vmap(problem.source))(x))
    error = np.abs(np.asarray(jax.jit(jax.vmap(single[0].source))(single[1])) - expected).max()
    size = np.sqrt(np.mean(expected**2))
    if problem.period is not None:  # its terms are as large as without, and cancel
        size = 2 * problem.dim * np.linalg.norm(problem.coefficients)
    assert error < 1e-5 * size


@pytest.mark.parametrize("dim", [1, -3])
def test_too_few_dimensions(name, dim, getkey):
    least = 3 if "three" in name else 2
    with pytest.raises(ValueError, match=f"{name} .* at least {least}, got {dim}; its sol"):
        PROBLEMS[name](dim, key=getkey())


def test_as_many_dimensions_as_bodies(name, getkey):
    least = 3 if "three" in name else 2
    problem = PROBLEMS[name.removesuffix("-lattice")](least, key=getkey())
    assert problem.name == name.removesuffix("-lattice") and problem.coefficients.shape == (1,)
    assert np.isfinite(problem.source(jnp.zeros(least)))


@pytest.mark.parametrize(("equation", "bodies"), [("heat", 2), ("poisson", 4)])
def test_other_equations_and_sums_are_refused(equation, bodies, getkey):
    message = f"poisson, allen-cahn, sine-gordon and 2 or 3 bodies, got '{equation}' and {bodies}"
    with pytest.raises(ValueError, match=message):
        do.pde.ManyBody(equation, bodies, 5, key=getkey())


@pytest.mark.parametrize("equation", ["poisson", "allen-cahn", "sine-gordon"])
def test_the_source_tells_the_size_of_the_solution(equation):
    """The multiple of 1 − |x|² that is nearest to the solution, which the method does not see. The
    cube of Allen-Cahn, which is up to three times the rest of its source, changes nothing.
    """
    problem = do.pde.make(f"{equation}-two-body", dim=1000, key=jax.random.key(0))
    points = problem.sample(jax.random.key(1), 200)
    shape, solution = (jax.vmap(f)(points) for f in (problem.null_shape, problem.solution))
    multiple = abs(shape @ solution / (shape @ shape))
    found = problem.magnitude(jax.random.key(2))
    np.testing.assert_allclose(found, multiple, rtol=1e-3)


@pytest.mark.parametrize("equation", ["poisson", "allen-cahn", "sine-gordon"])
@pytest.mark.parametrize("dim", [100, 10_000])
def test_the_source_tells_the_number_that_the_solution_nearly_is(equation, dim):
    """Beside the multiple of 1 − |x|² that is nearest to the solution, by its values, and what that
    leaves: S(x) − a, by values too. Neither is seen by the methods.
    """
    problem = do.pde.make(f"{equation}-two-body", dim=dim, key=jax.random.key(3))
    points = problem.sample(jax.random.key(1), 200)
    shape, solution = (jax.lax.map(f, points) for f in (problem.null_shape, problem.solution))
    multiple = shape @ solution / (shape @ shape)
    left = jnp.std(jax.lax.map(problem.sum, points))
    found = problem.location(jax.random.key(2))
    assert abs(found - multiple) < left
    assert 0.5 * left < problem.magnitude(jax.random.key(2), found) < 4 * left
    assert problem.magnitude(jax.random.key(2)) > 0.5 * abs(multiple)


@pytest.mark.parametrize("equation", ["poisson", "allen-cahn", "sine-gordon"])
def test_opposite_points_tell_the_number_up_to_second_order(equation):
    """The number is S(0) = sin(1) Σ c_i, and what is of second order changes it by a part in d.
    What is linear does not cancel at sixteen random points: it would change it by about 0.1.
    """
    problem = do.pde.make(f"{equation}-two-body", dim=10_000, key=jax.random.key(3))
    number = np.sin(1.0) * np.sum(np.asarray(problem.coefficients, np.float64))
    for seed in range(5):
        found = problem.location(jax.random.key(seed))
        assert abs(found - number) < abs(number) / 10_000


def test_an_anchored_network_begins_near_the_null_model():
    settings = do.train.Settings(
        "allen-cahn-two-body", dim=10_000, width=8, output_scale="source", anchor="source"
    )
    problem = do.pde.make("allen-cahn-two-body", dim=10_000, key=jax.random.key(3))
    u = build(settings, problem, jax.random.key(4))
    points = problem.sample(jax.random.key(1), 100)
    found, shape, solution = (
        jax.lax.map(f, points) for f in (u, problem.null_shape, problem.solution)
    )
    null = shape @ solution / (shape @ shape) * shape
    missed, least = (jnp.linalg.norm(v - solution) for v in (found, null))
    assert missed < 3 * least < 0.1 * jnp.linalg.norm(solution)


@pytest.mark.parametrize("dim", [1000, 1_000_000])
def test_values_on_a_lattice_in_single_precision(dim):
    """What coefficients that cancel leave of sums of a million terms near sin 1 each, beside NumPy
    in float64 with coefficients whose mean is 0.
    """
    with jax.enable_x64(False):
        problem = do.pde.ManyBody("allen-cahn", 2, dim, key=jax.random.key(1), period=8)
        points = problem.sample(jax.random.key(3), 2)
        got = jax.jit(jax.vmap(problem.sum))(points)
    cell = np.asarray(problem.coefficients[:8], np.float64)
    coefficients = np.resize(cell - np.mean(cell), dim - 1)
    x = np.asarray(points, np.float64)
    a, b = x[:, :-1], x[:, 1:]
    sines = np.sin(a + np.cos(b) + b * np.cos(a)) - np.sin(1)
    expected = sines @ coefficients + np.sin(1) * np.sum(coefficients[: (dim - 1) % 8])
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, expected, rtol=2e-6)
