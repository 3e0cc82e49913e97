"""The cost of operators, read off from their programs.

d, the widths and the numbers of points and draws are different primes, so that a shape tells what
its axes are.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from .. import jaxprs
from ..networks import Network

WIDTHS = (11, 13, 17)


def program(operators, d, **kwargs):
    return jaxprs.of(do.exact(operators)(Network(d, WIDTHS)), jnp.ones(d))


def propagated(eqns, width):
    """How many vectors this layer's matrix is applied to: primal, directions, top order."""
    before = WIDTHS[WIDTHS.index(width) - 1]
    total = 0
    for eqn in jaxprs.named(eqns, "dot_general"):
        shapes = [operand.aval.shape for operand in eqn.invars]
        if (width, before) in shapes or (before, width) in shapes:
            total += eqn.outvars[0].aval.size // width
    return total


# Orders and how many directions each operator needs
EXACT = {
    "laplacian": (do.Laplacian, 2),
    "diagonal3": (lambda: do.DiagonalK(3), 3),
    "diagonal4": (lambda: do.DiagonalK(4), 4),
}


@pytest.mark.parametrize("name", EXACT)
def test_directions_are_pushed_together(name):
    """The same equations at any d: no pass per direction. (In few dimensions the Laplacian keeps
    its directions, in many it replaces them: two programs.)
    """
    build, _ = EXACT[name]
    small, large = (jaxprs.count(program(build(), d)) for d in (61, 101))
    assert small == large


@pytest.mark.parametrize("name", EXACT)
def test_the_top_coefficient_is_collapsed(name):
    """Layers after the first: one primal, d directions of order 1 … K−1, and one top order."""
    build, order = EXACT[name]
    d = 7
    eqns = program(build(), d)
    for width in WIDTHS[1:]:
        vectors = propagated(eqns, width)
        assert 0 < vectors <= 1 + (order - 1) * d + 1


def test_the_uncollapsed_count_would_be_noticed():
    """The bound above is sharp enough: order K for every direction would exceed it."""

    def uncollapsed(x):
        u = Network(7, WIDTHS)
        second = lambda v: jax.jvp(lambda y: jax.jvp(u, (y,), (v,))[1], (x,), (v,))[1]
        return jnp.sum(jax.vmap(second)(jnp.eye(7)))

    assert propagated(jaxprs.of(uncollapsed, jnp.ones(7)), WIDTHS[1]) > 1 + 7 + 1


def test_a_full_matrix_becomes_one_of_live_values():
    """The moment C of the input becomes that of the first layer, though there is a narrower one
    behind: no direction of the input is pushed further.
    """
    d, first, second = 19, 13, 11
    operator = do.SecondOrder(jr.normal(jr.key(0), (d, d)))
    eqns = jaxprs.of(operator.exact(Network(d, (first, second, 17))), jnp.ones(d))
    shapes = [set(out.aval.shape) for eqn in eqns for out in eqn.outvars]
    assert {d, first} in shapes
    assert not any({d, second} <= shape for shape in shapes)


def test_one_pass_for_several_operators():
    """u, ∇u·b and Δu: as many tanh as u alone, one exponential for the slope of each, and at most
    one more vector per layer than Δu.
    """
    d = 7
    ops = {"u": do.Identity(), "b": do.Directional(jnp.arange(1.0, d + 1)), "lap": do.Laplacian()}
    together, alone = program(ops, d), program(do.Laplacian(), d)
    plain = jaxprs.of(Network(d, WIDTHS), jnp.ones(d))
    for name in ("tanh", "exp", "logistic"):
        slopes = len(WIDTHS) if name == "exp" else 0
        expected = jaxprs.count(plain)[name] + slopes
        assert jaxprs.count(together)[name] == jaxprs.count(alone)[name] == expected
    assert jaxprs.count(plain)["tanh"] == len(WIDTHS)
    for width in WIDTHS[1:]:
        assert propagated(together, width) <= propagated(alone, width) + 1


def test_one_pass_for_a_sum_of_orders():
    """Δ + Σ∂⁴ + ∂_0³: still one tanh per layer."""
    L = do.Laplacian() + do.DiagonalK(4) + do.Partial(0, order=3)
    assert jaxprs.count(program(L, 5))["tanh"] == len(WIDTHS)


def test_merged_sums_cost_as_one():
    L = do.Laplacian()
    once, merged = jaxprs.of(L.exact(Network(5, WIDTHS)), jnp.ones(5)), L + L + 2 * L - L
    eqns = jaxprs.of(merged.exact(Network(5, WIDTHS)), jnp.ones(5))
    assert jaxprs.count(eqns)["dot_general"] == jaxprs.count(once)["dot_general"]
    assert jaxprs.count(eqns)["tanh"] == jaxprs.count(once)["tanh"]


def test_vmap_over_points_shares_the_directions_pass():
    """Under vmap the number of equations does not depend on the number of points, be they so few
    that each goes through the second layer alone, or so many that they go together.
    """
    apply = lambda x: jax.vmap(do.Laplacian().exact(Network(5, WIDTHS)))(x)
    for numbers in ((2, 3), (max(WIDTHS), 29)):
        some, more = (jaxprs.count(jaxprs.of(apply, jnp.ones((n, 5)))) for n in numbers)
        assert some == more


@pytest.mark.parametrize("n", [3, 19])
def test_an_estimate_pushes_n_directions(n):
    d = 101
    eqns = jaxprs.of(do.Laplacian().estimate(jr.key(0), n)(Network(d, WIDTHS)), jnp.ones(d))
    for width in WIDTHS[1:]:
        assert 0 < propagated(eqns, width) <= 1 + n + 1


@pytest.mark.parametrize("build", [do.Laplacian, do.Biharmonic, lambda: do.DiagonalK(3)])
def test_drawing_indices_costs_n_not_d(build):
    """No array as long as d comes from the generator, and nothing of that size is sorted."""
    d, n = 100_003, 16
    u = lambda x: x[0] ** 4  # needs no arrays of its own
    apply = lambda key, x: build().estimate(key, n)(u)(x)
    eqns = jaxprs.of(apply, jr.key(0), jnp.ones(d))
    random = [
        eqn
        for eqn in eqns
        if eqn.primitive.name.startswith(("random_", "threefry", "shift_right", "sort", "cumsum"))
    ]
    assert jaxprs.named(eqns, "random_bits")
    assert max(jaxprs.sizes(random)) <= 64 * n
    # Whatever else is as large as d are the directions themselves, at most 4 n of them.
    assert max(jaxprs.sizes(eqns)) <= 4 * n * d


def test_plans_do_not_build_directions():
    """The plan for 10⁷ coordinates, from a shape alone: (n, d) arrays would not fit."""
    point = jax.ShapeDtypeStruct((10**7,), jnp.float32)
    for operator in (do.Laplacian(), do.DiagonalK(4), do.Laplacian().estimate(jr.key(0), 16)):
        assert len(str(operator.jets(point))) > 0


MANY = 10**6
NUMBERS = np.arange(MANY)
WEIGHTS = 1.0 + NUMBERS % 2  # half of them 1, half of them 2
NEIGHBOURS = np.stack([NUMBERS[1:], NUMBERS[:-1]], axis=1)


def tensor(coordinates, coefficients=WEIGHTS):
    return do.TensorOperator.from_coordinates(coordinates, coefficients[: len(coordinates)])


def cubes(x):
    return jnp.sum(x**3)


def neighbours(x):
    return jnp.sum(x[1:] * x[:-1])


IN_A_MILLION = {
    # operator of traced coefficients, function, value at ones
    "diagonal": (lambda c: do.DiagonalK(1), cubes, 3 * MANY),
    "known": (lambda c: tensor(NUMBERS[:, None]), cubes, 4.5 * MANY),
    "traced": (lambda c: tensor(NUMBERS[:, None], c), cubes, 4.5 * MANY),
    "a_function": (
        lambda c: do.TensorOperator.from_coordinates(NUMBERS[:, None], lambda x: c * x),
        cubes,
        4.5 * MANY,
    ),
    "half": (lambda c: tensor(NUMBERS[1::2, None], c[1::2]), cubes, 3 * MANY),
    "few": (lambda c: tensor(NUMBERS[:7, None], c), cubes, 3 * (4 + 3 * 2)),
    "estimated": (lambda c: tensor(NUMBERS[:, None]).estimate(jr.key(0), 5), cubes, 4.5 * MANY),
    "a_sum": (
        lambda c: do.DiagonalK(1) + do.Directional(c) + c[1] * do.Partial(3),
        cubes,
        7.5 * MANY + 6,
    ),
    "order_two": (lambda c: tensor(np.repeat(NUMBERS[:, None], 2, 1), c), cubes, 9 * MANY),
    "mixed": (lambda c: tensor(NEIGHBOURS, c), neighbours, 1.5 * MANY - 2),
}


@pytest.mark.parametrize("name", IN_A_MILLION)
def test_tensors_in_a_million_dimensions(name):
    """No array is larger than a few points, and all numbers are integers that single precision
    holds.
    """
    build, u, value = IN_A_MILLION[name]

    def apply(c, x):
        operator = build(c)
        return (
            operator(u)(x) if isinstance(operator, do.operators.Estimate) else operator.exact(u)(x)
        )

    c, x = jnp.asarray(WEIGHTS, jnp.float32), jnp.ones(MANY)
    assert max(jaxprs.sizes(jaxprs.of(apply, c, x))) <= 4 * MANY
    assert jax.jit(apply)(c, x) == value


def partials(*coefficients):
    return sum(c * do.Partial(i) for i, c in enumerate(coefficients))


ORDER_ONE = {
    # operators of traced numbers, and how many directions they are
    "known": (lambda c: partials(1, 2, -3.5), 1),
    "traced": (lambda c: partials(c[0], 1, c[1]), 1),
    "functions": (lambda c: partials(lambda x: x[0], lambda x: c @ x), 1),
    "forms": (lambda c: do.Directional(c) + do.DiagonalK(1) + 2 * do.Partial(3), 1),
    "two_forms": (lambda c: do.Directional(c) + do.Directional(lambda x: x), 1),
    "read_by_another": (lambda c: {"first": do.Partial(0), "both": partials(1, 2)}, 2),
    "read_with_order_two": (lambda c: partials(1, 2, c[0]) + do.Partial(0, order=2), 3),
}


@pytest.mark.parametrize("name", ORDER_ONE)
def test_order_one_is_one_direction(name):
    """What is added up, and not read by others, is pushed once."""
    build, directions = ORDER_ONE[name]
    apply = lambda c, x: do.exact(build(c))(Network(7, WIDTHS))(x)
    eqns = jaxprs.of(apply, jnp.ones(7), jnp.ones(7))
    for width in WIDTHS[1:]:
        assert propagated(eqns, width) == 1 + directions


def test_mixed_needs_few_coordinates_of_many():
    """∂_0²∂_1 at d = 10⁵ pushes as many directions as at d = 3."""
    operator = do.Mixed({0: 2, 1: 1})
    counts = [
        propagated(jaxprs.of(operator.exact(Network(d, WIDTHS)), jnp.ones(d)), WIDTHS[1])
        for d in (3, 100_003)
    ]
    assert counts[0] == counts[1] <= 20


@pytest.mark.parametrize("name", EXACT)
def test_matrices_and_their_gradients_keep_their_layout(name):
    """What `jax.grad` adds up for a weight is as the weight is: behind the first layer, whose
    columns are directions, no matrix is transposed. (At few points: at many, directions go together
    with the second layer's matrix, and what comes back is parted again.)
    """
    build, _ = EXACT[name]
    points = jnp.ones((5, 7))

    def loss(u):
        return jnp.sum(jax.vmap(build().exact(u))(points) ** 2)

    u = Network(7, WIDTHS)
    shapes = {
        shape for layer in u.layers[1:] for shape in (layer.weight.shape, layer.weight.T.shape)
    }
    transposed = jaxprs.named(jaxprs.of(eqx.filter_grad(loss), u), "transpose")
    assert not [eqn for eqn in transposed if eqn.outvars[0].aval.shape in shapes]
