"""Score matching beside closed forms of normal densities, and estimates beside the exact one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.streams import stream

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")

X = np.random.default_rng(0).normal(size=(200, 3))
P = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.5]])


def log_density(x, precision=P):
    return -0.5 * x @ precision @ x


MODELS = {"log density": log_density, "score": jax.grad(log_density)}


@pytest.mark.parametrize("name", MODELS)
def test_is_the_closed_form_of_a_normal_density(name):
    """½ |Px|² − tr P."""
    expected = 0.5 * np.mean(np.sum((X @ P) ** 2, axis=1)) - np.trace(P)
    found = jax.jit(lambda x: do.losses.score_matching(MODELS[name], x))(X)
    np.testing.assert_allclose(found, expected)


def test_the_best_normal_density_has_the_covariance_of_the_points():
    def loss(precision):
        return do.losses.score_matching(lambda x: log_density(x, precision), jnp.asarray(X))

    best = jnp.linalg.inv(X.T @ X / len(X))
    gradient = jax.jit(jax.grad(loss))
    np.testing.assert_allclose(gradient(best), 0, atol=1e-12)
    assert jnp.max(jnp.abs(gradient(1.1 * best))) > 0.05


@pytest.mark.parametrize("way", ["hutchinson", "sliced"])
def test_the_key_of_the_points_may_be_the_key_of_the_directions(way):
    """Signs by the bits of the points would be theirs: −1.5 for −0.27."""
    key = jax.random.key(0)
    points = jax.random.normal(key, (20_000, 2), jnp.float32)
    log_q = lambda x: -((x[0] * x[1]) ** 2) / 4
    exact = do.losses.score_matching(log_q, points)
    estimate = do.losses.score_matching(log_q, points, key, way=way)
    np.testing.assert_allclose(estimate, exact, atol=0.1)


@pytest.mark.parametrize("way", ["hutchinson", "sliced"])
@pytest.mark.parametrize("name", MODELS)
def test_estimates_are_unbiased(name, way):
    """The mean over all signs in three dimensions, at one point."""
    x = jnp.asarray(X[:1])
    exact = jax.jit(lambda x: do.losses.score_matching(MODELS[name], x))(x)
    estimate = jax.jit(
        jax.vmap(lambda key: do.losses.score_matching(MODELS[name], x, key, way=way))
    )
    keys = jax.random.split(jax.random.key(1), 4000)
    of_signs = jax.vmap(lambda key: stream(key, "directions of a score"))(keys)
    signs = jax.vmap(lambda key: jax.random.rademacher(key, x.shape, x.dtype))(of_signs)
    _, first = np.unique(np.asarray(signs).reshape(len(keys), 3), axis=0, return_index=True)
    assert len(first) == 8
    np.testing.assert_allclose(np.mean(estimate(keys)[first]), exact)


@pytest.mark.parametrize("way", ["hutchinson", "sliced"])
@pytest.mark.parametrize("name", MODELS)
def test_several_directions_are_the_mean_of_each(name, way):
    """Of images: all directions of a point, beside nested differentiation along each."""
    images, key = jnp.asarray(X[:12].reshape(3, 4, 3)), jax.random.key(1)
    model = lambda x: MODELS[name](x.reshape(-1)[:3]) * jnp.sum(jnp.cos(x))
    if name == "score":
        model = lambda x: jnp.sin(x) * jnp.sum(x**3) + x[::-1]
    score = model if name == "score" else jax.grad(model)
    shape = (len(images), 5, 4, 3)
    signs = jax.random.rademacher(stream(key, "directions of a score"), shape, images.dtype)

    def along(x, v):
        s, moved = jax.jvp(score, (x,), (v,))
        first = jnp.sum(s**2) if way == "hutchinson" else jnp.sum(v * s) ** 2
        return first / 2 + jnp.sum(v * moved)

    expected = np.mean(jax.vmap(jax.vmap(along, (None, 0)))(images, signs))
    found = do.losses.score_matching(model, images, key, way=way, n=5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_sliced_one_takes_no_gradient():
    """A gradient in reverse mode is one more product with W."""
    W = jnp.ones((7, 3))
    u = lambda x: jnp.sum(jnp.tanh(W @ x))
    key = jax.random.key(0)
    sliced, hutchinson = (
        jaxprs.of(lambda x: do.losses.score_matching(u, x, key, way=way), jnp.asarray(X[:2]))
        for way in ("sliced", "hutchinson")
    )
    assert jaxprs.count(sliced)["dot_general"] < jaxprs.count(hutchinson)["dot_general"]


def test_errors(as_users_see_it):
    x, key = jnp.asarray(X), jax.random.key(0)
    with pytest.raises(ValueError, match="way must be one of 'exact', 'hutchinson', 'sliced'; got"):
        do.losses.score_matching(log_density, x, way="implicit")
    with pytest.raises(ValueError, match="'sliced' takes a key for its directions; got None"):
        do.losses.score_matching(log_density, x, way="sliced")
    with pytest.raises(ValueError, match="'exact' takes no key"):
        do.losses.score_matching(log_density, x, key)
    with pytest.raises(ValueError, match="'exact' takes no random directions; got n=4"):
        do.losses.score_matching(log_density, x, n=4)
    with pytest.raises(ValueError, match="a scalar, or a score of shape .3,. like the points; got"):
        do.losses.score_matching(lambda x: x[:2], x)
    with pytest.raises(
        ValueError, match=r"points of shape \(count, d\), in this order; got <function"
    ):
        do.losses.score_matching(x, log_density)  # pyright: ignore
    with pytest.raises(
        ValueError, match=r"got an array of type .* and shape \(3,\) in the place of"
    ):
        do.losses.score_matching(log_density, x[0])
