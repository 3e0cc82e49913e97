"""Semilinear parabolic equations: reference values from elsewhere, residual, data and points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import diffop as do
from diffop.pde.semilinear.radial import value_at_origin

from ..draws import uniform
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

NONLINEARITIES = {
    do.pde.SemilinearHeat: lambda u, d: (1 - u**2) / (1 + u**2),
    do.pde.SemilinearAllenCahn: lambda u, d: u - u**3,
    do.pde.SemilinearSineGordon: lambda u, d: d * jnp.sin(u / d),
}
TERMINAL = {
    do.pde.SemilinearHeat: lambda x: 5 / (10 + 2 * x @ x),
    do.pde.SemilinearAllenCahn: lambda x: np.arctan(x.max()),
    do.pde.SemilinearSineGordon: lambda x: 5 * len(x) / (10 + 2 * x @ x),
}
SLOPES = {
    do.pde.SemilinearHeat: lambda x: -20 * x / (10 + 2 * x @ x) ** 2,
    do.pde.SemilinearAllenCahn: lambda x: (x == x.max()) / (1 + x.max() ** 2),
    do.pde.SemilinearSineGordon: lambda x: -20 * len(x) * x / (10 + 2 * x @ x) ** 2,
}


@pytest.fixture(params=NONLINEARITIES, ids=lambda cls: cls.name)
def problem(request):
    return request.param(3)


def test_the_residual_is_the_equation(problem, getkey):
    u = lambda x: jnp.sin(x[0] + 0.3 * x[1] * x[3]) * jnp.exp(0.1 * x[2] * x[3])

    def expected(x):
        laplacian = jnp.trace(jax.hessian(u)(x)[:3, :3])
        return jax.grad(u)(x)[3] + laplacian + NONLINEARITIES[type(problem)](u(x), 3)

    def residual(x):
        return problem.residual(do.exact(problem.operators())(u)(x), x)

    x = jax.random.normal(getkey(), (5, 4))
    both = jax.jit(jax.vmap(lambda x: (residual(x), expected(x))))(x)
    np.testing.assert_allclose(*both, rtol=1e-12)


def test_data_are_the_value_and_its_slope_at_the_last_time(problem, getkey):
    value, slope = problem.conditions(getkey(), 50)
    assert value.operator == do.Identity() and slope.operator == do.Gradient(dims=(0, 1, 2))
    assert (value.weight, slope.weight) == (1.0, 0.05)
    for condition, formula in ((value, TERMINAL), (slope, SLOPES)):
        x = np.asarray(condition.points)
        assert (x[:, 3] == 0.3).all()
        expected = [formula[type(problem)](point) for point in x[:, :3]]
        np.testing.assert_allclose(condition.values, expected, rtol=1e-12)


def normal(values):
    """Kolmogorov-Smirnov at a level of one in a thousand."""
    return scipy.stats.kstest(np.ravel(values), "norm").pvalue > 1e-3


def test_data_are_where_the_particle_is_at_the_last_time(problem, getkey):
    points = np.asarray(problem.conditions(getkey(), 4000)[0].points)
    assert all(normal(points[:, axis] / np.sqrt(0.6)) for axis in range(3))


def test_points_are_on_paths_of_a_particle(problem, getkey):
    points = np.asarray(problem.sample(getkey(), 4000))
    time = points[:, 3]
    assert time.min() >= 0 and time.max() <= 0.3
    assert uniform(time / 0.3)
    scaled = points[:, :3] / np.sqrt(2 * time)[:, None]
    assert normal(scaled)
    # independent: four standard deviations of a correlation
    assert np.abs(np.corrcoef(np.c_[scaled, time].T) - np.eye(4)).max() < 4 / np.sqrt(4000)


@pytest.mark.parametrize("dim", [1, 10, 1000])
def test_radial_solutions_against_a_closed_form(dim):
    """g(u) = λu and h = e^(−|x|²/d): u(0, 0) = e^(λT) E[h(√2 W_T)] = e^(λT) (1 + 4T/d)^(−d/2)."""
    got = value_at_origin(lambda u: 0.7 * u, lambda s: jnp.exp(-s / dim), dim, 0.3)
    np.testing.assert_allclose(got, np.exp(0.21) * (1 + 1.2 / dim) ** (-dim / 2), rtol=1e-5)


PUBLISHED = {
    do.pde.SemilinearHeat: (0.47006, 0.31674, 0.28753, 0.28433),
    do.pde.SemilinearAllenCahn: (0.89060, 1.04510, 1.09100, 1.11402),
    do.pde.SemilinearSineGordon: (0.3229470, 0.0528368, 0.0055896, 0.0005621),
}


@pytest.mark.parametrize("cls", PUBLISHED, ids=lambda cls: cls.name)
@pytest.mark.parametrize("number", range(4))
def test_reference_values_are_those_that_multilevel_picard_iterations_give(cls, number):
    dim = (10, 100, 1000, 10_000)[number]
    points, (value,), rel_error, _ = cls(dim).reference()
    assert points.shape == (1, dim + 1) and not points.any()
    assert rel_error <= 1e-3
    scale = dim if cls is do.pde.SemilinearSineGordon else 1
    np.testing.assert_allclose(value / scale, PUBLISHED[cls][number], rtol=1.2e-3)


def branching(dim, trees, seed, diffusion=2.0, rate=2.0):
    """u(0, 0) of the Allen-Cahn equation, by branching: its mean and standard error.

    With u = e^(T−t) v the equation is v_t + Δv − e^(2(T−t)) v³ = 0. A particle that lives for an
    exponential time and then is replaced by three of its kind, multiplied by what the cubic term
    takes away, gives v as the mean of the product of the values where the last ones end. Source:
    McKean 1975; Henry-Labordère et al. 2019, "Branching diffusion representation of semilinear
    PDEs".
    """
    random = np.random.default_rng(seed)
    values = np.ones(trees)
    tree, x, left = np.arange(trees), np.zeros((trees, dim)), np.full(trees, 0.3)
    while tree.size:
        life = random.exponential(1 / rate, tree.size)
        step, ends = np.minimum(life, left), life >= left
        x = x + np.sqrt(diffusion * step)[:, None] * random.standard_normal(x.shape)
        # e^step from u = e^(T−t) v, and e^(rate step) from the density of life
        factor = np.exp((1 + rate) * step) * np.where(ends, np.arctan(x.max(1)), -1 / rate)
        np.multiply.at(values, tree, factor)
        tree, x, left = (np.repeat(part[~ends], 3, axis=0) for part in (tree, x, left - step))
    return values.mean(), values.std() / np.sqrt(trees)


def test_allen_cahn_by_branching():
    """The published value belongs to Δ, not to Δ/2, and to + u − u³."""
    (value,) = do.pde.SemilinearAllenCahn(10).reference().values
    mean, error = branching(10, 200_000, seed=0)
    assert error < 0.01 and abs(mean - value) < 4 * error
    halved, error = branching(10, 50_000, seed=0, diffusion=1.0)
    assert abs(halved - value) > 8 * error


test_what_cannot_be_is_refused = refusals(
    {
        "space_dim of at least 1 and a positive duration, got": lambda: do.pde.SemilinearHeat(0),
        "semilinear-heat expects .*duration=0.0": lambda: do.pde.SemilinearHeat(2, 0.0),
        "reference values in 10, 100, 1000, 10000 dimensions at duration 0.3, got 7 dim": lambda: (
            do.pde.SemilinearAllenCahn(7).reference()
        ),
        "brownian_marginals expects .* got count=0, dim=3 and duration=1.0": lambda: (
            do.pde.brownian_marginals(jax.random.key(0), 0, 3, 1.0)
        ),
    }
)
