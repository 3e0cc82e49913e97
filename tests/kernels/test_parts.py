"""Points in parts, beside nested forward mode."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.kernels import device, parts, plain
from diffop.kernels.points import in_a_loop
from diffop.least_squares.vector import Residuals
from diffop.versions import inner_programs

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
ORDER, DIM, WIDTH, POINTS = 5, 3, 4, 7
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(WIDTH, DIM)), RNG.normal(size=WIDTH)
NARROW = RNG.normal(size=(2, DIM)), RNG.normal(size=2)
X = RNG.normal(size=(POINTS, DIM))
DEEP = *(RNG.normal(size=shape) / 2 for shape in ((4, 8), (4, 4), (5, 4))), RNG.normal(size=5)
LONG = RNG.normal(size=(POINTS, 8))
"""Points of more coordinates than a first layer is wide."""
SHAPES = {"squeeze", "reshape", "broadcast_in_dim"}
SCALES = RNG.normal(size=(POINTS, WIDTH))


@pytest.fixture
def three(monkeypatch):
    """As if a point had ten bytes and there were room for thirty: parts of three, and one left."""
    monkeypatch.setattr(parts, "peak_bytes", lambda *_: 10)
    monkeypatch.setattr(parts, "MANY", 1)
    monkeypatch.setattr(parts, "WHOLE", 60)
    monkeypatch.setattr(parts, "SMALL", 0)
    monkeypatch.setattr(parts, "LOW", 30)
    monkeypatch.setattr(parts, "HIGH", 30)
    monkeypatch.setattr(parts, "FEWEST", 1)
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)


def network(weights, x):
    *matrices, row = weights
    for matrix in matrices:
        x = jnp.tanh(matrix @ x)
    return row @ x


def pushed(u):
    return do.DiagonalK(ORDER).exact(u)


def nested(u):
    def along(x, direction):
        def derivative(t):
            return u(x + t * direction)

        for _ in range(ORDER):
            derivative = jax.jacfwd(derivative)
        return derivative(0.0)

    return lambda x: jnp.sum(jax.vmap(along, (None, 0))(x, jnp.eye(DIM)))


def values(operator, weights, x):
    return jax.vmap(operator(functools.partial(network, weights)))(x)


def loss(operator, weights, x):
    return jnp.mean(values(operator, weights, x) ** 2)


def each_its_own(operator, weights, x):
    """A network for each point, along the second axis."""
    first, *rest = weights

    def at(x, scale):
        scaled = first * scale[: len(first), None]
        return operator(functools.partial(network, (scaled, *rest)))(x)

    return jax.vmap(at, (0, 1))(x, SCALES.T)


def summed(operator, weights, x):
    """What points know of one another: their mean."""

    def u(x):
        return network(weights, x) * jax.lax.pmean(network(weights, x), "points")

    return jax.vmap(operator(u), axis_name="points")(x)


CASES = {
    "values": values,
    "gradient": lambda o, w, x: jax.grad(functools.partial(loss, o), argnums=(0, 1))(w, x),
    "jvp": lambda o, w, x: jax.jvp(lambda w: loss(o, w, x), (w,), (w,)),
    "jvp of gradient": lambda o, w, x: jax.jvp(
        jax.grad(lambda w: loss(o, w, x)), (w,), (jax.tree.map(jnp.cos, w),)
    ),
    "gradients": lambda o, w, x: jax.vmap(jax.grad(lambda x: operator_at(o, w, x)))(x),
    "networks": each_its_own,
    "points within points": lambda o, w, x: jax.vmap(
        lambda shift: values(o, w, x + shift)
    )(jnp.asarray([0.0, 0.1])),
    "points that know of one another": summed,
}  # fmt: skip


def operator_at(operator, weights, x):
    return operator(functools.partial(network, weights))(x)


def laplacian(u):
    return lambda x: jnp.trace(jax.jacfwd(jax.jacfwd(u))(x))


OPERATORS = {
    "order five": (pushed, nested, WEIGHTS),
    "directions": (do.Laplacian().exact, laplacian, WEIGHTS),
    "fewer directions": (do.Laplacian().exact, laplacian, NARROW),
}


def check(got, want, name=""):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.max(np.abs(b)), err_msg=name)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", CASES)
def test_transformations(three, operator, name):
    """Compiled, and operation by operation."""
    own, by_nesting, weights = OPERATORS[operator]
    ours = functools.partial(CASES[name], own)
    got, want = jax.jit(lambda w, x: (ours(w, x), CASES[name](by_nesting, w, x)))(weights, X)
    check(got, want)
    check(ours(weights, X), want)


def test_transformations_of_wide_layers(three, halves):
    """Products by halves, in a loop over the points of a part."""

    @jax.jit
    def every(weights, x):
        ways = do.Laplacian().exact, laplacian
        return {name: [case(way, weights, x) for way in ways] for name, case in CASES.items()}

    for name, (got, want) in every(DEEP, LONG).items():
        check(got, want, name)
    jaxpr = jax.make_jaxpr(functools.partial(values, do.Laplacian().exact))(DEEP, LONG).jaxpr
    (in_parts,) = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan")
    assert lengths(in_parts.params["jaxpr"].jaxpr)


def test_what_is_empty(three):
    """A point without entries is refused; an output may have none."""
    with pytest.raises(ValueError, match=r"must have coordinates; got an array of shape \(0,\)"):
        jax.vmap(pushed(lambda x: jnp.sum(x)))(X[:, :0])
    values, empty = jax.jit(jax.vmap(pushed(lambda x: (jnp.sum(x**ORDER), x[:0]))))(X)
    np.testing.assert_allclose(values, np.full(POINTS, 120.0 * DIM))
    assert empty.shape == (POINTS, 0)


def test_parts_are_a_loop(three):
    """Forwards and backwards. The point that is left goes through by itself, and no array has
    directions of more points than a part.
    """
    jaxpr = jax.make_jaxpr(jax.grad(functools.partial(loss, pushed)))(WEIGHTS, X)
    assert lengths(jaxpr.jaxpr) == [2, 2]
    assert max(jaxprs.sizes(jaxprs.equations(jaxpr))) <= 3 * DIM * WIDTH


def wide(points, operator=do.DiagonalK(8).exact, dim=16, width=128):
    """An operator, by default of order 8 along sixteen directions, through three layers, and its
    points.
    """
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=(width, n)).astype(np.float32) / n for n in (dim, width, width)]

    def all_values(weights, x):
        def u(x):
            for matrix in weights:
                x = jnp.tanh(matrix @ x)
            return jnp.sum(x)

        return jnp.sum(jax.vmap(operator(u))(x))

    return all_values, weights, jnp.ones((points, dim), jnp.float32)


@pytest.mark.parametrize(("points", "length"), [(50, []), (100, [2]), (200, [4])])
def test_what_there_is_room_for(monkeypatch, points, length):
    """Some fifty coefficients of 8 kB are in use at once at each point."""
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)
    function, *operands = wide(points)
    assert lengths(jax.make_jaxpr(function)(*operands).jaxpr) == length


@pytest.mark.parametrize(
    ("operator", "dim"), [(do.DiagonalK(8).exact, 16), (do.Laplacian().exact, 200)]
)
def test_what_is_set_aside_is_no_more_than_the_c_library_keeps(monkeypatch, operator, dim):
    """32 MiB, in reverse mode too, where it is more."""
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)
    function, *operands = wide(200, operator, dim)
    compiled = jax.jit(jax.grad(function)).lower(*operands).compile()
    analysis = compiled.memory_analysis()
    assert analysis is not None and analysis.temp_size_in_bytes < 2**25


def lengths(jaxpr):
    """Of the loops, in order."""
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            found.append(eqn.params["length"])
        else:
            found.extend(n for inner in inner_programs(eqn) for n in lengths(inner))
    return found


def test_points_stay_together_where_that_is_said(three):
    with plain("parts"):
        jaxpr = jax.make_jaxpr(functools.partial(values, pushed))(WEIGHTS, X).jaxpr
    assert not lengths(jaxpr)
    assert lengths(jax.make_jaxpr(lambda w, x: values(pushed, w, x))(WEIGHTS, X).jaxpr)


class Loss(eqx.Module):
    """Its residuals are derivatives of order five."""

    def pointwise(self, u, key):
        return {"inside": do.losses.Pointwise(lambda u, x: pushed(u)(x), X)}


def test_conjugate_gradients_push_no_part_again(three):
    """Residuals are linearised once; where they are asked for as they are, there is a loop."""
    u = eqx.nn.MLP(DIM, "scalar", WIDTH, 1, jnp.tanh, key=jax.random.key(0))
    parameters, static = eqx.partition(u, eqx.is_inexact_array)

    def residuals(parameters):
        return Residuals(Loss(), parameters, static, jax.random.key(1))

    def values(parameters):
        return residuals(parameters)(residuals(parameters).theta)

    def solved(parameters):
        theta = residuals(parameters).theta
        solver, prior, damping = do.methods.ConjugateGradients(2), 0 * theta, jnp.asarray(1e-3)
        return solver.solve(residuals(parameters), prior, damping, jax.random.key(2))[0]

    assert lengths(jax.make_jaxpr(values)(parameters).jaxpr)
    assert not lengths(jax.make_jaxpr(solved)(parameters).jaxpr)


def test_calls_outside_of_jit_compile_no_loop(three, monkeypatch):
    """Of values, nor of gradients."""
    loops = []

    def loop(*operands):
        loops.append(operands)
        return in_a_loop(*operands)

    monkeypatch.setattr(parts, "in_a_loop", loop)
    compute = functools.partial(values, pushed, WEIGHTS), jax.grad(functools.partial(loss, pushed))
    compute[0](X), compute[1](WEIGHTS, X)
    assert not loops
    jax.jit(compute[0])(X), jax.jit(compute[1])(WEIGHTS, X)
    assert len(loops) == 2


def test_products_of_wide_layers_are_not_made_again(monkeypatch):
    """From width 256 on, where products with moments are by halves. Reverse mode has as many
    products as with all points together, in parts of ten points.
    """
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)
    function, *operands = wide(100, do.Laplacian().exact, 1000, 256)
    in_parts = jax.make_jaxpr(jax.grad(function))(*operands)
    with plain("parts"):
        together = jax.make_jaxpr(jax.grad(function))(*operands)
    assert set(lengths(in_parts.jaxpr)) == {10} and set(lengths(together.jaxpr)) == {100}
    assert products(in_parts) == products(together) > 0


def products(jaxpr, least=256**2):
    """How many equations multiply two arrays of so many entries, or more."""
    found = jaxprs.named(jaxprs.equations(jaxpr), "dot_general")
    return sum(min(var.aval.size for var in eqn.invars) >= least for eqn in found)


def test_parts_of_wide_layers_have_ten_points_at_least(monkeypatch):
    """There would be room for three. Inside of a part, or of all, there is a loop over points, also
    of what is left over.
    """
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)
    for points, expected in (19, {19}), (100, {10}), (105, {9, 6}):
        function, *operands = wide(points, do.Laplacian().exact, 1000, 512)
        assert set(lengths(jax.make_jaxpr(function)(*operands).jaxpr)) == expected


def test_long_points_go_through_at_once(monkeypatch):
    """A point of 2,000 numbers is 8 kB, beside some hundred for what 16 jets need; one of 50,000 is
    as large as that.
    """
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)
    draws = do.DiagonalK(4).estimate(jax.random.key(0), 16)
    for dim, in_parts in (2_000, True), (50_000, False):
        function, *operands = wide(300, draws, dim)
        assert bool(lengths(jax.make_jaxpr(function)(*operands).jaxpr)) == in_parts


def test_few_coefficients_go_through_at_once(three, monkeypatch):
    """5² for each direction, of which there are three."""
    jaxpr = lambda: jax.make_jaxpr(functools.partial(values, pushed))(WEIGHTS, X).jaxpr
    monkeypatch.setattr(parts, "MANY", 25 * DIM)
    assert lengths(jaxpr())
    monkeypatch.setattr(parts, "MANY", 25 * DIM + 1)
    assert not lengths(jaxpr())


@pytest.mark.parametrize(
    ("points", "least", "most", "size"),
    [(100, 3, 100, 25), (7, 3, 7, 3), (11, 1, 11, 11), (9, 9, 9, 1), (105, 10, 10, 11)],
)
def test_parts_are_equal_where_that_is_near(points, least, most, size):
    """And where that makes no more than the most."""
    assert parts._size(points, least, most) == size


def test_one_point_and_none(three, monkeypatch):
    monkeypatch.setattr(parts, "HIGH", 1)
    for count in (1, 0):
        got = values(pushed, WEIGHTS, X[:count])
        np.testing.assert_allclose(got, values(nested, WEIGHTS, X[:count]), rtol=1e-11)


def test_a_single_point_is_not_mapped(three):
    """Its equations are those of a point without `vmap`; another `vmap` finds parts again."""
    point = functools.partial(network, WEIGHTS)
    counted = lambda function, x: jaxprs.count(
        eqn for eqn in jaxprs.of(function, x) if eqn.primitive.name not in SHAPES
    )
    derivative = pushed(point)
    assert counted(jax.vmap(derivative), X[:1]) == counted(derivative, X[0])
    twice = jax.vmap(jax.vmap(derivative))
    assert lengths(jax.make_jaxpr(twice)(X[:, None]).jaxpr) == [2]
    want = values(nested, WEIGHTS, X)
    np.testing.assert_allclose(jax.jit(twice)(X[:, None])[:, 0], want, rtol=1e-11)


def test_parts_of_one_point_have_no_axis(three, monkeypatch):
    """With room for one point, each goes through by itself: the arrays of the loop are those of a
    point, without an axis of size one.
    """
    monkeypatch.setattr(parts, "HIGH", 10)
    jaxpr = jax.make_jaxpr(functools.partial(values, pushed))(WEIGHTS, X)
    assert lengths(jaxpr.jaxpr) == [POINTS]
    multiplied = jaxprs.named(jaxprs.equations(jaxpr), "mul")
    products = [eqn.outvars[0].aval.shape for eqn in multiplied]
    assert products and not any(1 in shape for shape in products), products
    got = jax.jit(functools.partial(values, pushed))(WEIGHTS, X)
    np.testing.assert_allclose(got, values(nested, WEIGHTS, X), rtol=1e-11)


def test_jets_are_pushed_through_parts():
    """Of the inner operator, whose points are mapped inside of u."""

    def mean(operator):
        return lambda x: jnp.mean(values(operator, WEIGHTS, x[None] * X))

    got = jax.jit(do.Laplacian().exact(mean(pushed)))(jnp.ones(DIM))
    want = jnp.trace(jax.jit(jax.hessian(mean(nested)))(jnp.ones(DIM)))
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_what_u_tells_is_told_at_each_point(three):
    heard = []

    def u(x):
        jax.debug.callback(heard.append, x[0])
        return network(WEIGHTS, x)

    jax.block_until_ready(jax.jit(jax.vmap(pushed(u)))(X))
    jax.effects_barrier()
    np.testing.assert_allclose(sorted(map(float, heard)), sorted(X[:, 0]))
