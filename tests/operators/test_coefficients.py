"""Coefficients in every form: arrays, callables, matrix-vector products, numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import functions
from ..functions import relative_error
from .table import SIGMA, C, matrix_of

pytestmark = pytest.mark.usefixtures("x64")

FUNCTION = functions.SCALAR[1]


def hessians():
    return FUNCTION.derivatives("float64")[2]


def apply(operator):
    (points,) = FUNCTION.points("float64")
    return jax.jit(jax.vmap(operator.exact(FUNCTION.model("float64"))))(points)


class HasMv(eqx.Module):
    """What linear-operator libraries provide."""

    matrix: jax.Array

    def mv(self, v):
        return self.matrix @ v


SECOND_ORDER = {
    "array": lambda: do.SecondOrder(jnp.asarray(C)),
    "numpy": lambda: do.SecondOrder(C),
    "matvec": lambda: do.SecondOrder(do.operators.MatVec(lambda v: jnp.asarray(C) @ v)),
    "mv": lambda: do.SecondOrder(HasMv(jnp.asarray(C))),
    "callable": lambda: do.SecondOrder(lambda x: jnp.asarray(C)),
    "callable_matvec": lambda: do.SecondOrder(lambda x: lambda v: jnp.asarray(C) @ v),
}


@pytest.mark.parametrize("form", SECOND_ORDER)
def test_forms_of_a_matrix(form):
    expected = jnp.einsum("nij,ij->n", hessians(), jnp.asarray(C))
    assert relative_error(apply(SECOND_ORDER[form]()), expected) <= 1e-10


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("product", [jnp.sum, lambda v: v[:-1]])
def test_products_with_vectors_are_vectors_of_their_size(product):
    matrix = do.operators.MatVec(product)
    for operator in (do.SecondOrder(matrix), do.ParabolicTrace(matrix), do.Gradient(matrix)):
        with pytest.raises(ValueError, match=r"with a vector must have shape \(3,\) at this point"):
            operator.exact(lambda x: jnp.sum(x**2))(jnp.ones(3))


def test_a_matrix_is_symmetrised():
    symmetric, skew = jnp.asarray(C + C.T) / 2, jnp.asarray(C - C.T) / 2
    assert (
        relative_error(apply(do.SecondOrder(jnp.asarray(C))), apply(do.SecondOrder(symmetric)))
        < 1e-12
    )
    size = float(jnp.abs(hessians()).max())
    assert float(jnp.abs(apply(do.SecondOrder(skew))).max()) <= 1e-13 * size


def test_parabolic_trace_is_second_order():
    expected = apply(do.SecondOrder(jnp.asarray(SIGMA @ SIGMA.T) / 2))
    assert relative_error(apply(do.ParabolicTrace(jnp.asarray(SIGMA))), expected) <= 1e-12


def test_coefficient_function_of_two_arguments():
    """A callable has u's own signature, whatever argument is differentiated."""
    u = lambda x, t: jnp.sum(x**3) * t**2
    x, t = jnp.array([1.0, 2.0]), jnp.array(3.0)
    operators = [
        do.SecondOrder(lambda x, t: t * jnp.outer(x, x)),
        (lambda x, t: t + x[1]) * do.Partial(argnum=1),
    ]
    got = jax.jit(lambda x, t: [operator.exact(u)(x, t) for operator in operators])(x, t)
    np.testing.assert_allclose(got, [3 * (6 * 1 + 4 * 12) * 9, 5 * 9 * 6], rtol=1e-13)


def test_a_module_as_coefficient():
    """A network as coefficient: an operator with learnable parameters inside."""
    network = eqx.nn.MLP(3, 9, 4, 1, key=jax.random.key(0))

    class Matrix(eqx.Module):
        network: eqx.nn.MLP

        def __call__(self, x):
            return self.network(x).reshape(3, 3)

    (points,) = FUNCTION.points("float64")
    operator = do.SecondOrder(Matrix(network))
    expected = jnp.einsum("nij,nij->n", hessians(), jax.vmap(network)(points).reshape(-1, 3, 3))
    assert relative_error(apply(operator), expected) <= 1e-10

    loss = lambda operator: jnp.sum(apply(operator) ** 2)
    gradient = jax.tree.leaves(eqx.filter_jit(eqx.filter_grad(loss))(operator))

    def reference(network):
        matrices = jax.vmap(network)(points).reshape(-1, 3, 3)
        return jnp.sum(jnp.einsum("nij,nij->n", hessians(), matrices) ** 2)

    expected = jax.tree.leaves(eqx.filter_jit(eqx.filter_grad(reference))(network))
    assert len(gradient) == len(expected) == 4
    for g, e in zip(gradient, expected, strict=True):
        assert relative_error(g, e) <= 1e-10


def test_tensor_operator_accepts_numbers_and_repeated_terms():
    operator = do.TensorOperator([{0: 1, 1: 1}, (1, 1, 0), {2: 2}], [1.0, 2.0, -1.0])
    H = hessians()
    expected = 3.0 * H[:, 0, 1] - H[:, 2, 2]
    assert relative_error(apply(operator), expected) <= 1e-10


def test_tensor_operator_with_coefficient_functions():
    operator = do.TensorOperator([{0: 1, 1: 1}, {2: 2}], lambda x: jnp.stack([x[0], x[1] ** 2]))
    (x,) = FUNCTION.points("float64")
    expected = x[:, 0] * hessians()[:, 0, 1] + x[:, 1] ** 2 * hessians()[:, 2, 2]
    assert relative_error(apply(operator), expected) <= 1e-10


def test_symmetric_part_of_a_varying_matrix():
    (points,) = FUNCTION.points("float64")
    expected = jnp.einsum("nij,nij->n", hessians(), jax.vmap(matrix_of)(points))
    assert relative_error(apply(do.SecondOrder(matrix_of)), expected) <= 1e-10
