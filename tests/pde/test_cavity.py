"""The driven cavity: the spectral method's velocities beside printed ones, the ansatz, and the
residual by nested autodiff.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from benchmarks.references import cavity

from ..nested import laplacian
from .flows import network, velocity

pytestmark = pytest.mark.usefixtures("x64")

CAVITIES = {100: do.pde.Cavity(), 1000: do.pde.Cavity(1000)}
MODES = 40
MISSED = {100: 2e-3, 400: 2e-3, 1000: 2e-3, 5000: 2e-2}
"""What so many polynomials miss, farther than 0.3 from the ends of the lid."""

HALF = np.array([0.5])

HEIGHTS = np.array(
    [0.9766, 0.9688, 0.9609, 0.9531, 0.8516, 0.7344, 0.6172, 0.5, 0.4531, 0.2813, 0.1719, 0.1016]
)
WIDTHS = np.array([0.9609, 0.9531, 0.9063, 0.8594, 0.8047, 0.5, 0.2344, 0.2266, 0.1563, 0.0938])
GHIA = {
    100: (
        [
            *(0.84123, 0.78871, 0.73722, 0.68717, 0.23151, 0.00332),
            *(-0.13641, -0.20581, -0.21090, -0.15662, -0.10150, -0.06434),
        ],
        [
            *(-0.07391, -0.08864, -0.16914, -0.22445, -0.24533),
            *(0.05454, 0.17527, 0.17507, 0.16077, 0.12317),
        ],
    ),
    1000: (
        [
            *(0.65928, 0.57492, 0.51117, 0.46604, 0.33304, 0.18719),
            *(0.05702, -0.06080, -0.10648, -0.27805, -0.38289, -0.29730),
        ],
        [
            *(-0.27669, -0.33714, -0.51550, -0.42665, -0.31966),
            *(0.02526, 0.32235, 0.33075, 0.37095, 0.32627),
        ],
    ),
    5000: (
        [
            *(0.48223, 0.46120, 0.45992, 0.46036, 0.33556, 0.20087),
            *(0.08183, -0.03039, -0.07404, -0.22855, -0.33050, -0.40435),
        ],
        [
            *(-0.55069, -0.55408, -0.41442, -0.36214, -0.30018),
            *(0.00945, 0.27280, 0.28066, 0.35368, 0.42951),
        ],
    ),
}
"""Ghia, Ghia and Shin 1982, tables I and II: u at heights of the vertical centre line, v along the
horizontal one, by differences of second order on 129 × 129 points, and 257 × 257 at Re 5,000.
"""
MISSED_BY_GHIA = {100: (1e-2, 2e-2), 1000: (1e-2, 2e-2), 5000: (3e-2, 3e-2)}
"""How far these are off, of u and of v: more where layers are thin. What 40 polynomials miss is
less.
"""


@functools.cache
def spectral(modes=MODES):
    """The coefficients of all flows, by fewer polynomials than the package's data: each begins with
    the one before.
    """
    counts = dict.fromkeys(cavity.COUNTS, [modes])
    return {number: found for number, (found,) in zip(counts, cavity.flows(counts), strict=True)}


@pytest.mark.parametrize("reynolds", GHIA)
def test_centre_lines_by_differences(reynolds):
    found = spectral()[reynolds]
    upright, across = GHIA[reynolds]
    in_u, in_v = MISSED_BY_GHIA[reynolds]
    u = cavity.velocities(found, HALF, HEIGHTS)[0, :, 0]
    v = cavity.velocities(found, WIDTHS, HALF)[:, 0, 1]
    np.testing.assert_allclose(u, upright, atol=in_u)
    np.testing.assert_allclose(v, across, atol=in_v)
    assert np.sqrt(np.mean(np.square(u - upright))) < in_u / 2
    assert np.sqrt(np.mean(np.square(v - across))) < in_v / 2


def test_extremes_at_re_1000():
    """Botella and Peyret 1998, tables 9 to 11, by 160 polynomials."""
    found, fine = spectral()[1000], np.linspace(0, 1, 2002)[1:-1]
    u = cavity.velocities(found, HALF, fine)[0, :, 0]
    v = cavity.velocities(found, fine, HALF)[:, 0, 1]
    np.testing.assert_allclose(u.min(), -0.3885698, atol=5e-6)
    np.testing.assert_allclose((v.max(), v.min()), (0.3769447, -0.5270771), atol=5e-6)
    np.testing.assert_allclose(fine[u.argmin()], 0.1717, atol=5e-4)
    np.testing.assert_allclose(fine[[v.argmax(), v.argmin()]], (0.1578, 0.9092), atol=5e-4)
    psi = cavity.stream(found, fine[::5], fine[::5]).value
    np.testing.assert_allclose(psi.min(), -0.1189366, atol=5e-6)


@pytest.mark.parametrize(("reynolds", "missed"), MISSED.items())
def test_the_data_are_those_of_the_spectral_method(reynolds, missed):
    """To what 40 polynomials miss: far more near the lid's ends than elsewhere."""
    places = cavity.places()
    points, slopes, _, operator = do.pde.Cavity(reynolds).reference()
    assert operator == do.Gradient()
    grid = np.stack(np.meshgrid(places, places, indexing="ij"), axis=2)
    np.testing.assert_allclose(points, grid.reshape(-1, 2), atol=1e-15)
    expected = cavity.velocities(spectral()[reynolds], places, places).reshape(-1, 2)
    gap = np.abs(np.stack([slopes[:, 1], -slopes[:, 0]], axis=1) - expected).max(axis=1)
    ends = np.minimum(points[:, 0], 1 - points[:, 0]) + 1 - points[:, 1]
    assert gap[ends > 0.3].max() < missed and gap.max() < 4e-2
    assert np.sqrt(np.mean(np.square(gap))) < missed


@pytest.mark.slow("computes references anew")
@pytest.mark.parametrize("reynolds", cavity.COUNTS)
def test_references_with_fewer_polynomials(reynolds):
    problem, places = do.pde.Cavity(reynolds), cavity.places()
    _, slopes, rel_error, _ = problem.reference()
    again = cavity.velocities(spectral(64)[reynolds], places, places).reshape(-1, 2)
    gap = np.stack([-again[:, 1], again[:, 0]], axis=1) - slopes
    assert np.abs(gap).max() < rel_error * np.abs(slopes).max()


@pytest.mark.parametrize("reynolds", CAVITIES)
def test_walls_are_held(reynolds):
    """By networks, and by the null model."""
    problem, along = CAVITIES[reynolds], jnp.linspace(0.02, 0.98, 9)
    for wall in problem.domain.faces:
        ends = {"lower": 0.0, "upper": 1.0}
        fixed = jnp.full(9, ends[wall.end])
        x = jnp.stack([fixed, along] if wall.axis == 0 else [along, fixed], axis=1)
        moves = wall.axis == 1 and wall.end == "upper"
        for psi in (network(problem), problem.null_shape):
            np.testing.assert_allclose(jax.vmap(psi)(x), 0, atol=1e-15)
            expected = np.tile([float(moves), 0.0], (9, 1))
            np.testing.assert_allclose(jax.vmap(velocity(psi))(x), expected, atol=1e-13)


def test_networks_are_free_inside():
    """Also near the corners, where they are like r² beside Taylor's flow, which is like r."""
    psi, without = network(CAVITIES[100]), CAVITIES[100].null_shape
    for r in (1.0, 1e-2, 1e-4):
        for x in (jnp.array([0.4 * r, 1 - 0.3 * r]), jnp.array([1 - 0.4 * r, 1 - 0.3 * r])):
            assert 1e-5 < abs(psi(x) - without(x)) / r**2 < 1
            assert r < 1 or abs(without(x)) > 1e-3


def test_corners_are_taylors():
    """With the solution that Batchelor's book prints, in polar coordinates around a corner: ψ/r at
    angles from the lid, whose velocity is 1.
    """
    psi, r = CAVITIES[100].null_shape, 1e-7
    for angle in (0.2, 0.8, 1.3):
        sine, cosine, half = np.sin(angle), np.cos(angle), np.pi / 2
        scraped = (angle * cosine + half * angle * sine - half**2 * sine) / (half**2 - 1)
        for side in (r * cosine, 1 - r * cosine):
            got = psi(jnp.array([side, 1 - r * sine])) / r
            np.testing.assert_allclose(got, scraped, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("reynolds", CAVITIES)
def test_the_residual_of_another_flow(reynolds, getkey):
    """Δω/Re − u·∇ω with ω = ∂v/∂x − ∂u/∂y, which is −Δψ, times the weight of the docstring."""
    problem = CAVITIES[reynolds]
    psi = lambda x: jnp.sin(2 * x[0] + x[1]) * jnp.exp(x[0] * x[1]) + x[1] ** 4
    flow = velocity(psi)

    def vorticity(x):
        (_, u_y), (v_x, _) = jax.jacfwd(flow)(x)
        return v_x - u_y

    def both(x):
        expected = laplacian(vorticity)(x) / reynolds - flow(x) @ jax.grad(vorticity)(x)
        for end in (0.0, 1.0):
            squared = (x[0] - end) ** 2 + (x[1] - 1) ** 2
            expected = expected * squared**2 / (squared + 0.01) ** 2
        return problem.residual(do.exact(problem.operators())(psi)(x), x), expected

    got, expected = jax.jit(jax.vmap(both))(problem.sample(getkey(), 10))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_stream_function_is_0_in_all_corners(dtype):
    """Where the velocity jumps, it is 0 itself."""
    problem = CAVITIES[100]
    net = lambda x: jnp.sum(jnp.sin(x + 1.0))
    corners = jnp.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype)
    values = jax.vmap(problem.ansatz(net))(corners)
    np.testing.assert_array_equal(values, 0)
    nearby = jnp.array([1e-6, 1 - 1e-6], dtype)
    assert jnp.isfinite(problem.ansatz(net)(nearby))
