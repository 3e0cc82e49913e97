"""The operators under test, each beside its definition by explicit tensors in `tests/oracle.py`.

A new operator needs one entry here to be tested on every function, in both precisions, and under
every transformation.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import diffop as do

from .. import oracle
from ..functions import DTYPES


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    build: Callable  # build(array) -> operator, array: a cast of coefficients to the dtype
    oracle: oracle.Oracle

    def __repr__(self):
        return self.name

    def operator(self, dtype: str):
        return self.build(lambda values: jnp.asarray(values, DTYPES[dtype]))


# Entries that float32 represents exactly
B = np.array([0.5, -1.0, 2.0])
C = np.array([[1.0, 0.5, -0.25], [0.0, -2.0, 1.0], [0.75, 0.0, 0.5]])  # indefinite, not symmetric
DIAGONAL = np.array([1.0, -0.5, 2.0])
SIGMA = np.array([[1.0, 0.5], [0.0, 2.0], [0.25, -1.0]])


def coordinates(x, *_):
    return ravel_pytree(x)[0]


def number_of(*args):
    """A coefficient that varies with the point."""
    return jnp.sin(coordinates(*args)[0])


def slope_of(*args):
    """The gradient of `number_of`."""
    x = coordinates(*args)
    return jnp.zeros_like(x).at[0].set(jnp.cos(x[0]))


def vector_of(*args):
    x = coordinates(*args)
    return jnp.cos(x) * jnp.asarray(B, x.dtype)


def matrix_of(*args):
    x = coordinates(*args)
    return jnp.asarray(C, x.dtype) * (1 + x[1] ** 2) + jnp.outer(x, jnp.sin(x))


def sigma_of(*args):
    x = coordinates(*args)
    return jnp.asarray(SIGMA, x.dtype) * jnp.cos(x[2]) + jnp.outer(x, x[:2])


def operators() -> list[Case]:
    """Of argument 0 with three coordinates, whatever its structure; order at most 4."""
    sum_oracle = (
        oracle.laplacian(3) + (-0.5) * oracle.mixed(3, {0: 2, 1: 1}) + oracle.polylaplacian(3, 2)
    )
    variable_oracle = oracle.directional(vector_of) + number_of * oracle.mixed(3, {0: 1, 2: 1})
    return [
        Case("identity", lambda a: do.Identity(), oracle.identity()),
        Case("partial", lambda a: do.Partial(1), oracle.partial(3, 1)),
        Case("partial_order3", lambda a: do.Partial(2, order=3), oracle.partial(3, 2, 3)),
        Case("directional", lambda a: do.Directional(a(B)), oracle.directional(B)),
        Case(
            "directional_of_point",
            lambda a: do.Directional(vector_of),
            oracle.directional(vector_of),
        ),
        Case("laplacian", lambda a: do.Laplacian(), oracle.laplacian(3)),
        Case("laplacian_dims", lambda a: do.Laplacian(dims=(0, 2)), oracle.laplacian(3, (0, 2))),
        Case("polylaplacian", lambda a: do.PolyLaplacian(2), oracle.polylaplacian(3, 2)),
        Case("biharmonic", lambda a: do.Biharmonic(), oracle.polylaplacian(3, 2)),
        Case(
            "biharmonic_dims",
            lambda a: do.Biharmonic(dims=(1, 2)),
            oracle.polylaplacian(3, 2, (1, 2)),
        ),
        Case("diagonal3", lambda a: do.DiagonalK(3), oracle.diagonal(3, 3)),
        Case(
            "diagonal4_dims", lambda a: do.DiagonalK(4, dims=(0, 1)), oracle.diagonal(3, 4, (0, 1))
        ),
        Case("mixed21", lambda a: do.Mixed({0: 2, 1: 1}), oracle.mixed(3, {0: 2, 1: 1})),
        Case("mixed111", lambda a: do.Mixed((1, 1, 1)), oracle.mixed(3, {0: 1, 1: 1, 2: 1})),
        Case("mixed211", lambda a: do.Mixed((2, 1, 1)), oracle.mixed(3, {0: 2, 1: 1, 2: 1})),
        Case("second_order", lambda a: do.SecondOrder(a(C)), oracle.second_order(C)),
        Case(
            "second_order_diagonal",
            lambda a: do.SecondOrder(a(DIAGONAL)),
            oracle.second_order(DIAGONAL),
        ),
        Case(
            "second_order_of_point",
            lambda a: do.SecondOrder(matrix_of),
            oracle.second_order(matrix_of),
        ),
        Case(
            "second_order_matvec",
            lambda a: do.SecondOrder(do.operators.MatVec(lambda v: a(C) @ v)),
            oracle.second_order(C),
        ),
        Case(
            "second_order_low_rank",
            lambda a: do.SecondOrder(do.operators.LowRank(a(SIGMA), a([2.0, -0.5]))),
            oracle.second_order((SIGMA * np.array([2.0, -0.5])) @ SIGMA.T),
        ),
        Case(
            "divergence_form",
            lambda a: do.DivergenceForm(number_of),
            number_of * oracle.laplacian(3) + oracle.directional(slope_of),
        ),
        Case("parabolic", lambda a: do.ParabolicTrace(a(SIGMA)), oracle.parabolic(SIGMA, 3)),
        Case(
            "parabolic_diagonal",
            lambda a: do.ParabolicTrace(a(DIAGONAL)),
            oracle.parabolic(DIAGONAL, 3),
        ),
        Case("parabolic_number", lambda a: do.ParabolicTrace(0.5), oracle.parabolic(0.5, 3)),
        Case(
            "parabolic_of_point",
            lambda a: do.ParabolicTrace(sigma_of),
            oracle.parabolic(sigma_of, 3),
        ),
        Case(
            "tensor",
            lambda a: do.TensorOperator([{0: 2, 2: 1}, (0, 1), {1: 2, 2: 2}], a([2.0, -1.0, 0.5])),
            oracle.terms(3, [{0: 2, 2: 1}, {1: 1}, {1: 2, 2: 2}], [2.0, -1.0, 0.5]),
        ),
        Case(
            "tensor_coordinates",
            lambda a: do.TensorOperator.from_coordinates(
                np.array([[0, 0, 2], [1, 0, 2], [1, 1, 1]]), a([2.0, -1.0, 0.5])
            ),
            oracle.terms(3, [{0: 2, 2: 1}, {0: 1, 1: 1, 2: 1}, {1: 3}], [2.0, -1.0, 0.5]),
        ),
        Case(
            "sum",
            lambda a: do.Laplacian() - 0.5 * do.Mixed({0: 2, 1: 1}) + do.Biharmonic(),
            sum_oracle,
        ),
        Case(
            "scaled",
            lambda a: a(3.0) * do.Laplacian() / 2 - do.Identity() * 0.25,
            1.5 * oracle.laplacian(3) + (-0.25) * oracle.identity(),
        ),
        Case(
            "variable_sum",
            lambda a: do.Directional(vector_of) + number_of * do.Mixed({0: 1, 2: 1}),
            variable_oracle,
        ),
        Case(
            "product",
            lambda a: do.Laplacian() @ do.Mixed({0: 1, 1: 1}),
            oracle.terms(3, [{0: 3, 1: 1}, {0: 1, 1: 3}, {0: 1, 1: 1, 2: 2}], [1.0, 1.0, 1.0]),
        ),
    ]


def gradients() -> list[Case]:
    """Of a vector in ℝ³; the output gets an axis."""
    return [
        Case("gradient", lambda a: do.Gradient(), oracle.gradient(3)),
        Case(
            "gradient_dims",
            lambda a: do.Gradient(dims=(0, 2)),
            oracle.gradient(3, np.eye(3)[:, [0, 2]]),
        ),
        Case("gradient_sigma", lambda a: do.Gradient(a(SIGMA)), oracle.gradient(3, SIGMA)),
        Case(
            "gradient_sigma_of_point", lambda a: do.Gradient(sigma_of), oracle.gradient(3, sigma_of)
        ),
    ]


def space_time() -> list[Case]:
    """Of u(x, t); the oracle numbers t as coordinate 3."""
    both = (0, 1)
    heat = oracle.partial(4, 3, argnums=both) + (-0.5) * oracle.laplacian(4, (0, 1, 2), both)
    return [
        Case("t", lambda a: do.Partial(argnum=1), oracle.partial(4, 3, argnums=both)),
        Case("tt", lambda a: do.Partial(order=2, argnum=1), oracle.partial(4, 3, 2, both)),
        Case("ty", lambda a: do.Mixed({(1, 0): 1, (0, 1): 1}), oracle.mixed(4, {1: 1, 3: 1}, both)),
        Case(
            "ttxy",
            lambda a: do.Mixed({(1, 0): 2, (0, 0): 1, (0, 1): 1}),
            oracle.mixed(4, {0: 1, 1: 1, 3: 2}, both),
        ),
        Case("laplacian_t", lambda a: do.Laplacian(argnum=1), oracle.partial(4, 3, 2, both)),
        Case(
            "directional_t",
            lambda a: do.Directional(a([3.0]), argnum=1),
            3.0 * oracle.partial(4, 3, argnums=both),
        ),
        Case("heat", lambda a: do.Partial(argnum=1) - 0.5 * do.Laplacian(), heat),
        Case(
            "kolmogorov",
            lambda a: (
                do.Partial(argnum=1)
                + do.Directional(lambda x, t: x * t)
                + do.ParabolicTrace(lambda x, t: jnp.outer(x, x) * t)
            ),
            oracle.of_tensors(
                2,
                lambda x, t: {
                    1: jnp.append(x * t, 1.0),
                    2: 0.5 * jnp.pad(jnp.outer(x, x) * jnp.sum(x**2) * t**2, (0, 1)),
                },
                both,
            ),
        ),
        Case(
            "product",
            lambda a: do.Partial(argnum=1) @ do.Laplacian(),
            oracle.terms(4, [{3: 1, i: 2} for i in range(3)], [1.0] * 3, both),
        ),
    ]


def fields() -> list[Case]:
    """Of a vector field on ℝ³."""
    return [
        Case("divergence", lambda a: do.Divergence(), oracle.divergence(3)),
        Case("scaled_divergence", lambda a: -2.0 * do.Divergence(), -2.0 * oracle.divergence(3)),
        Case("laplacian_of_field", lambda a: do.Laplacian(), oracle.laplacian(3)),
    ]
