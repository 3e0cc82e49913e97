"""Hessian, curl and entries of vector-valued functions, beside nested autodiff in float64."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([[0.3, -0.7, 1.1], [1.2, 0.4, -0.5]])
RATE = 1.3


def field(x, rate=RATE):
    """ℝ³ → ℝ³, neither a gradient nor a curl."""
    x = jnp.asarray(x)
    y = jnp.tanh(rate * jnp.stack([x[1] * x[2], x[0] - x[1] ** 2, x[0] * x[1]]))
    return y * jnp.exp(0.3 * x[0]) + jnp.sin(x[jnp.array([1, 2, 0])])


def plane(x):
    """ℝ² → ℝ³: two velocities and a pressure."""
    return jnp.stack([jnp.sin(x[0] * x[1]), x[0] ** 3 * x[1], jnp.exp(x[0] - x[1] ** 2)])


def named(x):
    y = field(x)
    return {"p": y[0], "v": y[1:]}


def antisymmetric(jacobian):
    """∂_a u_b − ∂_b u_a for (a, b) = (1, 2), (2, 0), (0, 1)."""
    twice = jacobian.T - jacobian
    return jnp.stack([twice[1, 2], twice[2, 0], twice[0, 1]])


def component(i):
    return lambda x: field(x)[i]


JACOBIAN, HESSIAN = jax.jacfwd, jax.hessian
C, D = do.Component, do.Partial
SEVERAL = np.array([2, 0])
CASES = {
    "hessian of a scalar": (do.Hessian() @ C(1), lambda x: HESSIAN(component(1))(x)),
    "hessian": (do.Hessian(), lambda x: HESSIAN(field)(x)),
    "hessian dims": (
        do.Hessian(dims=(2, 0)),
        lambda x: HESSIAN(field)(x)[:, SEVERAL][..., SEVERAL],
    ),
    "curl": (do.Curl(), lambda x: antisymmetric(JACOBIAN(field)(x))),
    "curl dims": (do.Curl(dims=(2, 0)) @ C((2, 0)), lambda x: antisymmetric(JACOBIAN(field)(x))[1]),
    "curl curl": (
        do.Curl() @ do.Curl(),
        lambda x: antisymmetric(JACOBIAN(lambda x: antisymmetric(JACOBIAN(field)(x)))(x)),
    ),
    "curl of a gradient": (do.Curl() @ do.Gradient() @ C(0), lambda x: jnp.zeros(3)),
    "grad div": (
        do.Laplacian() + 2.0 * do.Gradient() @ do.Divergence(),
        lambda x: (
            jnp.trace(HESSIAN(field)(x), axis1=1, axis2=2)
            + 2 * jax.grad(lambda x: jnp.trace(JACOBIAN(field)(x)))(x)
        ),
    ),
    "beltrami": (
        do.Curl() - 0.5 * do.Identity(),
        lambda x: antisymmetric(JACOBIAN(field)(x)) - 0.5 * field(x),
    ),
    "component": (C(2), lambda x: field(x)[2]),
    "components": (C((2, 0)), lambda x: field(x)[SEVERAL]),
    "laplacian of a component": (
        do.Laplacian() @ C(0),
        lambda x: jnp.trace(HESSIAN(component(0))(x)),
    ),
    "jacobian of components": (do.Gradient() @ C((2, 0)), lambda x: JACOBIAN(field)(x)[SEVERAL]),
    "row of the jacobian": (C(1) @ do.Gradient(), lambda x: JACOBIAN(field)(x)[1]),
    "entry of the gradient": (C(1) @ do.Gradient() @ C(2), lambda x: JACOBIAN(field)(x)[2, 1]),
    "divergence of components": (
        do.Divergence(dims=(0, 1)) @ C((1, 2)),
        lambda x: JACOBIAN(field)(x)[1, 0] + JACOBIAN(field)(x)[2, 1],
    ),
    "divergence form of a component": (
        do.DivergenceForm(lambda x: 1 + x @ x) @ C(2),
        lambda x: jnp.trace(JACOBIAN(lambda x: (1 + x @ x) * jax.grad(component(2))(x))(x)),
    ),
    "conservation": (
        D(2) @ C(0) + do.Divergence(dims=(0, 1)) @ C((1, 2)),
        lambda x: JACOBIAN(field)(x)[0, 2] + JACOBIAN(field)(x)[1, 0] + JACOBIAN(field)(x)[2, 1],
    ),
    "strain": (
        0.5 * (D(0) @ C(1) + D(1) @ C(0)),
        lambda x: 0.5 * (JACOBIAN(field)(x)[1, 0] + JACOBIAN(field)(x)[0, 1]),
    ),
    "function after a component": (
        (lambda x: x[0]) * do.Laplacian() @ C(1),
        lambda x: x[0] * jnp.trace(HESSIAN(component(1))(x)),
    ),
    "function before a component": (
        D(0) @ ((lambda x: x[0]) * C(1)),
        lambda x: field(x)[1] + x[0] * JACOBIAN(field)(x)[1, 0],
    ),
    "biharmonic of a component": (
        do.Biharmonic() @ C(1),
        lambda x: jnp.trace(HESSIAN(lambda x: jnp.trace(HESSIAN(component(1))(x)))(x)),
    ),
    "normal derivative": (
        do.Directional(lambda x: x / jnp.linalg.norm(x)) @ C(0),
        lambda x: jax.grad(component(0))(x) @ x / jnp.linalg.norm(x),
    ),
}


def all_of_them(x, rate=RATE):
    u = lambda x: field(x, rate)
    return {name: operator.exact(u)(x) for name, (operator, _) in CASES.items()}


def expected(x):
    return {name: reference(x) for name, (_, reference) in CASES.items()}


@pytest.fixture(scope="module")
def values():
    with jax.enable_x64(True):
        return jax.jit(lambda x: (jax.vmap(all_of_them)(x), jax.vmap(expected)(x)))(jnp.asarray(X))


@pytest.mark.parametrize("name", CASES)
def test_exact(name, values):
    got, right = (each[name] for each in values)
    assert got.shape == right.shape and got.dtype == jnp.float64
    np.testing.assert_allclose(got, right, rtol=1e-11, atol=1e-11)


def test_one_point_is_as_many():
    one = jax.jit(all_of_them)(jnp.asarray(X[1]))
    for name, right in jax.jit(expected)(jnp.asarray(X[1])).items():
        np.testing.assert_allclose(one[name], right, rtol=1e-11, atol=1e-11)


def test_together_they_share_jets():
    """A Hessian, first derivatives and a curl by the same two coordinates are one jet."""
    ops = {
        "hessian": do.Hessian(),
        "curl": do.Curl(dims=(0, 1)) @ C((0, 1)),
        "slopes": [D(0), D(1)],
        "viscous": (D(0, 2) + D(1, 2)) @ C((0, 1)),
    }
    (x,) = X[:1, :2]
    got = jax.jit(do.exact(ops)(plane))(x)
    jacobian, hessian = jax.jacfwd(plane)(x), jax.hessian(plane)(x)
    np.testing.assert_allclose(got["hessian"], hessian, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(got["curl"], jacobian[1, 0] - jacobian[0, 1], rtol=1e-12)
    np.testing.assert_allclose(jnp.stack(got["slopes"], axis=1), jacobian, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(got["viscous"], np.trace(hessian, axis1=1, axis2=2)[:2], rtol=1e-12)
    plan = do.exact(ops).jets(jax.ShapeDtypeStruct((2,), jnp.float64))
    assert (plan.total, plan.coefficients) == (1, 5)


def test_gradients_of_the_values():
    """With respect to a parameter and to the point."""
    ops = {
        "hessian": do.Hessian(),
        "curl": do.Curl(),
        "mass": do.Divergence(dims=(0, 1)) @ C((1, 2)),
    }

    def size(of):
        return lambda rate, x: sum(jnp.sum(jnp.sin(y)) for y in jax.tree.leaves(of(rate, x)))

    def ours(rate, x):
        return do.exact(ops)(lambda x: field(x, rate))(x)

    def theirs(rate, x):
        jacobian = JACOBIAN(field)(x, rate)
        mass = jacobian[1, 0] + jacobian[2, 1]
        return [HESSIAN(field)(x, rate), antisymmetric(jacobian), mass]

    got, right = (
        jax.jit(jax.grad(size(f), (0, 1)))(RATE, jnp.asarray(X[0])) for f in (ours, theirs)
    )
    for mine, other in zip(got, right, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10)


def test_advection_from_a_jacobian():
    """u·∇u, as a residual says it."""
    (x,) = X[:1]
    got = do.exact({"u": do.Identity(), "J": do.Gradient()})(field)(x)
    _, right = jax.jvp(field, (x,), (field(x),))
    np.testing.assert_allclose(got["J"] @ got["u"], right, rtol=1e-12)


MANY = np.array([0.3, -0.7, 1.1, 0.2, -0.4, 0.9])


def of_many(x):
    """ℝ⁶ → a dict of a scalar and of two values."""
    x = jnp.asarray(x)
    return {"a": jnp.prod(jnp.sin(x)), "b": jnp.tanh(x[:2] * x[4:]) * jnp.exp(x[2])}


@pytest.mark.parametrize("dims", [None, (5, 1, 0, 2, 3)], ids=["all", "some"])
def test_a_hessian_in_more_than_a_few_coordinates(dims):
    chosen = np.arange(6) if dims is None else np.array(dims)
    operator = do.Hessian(dims=dims)
    ops = {"all": operator, "scaled": (lambda x: x[0]) * operator, "grad": do.Gradient()}
    got = jax.jit(do.exact(ops)(of_many))(jnp.asarray(MANY))
    for name, whole in jax.jit(jax.hessian(of_many))(jnp.asarray(MANY)).items():
        right = whole[..., chosen, :][..., chosen]
        np.testing.assert_allclose(got["all"][name], right, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(got["scaled"][name], MANY[0] * right, rtol=1e-12, atol=1e-14)


def test_a_hessian_of_a_pytree_and_of_a_loop():
    """Of an argument with structure, numbered as it is ravelled, and without reverse mode."""
    point = {"a": jnp.asarray(MANY[:4].reshape(2, 2)), "b": jnp.asarray(MANY[4:])}
    u = lambda z: jnp.sum(z["a"] ** 3) * jnp.prod(jnp.cos(z["b"])) + z["a"][0, 1] * z["b"][1]
    flat, unravel = jax.flatten_util.ravel_pytree(point)
    right = jax.hessian(lambda flat: u(unravel(flat)))(flat)
    np.testing.assert_allclose(do.Hessian().exact(u)(point), right, rtol=1e-12, atol=1e-14)

    def loop(x):
        step = lambda c: c * 0.5 * jnp.cos(c) * c[0]
        return jnp.sum(jax.lax.while_loop(lambda c: jnp.sum(c**2) > 0.01, step, x))

    right = jax.jacfwd(jax.jacfwd(loop))(jnp.asarray(MANY))
    got = do.Hessian().exact(loop)(jnp.asarray(MANY))
    np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-14)


def test_the_program_of_a_hessian_does_not_grow(getkey):
    """Its jets would have an equation for each of d(d + 1)/2 entries."""
    key = getkey()
    ways = {
        "exact": do.Hessian().exact,
        "statistics": do.estimate({"h": do.Hessian(), "lap": do.Laplacian()}, key, 2).stats,
    }

    def length(way, d):
        u = lambda x: jnp.sum(jnp.tanh(jnp.outer(jnp.arange(3.0), x) @ x))
        return len(jax.make_jaxpr(way(u))(jnp.ones(d)).eqns)

    for way in ways.values():
        assert length(way, 30) <= length(way, 10)


def tensor(x):
    """ℝ³ → ℝ²ˣ³, a row for each of two vector fields."""
    return jnp.stack([field(x), jnp.cos(field(x)) * x[0]])


def test_divergences_of_tensors():
    """The last axis is contracted; `Divergence() @ Gradient()` is Δ of each value."""
    (x,) = X[:1]
    jacobian = JACOBIAN(tensor)(x)
    got = jax.jit(do.exact([do.Divergence(), do.Divergence(dims=(2, 0))])(tensor))(x)
    np.testing.assert_allclose(got[0], jnp.einsum("ijj->i", jacobian), rtol=1e-12)
    np.testing.assert_allclose(got[1], jacobian[:, 0, 0] + jacobian[:, 2, 2], rtol=1e-12)
    pair = lambda x: tensor(x)[:, jnp.array([0, 2])]
    np.testing.assert_allclose(do.Divergence(dims=(0, 2)).exact(pair)(x), got[1], rtol=1e-12)
    cube = lambda x: jnp.stack([tensor(x), tensor(x) ** 2])
    right = jnp.einsum("aijj->ai", JACOBIAN(cube)(x))
    np.testing.assert_allclose(do.Divergence().exact(cube)(x), right, rtol=1e-12)
    weighted = do.Divergence() @ ((lambda x: jnp.exp(x[1])) * do.Gradient())
    by_nesting = JACOBIAN(lambda x: jnp.exp(x[1]) * JACOBIAN(field)(x))(x)
    right = jnp.einsum("ijj->i", by_nesting)
    np.testing.assert_allclose(weighted.exact(field)(x), right, rtol=1e-12)


def test_divergences_of_tensors_of_one_row():
    """A row of three entries is a tensor where the argument is a vector, and a vector field where
    the argument is a row.
    """
    (x,) = X[:1]
    right = jnp.trace(JACOBIAN(field)(x))
    row = lambda x: field(x)[None]
    np.testing.assert_allclose(do.Divergence().exact(row)(x), [right], rtol=1e-12)
    one = lambda x: jnp.sum(field(x) ** 2)[None]
    flux = (do.Divergence() @ do.Gradient()).exact(one)(x)
    np.testing.assert_allclose(flux, do.Laplacian().exact(one)(x), rtol=1e-12)
    matrix = lambda x: field(x[0])[None]
    np.testing.assert_allclose(do.Divergence().exact(matrix)(x[None]), right, rtol=1e-12)
    some = lambda x: jnp.tanh(jnp.outer(jnp.arange(1.0, 4.0), x[:2])) * x[2]  # 3 × 2, of six
    whole = JACOBIAN(some)(jnp.asarray(MANY))
    right = whole[:, 0, 0] + whole[:, 1, 1]
    got = do.Divergence(dims=(0, 1)).exact(some)(jnp.asarray(MANY))
    np.testing.assert_allclose(got, right, rtol=1e-12)


@pytest.mark.parametrize("probes", ["sparse", "rademacher"])
def test_estimates_of_divergences_of_tensors(probes):
    """All draws of one term, or of one vector of signs, have the divergence as their mean."""
    (x,) = X[:1]
    right = jnp.einsum("ijj->i", JACOBIAN(tensor)(x))
    keys = jax.random.split(jax.random.key(0), 100)
    draw = lambda key: do.Divergence().estimate(key, 1, probes)(tensor)(x)
    different = np.unique(np.round(jax.jit(jax.vmap(draw))(keys), 9), axis=0)
    assert len(different) == (3 if probes == "sparse" else 4)  # v and −v are one draw
    np.testing.assert_allclose(different.mean(axis=0), right, rtol=1e-8)


def test_the_divergence_of_a_stress():
    """∇·(−p 1 + μ(|D|)(∇u + ∇uᵀ)), whose viscosity depends on the rate of strain."""

    def stress(gradient, pressure):
        rate = gradient + gradient.T
        return (1 + jnp.sum(rate**2)) ** -0.25 * rate - pressure * jnp.eye(2)

    velocity, pressure = C((0, 1)), C(2)
    operator = do.Divergence() @ do.FunctionOf(stress, do.Gradient() @ velocity, pressure)
    x = X[0, :2]
    by_hand = lambda x: stress(JACOBIAN(lambda x: plane(x)[:2])(x), plane(x)[2])
    right = jnp.einsum("ijj->i", JACOBIAN(by_hand)(x))
    np.testing.assert_allclose(operator.exact(plane)(x), right, rtol=1e-11)


def test_components_by_name():
    (x,) = X[:1]
    ops = {"p": do.Laplacian() @ C("p"), "v": D(0) @ C(1) @ C("v"), "both": C(("v", "p"))}
    got = do.exact(ops)(named)(x)
    np.testing.assert_allclose(got["p"], jnp.trace(HESSIAN(component(0))(x)), rtol=1e-12)
    np.testing.assert_allclose(got["v"], jax.grad(component(2))(x)[0], rtol=1e-12)
    np.testing.assert_array_equal(got["both"][0], field(x)[1:])  # as asked for, "v" and then "p"
    np.testing.assert_array_equal(got["both"][1], field(x)[0])
    pair = lambda x: (field(x)[0], field(x)[1:])
    np.testing.assert_allclose(do.Laplacian().exact(pair)(x)[0], got["p"], rtol=1e-12)
    np.testing.assert_allclose((do.Laplacian() @ C(0)).exact(pair)(x), got["p"], rtol=1e-12)


@pytest.mark.parametrize("probes", ["sparse", "rademacher"])
def test_an_estimate_of_a_component_is_the_component_of_an_estimate(probes, getkey):
    x, key = jnp.asarray(np.linspace(-1, 1, 8)), getkey()
    u = lambda x: jnp.stack([jnp.sum(x**4), jnp.prod(jnp.cos(x)), x[0] ** 2 * x[1]])
    whole = do.Laplacian().estimate(key, 3, probes).stats(u)(x)
    own = (do.Laplacian() @ C(1)).estimate(key, 3, probes).stats(u)(x)
    np.testing.assert_allclose(own.value, whole.value[1], rtol=1e-12)
    np.testing.assert_allclose(own.standard_error, whole.standard_error[1], rtol=1e-12)
    assert own.jets == whole.jets
    scalar = do.Laplacian().estimate(key, 3, probes)(lambda x: u(x)[1])(x)
    np.testing.assert_allclose(own.value, scalar, rtol=1e-12)


def test_a_divergence_of_components_is_estimated(getkey):
    u = lambda x: jnp.concatenate([jnp.sin(x) * x[::-1], x[:1]])
    x, key = jnp.linspace(0.1, 1.0, 9), getkey()
    velocity = C(tuple(range(9)))
    got = (do.Divergence() @ velocity).estimate(key, 4)(u)(x)
    right = do.Divergence().estimate(key, 4)(lambda x: u(x)[:9])(x)
    np.testing.assert_allclose(got, right, rtol=1e-12)
    deflated = (do.Divergence() @ velocity).deflate(key, 12)(u)(x)
    np.testing.assert_allclose(deflated, jnp.trace(JACOBIAN(u)(x)[:9]), rtol=1e-10)


def test_a_control_is_of_the_same_component(getkey):
    x = jnp.linspace(0.1, 1.0, 9)
    u = lambda x: jnp.stack([jnp.sum(x**4), jnp.sum(jnp.sin(x))])
    estimate = (do.Laplacian() @ C(1)).estimate(getkey(), 3)
    got = estimate.controlled(u)(u)(x)
    np.testing.assert_allclose(got, -jnp.sum(jnp.sin(x)), rtol=1e-12)


def test_what_is_arranged_is_exact_in_estimates(getkey):
    (x,) = X[:1]
    joint = do.estimate({"hessian": do.Hessian(), "curl": do.Curl()}, getkey(), 1)
    got = joint(field)(x)
    np.testing.assert_allclose(got["hessian"], HESSIAN(field)(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(got["curl"], antisymmetric(JACOBIAN(field)(x)), rtol=1e-12)
    stats = do.Curl().estimate(getkey(), 1).stats(field)(x)
    assert np.all(stats.standard_error == 0)


def test_equality():
    assert do.Laplacian() @ C(0) == C(0) @ do.Laplacian()
    assert do.Laplacian() @ C(0) != do.Laplacian() @ C(1)
    assert do.Laplacian() @ C(0) != do.Laplacian()
    assert do.Divergence() @ do.Gradient() @ C(1) == do.Laplacian() @ C(1)
    assert C(1) @ do.Gradient() != do.Gradient() @ C(1)  # of a scalar u only the first is one
    assert do.Hessian() == do.Hessian() != do.Hessian(dims=(0, 1))
    assert 2 * do.Curl() - do.Curl() == do.Curl()
    key = jax.random.key(0)
    first, second = (do.Laplacian() @ C(i) for i in (0, 1))
    assert first.estimate(key, 3) == (C(0) @ do.Laplacian()).estimate(key, 3)
    assert first.estimate(key, 3) != second.estimate(key, 3)


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (C(0), "I₀"),
        (do.Laplacian() @ C(2), "Δ I₂"),
        (do.Divergence() @ C((0, 1)), "div I[0, 1]"),
        (D(0) @ C(1) - D(1) @ C(0), "∂₀ I₁ − ∂₁ I₀"),
        (C(1) @ C("v"), "I₁ I['v']"),
        (do.Hessian(), "∇∇ᵀ"),
        (do.Hessian(dims=(0, 1)), "∇∇ᵀ{0,1}"),
        (do.Curl() @ do.Curl(), "curl{0,1,2} curl{0,1,2}"),
        (do.Curl(dims=(0, 1), argnum=1), "curl{0,1}₍₁₎"),
    ],
)
def test_text(operator, text):
    assert str(operator) == text


test_errors = refusals(
    {
        r"^Component\(3\) takes an entry that u does not have: u returns an array of shape "
        r"\(3,\), and components are numbered from 0 along the first axis, or named": lambda: C(
            3
        ).exact(field)(X[0]),
        r"u returns an array of shape \(\), and components": lambda: C(0).exact(jnp.sum)(X[0]),
        r"Component\('q'\) .* u returns a dict with 'p', 'v',": lambda: C("q").exact(named)(X[0]),
        "the entry of Component must be at least 0; got -1": lambda: C(-1),
        r"Component takes at least one entry, and none twice; got \(\)": lambda: C(()),
        r"at least one entry, and none twice; got \(1, 1\)": lambda: C((1, 1)),
        r"in two or three coordinates; got dims=\(0,\)\. In the plane": lambda: do.Curl(dims=(0,)),
        "in two or three coordinates; got dims=None": lambda: do.Curl(dims=None),
        r"curl\{0,1\} needs a vector-valued u with one value for each of the 2 coordinates "
        r"0, 1; got 3 value\(s\)\. Of some of them: Curl\(…\) @ Component\(\(0, 1\)\)": lambda: (
            do.Curl(dims=(0, 1)).exact(plane)(X[0, :2])
        ),
        r"in the plane write Curl\(dims=\(0, 1\)\)": lambda: do.Curl().exact(plane)(X[0, :2]),
        r"got 3 value\(s\)\. Of some of them: Divergence\(…\) @ Component\(\(0, 1\)\)": lambda: (
            do.Divergence().exact(plane)(X[0, :2])
        ),
        r"got 2 value\(s\)\. In some coordinates: Divergence\(dims=\(0, 1\)\)": lambda: (
            do.Divergence().exact(lambda x: x[:2])(X[0])
        ),
        r"the 3 coordinates of argument 0, or a tensor whose last axis has as many; got 1 "
        r"value\(s\)\.(?! Of some)": lambda: do.Divergence().exact(jnp.sum)(X[0]),
        "cannot be added: their outputs have different": lambda: do.Hessian() + do.Laplacian(),
        "cannot be added: their outputs have diff": lambda: do.Laplacian() @ C(0) + do.Laplacian(),
        "cannot be added: their outputs have different shapes": lambda: C((0, 1)) + C((0, 1, 2)),
        r"another term of the operator shape \(3,\); no shape is broadcast": lambda: (
            C(0) + do.Divergence()
        ).exact(lambda x: jnp.outer(x, x)[:1])(X[0]),
    }
)


def test_baselines_take_no_entries(getkey):
    with pytest.raises(ValueError, match="baselines take u, .* got Δ I₀"):
        do.baselines.estimate("sdgd", do.Laplacian() @ C(0), getkey(), 2)


def test_an_accuracy_and_a_variance_of_an_entry(getkey):
    """The other values of u have no part in them."""
    x, key = jnp.asarray(np.linspace(-1, 1, 64)), getkey()
    u = lambda x: jnp.stack([jnp.sum(x**2), jnp.sum(jnp.exp(3 * x))])
    found = (do.Laplacian() @ C(0)).estimate_to(key, rtol=0.01)(u)(x)
    np.testing.assert_allclose(found.value, 128.0, rtol=1e-12)
    assert found.n == 32 and found.converged  # all terms are equal: two rounds are enough
    variance = do.variance(do.Laplacian() @ C(1), n=8)(u)(x)
    whole = do.variance(do.Laplacian(), n=8)(u)(x)
    np.testing.assert_allclose(variance.variance, whole.variance[1], rtol=1e-12)


@pytest.mark.usefixtures("as_users_see_it")
def test_an_entry_is_a_number_or_a_name():
    with pytest.raises(TypeError, match="the entry of Component must be an integer; got 0.5 of"):
        C(0.5)  # pyright: ignore


WRITTEN = {
    "a value": lambda x: jnp.sum(jnp.sin(x.at[np.array([0, 1])].set(x[2]))),
    "one entry": lambda x: jnp.sum(jnp.sin(x.at[np.array([0])].set(x[2]))),
    "a constant": lambda x: jnp.sum(x.at[np.array([0, 1])].set(1.0) ** 2 * x),
    "a constant, twice": lambda x: jnp.sum(jnp.sin(x.at[np.array([0, 0])].set(2.0)) * x),
    "twice": lambda x: jnp.sum(jnp.sin(x.at[np.array([0, 0])].set(x[1])) * x),
    "zeros": lambda x: jnp.sum(jnp.sin(jnp.zeros(4).at[np.array([0, 3])].set(x[:2])) * x[2]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_gradients_where_entries_are_written(name):
    u, x = WRITTEN[name], jnp.array([0.1, 0.2, 0.3])
    found = do.exact([do.Gradient(), do.Gradient() @ do.Laplacian()])(u)(x)
    laplacian = lambda x: jnp.trace(jax.hessian(u)(x))
    for got, expected in zip(found, (jax.grad(u)(x), jax.grad(laplacian)(x)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_the_gradient_of_a_divergence_in_some_coordinates():
    """F = (x_i² t): ∂_i div F = 2 t."""
    space, x = (0, 1, 2), jnp.array([0.1, 0.2, 0.3, 0.4])
    operator = do.Gradient(dims=space) @ do.Divergence(dims=space)
    np.testing.assert_allclose(operator.exact(lambda x: x[:3] ** 2 * x[3])(x), [0.8] * 3)
    mean = do.Gradient() @ do.Integral(do.quadrature.Limits(0.0, 1.0), dims=(0, 2))
    expected = [0, 0.25 * 0.4, 0, 0.25 * 0.2]  # of x_1 x_3 ∫∫ x_0 x_2
    got = mean.exact(lambda x: x[0] * x[1] * x[2] * x[3])(x)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


PERMUTED = (2, 0, 1)
WEIGHTS = np.array([1.0, 2.0, 3.0])
MATRIX = np.diag(WEIGHTS) + np.array([[0.0, 0.5, 0.0], [0.1, 0.0, -0.7], [0.0, 0.2, 0.0]])


def in_order(matrix):
    """Σ_ij ∂_p(i) (M_ij ∂_p(j) f), by JAX: p is the order of the coordinates."""
    places = np.array(PERMUTED)

    def flux(x):
        product = matrix(x) @ jax.grad(component(1))(x)[places]
        return jnp.zeros(3).at[places].set(product)

    return lambda x: jnp.trace(JACOBIAN(flux)(x))


def varying(x):
    return (1 + x[0] * x[2]) * MATRIX


@pytest.mark.parametrize(
    ("operator", "matrix"),
    [
        (do.DivergenceForm(varying, dims=PERMUTED), varying),
        (
            do.DivergenceForm(lambda x: (1 + x[1]) * WEIGHTS, dims=PERMUTED),
            lambda x: (1 + x[1]) * jnp.diag(WEIGHTS),
        ),
        (do.DivergenceForm(lambda x: lambda v: varying(x) @ v, dims=PERMUTED), varying),
        (
            do.Divergence(dims=PERMUTED) @ ((lambda x: x[2]) * do.Gradient(dims=PERMUTED)),
            lambda x: x[2] * jnp.eye(3),
        ),
        (do.Directional(lambda x: jnp.sin(x), dims=PERMUTED).adjoint(), None),
    ],
    ids=["matrix", "diagonal", "product", "composed", "adjoint"],
)
def test_all_coordinates_in_another_order(operator, matrix):
    x = jnp.asarray(X[0])
    if matrix is None:  # −div(b u), with b_i along coordinate p(i)
        b = lambda x: jnp.zeros(3).at[np.array(PERMUTED)].set(jnp.sin(x))  # noqa: E731
        expected = -jnp.trace(JACOBIAN(lambda x: b(x) * component(1)(x))(x))
    else:
        expected = in_order(matrix)(x)
    np.testing.assert_allclose(operator.exact(component(1))(x), expected, rtol=1e-12)


def test_the_divergence_is_of_values_in_the_order_of_dims():
    """As many as coordinates, or fewer: exactly, and in the draws of one term."""
    x = jnp.asarray(X[0])
    for dims in (PERMUTED, (2, 0)):
        values = lambda x, size=len(dims): field(x)[:size]  # noqa: E731
        jacobian = JACOBIAN(values)(x)
        terms = [jacobian[k, i] for k, i in enumerate(dims)]
        L = do.Divergence(dims=dims)
        np.testing.assert_allclose(L.exact(values)(x), sum(terms), rtol=1e-12)
        keys = jax.random.split(jax.random.key(0), 40)
        draws = jax.vmap(lambda k, L=L: L.estimate(k, 1)(values)(x))(keys)
        drawn = np.unique(np.round(draws, 12))
        np.testing.assert_allclose(drawn, np.sort(len(dims) * np.array(terms)), rtol=1e-9)


def test_several_components_of_a_dict_are_in_the_order_asked_for():
    """Not in that of the alphabet, as a dict's leaves are."""
    flow = lambda x: {"radial": x[0] ** 2, "axial": x[1] ** 3}  # noqa: E731
    x, both = jnp.array([1.0, 2.0]), C(("radial", "axial"))
    np.testing.assert_allclose((do.Divergence() @ both).exact(flow)(x), 2 + 12)
    assert both.exact(flow)(x) == (1.0, 8.0)
    crossed = lambda x: {"v": x[0] * x[1], "u": x[1] ** 2}  # noqa: E731
    curl = do.Curl(dims=(0, 1)) @ C(("v", "u"))
    np.testing.assert_allclose(curl.exact(crossed)(x), 0 - 1)
    curl = do.Curl(dims=(0, 1)) @ C(("u", "v"))
    np.testing.assert_allclose(curl.exact(crossed)(x), 2 - 4)
