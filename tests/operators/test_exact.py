"""`.exact` of every operator on every function, in both precisions, against the oracle."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import compiling, dense, functions, oracle
from ..functions import DTYPES, TOLERANCE, expected_values, relative_error
from ..waves import Waves
from . import table

pytestmark = pytest.mark.usefixtures("x64")

IN_BOTH_PRECISIONS = {"tanh", "complex", "space_time", "field"}
OF_VECTORS = table.operators() + table.gradients()
# these differ from other networks by one entrywise rule: `tests/taylor/test_activations.py`, and
# all operators on one layer of the first: `tests/operators/test_transforms.py`
ANOTHER_ACTIVATION = ("gelu", "softplus", "silu")
PAIRS = [
    *(
        (case, f)
        for f in functions.SCALAR
        for case in (OF_VECTORS[::4] if f.name in ANOTHER_ACTIVATION else OF_VECTORS)
    ),
    *((case, functions.COMPLEX) for case in OF_VECTORS),
    *((case, functions.TREE_OUTPUT) for case in OF_VECTORS),
    *((case, functions.TREE_INPUT) for case in table.operators()),
    *((case, functions.SPACE_AND_TIME) for case in table.space_time()),
    *((case, functions.FIELD) for case in table.fields()),
]
CASES = [
    pytest.param(case, function, dtype, id=f"{function}-{case}-{dtype}")
    for case, function in PAIRS
    for dtype in DTYPES
    if dtype == "float64" or function.name in IN_BOTH_PRECISIONS
]


def cases_of(function):
    return tuple(case for case, other in PAIRS if other is function)


@functools.cache
def values(function, dtype):
    """What every operator makes of a function: one program, as most of the time is spent on
    compiling.
    """
    return made_by(cases_of(function), function, dtype)


def made_by(cases, function, dtype):
    model, points = function.model(dtype), function.points(dtype)

    def all_of_them(*points):
        return {case.name: jax.vmap(case.operator(dtype).exact(model))(*points) for case in cases}

    return jax.jit(all_of_them)(*points)


@pytest.mark.parametrize("case, function, dtype", CASES)
def test_exact(case, function, dtype, kept):
    got = values(function, dtype)[case.name]
    model, points = function.model(dtype), function.points(dtype)
    assert jax.tree.structure(got) == jax.tree.structure(jax.eval_shape(jax.vmap(model), *points))
    for leaf in jax.tree.leaves(got):
        assert leaf.real.dtype == DTYPES[dtype]
    oracles = lambda: expected_values(cases_of(function), function, dtype)
    expected = kept(lambda: jax.tree.leaves(oracles()[case.name]))
    assert relative_error(jax.tree.leaves(got), expected) <= TOLERANCE[dtype]


FUNCTIONS = list(dict.fromkeys(function for _, function in PAIRS))


@pytest.mark.slow("makes programs of the table once more")
@pytest.mark.usefixtures("as_users_see_it")  # types are checked in `test_exact`
@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_structure_changes_no_value(function):
    """With arrays in the place of sparse coefficients, from the first step on, and with no kernel:
    every fifth operator, and of the next function the next ones. Those of time and of fields meet
    no other function.
    """
    cases = cases_of(function)
    if function not in (functions.SPACE_AND_TIME, functions.FIELD):
        cases = cases[FUNCTIONS.index(function) % 5 :: 5]
    expected = values(function, "float64")
    with dense.without_structure(), do.kernels.plain(), compiling.quickly():
        _check_agree(made_by(cases, function, "float64"), expected)


# which operators: of a scalar function each meets all kernels on one of two networks, and on the
# other every second one goes through without `parts`, which takes the points one by one
WITH_LAYERS = {
    "tanh": (slice(0, None, 2), slice(1, None, 4)),
    "residual": (slice(1, None, 2), slice(0, None, 4)),
    "field": (slice(None), slice(None)),
}


@pytest.mark.slow("makes some programs of the table once more")
@pytest.mark.usefixtures("as_users_see_it", "kernels_everywhere")
@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f.name in WITH_LAYERS], ids=str)
def test_kernels_change_no_value(function):
    """Every operator with all kernels, on points and layers of any size, and points together."""
    with do.kernels.plain():
        expected = values(function, "float64")
    alone, together = (cases_of(function)[some] for some in WITH_LAYERS[function.name])
    _check_agree(made_by(alone, function, "float64"), expected)
    with do.kernels.plain("parts"):
        _check_agree(made_by(together, function, "float64"), expected)


def _check_agree(got, expected):
    for name in got:
        pair = map(jax.tree.leaves, (got[name], expected[name]))
        assert relative_error(*pair) <= 1e-12, name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_partial_of_a_scalar_argument(order, dtype):
    function = functions.SCALAR_INPUT
    slope = do.Partial(order=order).exact(function.model(dtype))
    got = jax.jit(jax.vmap(slope))(*function.points(dtype))
    expected = function.derivatives(dtype)[order].reshape(got.shape)
    assert relative_error(got, expected) <= TOLERANCE[dtype]


@pytest.mark.parametrize("build, order", [(do.Laplacian, 2), (do.Biharmonic, 4)])
def test_a_scalar_argument_has_one_coordinate(build, order):
    function = functions.SCALAR_INPUT
    got = jax.jit(jax.vmap(build().exact(function.model("float64"))))(*function.points("float64"))
    expected = function.derivatives("float64")[order].reshape(got.shape)
    assert relative_error(got, expected) <= TOLERANCE["float64"]


def test_polylaplacian_of_order_six():
    u, x = Waves(3), np.array([0.4, -0.7, 1.1])
    reference = oracle.polylaplacian(3, 3)
    got = jax.jit(do.PolyLaplacian(3).exact(u))(jnp.asarray(x))
    expected = reference.value(u.derivatives(x, 6), (x,))
    np.testing.assert_allclose(got, expected, rtol=1e-11)


@pytest.mark.parametrize("order", [8, 13])
def test_high_orders_of_a_product(order):
    """∂_0^k of x0^k exp(x1) is k! exp(x1), and DiagonalK(k) adds x0^k exp(x1)."""
    u = lambda x: x[0] ** order * jnp.exp(x[1])
    x = jnp.array([1.25, 0.5])
    factorial = float(np.prod(np.arange(1, order + 1, dtype=np.float64)))
    e = np.exp(0.5)
    operators = do.Partial(0, order=order), do.DiagonalK(order)
    got = jax.jit(lambda x: [operator.exact(u)(x) for operator in operators])(x)
    np.testing.assert_allclose(got, [factorial * e, (factorial + 1.25**order) * e], rtol=1e-12)


def test_mixed_of_order_ten():
    """∂_0⁵ ∂_1³ ∂_2² of exp(x0 + 2 x1 − x2) is 8 times the function."""
    u = lambda x: jnp.exp(x[0] + 2 * x[1] - x[2])
    x = jnp.array([0.25, -0.5, 0.125])
    got = jax.jit(do.Mixed((5, 3, 2)).exact(u))(x)
    np.testing.assert_allclose(got, 8 * np.exp(0.25 - 1.0 - 0.125), rtol=1e-10)


def test_bfloat16_stays_bfloat16():
    x = jnp.array([0.5, -1.0, 2.0], jnp.bfloat16)
    got = do.Laplacian().exact(lambda x: jnp.sum(x**3))(x)
    assert got.dtype == jnp.bfloat16
    assert abs(float(got) - 9.0) <= 9 * 2**-7  # 6 Σ x_i, to the last bits of bfloat16
