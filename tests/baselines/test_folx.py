"""The forward Laplacian: by folx, and by a stand-in, which shows what is asked of it."""

import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..waves import Waves

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.3, -0.5, 0.8, 0.1])
WAVES = Waves(4)
VALUE, GRADIENT, HESSIAN = WAVES.derivatives(X, 2)
SIGMA = np.arange(8.0).reshape(4, 2) / 4


def forward_laplacian(u):
    return lambda x: types.SimpleNamespace(laplacian=jnp.trace(jax.hessian(u)(x)))


@pytest.fixture(params=["stand-in", "folx"])
def folx(request, monkeypatch):
    if request.param == "stand-in":
        module = types.ModuleType("folx")
        module.forward_laplacian = forward_laplacian
        monkeypatch.setitem(sys.modules, "folx", module)


def test_sums_of_squares_are_exact(folx):
    cases = {
        "u": (do.Identity(), VALUE),
        "partial": (do.Partial(1), GRADIENT[1]),
        "gradient": (do.Gradient(), GRADIENT),
        "laplacian": (do.Laplacian(), np.trace(HESSIAN)),
        "dims": (do.Laplacian(dims=(1, 3)), HESSIAN[1, 1] + HESSIAN[3, 3]),
        "second": (-do.Partial(2, 2), -HESSIAN[2, 2]),
        "parabolic": (
            do.ParabolicTrace(jnp.asarray(SIGMA)),
            0.5 * np.trace(SIGMA.T @ HESSIAN @ SIGMA),
        ),
        "field": (do.ParabolicTrace(lambda x: x), 0.5 * X**2 @ np.diag(HESSIAN)),
    }
    ops = {name: operator for name, (operator, _) in cases.items()}
    joint = do.baselines.estimate("folx", ops, jax.random.key(0), 1)
    for name, value in jax.jit(joint(WAVES))(jnp.asarray(X)).items():
        np.testing.assert_allclose(value, cases[name][1], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "operator", [do.Mixed({0: 1, 1: 1}), do.SecondOrder(np.array([1.0, 2.0, 3.0, 4.0]))]
)
def test_what_is_no_sum_of_squares(folx, operator):
    joint = do.baselines.estimate("folx", operator, jax.random.key(0), 1)
    with pytest.raises(ValueError, match="'folx' computes sums of squares .* the other baselines"):
        jax.eval_shape(joint(WAVES), jnp.asarray(X))


def test_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "folx", None)
    with pytest.raises(
        do.train.MissingExtraError,
        match=r"the baseline 'folx' needs folx, .* pip install 'diffop-jax\[folx\]'",
    ):
        do.baselines.estimate("folx", do.Laplacian(), jax.random.key(0), 1)
