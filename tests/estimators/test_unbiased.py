"""Every operator × every probe that claims to be unbiased for it: z-tests at fixed keys.

Each would notice a bias of 15 % of the operator's size.
"""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from .. import oracle
from ..draws import check_mean, many
from ..together import Together

pytestmark = pytest.mark.usefixtures("x64")

D = 4
Z = 4.5
X = np.array([0.3, -0.5, 0.8, 0.1])
C = np.array(
    [[1.0, 2.0, -0.5, 0.0], [0.0, -1.0, 1.0, 0.5], [0.5, 0.0, 2.5, -0.5], [0.0, 1.0, 0.0, 4.0]]
)
DIAGONAL = np.array([2.0, -1.0, 0.5, 3.0])
SIGMA = np.array([[1.0, 0.5], [0.0, 2.0], [0.25, -1.0], [1.5, 0.0]])
DENSE = ("rademacher", "gaussian", "spherical")
ALL = ("sparse", *DENSE)
ROTATION_INVARIANT = ("sparse", "gaussian", "spherical")


def u(x):
    return jnp.exp(x @ jnp.array([0.9, -0.4, 0.6, 0.7])) + jnp.sin(
        x @ jnp.array([0.5, 1.0, 0.8, -0.6])
    )


def field(x):
    return jnp.stack([u(x), x[0] * x[1] ** 2, jnp.sin(x[2] - x[0]), jnp.exp(x[3])])


def matrix_of(x):
    return jnp.asarray(C) * (1 + x[0] ** 2) + jnp.outer(x, jnp.cos(x))


def sigma_of(x):
    return jnp.asarray(SIGMA) * jnp.exp(x[1])


TENSOR = ([{0: 2, 1: 1}, {2: 3}, {1: 1, 2: 1, 3: 1}, {3: 3}], [1.0, -2.0, 3.0, 0.5])
CASES = {
    "laplacian": (do.Laplacian, oracle.laplacian(D), ALL),
    "laplacian_dims": (lambda: do.Laplacian(dims=(0, 2, 3)), oracle.laplacian(D, (0, 2, 3)), ALL),
    "biharmonic": (do.Biharmonic, oracle.polylaplacian(D, 2), ROTATION_INVARIANT),
    "biharmonic_dims": (
        lambda: do.Biharmonic(dims=(0, 1, 3)),
        oracle.polylaplacian(D, 2, (0, 1, 3)),
        ROTATION_INVARIANT,
    ),
    "polylaplacian3": (lambda: do.PolyLaplacian(3), oracle.polylaplacian(D, 3), ROTATION_INVARIANT),
    "diagonal3": (lambda: do.DiagonalK(3), oracle.diagonal(D, 3), ("sparse",)),
    "diagonal4": (lambda: do.DiagonalK(4), oracle.diagonal(D, 4), ("sparse",)),
    "second_order": (lambda: do.SecondOrder(jnp.asarray(C)), oracle.second_order(C), ALL),
    "second_order_diagonal": (
        lambda: do.SecondOrder(jnp.asarray(DIAGONAL)),
        oracle.second_order(DIAGONAL),
        ALL,
    ),
    "second_order_matvec": (
        lambda: do.SecondOrder(do.operators.MatVec(lambda v: jnp.asarray(C) @ v)),
        oracle.second_order(C),
        DENSE,
    ),
    "second_order_of_point": (
        lambda: do.SecondOrder(matrix_of),
        oracle.second_order(matrix_of),
        ALL,
    ),
    "parabolic": (lambda: do.ParabolicTrace(jnp.asarray(SIGMA)), oracle.parabolic(SIGMA, D), ALL),
    "parabolic_diagonal": (
        lambda: do.ParabolicTrace(jnp.asarray(DIAGONAL)),
        oracle.parabolic(DIAGONAL, D),
        ALL,
    ),
    "parabolic_number": (lambda: do.ParabolicTrace(0.5), oracle.parabolic(0.5, D), ALL),
    "parabolic_of_point": (lambda: do.ParabolicTrace(sigma_of), oracle.parabolic(sigma_of, D), ALL),
    "divergence": (do.Divergence, oracle.divergence(D), ALL),
    "tensor": (lambda: do.TensorOperator(*TENSOR), oracle.terms(D, *TENSOR), ("sparse",)),
    "sum": (
        lambda: do.Laplacian() - 0.5 * do.Mixed({0: 2, 1: 1}) + 0.25 * do.Biharmonic(),
        oracle.laplacian(D)
        + (-0.5) * oracle.mixed(D, {0: 2, 1: 1})
        + 0.25 * oracle.polylaplacian(D, 2),
        ROTATION_INVARIANT,
    ),
    "coefficient_function": (
        lambda: (lambda x: jnp.exp(x[0])) * do.Laplacian() + do.Identity(),
        (lambda x: jnp.exp(x[0])) * oracle.laplacian(D) + oracle.identity(),
        ALL,
    ),
    "product": (
        lambda: do.Laplacian() @ do.Partial(1),
        oracle.terms(D, [{0: 2, 1: 1}, {1: 3}, {2: 2, 1: 1}, {3: 2, 1: 1}], [1.0] * 4),
        ("sparse",),
    ),
}
# Without replacement the weights depend on n; dense probes are drawn one by one and averaged.
DRAWS = [
    (name, probes, n)
    for name, (_, _, all_probes) in CASES.items()
    for probes in all_probes
    for n in ((1, 3) if probes == "sparse" else (3,))
]


KEYS = {"polylaplacian3": 100_000}  # of others 20,000


def of_keys(draw):
    """The estimates of one draw for as many keys as it takes."""
    name, probes, n = draw
    operator, function = CASES[name][0](), field if name == "divergence" else u
    estimate = lambda key: operator.estimate(key, n, probes=probes)(function)(jnp.asarray(X))
    return lambda keys: jax.vmap(estimate)(keys[: KEYS.get(name, 20_000)])


by_draw = Together(DRAWS, of_keys)


@functools.cache
def exact_values():
    """Of all cases, from derivatives that are taken once: one program."""

    def every(x):
        of_u, of_field = oracle.derivatives(u, (x,), 6), oracle.derivatives(field, (x,), 1)
        return {
            name: reference.value(of_field if name == "divergence" else of_u, (x,))
            for name, (_, reference, _) in CASES.items()
        }

    return jax.jit(every)(jnp.asarray(X))


@pytest.mark.parametrize("name, probes, n", DRAWS, ids=["-".join(map(str, d)) for d in DRAWS])
def test_unbiased(name, probes, n):
    values = np.asarray(by_draw((name, probes, n), jr.split(jr.key(20), max(KEYS.values()))))
    check_mean(values, float(exact_values()[name]), notices=0.15, varies=False)


def test_unbiased_beside_time():
    """∂_t + ½ tr(σσᵀ Hess) of u(x, t), σ a function of both."""
    function = lambda x, t: jnp.exp(-t) * u(x)
    sigma = lambda x, t: jnp.asarray(SIGMA) * (1 + t)
    operator = do.Partial(argnum=1) + do.ParabolicTrace(sigma)
    x, t = jnp.asarray(X), jnp.array(0.5)
    spatial = jax.jit(oracle.parabolic(SIGMA, D)(u))
    exact = float(-function(x, t) + 1.5**2 * jnp.exp(-t) * spatial(x))
    values = many(lambda key: operator.estimate(key, 1)(function)(x, t), 20_000, seed=21)
    check_mean(values, exact, notices=0.15)


def test_gradient_of_an_estimate_is_unbiased():
    """E[∂_a (estimate of Δ u_a)] = ∂_a Δ u_a."""
    x, a = jnp.asarray(X), jnp.array(0.7)
    function = lambda a: lambda x: jnp.sin(a * x[0]) * jnp.exp(a * x[1]) + a**2 * u(x)
    one = lambda key: jax.grad(lambda a: do.Laplacian().estimate(key, 1)(function(a))(x))(a)
    exact = float(jax.jit(jax.grad(lambda a: oracle.laplacian(D)(function(a))(x)))(a))
    check_mean(many(one, 20_000, seed=22), exact, notices=0.15)
