"""The residual loss, exact and estimated."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.losses.squares import draw_keys
from diffop.streams import stream

from .. import nested
from .toy import Wrapped

RANDOM = ["sparse", "rademacher", "gaussian", "spherical"]


@pytest.fixture
def problem():
    return do.pde.ManyBody("allen-cahn", 2, 6, key=jax.random.key(0))


@pytest.fixture
def u(problem):
    net = eqx.nn.MLP(6, "scalar", 8, depth=2, activation=jnp.tanh, key=jax.random.key(1))
    return problem.ansatz(net)


@eqx.filter_jit
def written_out(problem, u, points):
    return nested.mean_square(nested.allen_cahn(problem, u), points)


def test_exact_loss_is_the_mean_square_of_the_residual(problem, u):
    loss = do.losses.ResidualLoss(problem, batch=30, n=1, probes="exact")
    key = jax.random.key(2)
    points = problem.sample(stream(key, "points"), 30)
    expected = written_out(problem, u, points)
    np.testing.assert_allclose(eqx.filter_jit(loss)(u, key), expected, rtol=1e-5)


def test_all_sparse_draws_are_the_exact_loss(problem, u):
    exact, sparse = (
        do.losses.ResidualLoss(problem, batch=30, n=6, probes=name) for name in ("exact", "sparse")
    )
    key = jax.random.key(2)
    both = eqx.filter_jit(lambda u, key: (sparse(u, key), exact(u, key)))(u, key)
    np.testing.assert_allclose(*both, rtol=1e-5)


@pytest.mark.parametrize("probes", RANDOM)
def test_one_draw_serves_all_points_and_is_fresh_for_each_key(probes, problem, u):
    """The jets of an estimate are those of its key, so the loss can be written out."""
    key = jax.random.key(3)
    jets_key, _ = draw_keys(stream(key, "jets"))
    values = do.estimate(problem.operators(), jets_key, 2, probes=probes)(u)
    residual = jax.jit(lambda x: problem.residual(values(x), x))
    residuals = [residual(x) for x in problem.sample(stream(key, "points"), 5)]
    loss = eqx.filter_jit(do.losses.ResidualLoss(problem, batch=5, n=2, probes=probes))
    np.testing.assert_allclose(loss(u, key), np.mean(np.square(residuals)), rtol=1e-4)
    values = [float(loss(u, jax.random.key(seed))) for seed in (0, 0, 1, 2)]
    assert values[0] == values[1] and len(set(values)) == 3


class Secretive(Wrapped):
    """The same problem, without a solution to look at except where data are given."""

    def solution(self, x):
        raise AssertionError("training looked at the solution")

    def null_shape(self, x):
        raise AssertionError("training looked at the null model")

    def sections(self, resolution):
        raise AssertionError("training drew pictures")


@pytest.mark.parametrize("name", ["allen-cahn-two-body", "g-kdv-1d"])
def test_the_loss_sees_the_data_and_not_the_solution(name):
    problem = do.pde.make(name, 6 if name.startswith("allen") else None, key=jax.random.key(0))
    u = problem.ansatz(lambda x: jnp.sum(jnp.sin(x)))
    secretive = Secretive(problem)
    key = jax.random.key(0)
    a, b = (do.losses.ResidualLoss(p, batch=5, n=2, probes="sparse") for p in (secretive, problem))
    assert eqx.filter_jit(a)(u, key) == eqx.filter_jit(b)(u, key)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probes": "dense"}, "exact, auto, sparse, .*, got 'dense'"),
        (
            {"probes": "rademacher", "gpinn": 0.1, "gpinn_terms": 2},
            "rademacher probes are biased for .* Unbiased for it: sp",
        ),
    ],
)
def test_probes_that_are_refused(problem, options, message):
    with pytest.raises(ValueError, match=message):
        do.losses.ResidualLoss(problem, batch=1, n=1, **options)
