"""Integrals as operators: by rules beside closed forms, estimated beside both."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.quadrature import Disc, GaussJacobi, GaussLegendre, Limits, Sobol, WholeSpace, Within

from ..draws import Z, check_errors, check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

UNIT = Limits(0.0, 1.0)
TO_X = Limits(0.0, lambda x: x)
ONE, PLANE, SPACE = np.array([0.6]), np.array([0.6, -0.3]), np.array([0.6, -0.3, 1.1])
HALF = math.sqrt(math.pi)


def product(x, y):
    return jnp.exp(x[0] * y[0])


def square(x):
    return x @ x


# (operator, u, x, (operator u)(x)), by hand
EXACT = {
    "fredholm": (do.Integral(UNIT, lambda x, y: x[0] * y[0]), jnp.sum, ONE, 0.6 / 3),
    "volterra": (do.Integral(TO_X), lambda x: jnp.cos(x[0]), ONE, math.sin(0.6)),
    "convolution": (
        do.Integral(TO_X, lambda x, y: x[0] - y[0]),
        lambda x: jnp.sin(x[0]),
        ONE,
        0.6 - math.sin(0.6),
    ),
    "backwards": (do.Integral(Limits(1.0, 0.0)), jnp.sum, ONE, -0.5),
    "a box": (do.Integral(do.pde.Box((0, -1), (2, 1))), square, PLANE, 4 * (4 / 3 + 1 / 3)),
    "some coordinates": (
        do.Integral(Limits((0.0, 1.0), (1.0, 3.0)), dims=(0, 2)),
        lambda x: x[0] * x[1] * x[2],
        SPACE,
        -0.3 * 0.5 * 4.0,
    ),
    "interval as a ball": (do.Integral(Disc(2.0, 1.0)), square, ONE, (27 + 1) / 3),
    "disc": (do.Integral(do.pde.Ball(2, 2.0)), square, PLANE, math.pi * 16 / 2),
    "off the center": (do.Integral(Disc(1.0, (1.0, 2.0))), square, PLANE, math.pi * 5.5),
    "ball": (do.Integral(Disc(1.0)), square, SPACE, 4 * math.pi / 5),
    "line": (do.Integral(WholeSpace(1.0)), lambda x: jnp.exp(-square(x)), ONE, HALF),
    "plane": (
        do.Integral(WholeSpace(1.5, 0.5)),
        lambda x: jnp.exp(-square(x - 0.5) / 2) * x[0],
        PLANE,
        math.pi,
    ),
    "part of an equation": (
        do.Partial(0) + 2 * do.Integral(UNIT) - (lambda x: x[0]) * do.Integral(TO_X),
        square,
        ONE,
        2 * 0.6 + 2 / 3 - 0.6 * 0.6**3 / 3,
    ),
    "of a derivative": (
        do.Integral(UNIT, product) @ do.Laplacian(),
        square,
        ONE,
        2 * math.expm1(0.6) / 0.6,
    ),
    "of a product": (do.Integral(UNIT) @ ((lambda x: x[0]) * do.Partial(0)), square, ONE, 2 / 3),
    "derived": (do.Partial(0, 2) @ do.Integral(TO_X), jnp.sin, ONE, np.array([math.cos(0.6)])),
    "derived, of a kernel": (
        do.Laplacian() @ do.Integral(UNIT, product),
        lambda x: x[0] * math.exp(0),
        ONE,
        # ∫ y³ exp(xy) dy, by parts
        math.exp(0.6) * (1 / 0.6 - 3 / 0.6**2 + 6 / 0.6**3 - 6 / 0.6**4) + 6 / 0.6**4,
    ),
    "twice": (do.Integral(TO_X) ** 2, jnp.sum, ONE, 0.6**3 / 6),
    "of Abel": (
        do.Integral(TO_X, lambda x, y: (x[0] - y[0]) ** -0.5, rule=GaussJacobi(upper=-0.5)),
        lambda x: x[0],
        ONE,
        4 / 3 * 0.6**1.5,
    ),
    "of Abel, derived": (
        do.Partial(0)
        @ do.Integral(TO_X, lambda x, y: (x[0] - y[0]) ** -0.5, rule=GaussJacobi(upper=-0.5)),
        lambda x: x[0],
        ONE,
        2 * 0.6**0.5,
    ),
    "of Caputo": (  # of order 0.7
        do.Integral(TO_X, lambda x, y: (x[0] - y[0]) ** -0.7, rule=GaussJacobi(0, -0.7))
        @ do.Partial(0),
        lambda x: x[0] ** 3,
        ONE,
        math.gamma(0.3) * 6 / math.gamma(3.3) * 0.6**2.3,
    ),
    "singular in two coordinates": (
        do.Integral(UNIT, lambda x, y: jnp.prod(y) ** -0.5, rule=GaussJacobi(lower=-0.5, n=2)),
        lambda x: x[0] * x[1] ** 2,
        PLANE,
        2 / 3 * 2 / 5,
    ),
    "of an entry": (
        do.Integral(UNIT) @ do.Component(1),
        lambda x: jnp.stack([x[0], x[0] ** 2]),
        ONE,
        1 / 3,
    ),
    "of a pytree": (
        do.Component("b") @ do.Integral(UNIT),
        lambda x: {"a": x[0], "b": jnp.stack([x[0] ** 3, 1.0 + 0 * x[0]])},
        ONE,
        np.array([0.25, 1.0]),
    ),
}


QUANTILES = {"line", "plane"}
"""Whose map is not smooth at the ends of the cube: 16 points have five digits."""


@pytest.mark.parametrize("name", EXACT)
def test_a_rule_is_right_for_what_is_smooth(name):
    operator, u, x, expected = EXACT[name]
    value = jax.jit(operator.exact(u))(x)
    np.testing.assert_allclose(value, expected, rtol=1e-5 if name in QUANTILES else 1e-11)


def test_of_several_arguments():
    u = lambda x, t: x[0] * jnp.exp(-t)
    x, t = jnp.array([2.0]), jnp.array(3.0)
    memory = do.Integral(Limits(0.0, lambda x, t: t), lambda x, t, s: jnp.exp(s - t), argnum=1)
    np.testing.assert_allclose(memory.exact(u)(x, t), 2 * 3 * math.exp(-3.0), rtol=1e-12)
    space = do.Integral(UNIT, lambda x, t, y: t * y[0])
    np.testing.assert_allclose(space.exact(u)(x, t), 3 * math.exp(-3.0) / 3, rtol=1e-12)


@pytest.mark.parametrize(
    ("region", "size", "volume"), [(Limits(0.0, 1.0), 12, 1.0), (Disc(1.0), 5, 8 * math.pi**2 / 15)]
)
def test_sobol_points_in_many_coordinates(region, size, volume):
    """Of Σ cos x_i in the cube, of |x|² in the ball: within what the rule is known to reach."""
    operator, x = do.Integral(region, rule=Sobol(2048)), jnp.zeros(size)
    np.testing.assert_allclose(operator.exact(jnp.ones_like)(x), volume, rtol=1e-12)
    if isinstance(region, Disc):
        u, expected = square, volume * size / (size + 2)
    else:
        u, expected = lambda x: jnp.sum(jnp.cos(x)), size * math.sin(1.0)
    np.testing.assert_allclose(operator.exact(u)(x), expected, rtol=1e-3)


def test_volumes_of_which_a_factor_is_out_of_range():
    """π⁴⁰ 4⁸⁰/40! in single precision, where 4⁸⁰ is infinite."""
    expected = math.exp(40 * math.log(math.pi) + 80 * math.log(4.0) - math.lgamma(41))
    with jax.enable_x64(False):
        volume = do.Integral(Disc(4.0), rule=Sobol(8)).exact(lambda x: 1.0)(jnp.zeros(80))
    np.testing.assert_allclose(volume, expected, rtol=1e-5)


def test_polynomials_of_a_degree():
    """n points are right up to degree 2n − 1, and not beyond."""
    for degree, error in ((5, 0.0), (6, 1 / 2800)):
        moment = do.Integral(UNIT, rule=GaussLegendre(3)).exact(lambda x: x[0] ** degree)(
            jnp.asarray(ONE)
        )
        np.testing.assert_allclose(1 / (degree + 1) - moment, error, atol=1e-15, rtol=1e-9)


@pytest.mark.parametrize("lower", [-0.9, 0.0, 1.3])
@pytest.mark.parametrize("upper", [-0.5, 0, 2.5])
def test_polynomials_times_powers_of_the_distances_to_the_ends(lower, upper):
    """By Euler's beta function, up to degree 2n − 1, and not beyond."""
    operator = do.Integral(
        Limits(0.0, 1.0),
        lambda x, y: y[0] ** lower * (1 - y[0]) ** upper,
        rule=GaussJacobi(lower, upper, 3),
    )
    for degree in range(7):
        a, b = lower + degree + 1, upper + 1
        expected = math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
        found = operator.exact(lambda y, k=degree: y[0] ** k)(jnp.asarray(ONE))
        assert (abs(found / expected - 1) < 1e-12) == (degree < 6)


# --- estimates ---------------------------------------------------------------------------------

ESTIMATED = {
    "fredholm": (do.Integral(UNIT, product), lambda x: jnp.sin(3 * x[0]), ONE),
    "volterra": (do.Integral(TO_X, product), lambda x: jnp.cos(x[0]), ONE),
    "disc": (do.Integral(Disc(2.0, 0.3), product), lambda x: 2 + jnp.cos(x[0] + x[1]), PLANE),
    "all of space": (do.Integral(WholeSpace(1.0)), lambda x: jnp.exp(-square(x) + x[1]), PLANE),
    "sum": (
        3 * do.Integral(UNIT) - do.Integral(TO_X) + do.Partial(0),
        lambda x: jnp.exp(2 * x[0]),
        ONE,
    ),
    "system": (do.Integral(UNIT), lambda x: jnp.stack([x[0], jnp.exp(x[0])]), ONE),
    "of a derivative": (do.Integral(UNIT, product) @ do.Laplacian(), lambda x: x[0] ** 4, ONE),
    "derived": (do.Laplacian() @ do.Integral(TO_X, product), lambda x: jnp.cos(x[0]), ONE),
}


@pytest.mark.parametrize("name", ESTIMATED)
def test_estimates_are_unbiased(name):
    operator, u, x = ESTIMATED[name]
    x = jnp.asarray(x)
    fine = jnp.asarray(operator.exact(u)(x))
    values = many(lambda key: operator.estimate(key, 5)(u)(x), 4000)
    check_mean(values, np.asarray(fine), notices=0.45)


def test_standard_errors_are_those_over_keys():
    """The mean of their squares is the variance, of a sum whose terms share their draws too."""
    operator, u, x = ESTIMATED["sum"]
    x = jnp.asarray(x)
    value, error, jets = many(lambda key: tuple(operator.estimate(key, 4).stats(u)(x)), 4000)
    check_errors(value, error)
    assert jets[0] == 4 + 4 + 1
    # of ∫ u − ∫_0^x u alone: 3 exp(2ξ) − x exp(2xξ) has the variance of this function of ξ
    xi = (np.arange(200_000) + 0.5) / 200_000
    z = 3 * np.exp(2 * xi) - 0.6 * np.exp(1.2 * xi)
    np.testing.assert_allclose(value.var(), z.var() / 4, rtol=0.1)


def test_terms_share_their_draws():
    twice = do.Integral(UNIT) + 1e-3 * do.Integral(TO_X)
    zero = twice.estimate(jax.random.key(0), 3) - twice.estimate(jax.random.key(0), 3)
    value, error, _ = zero.stats(jnp.exp)(jnp.asarray(ONE))
    assert jnp.all(value == 0) and jnp.all(error == 0)
    joint = do.estimate([do.Integral(UNIT), do.Integral(Limits(0.0, 2.0))], jax.random.key(0), 3)
    single, double = joint(jnp.sum)(jnp.asarray(ONE))
    np.testing.assert_allclose(double, 4 * single, rtol=1e-12)  # the points 2ξ, twice the volume


def test_a_rule_is_kept_where_that_is_asked_for():
    """In estimates, too: of a memory beside what is sampled."""
    x, u = jnp.asarray(SPACE), lambda x: jnp.exp(x[0] + 2 * x[1]) * x[2]
    laplacian = do.Laplacian()
    ruled = do.Integral(Limits(0.0, lambda x: x[0]), dims=(0,), sampled=False)
    estimate = (laplacian + ruled).estimate(jax.random.key(0), 2)
    value, error, _ = estimate.stats(u)(x)
    only, spread, _ = laplacian.estimate(jax.random.key(0), 2).stats(u)(x)
    np.testing.assert_allclose(value - only, math.expm1(0.6) * math.exp(-0.6) * 1.1, rtol=1e-12)
    np.testing.assert_allclose(error, spread, rtol=1e-12)
    outer = do.Partial(0) @ ruled
    assert outer.estimate(jax.random.key(0), 2).stats(u)(x).standard_error == 0
    assert ruled.estimate(jax.random.key(0), 2) == ruled.estimate(jax.random.key(1), 2)


def test_chunks_change_nothing():
    operator, u, x = ESTIMATED["fredholm"]
    x = jnp.asarray(x)
    for each in (operator.exact, operator.estimate(jax.random.key(0), 7)):
        np.testing.assert_allclose(each(u, chunk=3)(x), each(u)(x), rtol=1e-13)


def test_an_accuracy_is_reached():
    operator, u, x = ESTIMATED["fredholm"]
    x = jnp.asarray(x)
    found = operator.estimate_to(jax.random.key(0), rtol=0.02, max_n=4096)(u)(x)
    exact = operator.exact(u)(x)
    assert found.converged and 32 < found.n < 4096
    assert abs(found.value - exact) < Z * found.standard_error
    pilot = do.variance(operator, n=4, key=jax.random.key(0), pilot=4000)(u)(x)
    values = jax.vmap(lambda y: product(x, y) * u(y))(jnp.linspace(0, 1, 20_001)[:, None])
    np.testing.assert_allclose(pilot.variance, jnp.var(values) / 4, rtol=0.1)
    assert pilot.method == "pilot"


# --- in equations and losses -------------------------------------------------------------------

VOLTERRA = do.equations.Equation.linear(
    do.Identity() + do.Integral(TO_X, lambda x, y: x[0] - y[0]), lambda x: x[0]
)
POINTS = np.linspace(0.0, 2.0, 7)[:, None]


def test_an_integral_equation_knows_its_solution():
    """u(x) + ∫_0^x (x − y) u(y) dy = x has the solution sin x."""
    loss = do.losses.ResidualLoss(VOLTERRA, points=POINTS, probes="exact")
    assert loss(lambda x: jnp.sin(x[0]), jax.random.key(0)) < 1e-20
    assert loss(lambda x: jnp.sin(x[0]) + 0.1, jax.random.key(0)) > 1e-3


def test_losses_of_estimates_are_unbiased():
    """Of the two squares that are; the third has too much, by the variance."""
    u = lambda x: jnp.cos(2 * x[0])
    exact = do.losses.ResidualLoss(VOLTERRA, points=POINTS, probes="exact")(u, jax.random.key(0))
    for square in ("product", "pairs", "biased"):
        loss = do.losses.ResidualLoss(VOLTERRA, points=POINTS, n=4, square=square)
        values = many(lambda key, loss=loss: loss(u, key), 3000, seed=3)
        z = (values.mean() - exact) / (values.std() / math.sqrt(3000))
        assert (abs(z) < Z) == (square != "biased"), (square, z)


def test_a_kernel_is_learnt():
    class Decay(eqx.Module):
        rate: jax.Array

        def __call__(self, x, y):
            return jnp.exp(self.rate * x[0] * y[0])

    of = lambda rate: do.Integral(UNIT, Decay(rate)).exact(jnp.ones_like)(jnp.asarray(ONE))[0]
    rate = jnp.array(0.7)
    total = lambda r: math.expm1(0.6 * r) / (0.6 * r)
    slope = (total(0.7 + 1e-6) - total(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(of)(rate), slope, rtol=1e-8)


# --- as values ---------------------------------------------------------------------------------


def test_integrals_compare_and_print():
    box = do.pde.Box((0.0,), (1.0,))
    assert do.Integral(box) == do.Integral(Limits((0.0,), (1.0,)))
    assert do.Integral(UNIT) != do.Integral(UNIT, product)
    assert do.Integral(UNIT, product) == do.Integral(UNIT, product)
    assert do.Integral(UNIT) @ do.Laplacian() != do.Laplacian() @ do.Integral(UNIT)
    assert 2 * do.Integral(UNIT) - do.Integral(UNIT) == do.Integral(UNIT)
    first, second = jax.random.split(jax.random.key(0))
    estimate = lambda key: do.Integral(UNIT).estimate(key, 3)
    assert estimate(first) == estimate(first)
    assert estimate(first) != estimate(second)
    assert repr(do.Identity() - do.Integral(UNIT, product)) == "I − ∫ k dy"
    assert repr(do.Integral(UNIT) @ do.Laplacian()) == "∫ dy Δ"
    assert "a fixed rule" in str(do.Integral(UNIT).jets())
    assert "3 draws" in str(do.Integral(UNIT).estimate(first, 3).jets())


def test_single_precision_stays():
    x = jnp.ones(1, jnp.float32)
    operator = do.Integral(TO_X, product)
    assert operator.exact(jnp.sum)(x).dtype == jnp.float32
    assert operator.estimate(jax.random.key(0), 4)(jnp.sum)(x).dtype == jnp.float32
    # a rule's points are inside of the cube, where quantiles are finite
    line = do.Integral(WholeSpace(1.0), rule=Sobol(1024))
    gauss = line.exact(lambda x: jnp.exp(-square(x)))(x)
    np.testing.assert_allclose(gauss, HALF, rtol=1e-2)


def test_centers_may_be_arrays():
    """They are part of the structure, which is compared at a second call."""
    call = eqx.filter_jit(lambda operator, x: operator.exact(lambda y: jnp.sum(y))(x))
    for center in (np.array([1.0, 0.0]), jnp.array([1.0, 0.0]), [1, 0], (1.0, 0.0)):
        for _ in range(2):
            found = call(do.Integral(Disc(1.0, center)), jnp.zeros(2))
            np.testing.assert_allclose(found, math.pi, rtol=1e-12)


def test_ends_may_be_arrays_of_any_type():
    for kind in (jnp.bfloat16, jnp.float32, np.int32):
        found = do.Integral(Limits(jnp.zeros(1, kind), np.ones(1))).exact(jnp.sum)(jnp.zeros(1))
        np.testing.assert_allclose(found, 0.5, rtol=1e-12)


def test_a_part_of_a_domain():
    half = Within(do.pde.Box((0.0, 0.0), (2.0, 1.0)), lambda y: y[0] < 1)
    found = do.Integral(half).exact(lambda x: x[1])(jnp.zeros(2))
    np.testing.assert_allclose(found, 0.5, rtol=1e-12)


def test_one_point_in_many_coordinates():
    found = do.Integral(UNIT, rule=GaussLegendre(1)).exact(jnp.sum)(jnp.zeros(100))
    np.testing.assert_allclose(found, 50.0)


@pytest.mark.parametrize(
    ("region", "size", "words"),
    [
        (WholeSpace(1.0), 50, "50 coordinates has weights near e.101, out of the range of float32"),
        (Disc(1.0), 100, "100 coordinates has weights near e.-91, out"),
        (Limits(0.0, 10.0), 200, "200 coordinates has weights near e.461, out"),
    ],
)
def test_weights_out_of_the_range_of_single_precision(region, size, words):
    E = do.Integral(region).estimate(jax.random.key(0), 2)
    with jax.enable_x64(False), pytest.raises(ValueError, match=words):
        E(jnp.sum)(jnp.ones(size, jnp.float32))
    assert bool(jnp.isfinite(E(lambda x: jnp.exp(-square(x)))(jnp.ones(size))))


# --- refused -----------------------------------------------------------------------------------


test_what_is_wrong_is_said = refusals(
    {
        "rule=diffop": lambda: do.Integral(UNIT).exact(jnp.sum)(jnp.ones(9)),
        "must return a number": lambda: do.Integral(UNIT, lambda x, y: y).exact(jnp.sum)(
            jnp.asarray(ONE)
        ),
        r"arrays of shape \(1,\)": lambda: do.Integral(Limits((0, 0), (1, 1))).exact(jnp.sum)(
            jnp.asarray(ONE)
        ),
        "or as many": lambda: do.Integral(Disc(1.0, (0, 0))).exact(jnp.sum)(jnp.asarray(ONE)),
        "positive, finite radius": lambda: Disc(-1.0),
        "positive, finite scale": lambda: WholeSpace(0.0),
        r"one for each of the 2 coordinates; got \(0.0,\)": lambda: do.Integral(
            WholeSpace(1.0, (0.0,))
        ).estimate(jax.random.key(0), 2)(jnp.sum)(jnp.asarray(PLANE)),
        "2000 coordinates has weights near e.1838, out of the range of float": lambda: do.Integral(
            WholeSpace(1.0)
        ).estimate(jax.random.key(0), 2)(jnp.sum)(jnp.ones(2000)),
        r"finite ends, got \(0.0, inf\)": lambda: Limits(0.0, [0.0, np.inf]),
        r"finite ends, got \(0.0, inf\). diffop": lambda: Limits(0.0, np.array([0.0, np.inf])),
        "finite ends, got nan": lambda: Limits(0.0, math.nan),
        "the center of a region must be finite; got inf": lambda: Disc(1.0, math.inf),
        r"says of all of a point .* got one of shape \(2,\)": lambda: do.Integral(
            Within(Limits(0.0, 1.0), lambda y: y > 0.5)
        ).estimate(jax.random.key(0), 2)(jnp.sum)(jnp.asarray(PLANE)),
        "a seed from 0 to": lambda: Sobol(16, seed=-1),
        "at least 1": lambda: GaussLegendre(0),
        "a Gauss rule of 10000000 points in each of 1": lambda: GaussJacobi(n=10**7).nodes(1),
        "GaussJacobi expects n, at least 1": lambda: GaussJacobi(n=0),
        "lower end .* greater than -1, .* got -1": lambda: GaussJacobi(-1),
        "upper end .* finite .* got nan": lambda: GaussJacobi(upper=float("nan")),
        "a power of two": lambda: Sobol(1000),
        "only 1": lambda: do.Integral(UNIT, dims=(3,)).exact(jnp.sum)(jnp.asarray(ONE)),
        "inner operator is sampled too": lambda: (
            (do.Laplacian() @ do.Integral(TO_X))
            .estimate(jax.random.key(0), 4)
            .stats(jnp.sum)(jnp.asarray(ONE))
        ),
        "baselines take": lambda: do.baselines.estimate(
            "folx", do.Integral(UNIT), jax.random.key(0), 2
        ),
    },
    {
        "taken over a region": lambda: do.Integral((0, 1)),
        "A number multiplies the operator": lambda: do.Integral(UNIT, 2.0),
        "a rule of diffop.quadrature": lambda: do.Integral(UNIT, rule=16),
        "a number as the power at its upper end; got None": lambda: GaussJacobi(0.5, None),
        "numbers for ends, or functions of the point; got 'a'": lambda: Limits("a", 1.0),
        "the center of a region is a number.*got 'a'": lambda: WholeSpace(1.0, "a"),
        "got 3 of type int": lambda: Within(3, lambda y: y[0] < 1),
        "a function of a point of the region.*got 3": lambda: Within(UNIT, 3),
    },
)


def test_an_integral_is_not_taken_for_a_derivative():
    whole = do.Laplacian() + do.Integral(do.quadrature.Limits(0.0, 1.0))
    with pytest.raises(ValueError, match="has no adjoint here"):
        whole.adjoint()
    for operator in (whole, do.FractionalLaplacian(1.0, radius=1.0)):
        with pytest.raises(ValueError, match="sees all of u, an integral or jumps"):
            operator.in_coordinates(lambda q: 2 * q)
        for ask in (lambda L: L.order, lambda L: L.is_elliptic(jnp.ones(1))):
            with pytest.raises(ValueError, match="no order and no principal symbol"):
                ask(operator)
    np.testing.assert_allclose(  # e^{−iξx} (−ξ² e^{iξx} + ∫₀¹ e^{iξy} dy)
        whole.symbol(jnp.asarray([2.0]), jnp.asarray([0.5])),
        -4 + np.exp(-1j) * (np.exp(2j) - 1) / 2j,
        rtol=1e-6,
    )
