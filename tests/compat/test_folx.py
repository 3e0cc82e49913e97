"""`diffop.compat.folx` beside nested differentiation, and beside folx itself where it is."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.compat import folx

from .functions import FUNCTIONS, SHAPE, electrons, mlp, nested, slater

pytestmark = pytest.mark.usefixtures("x64", "promotion")

close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("folx", reason="folx is not installed: diffop-jax[folx]")


def parts(result):
    return result.x, result.jacobian.dense_array, result.laplacian


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_nested_differentiation(name):
    x = electrons()
    found = parts(folx.forward_laplacian(FUNCTIONS[name])(x))
    for ours, expected in zip(found, jax.jit(nested, static_argnums=0)(FUNCTIONS[name], x)):
        assert ours.dtype == expected.dtype
        close(ours, expected)


@pytest.mark.parametrize(
    "name, threshold", [*((name, 0) for name in FUNCTIONS), ("slater", 0.6), ("slater", 6)]
)
def test_is_folx(theirs, name, threshold):
    x = electrons()
    ours = folx.forward_laplacian(FUNCTIONS[name], threshold)(x)
    other = theirs.forward_laplacian(FUNCTIONS[name], threshold)(x)
    for mine, expected in zip(parts(ours), parts(other), strict=True):
        assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
        close(mine, expected)


ATTRIBUTES = (
    *("shape", "ndim", "size", "dtype", "dense_jacobian", "is_jacobian_weak", "jacobian_mask"),
    *("jacobian.data", "jacobian.dense_or_sparse", "jacobian.x0_idx", "jacobian.weak"),
    *("jacobian.unique_idx", "jacobian.max_n", "jacobian.mask", "jacobian.data_shape"),
    *("jacobian.ndim", "jacobian.as_dense.data", "dense.laplacian"),
    *("real.laplacian", "imag.jacobian.data", "jacobian.real.data", "jacobian.imag.data"),
)


def test_attributes_are_those_of_folx(theirs):
    x = electrons()
    ours, other = (p.forward_laplacian(FUNCTIONS["wave"])(x) for p in (folx, theirs))
    for name in ATTRIBUTES:
        mine, expected = (functools.reduce(getattr, name.split("."), r) for r in (ours, other))
        if expected is None or isinstance(expected, tuple | int | bool | np.dtype):
            assert mine == expected, name
        else:
            close(mine, expected, err_msg=name)
    close(ours.conj().laplacian, other.conj().laplacian)
    close((ours.jacobian + ours.jacobian).data, (other.jacobian + other.jacobian).data)
    assert ours.astype(jnp.complex64).jacobian.data.dtype == jnp.complex64
    assert ours.real.astype(int).dtype == int
    close(type(ours.jacobian).from_dense(ours.jacobian.data).data, other.jacobian.data)


def test_several_arguments_and_pytrees(theirs):
    x = electrons()
    args = {"up": x[:2], "down": x[2:]}, jnp.arange(2.0)

    def f(tree, y):
        total = mlp(jnp.concatenate([tree["down"], tree["up"]])) * jnp.sum(y**2)
        return {"total": total, "parts": [jnp.sin(tree["up"]), y**3]}

    ours, other = (p.forward_laplacian(f)(*args) for p in (folx, theirs))
    assert jax.tree.structure(ours, is_leaf=lambda n: hasattr(n, "jacobian")) == jax.tree.structure(
        jax.eval_shape(f, *args)
    )
    jax.tree.map(close, jax.tree.leaves(ours), jax.tree.leaves(other))
    assert ours["total"].jacobian.data.shape == (14,)


def test_what_does_not_depend_on_the_arguments_is_an_array(theirs):
    def f(x):
        return {
            "count": jnp.argmax(x),
            "above": x > 0.5,
            "sign": jnp.sign(x),
            "floor": jnp.floor(x),
            "stopped": 2 * jax.lax.stop_gradient(x),
            "known": jnp.ones(3),
            "square": x**2,
        }

    x = electrons()[0]
    ours, other = (p.forward_laplacian(f)(x) for p in (folx, theirs))
    for name, expected in other.items():
        assert isinstance(ours[name], jax.Array) == isinstance(expected, jax.Array), name
        assert ours[name].dtype == expected.dtype, name
    jax.tree.map(close, jax.tree.leaves(ours), jax.tree.leaves(other))


ROW = np.arange(3.0)
WEIGHTS = [
    (2.0, (2, 2, 2)),
    ((2.0, 3.0), (2, 2, 3)),
    (((2.0, 5.0), 3.0), (2, 5, 3)),
    ((2.0, 5.0, 3.0), (2, 5, 3)),
    (((ROW, 5.0), ROW[1:]), (ROW, 5, ROW[1:])),
]


def test_weights_in_lists():
    """A list of weights stands for a list of arguments, and is no weight of several arrays."""
    x, (y, z) = jnp.arange(3.0), (jnp.ones(2), jnp.arange(1.0, 3.0))
    f = lambda tree: jnp.sum(tree[0] ** 3) * jnp.sum(tree[1][0] ** 2) + jnp.sum(tree[1][1] ** 4)
    scaled = lambda flat: f([x + 2 * flat[:3], (y + 5 * flat[3:5], z + 5 * flat[5:])])
    result = folx.forward_laplacian(f)([x, (y, z)], weights=([2.0, 5.0],))
    for ours, expected in zip(parts(result), nested(scaled, jnp.zeros(7)), strict=True):
        close(ours, expected)


@pytest.mark.parametrize("weights, each", WEIGHTS)
def test_weights_scale_the_coordinates(weights, each):
    x, y, z = jnp.arange(3.0), jnp.ones(2), jnp.arange(1.0, 3.0)
    f = lambda pair, z: jnp.sum(pair[0] ** 3) * jnp.sum(pair[1] ** 2) + jnp.sum(z**4)
    scaled = lambda flat: f(
        (x + each[0] * flat[:3], y + each[1] * flat[3:5]), z + each[2] * flat[5:]
    )
    result = folx.forward_laplacian(f)((x, y), z, weights=weights)
    for ours, expected in zip(parts(result), nested(scaled, jnp.zeros(7)), strict=True):
        close(ours, expected)


def test_weights_are_those_of_folx(theirs):
    x, y = jnp.arange(3.0), jnp.arange(1.0, 3.0)
    f = lambda x, y: jnp.sum(x**3) * jnp.sum(y**2)
    for weights in (2.0, (2.0, 3.0), (x, 3.0)):
        ours, other = (p.forward_laplacian(f)(x, y, weights=weights) for p in (folx, theirs))
        jax.tree.map(close, parts(ours), parts(other))


def test_results_are_arguments(theirs):
    x = electrons()
    inner, outer = (lambda x: jnp.sin(x) * jnp.sum(x)), (lambda y, c: mlp(y) * jnp.sum(c**2))
    whole = folx.forward_laplacian(lambda x: outer(inner(x), jnp.arange(3.0)))(x)
    for package in (folx, theirs):
        halfway = package.forward_laplacian(inner)(x)
        result = package.forward_laplacian(outer)(halfway, jnp.arange(3.0))
        jax.tree.map(close, parts(result), parts(whole))


def test_mixed_types_integers_and_keywords():
    x, y = electrons()[0], jnp.arange(1, 3, dtype=jnp.float32)
    f = lambda n, x, y, scale: (x[n] ** 2 * scale, jnp.sum(y**3), jnp.sum(x) * jnp.sum(y) * scale)
    first, second, third = folx.forward_laplacian(f)(jnp.array(1), x, y, scale=2.0)
    close(first.jacobian.data, [0, 4 * x[1], 0, 0, 0])
    close(first.laplacian, 4.0)
    assert {second.dtype, second.jacobian.data.dtype, second.laplacian.dtype} == {y.dtype}
    close(second.jacobian.data, [0, 0, 0, 3, 12])
    close(second.laplacian, 18)
    close(third.jacobian.data, [*[6] * 3, *[2 * jnp.sum(x)] * 2])
    assert third.dtype == x.dtype


def test_complex_arguments(theirs):
    """Of functions that are holomorphic, and of those that are not."""
    z = electrons() + 1j * jnp.arange(3.0)
    for f in (lambda z: jnp.sum(jnp.sin(z) * z[0]), lambda z: jnp.sum(z.real**3 * z.imag)):
        ours, other = (p.forward_laplacian(f)(z) for p in (folx, theirs))
        real = nested(lambda x, f=f: f(x + 1j * z.imag), z.real)
        for mine, expected, exact in zip(parts(ours), parts(other), real, strict=True):
            assert mine.dtype == expected.dtype
            close(mine, expected)
            close(mine, exact)


def test_of_one_another_and_of_operators():
    x, f = jnp.arange(1.0, 4.0), lambda x: jnp.sum(x**4) * x[0]
    laplacian = lambda x: folx.forward_laplacian(f)(x).laplacian
    expected = do.Biharmonic().exact(f)(x)
    close(do.Laplacian().exact(laplacian)(x), expected)
    close(folx.forward_laplacian(laplacian)(x).laplacian, expected)
    _, gradient, fourth = nested(lambda x: nested(f, x)[2], x)
    close(expected, fourth)
    close(folx.forward_laplacian(laplacian)(x).jacobian.dense_array, gradient)


def test_loops_and_branches():
    def f(x):
        x = jax.lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * c[::-1], x)
        return jax.lax.cond(x[0] > 0, jnp.tanh, jnp.cos, x)

    x = electrons()[0]
    for ours, expected in zip(parts(folx.forward_laplacian(f)(x)), nested(f, x), strict=True):
        close(ours, expected)


def test_is_compiled_unless_it_is_not_wanted():
    assert folx.forward_laplacian(mlp).lower(electrons()).as_text()
    assert not hasattr(folx.forward_laplacian(mlp, disable_jit=True), "lower")
    assert folx.forward_laplacian(jnp.square, disable_jit=True)(3.0).laplacian == 2


def test_under_transformations():
    xs = jax.random.normal(jax.random.key(0), (5, *SHAPE), float)
    forward = folx.forward_laplacian(slater, disable_jit=True)

    def energy(x, result=forward):
        found = result(x)
        return -0.5 * (found.laplacian + jnp.sum(found.jacobian.dense_array**2))

    def expected(x):
        _, first, second = nested(slater, x)
        return -0.5 * (second + jnp.sum(first**2))

    close(jax.jit(jax.vmap(energy))(xs), jax.jit(jax.vmap(expected))(xs))
    close(jax.jit(jax.grad(energy))(xs[0]), jax.jit(jax.grad(expected))(xs[0]))


def test_parameters_can_be_learnt():
    x = electrons()
    f = lambda scale, x: mlp(scale * x)
    ours = lambda s: folx.forward_laplacian(functools.partial(f, s))(x).laplacian
    expected = lambda s: nested(functools.partial(f, s), x)[2]
    close(jax.jit(jax.grad(ours))(0.7), jax.jit(jax.grad(expected))(0.7))


OPERATORS = {
    "ForwardLaplacianOperator": (0,),
    "LoopLaplacianOperator": (),
    "ParallelLaplacianOperator": (),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_those_of_folx(theirs, name):
    x = electrons()
    x, f = (x.reshape(-1), lambda y: mlp(y)) if name.startswith("Parallel") else (x, mlp)
    ours, other = (getattr(p, name)(*OPERATORS[name])(f)(x) for p in (folx, theirs))
    for mine, expected in zip(ours, other, strict=True):
        assert mine.shape == expected.shape
        close(mine, expected)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_sum_to_the_laplacian(name):
    x = electrons().reshape(-1)
    second, first = getattr(folx, name)(*OPERATORS[name])(mlp)(x)
    _, jacobian, laplacian = jax.jit(nested, static_argnums=0)(mlp, x)
    close(jnp.sum(second), laplacian)
    close(first, jacobian)


def test_derivatives_of_real_arrays_are_real():
    x = jnp.ones(3)
    complex_ones = folx.api.FwdLaplArray(x, folx.api.FwdJacobian(1j * jnp.eye(3)), jnp.zeros(3))
    for act in (
        lambda: folx.forward_laplacian(jnp.sum)(x, weights=1j),
        lambda: folx.forward_laplacian(jnp.sum)(complex_ones),
    ):
        with pytest.raises(ValueError, match="type float64 must be real; got type complex"):
            act()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_what_does_not_depend_on_x(name):
    operator = getattr(folx, name)(*OPERATORS[name])
    found, like = (operator(f)(jnp.ones(5)) for f in (lambda x: jnp.float64(2.0), jnp.sum))
    for zeros, other in zip(found, like, strict=True):
        assert (zeros.shape, zeros.dtype) == (other.shape, other.dtype)
        assert not jnp.any(zeros)


def test_the_loop_holds_one_direction():
    x = jnp.ones(50)
    program = jax.make_jaxpr(folx.LoopLaplacianOperator()(mlp))(x)
    assert "scan" in str(program) and "f64[50,50]" not in str(program)


BATCHES = [
    (dict(), ((10, 2), (10,)), None),
    (dict(in_axes=(1, None)), ((2, 10), (2,)), None),
    (dict(in_axes=[None, 0]), ((2,), (10,)), None),
    (dict(in_axes=(0, 0), out_axes=(0, 1)), ((10, 2), (10,)), "pair"),
]


@pytest.mark.parametrize("size", [1, 3, 5, 10, 20])
@pytest.mark.parametrize("axes, shapes, pair", BATCHES)
def test_batches_are_jax_vmap(axes, shapes, pair, size):
    args = [jax.random.normal(jax.random.key(i), s, float) for i, s in enumerate(shapes)]

    def f(x, y, scale=1.0):
        found = jnp.outer(jnp.sin(x), jnp.atleast_1d(y)) * scale
        return (jnp.sum(found), found) if pair else {"a": found}

    axes_in = tuple(axes.get("in_axes", (0, 0)))
    out = axes.get("out_axes", 0)
    expected = jax.vmap(functools.partial(f, scale=2.0), axes_in, out)(*args)
    found = folx.batched_vmap(f, size, **axes)(*args, scale=2.0)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(close, found, expected)


def test_batches_of_results(theirs):
    xs = jax.random.normal(jax.random.key(0), (7, *SHAPE), float)
    ours, other = (p.batched_vmap(p.forward_laplacian(mlp), 3)(xs) for p in (folx, theirs))
    jax.tree.map(close, parts(ours), parts(other))


def test_errors(as_users_see_it):
    x = jnp.ones(3)
    f = lambda *xs: sum(jnp.sum(x) for x in xs)
    with pytest.raises(TypeError, match="takes a function; got ArrayImpl. Its arguments come af"):
        folx.forward_laplacian(x)
    with pytest.raises(TypeError, match="floating arrays, and there is none .* got int64. Convert"):
        folx.forward_laplacian(f)(jnp.arange(3))
    with pytest.raises(TypeError, match="positional arguments; got no arguments"):
        folx.forward_laplacian(f)()
    with pytest.raises(ValueError, match="weights must be one number, or a tuple with one entry"):
        folx.forward_laplacian(f)(x, x, weights=(1.0, 2.0, 3.0))
    one = folx.forward_laplacian(lambda x: x)(x)
    with pytest.raises(
        ValueError, match="are dense .* no attribute 'sparse'; read 'dense_or_spars"
    ):
        one.sparse_jacobian
    with pytest.raises(ValueError, match="max_batch_size must be at least 1; got 0"):
        folx.batched_vmap(f, 0)
    with pytest.raises(ValueError, match="an axis of points into each output; got None in out_axe"):
        folx.batched_vmap(f, 2, out_axes=None)(x)
    with pytest.raises(ValueError, match="vmap"):
        folx.batched_vmap(f, 2, in_axes=(0, 0))(x, jnp.ones(4))
