"""The closed forms of a flow, a plate and a layer, and their data, by nested autodiff."""

import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..nested import laplacian
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

FLOWS = {"Re 40": do.pde.Kovasznay(), "Re 7": do.pde.Kovasznay(7.0, do.pde.Box((0, 0), (1, 2)))}


def slope(u, axis):
    return lambda x: jax.jacfwd(u)(x)[..., axis]


def at(function, points):
    return np.asarray(jax.jit(jax.vmap(function))(points))


def edge(axis, place):
    """Points of an edge of the unit square."""
    free = jnp.linspace(0.05, 0.95, 7)
    fixed = jnp.full(7, float(place))
    return jnp.stack([fixed, free] if axis == 0 else [free, fixed], axis=1)


@pytest.mark.parametrize("name", FLOWS)
def test_the_flow_solves_the_navier_stokes_equations(name, getkey):
    problem = FLOWS[name]
    u = problem.solution

    def momentum(x):
        jacobian = jax.jacfwd(u)(x)
        inertia = jacobian[:2] @ u(x)[:2]
        return inertia + jacobian[2] - laplacian(u)(x)[:2] / problem.reynolds

    points = problem.sample(getkey(), 20)
    np.testing.assert_allclose(at(momentum, points), 0, atol=1e-12)
    mass = at(lambda x: jnp.trace(jax.jacfwd(u)(x)[:2]), points)
    np.testing.assert_allclose(mass, 0, atol=1e-12)


def test_the_rate_of_a_fast_flow():
    """−4π²/Re up to 4π²/Re², as both terms of its formula are nearly Re/2."""
    assert do.pde.Kovasznay(1e9).rate == pytest.approx(-4e-9 * np.pi**2, rel=1e-12)


def test_the_rate_at_re_40():
    """As in Kovasznay's paper: λ = 20 − √(400 + 4π²)."""
    assert FLOWS["Re 40"].rate == pytest.approx(-0.9637405441957, rel=1e-12)
    x = jnp.array([0.25, 0.1])
    decay = np.exp(-0.9637405441957 * 0.25)
    expected = [
        1 - decay * np.cos(0.2 * np.pi),
        -0.9637405441957 / (2 * np.pi) * decay * np.sin(0.2 * np.pi),
        0.5 * (1 - decay**2),
    ]
    np.testing.assert_allclose(FLOWS["Re 40"].solution(x), expected, rtol=1e-12)


@pytest.mark.parametrize("name", FLOWS)
def test_the_residual_of_another_flow(name, getkey):
    problem = FLOWS[name]
    u = lambda x: jnp.stack([jnp.sin(x[0] * x[1]), x[0] ** 2 + x[1], jnp.exp(x[0] - x[1])])

    def both(x):
        jacobian = jax.jacfwd(u)(x)
        friction = laplacian(u)(x)[:2] / problem.reynolds
        momentum = jacobian[:2] @ u(x)[:2] + jacobian[2] - friction
        expected = jnp.append(momentum, jnp.trace(jacobian[:2]))
        return problem.residual(do.exact(problem.operators())(u)(x), x), expected

    got, expected = jax.jit(jax.vmap(both))(problem.sample(getkey(), 10))
    np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_the_data_of_the_flow(getkey):
    problem = FLOWS["Re 7"]
    velocity, pressure = problem.conditions(getkey(), 30)
    x = np.asarray(velocity.points)
    assert ((x == 0) | (x == [1, 2])).any(axis=1).all()
    assert velocity.operator == do.Component((0, 1)) and pressure.operator == do.Component(2)
    assert (pressure.points[:, 0] == 1).all()
    expected = jax.vmap(problem.solution)(velocity.points)[:, :2]
    np.testing.assert_allclose(velocity.values, expected)


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.49])
def test_the_plate_solves_its_equation_and_has_its_edges(nu, getkey):
    plate = do.pde.Plate(nu)
    w = plate.solution
    points = plate.sample(getkey(), 20)
    left = at(laplacian(laplacian(w)), points) / np.pi**4
    np.testing.assert_allclose(left, np.sin(np.pi * points[:, 0]), atol=1e-11)
    for place in (0, 1):  # supported
        np.testing.assert_allclose(at(w, edge(0, place)), 0, atol=1e-14)
        moment = lambda x: slope(slope(w, 0), 0)(x) + nu * slope(slope(w, 1), 1)(x)
        np.testing.assert_allclose(at(moment, edge(0, place)), 0, atol=1e-12)
    np.testing.assert_allclose(at(w, edge(1, 0)), 0, atol=1e-14)  # clamped
    np.testing.assert_allclose(at(slope(w, 1), edge(1, 0)), 0, atol=1e-13)
    bending = lambda x: slope(slope(w, 1), 1)(x) + nu * slope(slope(w, 0), 0)(x)
    np.testing.assert_allclose(at(bending, edge(1, 1)), 0, atol=1e-11)  # free
    w_xxy = slope(slope(slope(w, 0), 0), 1)
    w_yyy = slope(slope(slope(w, 1), 1), 1)
    shear = lambda x: w_yyy(x) + (2 - nu) * w_xxy(x)
    np.testing.assert_allclose(at(shear, edge(1, 1)), 0, atol=1e-10)
    assert np.abs(at(w, edge(1, 1))).max() > 0.1  # the free edge moves


def test_moments_and_shear_forces_of_another_deflection():
    """On all four edges, whose normals differ."""
    plate = do.pde.Plate(0.3)
    w = lambda x: jnp.sin(x[0] + 0.5 * x[1] ** 2) + x[0] ** 3 * x[1] ** 2
    x, nu, rigidity = jnp.array([0.4, 0.7]), 0.3, np.pi**-4
    second = [slope(slope(w, i), i) for i in (0, 1)]
    for face in do.pde.Box((0.0, 0.0), (1.0, 1.0)).faces:
        n, t = face.axis, 1 - face.axis
        sign = 1 if face.end == "upper" else -1
        moment = -rigidity * (second[n](x) + nu * second[t](x))
        np.testing.assert_allclose(plate.moment(face).exact(w)(x), moment, rtol=1e-11)
        shear = slope(second[n], n)(x) + (2 - nu) * slope(second[t], n)(x)
        expected = -rigidity * sign * shear
        np.testing.assert_allclose(plate.shear(face).exact(w)(x), expected, rtol=1e-11)


def test_the_conditions_of_the_plate(getkey):
    conditions = do.pde.Plate().conditions(getkey(), 5)
    places = [(int(np.ptp(c.points[:, 0]) > 0), float(c.points[0].min())) for c in conditions]
    assert len(conditions) == 8
    assert [axis for axis, _ in places] == [0] * 4 + [1] * 4
    assert all((c.values == 0).all() for c in conditions)


@pytest.mark.parametrize("diffusivity", [0.02, 0.1, 3.0])
def test_the_layer_solves_its_equation_and_has_its_data(diffusivity, getkey):
    problem = do.pde.ConvectionDiffusion(diffusivity)
    u = problem.solution
    points = problem.sample(getkey(), 20)
    left = lambda x: jax.grad(u)(x)[0] - diffusivity * laplacian(u)(x)
    size = np.abs(at(lambda x: jax.grad(u)(x)[0], points)).max()
    np.testing.assert_allclose(at(left, points), 0, atol=1e-12 * size)
    enters, leaves = edge(0, 0), edge(0, 1)
    np.testing.assert_allclose(at(u, enters), np.cos(np.pi * enters[:, 1]), rtol=1e-12)
    np.testing.assert_allclose(at(u, leaves), 0, atol=1e-14)
    for place in (0, 1):
        np.testing.assert_allclose(at(slope(u, 1), edge(1, place)), 0, atol=1e-13)


test_what_cannot_be_is_refused = refusals(
    {
        "kovasznay expects a positive Reynolds number .*=0.0": lambda: do.pde.Kovasznay(0.0),
        r"box with 2 coordinates, got .* domain=Ball": lambda: do.pde.Kovasznay(
            40.0,
            do.pde.Ball(2),  # pyright: ignore
        ),
        "and a box with 2 coordinates": lambda: do.pde.Kovasznay(1.0, do.pde.Box((0,), (1,))),
        "plate expects a Poisson's ratio from 0 to below 1, got 1.0": lambda: do.pde.Plate(1.0),
        "expects a positive diffusivity, got -1.0": lambda: do.pde.ConvectionDiffusion(-1.0),
    }
)


def test_a_run_of_the_flow(tmp_path):
    """Three values at a point, from settings to a picture and an error."""
    settings = do.train.Settings("kovasznay", steps=4, width=8, depth=1, batch=8, data_batch=8)
    report = do.train.solve(settings, tmp_path / "run")
    with jax.enable_x64(True):
        assert do.train.load(tmp_path / "run")(jnp.zeros(2)).shape == (3,)
    assert 0 < report.rel_l2
    width, height = struct.unpack(">II", (tmp_path / "run" / "solution.png").read_bytes()[16:24])
    assert height > 0.7 * width  # a row for each of the values
