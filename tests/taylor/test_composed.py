"""Elementwise functions whose derivatives vanish together, beside contour integrals and beside the
number of products that was worked out by hand.
"""

import itertools
import math

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import special

import diffop as do
from diffop.taylor import Algebra, primitive

from .. import jaxprs


def _logistic(z):
    return 1 / (1 + np.exp(-z))


def _bell(z):
    return 2 / np.sqrt(np.pi) * np.exp(-(z**2))


FUNCTIONS = {  # φ, and φ, φ′ and φ″ for complex numbers
    "exp": (jnp.exp, np.exp, np.exp, np.exp),
    "exp2": (
        jnp.exp2,
        np.exp2,
        lambda z: math.log(2) * np.exp2(z),
        lambda z: math.log(2) ** 2 * np.exp2(z),
    ),
    "expm1": (jnp.expm1, np.expm1, np.exp, np.exp),
    "tanh": (
        jnp.tanh,
        np.tanh,
        lambda z: np.cosh(z) ** -2,
        lambda z: -2 * np.tanh(z) * np.cosh(z) ** -2,
    ),
    "tan": (
        jnp.tan,
        np.tan,
        lambda z: np.cos(z) ** -2,
        lambda z: 2 * np.tan(z) * np.cos(z) ** -2,
    ),
    "logistic": (
        lax.logistic,
        _logistic,
        lambda z: _logistic(z) * (1 - _logistic(z)),
        lambda z: _logistic(z) * (1 - _logistic(z)) * (1 - 2 * _logistic(z)),
    ),
    "erf": (lax.erf, special.erf, _bell, lambda z: -2 * z * _bell(z)),
    "erfc": (lax.erfc, special.erfc, lambda z: -_bell(z), lambda z: 2 * z * _bell(z)),
}
JETS, WIDTH = 3, 4
ALGEBRAS = {
    "4": Algebra.curve(4),
    "5": Algebra.curve(5),
    "8": Algebra.curve(8),
    "2,1": Algebra.closure([(2, 1)]),
    "3,2": Algebra.closure([(3, 2)]),
    "3,1 and 0,4": Algebra.closure([(3, 1), (0, 4)]),
    "2,1,1": Algebra.closure([(2, 1, 1)]),
}


def jets_through(algebra, seed=0):
    """A point, and Taylor coefficients of all orders."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.6, 0.6, WIDTH)
    return x, rng.uniform(-0.5, 0.5, (len(algebra), JETS, WIDTH))


def pushed(function, algebra, weights=None):
    """The coefficients behind a function; the maximal ones summed with weights."""
    factorials = [algebra.factorial(place) for place in range(len(algebra))]

    def of(x, coefficients):
        tangents = tuple((n * c,) for n, c in zip(factorials, coefficients, strict=True))
        jets = do.taylor.Jets(tangents, weights, algebra=algebra)
        derivatives = do.taylor.push(function, (x,), [jets]).derivatives[0]
        return [d / n for n, d in zip(factorials, derivatives, strict=True)]

    return of


def by_contours(function, algebra, x, coefficients):
    """[t^γ] f(x(t)) by the trapezoidal rule on circles: by a discrete Fourier transform."""
    parameters, radius = len(algebra.monomials[0]), 0.3
    count = 24 if parameters > 2 else 64
    circle = radius * np.exp(2j * np.pi * np.arange(count) / count)
    grid = np.meshgrid(*[circle] * parameters, indexing="ij")
    z = x + 0j
    for monomial, c in zip(algebra.monomials, coefficients, strict=True):
        power = np.prod([t**k for t, k in zip(grid, monomial, strict=True)], axis=0)
        z = z + power[..., None, None] * c
    transformed = np.fft.fftn(function(z), axes=tuple(range(parameters))) / count**parameters
    found = [transformed[(0,) * parameters]]
    found += [transformed[monomial] / radius ** sum(monomial) for monomial in algebra.monomials]
    return [each.real for each in found]


@pytest.fixture(scope="module")
def every():
    """The coefficients of every function along jets of a algebra: one program for each."""
    made = {}

    def of(name):
        if name not in made:
            algebra = ALGEBRAS[name]
            ways = {each: pushed(f, algebra) for each, (f, *_) in FUNCTIONS.items()}
            with jax.enable_x64(True):
                values = jax.jit(lambda *a: {each: way(*a) for each, way in ways.items()})
                made[name] = values(*jets_through(algebra))
        return made[name]

    return of


def test_all_are_here():
    records = primitive._records.items()
    others = {"sin", "cos", "sinh", "cosh"}
    assert set(FUNCTIONS) | others == {name for name, each in records if each.recurrence}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ALGEBRAS)
def test_coefficients(name, function, every):
    algebra = ALGEBRAS[name]
    _, *expected = by_contours(FUNCTIONS[function][1], algebra, *jets_through(algebra))
    np.testing.assert_allclose(every(name)[function], expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["4", "5", "2,1"])
def test_first_and_second_derivatives(name):
    """dy = p dx and d²y = q dx² + p d²x as products of series, with p = φ′(x(t)), q = φ″(x(t)):
    reverse mode, and forward mode over it.
    """
    algebra = ALGEBRAS[name]
    x, c = jets_through(algebra)
    rng = np.random.default_rng(1)
    moved, along = rng.normal(size=(2, len(c) + 1, JETS, WIDTH))
    moved[0], along[0] = moved[0, :1], along[0, :1]  # the point is that of all jets
    bars = rng.normal(size=c.shape)
    weights = np.array([0.5, -2.0, 1.0])

    tops = algebra.tops

    def gradient_and_its_derivative(function):
        way = pushed(function, algebra, weights)

        def scalar(x, c):
            return sum(
                jnp.sum((bar[0] if place in tops else bar) * each)
                for place, (bar, each) in enumerate(zip(bars, way(x, c), strict=True))
            )

        return lambda *at: jax.jvp(jax.grad(scalar, (0, 1)), at[:2], at[2:])

    ways = {name: gradient_and_its_derivative(f) for name, (f, *_) in FUNCTIONS.items()}
    with jax.enable_x64(True):
        every = jax.jit(lambda *at: {name: way(*at) for name, way in ways.items()})
        got = jax.tree.map(np.asarray, every(x, c, along[0, 0], along[1:]))

    def convolved(left, right):
        """The product of two series, constant terms first."""
        monomials = [(0,) * len(algebra.monomials[0]), *algebra.monomials]
        result = np.zeros_like(moved)
        for (i, a), (j, b) in itertools.product(enumerate(monomials), repeat=2):
            whole = tuple(s + t for s, t in zip(a, b, strict=True))
            if whole in monomials:
                result[monomials.index(whole)] += left[i] * right[j]
        return result

    def paired(series, motion):
        """What a motion of the values changes, by the derivative of the function."""
        changes = convolved(series, motion)[1:]
        return sum(
            np.sum(weights @ change * bar[0] if place in tops else bar * change)
            for place, (bar, change) in enumerate(zip(bars, changes, strict=True))
        )

    for function, (_, _, slope, second) in FUNCTIONS.items():
        p, q = (by_contours(f, algebra, x, c) for f in (slope, second))
        for (x_bar, c_bar), expected in zip(
            got[function], (paired(p, moved), paired(q, convolved(moved, along))), strict=True
        ):
            found = np.sum(x_bar * moved[0, 0]) + np.sum(c_bar * moved[1:])
            np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("function", ["exp", "tanh", "logistic"])
def test_an_operator_of_an_operator(function):
    """The second derivative of the fifth one is pushed through what the first pass made."""
    f, by_numpy, *_ = FUNCTIONS[function]

    def curve(t):
        return f(0.7 * f(0.5 * t + 0.2) + 0.1 * t)

    def in_numpy(z):
        return by_numpy(0.7 * by_numpy(0.5 * z + 0.2) + 0.1 * z)

    count, radius = 64, 1.5
    circle = radius * np.exp(2j * np.pi * np.arange(count) / count)
    seventh = np.fft.fft(in_numpy(0.3 + circle))[7].real / count / radius**7 * math.factorial(7)
    inner, outer = do.Partial(order=5), do.Partial(order=2)
    with jax.enable_x64(True):
        got = jax.jit(outer.exact(inner.exact(curve)))(0.3)
    np.testing.assert_allclose(got, seventh, rtol=1e-9)


@pytest.mark.parametrize("function", ["exp", "expm1", "tanh", "logistic"])
def test_single_precision_beside_nested_jvp(function, kept):
    """No more than 8 times the error of nested `jax.jvp` and 4 units in the last place of the
    largest coefficient up to the order.
    """
    f, by_numpy, *_ = FUNCTIONS[function]
    order, points = 5, np.float32([-3.0, -0.4, 0.0, 1e-6, 0.65, 1.2, 4.0])
    rng = np.random.default_rng(2)
    c = np.float32(rng.uniform(-1, 1, (order, 1, len(points))))
    algebra = Algebra.curve(order)
    got = jax.jit(pushed(f, algebra))(points, c)

    def nested(x):
        def orders(t):
            return f(x + sum(a[0] * t**k for k, a in enumerate(c, start=1)))

        found = []
        for k in range(1, order + 1):
            orders = (lambda g: lambda t: jax.jvp(g, (t,), (jnp.ones_like(t),))[1])(orders)
            found.append(orders(jnp.zeros((), x.dtype)) / math.factorial(k))
        return jnp.stack(found)

    same = kept(lambda: jax.jit(nested)(points))
    wide = points.astype(float), c.astype(float)
    truth = np.stack(by_contours(by_numpy, algebra, *wide)[1:])[:, 0]
    size = np.maximum.accumulate(np.abs(truth))
    allowed = 8 * np.abs(same - truth) + 4 * np.finfo(np.float32).eps * size
    assert (np.abs(np.stack(got)[:, 0] - truth) <= allowed).all()


@pytest.mark.parametrize("order", [3, 4, 8])
def test_where_the_slope_vanishes(order):
    """There the function does not change, however large the orders are: 0 · ∞ stands for 0."""
    algebra = Algebra.curve(order)
    large = np.full((order, 2, 1), 1e30, np.float32)
    large[-1] = 0  # of the last order JAX makes what it makes
    infinite = np.where(np.arange(order)[:, None, None] == 1, np.float32(np.inf), large)
    points = {jnp.tanh: 400.0, lax.logistic: -800.0, jnp.exp: -1000.0, jnp.exp2: -2000.0}
    points |= {lax.erf: 20.0, lax.erfc: 20.0}

    @jax.jit
    def every(c, along):
        ways = {f: pushed(f, algebra, np.ones(2)) for f in points}

        def last(c):
            return [way(jnp.float32([points[f]]), c)[-1] for f, way in ways.items()]

        return last(c), jax.jacrev(last)(c), jax.jvp(last, (c,), (along,))[1]

    for c in (large, infinite):
        assert not any(np.any(each) for each in jax.tree.leaves(every(c, c)))


def products(function, order, moving=None):
    """How many arrays of jets × width are products of two arrays, in a program of one function of a
    value with coefficients of the orders up to `moving`, by default all.
    """
    x, c = jets_through(Algebra.curve(order))
    tangents = tuple((each if k < (moving or order) else None,) for k, each in enumerate(c))
    jets = do.taylor.Jets(tangents, np.array([0.5, -2.0, 1.0]), top_only=True)
    equations = jaxprs.of(lambda x: do.taylor.push(function, (x,), [jets]).derivatives, x)
    return sum(
        eqn.outvars[0].aval.shape == (JETS, WIDTH)
        and not any(isinstance(each, jex.Literal) for each in eqn.invars)
        for eqn in [*jaxprs.named(equations, "mul"), *jaxprs.named(equations, "square")]
    )


def by_powers(k):
    """Squares, higher powers, and products with φ′, φ″ …; those of order K after the sum."""
    squares = sum(m // 2 for m in range(2, k + 1))
    return squares + math.comb(k, 3) + math.comb(k, 2)


def by_equation(k, square):
    """Of k y_k = Σ_j j x_j p_{k−j}, and of p_k = (λ + 2 μ y_0) y_k + μ Σ_j y_j y_{k−j}."""
    return math.comb(k, 2) + k - 1 + square * sum(1 + m // 2 for m in range(1, k))


@pytest.mark.parametrize("order", [2, 3, 4, 5, 6, 8])
def test_how_many_products(order):
    for function, square in ((jnp.exp, 0), (jnp.tanh, 1), (lax.logistic, 1), (jnp.tan, 1)):
        expected = min(by_powers(order), by_equation(order, square))
        assert products(function, order) == expected, function
    assert products(jnp.sin, order) == by_powers(order)


def test_how_many_are_masked():
    """One for each lower order that comes in or comes back, not one for each product: in the pass
    forwards, again in reverse mode, and what comes back.
    """
    x, (*lower, top) = jets_through(Algebra.curve(4))

    def scalar(lower):
        jets = do.taylor.Jets(tuple((c,) for c in (*lower, top)), np.ones(JETS), top_only=True)
        return jnp.sum(do.taylor.push(jnp.tanh, (x,), [jets]).derivatives[0][-1])

    selections = jaxprs.named(jaxprs.of(jax.grad(scalar), lower), "select_n")
    shapes = [eqn.outvars[0].aval.shape for eqn in selections]
    assert shapes.count((JETS, WIDTH)) == 3 * len(lower)


def test_from_four_orders_to_eight():
    """tanh: from 14 products to 54; powers would be 100."""
    assert (products(jnp.tanh, 4), products(jnp.tanh, 8), by_powers(8)) == (14, 54, 100)


def test_lines_take_powers():
    """Behind the first layer most powers vanish: φ^(k)(x)/k! times the k-th one is left."""
    assert products(jnp.tanh, 8, moving=1) == 7 + 7
