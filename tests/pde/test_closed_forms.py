"""The closed forms of problems on the ball, on cubes, of densities, oscillators and vortices."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.pde.ansatz import LogGaussian

from ..draws import check_mean
from ..nested import laplacian
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)

D = 4


def two_body(problem, x):
    """The paper's sum, term by term."""
    c = problem.coefficients
    neighbours = zip(c, x, x[1:D], strict=False)
    return sum(a * jnp.sin(b + jnp.cos(e) + e * jnp.cos(b)) for a, b, e in neighbours)


@pytest.fixture
def biharmonic(getkey):
    return do.pde.BiharmonicWaves(D, key=getkey())


@pytest.fixture
def density(getkey):
    return do.pde.StationaryFokkerPlanck(D, key=getkey())


def anything(x):
    return jnp.sin(x[0] + 0.3 * x[1] * x[3]) * jnp.exp(0.1 * x[2] * x[3])


def test_the_source_of_the_biharmonic_equation(biharmonic, getkey):
    def written_out(x):
        waves = [
            biharmonic.coefficients[i] * jnp.sin(2.0 * (x[i] + x[i + 1])) for i in range(D - 1)
        ]
        return (1 - x @ x) ** 2 * sum(waves)

    def both(x):
        exact = (written_out(x), laplacian(laplacian(written_out))(x))
        return exact, (biharmonic.solution(x), biharmonic.source(x))

    expected, got = jax.jit(jax.vmap(both))(biharmonic.sample(getkey(), 10))
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(got[1], expected[1], atol=1e-11 * np.abs(expected[1]).max())


def test_value_and_slope_are_given_on_the_sphere(biharmonic, getkey):
    x = jax.random.normal(getkey(), (D,))
    x = x / jnp.linalg.norm(x)
    for u in (biharmonic.solution, biharmonic.ansatz(anything), biharmonic.null_shape):
        np.testing.assert_allclose(u(x), 0.0, atol=1e-14)
        np.testing.assert_allclose(jax.grad(u)(x), 0.0, atol=1e-13)
    np.testing.assert_allclose(biharmonic.ansatz(anything)(0.5 * x), anything(0.5 * x) * 0.75**2)


# Of each equation on a cube the term beside the Laplacian, as a function of u.
ON_CUBES = {
    "poisson-cube": lambda u: 0 * u,
    "allen-cahn-cube": lambda u: u - u**3,
    "sine-gordon-cube": jnp.sin,
}


@pytest.mark.parametrize("name", ON_CUBES)
def test_equations_on_a_cube(name, getkey):
    problem = do.pde.make(name, D, key=getkey())
    written_out = lambda x: two_body(problem, x)
    inside = problem.sample(getkey(), 30)
    assert jnp.abs(inside).max() <= 1
    (condition,) = problem.conditions(getkey(), 30)
    assert (jnp.abs(condition.points).max(axis=1) == 1).all()
    np.testing.assert_allclose(condition.values, jax.vmap(written_out)(condition.points))
    corner = jnp.ones((1, D))
    x = jnp.concatenate([inside, corner, -corner])
    left = lambda x: laplacian(written_out)(x) + ON_CUBES[name](written_out(x))
    expected = jax.jit(jax.vmap(left))(x)
    np.testing.assert_allclose(jax.vmap(problem.source)(x), expected, rtol=1e-10, atol=1e-12)


def test_heat_on_a_cube(getkey):
    """Its source by nested derivatives; where it begins; and the faces, at any time."""
    problem = do.pde.HeatOnCube(D, key=getkey())

    def written_out(x):
        return jnp.exp(-x[D]) * two_body(problem, x)

    def left(x):
        return jax.grad(written_out)(x)[D] - jnp.trace(jax.hessian(written_out)(x)[:D, :D])

    points = problem.sample(getkey(), 30)
    expected = jax.jit(jax.vmap(left))(points)
    np.testing.assert_allclose(jax.vmap(problem.source)(points), expected, rtol=1e-10, atol=1e-12)
    first = points.at[:, D].set(0.0)
    begun = jax.vmap(problem.ansatz(lambda x: 7.0 + x[0]))(first)
    np.testing.assert_allclose(begun, jax.vmap(written_out)(first), rtol=1e-12)
    (condition,) = problem.conditions(getkey(), 30)
    assert (jnp.abs(condition.points[:, :D]).max(axis=1) == 1).all()
    assert np.ptp(condition.points[:, D]) > 0.5
    np.testing.assert_allclose(condition.values, jax.vmap(written_out)(condition.points))


def test_the_solution_on_the_cube_has_the_same_size_in_all_dimensions():
    sizes = []
    for dim in (100, 10_000):
        problem = do.pde.OnCube("poisson", dim, key=jax.random.key(1))
        values = jax.vmap(problem.solution)(problem.sample(jax.random.key(2), 50))
        sizes.append(float(jnp.std(values)))
    np.testing.assert_allclose(*sizes, rtol=0.5)
    assert min(sizes) > 0.2


def test_the_density_is_stationary(density, getkey):
    """½ Σ ∂_i∂_j (D_ij p) − ∇·(f p) = 0, by derivatives of the products themselves."""
    p = lambda x: jnp.exp(density.solution(x))
    spread = lambda x: p(x) * density.sigma(x) @ density.sigma(x).T
    flux = lambda x: p(x) * density.drift(x)

    def left(x):
        second = jnp.einsum("ijij", jax.hessian(spread)(x))
        return (0.5 * second - jnp.trace(jax.jacfwd(flux)(x))) / p(x)

    np.testing.assert_allclose(jax.jit(jax.vmap(left))(density.sample(getkey(), 5)), 0, atol=1e-12)


def test_the_residual_is_the_equation_divided_by_the_density(density, getkey):
    """Also for a logarithm of something that is not stationary."""
    p = lambda x: jnp.exp(anything(x))
    spread = lambda x: p(x) * density.sigma(x) @ density.sigma(x).T
    flux = lambda x: p(x) * density.drift(x)

    def both(x):
        second = jnp.einsum("ijij", jax.hessian(spread)(x))
        expected = (0.5 * second - jnp.trace(jax.jacfwd(flux)(x))) / p(x)
        return density.residual(do.exact(density.operators())(anything)(x), x), expected

    got, expected = jax.jit(jax.vmap(both))(density.sample(getkey(), 5))
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    assert np.abs(expected).min() > 1e-2


def test_the_drift_is_no_gradient_and_sigma_is_full(density, getkey):
    """Of the density's process: it is not reversible, σ⁻² (f − ½ ∇·D) has a curl."""
    x = density.sample(getkey(), 1)[0]
    matrix = np.asarray(density.sigma(x))
    assert np.abs(matrix).min() > 1e-3 and np.linalg.cond(matrix) < 10
    np.testing.assert_allclose(density.axes @ density.axes.T, np.eye(D), atol=1e-12)

    def field(x):
        covariance = lambda x: density.sigma(x) @ density.sigma(x).T
        divergence = jnp.einsum("ijj->i", jax.jacfwd(covariance)(x))
        return jnp.linalg.solve(covariance(x), density.drift(x) - 0.5 * divergence)

    jacobian = jax.jacfwd(field)(x)
    assert np.abs(jacobian - jacobian.T).max() > 0.1


def stiffness(dim, trap, spring):
    differences = np.diff(np.eye(dim), axis=0)
    return trap**2 * np.eye(dim) + spring * differences.T @ differences


@pytest.mark.parametrize(("dim", "trap", "spring"), [(2, 1.0, 2.0), (5, 0.7, 3.0), (3, 2.0, 0.0)])
def test_the_ground_state_of_oscillators(dim, trap, spring, getkey):
    """Of the matrix K of the potential: −½ xᵀ√K x, with the energy ½ tr √K."""
    problem = do.pde.OscillatorChain(dim, trap, spring)
    values, vectors = np.linalg.eigh(stiffness(dim, trap, spring))
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    np.testing.assert_allclose(problem.energy, 0.5 * np.trace(root), rtol=1e-12)
    for x in problem.sample(getkey(), 3):
        np.testing.assert_allclose(problem.solution(x), -0.5 * x @ root @ x, rtol=1e-12)
        energy = 0.5 * x @ stiffness(dim, trap, spring) @ x
        np.testing.assert_allclose(problem.potential(x), energy, rtol=1e-12)


def test_the_local_energy_is_that_of_the_hamiltonian(getkey):
    """(Hψ)/ψ of any positive ψ; its mean over |ψ|² is not below the ground state's energy."""
    problem = do.pde.OscillatorChain(D)
    psi = lambda x: jnp.exp(anything(x))
    x = problem.sample(getkey(), 1)[0]
    values = do.exact(problem.operators())(anything)(x)
    expected = -0.5 * laplacian(psi)(x) / psi(x) + problem.potential(x)
    np.testing.assert_allclose(problem.local_energy(values, x), expected, rtol=1e-12)


def test_the_local_energy_of_independent_particles_varies_above_the_ground_state(getkey):
    """Their mean energy is E + ½ k per spring · ⟨stretch²⟩ = Nω/2 + k (N − 1)/(2ω): known."""
    problem = do.pde.OscillatorChain(D, trap=1.0, spring=2.0)
    x = problem.sample(getkey(), 40_000)  # distributed as |ψ|² of independent particles

    def energy(x):
        return problem.local_energy(do.exact(problem.operators())(lambda x: -0.5 * x @ x)(x), x)

    energies = np.asarray(jax.jit(jax.vmap(energy))(x))
    check_mean(energies, D / 2 + 2.0 * (D - 1) / 2)
    assert problem.energy < energies.mean() - 10 * energies.std() / np.sqrt(len(energies))


def test_the_points_are_those_of_independent_particles(getkey):
    points = do.pde.OscillatorChain(3, trap=2.0).sample(getkey(), 20_000)
    # four standard deviations of a mean of squares
    np.testing.assert_allclose(np.var(points), 0.25, rtol=4 * np.sqrt(2 / 60_000))


def test_a_bell_in_logarithm():
    u = LogGaussian(anything, 3.0)
    x = jnp.array([1.0, 0.5, -1.0, 2.0])
    assert u(0 * x) == 0.0
    np.testing.assert_allclose(u(x), -1.5 * 6.25 + anything(x), rtol=1e-12)


test_what_cannot_be_is_refused = refusals(
    {
        "biharmonic expects a dimension of at": lambda: do.pde.BiharmonicWaves(1, key=KEY),
        "poisson-cube expects a dimension of at least 2, got 1": lambda: do.pde.OnCube(
            "poisson", 1, key=KEY
        ),
        "heat-cube expects a dimension of at least 2, got 1": lambda: do.pde.HeatOnCube(1, key=KEY),
        "OnCube expects an equation among poisson, allen-cahn, sine-gordon, got 'heat'": lambda: (
            do.pde.OnCube("heat", 3, key=KEY)
        ),
        "fokker-planck expects a dimension of at least 2, got 1": lambda: (
            do.pde.StationaryFokkerPlanck(1, key=KEY)
        ),
        "taylor-green expects a finite positive viscosity, got": [
            lambda each=each: do.pde.TaylorGreen(each) for each in (0.0, -1.0, np.inf, np.nan)
        ],
        "at least 2 particles, .* got dim=1": lambda: do.pde.OscillatorChain(1),
        "a positive trap .* trap=0.0": lambda: do.pde.OscillatorChain(3, trap=0.0),
        "spring that is not negative, .*=-1": lambda: do.pde.OscillatorChain(3, spring=-1),
    }
)


def test_vortices_keep_their_shape(getkey):
    """Velocity and pressure in momentum's equation, by nested differentiation: u_t + u·∇u + ∇p −
    ν Δu = 0 for the pressure −¼ (cos 2x + cos 2y) e^{−4νt}.
    """
    problem = do.pde.TaylorGreen(viscosity=0.3)

    def velocity(x):
        slopes = jax.grad(problem.solution)(x)
        return jnp.stack([slopes[1], -slopes[0]])

    def pressure(x):
        return -(jnp.cos(2 * x[0]) + jnp.cos(2 * x[1])) / 4 * jnp.exp(-1.2 * x[2])

    def momentum(x):
        slopes, bends = jax.jacfwd(velocity)(x), jax.hessian(velocity)(x)
        forced = slopes[:, 2] + slopes[:, :2] @ velocity(x) + jax.grad(pressure)(x)[:2]
        return forced - 0.3 * (bends[:, 0, 0] + bends[:, 1, 1])

    x = problem.sample(getkey(), 10)
    np.testing.assert_allclose(jax.jit(jax.vmap(momentum))(x), 0, atol=1e-13)
    np.testing.assert_allclose(
        velocity(jnp.array([1.0, 0.5, 0.0])), [np.cos(1) * np.sin(0.5), -np.sin(1) * np.cos(0.5)]
    )


def test_networks_of_vortices(getkey):
    """They begin as the problem does, are 0 where the stream function is, and periodic."""
    problem = do.pde.TaylorGreen()
    u = problem.ansatz(eqx.nn.MLP(5, "scalar", 6, 2, jnp.tanh, key=getkey()))
    x = problem.sample(getkey(), 10)
    begun = -np.cos(x[:, 0]) * np.cos(x[:, 1])
    np.testing.assert_allclose(jax.vmap(u)(x.at[:, 2].set(0.0)), begun, atol=1e-15)
    turns = 2 * np.pi * jnp.array([[[1.0, 0, 0]], [[0, 1, 0]]])
    for turn in turns:
        np.testing.assert_allclose(jax.vmap(u)(x + turn), jax.vmap(u)(x), atol=1e-12)
    centre = jnp.array([np.pi / 2, np.pi / 2, 2.0])
    for function in (u, problem.solution):
        np.testing.assert_allclose(function(centre), 0, atol=1e-15)
    assert np.abs(jax.vmap(u)(x) - begun).min() > 1e-5
