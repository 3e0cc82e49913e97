"""What programs import from folx to write rules, and what becomes of it."""

import functools
import importlib
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.custom_derivatives import SymbolicZero

from diffop.compat import folx
from diffop.compat.folx import wrapped_functions
from diffop.compat.folx.api import FunctionFlags, FwdJacobian, FwdLaplArgs, FwdLaplArray

from .functions import SHAPE, attention, electrons, nested

pytestmark = pytest.mark.usefixtures("x64", "promotion")

close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)


@pytest.fixture
def unwarned():
    wrapped_functions.say_that_rules_are_not_needed.cache_clear()


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("folx", reason="folx is not installed: diffop-jax[folx]")


def parts(result):
    return result.x, result.jacobian.dense_array, result.laplacian


# What other programs import: deepqmc, neural-pfaffian, sparse_wf, jaqmc's legacy, FermiNet.
NAMES = {
    "api": ("FwdJacobian", "FwdLaplArray", "FwdLaplArgs", "FunctionFlags", "JAC_DIM"),
    "ad": ("hessian", "jacfwd", "jacrev"),
    "interpreter": ("forward_laplacian",),
    "operators": ("ForwardLaplacianOperator", "LaplacianOperator"),
    "vmap": ("batched_vmap",),
    "wrapped_functions": ("register_function", "deregister_function"),
    "wrapper": ("wrap_forward_laplacian", "warp_without_fwd_laplacian"),
}


def test_all_names_that_programs_import(theirs):
    assert set(theirs.__all__) <= set(vars(folx))
    for module, names in NAMES.items():
        both = [importlib.import_module(f"{p}.{module}") for p in ("folx", "diffop.compat.folx")]
        assert all(hasattr(each, name) for each in both for name in names), module
    assert folx.api.JAC_DIM == theirs.api.JAC_DIM
    assert dict(FunctionFlags.__members__) == dict(theirs.api.FunctionFlags.__members__)


def test_rules_warn_once_that_they_are_not_needed(unwarned):
    rule = lambda args, kwargs, sparsity_threshold: None
    with pytest.warns(UserWarning, match="functions themselves, so it needs no rules.*custom_jvp"):
        folx.register_function("attention", rule)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folx.register_function("attention", rule)
        folx.wrap_forward_laplacian(jnp.sin, custom_jac_hessian_jac=rule)
        folx.deregister_function("attention")


def test_the_function_is_differentiated_and_not_the_rule(unwarned):
    def rule(args, kwargs, sparsity_threshold):
        raise AssertionError("a rule was called")

    with pytest.warns(UserWarning, match="needs no rules"):
        folx.register_function("attention", rule)
    x = electrons()
    for ours, exact in zip(
        parts(folx.forward_laplacian(jax.jit(attention))(x)), nested(attention, x), strict=True
    ):
        close(ours, exact)


FUNCTIONS = {
    "product": (jnp.multiply, dict(flags=FunctionFlags.MULTIPLICATION, in_axes=()), {}),
    "sum": (jnp.sum, dict(flags=FunctionFlags.SUMMATION), {"axis": 0}),
    "softmax": (jax.nn.softmax, dict(in_axes=-1, name="softmax"), {"axis": -1}),
    "matmul": (jnp.matmul, {}, {}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrapped_functions_are_those_of_folx(theirs, name):
    """Of results, of results and arrays, and of arrays alone, in each package's own arrays."""
    function, settings, keywords = FUNCTIONS[name]
    inner = lambda x: (jnp.sin(x) * jnp.sum(x), jnp.cos(x[:, :1] * x).T[:, :3])
    x = electrons()
    pick = slice(None) if name in ("product", "matmul") else slice(1)
    found = []
    for package in (folx, theirs):
        flags = settings.get("flags")
        own = settings | ({"flags": package.api.FunctionFlags(int(flags))} if flags else {})
        rule = package.wrap_forward_laplacian(function, **own)
        a, b = package.forward_laplacian(inner)(x)
        if name == "product":
            b = package.forward_laplacian(lambda x: jnp.cos(x) + 2)(x)
        both = rule((a, b)[pick], keywords, sparsity_threshold=0)
        one = rule((a, b.x)[pick], keywords, sparsity_threshold=0)
        none = rule((a.x, b.x)[pick], keywords, sparsity_threshold=0)
        found.append([*parts(both), *parts(one), none])
    jax.tree.map(close, *found)


def test_without_derivatives():
    result = folx.forward_laplacian(lambda x: x**2)(electrons())
    rule = folx.warp_without_fwd_laplacian(lambda x, y, *, z: jnp.sqrt(x * z) * y)
    found = rule((result, 2.0), {"z": result}, sparsity_threshold=0)
    assert isinstance(found, jax.Array)
    close(found, 2 * electrons() ** 2)


def test_several_results_together():
    result = folx.forward_laplacian(lambda x: x**2)(electrons())
    several = FwdLaplArgs((result, result))
    assert several.jacobian[1] is result.jacobian
    close(several.x[0], electrons() ** 2)
    close(several.laplacian[1], np.full(SHAPE, 2.0))
    close(several.dense_jacobian[0], result.dense_jacobian)


INDICES = {
    "one each": np.array([[0, 2, 1]]),
    "equal ones add up": np.array([[0, 3, 1], [0, 1, 1]]),
    "some are none": np.array([[0, -1, 2], [-1, 4, 1]]),
}


@pytest.mark.parametrize("name", INDICES)
def test_jacobians_of_sparse_data_are_those_of_folx(theirs, name):
    indices = INDICES[name]
    data = jnp.arange(1.0, 1 + indices.size).reshape(indices.shape)
    ours, other = FwdJacobian(data, indices), theirs.api.FwdJacobian(data, indices)
    assert (ours.x0_idx, ours.weak) == (None, False)
    close(ours.dense_array, other.dense_array)
    close(ours._replace(data=2 * ours.data).data, 2 * other.dense_array)
    assert jax.tree.map(lambda leaf: leaf, ours)._fields == other._fields


def test_jacobians_of_dense_data(theirs):
    data = jnp.ones((2, 3))
    for other in (FwdJacobian(data=data, x0_idx=None), FwdJacobian(data), FwdJacobian(data, None)):
        assert other == theirs.api.FwdJacobian(data)
        assert other.dense_array is data


def test_fewer_coordinates_are_the_first_ones(theirs):
    """Results that a program makes itself, of different numbers of coordinates."""
    found = []
    for package in (folx, theirs):
        api = package.api
        rows = [jnp.array([[1.0], [2.0]]), jnp.array([[3.0], [4.0], [5.0]])]
        a, b = (api.FwdLaplArray(jnp.ones(1), api.FwdJacobian(r), jnp.zeros(1)) for r in rows)
        product = package.forward_laplacian(jnp.multiply)(a, b)
        found.append([*parts(product), (a.jacobian + b.jacobian).data])
    jax.tree.map(close, *found)
    close(found[0][2], [2 * (1 * 3 + 2 * 4)])


def test_errors_of_jacobians(as_users_see_it):
    data = jnp.ones((1, 3))
    with pytest.raises(ValueError, match=r"for each entry of its data, of shape \(1, 3\); got sh"):
        FwdJacobian(data, np.arange(3))
    with pytest.raises(TypeError, match="x0_idx of FwdJacobian must be known while tracing"):
        jax.jit(FwdJacobian)(data, jnp.zeros((1, 3), int))


@jax.custom_jvp
def log_pfaffian(x):
    """A function of a skew matrix of orbitals, as programs write them: with a rule for directions
    that may be symbolic zeros, and a result that does not move.
    """
    sign, log = jnp.linalg.slogdet(_skew(x))
    return sign, log / 2


def _skew(x):
    return x @ jnp.kron(jnp.eye(2), jnp.array([[0.0, 1.0], [-1.0, 0.0]])) @ x.T


@functools.partial(log_pfaffian.defjvp, symbolic_zeros=True)
def _(primals, tangents):
    (x,), (moved,) = primals, tangents
    sign, log = log_pfaffian(x)
    if isinstance(moved, SymbolicZero):
        return (sign, log), (jnp.zeros_like(sign), jnp.zeros_like(log))
    slope = jax.jvp(_skew, (x,), (moved,))[1]
    inverse = jnp.linalg.inv(_skew(x))
    return (sign, log), (jnp.zeros_like(sign), jnp.einsum("ij,ji->", inverse, slope) / 2)


def test_functions_with_rules_of_their_own():
    """log Pf(A) = ½ log det A, whose rule is that of the function."""
    square = lambda x: jnp.concatenate([jnp.tanh(x), jnp.cos(x[:, :1])], axis=1)
    sign, log = folx.forward_laplacian(lambda x: jax.jit(log_pfaffian)(square(x)))(electrons())
    plain = lambda x: jnp.linalg.slogdet(_skew(square(x)))[1] / 2
    assert not isinstance(sign, FwdLaplArray) or not np.any(sign.laplacian)
    for ours, exact in zip(parts(log), nested(plain, electrons()), strict=True):
        close(ours, exact)


def table(ad, z):
    """Derivatives in the shapes that `folx.ad` has, of a real, a complex and a mixed function."""
    x = z.real
    several = lambda x, y: jnp.sin(x[0] * y)
    return [
        *(ad.jacfwd(jnp.sin)(x), ad.jacrev(jnp.sin)(x), ad.hessian(lambda x: jnp.prod(x))(x)),
        *(ad.jacfwd(jnp.exp)(z), ad.jacrev(jnp.exp)(z), ad.hessian(lambda z: jnp.sum(z**3))(z)),
        *(ad.jacrev(lambda x: jnp.exp(1j * x))(x), ad.jacrev(several)(x, x[1:])),
        ad.jacrev(lambda z: jnp.sum(jnp.abs(z) ** 2))(z),
    ]


def test_derivatives_are_those_of_folx(theirs):
    """As `folx.ad` has them."""
    z = electrons()[0] + 1j * electrons()[1]
    found = table(folx.ad, z)
    jax.tree.map(close, found, table(importlib.import_module("folx.ad"), z))
    close(found[0], np.diag(np.cos(z.real)))
    close(found[4], np.diag(np.exp(z)))
    close(found[6], np.diag(1j * np.exp(1j * z.real)))
