"""First derivatives that are read from the jets of higher ones: as many coefficients as are needed,
and the values of nested autodiff and of jets that share nothing.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")

RNG = np.random.default_rng(0)


def c(x, *_):
    return 1.0 + x[0] ** 2


def u(x, *t):
    wave = jnp.sin(
        jnp.sum(x * jnp.linspace(1.0, 2.0, x.size)) + sum(jnp.sum(jnp.cos(s)) for s in t)
    )
    return wave + jnp.sum(x**3) * jnp.exp(0.3 * x[0])


def gradient(x):
    return [do.Partial(i) for i in range(x.size)]


def nested(x, *t):
    """Δu, ∇u and the derivative with respect to the second argument, by nested autodiff."""
    hessian = jax.jacfwd(jax.grad(u))(x, *t)
    return jnp.trace(hessian), jax.grad(u)(x, *t), jax.grad(u, 1)(x, *t) if t else None


@pytest.mark.parametrize("dim", [1, 2, 4, 5])
def test_gradients_beside_a_laplacian(dim):
    """Up to four dimensions they take nothing more."""
    x = jnp.asarray(RNG.normal(size=dim))
    joint = do.exact([do.Laplacian(), *gradient(x)])
    laplacian, slope, _ = jax.jit(nested)(x)
    got, *partials = jax.jit(joint(u))(x)
    np.testing.assert_allclose(got, laplacian, rtol=1e-12)
    np.testing.assert_allclose(partials, slope, rtol=1e-12)
    plan = joint.jets(x)
    assert plan.coefficients == (dim + 1 if dim <= 4 else 2 * dim + 1)


@pytest.mark.parametrize("dim", [2, 4])
@pytest.mark.parametrize("kind", ["auto", "nested"])
def test_advection_and_diffusion(dim, kind):
    """Along variable directions, given as one or by coordinates; "nested" shares nothing."""
    x = jnp.asarray(RNG.normal(size=dim))
    operator = 0.5 * do.Laplacian() + do.Directional(lambda x: x**2) - c * do.Partial(1)
    laplacian, slope, _ = jax.jit(nested)(x)
    expected = 0.5 * laplacian + slope @ x**2 - c(x) * slope[1]
    np.testing.assert_allclose(operator.exact(u, plan=kind)(x), expected, rtol=1e-12)
    assert operator.exact.jets(x, plan=kind).coefficients == dim + (1 if kind == "auto" else 2)


def test_heat_in_one_dimension():
    """u_t and u_xx are one coefficient, beside u_x."""
    x, t = jnp.array([0.3]), jnp.array(0.7)
    heat = do.Partial(argnum=1) - do.Laplacian()
    laplacian, slope, rate = jax.jit(nested)(x, t)
    plan = heat.exact.jets(x, t)
    assert plan.coefficients == plan.least == 2
    np.testing.assert_allclose(jax.jit(heat.exact(u))(x, t), rate - laplacian, rtol=1e-12)
    burgers = do.exact([heat, do.Partial(0)])
    assert burgers.jets(x, t).coefficients == 2
    np.testing.assert_allclose(burgers(u)(x, t), [rate - laplacian, slope[0]], rtol=1e-12)


def test_some_coordinates():
    """∂_t with respect to a coordinate that the Laplacian leaves out has a jet of its own."""
    x = jnp.asarray(RNG.normal(size=4))
    joint = do.exact([do.Laplacian(dims=(0, 1, 3)), do.Partial(3), do.Partial(2)])
    hessian, slope = jax.hessian(u)(x), jax.grad(u)(x)
    got = joint(u)(x)
    np.testing.assert_allclose(got[0], jnp.trace(hessian) - hessian[2, 2], rtol=1e-12)
    np.testing.assert_allclose(got[1:], slope[jnp.array([3, 2])], rtol=1e-12)
    assert joint.jets(x).coefficients == 4 + 1


def test_values_of_several_entries():
    def field(x):
        return jnp.stack([u(x), jnp.sum(x**4), x[0] * x[1]])

    x = jnp.asarray(RNG.normal(size=2))
    joint = do.exact([do.Laplacian() @ do.Component((0, 2)), do.Partial(1) @ do.Component(1)])
    first, second = joint(field)(x)
    hessian = jax.jacfwd(jax.jacfwd(field))(x)
    np.testing.assert_allclose(first, jnp.trace(hessian, axis1=1, axis2=2)[jnp.array([0, 2])])
    np.testing.assert_allclose(second, jax.jacfwd(field)(x)[1, 1], rtol=1e-12)


def test_chunks_keep_no_single_direction():
    x = jnp.asarray(RNG.normal(size=6))
    joint = do.exact([do.Laplacian(), *gradient(x)])
    together, apart = joint(u)(x), joint(u, chunk=2)(x)
    np.testing.assert_allclose(apart, together, rtol=1e-12)


def test_estimates_share_nothing_that_is_drawn():
    """The mean over all pairs of directions is exact, whatever stands beside the estimate."""
    x = jnp.asarray(RNG.normal(size=3))
    keys = jax.random.split(jax.random.key(0), 2000)

    def of(key):
        return do.exact([do.Laplacian().estimate(key, 2), do.Partial(0)])(u)(x)

    laplacian, slope, _ = nested(x)
    drawn, exact = jax.jit(jax.vmap(of))(keys)
    assert abs(jnp.mean(drawn) - laplacian) < 5 * jnp.std(drawn) / 2000**0.5
    np.testing.assert_allclose(exact, slope[0], rtol=1e-12)


@pytest.mark.parametrize("number", [1.0, -2.5])
def test_squares_written_by_coordinates(number):
    """As many coefficients as with the Laplacian, and its values."""
    x = jnp.asarray(RNG.normal(size=3))
    squares = number * (do.Partial(0, 2) + do.Partial(1, 2) + do.Partial(2, 2))
    joint = do.exact([squares - 3.0 * do.Partial(1), do.Partial(0)])
    laplacian, slope, _ = nested(x)
    expected = [number * laplacian - 3.0 * slope[1], slope[0]]
    np.testing.assert_allclose(jax.jit(joint(u))(x), expected, rtol=1e-12)
    assert joint.jets(x).coefficients == 4


def test_squares_that_others_need_stay():
    """∂_0² alone, with other numbers, of other entries, in other sums or in estimates."""

    def field(x):
        return jnp.stack([u(x), jnp.cos(x @ x)])

    x = jnp.asarray(RNG.normal(size=3))
    first, second = do.Partial(0, 2), do.Partial(1, 2)
    both = first @ do.Component(0) + second @ do.Component(1)
    operators = [first + second, first, 2.0 * first - second, do.Mixed({0: 1, 1: 1}), both]
    hessian = jax.jacfwd(jax.jacfwd(field))(x)
    one, two = hessian[:, 0, 0], hessian[:, 1, 1]
    expected = [one + two, one, 2.0 * one - two, hessian[:, 0, 1], one[0] + two[1]]
    for got, wanted in zip(do.exact(operators)(field)(x), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    estimate = (first + second).estimate(jax.random.key(0), 1)
    np.testing.assert_allclose(estimate(field)(x), one + two, rtol=1e-12)


def test_fourth_powers_and_inner_functions():
    x = jnp.asarray(RNG.normal(size=2))
    fourth = do.Partial(0, 4) + do.Partial(1, 4)
    inner = (do.Partial(0, 2) + do.Partial(1, 2)) @ (c * do.Identity())
    got = do.exact([fourth, inner, do.Partial(1)])(u)(x)
    fourths = jax.jacfwd(jax.jacfwd(jax.hessian(u)))(x)
    product = jax.hessian(lambda x: c(x) * u(x))(x)
    expected = [fourths[0, 0, 0, 0] + fourths[1, 1, 1, 1], jnp.trace(product), jax.grad(u)(x)[1]]
    np.testing.assert_allclose(got, expected, rtol=1e-11)


def of_tree(tree):
    x = jnp.concatenate([tree["a"].reshape(-1), tree["b"].reshape(-1)])
    return {"wave": u(x), "field": jnp.stack([jnp.cos(x @ x), x[0] ** 3 * x[2]])}


@pytest.mark.parametrize("kind", ["auto", "nested"])
def test_the_gradient_beside_a_laplacian(kind):
    """In the structure of the argument, for each output; "nested" takes reverse mode."""
    tree = {"a": jnp.asarray(RNG.normal(size=(2, 1))), "b": jnp.asarray(0.4)}
    joint = do.exact({"slope": do.Gradient(), "laplacian": do.Laplacian()})
    got = jax.jit(joint(of_tree, plan=kind))(tree)
    slope, second = jax.jit(lambda t: (jax.jacrev(of_tree)(t), jax.hessian(of_tree)(t)))(tree)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), got["slope"], slope)
    assert jax.tree.structure(got["slope"]) == jax.tree.structure(slope)
    trace = lambda y: jnp.einsum("...abab", y["a"]["a"].reshape(*y["a"]["a"].shape)) + y["b"]["b"]
    expected = {name: trace(second[name]) for name in second}
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), got["laplacian"], expected
    )


@pytest.mark.parametrize("dim", [1, 4, 5])
def test_reverse_mode_is_left_to_many_coordinates(dim):
    """Up to four coordinates the derivatives are read: nothing is transposed."""
    x = jnp.asarray(RNG.normal(size=dim))
    joint = do.exact([c * do.Gradient(), do.Laplacian()])
    laplacian, slope, _ = nested(x)
    got = joint(u)(x)
    np.testing.assert_allclose(got[0], c(x) * slope, rtol=1e-12)
    np.testing.assert_allclose(got[1], laplacian, rtol=1e-12)
    named = [name for push in joint.jets(x).pushes for name, _ in push.named]
    assert any("∇" in name for name in named) == (dim < 5)


def test_the_gradient_beside_a_hessian():
    x = jnp.asarray(RNG.normal(size=3))
    joint = do.exact([do.Hessian(), do.Gradient()])
    np.testing.assert_allclose(joint(u)(x)[0], jax.hessian(u)(x), rtol=1e-12)
    np.testing.assert_allclose(joint(u)(x)[1], jax.grad(u)(x), rtol=1e-12)
    assert joint.jets(x).coefficients == 3 + 6


def test_gradients_with_respect_to_some_coordinates():
    x, t = jnp.asarray(RNG.normal(size=3)), jnp.asarray(0.2)
    joint = do.exact([do.Gradient(dims=(2, 0)), do.Laplacian(), do.Gradient(argnum=1)])
    laplacian, slope, rate = nested(x, t)
    got = joint(u)(x, t)
    np.testing.assert_allclose(got[0], slope[jnp.array([2, 0])], rtol=1e-12)
    np.testing.assert_allclose(got[1], laplacian, rtol=1e-12)
    np.testing.assert_allclose(got[2], rate, rtol=1e-12)


def test_complex_values():
    def wave(x):
        return jax.lax.complex(jnp.cos(u(x)) * x[0], jnp.sin(u(x)))

    x = jnp.asarray(RNG.normal(size=2))
    slope, laplacian = do.exact([do.Gradient(), do.Laplacian()])(wave)(x)
    parts = [lambda x: jnp.real(wave(x)), lambda x: jnp.imag(wave(x))]
    slopes, hessians = ([d(part)(x) for part in parts] for d in (jax.grad, jax.hessian))
    slopes, hessians = np.asarray(slopes), np.asarray(hessians)
    np.testing.assert_allclose(slope, slopes[0] + 1j * slopes[1], rtol=1e-12)
    traces = np.trace(hessians, axis1=1, axis2=2)
    np.testing.assert_allclose(laplacian, traces[0] + 1j * traces[1], rtol=1e-12)


def test_first_derivatives_beside_powers():
    """∇u beside Δ²u and ∂_iΔu, which are polynomials in two coordinates: their divisors."""
    x = jnp.asarray(RNG.normal(size=2))
    slopes = do.Partial(0), do.Partial(1)
    bent = [slope @ do.Laplacian() for slope in slopes]
    joint = do.exact([*slopes, *bent, do.Biharmonic()])
    laplacian = lambda x: jnp.trace(jax.hessian(u)(x))
    expected = [*jax.grad(u)(x), *jax.grad(laplacian)(x), jnp.trace(jax.hessian(laplacian)(x))]
    np.testing.assert_allclose(joint(u)(x), expected, rtol=1e-11)
    plan = joint.jets(x)
    assert plan.coefficients == plan.least == 8


def test_squares_are_checked_one_by_one():
    """Also where they become a power sum: a multi-index has as many orders as coordinates."""
    squares = do.Mixed((2, 0)) + do.Mixed((0, 2))
    with pytest.raises(ValueError, match=r"one of 2 for argument 0, which has 3; give it 3"):
        do.exact([squares, do.Partial(0)])(u)(jnp.ones(3))


def test_plans_that_are_asked_for_read_terms_as_they_are():
    """A scheme by hand is not asked for ∂_x² in the place of Δ, which needs none."""
    x, t = (0, 0), (1, 0)
    curve = do.schemes.Jet({1: x, 2: t})
    scheme = do.schemes.Scheme({(x, t): (curve[3] - do.schemes.Jet({1: x})[3]) / 3})
    joint = do.exact([do.Laplacian(), do.Mixed({x: 1, t: 1})])
    args = jnp.array([0.3]), jnp.array(0.7)
    mixed = jax.jacfwd(jax.grad(u), argnums=1)(*args)
    got = joint(u, plan=scheme)(*args)
    np.testing.assert_allclose(got, [nested(*args)[0], mixed[0]], rtol=1e-10)


def test_rows_without_a_name_are_left_alone():
    """First derivatives of such jets would be pushed once more, all of them."""
    x = jnp.asarray(RNG.normal(size=3))
    squares = do.TensorOperator([{0: 2}, {1: 2}], [1.0, 2.0])
    joint = do.exact([squares, do.Partial(0)])
    hessian = jax.hessian(u)(x)
    expected = [hessian[0, 0] + 2.0 * hessian[1, 1], jax.grad(u)(x)[0]]
    np.testing.assert_allclose(joint(u)(x), expected, rtol=1e-12)
    assert joint.jets(x).total == 3


def flow(x):
    """A velocity and a pressure."""
    return jnp.stack([*(u(x + shift) for shift in range(x.size)), jnp.exp(x[0]) * jnp.cos(x @ x)])


@pytest.mark.parametrize("dim", [2, 4, 5])
def test_first_derivatives_beside_a_divergence(dim):
    """Up to four coordinates they take nothing more, and nothing is transposed."""
    x = jnp.asarray(RNG.normal(size=dim))
    velocity, pressure = do.Component(tuple(range(dim))), do.Component(dim)
    joint = do.exact(
        {
            "divergence": do.Divergence() @ velocity,
            "force": do.Gradient() @ pressure,
            "slope": do.Partial(1) @ pressure,
            "curl": do.Curl(dims=(1, 0)) @ do.Component((0, 1)),
        }
    )
    got, slopes = jax.jit(lambda x: (joint(flow)(x), jax.jacfwd(flow)(x)))(x)
    np.testing.assert_allclose(got["divergence"], jnp.trace(slopes[:dim]), rtol=1e-12)
    np.testing.assert_allclose(got["force"], slopes[dim], rtol=1e-12)
    np.testing.assert_allclose(got["slope"], slopes[dim, 1], rtol=1e-12)
    np.testing.assert_allclose(got["curl"], slopes[1, 1] - slopes[0, 0], rtol=1e-12)
    plan = joint.jets(x)
    assert plan.coefficients == (dim if dim <= 4 else dim + 2)
    assert any("∇" in name for push in plan.pushes for name, _ in push.named) == (dim <= 4)


def test_gradients_beside_a_divergence_and_a_curl():
    """The Jacobian of a network takes no products beside theirs."""
    first, second = jnp.asarray(RNG.normal(size=(3, 8))), jnp.asarray(RNG.normal(size=(8, 3)))
    network = lambda x: jnp.tanh(x @ first) @ second
    x = jnp.asarray(RNG.normal(size=3))
    for beside in (do.Divergence(), do.Curl(), [do.Divergence(), do.Curl()]):
        slopes, _ = do.exact([do.Gradient(), beside])(network)(x)
        np.testing.assert_allclose(slopes, jax.jacfwd(network)(x), rtol=1e-12)
        alone, together = (
            jaxprs.multiplications(jaxprs.of(do.exact(each)(network), x))
            for each in ([beside], [do.Gradient(), beside])
        )
        assert together == alone


def test_a_divergence_of_some_coordinates():
    """Derivatives with respect to others have jets of their own; so has what is drawn."""
    x = jnp.asarray(RNG.normal(size=3))
    divergence = do.Divergence(dims=(2, 0)) @ do.Component((0, 1))
    drawn = (do.Divergence() @ do.Component((0, 1, 2))).estimate(jax.random.key(0), 3)
    joint = do.exact([divergence, do.Partial(1), do.Partial(2), drawn])
    got, slopes = joint(flow)(x), jax.jacfwd(flow)(x)
    np.testing.assert_allclose(got[0], slopes[0, 2] + slopes[1, 0], rtol=1e-12)
    np.testing.assert_allclose(got[1], slopes[:, 1], rtol=1e-12)
    np.testing.assert_allclose(got[2], slopes[:, 2], rtol=1e-12)
    np.testing.assert_allclose(got[3], jnp.trace(slopes[:3]), rtol=1e-12)
    assert do.exact([divergence, do.Partial(1), do.Partial(2)]).jets(x).coefficients == 2 + 1


def test_a_divergence_in_the_structure_of_the_argument():
    tree = {"a": jnp.asarray(RNG.normal(size=2)), "b": jnp.asarray(0.4)}

    def field(tree):
        x = jnp.append(tree["a"], tree["b"])
        return {"a": x[:2] * jnp.sin(x @ x), "b": u(x)}

    divergence, slope = do.exact([do.Divergence(), do.Gradient()])(field)(tree)
    slopes = jax.jacfwd(field)(tree)
    expected = jnp.trace(slopes["a"]["a"]) + slopes["b"]["b"]
    np.testing.assert_allclose(divergence, expected, rtol=1e-12)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), slope, slopes)
