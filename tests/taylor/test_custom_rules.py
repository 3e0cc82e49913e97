"""Custom derivative rules: honoured going forward where they exist, and kept going backward."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import xla_metadata

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.5, -1.5, 2.0])


@jax.custom_jvp
def cubed(x):
    return x**3


@cubed.defjvp
def _(primals, tangents):
    """Declared derivative: 5 x² instead of 3 x²."""
    return cubed(primals[0]), 5.0 * primals[0] ** 2 * tangents[0]


@jax.custom_vjp
def reversed_only(x):
    """sin, with a backward rule that claims three times its derivative."""
    return jnp.sin(x)


reversed_only.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda cosine, g: (3.0 * cosine * g,))


def test_custom_jvp_is_honoured_at_every_order():
    u = lambda x: jnp.sum(cubed(x))
    x = jnp.asarray(X)
    np.testing.assert_allclose(do.Directional(jnp.ones(3)).exact(u)(x), 5 * np.sum(X**2))
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), 10 * np.sum(X))
    np.testing.assert_allclose(do.DiagonalK(3).exact(u)(x), 30.0)
    np.testing.assert_allclose(do.Identity().exact(u)(x), np.sum(X**3))


def test_custom_jvp_with_static_arguments():
    power = jax.custom_jvp(lambda n, x: x**n, nondiff_argnums=(0,))
    power.defjvp(lambda n, primals, tangents: (power(n, primals[0]), 7.0 * tangents[0]))
    got = do.Partial(0).exact(lambda x: power(2, x[0]))(jnp.asarray(X))
    np.testing.assert_allclose(got, 7.0)


def test_filter_custom_jvp():
    @eqx.filter_custom_jvp
    def f(x):
        return x**2

    @f.def_jvp
    def _(primals, tangents):
        return primals[0] ** 2, 4.0 * primals[0] * tangents[0]

    got = do.Laplacian().exact(lambda x: jnp.sum(f(x)))(jnp.asarray(X))
    np.testing.assert_allclose(got, 12.0)


def test_custom_vjp_pushes_its_primal_function():
    u = lambda x: jnp.sum(reversed_only(x))
    x = jnp.asarray(X)
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), -np.sum(np.sin(X)), rtol=1e-14)
    np.testing.assert_allclose(do.DiagonalK(3).exact(u)(x), -np.sum(np.cos(X)), rtol=1e-14)
    np.testing.assert_allclose(do.Identity().exact(u)(x), np.sum(np.sin(X)), rtol=1e-14)


def test_custom_backward_of_parameters_alone():
    """What does not depend on the point keeps its backward rule."""
    u = lambda w: lambda x: reversed_only(w) * jnp.sum(x**2)
    w, x = jnp.array(0.5), jnp.asarray(X)
    got = jax.grad(lambda w: do.Laplacian().exact(u(w))(x))(w)
    np.testing.assert_allclose(got, 3 * np.cos(0.5) * 6, rtol=1e-14)


def test_custom_backward_over_the_primal():
    """u's own value, computed in the same pass as Δu, keeps its backward rule."""
    u = lambda w: lambda x: jnp.sum(reversed_only(w * x))
    ops = {"u": do.Identity(), "lap": do.Laplacian()}
    w, x = jnp.array(0.5), jnp.asarray(X)
    got = jax.grad(lambda w: do.exact(ops)(u(w))(x)["u"])(w)
    np.testing.assert_allclose(got, 3 * np.sum(np.cos(0.5 * X) * X), rtol=1e-14)


def test_custom_vjp_under_scan_and_jit():
    def u(x):
        return jax.lax.scan(lambda h, xi: (h + reversed_only(xi), None), jnp.zeros(()), x)[0]

    got = jax.jit(do.Laplacian().exact(u))(jnp.asarray(X))
    np.testing.assert_allclose(got, -np.sum(np.sin(X)), rtol=1e-14)


def test_filter_checkpoint_and_filter_jit_inside():
    inner = eqx.filter_checkpoint(eqx.filter_jit(lambda x: jnp.sum(jnp.sin(x))))
    got = do.Laplacian().exact(inner)(jnp.asarray(X))
    np.testing.assert_allclose(got, -np.sum(np.sin(X)), rtol=1e-14)


WITH_RULE = {
    "plain": lambda f, x: jnp.sum(f(x) * jax.nn.relu(x)),
    "in_jit": lambda f, x: jnp.sum(jax.jit(f)(x) ** 2),
    "in_scan": lambda f, x: jax.lax.scan(lambda h, y: (h + f(y) * h, None), jnp.ones(()), x)[0],
    "in_cond": lambda f, x: jax.lax.cond(x[0] > 0, lambda x: jnp.sum(f(x)), jnp.sum, x),
    "in_checkpoint": lambda f, x: jax.checkpoint(lambda x: jnp.sum(jnp.sin(f(x))))(x),
    "around_a_loop": lambda f, x: looped(f)(x),
    "in_a_loop": lambda f, x: jax.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1]) * c[1]), (0, jnp.sum(x))
    )[1],
    "values": lambda f, x: f(x) * x[0],
    "complex": lambda f, x: jax.lax.complex(f(x), x),
    "of_parameters": lambda f, x: f(jnp.ones(3)) @ jnp.tanh(x),
}


def looped(f):
    """Its rule, too, claims three times the derivative; there is no reverse mode of a loop."""

    def value(x):
        return jnp.sum(jax.lax.while_loop(lambda y: y[0] < 0.9, lambda y: y + jnp.sin(y), x))

    if f is jnp.sin:
        return value
    ruled = jax.custom_vjp(value)
    ruled.defvjp(lambda x: (value(x), x), lambda x, g: (3 * g * x,))
    return ruled


@pytest.fixture(scope="module")
def one_answer():
    """First derivatives in every way that operators compute them, and by forward mode."""
    ops = {
        "gradient": do.Gradient(),
        "by_matrix": do.Gradient(jnp.eye(3)),
        "of_dims": do.Gradient(dims=(0, 1, 2)),
        "partials": [do.Partial(i) for i in range(3)],
    }

    def found(u, x):
        together = do.exact(ops)(u)(x)
        together["partials"] = jnp.stack(together["partials"], axis=-1)
        many = jax.vmap(do.Gradient().exact(u))(jnp.stack([x, x]))
        estimate = do.Gradient().estimate(jax.random.key(0), 2)(u)(x)
        return {**together, "alone": do.Gradient().exact(u)(x), "many": many[1], "e": estimate}

    def everything(x):
        return {
            name: (
                found(lambda x: u(reversed_only, x), x),
                jax.jacfwd(lambda x: u(jnp.sin, x))(x),
            )
            for name, u in WITH_RULE.items()
        }

    with jax.enable_x64(True):
        return jax.jit(everything)(jnp.asarray(X))


@pytest.mark.parametrize("name", WITH_RULE)
def test_operators_agree_on_a_custom_vjp(name, one_answer):
    """Whichever mode they take, what they differentiate is the function as it is written."""
    found, expected = one_answer[name]
    for way, got in found.items():
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13, err_msg=way)


def test_straight_through_rounding():
    rounded = jax.custom_vjp(lambda x: jnp.round(x))
    rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
    u, x = lambda x: jnp.sum(rounded(x) ** 2), jnp.array([1.3, 2.6])
    together = do.exact({"gradient": do.Gradient(), "partial": do.Partial(0)})(u)(x)
    np.testing.assert_array_equal(together["gradient"], [0.0, 0.0])
    np.testing.assert_array_equal(together["partial"], 0.0)
    np.testing.assert_array_equal(jax.grad(lambda x: do.Identity().exact(u)(x))(x), [2.0, 6.0])


def test_second_derivatives_by_reverse_mode():
    """Where an estimate multiplies by a Hessian, a Jacobian, or takes the slope of a coefficient;
    with as many products as there are coordinates nothing is left to chance.
    """
    u, key = lambda x: jnp.sum(reversed_only(x)), jax.random.key(0)
    flux = do.DivergenceForm(lambda x: 2 + reversed_only(x[0]))
    values = {
        "hessian": do.Laplacian().deflate(key, 9)(u),
        "jacobian": do.Divergence().deflate(key, 9)(lambda x: reversed_only(x) * x),
        "slope": flux.exact(u),
    }
    got = jax.jit(lambda x: {name: value(x) for name, value in values.items()})(jnp.asarray(X))
    sine, cosine = np.sin(X), np.cos(X)
    expected = {
        "hessian": -np.sum(sine),
        "jacobian": np.sum(cosine * X + sine),
        "slope": -(2 + sine[0]) * np.sum(sine) + cosine[0] ** 2,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-12, err_msg=name)


def test_a_rule_of_what_has_no_other_derivative():
    """The gradient is that of the rule, and forward mode has none."""

    def value(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: np.asarray(x) ** 2, shape, x)

    squared = jax.custom_vjp(value)
    squared.defvjp(lambda x: (value(x), x), lambda x, g: (2 * x * g,))
    u = lambda x: jnp.sum(squared(x))
    np.testing.assert_allclose(do.Gradient().exact(u)(jnp.asarray(X)), 2 * X, rtol=1e-14)
    with pytest.raises(do.taylor.UnsupportedPrimitiveError, match="pure_callback"):
        do.Partial(0).exact(u)(jnp.asarray(X))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def applied(f, *args):
    return f(*args)


@applied.defjvp
def _(f, primals, tangents):
    """As packages for quadrature and interpolation have it: a rule that closes over tangents."""
    slope = applied(lambda *args: jax.jvp(f, args, tangents)[1], *primals)
    return applied(f, *primals), slope


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def integral(f, end, args):
    """From 0 to an end, and how many points that took."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = end / 2
    values = jax.vmap(lambda s: f(s, args))(half * (1 + jnp.asarray(nodes)))
    return half * jnp.sum(jnp.asarray(weights) * values), jnp.int32(12)


@integral.defjvp
def _(f, primals, tangents):
    (end, args), (dend, dargs) = primals, tangents
    inside = lambda s, args: jax.jvp(lambda args: f(s, args), (args,), (dargs,))[1]
    outputs = integral(f, end, args)
    slope = f(end, args) * dend + integral(inside, end, args)[0]
    return outputs, (slope, np.zeros((), jax.dtypes.float0))


def decay(x):
    return jnp.exp(-x)


CLOSING = {  # with the rule, and written without it
    "value": lambda f, x: f(x[0]),
    "inside": lambda f, x: f(jnp.sin(x[0]) * x[1]) * x[2],
    "entries": lambda f, x: jnp.sum(f(jnp.sin(x)) * x),
    "scan": lambda f, x: jax.lax.scan(lambda h, y: (jnp.sin(h + f(y)), None), 1.0 + 0 * x[0], x)[0],
    "integral": lambda f, x: (
        (1 - decay(jnp.sin(x[1]) * x[0])) / jnp.sin(x[1])
        if f is decay
        else integral(lambda s, rate: decay(rate * s), x[0], jnp.sin(x[1]))[0]
    ),
}
BY_ORDER = {1: do.Partial(0), 2: do.Laplacian(), 3: do.DiagonalK(3), 4: do.Partial(0, 4)}
NEAR = np.array([0.4, 0.7, 1.1])


def nested(order, u, x):
    """The same as `BY_ORDER`, by forward mode in forward mode."""

    def along(v):
        derivative = u
        for _ in range(order):
            derivative = lambda x, f=derivative: jax.jvp(f, (x,), (v,))[1]
        return derivative(x)

    basis = jnp.eye(x.size, dtype=x.dtype)
    return along(basis[0]) if order in (1, 4) else jnp.sum(jax.vmap(along)(basis))


@pytest.fixture(scope="module")
def closing():
    """All orders, their gradients and those of many points, and `Gradient`."""

    def everything(name, f, apply, gradient, x):
        u = lambda x: CLOSING[name](f, x)
        second = lambda x: apply(2, u, x)
        return {
            **{f"order {k}": apply(k, u, x) for k in BY_ORDER},
            "gradient": gradient(u)(x),
            "gradient of the first": jax.grad(lambda x: apply(1, u, x))(x),
            "gradient of the second": jax.grad(jax.jit(second))(x),
            "gradient of many": jax.grad(lambda xs: jnp.sum(jax.vmap(second)(xs)))(
                jnp.stack([x, 2 * x])
            ),
            "gradient of gradient": jax.grad(lambda x: jnp.sum(gradient(u)(x) ** 2))(x),
        }

    def found(x):
        rule = functools.partial(applied, decay)
        pushed = lambda k, u, x: BY_ORDER[k].exact(u)(x)
        return {name: everything(name, rule, pushed, do.Gradient().exact, x) for name in CLOSING}

    def expected(x):
        return {name: everything(name, decay, nested, jax.grad, x) for name in CLOSING}

    with jax.enable_x64(True):
        return jax.jit(lambda x: (found(x), expected(x)))(jnp.asarray(NEAR))


@pytest.mark.parametrize("name", CLOSING)
def test_a_rule_that_closes_over_its_tangents(name, closing):
    """Where JAX itself has forward mode only, and of a function of the point itself only."""
    found, expected = closing
    for what, value in expected[name].items():
        np.testing.assert_allclose(found[name][what], value, rtol=1e-9, atol=1e-10, err_msg=what)


def test_such_a_rule_is_followed_once():
    """A declared derivative counts; what it makes is differentiated as it is written."""

    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def fivefold(f, x):
        return f(x)

    @fivefold.defjvp
    def _(f, primals, tangents):
        slope = fivefold(lambda x: 5 * jax.jvp(f, (x,), tangents)[1], *primals)
        return fivefold(f, *primals), slope

    u, x = lambda x: fivefold(decay, x[0]), jnp.asarray(NEAR)
    got = do.exact([do.Partial(0), do.Partial(0, 2)])(u)(x)
    np.testing.assert_allclose(got, [-5 * np.exp(-0.4), 5 * np.exp(-0.4)], rtol=1e-14)


def test_a_function_that_closes_over_what_moves():
    """No rule says how it changes with that; as it is written it does."""

    def u(x):
        factor = jnp.sin(x[0])
        squared = jax.custom_jvp(lambda y: y**2 * factor)
        squared.defjvp(lambda p, t: (squared(*p), 2 * p[0] * factor * t[0]))
        return squared(x[1])

    got = do.Hessian(dims=(0, 1)).exact(u)(jnp.asarray(NEAR))
    s, c = np.sin(0.4), np.cos(0.4)
    np.testing.assert_allclose(got, [[-0.49 * s, 1.4 * c], [1.4 * c, 2 * s]], rtol=1e-14)


def test_custom_vmap_inside():
    """Its rule is JAX's business; jets go through the function. Of x sin x the second and third
    derivatives are 2 cos x − x sin x and −3 sin x − x cos x.
    """

    @jax.custom_batching.custom_vmap
    def f(x):
        return x * jnp.sin(x)

    @f.def_vmap
    def _(size, batched, x):
        return x * jnp.sin(x), True

    assert "custom_vmap_call" in str(jax.make_jaxpr(f)(jnp.asarray(X)))
    both = do.exact([do.Laplacian(), do.DiagonalK(3)])(lambda x: jnp.sum(f(x)))
    second, third = jax.jit(jax.vmap(both))(jnp.asarray(X)[None])
    np.testing.assert_allclose(second, [np.sum(2 * np.cos(X) - X * np.sin(X))], rtol=1e-12)
    np.testing.assert_allclose(third, [np.sum(-3 * np.sin(X) - X * np.cos(X))], rtol=1e-12)


@pytest.mark.skipif(not hasattr(xla_metadata, "xla_metadata_call"), reason="needs JAX 0.12")
def test_calls_with_metadata():
    """They are written out, as other calls are: Δ Σ x² sin x, by hand."""
    inner = xla_metadata.xla_metadata_call(lambda x: x * jnp.sin(x), a="b")
    found = do.Laplacian().exact(lambda x: jnp.sum(x * inner(x)))(jnp.asarray(X))
    expected = np.sum((2 - X**2) * np.sin(X) + 4 * X * np.cos(X))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
