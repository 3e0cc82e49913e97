"""Derivatives and residuals of an equation, by all ways to compute them."""

import functools
from collections.abc import Iterable

import jax
import jax.numpy as jnp

import diffop as do

from .equations import Equation, Values
from .methods import Function, Method
from .nestings import jvp_over_grad, nested_grad, nested_jvp
from .schemes import SCHEMES, by_jets

OURS = "diffop"
REFERENCE = "nested grad"


def with_diffop(coordinates: str, words: Iterable[str]) -> Method:
    """All derivatives in one call."""
    return do.exact({word: operator(coordinates, word) for word in words})


def operator(coordinates: str, word: str) -> do.operators.Operator:
    """∂ by each letter of the word."""
    orders = {coordinates.index(letter): word.count(letter) for letter in word}
    if not orders:
        return do.Identity()
    return do.Partial(*orders.popitem()) if len(orders) == 1 else do.Mixed(orders)


WAYS = {
    OURS: with_diffop,
    REFERENCE: nested_grad,
    "nested jvp": nested_jvp,
    "jvp over grad": jvp_over_grad,
}


def derivatives(equation: Equation) -> dict[str, Method]:
    """All ways to the equation's derivatives {word: value}, ours first."""
    nested = {name: way(equation.coordinates, equation.words) for name, way in WAYS.items()}
    return nested | {
        scheme.name: by_jets(scheme) for scheme in SCHEMES if scheme.equation is equation
    }


def residuals(equation: Equation) -> dict[str, Method]:
    """All ways to the equation's residuals, ours first."""
    ways = {name: _after(method, equation) for name, method in derivatives(equation).items()}
    ways[OURS] = _of_operators(equation)
    if equation.enhances is not None:
        ways["grad of the residual"] = _with_gradient(equation.enhances)
    return ways


def _of_operators(equation: Equation) -> Method:
    """The linear parts as operators beside the derivatives that enter products, in one call."""
    own = {word: operator(equation.coordinates, word) for word in equation.factors}
    linear = {
        name: sum(n * operator(equation.coordinates, word) for word, n in numbers.items())
        for name, numbers in equation.sums.items()
    }
    method = do.exact(own | linear)
    return lambda u: lambda x: equation.residuals(method(u)(x))


def _after(method: Method, equation: Equation) -> Method:
    def residuals(values: Values) -> tuple[jax.Array, ...]:
        linear = {
            name: functools.reduce(jnp.add, (n * values[word] for word, n in numbers.items()))
            for name, numbers in equation.sums.items()
        }
        return equation.residuals({**values, **linear})

    return lambda u: lambda x: residuals(method(u)(x))


def _with_gradient(equation: Equation) -> Method:
    """One residual and its gradient, by one reverse pass over nested `jax.grad`."""
    method = _after(nested_grad(equation.coordinates, equation.words), equation)

    def transform(u: Function) -> Function:
        def values(x: jax.Array) -> tuple[jax.Array, ...]:
            residual, gradient = jax.value_and_grad(lambda x: method(u)(x)[0])(x)
            return (residual, *gradient)

        return values

    return transform
