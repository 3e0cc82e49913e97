"""Primitives that are linear in some operands only, or but for something that they add: by value,
beside nested `jax.jacfwd` in the same type. Masks choose; where they multiply, 0 · ∞ is NaN.
"""

import itertools

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax
from jax.interpreters import ad, batching, mlir

import diffop as do

W = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
SOME, TWICE, OUTSIDE = np.array([[0, 1, 9], [0, 2, 0], [2, 9, 1]], np.int32)
X = (0.4, 0.9, 1.3)
AT_THE_EDGE = (0.0, 1.0, 2.0)


def dense(x):
    return jnp.asarray(W, x.dtype) @ x


def five(x):
    return jnp.asarray(5.0, x.dtype)


def read(y, mode, **fill):
    return jnp.sum(jnp.sin(y.at[SOME].get(mode=mode, **fill)))


def read_with_nan(y):
    found = y.at[SOME].get(mode="fill")
    return jnp.sum(jnp.where(jnp.isnan(found), jnp.ones_like(found), jnp.sin(found)))


def unknown(indices, x):
    return jnp.asarray(indices, np.int32) + jnp.asarray(x[0] > 10, np.int32)


def far(x):
    """An index that 32 bits do not hold, if there are more."""
    widest = jnp.zeros((), int).dtype
    return jnp.asarray(x[0] < 10, widest) * jnp.asarray(np.iinfo(widest).max, widest)


def weighted(y):
    return jnp.sum(jnp.sin(y) * jnp.arange(1.0, 1 + y.size, dtype=y.dtype))


AFFINE = {
    "gather_filled": lambda x: read(x * x, "fill", fill_value=5.0),
    "gather_filled_dense": lambda x: read(dense(x), "fill", fill_value=5.0),
    "gather_filled_huge": lambda x: read(dense(x), "fill", fill_value=1e12),
    "gather_filled_unknown": lambda x: weighted(
        (x * x).at[unknown(SOME, x)].get(mode="fill", fill_value=5.0)
    ),
    "gather_filled_nan": lambda x: read_with_nan(x * x),
    "gather_filled_nan_dense": lambda x: read_with_nan(dense(x)),
    "gather_clipped": lambda x: read(dense(x), "clip"),
    "pad_still": lambda x: weighted(lax.pad(x * x, five(x), [(1, -1, 1)])),
    "pad_moving": lambda x: weighted(lax.pad(x * x, x[0] * x[1], [(-1, 2, 1)])),
    "pad_dense": lambda x: weighted(lax.pad(dense(x), five(x), [(1, -2, 1)])),
    "select_still": lambda x: weighted(jnp.where(x > 0.5, x * x, five(x))),
    "update_still": lambda x: weighted(
        lax.dynamic_update_slice(dense(x), jnp.full(2, 5, x.dtype), (1,))
    ),
    "update_of_still": lambda x: weighted(
        lax.dynamic_update_slice(jnp.full(4, 5, x.dtype), x[1:] ** 2, (1,))
    ),
    "update_unknown": lambda x: weighted(
        lax.dynamic_update_slice(x * x, x[:1] * x[1], (unknown(1, x),))
    ),
    "update_far_outside": lambda x: weighted(
        lax.dynamic_update_slice(x * x, x[:1] * x[1], (far(x),))
    ),
    "slice_far_outside": lambda x: weighted(lax.dynamic_slice(x * x, (far(x),), (2,))),
    "reduce": lambda x: jnp.sin(lax.reduce(x * x, five(x), lax.add, (0,))),
    "clamp": lambda x: weighted(lax.clamp(jnp.asarray(0.3, x.dtype), x * x, five(x))),
}
SCATTERED = {
    "set": lambda x: weighted((x * x).at[1].set(x[0] * x[2])),
    "set_still": lambda x: weighted((x * x).at[1].set(5.0)),
    "set_twice": lambda x: weighted((x * x).at[TWICE].set(x**3)),
    "set_twice_unknown": lambda x: weighted((dense(x)).at[unknown(TWICE, x)].set(x**3)),
    "set_unknown": lambda x: weighted(
        (x * x).at[unknown([2, 0], x)].set(x[:2] ** 3, unique_indices=True)
    ),
    "set_outside": lambda x: weighted((dense(x)).at[OUTSIDE].set(x**3, mode="drop")),
    "set_clipped": lambda x: weighted((x * x).at[OUTSIDE[:2]].set(x[:2] ** 3, mode="clip")),
    "add": lambda x: weighted((x * x).at[1].add(x[0] * x[2])),
    "add_twice": lambda x: weighted((dense(x)).at[TWICE].add(x**3)),
    "add_outside": lambda x: weighted((x * x).at[OUTSIDE].add(x**3, mode="drop")),
    "add_clipped": lambda x: weighted((x * x).at[OUTSIDE].add(x**3, mode="clip")),
    "add_unknown": lambda x: weighted((dense(x)).at[unknown(TWICE, x)].add(x**3)),
    "subtract": lambda x: weighted((x * x).at[TWICE].subtract(x**3)),
    "multiply": lambda x: weighted((x * x).at[1:].multiply(x[:2], unique_indices=True)),
    "max": lambda x: weighted((x * x).at[TWICE].max(x**3)),
    "min": lambda x: weighted((x * x).at[OUTSIDE].min(x**3, mode="drop")),
}
KNOWN = {
    "true": lambda x: weighted(jnp.where(True, x**2, x)),
    "false": lambda x: weighted(jnp.where(False, x**2, x**3)),
    "numpy_scalar": lambda x: weighted(jnp.where(np.bool_(True), x**2, x)),
    "array": lambda x: weighted(jnp.where(np.array([True, False, True]), x**2, x**3)),
    "rows": lambda x: weighted(
        jnp.where(np.array([[True], [False]]), x[None] ** 2, x[None] ** 3).reshape(-1)
    ),
    "three": lambda x: weighted(lax.select_n(np.array([2, 0, 1]), x**2, x**3, jnp.sin(x))),
    "one_of_three": lambda x: weighted(lax.select_n(np.int32(2), x**2, x**3, jnp.sin(x))),
    "one_beyond": lambda x: weighted(lax.select_n(unknown(7, x), x**2, x**3, jnp.sin(x))),
    "one_before": lambda x: weighted(lax.select_n(np.int32(-1), x**2, x**3, jnp.sin(x))),
}
AT_EDGE = {
    "where": lambda x: jnp.sum(jnp.sin(jnp.where(x > 0, jnp.sqrt(x), 0.0))),
    "where_log": lambda x: weighted(jnp.where(x > 0, jnp.log(x), x * x)),
    "where_known": lambda x: weighted(jnp.where(np.array([False, True, True]), jnp.sqrt(x), x * x)),
    "select_three": lambda x: weighted(
        lax.select_n(
            jnp.asarray(x > 0, np.int32) + jnp.asarray(x > 1.5, np.int32), x * x, jnp.sqrt(x), 1 / x
        )
    ),
    "set": lambda x: weighted(jnp.sqrt(x).at[0].set(x[1] * x[2])),
    "set_still": lambda x: weighted(jnp.sqrt(x).at[0].set(0.5)),
    "set_unknown": lambda x: weighted(jnp.sqrt(x).at[unknown(0, x)].set(x[1])),
    "set_twice": lambda x: weighted(jnp.sqrt(x).at[TWICE[::2]].set(x[1:] ** 2)),
    "update": lambda x: weighted(lax.dynamic_update_slice(jnp.sqrt(x), x[1:2] ** 2, (0,))),
    "update_unknown": lambda x: weighted(
        lax.dynamic_update_slice(jnp.sqrt(x), x[1:2] ** 2, (unknown(0, x),))
    ),
    "slice": lambda x: weighted(jnp.sqrt(x)[1:] ** 2),
    "rows": lambda x: jnp.sum(jnp.where(SOME > 0, jnp.sqrt(x)[:, None], 1.0)[:, :1] ** 3),
    "triangle": lambda x: jnp.sum(jnp.tril(jnp.tile(jnp.sqrt(x)[::-1], (3, 1)), -1) ** 3),
    "neighbours": lambda x: weighted(jnp.where(x > 0, jnp.sqrt(x), 0.0) * jnp.roll(x, 1)),
}
GROUPS = {
    "affine": (AFFINE, X),
    "scattered": (SCATTERED, X),
    "known_conditions": (KNOWN, X),
    "at_the_edge": (AT_EDGE, AT_THE_EDGE),
}
OPERATORS = {
    "diagonal": do.Laplacian(),
    "sparse": do.Laplacian().estimate(jr.key(0), 3, probes="sparse"),
    "dense": do.SecondOrder(jnp.eye(3)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("group", GROUPS)
def test_beside_nested_jacfwd(group, dtype):
    """In double precision, in which `test_twins` has directions of each kind, each function with
    one kind of them in turn.
    """
    cases, point = GROUPS[group]
    pairs = [*itertools.product(cases, OPERATORS)]
    if dtype == "float64":
        pairs = [*zip(cases, itertools.cycle(OPERATORS), strict=False)]

    def values(x):
        found = {(name, kind): OPERATORS[kind].exact(cases[name])(x) for name, kind in pairs}
        return found, {n: jnp.trace(jax.jacfwd(jax.jacfwd(u))(x)) for n, u in cases.items()}

    with jax.enable_x64(dtype == "float64"):
        found, expected = jax.jit(values)(jnp.asarray(point, dtype))
    scale = float(jnp.finfo(dtype).eps)
    for (name, kind), value in found.items():
        assert value.dtype == dtype
        message = f"{name}, {kind}"
        np.testing.assert_allclose(value, expected[name], 200 * scale, 200 * scale, True, message)


@pytest.mark.parametrize("function", [jnp.exp, lambda x: x * x])
def test_a_scatter_that_applies_a_function_is_refused(function):
    def u(x):
        return x.at[0].apply(function)[0]

    with pytest.raises(
        do.taylor.UnsupportedPrimitiveError,
        match=r"primitive 'scatter' \(.*test_linear_parts\.py:\d+.*scatter_apply",
    ):
        do.Laplacian().exact(u)(jnp.ones(3))


def _primitive(name, function):
    new = jex.Primitive(name)
    new.def_impl(function)
    new.def_abstract_eval(lambda x, *_: x)
    mlir.register_lowering(new, mlir.lower_fun(function, multiple_results=False))
    batching.defbroadcasting(new)
    do.taylor.register(new, "linear")
    return new


weigh = _primitive("linear_in_the_first", lambda x, scale: x * scale)
ad.defjvp(weigh, lambda t, x, scale: weigh.bind(t, scale), None)
shift = _primitive("linear_in_both", lambda x, other: x + other)
ad.deflinear2(shift, lambda cotangent, x, other: [cotangent, cotangent])
silent = _primitive("linear_in_silence", lambda x, other: x + other)


@pytest.mark.parametrize("still", [2.0, 1e12])
def test_a_declared_primitive_beside_operands_that_stand_still(still):
    x = jnp.array(X)
    other = jnp.full(3, still)
    value = do.Laplacian().exact(lambda x: jnp.sum(weigh.bind(x**2, other)))(x)
    np.testing.assert_allclose(value, 6 * still, rtol=1e-6)
    value = do.Laplacian().exact(lambda x: jnp.sum(shift.bind(x**2, other)))(x)
    np.testing.assert_allclose(value, 6, rtol=1e-6)


def test_a_declared_primitive_has_to_say_what_still_operands_do():
    with pytest.raises(do.taylor.UnsupportedPrimitiveError, match="linear_in_silence"):
        do.Laplacian().exact(lambda x: jnp.sum(silent.bind(x**2, jnp.ones(3))))(jnp.array(X))
