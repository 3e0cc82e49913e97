"""The random sources: every outcome of Floyd's algorithm, and what weighted draws return."""

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import diffop as do
from diffop import probes
from diffop.jets.design import Stratum
from diffop.probes import sampling
from diffop.probes.strata import cut


@pytest.mark.parametrize(("total", "n"), [(4, 1), (4, 2), (5, 3), (4, 4), (6, 4), (7, 2)])
def test_every_subset_is_equally_likely(monkeypatch, total, n):
    """All equally likely outcomes of the uniform numbers t_i ≤ total − n + i, enumerated."""

    def one(numbers):
        draw = iter([numbers])
        monkeypatch.setattr(jax.random, "randint", lambda *args: next(draw))
        return sampling.subset(jax.random.key(0), total, n)

    every = itertools.product(*(range(total - n + i + 1) for i in range(n)))
    drawn = np.asarray(jax.jit(jax.vmap(one))(jnp.array(list(every))))
    found = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert set(found) == set(itertools.combinations(range(total), n))
    assert len(set(found.values())) == 1


def test_large_subsets_have_different_members():
    for seed, (total, n) in enumerate([(1000, 999), (10**6, 5000), (2**31 - 1, 4096), (50, 50)]):
        members = np.asarray(sampling.subset(jax.random.key(seed), total, n))
        assert len(set(members.tolist())) == n
        assert members.min() >= 0
        assert members.max() < total


def test_weighted_draws_return_their_inverse_probability():
    magnitudes = jnp.array([0.0, 1.0, 3.0, 0.0, 4.0])
    index, inverse = sampling.weighted(jax.random.key(0), magnitudes, 1000)
    assert set(index.tolist()) == {1, 2, 4}
    np.testing.assert_allclose(inverse, 8 / magnitudes[index], rtol=1e-6)


def test_weighted_draws_of_nothing_are_uniform():
    index, inverse = sampling.weighted(jax.random.key(0), jnp.zeros(3), 100)
    assert set(index.tolist()) == {0, 1, 2}
    np.testing.assert_allclose(inverse, 3.0, rtol=1e-6)


def test_draws_of_different_designs_have_different_keys(monkeypatch):
    """Δ² draws pairs and Δ³ triples: if they shared numbers, their variances would not add."""
    keys = []

    def uniform(key, total, n):
        keys.append(tuple(jax.random.key_data(key).tolist()))
        return jnp.zeros(n, jnp.int32)

    monkeypatch.setattr(sampling, "uniform", uniform)
    operator = do.PolyLaplacian(2) + do.PolyLaplacian(3)
    operator.estimate(jax.random.key(0), 2).jets(jnp.ones(5))
    assert len(set(keys)) == len(keys) == 5


def test_every_choice_from_strata_is_equally_likely():
    """Strata of 3, 2 and 2 with 2, 1 and 1 draws: 3·2·2 combinations. A correct library fails the
    χ² test with probability 1e-5; its keys are fixed.
    """
    strata = (Stratum(2, 3), Stratum(1, 2), Stratum(1, 2))
    keys = jax.random.split(jax.random.key(0), 6000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: sampling.stratified(key, strata)))(keys))
    found = Counter(tuple(sorted(row)) for row in drawn.tolist())
    every = [
        (*a, b, c) for a in itertools.combinations(range(3), 2) for b in (3, 4) for c in (5, 6)
    ]
    assert set(found) == set(every)
    assert scipy.stats.chisquare([found[row] for row in every]).pvalue > 1e-5


def test_cuts_of_every_small_number():
    """Strata take up all terms and all draws, none has more draws than terms, and both are spread
    evenly with the larger ones first.
    """
    for total in range(2, 14):
        for n in range(1, total):
            for number in range(1, n + 1):
                draws, sizes = np.array(cut(total, n, number)).T
                assert len(sizes) == number
                assert sizes.sum() == total
                assert draws.sum() == n
                assert np.all((draws >= 1) & (draws <= sizes))
                for each in (draws, sizes):
                    assert np.ptp(each) <= 1
                    assert np.all(np.diff(each) <= 0)


def test_roots_of_different_orders_have_different_keys(monkeypatch):
    """Numbers modulo 2 and modulo 4 from one key would agree, and their variances would not add."""
    keys = []

    def numbers(self, key, n, size, k):
        keys.append(tuple(jax.random.key_data(key).tolist()))
        return jnp.zeros((n, size), jnp.int32)

    monkeypatch.setattr(probes.Roots, "numbers", numbers)
    operator = do.Laplacian() + do.DiagonalK(4)
    operator.estimate(jax.random.key(0), 2, probes="roots").jets(jnp.ones(5))
    assert len(set(keys)) == len(keys) == 2
