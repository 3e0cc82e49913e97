"""The laws of the algebra: `==` against exact symbols, values against exact arithmetic."""

from fractions import Fraction

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

import diffop as do

from .. import oracle, polynomials, symbols
from ..functions import SCALAR, relative_error
from ..symbols import at_three, numbers, operators
from .table import matrix_of, number_of, vector_of

pytestmark = pytest.mark.usefixtures("x64")

P = {
    (4, 2, 0): Fraction(1),
    (1, 3, 2): Fraction(-2),
    (0, 1, 4): Fraction(1, 2),
    (2, 2, 2): Fraction(3),
    (5, 0, 1): Fraction(-1),
    (1, 1, 1): Fraction(5),
    (0, 0, 6): Fraction(1, 4),
}
POINT = (Fraction(1, 2), Fraction(-3, 4), Fraction(5, 4))
few = hypothesis.settings(max_examples=5)  # each traces a new program


def assert_value(operator, symbol):
    """`.exact` at one point against exact arithmetic with the symbol."""
    expected = float(polynomials.evaluate(polynomials.apply(at_three(symbol), P), POINT))
    got = jax.jit(operator.exact(polynomials.function(P)))(jnp.array([float(x) for x in POINT]))
    scale = sum(abs(float(c)) for c in at_three(symbol).values())
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10 * max(scale, 1.0))


@hypothesis.given(operators, operators)
def test_equality_is_equality_of_symbols(a, b):
    (A, p), (B, q) = a, b
    assert (A == B) is (p == q)
    assert (A != B) is (p != q)


@hypothesis.given(operators)
def test_an_operator_equals_itself(a):
    (A, _) = a
    assert (A == A) is True
    assert (A == 2 * A) is (A == 0 * A)


@hypothesis.given(operators, operators, operators)
def test_addition_is_commutative_and_associative(a, b, c):
    (A, _), (B, _), (C, _) = a, b, c
    assert A + B == B + A
    assert (A + B) + C == A + (B + C)
    assert sum([A, B, C]) == A + B + C
    assert A + B - B == A
    assert -A == (-1) * A == A - 2 * A


@hypothesis.given(operators, operators, operators)
def test_composition_is_associative_and_distributes(a, b, c):
    (A, _), (B, _), (C, _) = a, b, c
    assert (A @ B) @ C == A @ (B @ C)
    assert A @ (B + C) == A @ B + A @ C
    assert (A + B) @ C == A @ C + B @ C
    assert A @ B == B @ A  # constant coefficients


@hypothesis.given(operators, operators, numbers, numbers)
def test_scalars(a, b, x, y):
    (A, _), (B, _) = a, b
    assert x * (A + B) == x * A + x * B
    assert (x + y) * A == x * A + y * A
    assert x * (y * A) == (x * y) * A == A * x * y
    assert A / 2 == 0.5 * A
    assert (x * A) @ (y * B) == (x * y) * (A @ B)


@hypothesis.given(operators)
def test_powers(a):
    (A, _) = a
    assert A**0 == do.Identity()
    assert A**1 == A
    hypothesis.assume(A != do.Identity())  # whose powers are refused
    assert A**2 == A @ A
    assert A**3 == A @ A @ A


@few
@hypothesis.given(operators, operators)
def test_values_of_sums(a, b):
    (A, p), (B, q) = a, b
    assert_value(A - 0.5 * B, polynomials.add(p, polynomials.scale(Fraction(-1, 2), q)))


@few
@hypothesis.given(operators, operators)
def test_values_of_compositions(a, b):
    (A, p), (B, q) = a, b
    assert_value(A @ B, polynomials.multiply(p, q))


@few
@hypothesis.given(symbols.terms)
def test_composition_is_applying_twice(a):
    """One term after a sum: compositions distribute, see above."""
    (A, _), u = a, polynomials.function({(4, 2, 0): Fraction(1), (2, 2, 2): Fraction(3)})
    B = do.Laplacian() - do.Partial(1)
    x = jnp.array([float(x) for x in POINT])
    once, twice = jax.jit(lambda x: ((A @ B).exact(u)(x), A.exact(B.exact(u))(x)))(x)
    np.testing.assert_allclose(once, twice, rtol=1e-10, atol=1e-10)


@few
@hypothesis.given(symbols.atoms, st.integers(0, 3))
def test_values_of_powers(a, m):
    (A, p) = a
    hypothesis.assume(A != do.Identity())
    assert_value(A**m, symbols.power(p, m))


EQUAL = {
    "biharmonic": lambda: (do.Laplacian() @ do.Laplacian(), do.Biharmonic()),
    "polylaplacian": lambda: (do.PolyLaplacian(2), do.Biharmonic()),
    "polylaplacian3": lambda: (do.PolyLaplacian(3), do.Laplacian() ** 3),
    "polylaplacian1": lambda: (do.PolyLaplacian(1), do.Laplacian()),
    "polylaplacian_products": lambda: (do.Biharmonic() @ do.Laplacian(), do.PolyLaplacian(3)),
    "diagonal": lambda: (do.DiagonalK(2), do.Laplacian()),
    "mixed_spellings": lambda: (do.Mixed((2, 1)), do.Mixed({1: 1, 0: 2})),
    "mixed_partial": lambda: (do.Mixed({0: 2}), do.Partial(0, order=2)),
    "mixed_product": lambda: (do.Mixed({0: 2, 1: 1}), do.Partial(1) @ do.Partial(0) ** 2),
    "dims": lambda: (do.Laplacian(dims=(0, 1)), do.Partial(0, order=2) + do.Partial(1, order=2)),
    "dims_order": lambda: (do.Laplacian(dims=(1, 0)), do.Laplacian(dims=(0, 1))),
    "biharmonic_dims": lambda: (do.Laplacian(dims=(0, 2)) ** 2, do.Biharmonic(dims=(0, 2))),
    "argnum": lambda: (do.Mixed({(1, 0): 1, (0, 2): 1}), do.Partial(argnum=1) @ do.Partial(2)),
    "tensor": lambda: (
        do.TensorOperator([{0: 2}, {1: 1}], [1.0, 2.0]),
        do.Partial(0, order=2) + 2 * do.Partial(1),
    ),
    "tensor_of_coordinates": lambda: (
        do.TensorOperator.from_coordinates(np.array([[0, 0, 1]]), jnp.array([3.0])),
        3 * do.Mixed({0: 2, 1: 1}),
    ),
    "identity": lambda: (do.Identity() @ do.Laplacian(), do.Laplacian()),
    "numbers": lambda: (2 * do.Laplacian(), 2.0 * do.Laplacian()),
    "array_scale": lambda: (jnp.array(2.0) * do.Laplacian(), do.Laplacian() + do.Laplacian()),
    "directional": lambda: (do.Directional(jnp.ones(3)), do.Directional(np.ones(3))),
    "second_order": lambda: (do.SecondOrder(jnp.eye(3)), do.SecondOrder(np.eye(3))),
}
DIFFERENT = {
    "orders": lambda: (do.Laplacian(), do.Biharmonic()),
    "coordinate": lambda: (do.Partial(0), do.Partial(1)),
    "argnum": lambda: (do.Laplacian(), do.Laplacian(argnum=1)),
    "argnum_of_partial": lambda: (do.Partial(0), do.Partial(0, argnum=1)),
    "dims": lambda: (do.Laplacian(), do.Laplacian(dims=(0, 1, 2))),
    "scale": lambda: (do.Laplacian(), 2 * do.Laplacian()),
    "array_scale": lambda: (jnp.array(3.0) * do.Laplacian(), 2 * do.Laplacian()),
    "diagonal_power": lambda: (do.DiagonalK(4), do.Biharmonic()),
    "coefficients": lambda: (do.Directional(jnp.ones(3)), do.Directional(jnp.zeros(3))),
    "matrix": lambda: (do.SecondOrder(jnp.eye(3)), do.SecondOrder(2 * jnp.eye(3))),
    "divergence": lambda: (do.Divergence(), do.Laplacian()),
    "gradient": lambda: (do.Gradient(), do.Laplacian()),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name):
    A, B = EQUAL[name]()
    assert (A == B) is True
    assert (A != B) is False


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name):
    A, B = DIFFERENT[name]()
    assert (A == B) is False
    assert (A != B) is True


def test_unequal_to_what_is_no_operator():
    assert (do.Laplacian() == 3) is False
    assert do.Laplacian() != "Δ"


def test_same_coefficient_function_is_equal():
    assert do.Directional(vector_of) == do.Directional(vector_of)
    assert (number_of * do.Laplacian() == number_of * do.Laplacian()) is True
    assert (number_of * do.Laplacian() == vector_of * do.Laplacian()) is False


# Variable coefficients: each composition against the oracle, applied twice.
LAPLACIAN, SECOND = oracle.laplacian(3), oracle.second_order(matrix_of)
DRIFT, ANGLE = oracle.directional(vector_of), number_of * oracle.partial(3, 1)
VARIABLE = {
    "scalar_times_operator": (lambda: number_of * do.Laplacian(), number_of * oracle.laplacian(3)),
    "partial_of_coefficient": (
        lambda: do.Partial(0) @ (number_of * do.Identity()),
        lambda u: oracle.partial(3, 0)((number_of * oracle.identity())(u)),
    ),
    "a∂_after_b∂": (
        lambda: do.Directional(vector_of) @ (number_of * do.Partial(1)),
        lambda u: DRIFT(ANGLE(u)),
    ),
    "b∂_after_a∂": (
        lambda: (number_of * do.Partial(1)) @ do.Directional(vector_of),
        lambda u: ANGLE(DRIFT(u)),
    ),
    "square_of_drift": (lambda: do.Directional(vector_of) ** 2, lambda u: DRIFT(DRIFT(u))),
    "laplacian_after_drift": (
        lambda: do.Laplacian() @ do.Directional(vector_of),
        lambda u: LAPLACIAN(DRIFT(u)),
    ),
    "drift_after_laplacian": (
        lambda: do.Directional(vector_of) @ do.Laplacian(),
        lambda u: DRIFT(LAPLACIAN(u)),
    ),
    "laplacian_after_matrix": (
        lambda: do.Laplacian() @ do.SecondOrder(matrix_of),
        lambda u: LAPLACIAN(SECOND(u)),
    ),
    "weighted_biharmonic": (
        lambda: do.Laplacian() @ (number_of * do.Laplacian()),
        lambda u: LAPLACIAN((number_of * oracle.laplacian(3))(u)),
    ),
    "sum_and_composition": (
        lambda: (
            (do.Directional(vector_of) + do.Identity())
            @ (do.Partial(2) - number_of * do.Partial(1))
        ),
        lambda u: (DRIFT + oracle.identity())((oracle.partial(3, 2) + (-1.0) * ANGLE)(u)),
    ),
    "product_of_functions": (
        lambda: number_of * (number_of * do.Partial(0)) + 2 * (number_of * do.Identity()),
        number_of * (number_of * oracle.partial(3, 0)) + 2.0 * (number_of * oracle.identity()),
    ),
}


@pytest.mark.parametrize("name", VARIABLE)
def test_variable_coefficients(name):
    build, expected = VARIABLE[name]
    function = SCALAR[1]
    model, (points,) = function.model("float64"), function.points("float64")
    got = jax.jit(jax.vmap(build().exact(model)))(points)
    assert relative_error(got, jax.jit(jax.vmap(expected(model)))(points)) <= 1e-10


def test_commutator_of_derivative_and_coordinate():
    """[∂_0, x_0] = 1."""
    x0 = lambda x: x[0]
    multiplication = x0 * do.Identity()
    commutator = do.Partial(0) @ multiplication - multiplication @ do.Partial(0)
    u = lambda x: jnp.sin(x[0]) * x[1]
    x = jnp.array([0.5, 2.0])
    np.testing.assert_allclose(commutator.exact(u)(x), u(x), rtol=1e-14)


def test_composition_with_divergence_and_gradient():
    """∇· after ∇ is Δ; the Laplacian of a divergence is the divergence of the Laplacian."""
    function = SCALAR[1]
    model, (points,) = function.model("float64"), function.points("float64")
    laplacian = jnp.trace(function.derivatives("float64")[2], axis1=-2, axis2=-1)
    got = jax.jit(jax.vmap(do.Divergence().exact(do.Gradient().exact(model))))(points)
    assert relative_error(got, laplacian) <= 1e-10

    field = lambda x: jnp.stack([jnp.sin(x[0] * x[1]), x[1] ** 3 * x[2], jnp.exp(x[2] - x[0])])
    got = jax.jit(jax.vmap((do.Laplacian() @ do.Divergence()).exact(field)))(points)
    expected = jax.jit(jax.vmap(oracle.laplacian(3)(oracle.divergence(3)(field))))(points)
    assert relative_error(got, expected) <= 1e-10


class Foreign:
    """An operand that knows how to combine with operators."""

    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __rmul__(self, other):
        return "rmul"


SHAPED = {
    "gradient": (do.Gradient(), lambda x: jnp.sum(x**3)),
    "divergence": (do.Divergence(), lambda x: x**3),
    "hessian": (do.Hessian(), lambda x: jnp.sum(x**3)),
    "gradient of a Laplacian": (do.Gradient() @ do.Laplacian(), lambda x: jnp.sum(x**3)),
    "entry": (do.Component(1) @ do.Laplacian(), lambda x: x**3),
    "variable": ((lambda x: x[0]) * do.Gradient(), lambda x: jnp.sum(x**3)),
    "not finite": (do.Divergence(), lambda x: jnp.sqrt(x - x)),
    "square": (do.Value() ** 2, lambda x: x**3),
    "product": (do.Value() * do.Gradient(), lambda x: jnp.sum(x**3)),
    "behind a linear operator": (
        do.Divergence() @ (do.FunctionOf(jnp.sin) * do.Gradient()),
        lambda x: jnp.sum(x**3),
    ),
}


@pytest.mark.parametrize("name", SHAPED)
def test_zero_has_the_shape_of_its_operator(name):
    """0 L and L − L are the operator 0, whose values are as L's. L is not taken away if it is added
    again, and nothing of another shape is added.
    """
    L, u = SHAPED[name]
    x = jnp.array([0.5, -1.0, 2.0])
    expected = jax.eval_shape(L.exact(u), x)
    for zero in (0 * L, L - L, 2 * L - L - L):
        for value in (zero.exact(u)(x), zero.estimate(jax.random.key(0), 2)(u)(x)):
            assert (value.shape, value.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(value, 0)
        assert zero + L == L == L + zero
        assert zero == 0 * L != L


def test_zeros_of_different_shapes_are_not_added():
    with pytest.raises(ValueError, match="0 div and ∇ cannot be added"):
        0 * do.Divergence() + do.Gradient()
    nothing = (do.Value() - do.Value()) * do.Laplacian()
    np.testing.assert_array_equal(nothing.exact(lambda x: x @ x)(jnp.ones(3)), 0)


def test_foreign_operands_get_their_turn():
    A = do.Laplacian()
    assert A + Foreign() == "radd"
    assert A @ Foreign() == "rmatmul"
    assert A * Foreign() == "rmul"


def test_numpy_scalars():
    A = do.Laplacian()
    assert np.float64(2.0) * A == 2 * A
    assert A * np.float64(2.0) == 2 * A
    assert np.array(2.0) * A == 2 * A
