"""Operators of functions of u: values beside nested differentiation, laws, and what is drawn."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..draws import check_mean, many
from ..nested import laplacian
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

U = do.Value()
D, LAPLACIAN = do.Partial(0), do.Laplacian()
X = np.array([0.7, -0.4])


def u(x):
    return jnp.sin(x[0] + 2 * x[1]) * jnp.exp(x[0] * x[1])


def flow(x):  # velocity and pressure
    return jnp.stack([jnp.sin(x[0]) * x[1], jnp.cos(x[1]) * x[0] ** 2, x[0] * x[1] ** 3])


def well(u):
    return u**3 - u


def K(u):
    return 1 + u**2


def at(u, x):
    return jnp.sin(u) * x[0]


def fluxes(u):
    return jnp.stack([u**2 / 2, u**3])


def c(x):
    return x[0] + x[1] ** 2


# The oracle: nested differentiation, and no operator.


def partial(i):
    return lambda u: lambda x: jax.grad(u)(x)[i]


def divergence(field):
    return lambda x: jnp.trace(jax.jacfwd(field)(x))


dx, dy = partial(0), partial(1)
VELOCITY, PRESSURE = do.Component((0, 1)), do.Component(2)
velocity = lambda flow: lambda x: flow(x)[:2]


def momentum(flow):
    def residual(x):
        value, jacobian = flow(x)[:2], jax.jacfwd(velocity(flow))(x)
        second = jax.hessian(velocity(flow))(x)
        return jacobian @ value + jax.jacfwd(flow)(x)[2] - 0.1 * jnp.trace(second, 0, 1, 2)

    return residual


CASES = {
    "function": (LAPLACIAN @ well, lambda u: laplacian(lambda x: well(u(x)))),
    "polynomial": (LAPLACIAN @ (U**3 - U), lambda u: laplacian(lambda x: well(u(x)))),
    "of the point": (D @ at, lambda u: dx(lambda x: at(u(x), x))),
    "diffusion": (
        do.Divergence() @ (do.FunctionOf(K) * do.Gradient()),
        lambda u: divergence(lambda x: K(u(x)) * jax.grad(u)(x)),
    ),
    "conservation law": (do.Divergence() @ fluxes, lambda u: divergence(lambda x: fluxes(u(x)))),
    "flux": (D @ (U**2 / 2), lambda u: lambda x: u(x) * dx(u)(x)),
    "burgers": (
        do.Partial(1) + U * D - 0.1 * do.Partial(0, order=2),
        lambda u: lambda x: dy(u)(x) + u(x) * dx(u)(x) - 0.1 * dx(dx(u))(x),
    ),
    "kuramoto-sivashinsky": (
        do.Partial(1) + do.Partial(0, order=2) + do.Partial(0, order=4) + D * D / 2,
        lambda u: lambda x: dy(u)(x) + dx(dx(u))(x) + dx(dx(dx(dx(u))))(x) + dx(u)(x) ** 2 / 2,
    ),
    "cahn-hilliard": (
        do.Partial(1) - LAPLACIAN @ (U**3 - U - 0.01 * LAPLACIAN),
        lambda u: lambda x: dy(u)(x) - laplacian(lambda x: well(u(x)) - 0.01 * laplacian(u)(x))(x),
    ),
    "hirota": (  # D_x² f·f = 2 (f f_xx − f_x²)
        2 * (U * D**2 - D * D),
        lambda u: lambda x: 2 * (u(x) * dx(dx(u))(x) - dx(u)(x) ** 2),
    ),
    "coefficients": (
        1j * (c * (U * D)) - c * LAPLACIAN,
        lambda u: lambda x: jax.lax.complex(-c(x) * laplacian(u)(x), c(x) * u(x) * dx(u)(x)),
    ),
    "inside of itself": (
        (U**2 + D) @ (U * D + LAPLACIAN),
        lambda u: (
            lambda x: (
                (u(x) * dx(u)(x) + laplacian(u)(x)) ** 2
                + dx(lambda x: u(x) * dx(u)(x) + laplacian(u)(x))(x)
            )
        ),
    ),
    "function of operators": (
        do.FunctionOf(lambda a, b: a / (2 + b), LAPLACIAN, U * D),
        lambda u: lambda x: laplacian(u)(x) / (2 + u(x) * dx(u)(x)),
    ),
    "infinity laplacian": (  # ∇uᵀ ∇²u ∇u
        do.FunctionOf(lambda g, h: g @ h @ g, do.Gradient(), do.Hessian()),
        lambda u: lambda x: jax.grad(u)(x) @ jax.hessian(u)(x) @ jax.grad(u)(x),
    ),
}
SYSTEMS = {
    "navier-stokes": (
        do.FunctionOf(jnp.matmul, do.Gradient() @ VELOCITY, VELOCITY)
        + do.Gradient() @ PRESSURE
        - 0.1 * LAPLACIAN @ VELOCITY,
        momentum,
    ),
    "components": (
        do.Component(0) * (D @ do.Component(1)),
        lambda flow: lambda x: flow(x)[0] * dx(lambda x: flow(x)[1])(x),
    ),
    "by entries": (
        VELOCITY * (D @ VELOCITY),
        lambda flow: lambda x: velocity(flow)(x) * jax.jacfwd(velocity(flow))(x)[:, 0],
    ),
    "of a component": (
        (LAPLACIAN @ well) @ PRESSURE,
        lambda flow: laplacian(lambda x: well(flow(x)[2])),
    ),
}


@pytest.mark.parametrize("cases", [CASES, SYSTEMS], ids=["scalars", "systems"])
def test_values_beside_nested_differentiation(cases):
    """All in one program, where they share what acts on u."""
    function = u if cases is CASES else flow
    operators = {name: operator for name, (operator, _) in cases.items()}
    oracles = {name: oracle(function) for name, (_, oracle) in cases.items()}
    got = jax.jit(do.exact(operators)(function))(jnp.asarray(X))
    expected = jax.jit(lambda x: {name: each(x) for name, each in oracles.items()})(jnp.asarray(X))
    for name in cases:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-10, err_msg=name)


def test_several_arguments():
    N = do.Partial(argnum=1) + do.Laplacian() @ (lambda u, x, t: t * u**2)
    v = lambda x, t: jnp.sin(x[0]) * x[1] * t
    got = N.exact(v)(jnp.asarray(X), 0.5)
    square = laplacian(lambda x: 0.5 * v(x, 0.5) ** 2)(jnp.asarray(X))
    np.testing.assert_allclose(got, v(X, 1.0) + square, rtol=1e-12)


def test_transformations():
    """Coefficients are leaves; programs map and differentiate."""
    N = lambda kappa: kappa * (U * D) + LAPLACIAN @ (kappa * U**2)
    points = jnp.stack([jnp.asarray(X), jnp.ones(2)])
    value = lambda kappa: jnp.sum(jax.vmap(N(kappa).exact(u))(points))
    kappas = jnp.array([0.5, 2.0])
    slopes = jax.jit(jax.vmap(jax.grad(value)))(kappas)
    one = lambda x: u(x) * dx(u)(x) + laplacian(lambda x: u(x) ** 2)(x)
    np.testing.assert_allclose(slopes, 2 * [sum(map(one, points))], rtol=1e-12)
    assert len(jax.tree.leaves(N(kappas[0]))) == 2


# Laws.


def test_equality():
    f, g = (lambda u: u**2), (lambda u: u**2)
    assert U * D == D * U
    assert U * (D + LAPLACIAN) == U * D + U * LAPLACIAN
    assert (U + D) * (U - D) == U**2 - D * D
    assert (U**2) * U == U**3 == U * U * U
    assert LAPLACIAN @ (U**3 - U) == LAPLACIAN @ U**3 - LAPLACIAN
    assert LAPLACIAN @ (LAPLACIAN @ U**2) == do.Biharmonic() @ U**2
    assert 2 * (LAPLACIAN @ U**2) == LAPLACIAN @ (2 * U**2)
    assert -2 * (LAPLACIAN @ (U**2 + U**3)) == LAPLACIAN @ (-2 * U**3 - 2 * U**2)
    assert LAPLACIAN @ (U**2 + U**3) - LAPLACIAN @ U**2 == LAPLACIAN @ U**3
    assert LAPLACIAN @ (U**2 + U**3) != LAPLACIAN @ (U**2 - U**3)
    assert 0.1 * (U * D) + 0.2 * (U * D) == 0.3 * (U * D)
    assert (D @ f) @ g == D @ (do.FunctionOf(f) @ g)
    assert LAPLACIAN @ f == LAPLACIAN @ do.FunctionOf(f)
    assert LAPLACIAN @ f != LAPLACIAN @ g
    assert U * D != U * do.Partial(1)
    assert 2 * (U * D) != U * D
    assert U * do.Laplacian(dims=(0,)) == U * do.Partial(0, order=2)
    assert jnp.asarray(2.0) * (U * D) == 2 * (U * D)
    assert (c * (U * D)) == U * (c * D) == (c * U) * D
    assert ((U * D) @ (U * D)) @ U**2 == (U * D) @ ((U * D) @ U**2)
    assert sum([U * D, D, U]) - D - U == U * D
    assert hash(U * D) == hash(D * U)
    assert (U * D != 3) and (U != "u")


def test_linear_ones_stay_linear():
    assert LAPLACIAN.is_linear and (2 * U + LAPLACIAN).is_linear and U.is_linear
    assert (U * D - D * U + LAPLACIAN).is_linear
    assert not (U * D).is_linear and not (LAPLACIAN @ well).is_linear
    assert U == do.Identity() and 2 * U + LAPLACIAN == LAPLACIAN + 2 * do.Identity()
    assert LAPLACIAN @ U == LAPLACIAN
    assert isinstance(LAPLACIAN @ (c * do.Identity()), do.operators.DifferentialOperator)


PRINTED = {
    "Δ(well(u))": LAPLACIAN @ well,
    "∂₀(φ(u))": D @ (lambda u: u),
    "∂₀(at(u, x))": D @ at,
    "div((K(u)) (∇u))": do.Divergence() @ (do.FunctionOf(K) * do.Gradient()),
    "∂₁u − 0.1 ∂₀²u + u (∂₀u)": do.Partial(1) - 0.1 * D**2 + U * D,
    "∂₁u + Δu + 0.01 Δ²u − Δ(u³)": CASES["cahn-hilliard"][0],
    "−2 (∂₀u)²": -2 * (D * D),
    "c(x)·u²": c * U**2,
    "u₀ (∂₀ u₁)": SYSTEMS["components"][0],
    "u": U,
    "0": U * D - D * U,
    "matmul(∇u, u)": do.FunctionOf(jnp.matmul, do.Gradient(), U),
}


@pytest.mark.parametrize("text", PRINTED)
def test_text(text):
    assert str(PRINTED[text]) == repr(PRINTED[text]) == text


# Estimates.


def draws(operator, function, x, count=400):
    """The values that n = 1 draws have, each once."""
    return np.unique(np.round(many(lambda key: operator.estimate(key, 1)(function)(x), count), 8))


def test_factors_have_independent_draws():
    """Of Δu Δu in two coordinates: all products of a draw and another, each as likely."""
    x = jnp.asarray(X)
    second = np.diag(jax.jit(jax.hessian(u))(x))
    expected = [4 * a * b for a, b in itertools.product(second, second)]
    found = draws(LAPLACIAN * LAPLACIAN, u, x)
    np.testing.assert_allclose(found, np.unique(np.round(expected, 8)), rtol=1e-6)
    np.testing.assert_allclose(np.mean(expected), laplacian(u)(x) ** 2, rtol=1e-12)


def test_what_is_inside_is_exact():
    """Of Δ(u³) a term of the outer sum is drawn; of φ(Δu) nothing is."""
    x = jnp.asarray(X)
    cube = jax.jit(jax.hessian(lambda x: u(x) ** 3))(x)
    np.testing.assert_allclose(draws(LAPLACIAN @ U**3, u, x), np.sort(2 * np.diag(cube)), 1e-6)
    squared = do.FunctionOf(jnp.square, LAPLACIAN)
    np.testing.assert_allclose(draws(squared, u, x), [laplacian(u)(x) ** 2], 1e-6)
    nested = LAPLACIAN @ (U * LAPLACIAN)
    inner = jax.jit(jax.hessian(lambda x: u(x) * laplacian(u)(x)))(x)
    np.testing.assert_allclose(draws(nested, u, x), np.sort(2 * np.diag(inner)), 1e-6)


def test_standard_errors():
    """Those of u Δu are those of Δu times u; those of Δu Δu follow to first order."""
    x, key = jnp.linspace(0.1, 1, 9), jax.random.key(1)
    v = lambda x: jnp.sum(jnp.sin(x)) ** 3
    product = (U * LAPLACIAN + D).estimate(key, 4)
    # the factor Δu is the second one: its draws are its own
    operators = LAPLACIAN, LAPLACIAN * LAPLACIAN, U * LAPLACIAN

    @jax.jit
    def every(x):
        whole = product.stats(v)(x), product.draws(v)(x).contributions, product(v)(x)
        return whole, [each.estimate(key, 4).stats(v)(x) for each in operators]

    ((value, error, jets), contributions, again), (linear, square, other) = every(x)
    assert [z.shape for z in jax.tree.leaves(contributions)] == [(4,)]
    np.testing.assert_allclose(value, again, rtol=1e-12)
    spread = np.std(np.asarray(contributions[0]) * 4, ddof=1) / 2
    np.testing.assert_allclose(error, spread * np.sqrt(1 - 4 / 9), rtol=1e-10)
    own, second = linear.value, other.value / v(x)
    np.testing.assert_allclose(square.value, own * second, rtol=1e-12)
    parts = (second * linear.standard_error, own * other.standard_error / v(x))
    np.testing.assert_allclose(square.standard_error, np.hypot(*parts), rtol=1e-10)
    assert jets >= 4


@pytest.mark.parametrize("estimate", [False, True])
def test_draws_of_linear_ones_have_their_factors(estimate):
    """Of numbers and functions times u and its derivatives; Δ of a sum of x_i⁴ has no variance with
    Rademacher directions.
    """
    v, x = lambda x: jnp.sum(x**4), jnp.linspace(0.1, 1, 9)
    lap = 12 * np.sum(np.square(x))
    expected = {
        3.0 * U: 3 * v(x),
        (lambda x: x[1]) * U: x[1] * v(x),
        U / 4 - LAPLACIAN: v(x) / 4 - lap,
        2 * (U @ LAPLACIAN): 2 * lap,
    }
    for operator, value in expected.items():
        applied = (
            operator.estimate(jax.random.key(0), 4, "rademacher") if estimate else operator.exact
        )
        found = applied.stats(v)(x)
        np.testing.assert_allclose(found.value, value, rtol=1e-12)
        np.testing.assert_allclose(applied.draws(v)(x).value, value, rtol=1e-12)
        np.testing.assert_allclose(found.standard_error, 0, atol=1e-12)


def test_estimates_of_several():
    """Linear terms share draws with those of others."""
    x, key = jnp.linspace(0.1, 1, 9), jax.random.key(1)
    v = lambda x: jnp.sum(jnp.sin(x)) ** 3
    ops = {"N": LAPLACIAN - LAPLACIAN @ U**2 + U, "lap": LAPLACIAN}
    squared = lambda x: v(x) ** 2
    ways = do.estimate(ops, key, 4)(v), LAPLACIAN.estimate(key, 4)(squared)
    got, square = jax.jit(lambda x: [way(x) for way in ways])(x)
    np.testing.assert_allclose(got["N"], got["lap"] - square + v(x), rtol=1e-12)
    assert repr(LAPLACIAN.estimate(key, 4) + U**2).startswith("([Δ; 4 × sparse])u + u²")


def test_jets():
    x = jax.ShapeDtypeStruct((3,), np.float64)
    assert (U * D + D + LAPLACIAN).jets(x).total == (D + LAPLACIAN).jets(x).total
    table = str((LAPLACIAN @ (U * LAPLACIAN)).jets())
    assert table.count("Δ ") >= 2 and "a function of u, exact" in table


# In equations.


def viscous(x, nu=0.5):
    """Burgers' equation in (x, t): a wave that travels at speed 1."""
    return 1 - jnp.tanh((x[0] - x[1]) / (2 * nu))


BURGERS = do.Partial(1) + U * D - 0.5 * D**2


def test_residuals():
    points = jax.random.normal(jax.random.key(0), (6, 2))
    equation = do.equations.Equation(BURGERS, lambda value, x: value)
    assert do.nn.PINN(viscous, equation).loss(points) < 1e-28
    N, oracle = CASES["burgers"]
    residuals = jax.jit(jax.vmap(oracle(u)))(points)
    for each in (
        do.equations.Equation(N, lambda value, x: value - 1),
        do.equations.Equation.linear(N, lambda x: 1.0),
    ):
        loss = jax.jit(do.nn.PINN(u, each).loss)(points)
        np.testing.assert_allclose(loss, np.mean((residuals - 1) ** 2), rtol=1e-10)


def test_gradients_of_residuals():
    """What gpinn adds: ∂_j of the residual, by jets and by reverse mode."""
    points = jax.random.normal(jax.random.key(0), (3, 2))
    N, oracle = (
        LAPLACIAN @ U**2 + U * D,
        lambda x: laplacian(lambda x: u(x) ** 2)(x) + u(x) * dx(u)(x),
    )
    pinn = do.nn.PINN(u, do.equations.Equation(N, lambda value, x: value))
    ways = {}, {"gpinn_terms": 2, "key": jax.random.key(0), "probes": "exact"}

    @jax.jit
    def every(points):
        values, slopes = jax.vmap(jax.value_and_grad(oracle))(points)
        expected = jnp.mean(values**2) + jnp.mean(jnp.sum(slopes**2, axis=1))
        return [pinn.loss(points, gpinn=1.0, **how) for how in ways], expected

    got, expected = every(points)
    np.testing.assert_allclose(got, [expected] * 2, rtol=1e-10)


def test_squares_are_unbiased():
    """The mean square of an estimated residual over many keys is that of the exact one."""
    equation = do.equations.Equation(U * LAPLACIAN - LAPLACIAN @ U**2, lambda value, x: value)
    v = lambda x: jnp.sin(x[0]) * jnp.exp(x[1]) + x[2] ** 3
    pinn, point = do.nn.PINN(v, equation), jnp.array([[0.7, -0.4, 0.9]])
    exact = (v(point[0]) * laplacian(v)(point[0]) - laplacian(lambda x: v(x) ** 2)(point[0])) ** 2
    found = many(lambda key: pinn.loss(point, key, 2, "pairs"), 4000)
    check_mean(found, float(exact), notices=0.2)  # by far less than the variance of the residual


def test_conditions():
    """A boundary that radiates, ∂u/∂n + u⁴ = 0: u = (3 x + c)^(−1/3) solves it at n = −1 ..."""
    face = do.pde.Box((0.0, 0.0), (1.0, 1.0)).face(0, "upper")
    radiates = do.pde.Prescribed(do.Directional(face.normal) + U**4, 0.0, on=face)
    (condition,) = radiates.draw(jax.random.key(0), 5)
    assert condition.misfit(lambda x: (3 * x[0] + 1) ** (-1 / 3)) < 1e-28
    missed = condition.misfit(lambda x: 2 * x[0])
    np.testing.assert_allclose(missed, (2 + 16) ** 2)


def test_unknown_coefficients_are_learnt():
    kappa = jnp.array(0.5)
    equation = do.equations.Equation(
        do.Partial(1) + kappa * (U * D), lambda value, x: value, trainable=True
    )
    pinn = do.nn.PINN(u, equation)
    slope = eqx.filter_grad(lambda pinn: pinn.loss(jnp.asarray(X)[None]))(pinn)
    advection = u(X) * dx(u)(jnp.asarray(X))
    expected = 2 * (dy(u)(jnp.asarray(X)) + 0.5 * advection) * advection
    np.testing.assert_allclose(jax.tree.leaves(slope), [expected], rtol=1e-12)


def test_kinks_are_those_of_u_itself():
    """Δ(u²) of a relu network is 2 |∇u|², and no reason to warn."""
    points = jnp.ones((2, 2))
    relu = lambda x: jax.nn.relu(x[0] - 0.2)
    equation = do.equations.Equation(LAPLACIAN @ U**2, lambda value, x: value)
    np.testing.assert_allclose(do.nn.PINN(relu, equation).loss(points), 4.0)
    with pytest.warns(do.losses.PiecewiseLinearWarning):
        do.nn.PINN(relu, do.equations.Equation(U * LAPLACIAN, lambda v, x: v)).loss(points)


# Bad input.

E = LAPLACIAN.estimate(jax.random.key(0), 1)


STEP, FLOOR = (
    do.FunctionOf(lambda v: v > 0),
    do.FunctionOf(lambda v: jnp.floor(v).astype(int)),
)
HALF = np.asarray(0.5)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (0.5 * STEP, 0.5),
        (jnp.asarray(HALF) * STEP, 0.5),
        ((lambda x: 0.5) * STEP, 0.5),
        (do.Partial(0) - jnp.asarray(HALF) * STEP, 0.5),
        (STEP + do.FunctionOf(lambda v: v > -1), 2.0),
        (STEP * STEP, 1.0),
        (jnp.asarray(HALF) * FLOOR, 1.5),
        (1j * FLOOR, 3j),
        (FLOOR * do.Value(), 9.0),
        (STEP, 1.0),
    ],
    ids=str,
)
def test_values_that_are_no_floating_numbers(operator, expected):
    """A switch times a number is no switch."""
    x = jnp.array([3.0])
    got = operator.exact(lambda x: x[0])(x)
    assert jnp.issubdtype(got.dtype, jnp.inexact)
    np.testing.assert_allclose(got, expected)


def test_the_factor_of_a_switch_is_learnt():
    value = lambda theta: (theta * STEP).exact(lambda x: x[0])(jnp.array([3.0]))
    np.testing.assert_allclose(jax.grad(value)(0.5), 1.0)


test_refused = refusals(
    {
        r"Identity\(\) \*\* 3 is the identity applied 3 times, .* is Value\(\) \*\* 3": lambda: (
            LAPLACIAN @ (do.Identity() ** 3 - do.Identity())
        ),
        "must be 1, 2, 3, …; got -1": lambda: U**-1,
        r"got shapes \(2,\) and \(2, 2\). For others say how: FunctionOf": lambda: (
            do.Gradient() * do.Hessian()
        ).exact(u)(jnp.asarray(X)),
        "no shape is broadcast": lambda: (U**2 + do.Gradient()).exact(u)(jnp.asarray(X)),
        r"of 1 value\(s\), or of these and of the 1 argument\(s\) of u; got φ, .* 3": lambda: (
            do.FunctionOf(lambda u, x, t: u).exact(u)(jnp.asarray(X))
        ),
    },
    {
        r"but the operator u ↦ L\(φ\(u\)\)": lambda: (LAPLACIAN @ u)(X),
        r"N \* FunctionOf\(c\) for c of u": lambda: U**2 * c,
        r"neither multiplied .*\(A \* B\).estim": lambda: E * E,
        "nor put into funct": lambda: do.FunctionOf(jnp.exp, E),
        "neither multiplied nor composed": lambda: E @ U**2,
        "expects a function .* got 3.0 of type": lambda: do.FunctionOf(3.0),
        "expects operators after the function": lambda: do.FunctionOf(K, u),
        "expected a linear operator; got u²": lambda: do.choose(U**2, jax.random.key(0), 2),
        "expects two operators; got u": lambda: do.commutator(U * D, D),
    },
)
