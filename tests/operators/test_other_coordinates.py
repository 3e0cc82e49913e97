"""Operators in other coordinates beside closed forms, and beside themselves before."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..draws import many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")


def polar(q):
    return q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])])


def cylindrical(q):
    return jnp.stack([q[0] * jnp.cos(q[1]), q[0] * jnp.sin(q[1]), q[2]])


def spherical(q):
    r, theta, phi = q
    ring = r * jnp.sin(theta)
    return jnp.stack([ring * jnp.cos(phi), ring * jnp.sin(phi), r * jnp.cos(theta)])


def u(q):
    return jnp.exp(q[0] / 2) * jnp.sin(2 * q[1]) * jnp.cos(q[-1] - q[0] * q[1])


def laplacian(name, u, q):
    """On paper."""
    g, h = jax.grad(u)(q), jax.hessian(u)(q)
    r, along = q[0], h[0, 0]
    if name == "spherical":
        sine = jnp.sin(q[1])
        angles = h[1, 1] + g[1] * jnp.cos(q[1]) / sine + h[2, 2] / sine**2
        return along + 2 * g[0] / r + angles / r**2
    return along + g[0] / r + h[1, 1] / r**2 + (h[2, 2] if name == "cylindrical" else 0)


ONE = np.ones(())
SYSTEMS = {  # the map, and the metric
    "polar": (polar, lambda q: jnp.stack([ONE, q[0] ** 2])),
    "cylindrical": (cylindrical, lambda q: jnp.diag(jnp.stack([ONE, q[0] ** 2, ONE]))),
    "spherical": (spherical, lambda q: jnp.stack([ONE, q[0] ** 2, (q[0] * jnp.sin(q[1])) ** 2])),
}
Q = np.array([1.3, 0.8, 0.4])


@pytest.mark.parametrize("name", SYSTEMS)
def test_laplacians_in_closed_form(name):
    mapping, metric = SYSTEMS[name]
    q = jnp.asarray(Q[: 2 if name == "polar" else 3])
    ways = {
        "map": do.Laplacian().in_coordinates(mapping),
        "matrix": do.SecondOrder(np.eye(len(q))).in_coordinates(mapping),
        "metric": do.LaplaceBeltrami(metric),
        "embedding": do.LaplaceBeltrami.embedded(mapping),
    }
    got = jax.jit(lambda q: do.exact(ways)(u)(q))(q)
    for way, value in got.items():
        np.testing.assert_allclose(value, laplacian(name, u, q), rtol=1e-12, err_msg=way)


def skew(q):
    """A map without symmetries, one-to-one near the points here."""
    return jnp.stack([q[0] + q[1] ** 2 / 5, q[1] - jnp.sin(q[0]) / 4])


def w(x):
    return jnp.sin(x[0]) * jnp.exp(x[1] * x[0])


def c(x):
    return 1 + x[0] * x[1]


def b(x):
    return jnp.stack([x[1] ** 2, x[0]])


def matrix(x):
    return jnp.stack([jnp.stack([1 + x[0] ** 2, x[0] * x[1]]), jnp.stack([x[1], 2 + x[0]])])


OPERATORS = {
    "identity": c * do.Identity(),
    "first order": c * do.Directional(b) + 2j * do.Partial(1),
    "second order": do.SecondOrder(matrix) - 0.5 * do.Laplacian(),
    "diffusion": do.Generator(b, lambda x: 1 + x),
    "mixed": do.Mixed((1, 1)),
    "composition": do.Laplacian() @ (c * do.Partial(0)),
    "list": do.TensorOperator([{0: 2}, {0: 1, 1: 1}], b),
    "adjoint": do.Generator(b, matrix).adjoint(),
    "gradient": c * do.Gradient(),
    "gradient of few": do.Gradient(dims=(1,)) @ do.Partial(0),
    "gradient times a matrix": do.Gradient(matrix),
    "flux": do.DivergenceForm(c) + do.DivergenceForm(matrix),
    "flux of few": do.DivergenceForm(c, dims=(1,)),
    "flux of gradients": c * do.Divergence() @ (c * do.Gradient(matrix)) @ do.DivergenceForm(c),
}


def test_values_are_those_in_the_coordinates_before():
    """(L' v)(q) = (L u)(x(q)) for v = u ∘ x."""
    q = jnp.array([0.4, -0.6])
    changed = {name: L.in_coordinates(skew) for name, L in OPERATORS.items()}
    got = jax.jit(lambda q: do.exact(changed)(lambda q: w(skew(q)))(q))(q)
    expected = jax.jit(lambda x: do.exact(OPERATORS)(w)(x))(skew(q))
    for name in OPERATORS:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-10, err_msg=name)


def test_laws():
    for A in (do.Laplacian(), c * do.Directional(b), do.DivergenceForm(matrix)):
        B = OPERATORS["second order"]
        assert A.in_coordinates(skew) == A.in_coordinates(skew)
        product = A.in_coordinates(skew) @ B.in_coordinates(skew)
        assert (A @ B).in_coordinates(skew) == product


def test_flux_in_a_cylinder():
    """∇·(k∇u) = k Δu + ∂_r k ∂_r u + ∂_z k ∂_z u for k of r and z, on paper; time stays."""
    k = lambda x, t: (1 + t) * jnp.exp(x[2]) * (x[0] ** 2 + x[1] ** 2)
    v = lambda q, t: t * u(q)
    q, t = jnp.asarray(Q), 0.7
    got = do.DivergenceForm(k).in_coordinates(cylindrical).exact(v)(q, t)
    size, g = (1 + t) * jnp.exp(q[2]) * q[0] ** 2, jax.grad(u)(q)
    expected = t * size * (laplacian("cylindrical", u, q) + 2 / q[0] * g[0] + g[2])
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-14, 1e14])
def test_fluxes_in_units_of_any_size(unit):
    """In single precision |det J| = unit⁶ would be 0 or infinite."""
    with jax.enable_x64(False):
        L = do.DivergenceForm(lambda x: jnp.exp(x[0] / unit)).in_coordinates(lambda q: unit * q)
        got = L.exact(lambda q: jnp.sum(q**2))(jnp.full(6, 0.5)) * unit**2
    np.testing.assert_allclose(got, (12 + 1) * np.exp(0.5), rtol=1e-5)


def test_gradients_keep_their_values():
    """∂_x = cos φ ∂_r − sin φ/r ∂_φ, ∂_y = sin φ ∂_r + cos φ/r ∂_φ."""
    q = jnp.asarray(Q[:2])
    (along, around), (sine, cosine) = jax.grad(u)(q), (jnp.sin(q[1]), jnp.cos(q[1]))
    got = do.Gradient().in_coordinates(polar).exact(u)(q)
    expected = [cosine * along - sine / q[0] * around, sine * along + cosine / q[0] * around]
    np.testing.assert_allclose(got, jnp.stack(expected), rtol=1e-12)


def test_drawn_fluxes_are_unbiased():
    """n = 1 of two coordinates: every draw of a key is one of two, and their mean is exact."""
    L, q = do.DivergenceForm(c).in_coordinates(skew), jnp.array([0.4, -0.6])
    v = lambda q: w(skew(q))
    draws = many(lambda key: L.estimate(key, 1)(v)(q), 4000)
    values, counts = np.unique(np.round(draws, 9), return_counts=True)
    assert len(values) == 2 and abs(counts[0] - 2000) < 4 * math.sqrt(1000)
    np.testing.assert_allclose(np.mean(values), do.DivergenceForm(c).exact(w)(skew(q)), rtol=1e-8)


def test_other_arguments_stay_as_they_are():
    heat = do.Partial(argnum=1) - (lambda x, t: t + x[0]) * do.Laplacian()
    v = lambda q, t: u(jnp.append(q, 0.2)) * t**2
    q, t = jnp.asarray(Q[:2]), 0.7
    got = heat.in_coordinates(polar).exact(v)(q, t)
    space = laplacian("polar", lambda q: v(q, t), q)
    expected = 2 * v(q, t) / t - (t + polar(q)[0]) * space
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_draws_are_unbiased():
    """n = 1, over all coordinates that may be drawn: every draw of a key is one of two."""
    L, q = do.Laplacian().in_coordinates(polar), jnp.asarray(Q[:2])
    draws = many(lambda key: L.estimate(key, 1)(u)(q), 4000)
    values, counts = np.unique(np.round(draws, 9), return_counts=True)
    assert len(values) == 2 and abs(counts[0] - 2000) < 4 * math.sqrt(1000)
    np.testing.assert_allclose(np.mean(values), laplacian("polar", u, q), rtol=1e-8)


def test_haldanes_sphere():
    """An electron on a sphere of radius 1 around a monopole of 2Q flux quanta: H = ½ |Λ|², with
    Λ = r × (−i∇ + A), in Haldane's gauge A = −Q cot θ e_φ. With u = cos(θ/2) e^{iφ/2} and
    v = sin(θ/2) e^{−iφ/2} the lowest level has the orbitals u^{Q+m} v^{Q−m}, and l(l+1) − Q² =
    Q for |Λ|² (Haldane, Phys. Rev. Lett. 51, 605).
    """
    Q, m = 1.5, 0.5
    surface = do.LaplaceBeltrami.embedded(lambda q: spherical(jnp.append(1.0, q)))
    cot = lambda q: 1 / jnp.tan(q[0])
    turning = lambda q: 2 * Q * cot(q) / jnp.sin(q[0])
    square = -surface + 1j * (turning * do.Partial(1)) + (Q**2) * (cot * (cot * do.Identity()))

    def orbital(q):
        size = jnp.cos(q[0] / 2) ** (Q + m) * jnp.sin(q[0] / 2) ** (Q - m)
        return jax.lax.complex(size * jnp.cos(m * q[1]), size * jnp.sin(m * q[1]))

    q = jnp.array([0.8, 0.4])
    got = square.exact(orbital)(q)
    np.testing.assert_allclose(got, Q * orbital(q), rtol=1e-12)
    harmonic = lambda q: jnp.sin(q[0]) ** 2 * jnp.cos(2 * q[1])
    np.testing.assert_allclose(surface.exact(harmonic)(q), -6 * harmonic(q), rtol=1e-12)


def test_metrics():
    """Of the hyperbolic plane y²(∂x² + ∂y²), of Minkowski's space, and of one coordinate of two."""
    q = jnp.asarray(Q[:2])
    v = lambda q: jnp.sin(q[0]) * q[1] ** 3
    flat = -jnp.sin(q[0]) * q[1] ** 3 + 6 * jnp.sin(q[0]) * q[1]
    hyperbolic = do.LaplaceBeltrami(lambda q: 1 / q[1] ** 2)
    np.testing.assert_allclose(hyperbolic.exact(v)(q), q[1] ** 2 * flat, rtol=1e-12)
    wave = do.LaplaceBeltrami(jnp.array([-1.0, 1.0]))
    box = jnp.sin(q[0]) * q[1] ** 3 + 6 * jnp.sin(q[0]) * q[1]
    np.testing.assert_allclose(wave.exact(v)(q), box, rtol=1e-12)
    line = do.LaplaceBeltrami(lambda q: q[1:] ** 4, dims=(1,))  # y^-2 ∂y (y^-2 ∂y v)
    np.testing.assert_allclose(line.exact(v)(q), 0, atol=1e-14)


test_refused = refusals(
    {
        "got div. A divergence of anything but a gradient": lambda: do.Divergence().in_coordinates(
            polar
        ),
        r"expects vectors of coordinates for a gradient.*got \(\) and \(1,\)": lambda: (
            do.Gradient().in_coordinates(lambda q: q[None]).exact(jnp.sin)(jnp.ones(()))
        ),
        "got Σᵢ∂ᵢ³": lambda: do.DiagonalK(3).in_coordinates(polar),
        "to as many coordinates as it takes; got one from 2 to 3.*LaplaceBeltrami.emb": lambda: (
            do.Laplacian().in_coordinates(lambda q: jnp.append(q, q[0])).exact(u)(jnp.ones(2))
        ),
        r"metric of LaplaceBeltrami must have shape .*\(2, 2\).*; got \(3, 3\)": lambda: (
            do.LaplaceBeltrami(lambda q: jnp.ones((3, 3))).exact(u)(jnp.ones(2))
        ),
    },
    {"expects a map.*got 3.0": lambda: do.Laplacian().in_coordinates(3.0)},
)
