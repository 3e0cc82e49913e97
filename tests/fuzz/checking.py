"""Random operators and random probes on random programs, beside nested `jax.jvp`."""

import itertools
import random
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import diffop as do

from .evaluation import evaluate
from .operations import SIZE
from .oracle import derivatives

LARGEST = 1e6
"""Derivatives above are those of a program near a singularity, and say nothing."""
TOLERANCE = 1e-8


class Wanted(NamedTuple):
    """An operator, and its terms: the coefficient and the coordinates of each derivative."""

    operator: Any
    terms: list[tuple[float, tuple[int, ...]]]

    def __repr__(self):
        return str(self.operator)


def _diagonal(k):
    return [(1.0, (i,) * k) for i in range(SIZE)]


def _mixed(coordinates):
    alpha = {i: coordinates.count(i) for i in coordinates}
    return Wanted(do.Mixed(alpha), [(1.0, tuple(coordinates))])


def _number(choose):
    return choose.randint(-4, 4) / 2


def _laplacian(choose):
    return Wanted(do.Laplacian(), _diagonal(2))


def _diagonal_k(choose):
    k = choose.randint(1, 4)
    return Wanted(do.DiagonalK(k), _diagonal(k))


def _any_mixed(choose):
    return _mixed([choose.randrange(SIZE) for _ in range(choose.randint(1, 4))])


def _second_order(choose):
    matrix = np.array([[_number(choose) for _ in range(SIZE)] for _ in range(SIZE)])
    terms = [(float(c), (int(i), int(j))) for (i, j), c in np.ndenumerate(matrix)]
    return Wanted(do.SecondOrder(jnp.asarray(matrix)), terms)


def _directional(choose):
    b = [_number(choose) for _ in range(SIZE)]
    return Wanted(do.Directional(jnp.asarray(b)), [(c, (i,)) for i, c in enumerate(b)])


def _sum(choose):
    a, b, c = _plain(choose), _plain(choose), _number(choose)
    terms = a.terms + [(c * d, coordinates) for d, coordinates in b.terms]
    return Wanted(a.operator + c * b.operator, terms)


def _plain(choose):
    return choose.choice(PLAIN)(choose)


PLAIN = (_laplacian, _diagonal_k, _any_mixed, _second_order, _directional)
PROBES = ("sparse", "rademacher", "gaussian", "sphere", "orthogonal", "stratified")


def random_operator(choose: random.Random) -> Wanted:
    return choose.choice((*PLAIN, _sum))(choose)


def random_point(choose):
    """Numbers of few binary digits, so that what changes a point rounds nothing. None is an integer
    or another one: there, functions have corners.
    """
    near = [round(16 * choose.gauss()) / 16 for _ in range(SIZE)]
    return np.array(near) + (2 * np.arange(SIZE) + 1) / 128


def _sizes(*values):
    """The largest of some numbers; None where they say nothing."""
    size = 1.0 + max(float(np.max(np.abs(each))) for each in values)
    return size if np.isfinite(size) and size < LARGEST else None


def check_exact(program, wanted, x):
    """Whether the program says anything here, after an assertion that the operator is right."""
    expected, total, found = 0.0, 0.0, [evaluate(program, x)]
    for order in {len(coordinates) for _, coordinates in wanted.terms}:
        terms = [(c, where) for c, where in wanted.terms if len(where) == order]
        coefficients = np.array([c for c, _ in terms])
        values = derivatives(program, x, [where for _, where in terms])
        expected += coefficients @ values
        total += np.sum(np.abs(coefficients))
        found.append(values)
    size = _sizes(*found)
    if size is None:
        return False
    got = evaluate(wanted.operator.exact(program), x)
    assert got.shape == () and got.dtype == x.dtype
    assert abs(got - expected) <= TOLERANCE * size * (1.0 + total), (got, expected)
    return True


def check_estimate(program, probes, key, x):
    """An estimate with a fixed draw is linear in D²u: what it does to products of two coordinates
    says by which matrix.
    """
    pairs = list(itertools.combinations_with_replacement(range(SIZE), 2))
    second = derivatives(program, x, pairs)
    size = _sizes(evaluate(program, x), second)
    if size is None:
        return False
    estimate = do.Laplacian().estimate(key, 2, probes=probes)

    def products(y):
        z = y - x
        return jnp.stack([z[i] * z[j] for i, j in pairs])

    counts = np.array([1.0 if i != j else 0.5 for i, j in pairs])
    weights = np.asarray(evaluate(estimate(products), x)) * counts
    got, expected = evaluate(estimate(program), x), weights @ second
    assert abs(got - expected) <= TOLERANCE * size * (1.0 + np.sum(np.abs(weights)))
    return True
