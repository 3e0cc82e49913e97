"""No array of points × directions × coordinates, read off from programs.

The numbers of points, coordinates and directions and all widths are different primes (the numbers
of blocks and of coordinates in a block where weights are shared), so that a shape tells what its
axes are. A program may not make an array with two axes of coordinates, nor one with an axis of
coordinates and an axis of sampled directions, in whatever order or flattened.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from .. import jaxprs
from ..networks import Network

D, POINTS, N, WIDTHS = 101, 5, 7, (23, 29, 31)
BLOCK, BLOCKS = 13, 17


class Subject(eqx.Module):
    """A network and how it is used."""

    net: Network
    weights: jax.Array
    use: object = eqx.field(static=True)

    def __call__(self, x):
        return self.use(self.net, self.weights, x)


def two_bodies(net, c, x):
    return jnp.sum(c) * jnp.sum(jnp.sin(x[:-1] + jnp.cos(x[1:]) + x[1:] * jnp.cos(x[:-1])))


def three_bodies(net, c, x):
    return jnp.sum(c) * jnp.sum(jnp.exp(x[:-2] * x[1:-1] * x[2:]))


def ansatz(net, c, x):
    return (1 - jnp.sum(x**2)) * net(x)


def both(net, c, x):
    return ansatz(net, c, x) * two_bodies(net, c, x)


def shared_by_blocks(net, c, x):
    return net(jnp.tanh(x.reshape(BLOCKS, BLOCK) @ c))


def convolution(net, c, x):
    kernel = c.reshape(1, 1, BLOCK)
    return net(
        jnp.tanh(jax.lax.conv_general_dilated(x[None, None], kernel, (BLOCK,), "VALID")[0, 0])
    )


SHARED = BLOCK * BLOCKS
SUBJECTS = {
    "ansatz": (ansatz, D, D),
    "two_bodies": (two_bodies, D, D),
    "three_bodies": (three_bodies, D, D),
    "network_and_bodies": (both, D, D),
    "shared_by_blocks": (shared_by_blocks, SHARED, BLOCKS),
    "convolution": (convolution, SHARED, BLOCKS),
}
OPERATORS = {
    "estimate": lambda: do.Laplacian().estimate(jr.key(1), N),
    "estimate_of_order_4": lambda: do.DiagonalK(4).estimate(jr.key(1), N),
    "exact": lambda: do.Laplacian(),
    "parabolic": lambda: do.ParabolicTrace(lambda x: 1 + x**2),
}


def offending(eqns, d, sampled):
    """Shapes that hold what should never be formed."""
    coordinates = {d, d - 1, d - 2}
    found = []
    for eqn in eqns:
        for var in eqn.outvars:
            shape = getattr(var.aval, "shape", ())
            size = math.prod(shape)
            axes = sum(axis in coordinates for axis in shape)
            pairs = axes > 1 or (size > 0 and size % (d * d) == 0)
            if sampled:
                pairs |= axes > 0 and N in shape or (size > 0 and size % (N * d) == 0)
            if pairs:
                found.append((eqn.primitive.name, shape))
    return found


def loss(operator, name):
    use, d, inputs = SUBJECTS[name]
    subject = Subject(Network(inputs, WIDTHS), jr.normal(jr.key(0), (BLOCK,)), use)
    parameters, static = eqx.partition(subject, eqx.is_inexact_array)
    points = jnp.ones((POINTS, d)) / d

    def value(parameters):
        u = eqx.combine(parameters, static)
        return jnp.mean(jax.vmap(operator.exact(u))(points) ** 2)

    return value, parameters, d


@pytest.mark.parametrize("transform", [lambda f: f, jax.grad], ids=["value", "gradient"])
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_nothing_large_is_formed(name, kind, transform):
    value, parameters, d = loss(OPERATORS[kind](), name)
    eqns = jaxprs.of(transform(value), parameters)
    assert offending(eqns, d, sampled=kind.startswith("estimate")) == []


@pytest.mark.parametrize("probes", ["gaussian", "rademacher"])
def test_dense_directions_would_be_noticed(probes):
    """The check sees the (n, d) array that dense probes are."""
    value, parameters, d = loss(do.Laplacian().estimate(jr.key(1), N, probes=probes), "ansatz")
    assert offending(jaxprs.of(value, parameters), d, sampled=True)


def test_one_hot_directions_would_be_noticed():
    def value(x):
        u = lambda y: ansatz(Network(D, WIDTHS), None, y)
        second = lambda v: jax.jvp(lambda y: jax.jvp(u, (y,), (v,))[1], (x,), (v,))[1]
        return jnp.sum(jax.vmap(second)(jnp.eye(D)))

    assert offending(jaxprs.of(value, jnp.ones(D)), D, sampled=False)


@pytest.mark.parametrize("probes", ["sparse", "gaussian"])
def test_directions_pass_the_first_layer_once(probes):
    """What does not depend on the point is computed once for all points: no product over d that
    involves directions has the axis of points.
    """
    value, parameters, d = loss(do.Laplacian().estimate(jr.key(1), N, probes=probes), "ansatz")
    eqns = jaxprs.of(value, parameters)
    first = WIDTHS[0]
    for name in ("dot_general", "gather"):
        for eqn in jaxprs.named(eqns, name):
            shapes = [var.aval.shape for var in eqn.invars]
            if any(d in shape and first in shape for shape in shapes):
                assert {POINTS, N} - set(eqn.outvars[0].aval.shape), eqn


SUMS = {
    "of_a_part": lambda x: jnp.sum(x[1:] ** 2),
    "of_blocks": lambda x: jnp.sum(jnp.tanh(jnp.sum(x.reshape(4, -1) ** 2, 1)) @ jnp.ones((4, 3))),
    "of_products": lambda x: jnp.dot(x[1:], x[:-1]),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_many_entries_are_one_step(name):
    """The equations of a sum, and the columns that it goes through, do not grow with d."""
    apply = do.Laplacian().exact(SUMS[name])
    few, many = (jaxprs.of(apply, jnp.ones(d)) for d in (100, 1000))
    assert jaxprs.count(few) == jaxprs.count(many)
    assert max(jaxprs.sizes(many)) <= 4 * 1000


def test_a_sum_of_almost_all_entries():
    d = 100_000
    got = do.Laplacian().exact(SUMS["of_a_part"])(jnp.ones(d))
    assert got == 2 * (d - 1)


CENTRES = jr.normal(jr.key(2), (5, 11))
KEPT_APART = {
    "factors_of_one_coordinate": lambda x: jnp.sum(jnp.prod(jnp.tanh(CENTRES + x[None]), axis=1)),
    "distances_to_centres": lambda x: jnp.sum(jnp.exp(-jnp.sum((x[None] - CENTRES) ** 2, axis=1))),
}


@pytest.mark.parametrize("name", KEPT_APART)
def test_nothing_is_scattered(name):
    """Along a coordinate one factor of a product moves, or one term of each sum."""
    u, x = KEPT_APART[name], jnp.linspace(0.1, 0.9, 11)
    apply = jax.jit(do.Laplacian().exact(u)).lower(x).compile()
    assert "scatter" not in apply.as_text()
    np.testing.assert_allclose(apply(x), jnp.trace(jax.hessian(u)(x)), rtol=1e-4)
