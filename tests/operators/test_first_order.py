"""Sums of derivatives of order one, which are one direction, beside the Jacobian that `jax.jacfwd`
makes.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..functions import relative_error

pytestmark = pytest.mark.usefixtures("x64")

P = do.Partial
X, T, S = np.array([0.3, -0.7, 1.1]), 0.4, np.array([1.3, -0.6])


def u(x, t):
    """Two values, of a vector and a number."""
    y = jnp.sin(x @ jnp.asarray([[1.0, 0.5], [-0.3, 2.0], [0.7, -1.1]]) + t * x[0])
    return jnp.stack([y[0] * y[1] + t, jnp.exp(y[0] - t * y[1])])


def a(x, t):
    return x[1] * t


def b(x, t):
    return jnp.sin(x[0]).astype(jnp.float32)


FORMS = {
    # an operator of traced numbers, and what it is, by the derivatives (values, 3) and (values,)
    "known": (
        lambda s: 2 * P(0) - 3.5 * P(2) + P(argnum=1),
        lambda s, x, t, dx, dt: 2 * dx[:, 0] - 3.5 * dx[:, 2] + dt,
    ),
    "traced": (
        lambda s: s[0] * P(0) + s[1] * P(argnum=1) - P(1),
        lambda s, x, t, dx, dt: s[0] * dx[:, 0] + s[1] * dt - dx[:, 1],
    ),
    "functions": (
        lambda s: a * P(0) + s[0] * (b * P(1)) + 2 * (a * (b * P(2))),
        lambda s, x, t, dx, dt: (
            x[1] * t * dx[:, 0]
            + s[0] * b(x, t).astype(float) * dx[:, 1]
            + 2 * x[1] * t * b(x, t).astype(float) * dx[:, 2]
        ),
    ),
    "one_coordinate": (
        lambda s: a * P(0) + P(0) + s[1] * P(2),
        lambda s, x, t, dx, dt: (x[1] * t + 1) * dx[:, 0] + s[1] * dx[:, 2],
    ),
    "traced_coordinate": (
        lambda s: P((s[0] > 0).astype(int)) + s[1] * P(0),
        lambda s, x, t, dx, dt: dx[:, 1] + s[1] * dx[:, 0],
    ),
    "other_forms": (
        lambda s: (
            do.Directional(lambda x, t: t * x)
            + s[0] * do.DiagonalK(1)
            + 3 * do.TensorOperator([{0: 1}, {2: 1}, {0: 1}], jnp.stack([s[0], s[1], s[1]]))
            - P(argnum=1)
        ),
        lambda s, x, t, dx, dt: (
            dx @ (t * x)
            + s[0] * jnp.sum(dx, axis=1)
            + 3 * ((s[0] + s[1]) * dx[:, 0] + s[1] * dx[:, 2])
            - dt
        ),
    ),
    "entries": (
        lambda s: (P(0) + 2 * P(1)) @ do.Component(0) + (P(0) - P(2)) @ do.Component(1),
        lambda s, x, t, dx, dt: dx[0, 0] + 2 * dx[0, 1] + dx[1, 0] - dx[1, 2],
    ),
    "complex": (
        lambda s: 1j * P(0) + 2 * P(1),
        lambda s, x, t, dx, dt: jax.lax.complex(2 * dx[:, 1], dx[:, 0]),
    ),
    "large": (
        lambda s: 1e100 * P(0) - 2 * P(1),
        lambda s, x, t, dx, dt: 1e100 * dx[:, 0] - 2 * dx[:, 1],
    ),
    "of_a_product": (
        lambda s: (P(0) + s[0] * P(2)) @ ((lambda x, t: x[0] * x[2]) * do.Identity()),
        lambda s, x, t, dx, dt: (
            (x[2] + s[0] * x[0]) * u(x, t) + x[0] * x[2] * (dx[:, 0] + s[0] * dx[:, 2])
        ),
    ),
    "beside_others": (
        lambda s: P(0) + s[0] * P(1) + 2 * P(2) + do.Laplacian(dims=(1,)) + 3 * P(0, order=2),
        lambda s, x, t, dx, dt: (
            dx @ jnp.stack([1, s[0], 2])
            + jnp.einsum("vii,i->v", jax.jacfwd(jax.jacfwd(u))(x, t), jnp.asarray([3.0, 1, 0]))
        ),
    ),
}


@pytest.fixture(scope="module")
def found():
    """What all operators make of u, each with its gradient by numbers and points, beside what the
    Jacobian says.
    """
    point = (jnp.asarray(S), jnp.asarray(X), jnp.asarray(T))

    def ours(s, x, t):
        operators = {name: build(s) for name, (build, _) in FORMS.items()}
        return {name: operator.exact(u)(x, t) for name, operator in operators.items()}

    def theirs(s, x, t):
        dx, dt = jax.jacfwd(u, (0, 1))(x, t)
        return {name: of(s, x, t, dx, dt) for name, (_, of) in FORMS.items()}

    def both(of):
        def real(*args):
            return {name: jnp.real(value) for name, value in of(*args).items()}

        return of(*point), jax.jacrev(real, (0, 1, 2))(*point)

    return jax.jit(lambda: (both(ours), both(theirs)))()


@pytest.mark.parametrize("name", FORMS)
def test_values(name, found):
    (got, _), (expected, _) = found
    assert got[name].dtype == expected[name].dtype
    assert relative_error(got[name], expected[name]) <= 1e-12


@pytest.mark.parametrize("name", FORMS)
def test_gradients(name, found):
    (_, got), (_, expected) = found
    for mine, other in zip(got[name], expected[name], strict=True):
        assert float(jnp.abs(mine - other).max()) <= 1e-12 * max(1, float(jnp.abs(other).max()))


def test_several_points_at_once():
    """Directions that differ from point to point, and one function of all."""
    operator = a * P(0) + P(2) + do.Directional(lambda x, t: t * x)
    x, t = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3))), jnp.linspace(0.1, 1, 5)

    def expected(x, t):
        return jax.jacfwd(u)(x, t) @ (t * x + jnp.stack([x[1] * t, 0, 1]))

    got, wanted = jax.jit(lambda: (jax.vmap(operator.exact(u))(x, t), jax.vmap(expected)(x, t)))()
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_numbers_keep_their_digits_beside_a_narrow_point():
    """A point of half precision does not round the coefficients of a function in single."""
    operator = 0.1 * P(0) + 0.1 * P(1)
    value = operator.exact(lambda x: jnp.sum(x.astype(jnp.float32)))(jnp.ones(2, jnp.float16))
    assert value.dtype == jnp.float32 and abs(float(value) - 0.2) < 1e-7
