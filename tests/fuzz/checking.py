"""Random operators and random probes on random programs, beside nested `jax.jacfwd`."""

import itertools
import math
from typing import Any, NamedTuple

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np

import diffop as do

from .operations import SIZE

LARGEST = 1e6
"""Derivatives above are those of a program near a singularity, and say nothing."""
TOLERANCE = 1e-8


class Wanted(NamedTuple):
    """An operator, and its coefficients: `tensors[k]` contracts with the k-th derivative."""

    operator: Any
    tensors: dict[int, np.ndarray]

    def __repr__(self):
        return str(self.operator)

    def of(self, derivatives):
        return sum(np.sum(self.tensors[k] * derivatives[k]) for k in self.tensors)


def _diagonal(k):
    tensor = np.zeros((SIZE,) * k)
    tensor[(np.arange(SIZE),) * k] = 1.0
    return tensor


def _unit(coordinates):
    tensor = np.zeros((SIZE,) * len(coordinates))
    tensor[tuple(coordinates)] = 1.0
    return tensor


def _mixed(coordinates):
    alpha = {i: coordinates.count(i) for i in coordinates}
    return Wanted(do.Mixed(alpha), {len(coordinates): _unit(coordinates)})


_NUMBERS = st.integers(-4, 4).map(lambda n: n / 2)


@st.composite
def _second_order(draw):
    entries = draw(st.lists(_NUMBERS, min_size=SIZE * SIZE, max_size=SIZE * SIZE))
    matrix = np.array(entries).reshape(SIZE, SIZE)
    return Wanted(do.SecondOrder(jnp.asarray(matrix)), {2: matrix})


@st.composite
def _directional(draw):
    b = np.array(draw(st.lists(_NUMBERS, min_size=SIZE, max_size=SIZE)))
    return Wanted(do.Directional(jnp.asarray(b)), {1: b})


_PLAIN = st.one_of(
    st.just(Wanted(do.Laplacian(), {2: _diagonal(2)})),
    st.integers(1, 4).map(lambda k: Wanted(do.DiagonalK(k), {k: _diagonal(k)})),
    st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=4).map(_mixed),
    _second_order(),
    _directional(),
)


@st.composite
def _sum(draw):
    a, b, c = draw(_PLAIN), draw(_PLAIN), draw(_NUMBERS)
    tensors = dict(a.tensors)
    for k, tensor in b.tensors.items():
        tensors[k] = tensors.get(k, 0) + c * tensor
    return Wanted(a.operator + c * b.operator, tensors)


OPERATORS = st.one_of(_PLAIN, _sum())
PROBES = st.sampled_from(["sparse", "rademacher", "gaussian", "sphere", "orthogonal", "stratified"])


def derivatives(u, x, order):
    """`[u, Du, …, D^order u]` at a point, by nested forward mode."""
    found, function = [], u
    for _ in range(order + 1):
        found.append(np.asarray(function(x)))
        function = jax.jacfwd(function)
    return found


def check_exact(program, wanted, x):
    """Whether the program says anything here, after an assertion that the operator is right."""
    truth = derivatives(program, x, max(wanted.tensors))
    scale = 1.0 + max(np.max(np.abs(each)) for each in truth)
    if not np.isfinite(scale) or scale > LARGEST:
        return False
    got = wanted.operator.exact(program)(x)
    assert got.shape == () and got.dtype == x.dtype
    size = scale * (1.0 + sum(np.sum(np.abs(t)) for t in wanted.tensors.values()))
    assert abs(got - wanted.of(truth)) <= TOLERANCE * size, (got, wanted.of(truth))
    return True


def check_estimate(program, probes, key, x):
    """An estimate with a fixed draw is linear in D²u: what it does to products of two coordinates
    says by which matrix.
    """
    truth = derivatives(program, x, 2)
    scale = 1.0 + max(np.max(np.abs(each)) for each in truth)
    if not np.isfinite(scale) or scale > LARGEST:
        return False
    estimate = do.Laplacian().estimate(key, 2, probes=probes)
    got = estimate(program)(x)
    matrix = np.zeros((SIZE, SIZE))
    for i, j in itertools.combinations_with_replacement(range(SIZE), 2):
        product = lambda y: (y[i] - x[i]) * (y[j] - x[j])
        matrix[i, j] = matrix[j, i] = estimate(product)(x) / math.factorial(1 + (i == j))
    expected = np.sum(matrix * truth[2])
    assert abs(got - expected) <= TOLERANCE * scale * (1.0 + np.sum(np.abs(matrix)))
    return True
