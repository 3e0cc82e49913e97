"""One jet through any function that `jax.jvp` can differentiate, by integrating its jvp.

For y(t) = f(x(t)) the chain rule reads ∂_i y(t) = g(x(t), ∂_i x(t)) with g(x, v) = ∂f(x) v, which
is `jax.jvp`, for the derivative with respect to any parameter t_i. So the part of y's series that
contains t_i is the integral of the series of g, which is needed for fewer monomials; and g is again
a program for the interpreter:

    y_{γ+e_i} = g_γ / (γ_i + 1),        ∂_i x(t) = Σ_γ (γ_i + 1) x_{γ+e_i} t^γ.

The part without t_i is a jet with fewer parameters. A curve has one parameter, and no such part:
y_k = g_{k−1} / k. If the algebra has relations, t_i ∂_i need not be a derivation of it. The jet is
then pushed without relations, each monomial by itself, and its series is mapped to the algebra by
the relations, since the algebra is a quotient.

Each primitive's jvp rule usually contains that primitive once (tanh' = 1 − tanh²). So the cost is
polynomial in K, while K nested jvps would grow exponentially. Custom derivative rules are honoured
because `jax.jvp` honours them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
from jaxtyping import Array

from ..algebra.algebra import Algebra, Exponents, raised
from .arithmetic import instantiate, total
from .bundle import Family, bundle, primal_of, series_of
from .coefficients import Coefficient, Full, Series, Zero, all_zero, scale
from .interpreter import interpret

ArrayFunction: TypeAlias = Callable[..., list[Any]]


def push_jet(
    function: ArrayFunction,
    primals: Sequence[Array],
    series: Sequence[Series],
    algebra: Algebra,
) -> list[Series]:
    """The output series of a function along one jet.

    **Arguments:**

    - `function`: takes the primals, returns a list of inexact arrays.
    - `primals`, `series`: the point and, for each argument, its Taylor coefficients (no leading
        axes).
    - `algebra`: the monomials to which they belong.

    **Returns:**

    The Taylor coefficients of each output.
    """
    free = algebra.free
    terms = [
        dict.fromkeys(free.monomials, Zero()) | dict(zip(algebra.monomials, each, strict=True))
        for each in series
    ]
    shapes = jax.eval_shape(function, *primals)
    pushed: list[dict[Exponents, Coefficient]] = [{} for _ in shapes]
    rest = free  # monomials of the parameters that are left, the last of which comes next
    while rest.monomials:
        parameter = max(p for m in rest.monomials for p, exponent in enumerate(m) if exponent)
        integrals = _integrals(function, primals, terms, rest, parameter)
        for known, new in zip(pushed, integrals, strict=True):
            known.update(new)
        rest = Algebra(tuple(m for m in rest.monomials if not m[parameter]))
    return [_in_quotient(algebra, *each) for each in zip(pushed, shapes, strict=True)]


def _in_quotient(
    algebra: Algebra, known: dict[Exponents, Coefficient], shape: jax.ShapeDtypeStruct
) -> Series:
    """A series of the algebra without relations, mapped to its quotient."""
    sums: list[list[Coefficient]] = [[] for _ in algebra.monomials]
    for monomial, terms in algebra.sums.items():
        for place, number in terms:
            sums[place].append(scale(known[monomial], number))
    return tuple(total(terms, 0, shape) for terms in sums)


def _integrals(
    function: ArrayFunction,
    primals: Sequence[Array],
    terms: Sequence[dict[Exponents, Coefficient]],
    algebra: Algebra,
    parameter: int,
) -> list[dict[Exponents, Coefficient]]:
    """The coefficients of all monomials that contain a parameter."""
    having = [monomial for monomial in algebra.monomials if monomial[parameter]]
    if all_zero([each[monomial] for each in terms for monomial in having]):
        return [dict.fromkeys(having, Zero()) for _ in jax.eval_shape(function, *primals)]
    kept = algebra.derivative(parameter)
    unit = next(monomial for monomial in having if sum(monomial) == 1)
    velocities = [instantiate(t[unit], (), x).array for t, x in zip(terms, primals, strict=True)]
    families = (Family(weights=None, algebra=kept, size=None),)
    operands = [
        bundle(x, [tuple(t[m] for m in kept.monomials)])
        for x, t in zip(primals, terms, strict=True)
    ] + [
        bundle(v, [tuple(scale(t[raised(m, parameter)], m[parameter] + 1) for m in kept.monomials)])
        for v, t in zip(velocities, terms, strict=True)
    ]
    count = len(primals)

    derivative = jax.make_jaxpr(lambda *xs: jax.jvp(function, xs[:count], xs[count:])[1])
    closed = derivative(*primals, *velocities)
    outputs = interpret(closed.jaxpr, closed.consts, families, operands)
    return [
        {unit: Full(jax.numpy.asarray(primal_of(output)))}
        | {
            raised(m, parameter): scale(term, 1 / (m[parameter] + 1))
            for m, term in zip(kept.monomials, series_of(output, families, 0), strict=True)
        }
        for output in outputs
    ]
