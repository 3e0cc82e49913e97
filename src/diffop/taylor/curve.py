"""One curve through any function that `jax.jvp` can differentiate, by integrating its jvp.

For y(t) = f(x(t)) the chain rule reads y'(t) = g(x(t), x'(t)) with g(x, v) = ∂f(x) v, which is
`jax.jvp`. So the series of y to order K is the integral of the series of g to order K − 1, and g is
again a program for the interpreter:

    y_k = g_{k−1} / k,        x'(t) = Σ_j (j + 1) x_{j+1} t^j.

Each primitive's jvp rule usually contains that primitive once (tanh' = 1 − tanh²), so the cost is
polynomial in K, where jvp nested K times would grow exponentially. Custom derivative rules are
honoured because `jax.jvp` honours them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .arithmetic import instantiate
from .bundle import Bundle, Family, Value, bundle
from .coefficients import Coefficient, Dense, Series, Zero, all_zero, scale, zeros
from .interpreter import interpret


def push_curve(
    function: Callable[..., list[Any]],
    primals: Sequence[Array],
    series: Sequence[Series],
    order: int,
) -> list[Series]:
    """The output series of a function along one curve.

    **Arguments:**

    - `function`: takes the primals, returns a list of inexact arrays.
    - `primals`, `series`: the point and, for each argument, its K Taylor coefficients (no leading
        axes).
    - `order`: K.

    **Returns:**

    The K Taylor coefficients of each output.
    """
    velocities = [instantiate(terms[0], (), x).array for terms, x in zip(series, primals)]
    if order == 1:
        return [(tangent,) for tangent in _tangents(function, primals, series, velocities)]
    family = Family(weights=None, order=order - 1, size=None)
    operands = [bundle(x, [terms[:-1]]) for x, terms in zip(primals, series, strict=True)] + [
        bundle(v, [_derivative(terms)]) for v, terms in zip(velocities, series, strict=True)
    ]
    count = len(primals)

    def derivative(*arguments: Array) -> list[Any]:
        return jax.jvp(function, arguments[:count], arguments[count:])[1]

    closed = jax.make_jaxpr(derivative)(*primals, *velocities)
    outputs = interpret(closed.jaxpr, closed.consts, (family,), operands)
    return [_integral(output, order) for output in outputs]


def _tangents(
    function: Callable[..., list[Any]],
    primals: Sequence[Array],
    series: Sequence[Series],
    velocities: Sequence[Array],
) -> list[Coefficient]:
    if all(map(all_zero, series)):
        return [Zero() for _ in jax.eval_shape(function, *primals)]
    return [Dense(jnp.asarray(t)) for t in jax.jvp(function, tuple(primals), tuple(velocities))[1]]


def _derivative(series: Series) -> Series:
    """Orders 1 … K−1 of x'(t)."""
    return tuple(scale(term, j + 1) for j, term in enumerate(series) if j > 0)


def _integral(output: Value, order: int) -> Series:
    """Orders 1 … K of y(t) from y'(t)."""
    if not isinstance(output, Bundle):
        return (Dense(jnp.asarray(output)), *zeros(order - 1))
    rest = output.series[0]
    return (
        Dense(jnp.asarray(output.primal)),
        *(scale(term, 1 / k) for k, term in enumerate(rest, start=2)),
    )
