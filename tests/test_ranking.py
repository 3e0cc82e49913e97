"""`do.rank_probes` puts probes in the order of their closed-form standard errors, at equal jets."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

D = 6
JETS = 3
RNG = np.random.default_rng(4)
SYMMETRIC = RNG.normal(size=(D, D))
SYMMETRIC = SYMMETRIC + SYMMETRIC.T
KINDS = ["gaussian", "sphere", "sparse", "systematic", "rademacher"]
HESSIANS = {
    "diagonal": np.diag(np.arange(1.0, D + 1)),
    "constant diagonal": 2.0 * np.eye(D) + SYMMETRIC * (1 - np.eye(D)),
    "random": SYMMETRIC,
}


def standard_errors(H):
    """Of 3 jets for the Laplacian, with the Hessian H."""
    t, frobenius = np.diag(H), np.sum(H**2)
    sphere = 2 * D / (D + 2) * (frobenius - t.sum() ** 2 / D) / JETS
    starts = [D / JETS * sum(t[(i + s) % D] for s in (0, 2, 4)) for i in range(D)]
    variances = {
        "sparse": D**2 / JETS * (1 - JETS / D) * np.var(t, ddof=1),
        "systematic": np.var(starts),
        "rademacher": 2 * (frobenius - np.sum(t**2)) / JETS,
        "gaussian": 2 * frobenius / JETS,
        "sphere": sphere,
    }
    return {name: np.sqrt(variance) for name, variance in variances.items()}


@pytest.fixture(scope="module")
def rankings(x64):
    """All three; they have programs in common."""
    rank = lambda H: do.rank_probes(
        do.Laplacian(), lambda x: x @ jnp.asarray(H) @ x / 2, jnp.ones(D), jets=JETS, probes=KINDS
    )
    return {name: rank(H) for name, H in HESSIANS.items()}


@pytest.mark.parametrize("name", HESSIANS)
def test_order(name, rankings):
    """The order is that of the standard errors, which are those of closed forms."""
    ranking, expected = rankings[name], standard_errors(HESSIANS[name])
    assert {row.name for row in ranking} == set(expected)
    assert all(row[1:3] == (JETS, JETS) and row.method == "formula" for row in ranking)
    wanted = [expected[row.name] for row in ranking]
    got = [row.standard_error for row in ranking]
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-6)
    assert got == sorted(got)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("diagonal", {"rademacher"}),
        ("constant diagonal", {"sparse", "systematic"}),
    ],
)
def test_no_error_is_first(name, best, rankings):
    first = rankings[name][: len(best)]
    assert {row.name for row in first} == best
    assert all(row.standard_error < 1e-6 for row in first)
    assert rankings[name][len(best)].standard_error > 0.1


def test_prints_as_a_table(rankings):
    ranking = rankings["diagonal"]
    lines = repr(ranking).splitlines()
    assert lines[0].split() == ["probes", "draws", "jets", "standard", "error", "method"]
    assert [line.split()[0] for line in lines[2:]] == [row.name for row in ranking]
    assert lines[-1].split()[1:3] == ["3", "3"] and lines[-1].split()[-1] == "formula"
    assert (len(ranking), list(ranking)) == (5, [*ranking.rows])


C = jnp.eye(4, dtype=jnp.float32) + 0.5


@pytest.mark.parametrize(
    ("operator", "probe", "jets", "draws", "pushed"),
    [
        (do.SecondOrder(C), "rademacher", 3, 3, 3),  # v and Cv are one jet
        (do.DiagonalK(3), "roots", 8, 2, 6),  # three antithetic jets
        (do.DiagonalK(3), "roots", 2, 1, 3),  # one draw at least
        (do.Laplacian() + do.DiagonalK(3) + do.Partial(0), "sparse", 3, 3, 3),  # shared
    ],
)
def test_draws_for_the_jets(operator, probe, jets, draws, pushed):
    """As many as fit; what is exact does not count."""
    ranking = do.rank_probes(
        operator, jnp.sum, jnp.ones(4), jets=jets, probes=[probe], key=jr.key(0)
    )
    assert ranking[0][1:3] == (draws, pushed)


def test_all_that_are_unbiased_by_default():
    ranking = do.rank_probes(do.DiagonalK(3), jnp.sum, jnp.ones(4), key=jr.key(0), jets=2)
    assert {row.name for row in ranking} == {"sparse", "stratified", "systematic", "roots"}


def test_one_jet_is_refused():
    with pytest.raises(ValueError, match="at least 2 jets"):
        do.rank_probes(do.Laplacian(), jnp.sum, jnp.ones(3), jets=1)
