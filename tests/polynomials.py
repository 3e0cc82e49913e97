"""Exact arithmetic with polynomials in x and in ∂: `{exponents: Fraction}`.

A polynomial in ∂ with constant coefficients is a differential operator; `apply` is what it does to
a polynomial in x. Independent of the library and of automatic differentiation.
"""

import math
from fractions import Fraction

import jax.numpy as jnp

Polynomial = dict[tuple[int, ...], Fraction]


def add(p: Polynomial, q: Polynomial) -> Polynomial:
    return _clean({a: p.get(a, Fraction(0)) + q.get(a, Fraction(0)) for a in p | q})


def scale(c, p: Polynomial) -> Polynomial:
    return _clean({a: Fraction(c) * value for a, value in p.items()})


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for a, x in p.items():
        for b, y in q.items():
            result = add(result, {tuple(map(sum, zip(a, b, strict=True))): x * y})
    return result


def apply(operator: Polynomial, p: Polynomial) -> Polynomial:
    """Σ_alpha operator[alpha] ∂^alpha p."""
    result: Polynomial = {}
    for alpha, c in operator.items():
        for a, value in p.items():
            if all(i >= k for i, k in zip(a, alpha, strict=True)):
                falling = math.prod(math.perm(i, k) for i, k in zip(a, alpha, strict=True))
                rest = tuple(i - k for i, k in zip(a, alpha, strict=True))
                result = add(result, {rest: c * value * falling})
    return result


def evaluate(p: Polynomial, x) -> Fraction:
    powers = ((Fraction(xi) ** i for xi, i in zip(x, a, strict=True)) for a in p)
    return sum((c * math.prod(ps) for c, ps in zip(p.values(), powers, strict=True)), Fraction(0))


def function(p: Polynomial):
    """The same polynomial as a function of a JAX vector."""

    def u(x):
        total = jnp.zeros((), x.dtype)
        for a, c in p.items():
            term = jnp.asarray(float(c), x.dtype)
            for i, k in enumerate(a):
                term = term * x[i] ** k if k else term
            total = total + term
        return total

    return u


def _clean(p: Polynomial) -> Polynomial:
    return {a: c for a, c in p.items() if c}
