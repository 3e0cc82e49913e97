"""Custom derivative rules: honoured going forward where they exist, and kept going backward."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.5, -1.5, 2.0])


@jax.custom_jvp
def cubed(x):
    return x**3


@cubed.defjvp
def _(primals, tangents):
    """Declared derivative: 5 x² instead of 3 x²."""
    return cubed(primals[0]), 5.0 * primals[0] ** 2 * tangents[0]


@jax.custom_vjp
def reversed_only(x):
    """sin, with a backward rule that claims three times its derivative."""
    return jnp.sin(x)


reversed_only.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda cosine, g: (3.0 * cosine * g,))


def test_custom_jvp_is_honoured_at_every_order():
    u = lambda x: jnp.sum(cubed(x))
    x = jnp.asarray(X)
    np.testing.assert_allclose(do.Directional(jnp.ones(3)).exact(u)(x), 5 * np.sum(X**2))
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), 10 * np.sum(X))
    np.testing.assert_allclose(do.DiagonalK(3).exact(u)(x), 30.0)
    np.testing.assert_allclose(do.Identity().exact(u)(x), np.sum(X**3))


def test_custom_jvp_with_static_arguments():
    power = jax.custom_jvp(lambda n, x: x**n, nondiff_argnums=(0,))
    power.defjvp(lambda n, primals, tangents: (power(n, primals[0]), 7.0 * tangents[0]))
    got = do.Partial(0).exact(lambda x: power(2, x[0]))(jnp.asarray(X))
    np.testing.assert_allclose(got, 7.0)


def test_filter_custom_jvp():
    @eqx.filter_custom_jvp
    def f(x):
        return x**2

    @f.def_jvp
    def _(primals, tangents):
        return primals[0] ** 2, 4.0 * primals[0] * tangents[0]

    got = do.Laplacian().exact(lambda x: jnp.sum(f(x)))(jnp.asarray(X))
    np.testing.assert_allclose(got, 12.0)


def test_custom_vjp_pushes_its_primal_function():
    u = lambda x: jnp.sum(reversed_only(x))
    x = jnp.asarray(X)
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), -np.sum(np.sin(X)), rtol=1e-14)
    np.testing.assert_allclose(do.DiagonalK(3).exact(u)(x), -np.sum(np.cos(X)), rtol=1e-14)
    np.testing.assert_allclose(do.Identity().exact(u)(x), np.sum(np.sin(X)), rtol=1e-14)


def test_custom_backward_of_parameters_alone():
    """What does not depend on the point keeps its backward rule."""
    u = lambda w: lambda x: reversed_only(w) * jnp.sum(x**2)
    w, x = jnp.array(0.5), jnp.asarray(X)
    got = jax.grad(lambda w: do.Laplacian().exact(u(w))(x))(w)
    np.testing.assert_allclose(got, 3 * np.cos(0.5) * 6, rtol=1e-14)


def test_custom_backward_over_the_primal():
    """u's own value, computed in the same pass as Δu, keeps its backward rule."""
    u = lambda w: lambda x: jnp.sum(reversed_only(w * x))
    ops = {"u": do.Identity(), "lap": do.Laplacian()}
    w, x = jnp.array(0.5), jnp.asarray(X)
    got = jax.grad(lambda w: do.exact(ops)(u(w))(x)["u"])(w)
    np.testing.assert_allclose(got, 3 * np.sum(np.cos(0.5 * X) * X), rtol=1e-14)


def test_custom_vjp_under_scan_and_jit():
    def u(x):
        return jax.lax.scan(lambda h, xi: (h + reversed_only(xi), None), jnp.zeros(()), x)[0]

    got = jax.jit(do.Laplacian().exact(u))(jnp.asarray(X))
    np.testing.assert_allclose(got, -np.sum(np.sin(X)), rtol=1e-14)


def test_filter_checkpoint_and_filter_jit_inside():
    inner = eqx.filter_checkpoint(eqx.filter_jit(lambda x: jnp.sum(jnp.sin(x))))
    got = do.Laplacian().exact(inner)(jnp.asarray(X))
    np.testing.assert_allclose(got, -np.sum(np.sin(X)), rtol=1e-14)


def test_custom_vmap_inside():
    """Its rule is JAX's business; jets go through the function. Of x sin x the second and third
    derivatives are 2 cos x − x sin x and −3 sin x − x cos x.
    """

    @jax.custom_batching.custom_vmap
    def f(x):
        return x * jnp.sin(x)

    @f.def_vmap
    def _(size, batched, x):
        return x * jnp.sin(x), True

    assert "custom_vmap_call" in str(jax.make_jaxpr(f)(jnp.asarray(X)))
    both = do.exact([do.Laplacian(), do.DiagonalK(3)])(lambda x: jnp.sum(f(x)))
    second, third = jax.jit(jax.vmap(both))(jnp.asarray(X)[None])
    np.testing.assert_allclose(second, [np.sum(2 * np.cos(X) - X * np.sin(X))], rtol=1e-12)
    np.testing.assert_allclose(third, [np.sum(-3 * np.sin(X) - X * np.cos(X))], rtol=1e-12)
