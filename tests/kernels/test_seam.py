"""Calls, and what kernels make of them, beside their plain meaning under every transformation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop import kernels
from diffop.kernels import seam

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
POINTS, K, H = 5, 4, 6
NO_WORDS = {"precision": None, "preferred_element_type": None}


def rows_dot(rows, matrix, *, axis, **params):
    return jax.lax.dot_general(rows, matrix, (((rows.ndim - 1,), (axis,)), ((), ())), **params)


def weighted_dot(numbers, rows, matrix, **params):
    return rows_dot(numbers[None] * rows, matrix, **params)


def quadratic(any_matrix, *factors):
    """Of its symmetric part, and so a function of all of it."""
    return kernels.call("quadratic form", form, any_matrix + any_matrix.T, *factors)


def form(matrix, *factors):
    array = factors[0] if len(factors) == 1 else factors[0][:, None] * factors[1]
    return jnp.einsum("ij,i...,j...->...", matrix, array, array)


def network(*weights_and_point):
    *weights, x = weights_and_point
    for matrix in weights:
        x = jnp.tanh(matrix @ x)
    return jnp.sum(x)


def pushed(*weights_and_point):
    """An operator, all of whose points may go through in parts."""
    *weights, x = weights_and_point
    return do.Laplacian().exact(functools.partial(network, *weights))(x)


def called(name, function, **static):
    return lambda *operands: kernels.call(name, function, *operands, **static)


# What is called, its operands at one point, and which of them differ from point to point.
CALLS = {
    "rows": (called("rows", rows_dot, axis=0, **NO_WORDS), [(3, K), (K, H)], (0, None)),
    "rows, turned": (called("rows", rows_dot, axis=1, **NO_WORDS), [(3, K), (H, K)], (0, None)),
    "rows, each its matrix": (
        called("rows", rows_dot, axis=0, **NO_WORDS),
        [(3, K), (K, H)],
        (None, 0),
    ),
    "weighted rows": (
        called("weighted rows", weighted_dot, axis=0, **NO_WORDS),
        [(K,), (3, K), (K, H)],
        (0, None, None),
    ),
    "weighted rows, each its own": (
        called("weighted rows", weighted_dot, axis=1, **NO_WORDS),
        [(K,), (3, K), (H, K)],
        (0, 0, None),
    ),
    "scaled rows": (called("scaled rows", lambda n, m: n[:, None] * m), [(K,), (K, H)], (0, None)),
    "quadratic form": (quadratic, [(K, K), (K, H)], (None, 0)),
    "quadratic form of a product": (quadratic, [(K, K), (K,), (K, H)], (None, 0, None)),
    "quadratic form, each its matrix": (quadratic, [(K, K), (K, H)], (0, 0)),
    "parts": (pushed, [(H, K), (3, H), (K,)], (None, None, 0)),
    "symmetric product": (called("symmetric product", lambda a: a @ a.T), [(K, H)], (0,)),
}


def scalar(f):
    return lambda *xs: jnp.sum(jnp.sin(f(*xs)))


def gradient(f, count):
    return jax.grad(scalar(f), argnums=tuple(range(count)))


# f at one point, f at all of them, how many operands it has; and the operands at all points.
ORDERS = {
    "vmap": lambda f, mapped, n: mapped(f),
    "grad of vmap": lambda f, mapped, n: gradient(mapped(f), n),
    "vmap of grad": lambda f, mapped, n: mapped(gradient(f, n)),
    "grad of checkpoint": lambda f, mapped, n: gradient(jax.checkpoint(mapped(f)), n),
    "jvp of vmap": lambda f, mapped, n: lambda *xs: jax.jvp(mapped(f), xs, xs),
    "vmap of jvp": lambda f, mapped, n: mapped(lambda *xs: jax.jvp(f, xs, xs)),
    "linearize": lambda f, mapped, n: lambda *xs: jax.linearize(mapped(f), *xs)[1](*xs),
    "jvp of grad": lambda f, mapped, n: lambda *xs: jax.jvp(gradient(mapped(f), n), xs, xs),
    "grad of grad": lambda f, mapped, n: gradient(
        lambda *xs: sum(jnp.sum(g**2) for g in gradient(mapped(f), n)(*xs)), n
    ),
}


def operands_of(name):
    _, shapes, axes = CALLS[name]
    pairs = zip(shapes, axes, strict=True)
    sizes = [shape if axis is None else (POINTS, *shape) for shape, axis in pairs]
    return [jnp.asarray(RNG.normal(size=size)) / 2 for size in sizes]


def with_kernels_and_without(function, *operands):
    got = jax.jit(lambda *xs: function(*xs))(*operands)
    with kernels.plain():
        return got, jax.jit(lambda *xs: function(*xs))(*operands)


def check_agree(got, want):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * max(1, np.max(np.abs(b))))


def agree(function, *operands):
    check_agree(*with_kernels_and_without(function, *operands))


@functools.cache
def in_every_order(name):
    """Two programs."""
    f, shapes, axes = CALLS[name]
    mapped = functools.partial(jax.vmap, in_axes=axes)
    every = {order: made(f, mapped, len(shapes)) for order, made in ORDERS.items()}
    return with_kernels_and_without(
        lambda *xs: {order: function(*xs) for order, function in every.items()}, *operands_of(name)
    )


@pytest.mark.usefixtures("kernels_everywhere")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CALLS)
def test_orders_of_transformations(name, order):
    check_agree(*(values[order] for values in in_every_order(name)))


@pytest.mark.usefixtures("kernels_everywhere")
@pytest.mark.parametrize("name", CALLS)
def test_points_within_points_and_in_loops(name):
    f, _, axes = CALLS[name]
    operands = operands_of(name)
    shift = [1.0 if axis is not None else 0.0 for axis in axes]

    def at_shifted(amount):
        return jax.vmap(f, axes)(*(x + amount * s for x, s in zip(operands, shift, strict=True)))

    ways = [
        jax.vmap(at_shifted),
        jax.grad(lambda xs: jnp.sum(jax.vmap(at_shifted)(xs) ** 2)),
        lambda xs: jax.lax.scan(lambda c, x: (c, at_shifted(x)), 0, xs)[1],
    ]
    agree(lambda xs: [way(xs) for way in ways], jnp.asarray([0.0, 0.1]))


@pytest.mark.usefixtures("kernels_everywhere")
@pytest.mark.parametrize("name", CALLS)
def test_one_point_and_outside_of_jit(name):
    f, _, axes = CALLS[name]
    first = [x if axis is None else x[0] for x, axis in zip(operands_of(name), axes, strict=True)]
    with kernels.plain():
        want = f(*first)
    np.testing.assert_allclose(f(*first), want, rtol=1e-12, atol=1e-12)


def test_every_kernel_is_tried():
    """Those that are no equations of their own have tests by themselves."""
    own = {name for name, kernel in seam._KERNELS.items() if kernel.instead is None}
    assert own <= {name.split(",")[0].split(" of ")[0] for name in CALLS}


def test_plain_is_part_of_what_programs_are_kept_by():
    """One jitted function, inside and outside, and after it has been called on either side."""
    function = jax.jit(jax.vmap(pushed, (None, None, 0)))
    operands = operands_of("parts")
    for _ in range(2):
        with kernels.plain():
            inside = jax.make_jaxpr(function)(*operands)
        with kernels.plain("rows"):
            without_rows = jax.make_jaxpr(function)(*operands)
        outside = jax.make_jaxpr(function)(*operands)
        names = [
            {eqn.params["kernel"] for eqn in called_in(each)}
            for each in (inside, without_rows, outside)
        ]
        assert names[0] == set() and "rows" not in names[1] and "rows" in names[2]


def called_in(jaxpr):
    """The calls of kernels in a program."""
    found = []
    for eqn in jaxpr.jaxpr.eqns if hasattr(jaxpr, "jaxpr") else jaxpr.eqns:
        if eqn.primitive.name == "kernel":
            found.append(eqn)
        for value in eqn.params.values():
            if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                found.extend(called_in(value))
    return found


def test_plain_within_plain(monkeypatch):
    """Names that are switched off add up, and all of them stay all."""
    for name in ("first", "second"):
        monkeypatch.setitem(seam._KERNELS, name, seam.Kernel(instead=lambda _: "kernel"))

    def called():
        return [seam.call(name, lambda: "plain") for name in ("first", "second")]

    with kernels.plain("first"):
        assert called() == ["plain", "kernel"]
        with kernels.plain("second"):
            assert called() == ["plain", "plain"]
        assert called() == ["plain", "kernel"]
    with kernels.plain(), kernels.plain("first"):
        assert called() == ["plain", "plain"]
    assert called() == ["kernel", "kernel"]


def test_functions_with_effects_are_called_as_they_are():
    heard = []

    def f(rows, matrix, **_):
        jax.debug.callback(lambda x: heard.append(float(x)), rows[0, 0])
        return rows @ matrix

    jax.jit(lambda *xs: kernels.call("rows", f, *xs))(jnp.full((2, 3), 7.0), jnp.ones((3, 2)))
    jax.effects_barrier()
    assert heard == [7.0]


def test_functions_that_name_axes_are_called_as_they_are():
    def f(rows, matrix, **_):
        return jax.lax.psum(rows, "points") @ matrix

    rows, matrix = jnp.asarray(RNG.normal(size=(POINTS, 2, 3))), jnp.ones((3, 2))
    got = jax.vmap(lambda r: kernels.call("rows", f, r, matrix), axis_name="points")(rows)
    np.testing.assert_allclose(got[0], np.sum(rows, axis=0) @ matrix, rtol=1e-12)


def test_what_a_function_refers_to_is_differentiated():
    """Its constants are operands of the call."""
    matrix, rows = jnp.asarray(RNG.normal(size=(3, 2))), jnp.asarray(RNG.normal(size=(POINTS, 3)))

    def loss(matrix):
        def f(x):
            return jnp.tanh(x @ matrix)

        return jnp.sum(jax.vmap(lambda x: kernels.call("scaled rows", f, x))(rows))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(seam._KERNELS, "scaled rows", seam.Kernel())
        got = jax.grad(loss)(matrix)
    np.testing.assert_allclose(got, jax.grad(lambda m: jnp.sum(jnp.tanh(rows @ m)))(matrix))


def test_a_name_without_a_kernel_is_the_function():
    eqns = jaxprs.of(lambda x: kernels.call("nobody's", jnp.sin, x), 1.0)
    assert [eqn.primitive.name for eqn in eqns] == ["sin"]
