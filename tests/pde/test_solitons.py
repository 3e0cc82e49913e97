"""Soliton solutions against closed forms, and their equations by nested differentiation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.pde import KP2D, Box, KdV1D, KdV2D, Soliton, SpaceTime
from diffop.pde.solitons.hirota import frequency

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

PROBLEMS = {
    "KdV": KdV1D(),
    "KdV, two": KdV1D(solitons=(Soliton((1.4,), 10.0), Soliton((0.7,), 1.0)), alpha=1.5),
    "KdV, three": KdV1D(
        solitons=(Soliton((1.4,), 10.0), Soliton((0.7,), 1.0), Soliton((0.3,), 1.0))
    ),
    "2D KdV": KdV2D(solitons=(Soliton((1.0, 1.0), 6.0),)),
    "2D KdV, two": KdV2D(),
    "2D KdV, three": KdV2D(
        solitons=(Soliton((0.6, 0.5)), Soliton((0.4, 0.6)), Soliton((0.2, 0.5)))
    ),
    "KP-II": KP2D(solitons=(Soliton((1.5, 0.5), 6.0),)),
    "KP-I": KP2D(solitons=(Soliton((1.5, 0.5), 6.0),), sigma_squared=-1),
    "KP-II, two": KP2D(),
    "KP-I, two": KP2D(solitons=(Soliton((1.5, 0.5), 3.0), Soliton((0.7, -0.4))), sigma_squared=-1),
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def along(u, *axes):
    """The derivative of u along each of the axes in turn, by nested `jax.grad`."""
    return functools.reduce(lambda f, axis: lambda x: jax.grad(f)(x)[axis], axes, u)


def kdv_1d(problem, u, x):
    u_x, u_t, u_xxx = (along(u, *axes)(x) for axes in [(0,), (1,), (0, 0, 0)])
    return u_t + u(x) * u_x + problem.alpha * u_xxx


def kdv_2d(problem, u, x):
    flux = lambda x: along(u, 1)(x) * along(u, 0)(x)
    return (
        along(u, 1, 2)(x)
        + along(u, 1, 0, 0, 0)(x)
        + 3 * along(flux, 0)(x)
        - along(u, 0, 0)(x)
        + 2 * along(u, 1, 1)(x)
    )


def kp_2d(problem, u, x):
    inner = lambda x: along(u, 2)(x) + 6 * u(x) * along(u, 0)(x) + along(u, 0, 0, 0)(x)
    return along(inner, 0)(x) + 3 * problem.sigma_squared * along(u, 1, 1)(x)


EQUATIONS = {KdV1D: kdv_1d, KdV2D: kdv_2d, KP2D: kp_2d}


def equation(problem, u):
    """The left side of the problem's equation, written out."""
    return functools.partial(EQUATIONS[type(problem)], problem, u)


def test_the_solution_solves_the_equation(problem, getkey):
    x = problem.sample(getkey(), 30)
    left = jax.jit(jax.vmap(equation(problem, problem.solution)))(x)
    np.testing.assert_allclose(left, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["KdV, two", "2D KdV, two", "KP-I, two"])
def test_the_residual_is_the_equation(name, getkey):
    """Of the solution, where it vanishes, and of something that solves nothing."""
    problem = PROBLEMS[name]
    other = lambda x: jnp.sin(x[0] + 0.3 * x[1] * x[-1]) * jnp.exp(0.1 * x[1])
    x = problem.sample(getkey(), 20)
    for u, scale in ((problem.solution, 1.0), (other, 30.0)):
        values = do.exact(problem.operators())(u)
        got = jax.jit(jax.vmap(lambda x: problem.residual(values(x), x)))(x)
        expected = jax.jit(jax.vmap(equation(problem, u)))(x)
        np.testing.assert_allclose(got, expected, atol=1e-12 * scale)
    assert np.abs(expected).max() > 0.1


def one_soliton(problem, x):
    """The textbook forms of a single soliton."""
    (soliton,) = problem.solitons
    k, l = (*soliton.wavenumber, 0.0)[:2]  # noqa: E741
    if isinstance(problem, KdV1D):
        c, x0 = problem.alpha * k**2, -soliton.phase / k
        return 3 * c / np.cosh(0.5 * np.sqrt(c / problem.alpha) * (x[0] - c * x[1] - x0)) ** 2
    if isinstance(problem, KdV2D):
        omega = (k**2 - k**3 * l - 2 * l**2) / l
        return k * (1 + np.tanh((k * x[0] + l * x[1] + omega * x[2] + soliton.phase) / 2))
    omega = -(k**4 + 3 * problem.sigma_squared * l**2) / k
    return k**2 / 2 / np.cosh((k * x[0] + l * x[1] + omega * x[2] + soliton.phase) / 2) ** 2


@pytest.mark.parametrize("name", ["KdV", "KdV, faster", "2D KdV", "KP-II", "KP-I"])
def test_one_soliton(name, getkey):
    faster = KdV1D(solitons=(Soliton((0.8,), -1.0),), alpha=2.5)
    problem = faster if name == "KdV, faster" else PROBLEMS[name]
    x = np.asarray(problem.sample(getkey(), 50))
    expected = [one_soliton(problem, point) for point in x]
    np.testing.assert_allclose(jax.vmap(problem.solution)(x), expected, rtol=1e-9, atol=1e-13)


def test_two_solitons_of_kp(getkey):
    """2 ∂_x² log F with the textbook A = l²/(l² − k⁴) of two waves (k, ±l)."""
    problem, k, l = PROBLEMS["KP-II, two"], 1.0, 1.5  # noqa: E741
    omega = -(k**4 + 3 * l**2) / k

    def log_f(x):
        first, second = (k * x[0] + s * l * x[1] + omega * x[2] + 5.8 for s in (1, -1))
        a = l**2 / (l**2 - k**4)
        return jnp.log(1 + jnp.exp(first) + jnp.exp(second) + a * jnp.exp(first + second))

    x = problem.sample(getkey(), 20)
    expected = jax.vmap(lambda x: 2 * along(log_f, 0, 0)(x))(x)
    np.testing.assert_allclose(jax.vmap(problem.solution)(x), expected, rtol=1e-9, atol=1e-12)


def test_far_away_nothing_overflows(problem):
    x = jnp.full(problem.dim, 1e4, jnp.float32).at[-1].set(0.0)
    far = [problem.solution(x), problem.solution(-x)]
    assert np.isfinite(far).all()
    limit = (
        2 * sum(each.wavenumber[0] for each in problem.solitons)
        if isinstance(problem, KdV2D)
        else 0.0
    )
    np.testing.assert_allclose(far[0], limit, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("problem", [KdV1D(), KdV2D(), KP2D()], ids=lambda problem: problem.name)
def test_solitons_move_by_several_widths(problem):
    """By three times the width at half height, and they are half way in the middle of the box."""
    middle = np.zeros(problem.dim)
    middle[-1] = problem.domain.duration / 2
    for soliton in problem.solitons:
        vector = (*soliton.wavenumber, frequency(problem.bilinear, soliton.wavenumber))
        # sech²(θ/2) = 1/2 at θ = ±2 arcosh √2
        assert abs(vector[-1]) * problem.domain.duration > 3 * 4 * np.arccosh(np.sqrt(2))
        assert abs(vector @ middle + soliton.phase) < 0.05


def test_the_null_shape_is_the_initial_profile(problem, getkey):
    x = problem.sample(getkey(), 5)
    start = x.at[:, -1].set(0.0)
    np.testing.assert_array_equal(
        jax.vmap(problem.null_shape)(x), jax.vmap(problem.solution)(start)
    )


@pytest.mark.parametrize("name", ["KdV", "2D KdV", "KP-II", "KP-I"])
def test_data_are_the_solution_at_the_start_and_on_the_boundary(name, getkey):
    problem = PROBLEMS[name]
    initial, boundary, *slopes = jax.jit(problem.conditions, static_argnums=1)(getkey(), 40)
    space = problem.domain.space
    lower, upper = np.array(space.lower), np.array(space.upper)
    for condition in (initial, boundary):
        assert condition.operator == do.Identity()
        expected = jax.vmap(problem.solution)(condition.points)
        np.testing.assert_allclose(condition.values, expected, atol=1e-14)
    assert (initial.points[:, -1] == 0).all()
    places = np.asarray(boundary.points)[:, :-1]
    assert ((places == lower) | (places == upper)).any(axis=1).all()
    assert slopes
    for condition, (operator, face) in zip(slopes, problem.slopes(), strict=True):
        axis, end = face.part.axis, upper if face.part.end == "upper" else lower
        assert (condition.points[:, axis] == end[axis]).all()
        order = 2 if operator == do.Partial(axis, 2) else 1
        assert condition.operator == operator == do.Partial(axis, order)
        expected = jax.jit(jax.vmap(along(problem.solution, *order * [axis])))(condition.points)
        np.testing.assert_allclose(condition.values, expected, atol=1e-13)


def test_kp_asks_for_its_fourth_datum_where_the_fourth_root_decays():
    problems = (KP2D(), PROBLEMS["KP-I"])
    ends = {p.sigma_squared: [face.part.end for _, face in p.slopes()] for p in problems}
    assert ends == {1: ["upper", "upper"], -1: ["upper", "lower"]}


def test_the_ansatz_sees_the_box_as_a_cube(problem):
    u = problem.ansatz(lambda z: z)
    np.testing.assert_allclose(u(jnp.array(problem.domain.first)), -1.0)
    np.testing.assert_allclose(u(jnp.array(problem.domain.last)), 1.0)


test_what_cannot_be_solved_is_refused = refusals(
    {
        "expects at least one soliton": lambda: KdV2D(solitons=()),
        "with 2 coordinates of space, got solitons=": lambda: KdV2D(solitons=(Soliton((1.0,)),)),
        "with 2 coordinates of space": lambda: KP2D(domain=SpaceTime(Box((0.0,), (1.0,)), 1.0)),
        r"\(1.0, 0.0\) has no frequency; choose": lambda: KdV2D(solitons=(Soliton((1.0, 0.0)),)),
        r"\[1.5, 0.5\] and \[1.0, -0.5\] have no regular superposition; choose": lambda: KP2D(
            solitons=(Soliton((1.5, 0.5)), Soliton((1.0, -0.5)))
        ),
        "g-kdv-1d expects a positive alpha, got 0.0": lambda: KdV1D(alpha=0.0),
    }
)
