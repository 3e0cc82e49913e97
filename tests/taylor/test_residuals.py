"""What reverse mode keeps of an expansion: what went in and what comes out, and nothing between."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

JETS, WIDTH = 7, 11
FUNCTIONS = {"tanh": jnp.tanh, "sin": jnp.sin, "softplus": jax.nn.softplus, "exp": jnp.exp}


def inputs(layers=2):
    rng = np.random.default_rng(0)
    shapes = [(layers, WIDTH, WIDTH), (WIDTH,), (JETS, WIDTH)]
    return tuple(jnp.asarray(rng.normal(size=shape) / 3) for shape in shapes)


def network(function, weights, x):
    for matrix in weights:
        x = function(matrix @ x)
    return jnp.sum(x)


def sum_of_derivatives(function, order):
    """Σ_r of the K-th derivatives along lines in the directions v_r."""

    def of(weights, x, v):
        tangents = ((v,), *((None,),) * (order - 1))
        jets = do.taylor.Jets(tangents, np.ones(len(v)), top_only=True)
        pushed = do.taylor.push(lambda x: network(function, weights, x), (x,), [jets])
        return pushed.derivatives[0][-1]

    return of


def by_nesting(function, order):
    def of(weights, x, v):
        def along(direction):
            def derivative(t):
                return network(function, weights, x + t * direction)

            for _ in range(order):
                derivative = jax.jacfwd(derivative)
            return derivative(0.0)

        return jnp.sum(jax.vmap(along)(v))

    return of


def kept(function, order):
    """The shapes of what the gradient by the weights keeps, each array once."""
    of = sum_of_derivatives(function, order)

    def backward(weights, x, v):
        return jax.vjp(lambda weights: of(weights, x, v), weights)[1]

    jaxpr = jax.make_jaxpr(backward)(*inputs()).jaxpr
    residuals = {atom for atom in jaxpr.outvars if not hasattr(atom, "val")}
    return [each.aval.shape for each in residuals.difference(jaxpr.invars)]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("order", [2, 4, 8])
def test_two_layers(name, order):
    """The directions; behind the first product one coefficient, since lines go in; K − 1 behind
    the first function and as many behind the second product. Every sum is read behind the second
    function.
    """
    shapes = kept(FUNCTIONS[name], order)
    assert sum(np.prod(shape) == JETS * WIDTH for shape in shapes) == 2 + 2 * (order - 1)
    assert max(np.prod(shape) for shape in shapes) <= 2 * WIDTH**2


def test_layers_are_traced_once():
    """An expansion is one program for all layers that have coefficients of the same orders."""
    of = sum_of_derivatives(jnp.tanh, 4)
    jaxpr = jax.make_jaxpr(of)(*inputs(layers=9)).jaxpr
    inner = [eqn.params["jaxpr"] for eqn in jaxpr.eqns if "prevent_cse" in eqn.params]
    assert len(inner) == 9
    assert len(set(map(id, inner))) == 2  # the first has lines


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_their_derivatives(name):
    """Reverse mode, and forward mode over it, beside nested forward mode in double precision."""
    function, order = FUNCTIONS[name], 3
    with jax.enable_x64(True):
        weights, x, v = (each.astype(float) for each in inputs())
        direction = jnp.cos(jnp.arange(weights.size)).reshape(weights.shape)

        def both(of):
            def gradient(weights):
                return jax.grad(of)(weights, x, v)

            return jax.jvp(gradient, (weights,), (direction,))

        own = jax.jit(lambda: both(sum_of_derivatives(function, order)))()
        reference = jax.jit(lambda: both(by_nesting(function, order)))()
        for found, expected in zip(own, reference, strict=True):
            scale = np.max(np.abs(expected))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


def test_weights_that_are_known_and_that_are_not():
    """Weights are part of the program where they are known, and an operand where they are not."""
    weights, x, v = inputs()
    numbers = np.linspace(-1, 2, JETS)

    def weighted(matrices, factors):
        def u(x):
            return network(jnp.tanh, matrices, x)

        jets = do.taylor.Jets(((v,), *((None,),) * 3), factors, top_only=True)
        return do.taylor.push(u, (x,), [jets]).derivatives[0][-1]

    known = jax.jit(lambda m: weighted(m, numbers))(weights)
    unknown = jax.jit(weighted)(weights, jnp.asarray(numbers, jnp.float32))
    doubled = jax.jit(lambda m: weighted(m, 2 * numbers))(weights)
    np.testing.assert_allclose(known, unknown, rtol=1e-5)
    np.testing.assert_allclose(doubled, 2 * known, rtol=1e-5)


def test_of_two_passes_the_inner_one_is_written_out():
    """What the engine recomputes in one pass is no region of the next."""
    weights, x, _ = inputs()

    def u(x):
        return network(jnp.tanh, weights, x)

    twice = do.Laplacian().exact(do.Laplacian().exact(u))
    jaxpr = jax.make_jaxpr(twice)(x).jaxpr
    regions = [eqn.params["jaxpr"] for eqn in jaxpr.eqns if "prevent_cse" in eqn.params]
    assert regions
    assert not any("prevent_cse" in eqn.params for each in regions for eqn in each.eqns)
