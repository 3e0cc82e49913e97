"""`diffop.compat.fwdlap` beside nested differentiation: fwdlap's own tests, of the same content."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.compat import fwdlap

from .functions import FUNCTIONS, SHAPE, attention, electrons, mlp, nested

pytestmark = pytest.mark.usefixtures("x64", "promotion")

close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)

SIZE = SHAPE[0] * SHAPE[1]


def seeds(x, symbolic=True):
    """All coordinates, which have no Laplacian."""
    eye = jnp.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
    return (eye,), (fwdlap.zero_tangent_from_primal(x) if symbolic else jnp.zeros_like(x),)


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lap_and_lap_partial(name, symbolic):
    f, x = FUNCTIONS[name], electrons()

    @jax.jit
    def both(x):
        value, rest = fwdlap.lap_partial(f, (x,), *seeds(x, symbolic))
        return fwdlap.lap(f, (x,), *seeds(x, symbolic)), (value, *rest(*seeds(x, symbolic)))

    expected = jax.jit(nested, static_argnums=0)(f, x)
    for found in both(x):
        jax.tree.map(close, found, expected)


def test_several_arguments_of_which_some_do_not_move():
    x, y, z = electrons(), jnp.arange(1.0, 4.0), jnp.arange(3)
    seed = seeds(x)[0][0]
    f = lambda x, y, z: {"energy": mlp(x) * jnp.sum(y**2), "count": jnp.max(z)}
    still = fwdlap.zero_tangent_from_primal(y, SIZE), fwdlap.zero_tangent_from_primal(y)
    none = np.zeros((SIZE, 3), jax.dtypes.float0), np.zeros(3, jax.dtypes.float0)
    laplacian = jnp.sin(x)
    value, first, second = fwdlap.lap(
        f, (x, y, z), (seed, still[0], none[0]), (laplacian, still[1], none[1])
    )
    g = lambda x: f(x, y, z)["energy"]
    exact = nested(g, x)
    close(value["energy"], exact[0])
    close(first["energy"], exact[1])
    close(second["energy"], exact[2] + exact[1] @ laplacian.reshape(-1))
    assert (value["count"], first["count"].shape, second["count"]) == (2, (SIZE,), 0)


def test_a_part_of_the_directions_at_a_time():
    """The kinetic energy as programs write it: a loop of calls."""
    x = electrons().reshape(-1)
    f = lambda x: mlp(x.reshape(SHAPE))
    (eye,), zero = seeds(x)
    blocks = eye.reshape(4, SIZE // 4, SIZE)

    @jax.jit
    def kinetic():
        _, rest = fwdlap.lap_partial(f, (x,), (blocks[0],), zero)

        def add(i, total):
            jacobian, laplacian = rest((blocks[i],), zero)
            return total + jnp.sum(jacobian**2) + laplacian

        return -0.5 * jax.lax.fori_loop(0, 4, add, jnp.zeros(()))

    _, first, second = nested(f, x)
    close(kinetic(), -0.5 * (second + first @ first))


def test_scaled_directions_and_gradients():
    """As programs with masses write it, differentiated by a parameter."""
    x, scale = electrons().reshape(-1), jnp.linspace(0.5, 2, SIZE)

    def ours(s):
        f = lambda x: mlp(s * x.reshape(SHAPE))
        directions = (jnp.diag(jnp.sqrt(scale)),)
        _, first, second = fwdlap.lap(f, (x,), directions, (fwdlap.zero_tangent_from_primal(x),))
        return jnp.sum(first**2) + second

    def exact(s):
        f = lambda x: mlp(s * x.reshape(SHAPE))
        second = jax.jacfwd(jax.jacfwd(f))(x)
        return jnp.sum(scale * jax.jacfwd(f)(x) ** 2) + jnp.sum(scale * jnp.diagonal(second))

    jax.tree.map(close, *(jax.jit(jax.value_and_grad(each))(0.7) for each in (ours, exact)))


def test_mapped_over_points():
    xs = jnp.stack([electrons(), 2 * electrons()])
    found = jax.jit(jax.vmap(lambda x: fwdlap.lap(attention, (x,), *seeds(x))))(xs)
    jax.tree.map(close, found, jax.jit(jax.vmap(functools.partial(nested, attention)))(xs))


def test_errors(as_users_see_it):
    x = jnp.ones(3)
    zero, eye = fwdlap.zero_tangent_from_primal(x), jnp.eye(3)
    with pytest.raises(ValueError, match="primal at position 0 must be an array; got dict. Give"):
        fwdlap.lap(lambda x: x, ({"a": x},), (eye,), (zero,))
    with pytest.raises(ValueError, match="one number of directions, .* got 2 and 3"):
        fwdlap.lap(jnp.multiply, (x, x), (eye, eye[:2]), (zero, zero))
    with pytest.raises(ValueError, match="got zeros alone"):
        fwdlap.lap_partial(jnp.sin, (x,), (zero,), (zero,))
    with pytest.raises(ValueError, match=r"the Jacobian of an array of shape \(3,\) must have"):
        fwdlap.lap(jnp.sum, (x,), (jnp.ones((3, 1)),), (zero,))
    with pytest.raises(ValueError, match=r"must have the shape \(3, 3\); got shape \(3,\)"):
        fwdlap.lap(jnp.sum, (x,), (x,), (zero,))
    with pytest.raises(ValueError, match="array of type float64 must be real; got type complex128"):
        fwdlap.lap(jnp.sum, (x,), (1j * eye,), (zero,))
    with pytest.raises(ValueError, match=r"the Laplacian .* the shape \(3,\); got shape \(\)"):
        fwdlap.lap(jnp.sum, (x,), (eye,), (0.0,))
