"""Random operators and random probes on random programs, beside nested `jax.jvp`."""

import functools
import itertools
import math
import random
from collections.abc import Callable
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
    """An operator, and its terms: the coefficient and the coordinates of each derivative. The
    coefficients have the shape of what the operator gives.
    """

    operator: Any
    terms: list[tuple[Any, tuple[int, ...]]]

    @property
    def by_order(self) -> dict[int, tuple[np.ndarray, list[tuple[int, ...]]]]:
        """Coefficients, along the first axis, and coordinates of the terms of each order."""
        orders = sorted({len(coordinates) for _, coordinates in self.terms})
        parts = {k: [each for each in self.terms if len(each[1]) == k] for k in orders}
        return {
            k: (np.array([c for c, _ in part]), [w for _, w in part]) for k, part in parts.items()
        }

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


def _partial(choose):
    i, order = choose.randrange(SIZE), choose.randint(1, 3)
    return Wanted(do.Partial(i, order), [(1.0, (i,) * order)])


def _tensor(choose):
    """Terms of orders that differ, some of them the same derivative."""
    rows = [[choose.randrange(SIZE) for _ in range(choose.randint(1, 3))] for _ in range(3)]
    coefficients = [_number(choose) for _ in rows]
    indices = np.array([[row.count(i) for i in range(SIZE)] for row in rows])
    terms = [(c, tuple(row)) for c, row in zip(coefficients, rows, strict=True)]
    return Wanted(do.TensorOperator(indices, jnp.asarray(coefficients)), terms)


def _biharmonic(choose):
    pairs = itertools.product(range(SIZE), repeat=2)
    return Wanted(do.Biharmonic(), [(1.0, (i, i, j, j)) for i, j in pairs])


def _hessian(choose):
    unit = np.eye(SIZE)
    pairs = itertools.product(range(SIZE), repeat=2)
    return Wanted(do.Hessian(), [(np.outer(unit[i], unit[j]), (i, j)) for i, j in pairs])


def _sum(choose):
    a, b, c = _plain(choose), _plain(choose), _number(choose)
    terms = a.terms + [(c * d, coordinates) for d, coordinates in b.terms]
    return Wanted(a.operator + c * b.operator, terms)


def _plain(choose):
    return choose.choice(PLAIN)(choose)


PLAIN = (
    *(_laplacian, _diagonal_k, _any_mixed, _second_order, _directional, _partial, _tensor),
    _biharmonic,
)
OPERATORS = (*PLAIN, _sum, _hessian)
PROBES = ("sparse", "rademacher", "gaussian", "spherical", "orthogonal", "stratified")


class Estimated(NamedTuple):
    """An operator, which draws, and how many: `ALL` are all that there are."""

    wanted: Wanted
    probes: str
    draws: int

    def __repr__(self):
        return f"{self.wanted} of {self.draws} draws, {self.probes}"


ALL = 64
ESTIMATED: dict[Callable, tuple[str, ...]] = {
    _laplacian: PROBES,
    _second_order: ("sparse", "rademacher", "gaussian"),
    _diagonal_k: ("sparse",),
    _biharmonic: ("sparse", "gaussian"),
}


def random_estimate(choose: random.Random) -> Estimated:
    maker = choose.choice(list(ESTIMATED))
    return Estimated(maker(choose), choose.choice(ESTIMATED[maker]), choose.choice([1, 2, ALL]))


def random_operators(choose: random.Random) -> tuple[Wanted, ...]:
    """The Hessian, as it reads all pairs of entries, and another one."""
    return _hessian(choose), choose.choice(OPERATORS)(choose)


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
    for coefficients, rows in wanted.by_order.values():
        values = derivatives(program, x, rows)
        expected += np.tensordot(values, coefficients, 1)
        total += np.sum(np.abs(coefficients), 0)
        found.append(values)
    size = _sizes(*found)
    if size is None:
        return False
    got = evaluate(wanted.operator.exact(program), x)
    _compare(got, expected, TOLERANCE * size * (1.0 + total), x)
    return True


def _compare(got, expected, allowed, x):
    assert got.shape == np.shape(expected) and got.dtype == x.dtype
    assert np.all(np.abs(got - expected) <= allowed), (got, expected)


def check_estimate(program, estimated, key, x):
    """An estimate with a fixed draw is linear in the derivatives of u: what it does to products of
    coordinates says by which numbers. Enough draws are all of them, and give the operator itself.
    """
    wanted, probes, n = estimated
    estimate = wanted.operator.estimate(key, n, probes=probes)
    expected, total, found = 0.0, 0.0, [evaluate(program, x)]
    for order, (coefficients, rows) in wanted.by_order.items():
        if n < ALL:
            rows = list(itertools.combinations_with_replacement(range(SIZE), order))
            coefficients = evaluate(estimate(_monomials(rows, x)), x)
        found.append(derivatives(program, x, rows))
        expected += found[-1] @ coefficients
        total += np.sum(np.abs(coefficients))
    size = _sizes(*found)
    if size is None:
        return False
    _compare(evaluate(estimate(program), x), expected, TOLERANCE * size * (1.0 + total), x)
    return True


def _monomials(rows, x):
    """(y − x)^α / α! for each row of coordinates: their derivatives at x are those of one α each,
    along its own row 1 and along others 0.
    """
    indices = np.array(rows)
    factorials = [math.prod(math.factorial(row.count(i)) for i in range(SIZE)) for row in rows]

    def products(y):
        z = y - x
        columns = [z[column] for column in indices.T]
        return functools.reduce(jnp.multiply, columns) / np.array(factorials, x.dtype)

    return products
