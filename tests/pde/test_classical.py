"""The equations of other papers: their solutions, data and ansätze."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import diffop as do
from benchmarks.references.evolution import (
    KURAMOTO_TIMES,
    allen_cahn,
    gauss_lobatto,
    grid,
    kdv,
    kuramoto_sivashinsky,
)

pytestmark = pytest.mark.usefixtures("x64")

EVOLUTIONS = {
    "burgers": do.pde.Burgers(),
    "thick burgers": do.pde.Burgers(0.1),
    "allen-cahn-1d": do.pde.AllenCahn1D(),
    "kdv-cosine": do.pde.KdVCosine(),
    "kuramoto-sivashinsky": do.pde.KuramotoSivashinsky(),
    "advection": do.pde.Advection(),
    "wave-1d": do.pde.Wave1D(),
}
PERIODIC = ("allen-cahn-1d", "kdv-cosine", "advection", "kuramoto-sivashinsky")
COMPUTED = ("allen-cahn-1d", "kdv-cosine", "kuramoto-sivashinsky")
SOFT = ("allen-cahn-1d", "wave-1d")
"""Whose initial values are conditions."""


def network(problem):
    """In the problem's ansatz, untrained."""
    sees = problem.inputs or problem.dim
    net = eqx.nn.MLP(sees, "scalar", 6, 2, jnp.tanh, key=jax.random.key(5))
    return problem.ansatz(net)


def at(u, x, t):
    return np.asarray(jax.vmap(u)(jnp.stack(jnp.broadcast_arrays(x, t), axis=1)))


def test_the_slope_of_the_front():
    """Basdevant et al. 1986, table 1: it is steepest at πt = 1.6037, 152.00516."""
    slope = jax.grad(do.pde.Burgers().solution)
    times = (1.6037 + np.array([-2e-3, 0, 2e-3])) / np.pi
    before, steepest, after = (float(slope(jnp.array([0.0, t]))[0]) for t in times)
    np.testing.assert_allclose(steepest, -152.00516, rtol=5e-8)
    assert steepest < before and steepest < after


@pytest.mark.parametrize("name", [name for name in EVOLUTIONS if name not in SOFT])
def test_networks_begin_where_the_problem_does(name):
    problem = EVOLUTIONS[name]
    ((lower, start), (upper, _)) = problem.domain.first, problem.domain.last
    x = jnp.linspace(lower, upper, 9)
    u0 = {
        "burgers": -np.sin(np.pi * x),
        "thick burgers": -np.sin(np.pi * x),
        "kdv-cosine": np.cos(np.pi * x),
        "kuramoto-sivashinsky": np.cos(x) + np.sin(2 * x) / 2,
        "advection": np.sin(x),
    }[name]
    u = network(problem)
    np.testing.assert_allclose(at(u, x, start), u0, atol=1e-14)
    assert np.abs(at(u, x, 0.3 * problem.domain.duration) - u0)[1:-1].min() > 1e-4
    if isinstance(problem, do.pde.AbstractSolvedProblem):
        np.testing.assert_allclose(at(problem.solution, x, start), u0, atol=1e-14)


def test_the_string_begins_in_two_modes_and_at_rest(getkey):
    value, rate = EVOLUTIONS["wave-1d"].conditions(getkey(), 9)
    x, t = value.points.T
    assert (t == 0).all() and (rate.points[:, 1] == 0).all() and (rate.values == 0).all()
    expected = np.sin(np.pi * x) + np.sin(4 * np.pi * x) / 2
    np.testing.assert_allclose(value.values, expected, rtol=1e-12)
    assert (value.operator, rate.operator) == (do.Identity(), do.Partial(1))


@pytest.mark.parametrize("name", ["burgers", "thick burgers", "wave-1d"])
def test_ends_are_held(name):
    problem = EVOLUTIONS[name]
    times = jnp.linspace(0, 1, 7)
    for end in (problem.domain.first[0], problem.domain.last[0]):
        for u in (network(problem), problem.solution):
            np.testing.assert_allclose(at(u, end, times), 0, atol=1e-13)


@pytest.mark.parametrize("name", PERIODIC)
def test_ends_are_one_point(name):
    """For derivatives, too."""
    problem = EVOLUTIONS[name]
    lower, upper = problem.domain.first[0], problem.domain.last[0]
    u = network(problem)
    slope = lambda x: jax.grad(u)(x)[0]
    times = jnp.linspace(0.1, 1, 5) * problem.domain.duration
    for each in (u, slope, lambda x: jax.grad(slope)(x)[0]):
        np.testing.assert_allclose(at(each, lower, times), at(each, upper, times), atol=1e-12)
        middle = problem.domain.duration / 2
        assert np.ptp(at(each, jnp.linspace(lower, upper, 7), middle)) > 1e-4


def test_helmholtz_networks_are_zero_on_the_sides():
    u = network(do.pde.Helmholtz())
    points = jnp.array([[-1.0, 0.3], [1.0, -0.2], [0.7, 1.0], [0.1, -1.0]])
    np.testing.assert_allclose(jax.vmap(u)(points), 0, atol=1e-15)


@pytest.mark.parametrize("name", COMPUTED)
def test_references_are_on_the_grid(name):
    problem = EVOLUTIONS[name]
    points, values, rel_error = problem.reference()
    times, places = grid()
    expected = 2e-9
    if name == "kuramoto-sivashinsky":  # of which the first tenth is the problem's
        times, places = np.linspace(0, 0.1, 11), np.pi * (places + 1)
        expected = 1e-8
    assert points.shape == (values.size, 2) and rel_error == expected
    np.testing.assert_allclose(points[:, 1], np.repeat(times, len(places)))
    np.testing.assert_allclose(points[:, 0], np.tile(places, len(times)))
    first = points[:, 1] == 0
    expected = jax.vmap(problem.initial)(points[first])
    np.testing.assert_allclose(values[first], expected, atol=1e-12)


def test_what_kdv_keeps():
    """Mass and momentum; means of the grid see waves of a hundred periods as constants."""
    u = np.asarray(EVOLUTIONS["kdv-cosine"].reference().values).reshape(len(grid()[0]), -1)
    np.testing.assert_allclose(u.mean(axis=1), 0, atol=3e-8)
    momentum = (u * u).mean(axis=1)
    np.testing.assert_allclose(momentum[:11], 0.5, atol=1e-10)  # before there are such waves
    np.testing.assert_allclose(momentum, 0.5, atol=3e-6)
    assert u.max() > 2.3  # solitons, from a cosine


def test_kuramoto_sivashinsky_by_collocation():
    """Derivatives as matrices on 96 places, and Radau's method: where waves are few, at 0.05."""
    count = 96
    x = np.linspace(0, 2 * np.pi, count, endpoint=False)
    waves = np.fft.fftfreq(count, 1 / count)
    derivative = lambda order: (
        np.fft.ifft(
            ((1j * waves * (np.abs(waves) < count / 2)) ** order)[:, None]
            * np.fft.fft(np.eye(count), axis=0),
            axis=0,
        ).real
    )
    first, linear = derivative(1), 100 / 256 * derivative(2) + 100 / 65536 * derivative(4)
    slope = lambda _, u: -6.25 * u * (first @ u) - linear @ u
    jacobian = lambda _, u: -6.25 * (np.diag(first @ u) + u[:, None] * first) - linear
    how = {"method": "Radau", "jac": jacobian, "rtol": 1e-8, "atol": 1e-10}
    u = solve_ivp(slope, (0, 0.05), np.cos(x) + np.sin(2 * x) / 2, **how).y[:, -1]
    places = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    expected = (np.exp(1j * np.outer(places, waves)) @ np.fft.fft(u)).real / count
    values = EVOLUTIONS["kuramoto-sivashinsky"].reference().values.reshape(-1, 100)
    np.testing.assert_allclose(values[5], expected, atol=5e-7)


def test_the_energy_that_kuramoto_sivashinsky_gains():
    """½ ∫ u² changes by β ∫ u_x² − γ ∫ u_xx², at all times, by Simpson's rule."""
    u = np.asarray(do.pde.KuramotoSivashinsky(1.0).reference().values).reshape(KURAMOTO_TIMES, 100)
    np.testing.assert_allclose(u.mean(axis=1), 0, atol=1e-8)
    waves = np.arange(51)
    squares = np.where(waves > 0, 2, 1) * np.abs(np.fft.rfft(u) / 100) ** 2
    energy = squares.sum(axis=1) / 2
    rate = squares @ (100 / 256 * waves**2 - 100 / 65536 * waves**4)
    gained = energy[2::2] - energy[:-2:2]
    by_rate = (rate[:-2:2] + 4 * rate[1::2] + rate[2::2]) * 0.01 / 3
    assert np.abs(gained).max() > 0.16
    np.testing.assert_allclose(by_rate, gained, atol=0.01)
    np.testing.assert_allclose(by_rate[:4], gained[:4], atol=5e-5)  # before waves are many


@pytest.mark.parametrize("duration", [0.0, 0.005, 1.1, np.nan])
def test_a_time_that_is_not_known_is_refused(duration):
    with pytest.raises(ValueError, match="kuramoto-sivashinsky expects a duration from 0.01 to 1"):
        do.pde.KuramotoSivashinsky(duration)


def test_allen_cahn_by_splitting():
    """Diffusion by Fourier's method and reaction by its formula, in turns (Strang)."""
    count, steps = 4000, 3200
    x = np.linspace(-1, 1, count, endpoint=False)
    waves = np.pi * np.arange(count // 2 + 1)
    diffused = np.exp(-1e-4 * waves**2 / steps)
    growth = np.exp(5 / steps)
    reacted = lambda u: u * np.sqrt(growth / (1 + u * u * (growth - 1)))
    u = x**2 * np.cos(np.pi * x)
    found = [u]
    for _ in range(steps):
        u = reacted(np.fft.irfft(diffused * np.fft.rfft(reacted(u))))
        found.append(u)
    times, places = grid()
    expected = np.stack(found)[:: steps // (len(times) - 1), :: count // len(places)]
    values = np.asarray(EVOLUTIONS["allen-cahn-1d"].reference().values)
    np.testing.assert_allclose(values.reshape(expected.shape), expected, atol=2e-5)


def test_the_rule_of_gauss_and_lobatto():
    x, weights, slopes = gauss_lobatto(12)
    for power in range(24):
        exact = 2 / (power + 1) if power % 2 == 0 else 0.0
        np.testing.assert_allclose(weights @ x**power, exact, atol=1e-14)
    np.testing.assert_allclose(slopes @ x**12, 12 * x**11, atol=1e-12)


@pytest.mark.slow("computes references anew")
@pytest.mark.parametrize("name", COMPUTED)
def test_references_with_less_of_everything(name):
    whole = {"kuramoto-sivashinsky": do.pde.KuramotoSivashinsky(1.0)}
    _, values, rel_error = whole.get(name, EVOLUTIONS[name]).reference()
    again = COMPUTE[name](*COARSE[name])
    assert np.abs(values - again.ravel()).max() < rel_error * np.abs(values).max()


COARSE = {
    "allen-cahn-1d": (20, 1e-10),
    "kdv-cosine": (200, 1e-12),
    "kuramoto-sivashinsky": (192, 48_000),
}
COMPUTE = {
    "allen-cahn-1d": allen_cahn,
    "kdv-cosine": kdv,
    "kuramoto-sivashinsky": kuramoto_sivashinsky,
}


@pytest.mark.parametrize("viscosity", [0.002, 2.0])
def test_the_ends_of_viscosities(viscosity):
    """The equation by nested `jax.grad`, relative to its terms; and the value at time 0."""
    solution = do.pde.Burgers(viscosity).solution
    u = lambda x, t: solution(jnp.stack([x, t]))
    u_t, u_x = jax.grad(u, 1), jax.grad(u)
    u_xx = jax.grad(u_x)
    for x, t in [(0.3, 0.05), (-0.8, 0.2), (0.01, 0.3), (0.5, 0.9)]:
        terms = u_t(x, t), u(x, t) * u_x(x, t), -viscosity * u_xx(x, t)
        assert abs(sum(terms)) < 1e-10 * max(map(abs, terms)) + 1e-13
    np.testing.assert_allclose(u(0.3, 0.0), -np.sin(0.3 * np.pi), rtol=1e-14)


@pytest.mark.parametrize("viscosity", [1e-3, 2.1, 1e6, np.nan])
def test_viscosities_out_of_range_are_refused(viscosity):
    with pytest.raises(ValueError, match="burgers expects a viscosity from 0.002 to 2, got"):
        do.pde.Burgers(viscosity)
