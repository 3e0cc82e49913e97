"""PINNs: residuals, losses, their gradients in networks and coefficients, and problems."""

import io

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

from ..nested import allen_cahn, laplacian

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
KAPPA = 0.7


def mlp(dim):
    return eqx.nn.MLP(dim, "scalar", 4, depth=1, activation=jnp.tanh, key=jax.random.key(1))


def source(x):
    return jnp.sin(x[0]) * x[1]


def quasilinear(kappa):
    """u κΔu + (∂₀u)² = f: affine in what is sampled, and not in what is exact."""
    operators = {"u": do.Identity(), "slope": do.Partial(0), "diffusion": kappa * do.Laplacian()}
    return do.equations.Equation(
        operators,
        lambda v, x: v["u"] * v["diffusion"] + v["slope"] ** 2 - source(x),
        trainable=True,
    )


def by_nesting(u, kappa, x):
    return u(x) * kappa * laplacian(u)(x) + jax.grad(u)(x)[0] ** 2 - source(x)


def pinn(kappa=KAPPA):
    return do.nn.PINN(mlp(3), quasilinear(jnp.asarray(kappa)), do.nn.ZeroOnUnitSphere)


@pytest.fixture(scope="module")
def points(x64):
    return do.pde.unit_ball_by_radius(jax.random.key(2), 6, 3)


def test_the_function_is_the_network_in_its_ansatz(points):
    net, x = mlp(3), points[0]
    np.testing.assert_allclose(pinn()(x), (1 - jnp.sum(x**2)) * net(x), rtol=1e-12)
    alone = do.nn.PINN(net, quasilinear(jnp.asarray(KAPPA)))
    np.testing.assert_allclose(alone(x), net(x), rtol=1e-12)


def test_loss_and_gradient_are_those_of_nested_differentiation(points):
    """In the network's parameters and in κ, which is a coefficient of an operator."""
    model = pinn()

    def expected(both):
        u, kappa = both
        return jnp.mean(jax.vmap(lambda x: by_nesting(u, kappa, x))(points) ** 2)

    @eqx.filter_jit
    def every(model):
        got = eqx.filter_value_and_grad(lambda model: model.loss(points))(model)
        kappa = jnp.asarray(KAPPA)
        nested = eqx.filter_value_and_grad(expected)((model.u, kappa))
        return got, nested, jax.vmap(model.residual)(points)

    (loss, gradient), (nested_loss, (of_net, of_kappa)), residuals = every(model)
    np.testing.assert_allclose(loss, nested_loss, rtol=1e-11)
    np.testing.assert_allclose(loss, np.mean(residuals**2), rtol=1e-11)
    assert all(
        np.allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(jax.tree.leaves(gradient.u), jax.tree.leaves(of_net), strict=True)
    )
    (leaf,) = jax.tree.leaves(gradient.equation.operators())
    np.testing.assert_allclose(leaf, of_kappa, rtol=1e-9)
    assert abs(of_kappa) > 1e-3


def test_estimates(points):
    """With n = d terms the estimate is exact; with fewer the loss squares what `residual` tells,
    the same draw at all points."""
    model = pinn()

    @eqx.filter_jit
    def every(model):
        full = jax.vmap(lambda x: model.residual(x, KEY, 3))(points)
        one = jax.vmap(lambda x: model.residual(x, KEY, 1, probes="gaussian"))(points)
        loss = model.loss(points, KEY, 1, probes="gaussian")
        return full, one, loss, jax.vmap(lambda x: by_nesting(model.u, KAPPA, x))(points)

    full, one, loss, exact = every(model)
    np.testing.assert_allclose(full, exact, rtol=1e-10)
    np.testing.assert_allclose(loss, np.mean(one**2), rtol=1e-11)
    assert np.all(np.abs(one - exact) > 1e-6)


@pytest.mark.parametrize("square", ["product", "pairs"])
def test_unbiased_squares(points, square):
    """Of the loss and of its derivative in κ: the mean over 4000 keys is within 4.5 standard errors
    of the exact one (a correct library fails with probability 2e-5), and these are so small that
    the biased square would not be."""
    u = lambda x: jnp.sum(jnp.array([1.0, -2.0, 3.0]) * x**3)  # terms that differ

    def loss(kappa, key, square):
        model = do.nn.PINN(u, quasilinear(kappa))
        return model.loss(points, key, None if key is None else 2, square)

    @jax.jit
    def every(keys):
        exact = jax.value_and_grad(loss)(KAPPA, None, "biased")
        return exact, *(
            jax.vmap(lambda key, s=s: jax.value_and_grad(loss)(KAPPA, key, s))(keys)
            for s in (square, "biased")
        )

    exact, unbiased, biased = every(jax.random.split(KEY, 4000))
    for value, samples, others in zip(exact, unbiased, biased, strict=True):
        error = np.std(samples) / len(samples) ** 0.5
        assert abs(np.mean(samples) - value) < 4.5 * error
        assert abs(np.mean(others) - value) > 9 * error


@pytest.mark.parametrize("square", ["biased", "product", "pairs"])
def test_complex_residuals_have_magnitudes(points, square):
    """i Δu + u − f, as in Schrödinger's equation: |R|², of the real and the imaginary part what two
    real residuals have with the same draws.
    """
    u = lambda x: jnp.sum(jnp.array([1.0, -2.0, 3.0]) * x**3)
    whole = do.equations.Equation(
        [do.Laplacian(), do.Identity()], lambda v, x: jax.lax.complex(v[1] - 2.0, v[0])
    )
    parts = do.equations.Equation([do.Laplacian(), do.Identity()], lambda v, x: [v[1] - 2.0, v[0]])
    x = points
    exact = (6 * x @ jnp.array([1.0, -2.0, 3.0])) ** 2 + (jax.vmap(u)(x) - 2) ** 2

    @jax.jit
    def every(x):
        losses = [do.nn.PINN(u, e).loss(x, KEY, 2, square) for e in (whole, parts)]
        return do.nn.PINN(u, whole).loss(x), losses

    value, (got, expected) = every(x)
    np.testing.assert_allclose(value, jnp.mean(exact), rtol=1e-12)
    assert got.dtype == jnp.float64
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("square", ["biased", "product", "pairs"])
def test_constant_residuals(points, square):
    """A residual in which nothing is sampled has no variance, be it a number of Python."""
    u = lambda x: jnp.sum(x**2)
    equations = [
        do.equations.Equation([do.Laplacian()], residual)
        for residual in (lambda v, x: 3, lambda v, x: jnp.asarray(3))
    ]
    losses = lambda points: [do.nn.PINN(u, e).loss(points, KEY, 2, square) for e in equations]
    np.testing.assert_allclose(jax.jit(losses)(points), [9.0, 9.0])


def test_systems_add_their_squares(points):
    """Of a pytree of residuals, vectors among them: here those of u = (|x|², x_0)."""
    u = lambda x: jnp.stack([jnp.sum(x**2), x[0]])
    equation = do.equations.Equation(
        [do.Laplacian(), do.Partial(0)], lambda v, x: {"lap": v[0] - 5.0, "slope": v[1][0] - x[1]}
    )
    x = points
    expected = (6 - 5) ** 2 + (0 - 5) ** 2 + (2 * x[:, 0] - x[:, 1]) ** 2
    got = eqx.filter_jit(do.nn.PINN(u, equation).loss)(points)
    np.testing.assert_allclose(got, np.mean(expected), rtol=1e-12)


class Square(eqx.Module):
    """a x²."""

    a: jax.Array

    def __call__(self, x):
        return self.a * x[0] ** 2


def test_a_step_of_an_optimiser():
    """κ u'' = f with u = a x²: R = 2κa − f, and (a, κ) move against 2R (2κ, 2a)."""
    a, kappa, f, rate = 1.5, 0.5, 2.0, 0.01
    equation = do.equations.Equation.linear(
        jnp.array(kappa) * do.Laplacian(), lambda x: f, trainable=True
    )
    model = do.nn.PINN(Square(jnp.array(a)), equation)
    optimiser = optax.chain(optax.clip(1e3), optax.sgd(rate))

    @eqx.filter_jit
    def step(model, state, points):
        gradient = eqx.filter_grad(lambda model: model.loss(points))(model)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(model, updates), state

    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))
    points = jnp.array([[0.3], [0.8]])
    for _ in range(2):
        model, state = step(model, state, points)
        slope = 2 * (2 * kappa * a - f)
        a, kappa = a - rate * slope * 2 * kappa, kappa - rate * slope * 2 * a
    (got,) = jax.tree.leaves(model.equation.operators())
    np.testing.assert_allclose([model.u.a, got], [a, kappa], rtol=1e-12)


def test_a_learnable_source():
    """A source that is a module: ∂_a of (u'' − a x²)² with u'' = 2 at x = 3."""
    equation = do.equations.Equation.linear(do.Laplacian(), Square(jnp.array(0.5)), trainable=True)
    model = do.nn.PINN(lambda x: x[0] ** 2, equation)
    points = jnp.array([[3.0]])
    gradient = eqx.filter_jit(eqx.filter_grad(lambda model: model.loss(points)))(model)
    np.testing.assert_allclose(arrays(gradient), [2 * (2 - 4.5) * -9], rtol=1e-12)


def test_what_is_known_is_not_learnt():
    """b·∇u = f x² of u = a x²: at x = 1 the only parameter is a, with the slope 2 (2ab − f) 2b,
    while a filter learns b too, with 2 (2ab − f) 2a, and the source beside it is not learnt.
    """
    a, b, f = 1.5, 0.5, 2.0
    points = jnp.array([[1.0]])

    def slopes(**kwargs):
        equation = do.equations.Equation.linear(
            do.Directional(jnp.array([b])), Square(jnp.array(f)), **kwargs
        )
        model = do.nn.PINN(Square(jnp.array(a)), equation)
        return arrays(eqx.filter_grad(lambda model: model.loss(points))(model))

    twice = 2 * (2 * a * b - f)
    (of_a,) = slopes()
    np.testing.assert_allclose(of_a, twice * 2 * b, rtol=1e-12)
    np.testing.assert_allclose(slopes(trainable=(True, False))[1], [twice * 2 * a], rtol=1e-12)
    assert len(slopes(trainable=True)) == 3


def arrays(model):
    return jax.tree.leaves(eqx.filter(model, eqx.is_array))


def test_serialisation():
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, pinn(0.3))
    file.seek(0)
    again = eqx.tree_deserialise_leaves(file, pinn(0.9))
    assert len(arrays(again)) == 5
    assert eqx.tree_equal(arrays(again), arrays(pinn(0.3)))


def problem(seed):
    return do.pde.ManyBody("allen-cahn", 2, 3, key=jax.random.key(seed))


def test_a_problem_is_solved_by_its_solution(points):
    given = problem(3)
    model = do.nn.PINN(given.solution, given, ansatz=lambda net: net)
    left = jax.jit(jax.vmap(model.residual))(points)
    np.testing.assert_allclose(left, np.zeros(6), atol=1e-12)


def test_a_problem_brings_its_ansatz_and_keeps_its_arrays(points):
    """Its coefficients are no parameters: a step of an optimiser with weight decay leaves them."""
    given = problem(3)
    model = do.nn.PINN(mlp(3), given)
    assert eqx.tree_equal(arrays(model), arrays(mlp(3)))
    np.testing.assert_allclose(model(jnp.array([0.6, 0.0, 0.8])), 0.0, atol=1e-15)
    before = np.array(given.coefficients)
    optimiser = optax.adamw(0.1, weight_decay=0.5)

    @eqx.filter_jit
    def step(model):
        gradient = eqx.filter_grad(lambda model: model.loss(points))(model)
        parameters = eqx.filter(model, eqx.is_inexact_array)
        with jax.numpy_dtype_promotion("standard"):  # optax needs it
            updates, _ = optimiser.update(gradient, optimiser.init(parameters), parameters)
        return eqx.apply_updates(model, updates)

    model = step(model)

    @eqx.filter_jit
    def both(model, x):
        u = model.u
        return model.residual(x), allen_cahn(problem(3), u)(x)

    np.testing.assert_allclose(*both(model, points[0]), rtol=1e-9)
    np.testing.assert_array_equal(given.coefficients, before)


def test_a_compiled_function_knows_problems_apart(points):
    x, residual = points[0], eqx.filter_jit(lambda model: model.residual(points[0]))
    first, second = (residual(do.nn.PINN(mlp(3), problem(seed))) for seed in (3, 4))
    expected = problem(4).source(x) - problem(3).source(x)
    np.testing.assert_allclose(first - second, expected, rtol=1e-9)


def test_single_precision():
    """Nothing is promoted where all parts are of single precision."""
    with jax.enable_x64(False):
        points = jnp.ones((2, 3)) / 4
        model = do.nn.PINN(mlp(3), quasilinear(jnp.asarray(KAPPA)), do.nn.ZeroOnUnitSphere)

        @eqx.filter_jit
        def every(model):
            nested = jax.vmap(lambda x: by_nesting(model.u, KAPPA, x))(points) ** 2
            return model.loss(points), model.loss(points, KEY, 2, "pairs"), jnp.mean(nested)

        loss, pairs, expected = every(model)
        assert loss.dtype == pairs.dtype == jnp.float32
        np.testing.assert_allclose(loss, expected, rtol=1e-4)
