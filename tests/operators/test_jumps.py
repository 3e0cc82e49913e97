"""Generators of jumps beside closed forms, by z-tests that would notice a bias of a fifth."""

import math
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import hyp1f1

import diffop as do
from diffop.quadrature import AbstractJumps, Jump, PoissonJumps, StableJumps

from ..draws import Z, check_errors, check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)


def bell(x):
    return jnp.exp(-x @ x / 2)


def of_bell(power, x):
    """(−Δ)^s of exp(−|x|²/2): its Fourier transform times |ξ|^{2s}, transformed back."""
    d = len(x)
    gamma = math.exp(math.lgamma(d / 2 + power) - math.lgamma(d / 2))
    return float(2**power * gamma * hyp1f1(d / 2 + power, d / 2, -x @ x / 2))


def cap(alpha):
    """(1 − |x|²)_+^{1 + α/2}."""

    def u(x):
        inside = jnp.maximum(1 - x @ x, 0.0)
        return jnp.where(inside > 0, jnp.where(inside > 0, inside, 1.0) ** (1 + alpha / 2), 0.0)

    return u


def of_cap(alpha, x):
    """Its fractional Laplacian in the ball (Dyda 2012, "Fractional calculus for power functions and
    eigenvalues of the fractional Laplacian").
    """
    d = len(x)
    gamma = math.exp(math.lgamma((d + alpha) / 2) - math.lgamma(d / 2))
    return 2**alpha * math.gamma(2 + alpha / 2) * gamma * (1 - (1 + alpha / d) * x @ x)


def to_sphere(x):
    return 1 - jnp.linalg.norm(x)


def point(d, size):
    x = np.cos(np.arange(d) + 0.3)
    return size * x / np.linalg.norm(x)


# (operator, u, x, (operator u)(x))
CASES = {
    f"bell, alpha {alpha}, d {d}, radius {radius}": (
        do.FractionalLaplacian(alpha, radius=radius),
        bell,
        point(d, size),
        of_bell(alpha / 2, point(d, size)),
    )
    for alpha, d, size, radius in (
        (0.5, 1, 0.4, 1.0),
        (1.5, 2, 0.0, 2.0),
        (1.999, 4, 0.7, 1.0),
        (1.5, 100, 0.5, 1.0),
        (1.0, 1000, 0.5, 2.0),
    )
}
CASES |= {
    f"cap, alpha {alpha}, d {d}": (
        do.FractionalLaplacian(alpha, radius=to_sphere),
        cap(alpha),
        point(d, size),
        of_cap(alpha, point(d, size)),
    )
    for alpha, d, size in ((0.5, 1, 0.3), (1.0, 2, 0.5), (1.5, 100, 0.6))
}
CASES |= {
    "of a Laplacian": (
        do.FractionalLaplacian(1.0, radius=1.0) @ do.Laplacian(),
        bell,
        point(3, 0.3),
        -of_bell(1.5, point(3, 0.3)),
    ),
    "a Laplacian of it": (
        do.Laplacian() @ do.FractionalLaplacian(1.0, radius=1.0),
        bell,
        point(3, 0.3),
        -of_bell(1.5, point(3, 0.3)),
    ),
    "a part of an equation": (
        do.Partial(2) + 2 * do.FractionalLaplacian(1.5, radius=1.0, dims=(0, 1)) + do.Identity(),
        lambda x: bell(x[:2]) * jnp.exp(x[2]),
        np.array([0.3, 0.4, 0.2]),
        math.exp(0.2) * (2 * math.exp(-0.125) + 2 * of_bell(0.75, np.array([0.3, 0.4]))),
    ),
}


def one_sided(alpha):
    """ν(dz) = z^{−1−α} dz for 0 < z < 1, all of them small."""

    class OneSided(AbstractJumps):
        symmetric: bool = False

        def small(self, key, size, *args):
            r = jax.random.uniform(key) ** (1 / (2 - alpha))
            return Jump(jnp.ones(1), r, jnp.asarray(1 / (2 - alpha)))

        def large(self, key, size, *args):
            return Jump(jnp.zeros(1), jnp.ones(()), jnp.zeros(()))

    return OneSided()


def tempered(alpha, rate, frequency):
    """The generator of C exp(−λ|z|)|z|^{−1−α}, of cos ξx at 0: ∫ (cos ξz − 1) ν(dz), which is known
    by ∫_0^∞ (exp(−pz) − 1 + …) z^{−1−α} dz = Γ(−α) p^α.
    """
    c = 2**alpha * math.gamma((1 + alpha) / 2) / (math.sqrt(math.pi) * abs(math.gamma(-alpha / 2)))
    root = complex(rate, -frequency) ** alpha
    return 2 * c * math.gamma(-alpha) * (root.real - rate**alpha)


NORMAL = PoissonJumps(2.0, lambda key, x: 0.5 * jax.random.normal(key, (2,)))
CASES |= {
    "Poisson": (
        do.JumpGenerator(NORMAL),
        lambda x: jnp.exp(x[0] - x[1]),
        np.array([0.1, 0.3]),
        2 * math.expm1(0.25) * math.exp(-0.2),
    ),
    "Poisson, of the point": (
        do.JumpGenerator(
            PoissonJumps(lambda x: x[0] ** 2, lambda key, x: x * jax.random.exponential(key, (1,)))
        ),
        lambda x: x[0] ** 2,
        np.array([3.0]),
        9 * (2 * 3 * 3 + 9 * 2),  # x² E[2 x z + z²], z = x e with the moments 1 and 2 of e
    ),
    "Poisson, of counts": (
        do.JumpGenerator(PoissonJumps(0.5, lambda key, x: jax.random.poisson(key, 2.0, (1,)))),
        lambda x: x[0] ** 2,
        np.array([3.0]),
        0.5 * (2 * 3 * 2 + 2 + 2**2),  # ½ E[2 x z + z²], z with mean and variance 2
    ),
    "one-sided": (
        do.JumpGenerator(one_sided(1.5)),
        lambda x: jnp.exp(0.8 * x[0]),
        np.array([0.0]),
        sum(0.8**k / (math.factorial(k) * (k - 1.5)) for k in range(2, 30)),
    ),
    "tempered": (
        do.JumpGenerator(StableJumps(1.5, radius=0.5, tempering=2.0)),
        lambda x: jnp.cos(3 * x[0]),
        np.array([0.0]),
        tempered(1.5, 2.0, 3.0),
    ),
    "a Lévy process": (
        do.Directional(np.array([1.0, 2.0]))
        + 0.5 * do.Laplacian()
        + (lambda x: x[0]) * do.JumpGenerator(NORMAL),
        lambda x: jnp.exp(x[0] - x[1]),
        np.array([0.1, 0.3]),
        (-1 + 1 + 0.1 * 2 * math.expm1(0.25)) * math.exp(-0.2),
    ),
    "of one argument": (
        do.Partial(argnum=1) - do.FractionalLaplacian(1.0, radius=1.0, argnum=0),
        lambda x, t: bell(x) * t,
        (point(2, 0.5), np.array(2.0)),
        math.exp(-0.125) - 2 * of_bell(0.5, point(2, 0.5)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_estimates_are_unbiased(name):
    """With standard errors from the keys, not from the library."""
    operator, u, x, expected = CASES[name]
    args = jax.tree.map(jnp.asarray, x if isinstance(x, tuple) else (x,))
    keys = 1000 if args[0].size > 100 else 10_000
    values = many(lambda key: operator.estimate(key, 2)(u)(*args), keys, seed=5)
    check_mean(values, expected, notices=0.2)


def test_jumps_that_are_known_are_exact():
    """Nothing is random where the jump is not."""
    steps = PoissonJumps(3.0, lambda key, x: jnp.array([1.0]))
    u = lambda x: jnp.sin(x[0])
    value, error, jets = do.JumpGenerator(steps).estimate(KEY, 2).stats(u)(jnp.zeros(1))
    np.testing.assert_allclose(value, 3 * math.sin(1.0), rtol=1e-14)
    assert error < 1e-14 and jets == 4


def test_standard_errors_are_those_over_keys():
    operator, x = do.FractionalLaplacian(1.5, radius=1.0), jnp.asarray(point(20, 0.5))
    value, error, jets = many(lambda key: tuple(operator.estimate(key, 8).stats(bell)(x)), 2000)
    check_errors(value, error)
    assert jets[0] == 8 * 3


def test_single_precision_is_enough():
    """Where differences over small jumps have lost their digits: 10,000 draws, of which 4,000 go
    less than 1e-4 far, are as good in single precision as in double.
    """
    x = point(3, 0.7)
    for dtype in (jnp.float32, jnp.float64):
        estimate = do.FractionalLaplacian(1.9, radius=1.0).estimate(KEY, 10_000)
        value, error, _ = jax.jit(estimate.stats(bell))(jnp.asarray(x, dtype))
        assert value.dtype == dtype
        assert abs(value - of_bell(0.95, x)) < Z * error < 0.05 * of_bell(0.95, x)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("size", [1.0, 1.5])
def test_a_radius_that_is_not_positive_is_told(alpha, size):
    """On the sphere, and outside of it, where small and large jumps would change their signs."""
    E = do.FractionalLaplacian(alpha, radius=to_sphere).estimate(KEY, 8)
    x = jnp.array([size, 0.0])
    with pytest.raises(Exception, match="radius of small jumps must be positive at each point"):
        jax.block_until_ready(jax.jit(E(bell))(x))


def test_a_radius_that_depends_on_the_point_in_shard_map():
    """Where it is not positive the estimate is NaN: an error would stop one device alone."""
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    each = jax.vmap(do.FractionalLaplacian(1.5, radius=to_sphere).estimate(KEY, 8)(bell))
    x = jnp.linspace(0.0, 0.6, 8).reshape(4, 2)
    mapped = jax.shard_map(each, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))
    np.testing.assert_allclose(mapped(x), each(x), rtol=1e-12)
    got = mapped(
        x.at[3].set(2.0).at[2].set(jnp.array([1.0, 0.0]))
    )  # radii of less than 0, and of 0
    np.testing.assert_array_equal(np.isnan(got), [False, False, True, True])


def test_gradients_of_long_jumps_are_finite():
    """Of a radius that depends on the point: powers of a uniform number leave the range."""
    E = do.FractionalLaplacian(0.05, radius=to_sphere)
    with jax.enable_x64(False):
        x = jnp.array([0.3, 0.2], jnp.float32)
        slope = jax.jit(lambda key: jax.grad(E.estimate(key, 64)(cap(0.05)))(x))
        slopes = jax.vmap(slope)(jax.random.split(KEY, 20))
    assert bool(jnp.all(jnp.isfinite(slopes)))


def test_long_jumps_stay_in_range():
    """Of alpha = 0.1 one jump in 60 is longer than the squares of single precision are large."""
    estimate = do.FractionalLaplacian(0.1, radius=1.0).estimate(KEY, 1000)
    value = estimate(bell)(jnp.zeros(2, jnp.float32))
    np.testing.assert_allclose(value, of_bell(0.05, np.zeros(2)), rtol=0.05)


def poisson(alpha, d):
    return do.equations.Equation.linear(
        do.FractionalLaplacian(alpha, radius=to_sphere),
        lambda x: (
            2**alpha
            * math.gamma(2 + alpha / 2)
            * math.exp(math.lgamma((d + alpha) / 2) - math.lgamma(d / 2))
            * (1 - (1 + alpha / d) * x @ x)
        ),
    )


def test_a_loss_is_that_of_the_residual():
    """Of the solution in a hundred dimensions it is 0 on average; biased it is the variance."""
    points = 0.7 * do.pde.unit_ball_by_radius(jax.random.key(1), 4, 100)
    for square in ("pairs", "biased"):
        loss = do.losses.ResidualLoss(poisson(1.5, 100), points=points, n=4, square=square)
        values = many(lambda key, loss=loss: loss(cap(1.5), key), 500)
        z = values.mean() / (values.std() / math.sqrt(500))
        assert (abs(z) < Z) == (square != "biased"), (square, z)


def test_a_control_takes_noise_away():
    operator, x = do.FractionalLaplacian(1.5, radius=1.0), jnp.asarray(point(5, 0.3))
    u = lambda x: bell(x) + 0.01 * jnp.cos(x[0])
    known = of_bell(0.75, point(5, 0.3))
    estimate = operator.estimate(KEY, 64)
    plain, controlled = estimate.stats(u)(x), estimate.controlled(bell, lambda x: known).stats(u)(x)
    expected = known + 0.01 * math.cos(x[0])  # (−Δ)^s cos x = cos x
    assert controlled.standard_error < 0.1 * plain.standard_error
    assert abs(controlled.value - expected) < Z * controlled.standard_error


def test_networks_without_curvature_are_warned_of():
    """Small jumps are taken by second derivatives, which are 0 for them."""
    rough = eqx.nn.MLP(2, "scalar", 8, depth=1, key=KEY)
    equation = do.equations.Equation.linear(do.FractionalLaplacian(1.0, radius=1.0), lambda x: 0.0)
    loss = do.losses.ResidualLoss(equation, points=np.ones((2, 2)), n=2)
    with pytest.warns(do.losses.PiecewiseLinearWarning):
        loss(rough, KEY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(bell, KEY)


def test_they_compare_and_print():
    operator = do.FractionalLaplacian(1.5, radius=1.0)
    assert operator == do.FractionalLaplacian(1.5, radius=1.0)
    assert operator != do.FractionalLaplacian(1.5, radius=2.0)
    assert operator.estimate(KEY, 2) == operator.estimate(KEY, 2)
    assert repr(do.Partial(2) + do.FractionalLaplacian(1.5, radius=1.0, dims=(0, 1))) == (
        "∂₂ + (−Δ)^0.75{0,1}"
    )
    assert "draws only" in str(operator.jets())
    assert repr(0.5 * do.Laplacian() + do.JumpGenerator(NORMAL)) == "0.5 Δ + J"


test_what_is_wrong_is_said = refusals(
    {
        r"\(−Δ\)\^0.75 sees u everywhere and has no exact value; estimate it": lambda: (
            do.FractionalLaplacian(1.5, radius=1.0).exact(bell)(jnp.zeros(2))
        ),
        "between 0 and 2": lambda: do.FractionalLaplacian(2, radius=1.0),
        "between 0 and 2.*0.0": lambda: do.FractionalLaplacian(0.0, radius=1.0),
        "positive and finite": lambda: do.FractionalLaplacian(1.0, radius=0.0),
        "tempering must be finite and at least 0": lambda: do.FractionalLaplacian(
            1.0, radius=1.0, tempering=-1.0
        ),
        "finite and at least 0; got -1.0": lambda: PoissonJumps(-1.0, jnp.ones),
        r"of shape \(3,\); got shape \(2,\)": lambda: do.JumpGenerator(NORMAL).estimate(KEY, 2)(
            bell
        )(jnp.zeros(3)),
    },
    {
        "expects a measure of jumps": lambda: do.JumpGenerator(2.0),
        "that returns a jump; got 2.0": lambda: PoissonJumps(1.0, 2.0),
    },
)
