"""Calls that nothing compiles, as in a notebook: their values, and that they keep no memory."""

import gc

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import diffop as do

DIM, CALLS = 6, 20


def mlp(width):
    key = jax.random.key(0)
    return eqx.nn.MLP(DIM, "scalar", width, depth=2, activation=jnp.tanh, key=key)


CASES = {
    "exact": lambda x: do.Laplacian().exact(mlp(8))(x),
    "fewer directions": lambda x: do.Laplacian().exact(mlp(3))(x),
    "estimate": lambda x: do.Laplacian().estimate(jax.random.key(0), 2)(mlp(8))(x),
    "order three": lambda x: (do.Mixed({0: 2, 1: 1}) + do.Partial(0, 3)).exact(mlp(8))(x),
    "together": lambda x: do.exact((do.Gradient(), do.Laplacian()))(mlp(8))(x),
    "gradient": lambda x: jax.grad(do.Laplacian().exact(mlp(8)))(x),
    "a function made anew": lambda x: do.Laplacian().exact(lambda x: jnp.sum(jnp.sin(x)))(x),
}


@pytest.mark.parametrize("name", CASES)
def test_calls_keep_no_objects(name):
    """JAX keeps about one for each call, a program that is traced again dozens."""
    call, x = CASES[name], jnp.arange(1.0, DIM + 1)

    def objects_after_calls():
        for _ in range(CALLS):
            call(x)
        gc.collect()
        return len(gc.get_objects())

    before = objects_after_calls()
    assert objects_after_calls() - before <= 3 * CALLS


FUNCTIONS = {
    **{f.__name__: f for f in (jnp.tanh, jnp.sinc, jax.nn.softplus, jax.nn.silu, jax.nn.gelu)},
    "log_ndtr": jax.scipy.special.log_ndtr,
    "slogdet": lambda x: jnp.linalg.slogdet(jnp.diag(3 + x))[1],
}


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "with JAX's checks"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_some_coordinates(name, checked, x64):
    """Elementwise functions are computed where coordinates move, and nowhere else."""
    x, dims = jnp.linspace(-0.7, 0.8, DIM), (1, 4)
    u = lambda x: jnp.sum(FUNCTIONS[name](x) ** 2)
    with jax.enable_checks(checked):
        got = do.Laplacian(dims=dims).exact(u)(x)
    expected = jnp.sum(jnp.diag(jax.jit(jax.hessian(u))(x))[jnp.array(dims)])
    assert abs(got - expected) <= 1e-12 * abs(expected)
