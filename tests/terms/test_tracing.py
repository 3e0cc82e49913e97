"""The cost of tracing in many dimensions: nothing as long as the point is sorted or hashed.

Numbers of directions and of entries are known while tracing, and each question about them is one
pass over them: `numpy.unique` takes a hundred times as long.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from ..networks import Network

D = 4096
NUMBERS = np.arange(D)
SORTING = ("unique", "sort", "argsort", "lexsort", "searchsorted", "isin", "union1d", "setdiff1d")

FUNCTIONS = {
    "cubes": lambda x: jnp.sum(x**3),
    "network": lambda x: (1 - jnp.sum(x**2)) * Network(D, (3, 5))(x),
    "pairs": lambda x: jnp.sum(jnp.sin(x[1:] * x[:-1])),
    "triples": lambda x: jnp.sum(jnp.exp(x[:-2] * x[1:-1] * x[2:])),
    "blocks": lambda x: jnp.sum(jnp.tanh(jnp.sum(x.reshape(-1, 4) ** 2, 1))),
    "reversed": lambda x: jnp.sum(jnp.sin(x[NUMBERS[::-1].copy()] * x)),
    "rolled": lambda x: jnp.sum((jnp.roll(x, 1) - x) ** 2),
    "scattered": lambda x: jnp.sum(jnp.zeros(D).at[NUMBERS[::-1].copy()].add(x) ** 2 * x),
}
SQUARES = np.repeat(NUMBERS[:, None], 2, axis=1)
OPERATORS = {
    "laplacian": do.Laplacian(),
    "diagonal1": do.DiagonalK(1),
    "diagonal3": do.DiagonalK(3),
    "some": do.Laplacian(dims=tuple(range(D - 1))),
    "tensor": do.TensorOperator.from_coordinates(SQUARES, 1.0 + NUMBERS),
    "sample": do.Laplacian().estimate(jr.key(0), 16),
}


@pytest.fixture
def sorted_sizes(monkeypatch):
    """The sizes of what NumPy sorts, hashes or searches."""
    sizes = []

    def noted(function):
        def call(array, *args, **kwargs):
            sizes.append(np.size(array))
            return function(array, *args, **kwargs)

        return call

    for name in SORTING:
        monkeypatch.setattr(np, name, noted(getattr(np, name)))
    return sizes


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_as_long_as_the_point_is_sorted(function, operator, sorted_sizes):
    of = OPERATORS[operator]
    apply = of if isinstance(of, do.operators.Estimate) else of.exact
    jax.make_jaxpr(apply(FUNCTIONS[function]))(jnp.ones(D))
    assert max(sorted_sizes, default=0) < D // 2


def test_sorting_would_be_noticed(sorted_sizes):
    np.unique(NUMBERS)
    assert sorted_sizes == [D]
