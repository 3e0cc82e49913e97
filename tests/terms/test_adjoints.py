"""Adjoints beside nested differentiation and integrals by parts, and their laws by equality."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")


def c(x):
    return jax.lax.complex(jnp.sin(x[0]), x[1])


def real(x):
    return 1 + x[0] * x[1] ** 2


def b(x):
    return jnp.stack([x[1] ** 2 * x[0], jnp.cos(x[0]) * x[1]])


def matrix(x):  # neither symmetric nor constant
    return jnp.stack([jnp.stack([1 + x[0] ** 2, x[0] * x[1]]), jnp.stack([x[1], 2 + x[0]])])


def diagonal(x):
    return jnp.stack([x[1] ** 2 * x[0], jnp.sin(x[0]) * x[1]])


def product(x):
    return lambda v: matrix(x) @ v


M = np.array([[1.0, 0.5], [-2.0, 3.0]])


# The oracle: (Σ C_α ∂^α)* v = Σ (−1)^|α| ∂^α (conj(C_α) v), by nested forward differentiation.


def conj(values):
    return jnp.conj(jnp.asarray(values).astype(complex))


def first(field):
    """(b·∇)* v."""
    return lambda v: lambda x: -jnp.trace(jax.jacfwd(lambda y: conj(field(y)) * v(y))(x))


def second(field):
    """(C:∇²)* v: ∂_i∂_j of entry i, j."""

    def of(v):
        derivatives = jax.jacfwd(jax.jacfwd(lambda x: conj(field(x)) * v(x)))
        return lambda x: jnp.einsum("ijij", derivatives(x))

    return of


def times(function, derivative):
    """(c D)* = D* c̄."""
    return lambda v: derivative(lambda x: conj(function(x)) * v(x))


UNIT = np.eye(2)
CASES = {
    "partial": (do.Partial(1), first(lambda x: jnp.asarray(UNIT[1]))),
    "laplacian": (do.Laplacian(), second(lambda x: jnp.asarray(UNIT))),
    "scalar": (
        (2 + 3j) * do.Partial(0, order=2),
        second(lambda x: jnp.asarray((2 + 3j) * np.diag([1.0, 0.0]))),
    ),
    "array": (
        jnp.asarray(1 - 2j) * do.Partial(0),
        first(lambda x: jnp.asarray((1 - 2j) * UNIT[0])),
    ),
    "function": (c * do.Laplacian(), times(c, second(lambda x: jnp.asarray(UNIT)))),
    "multiplication": (c * do.Identity(), times(c, lambda v: v)),
    "field": (do.Directional(b), first(b)),
    "function times field": (c * do.Directional(b), times(c, first(b))),
    "field of some coordinates": (
        do.Directional(lambda x: b(x)[1:], dims=(1,)),
        first(lambda x: b(x) * jnp.asarray(UNIT[1])),
    ),
    "constant matrix": (do.SecondOrder(M), second(lambda x: jnp.asarray(M))),
    "matrix": (do.SecondOrder(matrix), second(matrix)),
    "matrix by products": (do.SecondOrder(product), second(matrix)),
    "diagonal": (do.SecondOrder(diagonal), second(lambda x: jnp.diag(diagonal(x)))),
    "diffusion": (
        do.ParabolicTrace(matrix),
        second(lambda x: matrix(x) @ matrix(x).T / 2),
    ),
    "diagonal diffusion": (
        do.ParabolicTrace(diagonal),
        second(lambda x: jnp.diag(diagonal(x) ** 2) / 2),
    ),
    "number diffusion": (
        do.ParabolicTrace(real),
        second(lambda x: real(x) ** 2 * jnp.asarray(UNIT) / 2),
    ),
    "list": (
        do.TensorOperator([{0: 2}, {0: 1, 1: 1}], diagonal),
        second(lambda x: jnp.stack([diagonal(x), jnp.zeros(2)])),
    ),
    "divergence form": (
        do.DivergenceForm(matrix),
        lambda v: (
            lambda x: jnp.trace(jax.jacfwd(lambda y: conj(matrix(y)).T @ jax.jacfwd(v)(y))(x))
        ),
    ),
}


def v(x):
    return wave(x[0] * x[1], 1 + x[0] ** 3)


def wave(phase, size):
    return jax.lax.complex(size * jnp.cos(phase), size * jnp.sin(phase))


def test_values_beside_nested_differentiation():
    x = jnp.array([0.7, -0.4])
    adjoints = {name: operator.adjoint() for name, (operator, _) in CASES.items()}
    got = jax.jit(lambda x: do.exact(adjoints)(v)(x))(x)
    expected = jax.jit(lambda x: {name: of(v)(x) for name, (_, of) in CASES.items()})(x)
    for name in CASES:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-11, err_msg=name)


def test_integrals_by_parts():
    """∫ conj(v) L u = ∫ conj(L* v) u over the plane, by the trapezoidal rule, which is exact to
    rounding where all vanishes at the ends.
    """
    u = lambda x: wave(x[0], jnp.exp(-2 * (x[0] - 0.3) ** 2 - 2 * x[1] ** 2))
    w = lambda x: wave(x[1] ** 2, jnp.exp(-2 * x[0] ** 2 - 2 * (x[1] + 0.2) ** 2))
    line = np.linspace(-5, 5, 81)
    points = jnp.asarray(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2))
    names = ("function times field", "matrix by products", "diffusion", "divergence form", "list")
    operators = {name: CASES[name][0] for name in names}
    operators |= {"composition": CASES["field"][0] @ (c * do.Partial(1)) + 1j * do.Identity()}

    @jax.jit
    @jax.vmap
    def integrands(x):
        adjoints = {name: L.adjoint() for name, L in operators.items()}
        left, right = do.exact(operators)(u)(x), do.exact(adjoints)(w)(x)
        return {n: (conj(w(x)) * left[n], conj(right[n]) * u(x), abs(left[n])) for n in operators}

    for name, values in integrands(points).items():
        left, right, size = (np.sum(value) for value in values)
        assert abs(left - right) <= 1e-12 * size, name


def test_the_adjoint_of_vector_operators():
    """∇* = −div, curl* = curl, and in the plane that of the curl turns the gradient."""
    assert do.Gradient().adjoint() == -do.Divergence()
    assert do.Divergence().adjoint() == -do.Gradient()
    assert do.Curl().adjoint() == do.Curl()
    assert (do.Gradient() @ do.Divergence()).adjoint() == do.Gradient() @ do.Divergence()
    turned = do.Curl(dims=(0, 1)).adjoint().exact(lambda x: x[0] ** 2 * x[1])(jnp.array([2.0, 3.0]))
    np.testing.assert_allclose(turned, [4.0, -12.0])  # (∂₁, −∂₀)
    field = lambda x: jnp.stack([x[0] * x[1], x[0] ** 2, x[1] ** 3])
    sigma = np.arange(6.0).reshape(2, 3)
    got = do.Gradient(sigma).adjoint().exact(field)(jnp.array([2.0, 3.0]))
    np.testing.assert_allclose(got, -np.trace(sigma @ np.array([[3, 2], [4, 0], [0, 27]])))
    got = do.Gradient(jnp.array([2.0, 5.0])).adjoint().exact(lambda x: field(x)[:2])(jnp.ones(2))
    np.testing.assert_allclose(got, -2.0)
    number = do.Gradient(3.0).adjoint()
    assert number == -3 * do.Divergence()


OPERATORS = {name: operator for name, (operator, _) in CASES.items()} | {
    "identity": do.Identity(),
    "third": do.DiagonalK(3) + (lambda x: x[0]) * do.Identity(),
    "learnt": jnp.asarray(0.5) * do.Directional(jnp.array([1.0, 2.0])),
    "two terms": do.Biharmonic() - 2j * do.Directional(b),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_laws(name):
    A = OPERATORS[name]
    for other in ("function times field", "matrix", "constant matrix", "two terms"):
        B = OPERATORS[other]
        assert (A @ B).adjoint() == B.adjoint() @ A.adjoint()
        assert (A @ B).transpose() == B.transpose() @ A.transpose()
        assert (A + 2j * B).adjoint() == A.adjoint() - 2j * B.adjoint()
    if name != "list":  # which is written row by row
        assert A.adjoint().adjoint() == A
        assert A.transpose().transpose() == A


def test_real_coefficients_are_their_own_transpose():
    """`adjoint` cannot see that a function is real."""
    assert (real * do.Identity()).transpose() == real * do.Identity()
    assert (real * do.Identity()).adjoint() != real * do.Identity()
    assert str((real * do.Partial(0)).adjoint()) == "−∂₀ (real\N{COMBINING MACRON}(x)·I)"
    assert do.DivergenceForm(M + M.T).adjoint() == do.DivergenceForm(M + M.T)
    assert (1j * do.Partial(0)).adjoint() == 1j * do.Partial(0)


@pytest.mark.parametrize("names", list(itertools.combinations(OPERATORS, 3))[::97])
def test_jacobi(names):
    A, B, C = (OPERATORS[name] for name in names)
    bracket = do.commutator
    assert bracket(A, bracket(B, C)) + bracket(B, bracket(C, A)) == -bracket(C, bracket(A, B))


def test_commutators():
    x, p = (lambda x: x[0]) * do.Identity(), -1j * do.Partial(0)
    u = lambda x: wave(x[1] - 1, jnp.exp(x[0]))
    np.testing.assert_allclose(do.commutator(x, p).exact(u)(jnp.ones(2)), 1j * np.e)
    assert do.commutator(do.Laplacian(), do.Partial(0)) == 0 * do.Laplacian()
    assert do.commutator(x, p) == -do.commutator(p, x)
    with pytest.raises(TypeError, match="expects two operators; got <function"):
        do.commutator(do.Partial(0), b)
    with pytest.raises(TypeError, match="estimates do not compose"):
        do.commutator(do.Laplacian().estimate(jax.random.key(0), 2), do.Partial(0))


def test_traced_coefficients():
    """Adjoints are taken inside of programs, and differentiated by what is learnt."""
    x = jnp.array([0.7, -0.4])

    def value(kappa):
        return (kappa * do.Partial(0) @ (real * do.Identity())).adjoint().exact(jnp.sum)(x)

    slope = jax.jit(jax.grad(value))(2.0)
    np.testing.assert_allclose(slope, -real(x))


@pytest.mark.parametrize("probes", ["sparse", "rademacher"])
def test_estimates_are_unbiased(probes):
    """n = 1 draws of two coordinates, over many keys; the exact value is 7 standard errors wide."""
    L = do.Generator(b, matrix).adjoint()
    u = lambda x: jnp.exp(x[0] - x[1]) * jnp.sin(x[0] * x[1])
    x, keys = jnp.array([0.7, -0.4]), jax.random.split(jax.random.key(0), 4000)
    draws = jax.jit(jax.vmap(lambda key: L.estimate(key, 1, probes)(u)(x)))(keys)
    error = np.std(draws) / np.sqrt(len(draws))
    assert error > 0
    assert abs(np.mean(draws) - L.exact(u)(x)) < 4 * error


def test_fokker_planck():
    """∂_t p = L* p is −∇·(b p) + ½ ∇·∇·(σσᵀ p), and keeps a Boltzmann density."""
    potential = lambda x: x[0] ** 4 / 4 + x[0] * x[1] + x[1] ** 2
    L = do.Generator(lambda x: -jax.grad(potential)(x), 2**0.5)
    density = lambda x: jnp.exp(-potential(x))
    np.testing.assert_allclose(L.adjoint().exact(density)(jnp.array([0.7, -0.4])), 0, atol=1e-14)
    assert L == L.drift + L.diffusion
    assert L.order == 2
    x = jnp.array([0.7, -0.4])
    got = do.Generator(b, matrix).adjoint().exact(v)(x)
    a = lambda x: matrix(x) @ matrix(x).T / 2
    np.testing.assert_allclose(got, first(b)(v)(x) + second(a)(v)(x), rtol=1e-12)
    of_two = do.Generator(lambda x, t: t * x[1:], 1.0, dims=(1,)).adjoint()
    got = of_two.exact(lambda x, t: t * x[0] * x[1] ** 2)(x, 3.0)
    np.testing.assert_allclose(got, 3 * x[0] * (-3 * 3 * x[1] ** 2 + 1), rtol=1e-12)


test_refused = refusals(
    {
        "I₀ has no adjoint by itself: it takes an entry": lambda: do.Component(0).adjoint(),
        "∇∇ᵀ has no adjoint here": lambda: do.Hessian().adjoint(),
        "the columns of σ are not known": lambda: do.Gradient(matrix).adjoint(),
    },
)
