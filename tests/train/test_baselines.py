"""Training with a baseline: the same losses as with diffop's own draws, and what is refused."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.streams import stream

from .. import nested

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(2)
SDGD = do.baselines.SDGD()


@pytest.fixture(scope="module")
def problem(x64):
    return do.pde.ManyBody("allen-cahn", 2, 6, key=jax.random.key(0))


@pytest.fixture(scope="module")
def u(problem):
    net = eqx.nn.MLP(6, "scalar", 4, depth=1, activation=jnp.tanh, key=jax.random.key(1))
    return problem.ansatz(net)


def loss(problem, probes, n=2, **options):
    return do.losses.ResidualLoss(problem, 4, n, probes, **options)


@pytest.mark.parametrize("square", ["biased", "product"])
def test_coordinates_and_signs_are_those_of_diffop(problem, u, square):
    """With the same key the same draws, and so the same losses."""
    pairs = [(do.baselines.SDGDLoop(), "sparse"), (do.baselines.HTE(), "rademacher")]

    @eqx.filter_jit
    def values(u):
        return [[loss(problem, each, square=square)(u, KEY) for each in pair] for pair in pairs]

    for theirs, ours in values(u):
        np.testing.assert_allclose(theirs, ours, rtol=1e-11)


@eqx.filter_jit
def written_out(problem, u, points):
    return nested.mean_square(nested.allen_cahn(problem, u), points)


@pytest.mark.parametrize("probes", [SDGD, do.baselines.FiniteDifferences(1e-3)])
def test_all_draws_are_the_exact_loss(problem, u, probes):
    points = problem.sample(stream(KEY, "points"), 4)
    value = eqx.filter_jit(loss(problem, probes, n=6))(u, KEY)
    np.testing.assert_allclose(value, written_out(problem, u, points), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"square": "pairs"}, "'pairs' takes the variance .* away: .* not of those by a baseline"),
        ({"gpinn": 0.5}, "baselines take derivatives of order two at most, got gpinn=0.5 and the"),
        ({"probes": "SDGD"}, r"or a baseline such as diffop.baselines.SDGD\(\), got 'SDGD'"),
        ({"probes": 3}, "a loss expects probes among exact"),
    ],
)
def test_what_is_refused(problem, options, message):
    with pytest.raises(ValueError, match=message):
        loss(problem, **{"probes": SDGD, **options})


def test_what_needs_more_than_a_baseline(problem, u):
    biharmonic = do.pde.make("biharmonic", 4, key=KEY)
    with pytest.raises(ValueError, match="baselines take u, .* got Δ²"):
        loss(biharmonic, SDGD)
    with pytest.raises(ValueError, match="not of those by a baseline"):
        loss(problem, SDGD).bias(u, KEY)


def test_folx_is_exact_and_has_to_be_installed(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "folx", None)
    with pytest.raises(ValueError, match="takes away the bias of .* 'folx', whose loss has no bia"):
        loss(problem, do.baselines.Folx(), square="product")
    with pytest.raises(do.train.MissingExtraError, match="the baseline 'folx' needs folx"):
        do.train.check(do.train.Settings("allen-cahn-two-body", probes="folx"), "never-made")
