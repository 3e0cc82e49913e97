"""Derivatives have the type that JAX gives them, for inputs of each floating type and of complex
numbers, whether or not a function mixes types.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import diffop as do

from ..taylor.primitives import CASES, N
from ..together import Together
from ..versions import JAX

K = 2
_MIXED = (
    "elementwise-real_imag elementwise-conj_abs elementwise-clamp two-complex two-igamma "
    "two-igammac structure-pad structure-pad_negative reduction-reduce_by_a_function "
    "reduction-reduce_of_pairs algebra-conv_by_constant algebra-eigh_hermitian algebra-rfft "
    "algebra-irfft control-scan_growing control-cond_one_branch_constant"
)
_HALF = "algebra-conv_2d algebra-custom_linear_solve algebra-tridiagonal_solve"
_BFLOAT16 = "" if JAX >= (0, 10, 2) else " elementwise-betainc"  # JAX gives float32 for its jaxpr
_COMPLEX = (
    "elementwise-floor elementwise-ceil elementwise-erf elementwise-erfc elementwise-cbrt "
    "elementwise-erf_inv elementwise-lgamma elementwise-digamma elementwise-bessel_i0e "
    "elementwise-bessel_i1e elementwise-polygamma elementwise-betainc elementwise-reduce_precision "
    "two-rem two-rem_both two-hypot structure-gather_traced_index structure-dynamic_slice "
    "structure-dynamic_update_slice structure-argmax_is_constant reduction-median reduction-top_k "
    "reduction-reduce_window_max reduction-reduce_window_min reduction-slope_of_max_pool "
    "control-scan_reverse control-custom_jvp_smooth control-grad_inside control-hessian_inside"
)
if JAX >= (0, 11):  # it orders complex numbers no longer
    _COMPLEX += (
        " elementwise-nextafter two-max two-min two-max_constant two-max_ties reduction-softmax "
        "reduction-cummax reduction-cummin"
    )
_OVERFLOWING = "control-while_loop control-while_loop_on_value control-while_in_scan"
NOT_IN_JAX = {
    "float32": (),
    "bfloat16": (_MIXED + " " + _HALF + _BFLOAT16).split(),
    "float16": (_MIXED + " " + _HALF).split(),
    "complex64": " ".join((_MIXED, _COMPLEX, _OVERFLOWING)).split(),
}
"""Functions for which JAX itself has no value or no derivative of a type."""


def _is_apart(case, dtype):
    """Only the rules of entrywise functions know the two halves apart: of other functions bfloat16
    shows the same as float16, but for those of which every class of rule has one.
    """
    return dtype != "float16" or str(case).startswith(("elementwise", "two")) or case.order == 5


TYPED = [
    (case, dtype)
    for dtype, names in NOT_IN_JAX.items()
    for case in CASES
    if str(case) not in names and _is_apart(case, dtype)
]


def _inexact(function):
    """The outputs that have derivatives."""
    return lambda x: [
        y for y in jax.tree.leaves(function(x)) if jnp.issubdtype(y.dtype, jnp.inexact)
    ]


def _nested(function, v):
    def slope(f):
        return lambda x: jax.jvp(f, (x,), (v,))[1]

    second = slope(slope(function))
    return lambda x: [function(x), slope(function)(x), second(x)]


def _pushed(function, v):
    def orders(x):
        primal, series = do.taylor.jet(function, (x,), ([v, jnp.zeros_like(v)],))
        return [primal, *([terms[k] for terms in series] for k in range(K))]

    return orders


OF_TYPE = {
    dtype: Together(
        [case for case, other in TYPED if other == dtype],
        lambda case: lambda x, v: _pushed(_inexact(case.function), v)(x),
    )
    for dtype in NOT_IN_JAX
}


# what JAX says of functions that ask for types that there are not, or mix them
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning")
@pytest.mark.filterwarnings("ignore:scatter inputs have incompatible types:FutureWarning")
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("case, dtype", TYPED, ids=str)
def test_type_and_value(case, dtype, kept):
    """Without double precision, and where functions mix types as lenient promotion lets them."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        x, v = (_drawn(rng, dtype) for _ in range(2))
        nested, got = _nested(_inexact(case.function), v), OF_TYPE[dtype](case, x, v)
        expected, weak = kept(lambda: (values := jax.jit(nested)(x), _weak(values)))
        assert [y.dtype for y in jax.tree.leaves(got)] == [
            y.dtype for y in jax.tree.leaves(expected)
        ]
        assert _weak(got) == list(weak)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        a, b = np.asarray(a, complex), np.asarray(b, complex)
        np.testing.assert_allclose(a, b, rtol=0, atol=50 * _eps(dtype) * (1 + np.abs(b).max()))


def _drawn(rng, dtype):
    numbers = rng.normal(size=(2, N))
    return jnp.asarray(numbers[0] + 1j * numbers[1] if dtype == "complex64" else numbers[0], dtype)


def _weak(tree):
    return [array.weak_type for array in jax.tree.leaves(tree)]


def _eps(dtype):
    return float(jnp.finfo(dtype).eps)


W = np.random.default_rng(1).normal(size=(3, N))
# products whose operands differ in type, first of all and behind something entrywise
MIXED_PRODUCTS = {
    "layer": lambda W, x: jnp.sum(jnp.sin(W @ x)),
    "behind_entrywise": lambda W, x: jnp.sum(jnp.sin(W @ jnp.tanh(x))),
    "from_the_right": lambda W, x: jnp.sum(jnp.sin(jnp.tanh(x) @ W.T)),
    "blocks": lambda W, x: jnp.sum(jnp.sin(x.reshape(2, 3) @ W[:, :3])),
    "convolution": lambda W, x: jnp.sum(jnp.sin(jnp.convolve(x, W[0, :3]))),
    "einsum": lambda W, x: jnp.einsum("i,ji,j->", jnp.tanh(x), W, (W @ jnp.cos(x))),
    "fewer_digits": lambda W, x: (
        jnp.sum(lax.dot_general(W, x, (((1,), (0,)), ((), ())), preferred_element_type=W.dtype))
        ** 2
    ),
}
BEHIND_TANH = ("behind_entrywise", "from_the_right", "einsum")
"""With the digits of the point, whose tanh meets the weights."""
PAIRS = [("float64", "float32"), ("float32", "float64"), ("float32", "bfloat16")]


@pytest.mark.parametrize("kind, weights", PAIRS, ids=str)
@pytest.mark.parametrize("name", MIXED_PRODUCTS)
def test_operands_of_two_types(name, kind, weights):
    """Weights of fewer or of more digits than the point, as mixed-precision training has them."""
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        w, x = jnp.asarray(W, weights), jnp.asarray(np.linspace(-1, 1, N), kind)
        u = lambda x: MIXED_PRODUCTS[name](w, x)
        basis = jnp.eye(N, dtype=kind)
        each = jax.jit(jax.vmap(lambda v: _nested(u, v)(x)[2]))(basis)
        expected = float(np.sum(np.asarray(each, np.float64)))
        everything = do.Laplacian().estimate(jax.random.key(0), N, probes="sparse")
        for got in jax.jit(lambda x: [do.Laplacian().exact(u)(x), everything(u)(x)])(x):
            assert got.dtype == each.dtype
            coarse = "bfloat16" in (str(got.dtype), weights) or name == "fewer_digits"
            eps = _eps(weights if coarse else kind if name in BEHIND_TANH else got.dtype)
            np.testing.assert_allclose(
                float(got), expected, rtol=0, atol=50 * eps * (1 + abs(expected))
            )
