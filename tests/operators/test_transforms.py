"""Every operator × {one point, jit, vmap, grad, jvp} against the oracle, gradients in both
precisions.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec as P

import diffop as do

from .. import functions, oracle
from ..functions import DTYPES, TOLERANCE, expected_values, relative_error, weigh
from . import table

pytestmark = pytest.mark.usefixtures("x64")

NAMED = {f.name: f for f in functions.SCALAR}


PAIRS = [
    *((case, functions.SHALLOW) for case in table.operators() + table.gradients()),
    *((case, functions.SPACE_AND_TIME) for case in table.space_time()),
    *((case, functions.FIELD) for case in table.fields()),
]
"""Each operator on a function; those of other arguments or fields on a function for them."""
crossed = pytest.mark.parametrize(
    "case, function", [pytest.param(case, f, id=f"{f}-{case}") for case, f in PAIRS]
)


def cases_of(function):
    return tuple(case for case, other in PAIRS if other is function)


precisions = pytest.mark.parametrize("dtype", ["float32", "float64"])


def tangent_like(tree):
    return jax.tree.map(lambda x: jnp.sin(jnp.arange(1.0, x.size + 1)).reshape(x.shape), tree)


@functools.cache
def parameter_jacobian(function, dtype):
    """The derivatives of [u, Du, …, D⁴u] with respect to all parameters, in a last axis."""
    parameters, static = eqx.partition(oracle.to64(function.model(dtype)), eqx.is_inexact_array)
    flat, unravel = ravel_pytree(parameters)
    points = oracle.to64(function.points(dtype))

    def at_point(flat, *args):
        model = eqx.combine(unravel(flat), static)
        return oracle.derivatives(model, args, functions.ORDER, function.argnums)

    in_axes = (None,) + (0,) * len(points)
    return jax.jit(jax.vmap(jax.jacfwd(at_point), in_axes))(flat, *points)


@functools.cache
def tangents_of_derivatives(function, dtype):
    """d/dε of [u, Du, …, D⁴u] when parameters and point both move."""
    parameters, static = eqx.partition(oracle.to64(function.model(dtype)), eqx.is_inexact_array)
    points = oracle.to64(function.points(dtype))

    def all_points(parameters, points):
        model = eqx.combine(parameters, static)
        return jax.vmap(
            lambda *args: oracle.derivatives(model, args, functions.ORDER, function.argnums)
        )(*points)

    primals = (parameters, points)
    return jax.jit(lambda *p: jax.jvp(all_points, p, tangent_like(p))[1])(*primals)


@functools.cache
def values(function, dtype):
    """What every operator makes of a function at all points, and at two by themselves: one program,
    for which the two are traced once.
    """
    cases = cases_of(function)
    each = [jax.tree.map(lambda x: x[i], function.points(dtype)) for i in (0, 3)]

    def of(operator, model):
        alone = jax.jit(operator.exact(model))
        together = jax.vmap(operator.exact(model))(*function.points(dtype))
        return together, [alone(*point) for point in each]

    @eqx.filter_jit
    def all_of_them(operators, model):
        return {name: of(operator, model) for name, operator in operators.items()}

    return all_of_them({c.name: c.operator(dtype) for c in cases}, function.model(dtype))


@crossed
def test_operators_are_arguments_of_jit(case, function, kept, dtype="float64"):
    """At all points and at one by itself."""
    got, each = values(function, dtype)[case.name]
    expected = kept(lambda: expected_values(cases_of(function), function, dtype)[case.name])
    assert relative_error(got, expected) <= TOLERANCE[dtype]
    for i, alone in zip((0, 3), each, strict=True):
        assert alone.shape == expected[i].shape
        scale = np.sqrt(np.mean(expected**2))
        assert np.max(np.abs(alone - expected[i])) <= TOLERANCE[dtype] * scale


@functools.cache
def gradients(function, dtype):
    """By the parameters, of a loss of what every operator makes of a function: one program."""
    points = function.points(dtype)

    def gradient(case, model):
        loss = lambda model: weigh(jax.vmap(case.operator(dtype).exact(model))(*points))
        return ravel_pytree(eqx.filter_grad(loss)(model))[0]

    cases = cases_of(function)
    all_of_them = eqx.filter_jit(lambda model: {each.name: gradient(each, model) for each in cases})
    return all_of_them(function.model(dtype))


@functools.cache
def expected_gradients(function, dtype):
    D, points = function.derivatives(dtype), oracle.to64(function.points(dtype))

    def gradient(case, D, jacobian):
        of_derivatives = jax.grad(lambda D: weigh(jax.vmap(case.oracle.value)(D, points)))(D)
        pairs = zip(of_derivatives, jacobian, strict=True)
        return sum(jnp.tensordot(g, J, axes=g.ndim) for g, J in pairs)

    every = lambda *args: {case.name: gradient(case, *args) for case in cases_of(function)}
    return jax.jit(every)(D, parameter_jacobian(function, dtype))


@precisions
@crossed
def test_grad_through_parameters(case, function, dtype, kept):
    got = gradients(function, dtype)[case.name]
    assert got.dtype == DTYPES[dtype]
    expected = kept(lambda: expected_gradients(function, dtype)[case.name])
    assert relative_error(got, expected) <= TOLERANCE[dtype]


@functools.cache
def directional(function, dtype):
    """Along a tangent of parameters and points, what every operator makes of a function."""
    parameters, static = eqx.partition(function.model(dtype), eqx.is_inexact_array)
    primals = (parameters, function.points(dtype))
    tangents = jax.tree.map(lambda x: x.astype(DTYPES[dtype]), tangent_like(primals))

    def values(parameters, points):
        model, cases = eqx.combine(parameters, static), cases_of(function)
        return {c.name: jax.vmap(c.operator(dtype).exact(model))(*points) for c in cases}

    return jax.jit(lambda *pairs: jax.jvp(values, *pairs)[1])(primals, tangents)


@functools.cache
def expected_tangents(function, dtype):
    D, points = function.derivatives(dtype), oracle.to64(function.points(dtype))
    D_dot = tangents_of_derivatives(function, dtype)

    def every(D, args):
        return {case.name: case.oracle.value(D, args) for case in cases_of(function)}

    tangents = D_dot, tangent_like(points)
    return jax.jit(lambda *pairs: jax.jvp(jax.vmap(every), *pairs)[1])((D, points), tangents)


@crossed
def test_jvp_in_parameters_and_point(case, function, kept, dtype="float64"):
    got = directional(function, dtype)[case.name]
    expected = kept(lambda: expected_tangents(function, dtype)[case.name])
    assert relative_error(got, expected) <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_the_gradient_through_the_point(dtype):
    """Reverse over the operator with respect to x: ∇Δu, by the oracle a third derivative."""
    function = NAMED["tanh"]
    slope = jax.grad(do.Laplacian().exact(function.model(dtype)))
    got = jax.jit(jax.vmap(slope))(*function.points(dtype))
    expected = jnp.einsum("...iij->...j", function.derivatives(dtype)[3])
    assert relative_error(got, expected) <= TOLERANCE[dtype]


def test_checkpoint_and_scan_over_points():
    function = NAMED["silu"]
    model, (points,) = function.model("float64"), function.points("float64")
    apply = jax.checkpoint(do.Laplacian().exact(model))
    _, got = jax.lax.scan(lambda carry, x: (carry, apply(x)), None, points)
    expected = jnp.trace(function.derivatives("float64")[2], axis1=-2, axis2=-1)
    assert relative_error(got, expected) <= TOLERANCE["float64"]


def test_vmap_over_an_ensemble_of_models():
    function = NAMED["tanh"]
    _, (points,) = function.model("float64"), function.points("float64")
    build = lambda key: eqx.nn.MLP(3, "scalar", 8, 2, jnp.tanh, key=key)
    keys = jax.random.split(jax.random.key(3), 4)
    ensemble = eqx.filter_vmap(build)(keys)
    apply = lambda model: jax.vmap(do.Laplacian().exact(model))(points)
    got = eqx.filter_jit(eqx.filter_vmap(apply))(ensemble)
    nested = lambda key: jax.vmap(oracle.laplacian(3)(build(key)))(points)
    expected = jax.jit(jax.vmap(nested))(keys)
    assert relative_error(got, expected) <= TOLERANCE["float64"]


def test_operators_nest():
    """An operator applied to an operator's result: Δ(Δu) is the biharmonic."""
    function = NAMED["tanh"]
    model, (points,) = function.model("float64"), function.points("float64")
    L = do.Laplacian()
    got = jax.jit(jax.vmap(L.exact(L.exact(model))))(points)
    expected = jnp.einsum("...iijj->...", function.derivatives("float64")[4])
    assert relative_error(got, expected) <= TOLERANCE["float64"]


def test_shard_map_over_points():
    """Points on several devices, parameters on all: coefficients vary less than their primals."""
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    d = 23
    net = eqx.nn.MLP(d, "scalar", 5, depth=2, activation=jnp.tanh, key=jax.random.key(0))
    parameters, static = eqx.partition(net, eqx.is_inexact_array)
    points = jax.random.normal(jax.random.key(1), (2, d)) / 5
    ops = {
        "exact": do.Laplacian(),
        "third": do.DiagonalK(3),
        "estimate": do.Laplacian().estimate(jax.random.key(0), 4),
        "parabolic": do.ParabolicTrace(lambda x: 1 + x),
    }

    def values(parameters, points):
        net = eqx.combine(parameters, static)
        u = lambda x: (1 - jnp.sum(x**2)) * net(x) * jnp.sum(x[1:] * x[:-1])
        return jax.vmap(do.exact(ops)(u))(points)

    def loss(parameters, points):
        squares = [jnp.sum(v**2) for v in jax.tree.leaves(values(parameters, points))]
        return jax.lax.psum(sum(squares), "i")

    over_points = P("i")
    sharded = jax.shard_map(values, mesh=mesh, in_specs=(P(), over_points), out_specs=over_points)
    total = jax.shard_map(loss, mesh=mesh, in_specs=(P(), over_points), out_specs=P())
    got = jax.jit(sharded)(parameters, points)
    expected = jax.jit(values)(parameters, points)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    gradient = jax.jit(jax.grad(total))(parameters, points)
    squares = lambda p: sum(jnp.sum(v**2) for v in jax.tree.leaves(values(p, points)))
    plain = jax.jit(jax.grad(squares))(parameters)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
