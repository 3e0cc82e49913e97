"""`diffop.compat.jet` beside `jax.experimental.jet`."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import jet as reference

from diffop.compat import jet as compat

from .functions import mlp

pytestmark = pytest.mark.usefixtures("x64")

close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)


def series(*shape, order=4):
    keys = jax.random.split(jax.random.key(order), order)
    return [jax.random.normal(key, shape, float) for key in keys]


CASES = {
    "sin": (jnp.sin, [()]),
    "exp": (jnp.exp, [()]),
    "mlp": (mlp, [(5,)]),
    "several": (lambda x, y: {"product": jnp.sin(x) * y, "ratio": [x / (2 + y**2)]}, [(3,), (3,)]),
    "constant": (lambda x: (x**2, jnp.ones(2)), [(3,)]),
}


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_is_that_of_jax(name, scaled):
    f, shapes = CASES[name]
    terms = [series(*shape, order=4 + i)[:4] for i, shape in enumerate(shapes)]
    point = [0.3 + jnp.arange(math.prod(shape), dtype=float).reshape(shape) for shape in shapes]
    found = compat.jet(f, point, terms, factorial_scaled=scaled)
    expected = reference.jet(f, point, terms, factorial_scaled=scaled)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(close, found, expected)


def test_taylor_coefficients():
    zero = [1.0, 0.0, 0.0, 0.0]
    value, terms = compat.jet(jnp.exp, (0.0,), (zero,), factorial_scaled=False)
    close([value, *terms], [1 / math.factorial(k) for k in range(5)])


def test_factorials_beyond_integers():
    """22! is beyond those of 64 bits, 13! beyond those of 32."""
    for bits, order in ((True, 22), (False, 13)):
        with jax.enable_x64(bits):
            straight = [1.0] + [0.0] * (order - 1)
            _, terms = compat.jet(jnp.exp, (0.0,), (straight,), factorial_scaled=False)
            expected = [1 / math.factorial(k) for k in range(1, order + 1)]
            np.testing.assert_allclose(terms, expected, rtol=1e-5)


@pytest.mark.parametrize("scaled", [True, False])
def test_pytrees_have_series_at_their_leaves_or_lists_of_them(scaled):
    f = lambda tree, z: jnp.sin(tree["x"]) * tree["y"] + z
    first, second, third = series(3), series(3), series()
    leaves = jnp.arange(3.0), jnp.ones(3), 0.5
    expected = reference.jet(
        lambda x, y, z: f({"x": x, "y": y}, z), leaves, (first, second, third), scaled
    )
    point = {"x": leaves[0], "y": leaves[1]}, leaves[2]
    at_leaves = {"x": first, "y": second}
    of_trees = [{"x": a, "y": b} for a, b in zip(first, second, strict=True)]
    for form in (at_leaves, of_trees):
        found = compat.jet(f, point, (form, third), factorial_scaled=scaled)
        jax.tree.map(close, found, expected)


def test_under_transformations():
    xs, terms = jnp.linspace(0, 1, 10).reshape(2, 5), series(5, order=3)

    def of(jet):
        third = lambda x: jet(mlp, (x,), (terms,))[1][-1]
        return jax.jit(lambda xs: (jax.vmap(third)(xs), jax.grad(third)(xs[0])))(xs)

    jax.tree.map(close, of(compat.jet), of(reference.jet))


def test_primitives_that_jax_has_no_rule_for():
    f = lambda x: jnp.sum(jax.nn.softplus(jnp.sort(x)))
    _, (_, second) = compat.jet(f, (jnp.ones(3),), ([jnp.ones(3), jnp.zeros(3)],))
    s = jax.nn.sigmoid(1.0)
    close(second, 3 * s * (1 - s))


def test_errors(as_users_see_it):
    one, two = [1.0], [1.0, 2.0]
    for scaled in (True, False):
        call = functools.partial(compat.jet, jnp.add, factorial_scaled=scaled)
        with pytest.raises(
            ValueError, match=r"series of one length K >= 1 .* got lengths \[1, 2\]"
        ):
            call((0.0, 0.0), (one, two))
        with pytest.raises(ValueError, match=r"series of one length .* got lengths \[0, 1\]"):
            call((0.0, 0.0), ([], one))
        with pytest.raises(ValueError, match="one series for each primal; got 2 primals and 1 ser"):
            call((0.0, 0.0), (one,))
        with pytest.raises(TypeError, match="a point to differentiate at must be floating"):
            call((0, 0.0), (one, one))
        with pytest.raises(ValueError, match=r"series must have shape \(\) here; got \(2,\)"):
            call((0.0, 0.0), ([jnp.ones(2)], one))
