"""Networks of linear pieces under operators of order two, of which nothing is left, are told."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import diffop as do

KEY = jax.random.key(0)
POINTS = jnp.ones((3, 2)) / 3
SECOND = do.equations.Equation.linear(do.Laplacian(), lambda x: 1.0)
FIRST = do.equations.Equation.linear(do.Partial(0) + do.Identity(), lambda x: 1.0)
MIXED = do.equations.Equation([do.Partial(0) @ do.Partial(1)], lambda v, x: v[0])
MESSAGE = (
    r"^the equation takes derivatives of order two or more of a network that is linear piece by "
    r"piece, so that they are 0 wherever they exist; give it a smooth activation, such as "
    r"eqx.nn.MLP\(..., activation=jnp.tanh\), since the default is relu\.$"
)


def mlp(activation=jax.nn.relu):
    return eqx.nn.MLP(2, "scalar", 4, depth=2, activation=activation, key=KEY)


def rim(x):
    return 1 - x @ x


ROUGH = {
    "relu": (mlp(), SECOND),
    "default": (eqx.nn.MLP(2, "scalar", 4, depth=1, key=KEY), SECOND),
    "leaky_relu": (mlp(jax.nn.leaky_relu), SECOND),
    "abs": (mlp(jnp.abs), MIXED),
    "maximum": (lambda x: jnp.maximum(x[0], 2 * x[1]), SECOND),
    "vector": (eqx.nn.MLP(2, 3, 4, depth=1, key=KEY), MIXED),
    "constraint": (do.nn.HardConstraint(mlp(), lambda x: jnp.sin(x[0]), rim), SECOND),
    "sphere": (do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(mlp(), 2.0)), SECOND),
}
SMOOTH = {
    "tanh": (mlp(jnp.tanh), SECOND),
    "gelu": (mlp(jax.nn.gelu), SECOND),
    "cubes_of_relu": (mlp(lambda x: jax.nn.relu(x) ** 3), SECOND),
    "linear": (lambda x: 2 * x[0] - x[1] + 1, SECOND),
    "quadratic": (lambda x: x @ x, SECOND),
    "learnt_quadratic": (lambda x: mlp().layers[0].weight[0, 0] * x @ x, SECOND),
    "constant": (lambda x: jnp.ones(()), SECOND),
    "clipped": (lambda x: mlp(jnp.tanh)(jnp.clip(x, -1.0, 1.0)), SECOND),
    "first_order": (mlp(), FIRST),
    "sum": (lambda x: jnp.sin(x[0]) + jnp.abs(x[1]), SECOND),
}


def loss(u, equation):
    return do.losses.ResidualLoss(equation, points=POINTS, probes="exact")(u, KEY)


@pytest.mark.parametrize("name", ROUGH)
def test_linear_pieces_are_told(name):
    u, equation = ROUGH[name]
    with pytest.warns(do.losses.PiecewiseLinearWarning, match=MESSAGE):
        eqx.filter_eval_shape(loss, u, equation)


@pytest.mark.parametrize("name", SMOOTH)
def test_what_is_smooth_or_linear_is_not(name):
    """Warnings are errors here."""
    eqx.filter_eval_shape(loss, *SMOOTH[name])


def test_a_pinn_tells_once_and_can_be_silenced():
    pinn = do.nn.PINN(mlp(), SECOND)
    with pytest.warns(do.losses.PiecewiseLinearWarning) as told:
        eqx.filter_eval_shape(lambda pinn: pinn.loss(POINTS), pinn)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=do.losses.PiecewiseLinearWarning)
        eqx.filter_eval_shape(lambda pinn: pinn.loss(POINTS), pinn)
