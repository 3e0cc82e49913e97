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


@pytest.mark.parametrize("name", EVOLUTIONS)
def test_networks_begin_where_the_problem_does(name):
    problem = EVOLUTIONS[name]
    ((lower, start), (upper, _)) = problem.domain.first, problem.domain.last
    x = jnp.linspace(lower, upper, 8)
    u0 = {
        "burgers": -np.sin(np.pi * x),
        "thick burgers": -np.sin(np.pi * x),
        "kdv-cosine": np.cos(np.pi * x),
        "kuramoto-sivashinsky": np.cos(x) + np.sin(2 * x) / 2,
        "advection": np.sin(x),
        "allen-cahn-1d": x**2 * np.cos(np.pi * x),
        "wave-1d": np.sin(np.pi * x) + np.sin(4 * np.pi * x) / 2,
    }[name]
    u = network(problem)
    np.testing.assert_allclose(at(u, x, start), u0, atol=1e-14)
    assert np.abs(at(u, x, 0.3 * problem.domain.duration) - u0)[1:-1].min() > 1e-4
    if isinstance(problem, do.pde.AbstractSolvedProblem):
        np.testing.assert_allclose(at(problem.solution, x, start), u0, atol=1e-14)


def test_what_every_string_does(getkey):
    """From rest, at any time: d'Alembert's formula for another string than the problem's."""
    problem = EVOLUTIONS["wave-1d"]
    begun = lambda x: jnp.sin(3 * jnp.pi * x) - jnp.sin(2 * jnp.pi * x) ** 3
    string = lambda x: (begun(x[0] - 2 * x[1]) + begun(x[0] + 2 * x[1])) / 2
    moved = lambda u, x: jnp.stack(
        [u(x), u(x * jnp.array([1.0, -1.0])), u(x + jnp.array([0.0, 1.0])), -u(-x), u(x + 2)]
    )
    x = jax.random.uniform(getkey(), (20, 2))
    for u in (string, problem.solution, network(problem)):
        values = jax.vmap(lambda x, u=u: moved(u, x))(x)
        np.testing.assert_allclose(values, np.repeat(values[:, :1], 5, axis=1), atol=1e-13)
        rate = jax.vmap(jax.grad(u))(x.at[:, 1].set(0.0))[:, 1]
        np.testing.assert_allclose(rate, 0, atol=1e-13)


@pytest.mark.parametrize("name", ["burgers", "thick burgers"])
def test_the_front_is_odd(name, getkey):
    problem = EVOLUTIONS[name]
    x = jax.random.uniform(getkey(), (20, 2))
    across = x.at[:, 0].multiply(-1.0)
    for u in (problem.solution, network(problem)):
        np.testing.assert_allclose(jax.vmap(u)(across), -jax.vmap(u)(x), atol=1e-14)


def test_networks_follow_the_front(getkey):
    """A width of the front away from it, they differ as much as across the domain."""
    problem = EVOLUTIONS["burgers"]
    u = network(problem)
    front = jnp.linspace(0, 0.03, 50)
    straight = front * (at(u, front[-1:], 1.0) / front[-1])
    assert np.abs(at(u, front, 1.0) - straight).max() > 0.1 * np.abs(at(u, front, 1.0)).max()


@pytest.mark.parametrize("time", [0.01, 0.3, 1.0])
def test_diffusion_and_reaction_alone(time):
    """The kink's convolution with the heat kernel by quadrature, and the reaction's equation by
    Dormand's and Prince's method.
    """
    problem = EVOLUTIONS["allen-cahn-1d"]
    without = problem.ansatz(lambda z: 0 * z[0])
    x = np.array([-1.0, -0.995, -0.5, 0.1, 0.7, 0.99, 1.0])
    q = 2 / np.pi * np.cos(np.pi * x / 2)
    width = np.sqrt(2e-4 * time)  # of the kernel, its standard deviation
    z = np.linspace(-9, 9, 200_001)
    kernel = np.exp(-z * z / 2)
    kink = np.abs(q[:, None] + width * z) @ kernel / kernel.sum()
    h = x**2 * np.cos(np.pi * x) + 2 * (kink - q)
    how = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    reacted = solve_ivp(lambda _, u: 5 * u - 5 * u**3, (0, time), h, **how).y[:, -1]
    np.testing.assert_allclose(at(without, jnp.asarray(x), time), reacted, atol=1e-9)
    null = jax.vmap(problem.null_shape)(jnp.stack([x, np.full(7, time)], axis=1))
    np.testing.assert_allclose(null, reacted, atol=1e-9)


def test_the_kink_is_gone_at_once(getkey):
    """Residuals are finite and moderate as near to it as points can be."""
    problem = EVOLUTIONS["allen-cahn-1d"]
    u = network(problem)
    x = jnp.array([[1.0, 1e-9], [-1.0, 1e-4], [0.9999, 1e-8], [1.0, 0.1], [0.3, 1e-12]])
    values = jax.vmap(do.exact(problem.operators())(u))(x)
    assert np.abs(jax.vmap(problem.residual)(values, x)).max() < 5
    assert np.isfinite(jax.vmap(do.exact(problem.operators())(u))(x.at[:, 1].set(0.0))["u"]).all()


def test_the_kink_in_single_precision(getkey):
    """Also at time 0, where terms of 2e3 cancel at the kink: as in double precision, to eight of
    their roundings.
    """
    problem = EVOLUTIONS["allen-cahn-1d"]
    u = problem.ansatz(eqx.nn.MLP(4, "scalar", 4, 1, jnp.tanh, key=getkey()))
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.99, 0.0], [0.3, 1e-38], [0.0, 0.0], [0.5, 1.0]])

    def residuals(dtype):
        cast = lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf
        network, points = jax.tree.map(cast, u), jnp.asarray(x, dtype)
        values = jax.vmap(do.exact(problem.operators())(network))(points)
        return jax.vmap(problem.residual)(values, points)

    atol = np.array([2e-3, 2e-3, 1e-5, 1e-5, 1e-5, 1e-5])
    single, double = map(np.asarray, map(residuals, (jnp.float32, jnp.float64)))
    np.testing.assert_array_less(np.abs(single - double), atol)


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
    points, values, rel_error, _ = problem.reference()
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
    _, values, rel_error, _ = whole.get(name, EVOLUTIONS[name]).reference()
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
