"""Programs for `jax.export`: for any number of points, and for devices that this machine lacks."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import export

import diffop as do

from .. import functions, nested
from ..functions import TOLERANCE, expected_values, relative_error
from . import table

pytestmark = pytest.mark.usefixtures("x64")
CASES = tuple(table.operators() + table.gradients())
COUNT = export.symbolic_shape("n")[0]


def for_any_number(function, *points, platforms=("cpu",)):
    """An exported function of points, the number of which is a symbol, and others alike."""
    kinds = [jax.ShapeDtypeStruct((COUNT, *each.shape[1:]), each.dtype) for each in points]
    return export.export(jax.jit(function), platforms=platforms)(*kinds)


@functools.cache
def exported_values():
    function = functions.SHALLOW
    model, points = function.model("float64"), function.points("float64")

    def every(*points):
        return {c.name: jax.vmap(c.operator("float64").exact(model))(*points) for c in CASES}

    return for_any_number(every, *points).call(*points)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_operator_at_any_number_of_points(case, kept):
    expected = kept(lambda: expected_values(CASES, functions.SHALLOW, "float64")[case.name])
    assert relative_error(exported_values()[case.name], expected) <= TOLERANCE["float64"]


def ansatz(d, width):
    net = eqx.nn.MLP(d, "scalar", width, depth=2, activation=jnp.tanh, key=jr.key(0))
    return lambda x: (1 - jnp.sum(x**2)) * net(x)


def plainly(kind, u):
    by = {"exact": nested.laplacian(u), "gradient": jax.grad(nested.laplacian(u))}
    return jax.jit(jax.vmap(by[kind]))


@pytest.mark.parametrize("kind", ["exact", "gradient"])
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("everywhere", [False, True], ids=["as here", "kernels everywhere"])
def test_kernels_take_any_number_of_points(kind, count, everywhere, request):
    """Those that count points, too."""
    if everywhere:
        request.getfixturevalue("kernels_everywhere")
    u = ansatz(40, 12)
    laplacian = do.Laplacian().exact(u)
    of_one = {"exact": laplacian, "gradient": jax.grad(laplacian)}[kind]
    points = jr.normal(jr.key(1), (count, 40)) / 6
    got = for_any_number(jax.vmap(of_one), points).call(points)
    assert relative_error(got, plainly(kind, u)(points)) <= TOLERANCE["float64"]


@pytest.mark.parametrize("order", [2, 4])
def test_estimates_at_any_number_of_points(order, kernels_everywhere):
    """Equal keys give equal draws, whether the number of points is known or not."""
    operator = do.PolyLaplacian(order // 2)
    of_points = jax.vmap(lambda x, key: operator.estimate(key, 3)(ansatz(12, 6))(x))
    points, keys = jr.normal(jr.key(1), (5, 12)) / 4, jr.split(jr.key(2), 5)
    got = for_any_number(of_points, points, keys).call(points, keys)
    assert relative_error(got, jax.jit(of_points)(points, keys)) <= TOLERANCE["float64"]


DATA = np.random.default_rng(0).normal(size=(6, 3))
OF_DATA = {
    "mean": lambda data, x: jnp.mean(jnp.sin(data @ x) * (x @ x)),
    "density": lambda data, x: jax.nn.logsumexp(-jnp.sum((data - x[None]) ** 2, axis=1)),
    "loop": lambda data, x: jax.lax.scan(lambda c, y: (jnp.tanh(c + y), None), x, data)[0][0],
    "attention": lambda data, x: jnp.sum(jax.nn.softmax(data @ x) @ data),
}


@pytest.mark.parametrize("name", OF_DATA)
@pytest.mark.parametrize("power", [1, 2])
def test_sizes_inside_u_may_be_symbols(name, power, as_users_see_it):
    """Such as the number of data. (Annotations of the engine call sizes integers.)"""
    u, x = OF_DATA[name], jnp.array([0.3, -0.2, 0.5])
    operator = do.PolyLaplacian(power)
    exported = for_any_number(lambda data: operator.exact(functools.partial(u, data))(x), DATA)
    plain = functools.partial(u, DATA)
    for _ in range(power):
        plain = nested.laplacian(plain)
    assert relative_error(exported.call(DATA), jax.jit(plain)(x)) <= TOLERANCE["float64"]


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_programs_for_other_devices(platform):
    """That they can be compiled there is not known here."""
    u, points, key = ansatz(40, 300), jnp.ones((9, 40)), jr.key(0)

    def every(points):
        methods = {
            "exact": do.Laplacian().exact(u),
            "fourth": do.DiagonalK(4).exact(u),
            "estimate": do.Biharmonic().estimate(key, 2)(u),
        }
        return {name: jax.vmap(jax.value_and_grad(each))(points) for name, each in methods.items()}

    with do.kernels.plain():
        exported = for_any_number(every, points, platforms=(platform,))
    assert exported.platforms == (platform,)
    assert exported.out_avals[0].shape == (COUNT,)


@pytest.mark.parametrize("operator", [do.Laplacian(), do.Biharmonic(), do.Gradient()], ids=str)
def test_a_point_has_known_sizes(operator):
    of_one = operator.exact(lambda x: jnp.sum(jnp.sin(x)))
    with pytest.raises(ValueError, match=r"how many coordinates a point has.*\(n,\)"):
        for_any_number(of_one, np.ones(3))
