"""Every activation in `jax.nn` inside `eqx.nn.MLP`, custom derivative rules included."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from .curves import assert_same_series, nested_jvp

pytestmark = pytest.mark.usefixtures("x64")

ACTIVATIONS = {
    f.__name__: f
    for f in (
        *(jax.nn.relu, jax.nn.relu6, jax.nn.sigmoid, jax.nn.softplus, jax.nn.sparse_plus),
        *(jax.nn.sparse_sigmoid, jax.nn.soft_sign, jax.nn.silu, jax.nn.log_sigmoid),
        *(jax.nn.leaky_relu, jax.nn.hard_sigmoid, jax.nn.hard_silu, jax.nn.hard_tanh),
        *(jax.nn.elu, jax.nn.celu, jax.nn.selu, jax.nn.gelu, jax.nn.squareplus, jax.nn.mish),
        *(jax.nn.identity, jax.nn.tanh),
    )
} | {"gelu_exact": lambda x: jax.nn.gelu(x, approximate=False)}
ON_VECTORS = {
    "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax,
    "standardize": jax.nn.standardize,
    "glu": lambda x: jnp.concatenate([jax.nn.glu(x)] * 2),
    "logsumexp": lambda x: x * jax.nn.logsumexp(x),
    "logmeanexp": lambda x: x + jax.nn.logmeanexp(x),
}


def check(model, kept):
    x = jnp.array([0.4, -0.7, 1.1])
    series = list(jr.normal(jr.key(2), (3, 3)))

    def pushed(x, series):
        return do.taylor.jet(model, (x,), (series,)), do.Laplacian().exact(model)(x)

    def nested(x, series):
        return nested_jvp(model, x, series)[0], jax.jacfwd(jax.jacfwd(model))(x)

    (primal, terms), laplacian = jax.jit(pushed)(x, series)
    expected, hessian = kept(lambda: jax.jit(nested)(x, series))
    assert_same_series([primal, *terms], expected)
    scale = max(1.0, float(np.max(np.abs(hessian))))
    np.testing.assert_allclose(laplacian, np.trace(hessian), rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_in_mlp(name, kept):
    check(eqx.nn.MLP(3, "scalar", 8, 2, ACTIVATIONS[name], key=jr.key(1)), kept)


@pytest.mark.parametrize("name", ON_VECTORS)
def test_activation_of_a_whole_layer(name, kept):
    first, last = jr.split(jr.key(1))
    layers = [
        eqx.nn.Linear(3, 8, key=first),
        eqx.nn.Lambda(ON_VECTORS[name]),
        eqx.nn.Linear(8, "scalar", key=last),
    ]
    check(eqx.nn.Sequential(layers), kept)


@pytest.mark.parametrize(
    "layer",
    [
        eqx.nn.LayerNorm(3, use_weight=False, use_bias=False),
        eqx.nn.RMSNorm(3, use_weight=False, use_bias=False),
        eqx.nn.PReLU(0.2),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_normalisation_layers(layer, kept):
    check(lambda x: jnp.sum(layer(x) ** 3), kept)


def test_recurrent_cells(kept):
    gru = eqx.nn.GRUCell(1, 4, key=jr.key(0))
    lstm = eqx.nn.LSTMCell(1, 4, key=jr.key(1))

    def model(x):
        h, _ = jax.lax.scan(lambda h, xi: (gru(xi[None], h), None), jnp.zeros(4), x)
        (h, c), _ = jax.lax.scan(lambda s, xi: (lstm(xi[None], s), None), (h, jnp.ones(4)), x)
        return jnp.sum(h) + jnp.sum(c**2)

    check(model, kept)


def test_convolutions_and_pooling(kept):
    conv = eqx.nn.Conv1d(1, 2, 2, key=jr.key(0))
    pool = eqx.nn.AvgPool1d(2)
    check(lambda x: jnp.sum(jnp.tanh(pool(jnp.sin(conv(jnp.tile(x, 2)[None])))) ** 2), kept)


def test_attention_layer(kept):
    attention = eqx.nn.MultiheadAttention(2, 4, key=jr.key(0))

    def model(x):
        sequence = jnp.outer(x, jnp.arange(1.0, 5.0))
        return jnp.sum(attention(sequence, sequence, sequence) ** 2)

    check(model, kept)


SMOOTH = (jnp.tanh, jnp.sin, jnp.cos, jnp.exp, jax.nn.gelu, jnp.arctan, lambda x: x**3)


@pytest.mark.parametrize("order", [2, 3])
def test_gradients_where_derivatives_vanish(order):
    """At zero, where every other Taylor coefficient of an odd function is zero, but does change."""

    def u(x):
        return sum(f(2 * x[i]) for i, f in enumerate(SMOOTH))

    def next_derivative(f):
        f_of_two = lambda x: f(2 * x)
        for _ in range(order + 1):
            f_of_two = jax.grad(f_of_two)
        return f_of_two(0.0)

    got = jax.grad(do.DiagonalK(order).exact(u))(jnp.zeros(len(SMOOTH)))
    np.testing.assert_allclose(got, [next_derivative(f) for f in SMOOTH], atol=1e-12)


def test_relu_chooses():
    """0 · ∞ where relu is flat: JAX's own rule selects, so nothing is multiplied."""

    def u(x):
        return jnp.sum(jnp.sin(jax.nn.relu(jnp.log(x))))

    x = jnp.array([0.0, 0.5, 2.0])
    nested = jnp.trace(jax.jacfwd(jax.jacfwd(u))(x))
    assert jnp.isfinite(nested)
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), nested, rtol=1e-12)


@pytest.mark.parametrize("weight", [1e10, 1e160, 1e300])
def test_layers_that_are_saturated(weight):
    """0 · ∞ where tanh does not bend and a square is out of range: 0, in reverse mode as well."""

    def laplacian(w, x):
        return do.Laplacian().exact(lambda x: jnp.sum(jnp.tanh(w @ x)))(x)

    w, x = weight * jnp.array([[1.0, 2.0], [0.5, -1.0]]), jnp.array([1.0, -0.75])
    assert laplacian(w, x) == 0
    np.testing.assert_array_equal(jax.grad(laplacian)(w, x), np.zeros((2, 2)))


def test_what_is_out_of_range_stays_so():
    """Where tanh bends, ∞ is not made a number."""
    w = jnp.array([[1e160, 2e160]])
    u = do.Laplacian().exact(lambda x: jnp.sum(jnp.tanh(w @ x)))
    assert u(jnp.array([0.3e-160, 0.1e-160])) == -jnp.inf
