"""Plans of every kind: exact by construction, with few coefficients, the same every time."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.schemes.expansion import alpha_of
from diffop.schemes.names import scheme_of

from .. import oracle

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.3, -0.6, 0.8])


def u(x):
    return jnp.exp(0.4 * x[0] - 0.7 * x[1] * x[2]) * jnp.sin(x[0] + x[2] + 0.5 * x[1] * x[1])


def multi_indices(order, variables=3):
    return [a for a in itertools.product(range(order + 1), repeat=variables) if 0 < sum(a) <= order]


@pytest.fixture(scope="module")
def tensors(x64):
    """D^k u for k = 0 … 6, by nested jacfwd."""
    return jax.jit(lambda x: oracle.derivatives(u, (x,), 6))(jnp.asarray(X))


def expected(tensors, alpha):
    return tensors[sum(alpha)][tuple(i for i, order in enumerate(alpha) for _ in range(order))]


def exact(alphas, kind):
    ops = {alpha: do.Mixed(alpha) for alpha in alphas}
    return jax.jit(do.exact(ops)(u, plan=kind))(jnp.asarray(X))


@pytest.mark.parametrize("kind", ["auto", "power"])
def test_all_derivatives_to_order_6_together(tensors, kind):
    alphas = multi_indices(6)
    values = exact(alphas, kind)
    for alpha in alphas:
        np.testing.assert_allclose(values[alpha], expected(tensors, alpha), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_curves_with_several_tangents(tensors, order):
    """One at a time, as each has jets of its own; by symmetry those with descending orders."""
    alphas = [a for a in multi_indices(order) if sum(a) == order and list(a) == sorted(a)[::-1]]
    for alpha in alphas:
        value = do.Mixed(alpha).exact(u, plan=do.baselines.paper)(jnp.asarray(X))
        np.testing.assert_allclose(value, expected(tensors, alpha), rtol=1e-8, err_msg=str(alpha))


def test_a_curve_of_high_order(tensors):
    alpha = (4, 2, 0)
    value = do.Mixed(alpha).exact(u, plan=do.baselines.paper)(jnp.asarray(X))
    np.testing.assert_allclose(value, expected(tensors, alpha), rtol=1e-7)


def test_contaminants_with_fewer_variables_are_corrected_again():
    """Schemes verify themselves in exact arithmetic when they are made."""
    for word in ("xxyyz", "xxxyyz"):
        scheme = scheme_of([alpha_of(word)], do.baselines.paper)
        assert len(scheme.jets) > 3 and scheme.readouts.keys() == {alpha_of(word)}


def of_monomial(alpha, powers):
    """∂^α of Π x_i^{p_i}, by falling factorials."""
    result = 1.0
    for x, order, power in zip(X4, alpha, powers, strict=True):
        factor = np.prod(np.arange(power, power - order, -1.0)) if order <= power else 0.0
        result *= factor * x ** max(power - order, 0)
    return result


X4 = np.array([0.9, -1.2, 0.7, 1.1])


@pytest.mark.parametrize("kind", ["auto", "power"])
@pytest.mark.parametrize("seed", [0, 1])
def test_random_derivatives_to_order_8(seed, kind):
    rng = np.random.default_rng(seed)
    alpha = tuple(np.bincount(rng.integers(0, 4, size=8), minlength=4).tolist())
    powers = tuple(int(order + rng.integers(0, 3)) for order in alpha)

    def monomial(x):
        return x[0] ** powers[0] * x[1] ** powers[1] * x[2] ** powers[2] * x[3] ** powers[3]

    value = jax.jit(do.Mixed(alpha).exact(monomial, plan=kind))(jnp.asarray(X4))
    np.testing.assert_allclose(value, of_monomial(alpha, powers), rtol=1e-8)


def coefficients_of(words, kind):
    counts = [[word.count(letter) for letter in "txyz"] for word in words]
    joint = do.exact([do.Mixed(tuple(each)) for each in counts])
    return joint.jets(jnp.ones(4), plan=kind).coefficients


KINDS = ("nested", "power", do.baselines.paper)
EQUATIONS = {
    "kdv": ["x", "y", "xx", "xy", "yy", "ty", "xxxy"],
    "kp": ["x", "xx", "tx", "xxxx", "yy"],
    "g-kdv": ["x", "t", "xx", "tt", "tx", "xxx", "xxxx", "txxx"],
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_share_one_jet(name):
    """A coefficient for each divisor of what is wanted, and no more: fewer than other plans."""
    divisors = {"kdv": 10, "kp": 8, "g-kdv": 9}
    coefficients, *others = (coefficients_of(EQUATIONS[name], kind) for kind in KINDS)
    assert coefficients == divisors[name] < min(others)


def test_two_variables_take_as_many_powers_as_their_order():
    """The real rank of x^a y^b is a + b (Boij, Carlini and Geramita 2011)."""
    for a, b in itertools.product(range(1, 5), repeat=2):
        scheme = scheme_of([alpha_of("x" * a + "y" * b)], "power")
        assert len(scheme.jets) == a + b


def test_pure_powers_are_curves_side_by_side():
    scheme = scheme_of([alpha_of(word) for word in ("xx", "yy", "zz")])
    assert [len(jets) for jets in scheme.shapes.values()] == [3]
    assert coefficients_of(("xx", "yy", "zz"), "nested") == 6


def test_plans_are_the_same_every_time():
    words = ["xxyy", "xyz", "x", "zz"]
    first = scheme_of([alpha_of(word) for word in words])
    again = scheme_of([alpha_of(word) for word in reversed(words)])
    assert first is again


def test_what_no_curve_can_do_is_refused():
    with pytest.raises(ValueError, match=r"no curve with several tangents up to order 33.*∂_x²"):
        scheme_of([alpha_of("xxyyzz")], do.baselines.paper)
