"""What baselines cannot do is refused in one sentence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY = jax.random.key(0)


POSSIBLE = "baselines take u, b·∇u, ∇u and derivatives of order two by the first argument, .*; got "


def test_names():
    assert do.baselines.names() == (
        "sdgd-loop",
        "sdgd",
        "forward-over-reverse",
        "jet",
        "hte",
        "stein",
        "finite-differences",
        "folx",
    )
    for name in do.baselines.names():
        assert do.baselines.as_baseline(name).name == name


@pytest.mark.parametrize(
    "operator, text",
    [
        (do.Biharmonic(), "Δ²"),
        (do.Partial(0, 3), "∂₀³"),
        (do.Laplacian() + 2.0 * do.Mixed({0: 2, 1: 1}), "2 ∂₀²∂₁"),
        (do.Partial(argnum=1), "∂"),
        (do.Laplacian(argnum=1), "Δ"),
        (do.Divergence(), "div"),
        (do.Gradient() @ do.Partial(0), "∇ ∂₀"),
        (do.DivergenceForm(lambda x: x[0]), "div"),
    ],
)
def test_operators(operator, text):
    with pytest.raises(ValueError, match=f"{POSSIBLE}{text}.* diffop.estimate and diffop.exact"):
        do.baselines.estimate("sdgd", {"lap": do.Laplacian(), "other": operator}, KEY, 2)


def test_estimates():
    with pytest.raises(TypeError, match="got an estimate, whose jets are fixed; give it the op"):
        do.baselines.estimate("sdgd", do.Laplacian().estimate(KEY, 2), KEY, 2)


def test_probes_that_are_biased():
    with pytest.raises(ValueError, match="rademacher probes are biased for"):
        do.baselines.estimate("hte", do.DiagonalK(1) ** 2, KEY, 2)


@pytest.mark.parametrize(("method", "kind"), [("SDGD", ValueError), (do.baselines.SDGD, TypeError)])
def test_methods(method, kind):
    with pytest.raises(
        kind, match="a baseline is one of sdgd-loop, sdgd, .* diffop.baselines such as .*; got"
    ):
        do.baselines.estimate(method, do.Laplacian(), KEY, 2)


def test_keys_and_numbers():
    with pytest.raises(TypeError, match="needs a JAX random key"):
        do.baselines.estimate("sdgd", do.Laplacian(), 0, 2)
    with pytest.raises(ValueError, match="must be at least 1; got 0"):
        do.baselines.estimate("sdgd", do.Laplacian(), KEY, 0)


@pytest.mark.parametrize(
    ("u", "args", "message"),
    [
        (jnp.sum, (jnp.ones(3), 1.0), "of one vector, got 2 arguments; put them into one vector"),
        (jnp.sum, (jnp.ones((2, 3)),), r"got the point float32\[2, 3\]; map over points"),
        (jnp.sum, (jnp.ones(3, int),), r"got the point int32\[3\]"),
        (jnp.sum, ([1.0, 2.0],), "got the point list"),
        (jnp.sin, (jnp.ones(3),), r"got one that returns float32\[3\]"),
        (
            lambda x: jax.lax.complex(x[0], x[1]),
            (jnp.ones(3),),
            r"got one that returns complex64\[\]",
        ),
        (lambda x: (x[0], x[1]), (jnp.ones(3),), r"returns float32\[\], float32\[\]"),
    ],
)
def test_functions(u, args, message):
    with pytest.raises(TypeError, match=f"differentiates real scalar functions .*{message}"):
        do.baselines.estimate("sdgd", do.Laplacian(), KEY, 2)(u)(*args)


def test_points_of_numpy():
    x = np.arange(3, dtype=np.float32)
    value = do.baselines.estimate("sdgd", do.Laplacian(), KEY, 4)(jnp.sum)(x)
    assert value.shape == () and value.dtype == jnp.float32


def test_what_is_no_function():
    with pytest.raises(TypeError, match="applied to a function u, .* got int in place of u"):
        do.baselines.estimate("sdgd", do.Laplacian(), KEY, 2)(3)


@pytest.mark.parametrize(
    ("u", "message"),
    [
        (lambda x: jnp.sum(jnp.tan(x)), "jax.experimental.jet has no rule for 'tan', and u"),
        (lambda x: jax.lax.scan(lambda c, y: (c * y, None), x[0], x)[0], "has no rule for 'scan'"),
        (
            eqx.nn.MLP(3, "scalar", 4, 1, activation=jax.nn.softplus, key=KEY),
            r"fails in functions with a derivative of their own .* jax.nn.softplus, and u",
        ),
    ],
)
def test_what_jet_has_no_rules_for(u, message):
    with pytest.raises(NotImplementedError, match=f"{message}.*take another baseline"):
        jax.eval_shape(do.baselines.estimate("jet", do.Laplacian(), KEY, 2)(u), jnp.ones(3))


def test_other_mistakes_in_u_stay_what_they_are():
    u = lambda x: x @ {}["weights"]
    with pytest.raises(KeyError, match="weights"):
        do.baselines.estimate("jet", do.Laplacian(), KEY, 2)(u)(jnp.ones(3))
