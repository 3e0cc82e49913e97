"""Error bars: those of linear least squares, and how fits scatter from noise to noise."""

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(30, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * RANDOM.normal(size=30)


class Regression:
    """‖X θ − y‖², in parts that have weights."""

    def __init__(self, *parts):
        self.parts = [[jnp.asarray(each) for each in part] for part in parts]

    def residuals(self, model, key):
        return {f"part {k}": w * (x @ model - y) for k, (x, y, w) in enumerate(self.parts)}


class AtPoints:
    """The same, with points alone."""

    def __init__(self, part):
        self.points = tuple(map(jnp.asarray, part[:2]))

    def pointwise(self, model, key):
        def missed(model, datum):
            return datum[0] @ model - datum[1]

        return {"data": (do.losses.Pointwise(missed, self.points),)}


def solved(x, y):
    return jnp.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


@pytest.mark.parametrize("kind", [Regression, AtPoints])
def test_they_are_those_of_linear_regression(kind):
    """s √diag (XᵀX)⁻¹, s² = Σ r²/(n − p)."""
    loss = kind((X, Y, 1.0))
    theta = solved(X, Y)
    left = Y - X @ theta
    covariance = left @ left / (30 - 4) * np.linalg.inv(X.T @ X)
    found = do.train.standard_errors(lambda theta: theta, theta, loss, key=KEY)
    np.testing.assert_allclose(found, np.sqrt(np.diag(covariance)), rtol=1e-8)

    def of(theta):
        return {"ratio": theta[0] / theta[1], "values": jnp.asarray(X[:2]) @ theta}

    found = do.train.standard_errors(of, theta, loss, key=KEY)
    slope = np.array([1 / theta[1], -theta[0] / theta[1] ** 2, 0, 0])
    np.testing.assert_allclose(found["ratio"], np.sqrt(slope @ covariance @ slope), rtol=1e-8)
    expected = np.sqrt(np.diag(X[:2] @ covariance @ X[:2].T))
    np.testing.assert_allclose(found["values"], expected, rtol=1e-8)


def test_what_no_residual_sees_moves_nothing():
    class WithUnused(Regression):
        def residuals(self, model, key):
            return super().residuals(model[0], key)

    theta, part = solved(X, Y), (X, Y, 1.0)
    left = Y - X @ theta
    covariance = left @ left / (30 - 4) * np.linalg.inv(X.T @ X)
    found, unused = do.train.standard_errors(
        lambda model: model, (theta, jnp.ones(2)), WithUnused(part), key=KEY, damping=0.0
    )
    np.testing.assert_allclose(found, np.sqrt(np.diag(covariance)), rtol=1e-8)
    np.testing.assert_array_equal(unused, 0)


def test_exact_equations_take_no_part_in_the_noise():
    """θ₀ + θ₁ = −1 with a weight of 10⁸: regression with one parameter less, by substitution."""
    rows = np.tile([1.0, 1.0, 0.0, 0.0], (5, 1))
    reduced = np.stack([X[:, 0] - X[:, 1], X[:, 2], X[:, 3]], axis=1)
    short = solved(reduced, Y + X[:, 1])
    left = Y + X[:, 1] - reduced @ short
    covariance = left @ left / (30 - 3) * np.linalg.inv(reduced.T @ reduced)
    theta = jnp.stack([short[0], -1 - short[0], short[1], short[2]])
    loss = Regression((rows, -np.ones(5), 1e4), (X, Y, 1.0))
    found = do.train.standard_errors(lambda t: t, theta, loss, key=KEY, damping=0.0)
    sigma = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found, sigma[[0, 0, 1, 2]], rtol=1e-5)


def test_a_condition_that_is_nearly_met_counts_as_exact():
    """One row with the weight of twenty: what is left of it is the noise of the others."""
    row, weight = np.array([[1.0, 1.0, 0.0, 0.0]]), 20**0.5
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * np.random.default_rng(1).normal(size=30)
    A, b = np.concatenate([weight * row, X]), np.concatenate([[-weight], y])
    theta, inverse = solved(A, b), np.linalg.pinv(A)
    left, free = X @ theta - y, 30 - np.trace(X @ inverse[:, 1:])
    assert 1 - A[0] @ inverse[:, 0] < 0.5 and abs(A[0] @ theta - b[0]) > 1e-2
    expected = np.sqrt(left @ left / free * np.sum(inverse[:, 1:] ** 2, axis=1))
    loss = Regression((row, -np.ones(1), weight), (X, y, 1.0))
    found = do.train.standard_errors(lambda t: t, theta, loss, key=KEY)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


class Rod(do.equations.AbstractEquation):
    """u'' = 0, u(0) = 1, u' + h u = 0 at 1: the rod of docs/how_to/unknowns.md."""

    h: jax.Array

    def operators(self):
        return do.Laplacian()

    def residual(self, value, x):
        return value

    def conditions(self, key, count):
        left, right = do.pde.Box((0.0,), (1.0,)).faces
        warm, loses = do.pde.Dirichlet(1.0, on=left), do.pde.Robin(self.h, 1.0, 0.0, on=right)
        data = do.equations.Condition(do.Identity(), ALONG[:, None], 1 - LOST)
        return do.pde.Conditions(warm, loses, data)(key, count)


ALONG = np.linspace(0.0, 1.0, 100)
LOST = 2 / 3 * ALONG + 0.01 * np.random.default_rng(2).normal(size=100)


@pytest.mark.parametrize("count", [1, 100])
def test_the_bar_does_not_depend_on_how_often_a_point_is_drawn(count):
    """It is nearly that of the regression 1 − u = s x, with h = s/(1 − s)."""
    square = ALONG @ ALONG
    slope = ALONG @ LOST / square
    noise = np.linalg.norm(LOST - slope * ALONG) / 99**0.5
    bar = noise / square**0.5 / (1 - slope) ** 2
    loss = do.losses.ResidualLoss(
        Rod(jnp.array(0.5)), points=ALONG[:, None], probes="exact", data_batch=count
    )
    newton = do.methods.GaussNewton(1e-2, adaptive=True, acceleration=True)
    net = eqx.nn.MLP(1, "scalar", 10, 1, jnp.tanh, key=jax.random.key(1))
    pinn = do.train.fit(do.nn.PINN(net, loss.equation), loss, newton, 100, key=KEY).model
    np.testing.assert_allclose(pinn.equation.h, slope / (1 - slope), atol=0.2 * bar)
    found = do.train.standard_errors(lambda pinn: pinn.equation.h, pinn, loss, key=KEY)
    np.testing.assert_allclose(found, bar, rtol=0.05)


def test_parts_have_noise_of_their_own():
    """Two halves with noise of 1 and 0.01, and equal weights: the scatter over many draws of it."""
    truth, scale = jnp.array([1.0, -2.0, 0.5, 0.0]), np.repeat([1.0, 0.01], 15)
    inverse = np.linalg.pinv(X)
    expected = np.sqrt(np.sum((inverse * scale) ** 2, axis=1))
    squares = []
    for noise in scale * RANDOM.normal(size=(40, 30)):
        y = X @ truth + noise
        loss = Regression((X[:15], y[:15], 1.0), (X[15:], y[15:], 1.0))
        errors = do.train.standard_errors(lambda t: t, solved(X, y), loss, key=KEY)
        squares.append(errors**2)
    # The degrees of freedom are divided between the parts to first order: 20 % of the errors
    np.testing.assert_allclose(np.sqrt(np.mean(squares, axis=0)), expected, rtol=0.2)


@pytest.mark.usefixtures("as_users_see_it")
def test_groups_whose_places_are_spelt_alike():
    """A name with a dot is not the place that it looks like."""

    class Nested(Regression):
        def residuals(self, model, key):
            first, second = super().residuals(model, key).values()
            return {"a": {"b": first}, "a.b": second}

    parts = (X[:15], Y[:15], 1.0), (X[15:], Y[15:], 3.0)
    theta = solved(np.concatenate([X[:15], 3 * X[15:]]), np.append(Y[:15], 3 * Y[15:]))
    nested, flat = (
        do.train.standard_errors(lambda t: t, theta, kind(*parts), key=KEY)
        for kind in (Nested, Regression)
    )
    np.testing.assert_array_equal(nested, flat)


def test_what_tells_nothing_of_its_noise_is_refused():
    message = (
        "standard_errors expects more residuals than the fit has used up, which tell of their "
        r"noise, got 4 of part 0 of which .* are free, larger than the noise of the other "
        r"residuals explains; draw more points there \(data_batch for conditions\), take more "
        r"measurements or a smaller network, or fit until the loss is at its minimum\.$"
    )
    loss = Regression((X[:4], Y[:4], 1.0))
    with pytest.raises(ValueError, match=message):
        do.train.standard_errors(lambda t: t, solved(X[:4], Y[:4]) + 1.0, loss, key=KEY)
    row = 5 * np.eye(4)[:1]
    loss = Regression((X, Y, 1.0), (row, np.full(1, 100.0), 1.0))
    theta = solved(np.concatenate([X, row]), np.append(Y, 100.0))
    with pytest.raises(ValueError, match="got 1 of part 1 of which 0.* are free, larger than"):
        do.train.standard_errors(lambda t: t, theta, loss, key=KEY)
    with pytest.raises(ValueError, match=r"got 4 of data\[0\] of which"):
        loss = AtPoints((X[:4], Y[:4]))
        do.train.standard_errors(lambda t: t, solved(X[:4], Y[:4]) + 1.0, loss, key=KEY)
    message = "expects at most 3 residuals or parameters, .* got 30 residuals and 4 parameters"
    with pytest.raises(ValueError, match=message):
        do.train.standard_errors(
            lambda t: t, solved(X, Y), Regression((X, Y, 1.0)), key=KEY, most=3
        )
    with pytest.raises(TypeError, match="standard_errors expects a loss that says what it is the"):
        do.train.standard_errors(lambda t: t, solved(X, Y), lambda u, key: 0.0, key=KEY)


def of_a_line(of=lambda t: t, theta=None, key=KEY, **options):
    theta = solved(X, Y) if theta is None else theta
    return do.train.standard_errors(of, theta, Regression((X, Y, 1.0)), key=key, **options)


test_mistakes = refusals(
    {
        "a finite damping of at least 0, got -1.0; by default it is 1e-10": lambda: of_a_line(
            damping=-1.0
        ),
        "a finite damping of at least 0, got nan": lambda: of_a_line(damping=np.nan),
        "a minimum of the loss, got one whose parameters are not finite": lambda: of_a_line(
            theta=jnp.array([1.0, np.nan, 0.0, 0.0])
        ),
    },
    {
        "expects real parameters, got complex ones; fit": lambda: of_a_line(
            theta=jnp.ones(4, complex)
        ),
        r"with parameters, got function, which has none; call standard_errors\(of, model, loss, ": (
            lambda: of_a_line(of=solved(X, Y), theta=lambda theta: theta)
        ),
        r"real numbers, or a pytree of them, got None; return the": lambda: of_a_line(
            lambda t: None
        ),
        r"standard_errors needs a JAX random key such as jax.random.key\(0\)": lambda: of_a_line(
            key=0
        ),
    },
)


class Decay(do.equations.AbstractEquation):
    """u' = −rate u, u measured at 40 times with an error of 0.02; the rate is exp(log_rate)."""

    log_rate: jax.Array
    times: jax.Array
    values: jax.Array
    trainable = ("log_rate",)

    def operators(self):
        return {"u": do.Identity(), "slope": do.Partial(0)}

    def residual(self, values, x):
        return values["slope"] + jnp.exp(self.log_rate) * values["u"]

    def conditions(self, key, count):
        return (do.equations.Condition(do.Identity(), self.times, self.values),)


class Polynomial(eqx.Module):
    """Of a degree that nearly contains the solutions."""

    coefficients: jax.Array = eqx.field(default_factory=lambda: 0.1 * jnp.ones(9))

    def __call__(self, x):
        return jnp.polyval(self.coefficients, x[0])


RATE = 0.7
TIMES = np.linspace(0.0, 2.0, 40)[:, None]
WAVE = np.exp(-RATE * TIMES[:, 0])


def decaying(values, data_weight):
    """The model with which a fit begins, and its loss."""
    equation = Decay(jnp.array(0.0), jnp.asarray(TIMES), values)
    points = jnp.linspace(0.0, 2.0, 60)[:, None]
    loss = do.losses.ResidualLoss(equation, points=points, probes="exact", data_weight=data_weight)
    return do.nn.PINN(Polynomial(), equation), loss


def rate(pinn):
    return jnp.exp(pinn.equation.log_rate)


def test_the_error_of_an_unknown_is_that_of_regression_with_the_solutions():
    """Where the equation counts a million times as much as the data, u is a exp(−rate t)."""
    values = WAVE + 0.02 * RANDOM.normal(size=40)
    pinn, loss = decaying(jnp.asarray(values), 1e-6)
    newton = do.methods.GaussNewton(1e-12, adaptive=True)
    pinn = do.train.fit(pinn, loss, newton, 60, key=KEY).model
    found, k = do.train.standard_errors(rate, pinn, loss, key=KEY, damping=1e-14), rate(pinn)
    a, wave = pinn(jnp.zeros(1)), np.exp(-k * TIMES[:, 0])
    J = np.stack([wave, -a * TIMES[:, 0] * wave], axis=1)
    left = a * wave - values
    expected = np.sqrt(left @ left / 38 * np.linalg.inv(J.T @ J)[1, 1])
    np.testing.assert_allclose(left @ J, 0, atol=1e-4)  # it is that regression
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_the_error_of_an_unknown_is_how_it_scatters():
    """Where the equation is not exact: 200 fits with other noise, by undamped steps."""

    def flat(theta, values):
        pinn, loss = decaying(values, 1.0)
        _, unravel = jax.flatten_util.ravel_pytree(pinn)
        residuals = jax.tree.leaves(loss.residuals(unravel(theta), KEY))
        return jnp.concatenate([each.ravel() for each in residuals])

    @jax.jit
    @jax.vmap
    def fitted(values):
        def step(_, theta):
            J, r = jax.jacfwd(flat)(theta, values), flat(theta, values)
            return theta - jnp.linalg.lstsq(J, r)[0]

        theta, _ = jax.flatten_util.ravel_pytree(decaying(values, 1.0)[0])
        return jax.lax.fori_loop(0, 12, step, theta)

    values = jnp.asarray(WAVE + 0.02 * RANDOM.normal(size=(200, 40)))
    pinn, loss = decaying(values[0], 1.0)
    _, unravel = jax.flatten_util.ravel_pytree(pinn)
    thetas = fitted(values)
    rates = [float(rate(unravel(theta))) for theta in thetas]
    told = do.train.standard_errors(rate, unravel(thetas[0]), loss, key=KEY)
    # a standard deviation of 200 is known to 5 %, and the noise of one fit to 11 %
    np.testing.assert_allclose(told, np.std(rates), rtol=0.3)
    assert abs(np.mean(rates) - RATE) < 4 * np.std(rates) / 200**0.5 + 2e-3
