"""The least number of coefficients, beside ranks of matrices of derivatives."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

RNG = np.random.default_rng(0)


def monomials(variables, degree):
    return [
        tuple(word.count(place) for place in range(variables))
        for word in itertools.combinations_with_replacement(range(variables), degree)
    ]


def dimension(polynomials, variables):
    """Of all derivatives of homogeneous polynomials, by the rank of each degree's matrix: rows are
    derivatives, columns the coefficients of what they leave of each polynomial.
    """
    highest = max(sum(each) for polynomial in polynomials for each in polynomial)
    total = 0
    for degree in range(1, highest + 1):
        rows = []
        for by in monomials(variables, degree):
            row = []
            for polynomial in polynomials:
                order = sum(next(iter(polynomial)))
                for left in monomials(variables, order - degree) if order >= degree else []:
                    whole = tuple(a + b for a, b in zip(by, left, strict=True))
                    falling = math.prod(map(math.perm, whole, by))
                    row.append(polynomial.get(whole, 0) * falling)
            rows.append(row)
        total += int(np.linalg.matrix_rank(np.array(rows, float)))
    return total


def random_polynomial(variables, order, terms):
    places = RNG.permutation(len(monomials(variables, order)))[:terms]
    return {monomials(variables, order)[p]: int(RNG.integers(1, 4)) for p in places}


def plan_of(operator, x):
    plan = operator.jets(x)
    assert isinstance(plan, do.jets.ResolvedPlan)
    return plan


def operator_of(polynomial):
    return sum(n * do.Mixed(dict(enumerate(each))) for each, n in polynomial.items())


@pytest.mark.parametrize("variables", [1, 2, 3])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_random_operators(variables, order):
    polynomial = random_polynomial(variables, order, 3)
    plan = plan_of(operator_of(polynomial), jnp.ones(variables))
    assert plan.least == dimension([polynomial], variables)
    assert plan.least is not None and plan.least <= plan.coefficients


def test_several_operators_are_read_from_one_algebra():
    polynomials = [random_polynomial(3, 4, 4), random_polynomial(3, 3, 2)]
    operators = dict(enumerate(map(operator_of, polynomials)))
    assert plan_of(do.exact(operators), jnp.ones(3)).least == dimension(polynomials, 3)


@pytest.mark.parametrize(("power", "dim"), [(1, 7), (2, 3), (2, 9), (3, 5)])
def test_powers_of_the_laplacian(power, dim):
    """Also where evaluation carries more: the closed form of the page on algebras."""
    halves = sum(2 * math.comb(k + dim - 1, k) for k in range(power))
    plan = plan_of(do.PolyLaplacian(power), jax.ShapeDtypeStruct((dim,), jnp.float32))
    assert plan.least == halves + math.comb(power + dim - 1, power) - 1


@pytest.mark.parametrize("factor", [lambda x: x[0], jnp.ones(())])
def test_numbers_that_are_not_known_are_any_numbers(factor):
    """Of ∂₀⁴ + 6 c ∂₀²∂₁² + ∂₁⁴ one derivative vanishes for c = 1, as it is a sum of two powers."""
    quartic = do.DiagonalK(4) + 6.0 * (factor * do.Mixed({0: 2, 1: 2}))
    plan = plan_of(quartic, jnp.ones(2))
    generic, special = ([{(4, 0): 1, (0, 4): 1, (2, 2): 6 * c}] for c in (0.7, 1))
    assert plan.least == dimension(generic, 2) > dimension(special, 2)


def test_one_direction_for_all_terms_of_order_one():
    sum_of = do.Partial(0) - do.Partial(1) + (lambda x: x[0]) * do.Partial(2)
    plan = plan_of(sum_of, jnp.ones(3))
    assert plan.least == plan.coefficients == 1


def test_equal_terms_with_opposite_signs_need_nothing():
    third = do.DiagonalK(3)
    assert plan_of(do.exact([third - third, do.Identity()]), jnp.ones(2)).least == 0


def test_what_is_not_counted():
    x = jnp.ones(3)
    assert plan_of(do.Laplacian().estimate(jax.random.key(0), 2), x).least is None
    assert plan_of(do.Biharmonic(), jnp.ones(30)).least is None
    inner = do.Laplacian() @ ((lambda x: x[0]) * do.Laplacian())
    assert plan_of(inner, x).least is None
    assert "least" not in str(inner.jets(x))


def test_it_is_printed():
    assert str(do.Biharmonic().jets(jnp.ones(3))).endswith("1 jet, 13 coefficients (least: 13)")
