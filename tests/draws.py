"""Draws of estimates: all that there can be, and what chance allows of many."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

Z = 4.5
"""How many standard errors a test at fixed keys allows: a correct library fails it with probability
7e-6, two-sided."""


def many(estimate, count, seed=1):
    """`estimate(key)` for as many keys, as one program."""
    keys = jax.random.split(jax.random.key(seed), count)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(estimate))(keys))


def check_mean(values, exact, notices=np.inf, varies=True):
    """The mean of independent values, one a row, is the exact one up to chance. A bias of `notices`
    times the exact value would be seen; `varies` says that nothing is exact by accident.
    """
    values = np.asarray(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    rounding = 1e-10 * np.abs(exact)
    assert np.all(np.abs(values.mean(axis=0) - exact) <= Z * error + rounding)
    assert np.all(Z * error <= notices * np.abs(exact))
    assert not varies or np.all(error > rounding / 100)


def uniform(values):
    """Whether they are so from 0 to 1: Kolmogorov-Smirnov at a level of one in a thousand."""
    return scipy.stats.kstest(np.asarray(values), "uniform").pvalue > 1e-3


def check_errors(values, errors, notices=0.25):
    """The squares of standard errors have the variance as their mean, up to chance."""
    values, errors = np.asarray(values), np.asarray(errors)
    differences = (values - values.mean()) ** 2 - errors**2
    bound = Z * differences.std() / np.sqrt(len(values))
    assert abs(differences.mean()) <= bound <= notices * values.var()


def over_all(monkeypatch, owner, source, outcomes, function):
    """`function()` for every outcome of a random source, and the probabilities of these. An outcome
    is what the source returns call by call.
    """
    values, probabilities = zip(*outcomes, strict=True)
    np.testing.assert_allclose(sum(probabilities), 1.0)

    def one(value):
        calls = itertools.cycle(value)
        monkeypatch.setattr(owner, source, lambda *args: next(calls))
        return function()

    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *values)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(stacked)), np.array(probabilities)


def alike(values):
    """Outcomes of equal probability."""
    values = list(values)
    return [([jnp.asarray(value)], 1 / len(values)) for value in values]


def subsets(total, n):
    """Every subset of n numbers."""
    return alike(itertools.combinations(range(total), n))


def tuples(total, n, copies=1):
    """Every outcome of independent uniform draws: one array of n numbers for each copy."""
    rows = list(itertools.product(range(total), repeat=n * copies))
    return [(list(jnp.array(row).reshape(copies, n)), 1 / len(rows)) for row in rows]


def weighted_draws(magnitudes, n):
    """Every outcome of n independent draws with p ∝ magnitude, beside its 1/p."""
    p = np.abs(np.asarray(magnitudes)) / np.sum(np.abs(magnitudes))
    for row in itertools.product(np.flatnonzero(p), repeat=n):
        index = np.array(row)
        yield [(jnp.array(index), jnp.array(1 / p[index]))], float(np.prod(p[index]))


def signs(size, n):
    """Every n vectors of signs."""
    return alike(np.reshape(list(itertools.product([-1.0, 1.0], repeat=size * n)), (-1, n, size)))
