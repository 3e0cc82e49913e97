"""A number is one in every form in which users hold it, wherever it is asked for."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

# annotations say int and float, which is what most users write
pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY = jax.random.key(0)
LINE = do.pde.Box((0.0,), (1.0,))
FACE = LINE.faces[0]
POISSON = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0)
INTEGERS = {"int64": np.int64, "int32": np.int32, "numpy_0d": np.array, "jax_0d": jnp.asarray}
NUMBERS = {
    "float64": np.float64,
    "float32": np.float32,
    "numpy_0d": np.array,
    "jax_0d": jnp.asarray,
}


def loss(**kwargs):
    return do.losses.ResidualLoss(POISSON, points=LINE.sample, **{"probes": "exact", **kwargs})


def settings(**kwargs):
    return json.dumps(do.train.Settings("allen-cahn-two-body", **kwargs).as_json())


OF_INTEGERS = {
    "orders": lambda i: do.Partial(i(1), i(2)),
    "power": lambda i: do.Partial(0) ** i(2),
    "multi_index": lambda i: do.Mixed((i(0), i(1), i(2))),
    "dims": lambda i: do.Laplacian(dims=(i(0), i(1)), argnum=i(1)),
    "component": lambda i: do.Component(i(1)),
    "strata": lambda i: do.probes.Stratified(i(2)),
    "ball": lambda i: do.pde.Ball(i(2)),
    "face": lambda i: LINE.face(i(0), "lower"),
    "periodic": lambda i: do.pde.Periodic(on=FACE, orders=(i(0), i(1))),
    "initial": lambda i: do.pde.Initial(0.0, on=do.pde.SpaceTime(LINE, 1.0), order=i(1)),
    "space_time": lambda i: do.pde.SpaceTime(LINE, 1.0, argnum=i(1)),
    "problem": lambda i: do.pde.ManyBody("allen-cahn", i(2), i(4), key=KEY),
    "loss": lambda i: loss(
        batch=i(3), n=i(2), data_batch=i(2), pool=i(2), gpinn=1.0, gpinn_terms=i(2)
    ),
    "causal": lambda i: do.losses.Causal(jnp.sum, slices=i(2)),
    "gauss_newton": lambda i: do.methods.GaussNewton(
        halvings=i(3), solver=do.methods.Cholesky(chunk=i(2), most=i(5))
    ),
    "conjugate_gradients": lambda i: do.methods.ConjugateGradients(iterations=i(3)),
    "l_bfgs": lambda i: do.methods.LBFGS(history=i(3)),
    "modified": lambda i: do.nn.ModifiedMLP(i(3), i(4), i(2), out_size=i(2), key=KEY),
    "shared": lambda i: do.nn.WeightSharedMLP(i(6), i(2), i(4), i(1), channels=i(2), key=KEY),
    "periodic_input": lambda i: do.nn.PeriodicInput(jnp.sum, {0: 2.0}, i(2)),
    "initial_condition": lambda i: do.nn.InitialCondition(jnp.sum, jnp.sum, i(2)),
    "settings": lambda i: settings(
        dim=i(4), steps=i(2), n=i(1), seed=i(0), batch=i(3), data_batch=i(2), balance=i(2)
    ),
    "sobol": lambda i: do.pde.sobol(KEY, i(4), i(2)),
    "ball_points": lambda i: do.pde.unit_ball_by_radius(KEY, i(4), i(2)),
    "draws": lambda i: do.Laplacian().estimate(KEY, i(2))(jnp.sum)(jnp.ones(3)),
    "fit": lambda i: (
        do.train.fit(
            jnp.ones(2),
            lambda x, key: x @ x,
            optax.sgd(0.1),
            i(3),
            key=KEY,
            steps_per_dispatch=i(2),
        ).model
    ),
}
OF_NUMBERS = {
    "ball": lambda f: do.pde.Ball(2, f(1.5), (f(0.0), f(1.0))),
    "box": lambda f: do.pde.Box((f(0.0),), (f(1.0),)),
    "space_time": lambda f: do.pde.SpaceTime(LINE, f(2.0)),
    "robin": lambda f: do.pde.Robin(1.0, 2.0, 3.0, on=FACE, weight=f(2.0)),
    "loss": lambda f: loss(batch=1, gpinn=f(1.0), data_weight=f(2.0)),
    "several": lambda f: loss(batch=1, data_weight=[f(2.0), f(3.0)]),
    "causal": lambda f: do.losses.Causal(jnp.sum, tolerance=f(2.0)),
    "scaled": lambda f: do.nn.ScaledInput(jnp.sum, f(2.0)),
    "box_input": lambda f: do.nn.BoxInput(jnp.sum, (f(0.0),), (f(2.0),)),
    "periodic_input": lambda f: do.nn.PeriodicInput(jnp.sum, {0: f(2.0)}),
    "initial_condition": lambda f: do.nn.InitialCondition(jnp.sum, jnp.sum, start=f(0.5)),
    "gauss_newton": lambda f: do.methods.GaussNewton(
        damping=f(0.5), momentum=f(0.25), learning_rate=f(0.5)
    ),
    "conjugate_gradients": lambda f: do.methods.ConjugateGradients(tolerance=f(0.5)),
    "settings": lambda f: settings(
        learning_rate=f(0.5),
        output_scale=f(2.0),
        anchor=f(1.0),
        curvature=f(1.0),
        data_weight=[f(1.0)],
        weights={"a": f(1.0)},
        gpinn=f(1.0),
    ),
    "solitons": lambda f: do.pde.KdV1D(solitons=(do.pde.Soliton((f(1.0),), f(6.0)),), alpha=f(1.0)),
    "accuracy": lambda f: do.Laplacian().estimate_to(KEY, rtol=f(0.5), atol=f(0.25))(jnp.sum)(
        jnp.ones(3)
    ),
}


def same(left, right):
    """In all that is static, which is compared by value and by type, and in all arrays."""
    (arrays, first), (others, second) = (eqx.partition(t, eqx.is_array) for t in (left, right))
    assert repr(first) == repr(second)
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(arrays), jax.tree.leaves(others), strict=True):
        if not jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("form", INTEGERS)
@pytest.mark.parametrize("what", OF_INTEGERS)
def test_integers(what, form):
    same(OF_INTEGERS[what](INTEGERS[form]), OF_INTEGERS[what](int))


@pytest.mark.parametrize("form", NUMBERS)
@pytest.mark.parametrize("what", OF_NUMBERS)
def test_numbers(what, form):
    same(OF_NUMBERS[what](NUMBERS[form]), OF_NUMBERS[what](float))


@pytest.mark.parametrize("value", [True, np.True_, np.array(True), "1", np.ones(2), np.float64(2)])
def test_what_is_no_integer(value):
    with pytest.raises(TypeError, match="order of Partial must be an integer; got "):
        do.Partial(0, value)


def test_the_sentence_of_a_setting():
    with pytest.raises(ValueError, match=r"must be a finite positive number, got -1.0"):
        do.train.Settings("allen-cahn-two-body", learning_rate=np.float64(-1.0))
