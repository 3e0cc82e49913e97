"""Symbols beside what is written on paper, and whether operators are elliptic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

X, XI = np.array([0.7, -0.4]), np.array([1.5, -2.0])
K = XI @ XI


def c(x):
    return jnp.sin(x[0]) * x[1]


def slope(x):
    return np.array([np.cos(x[0]) * x[1], np.sin(x[0])])


C = float(np.sin(X[0]) * X[1])
BENT = -np.sin(X[0]) * X[1]  # Δc
CASES = {
    "sum": (lambda: do.Laplacian() + do.Partial(1), -K + 1j * XI[1], -K, 2),
    "identity": (lambda: c * do.Identity(), C, C, 0),
    "coefficient": (lambda: c * do.Partial(0, order=3), -1j * C * XI[0] ** 3, ..., 3),
    "composition": (  # Δ(c u) = c Δu + 2 ∇c·∇u + Δc u
        lambda: do.Laplacian() @ (c * do.Identity()),
        -C * K + 2j * slope(X) @ XI + BENT,
        -C * K,
        2,
    ),
    "commutator": (
        lambda: do.commutator(do.Laplacian(), c * do.Identity()),
        2j * slope(X) @ XI + BENT,
        2j * slope(X) @ XI,
        1,
    ),
    "complex": (lambda: 2j * do.Mixed((1, 2)), 2 * XI[0] * XI[1] ** 2, ..., 3),
    "gradient": (do.Gradient, 1j * XI, ..., 1),
    "powers": (lambda: do.Biharmonic() - do.DiagonalK(3), K**2 + 1j * np.sum(XI**3), K**2, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_symbols(name):
    build, whole, principal, order = CASES[name]
    L = build()
    assert L.order == order
    np.testing.assert_allclose(L.symbol(XI, X), whole, rtol=1e-12)
    principal = whole if principal is ... else principal
    np.testing.assert_allclose(L.principal_symbol(XI, X), principal, rtol=1e-12)


def test_systems_and_arguments():
    values = {"values": (2,)}
    np.testing.assert_allclose(do.Divergence().symbol(XI, **values), 1j * XI)
    turned = do.Curl(dims=(0, 1)).symbol(XI, **values)
    np.testing.assert_allclose(turned, [-1j * XI[1], 1j * XI[0]])
    longitudinal = (do.Gradient() @ do.Divergence()).symbol(XI, X, **values)
    np.testing.assert_allclose(longitudinal, -np.outer(XI, XI))
    heat = do.Partial(argnum=1) - do.Laplacian()
    np.testing.assert_allclose(heat.symbol((XI, 3.0), X, 0.5), 3j + K)
    np.testing.assert_allclose(heat.principal_symbol((XI, 3.0), X, 0.5), K)
    assert heat.symbol((np.float32(XI), np.float32(3)), np.float32(X), np.float32(1)).dtype == (
        np.complex64
    )


def quadratic(lowest):
    return do.SecondOrder(jnp.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, lowest]]))


CAUCHY_RIEMANN = do.Partial(0) + 1j * do.Partial(1)
ELLIPTIC = {
    "laplacian": (do.Laplacian(), 3, True),
    "negative": (-do.Laplacian() + do.Partial(0), 3, True),
    "definite": (quadratic(0.1), 3, True),
    "degenerate": (quadratic(0.0), 3, False),
    "hyperbolic": (quadratic(-1.0), 3, False),
    "complex multiple": (1j * quadratic(0.1), 3, True),
    "missing a coordinate": (do.Laplacian(dims=(0, 1)), 3, False),
    "one coordinate": (do.Partial(0, order=3), 1, True),
    "transport": (do.Partial(0), 2, False),
    "holomorphic": (CAUCHY_RIEMANN, 2, True),
    "holomorphic twice": (CAUCHY_RIEMANN**2, 2, True),
    "wave": (do.Partial(0, order=2) - do.Partial(1, order=2), 2, False),
    "wave twice": ((do.Partial(0, order=2) - do.Partial(1, order=2)) ** 2, 2, False),
    "plate": (do.Biharmonic() + do.Laplacian(), 2, True),
    "orthotropic": (do.DiagonalK(4), 2, True),
    "power": (do.PolyLaplacian(3), 4, True),
    "power of less": (do.Laplacian(dims=(0, 1)) ** 2, 3, False),
    "identity": (do.Identity(), 3, True),
    "multiplication by nothing": ((lambda x: 0 * x[0]) * do.Laplacian(), 3, False),
}


@pytest.mark.parametrize("name", ELLIPTIC)
def test_is_elliptic(name):
    operator, size, expected = ELLIPTIC[name]
    dtype = np.float32 if name in ("wave twice", "degenerate") else np.float64
    assert bool(operator.is_elliptic(jnp.linspace(0.5, 1, size, dtype=dtype))) is expected


@pytest.mark.parametrize("size", [1e-12, 1e12])
@pytest.mark.parametrize("dim", [2, 3])
def test_coefficients_may_differ_in_size(dim, size):
    """As of a layer in which something hardly diffuses, in single precision, too."""
    second = [do.Partial(i, order=2) for i in range(dim)]
    others = sum(second[1:-1], second[0])
    for dtype in (jnp.float32, jnp.float64):
        at = jnp.ones(dim, dtype)
        assert (others + size * second[-1]).is_elliptic(at)
        assert not (others - size * second[-1]).is_elliptic(at)
    mixed = do.Partial(0, order=4) + size**2 * do.Partial(1, order=4)
    cross = do.Mixed({0: 2, 1: 2})
    assert (mixed + size * cross).is_elliptic(jnp.ones(2))
    assert not (mixed - 3 * size * cross).is_elliptic(jnp.ones(2))


def test_where_it_is_elliptic():
    """Tricomi's equation, over points; a heat operator is not where time is a coordinate."""
    tricomi = (lambda x: x[1]) * do.Partial(0, order=2) + do.Partial(1, order=2)
    points = jnp.array([[0.0, 1.0], [0.0, -1.0], [2.0, 0.5]])
    assert jax.jit(jax.vmap(tricomi.is_elliptic))(points).tolist() == [True, False, True]
    heat = do.Partial(argnum=1) - do.Laplacian()
    assert not heat.is_elliptic(jnp.ones(2), 0.5)


def test_several_arguments_without_a_point():
    """The heat operator: iτ + |ξ|²."""
    xi = jnp.asarray(XI), jnp.asarray(3.0)
    heat = do.Partial(argnum=1) - do.Laplacian()
    np.testing.assert_allclose(heat.symbol(xi), 3j + K)
    np.testing.assert_allclose(heat.principal_symbol(xi), K)
    np.testing.assert_allclose(do.Laplacian().symbol(np.array([1, -2])), -5.0)
    np.testing.assert_allclose(heat.symbol(xi, jnp.asarray(X), jnp.asarray(0.0)), 3j + K)


@pytest.mark.parametrize("point", [(), (jnp.asarray(X),), (jnp.asarray(X + 1j),)])
def test_complex_frequencies(point):
    """Σ (iξ)^α, of waves that are damped, without a point, at a real and at a complex one."""
    xi = np.array([1.5j, 2.5])
    for operator, expected in (
        (do.Laplacian(), -(xi @ xi)),
        (do.Partial(0), 1j * xi[0]),
        (do.Mixed((1, 2)), (1j * xi[0]) * (1j * xi[1]) ** 2),
    ):
        np.testing.assert_allclose(operator.symbol(jnp.asarray(xi), *point), expected)
        np.testing.assert_allclose(operator.principal_symbol(jnp.asarray(xi), *point), expected)


@pytest.mark.parametrize(
    "operator",
    [
        do.Partial(0),
        do.Directional(jnp.ones(3)),
        1j * do.Partial(0) + do.Partial(1),
        do.Laplacian() @ do.Partial(0),
        do.Partial(0) + do.Laplacian() @ do.Partial(1),
    ],
    ids=str,
)
def test_first_order_is_not_elliptic_in_space(operator):
    """b·ξ vanishes for some ξ, of three real numbers, even if b is complex."""
    assert not operator.is_elliptic(jnp.ones(3))


test_refused = refusals(
    {
        "whose coefficients vary, is one at a point": lambda: (c * do.Partial(0)).symbol(XI),
        r"frequency xi like the point.*got .* shapes \[\(3,\)\] at a point of .*\(2,\)": lambda: (
            do.Laplacian().symbol(np.ones(3), X)
        ),
        "decided for real operators of order two, in the plane, and for products of such": lambda: (
            do.Biharmonic() + do.DiagonalK(4)
        ).is_elliptic(jnp.ones(3)),
        "got .* of order 4": lambda: do.DiagonalK(4).is_elliptic(jnp.ones(3)),
    }
)
