"""Equations in all of space and in time whose solutions are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import diffop as do

from ..draws import uniform
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

D = 3


def hjb_lin(p, u_t, slopes, hessian, u, x):
    return u_t + jnp.trace(hessian) - jnp.sum(jnp.abs(slopes) ** p.power) / D + 2


def hjb_lqg(p, u_t, slopes, hessian, u, x):
    return u_t + jnp.trace(hessian) - p.mu * slopes @ slopes


def black_scholes_barenblatt(p, u_t, slopes, hessian, u, x):
    diffusion = 0.5 * p.sigma**2 * jnp.diag(hessian) @ x**2
    return u_t + diffusion - p.rate * (u - x @ slopes)


EQUATIONS = {
    do.pde.HJBLin(D): hjb_lin,
    do.pde.HJBLin(D, power=1.75): hjb_lin,
    do.pde.HJBLQG(D, mu=0.7): hjb_lqg,
    do.pde.BlackScholesBarenblatt(D, sigma=0.3, rate=0.1): black_scholes_barenblatt,
}


@pytest.fixture(params=EQUATIONS, ids=lambda problem: problem.name)
def problem(request):
    return request.param


def anything(x):
    return jnp.sin(x[0] + 0.3 * x[1] * x[3]) * jnp.exp(0.1 * x[2] * x[3])


def test_the_residual_is_the_equation(problem, getkey):
    def written_out(x):
        slope, hessian = jax.grad(anything)(x), jax.hessian(anything)(x)
        parts = (slope[D], slope[:D], hessian[:D, :D], anything(x), x[:D])
        return EQUATIONS[problem](problem, *parts)

    def residual(x):
        return problem.residual(do.exact(problem.operators())(anything)(x), x)

    x = jax.random.normal(getkey(), (5, D + 1))
    both = jax.jit(jax.vmap(lambda x: (residual(x), written_out(x))))(x)
    np.testing.assert_allclose(*both, rtol=1e-12)


def test_the_wave_equation(getkey):
    problem = do.pde.WaveEquation(D)
    x = jax.random.normal(getkey(), (D + 1,))
    hessian = jnp.diag(jax.hessian(anything)(x))
    residual = problem.residual(do.exact(problem.operators())(anything)(x), x)
    np.testing.assert_allclose(residual, hessian[D] - jnp.sum(hessian[:D]), rtol=1e-12)
    np.testing.assert_allclose(
        problem.solution(x), np.cosh(x[D]) * np.sinh(np.asarray(x[:D])).sum(), rtol=1e-12
    )


def test_terminal_values():
    x = jnp.array([0.5, -1.0, 2.0])
    expected = {"hjb-lin": 1.5, "hjb-lqg": np.log(6.25 / 2), "black-scholes-barenblatt": 5.25}
    for problem in EQUATIONS:
        end = jnp.append(x, problem.duration)
        values = problem.terminal(x), problem.solution(end), problem.null_shape(jnp.append(x, 0.2))
        np.testing.assert_allclose(values, expected[problem.name], rtol=1e-12)


def test_the_ansatz_has_the_value_at_the_last_time(problem, getkey):
    u = problem.ansatz(anything)
    x = jax.random.normal(getkey(), (D + 1,))
    end = x.at[D].set(problem.duration)
    np.testing.assert_allclose(u(end), problem.terminal(x[:D]), rtol=1e-12)
    assert abs(u(x) - problem.terminal(x[:D])) > 1e-3


def test_the_ansatz_of_the_wave_equation_has_both_data(getkey):
    u = do.pde.WaveEquation(D).ansatz(anything)
    start = jax.random.normal(getkey(), (D + 1,)).at[D].set(0.0)
    np.testing.assert_allclose(u(start), np.sinh(np.asarray(start[:D])).sum(), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(u)(start)[D], 0.0, atol=1e-14)


@pytest.mark.parametrize("mu", [1.0, 0.3, 2.5])
def test_the_cole_hopf_formula_by_monte_carlo(mu):
    """At a level of about one in 10,000."""
    problem, count = do.pde.HJBLQG(4, mu=mu, duration=1.5), 400_000
    x = np.array([0.3, -1.0, 0.5, 2.0, 0.4])
    steps = np.random.default_rng(0).standard_normal((count, 4)) * np.sqrt(2 * 1.1)
    h = np.log((1 + np.sum((x[:4] + steps) ** 2, axis=1)) / 2)
    weights = np.exp(-mu * h)
    expected = -np.log(weights.mean()) / mu
    error = weights.std() / weights.mean() / mu / np.sqrt(count)
    assert error < 5e-3
    assert abs(problem.solution(jnp.asarray(x)) - expected) < 4 * error


@pytest.mark.parametrize("mu", [1e-7, 1e-3, 0.5, 1.0, 20.0, 50.0, 200.0, 1000.0])
def test_the_cole_hopf_formula_at_any_rate(mu):
    """At the end it is the terminal value; before, the mean over a line by quadrature."""
    u = do.pde.HJBLQG(1, mu=mu).solution
    np.testing.assert_allclose(u(jnp.array([0.3, 1.0])), np.log(1.09 / 2), rtol=1e-11)

    def weight(w):  # with e^(−μ u(x, 0.5)) of size one
        h = np.log((1 + (0.3 + w) ** 2) / (1 + 0.3**2))
        return np.exp(-mu * h - w * w / 2) / np.sqrt(2 * np.pi)

    ends = [-0.3, 0.0, -1.0, 1.0]
    mean, _ = scipy.integrate.quad(weight, -12, 12, points=ends, limit=400, epsabs=0, epsrel=1e-11)
    expected = np.log(1.09 / 2) - np.log(mean) / mu
    if mu < 0.1:  # the mean of h itself, and half of its variance
        mean, second = (_mean_of_terminal(power) for power in (1, 2))
        expected = mean - mu * (second - mean**2) / 2
    np.testing.assert_allclose(u(jnp.array([0.3, 0.5])), expected, rtol=max(1e-9, mu**2))
    with jax.enable_x64(False):
        found = u(jnp.array([0.3, 0.5], jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("mu", [0.5, 1.0, 100.0])
@pytest.mark.parametrize("size", [1e5, 1e7, 1e12])
def test_the_cole_hopf_formula_far_out(mu, size):
    """There a diffusion of size one changes nothing."""
    u = do.pde.HJBLQG(1, mu=mu).solution
    expected = np.log((1 + size**2) / 2)
    np.testing.assert_allclose(u(jnp.array([size, 0.5])), expected, rtol=1e-8)


def _mean_of_terminal(power):
    def integrand(w):
        return np.log((1 + (0.3 + w) ** 2) / 2) ** power * np.exp(-w * w / 2) / np.sqrt(2 * np.pi)

    return scipy.integrate.quad(integrand, -12, 12, limit=400, epsabs=0, epsrel=1e-11)[0]


def test_the_cole_hopf_formula_against_the_published_value():
    """Han, Jentzen and E 2018: 4.5901 in 100 dimensions."""
    np.testing.assert_allclose(do.pde.HJBLQG(100).solution(jnp.zeros(101)), 4.5901, atol=1e-4)


def test_single_precision_of_the_cole_hopf_formula(getkey):
    problem = do.pde.HJBLQG(10_000)
    x = problem.sample(getkey(), 20)
    both = (jax.vmap(problem.solution)(points) for points in (x.astype(jnp.float32), x))
    np.testing.assert_allclose(*both, rtol=1e-6)


def test_points_are_normal_in_space_and_uniform_in_time(getkey):
    points = np.asarray(do.pde.gaussian_space_time(getkey(), 4000, D, duration=2.0))
    assert points[:, D].min() >= 0 and points[:, D].max() <= 2
    assert uniform(points[:, D] / 2)
    assert scipy.stats.kstest(points[:, :D].ravel(), "norm").pvalue > 1e-3
    # independent: four standard deviations of a correlation
    assert np.abs(np.corrcoef(points.T) - np.eye(D + 1)).max() < 4 / np.sqrt(4000)


test_what_cannot_be_is_refused = refusals(
    {
        "wave expects a space_dim of at least 1": lambda: do.pde.WaveEquation(0),
        "hjb-lin expects .* a positive duration, got .*0.0": lambda: do.pde.HJBLin(2, 0.0),
        "hjb-lin expects a power of at least 1, got 0.5": lambda: do.pde.HJBLin(2, power=0.5),
        "hjb-lqg expects a positive mu, got 0": lambda: do.pde.HJBLQG(2, mu=0),
        "gaussian_space_time expects .* got count=3, dim=0 and duration=1.0": lambda: (
            do.pde.gaussian_space_time(jax.random.key(0), 3, 0, 1.0)
        ),
    }
)
