"""Operators in other coordinates: for functions v(q) = u(x(q)), where x = map(q).

A derivative of order one or two is determined by its values for polynomials of x. With J = ∂x/∂q,

    b·∇_x = (J⁻¹b)·∇_q,
    C:∇_x² = C':∇_q² + b'·∇_q,      C' = J⁻¹ C J⁻ᵀ,    b' = −J⁻¹ (C':∇_q²) x.

The last follows because C:∇_x² of x itself is 0. The b of a factor is its value for the function x,
its C the value for ½ (x − x₀)(x − x₀)ᵀ at x₀. A change of coordinates respects compositions, so
words and powers are changed factor by factor.

A gradient keeps its values, which belong to the coordinates x. A divergence is changed together
with the gradient F = σᵀ∇_x u that it is taken of. With V = σᵀ∇_x x,

    σᵀ∇_x = σ'ᵀ∇_q,      σ' = J⁻¹V,      ∇_x·(c F) = |det J|⁻¹ ∇_q·(c |det J| J⁻¹F).
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from ..array_types import Vector
from ..arrays import nearest_powers_of_two
from ..jets.field_terms import LinearForm, MatrixForm
from ..jets.fields import Number
from ..jets.index_terms import CoordinateTerms, Monomial
from ..jets.point import Point
from ..jets.terms import Factor, Located
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from .arguments import kind_of
from .derived_fields import by_coordinates
from .evaluate import apply
from .first_derivatives import jacobian_of
from .nonlocal_terms import Nonlocal
from .term import (
    Part,
    Segment,
    Term,
    Word,
    compose,
    compose_sums,
    factor_term,
    function_name,
    function_term,
)

Map: TypeAlias = Callable[[PyTree], PyTree]


def in_coordinates(terms: Sequence[Term], mapping: Map, argnum: int) -> tuple[Term, ...]:
    """Rewrites the terms of an operator on functions of x for functions of q.

    **Raises:** `ValueError` for divergences of the values of u and similar factors, and for sums of
    order three or more, which cannot be changed.
    """
    return tuple(each for term in terms for each in _of_term(term, mapping, argnum))


def _of_term(term: Term, mapping: Map, argnum: int) -> Sequence[Term]:
    found: Sequence[Term] = (Term(term.coefficient, ()),)
    word = term.word
    while word:
        pair = _flux(word, argnum)
        if pair is not None:
            flux = ChangedFlux(*pair, mapping)
            changed, word = _of_flux(word[0], word[1], flux, argnum), word[2:]
        else:
            changed, word = _of_segment(word[0], mapping, argnum), word[1:]
        found = reduce(compose_sums, changed, found)
    return found


def _of_segment(segment: Segment, mapping: Map, argnum: int) -> list[Sequence[Term]]:
    """Sums of terms, the last of which is applied first."""
    changed = _of_functions(segment, mapping, argnum)
    for factor, power in sorted(segment.product, key=lambda each: each[0].constant):
        changed += [_of_factor(factor, mapping, argnum)] * power
    return [*changed, *_of_entries(segment)]


def _flux(word: Word, argnum: int) -> tuple[DivergenceTerms, GradientTerms] | None:
    """The divergence and the gradient with which a word begins, with functions between them."""
    if len(word) < 2 or word[0].entries or not word[0].powers == word[1].powers == (1,):
        return None
    (outer,), (inner,) = word[0].factors, word[1].factors
    if not (isinstance(outer, DivergenceTerms) and isinstance(inner, GradientTerms)):
        return None
    return (outer, inner) if outer.argnum == inner.argnum == argnum else None


def _of_flux(
    outer: Segment, inner: Segment, flux: "ChangedFlux", argnum: int
) -> list[Sequence[Term]]:
    mapping = flux.mapping
    return [
        *_of_functions(outer, mapping, argnum),
        (function_term(PerVolume(mapping, argnum)),),
        (factor_term(DivergenceTerms(argnum, None)),),
        *_of_functions(inner, mapping, argnum),
        (factor_term(GradientTerms(argnum, None, flux, transposed=False)),),
        *_of_entries(inner),
    ]


def _of_functions(segment: Segment, mapping: Map, argnum: int) -> list[Sequence[Term]]:
    return [(function_term(Moved(function, mapping, argnum)),) for function in segment.functions]


def _of_entries(segment: Segment) -> list[Sequence[Term]]:
    taken = Segment(entries=segment.entries)
    return [(Term(Number(1), (taken,)),)] if segment.entries else []


def _of_factor(factor: Factor, mapping: Map, argnum: int) -> Sequence[Term]:
    if isinstance(factor, Monomial):
        return _of_monomial(factor, mapping, argnum)
    argnums = set(factor.argnums) if isinstance(factor, CoordinateTerms) else None
    if isinstance(factor, Located):
        argnums = {factor.argnum}
    if factor.constant and argnums is not None and argnum not in argnums:
        return (factor_term(factor),)
    if isinstance(factor, GradientTerms) and factor.argnum == argnum:
        return (factor_term(GradientTerms(argnum, None, ChangedGradient(factor, mapping))),)
    local = factor.componentwise and not isinstance(factor, Nonlocal) and factor.order in (1, 2)
    if not local or argnums != {argnum}:
        raise ValueError(
            f"in_coordinates changes what is made of derivatives of order one and two of argument "
            f"{argnum}, of each value of u by itself; got {factor}. A divergence of anything but a "
            "gradient is written in its components, a sum of higher order as a composition of "
            "others, and what sees all of u, an integral or jumps, in the new coordinates."
        )
    direction = LinearForm(argnum, None, ChangedDirection(factor, mapping))
    if factor.order == 1:
        return (factor_term(direction),)
    matrix = MatrixForm(argnum, None, ChangedMatrix(factor, mapping), name="C in other coordinates")
    return (factor_term(matrix), factor_term(direction))


def _of_monomial(factor: Monomial, mapping: Map, argnum: int) -> Sequence[Term]:
    """Changed coordinate by coordinate."""
    found = Term(Number(1), ())
    for (own, i), order in factor.alpha:
        once = Monomial((((own, i), 1),))
        changed = (
            LinearForm(argnum, None, ChangedDirection(once, mapping)) if own == argnum else once
        )
        for _ in range(order):
            found = compose(found, factor_term(changed))
    return (found,)


@final
class Moved(eqx.Module):
    """A function of x as a function of q."""

    function: Callable[..., Any]
    mapping: Map
    argnum: int = eqx.field(static=True)

    @property
    def __name__(self) -> str:
        return function_name(self.function).removesuffix("(x)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _moved(Point(args, kwargs), self.mapping, self.argnum).value_of(self.function)


@final
class ChangedMatrix(eqx.Module):
    """C' of a factor of order two, as a function of q."""

    factor: Factor
    mapping: Map

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        point, argnum = Point(args, kwargs), _argnum(self.factor)
        there = _moved(point, self.mapping, argnum)
        jacobian = _jacobian(point, self.mapping, argnum)
        origin = ravel_pytree(there.args[argnum])[0]

        def square(*args: Any, **_: Any) -> Array:
            x = ravel_pytree(args[argnum])[0] - origin
            return jnp.outer(x, x) / 2

        inverse = jnp.linalg.inv(jacobian)
        return inverse @ _value(self.factor, square, there) @ inverse.T


@final
class ChangedDirection(eqx.Module):
    """J⁻¹b of a factor of order one, b' of one of order two, as a function of q."""

    factor: Factor
    mapping: Map

    def __call__(self, *args: Any, **kwargs: Any) -> Vector:
        point, argnum = Point(args, kwargs), _argnum(self.factor)
        jacobian = _jacobian(point, self.mapping, argnum)
        if self.factor.order == 1:
            there = _moved(point, self.mapping, argnum)
            b = _value(self.factor, lambda *args, **_: ravel_pytree(args[argnum])[0], there)
        else:
            matrix = ChangedMatrix(self.factor, self.mapping)(*args, **kwargs)
            second = MatrixForm(argnum, None, matrix, name="C in other coordinates")
            b = -_value(second, lambda *args, **_: _flat(self.mapping, args[argnum]), point)
        return jnp.linalg.solve(jacobian, b)


@final
class ChangedGradient(eqx.Module):
    """σ' of a gradient, as a function of q."""

    factor: GradientTerms
    mapping: Map

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        point, argnum = Point(args, kwargs), self.factor.argnum
        there = _moved(point, self.mapping, argnum)
        _check_vectors(point.args[argnum], there.args[argnum])
        values = _value(self.factor, lambda *args, **_: args[argnum], there)
        return jnp.linalg.solve(_jacobian(point, self.mapping, argnum), values)


@final
class ChangedFlux(eqx.Module):
    """|det J| J⁻¹σ'ᵀ, by which the gradient inside of a divergence is changed, as a function of
    q.
    """

    outer: DivergenceTerms
    factor: GradientTerms
    mapping: Map

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        jacobian = _jacobian(Point(args, kwargs), self.mapping, self.factor.argnum)
        gradient = ChangedGradient(self.factor, self.mapping)(*args, **kwargs)
        taken = jnp.eye(len(jacobian), dtype=jacobian.dtype)
        if self.outer.dims is not None:
            taken = taken[:, jnp.array(self.outer.dims)]
        flux = jnp.linalg.solve(jacobian, taken @ gradient.T)
        return _volume(jacobian) * flux


@final
class PerVolume(eqx.Module):
    """|det J|⁻¹ as a function of q, in the unit of the flux."""

    mapping: Map
    argnum: int = eqx.field(static=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        jacobian = _jacobian(Point(args, kwargs), self.mapping, self.argnum)
        return 1 / _volume(jacobian)


def _volume(jacobian: Array) -> Array:
    """|det J| over a power of the size of J, which is a constant. Only ratios are used, and |det J|
    itself leaves the range of single precision in small or large units.
    """
    unit = nearest_powers_of_two(jnp.max(jnp.abs(jacobian)))
    return jnp.abs(jnp.linalg.det(jacobian / unit))


def _check_vectors(q: PyTree, x: PyTree) -> None:
    shapes = [jnp.shape(each) if isinstance(each, jax.Array) else kind_of(each) for each in (q, x)]
    if any(isinstance(shape, str) or len(shape) != 1 for shape in shapes):
        raise ValueError(
            "in_coordinates expects vectors of coordinates for a gradient, arrays of shape (d,); "
            f"got {shapes[0]} and {shapes[1]} for what the mapping takes and returns."
        )


def _argnum(factor: Any) -> int:
    """The argument to which all of its coordinates belong."""
    if isinstance(factor, Located):
        return factor.argnum
    return factor.argnums[0] if isinstance(factor, CoordinateTerms) else factor.alpha[0][0][0]


def _value(factor: Factor, function: Callable[..., Array], point: Point) -> Array:
    return apply([Part((factor_term(factor),), None)], function, point)


def _moved(point: Point, mapping: Map, argnum: int) -> Point:
    return point.replaced(argnum, mapping(point.args[argnum]))


def _flat(mapping: Map, q: PyTree) -> Vector:
    return ravel_pytree(mapping(q))[0]


def _jacobian(point: Point, mapping: Map, argnum: int) -> Array:
    """∂x/∂q.

    **Raises:** `ValueError` if the number of coordinates changes.
    """
    flat, at = by_coordinates(lambda *args, **_: _flat(mapping, args[argnum]), point, argnum)
    jacobian = jacobian_of(at, flat)
    if jacobian.shape[0] != jacobian.shape[1]:
        raise ValueError(
            "in_coordinates expects a map to as many coordinates as it takes; got one from "
            f"{jacobian.shape[1]} to {jacobian.shape[0]}. On a surface take "
            "LaplaceBeltrami.embedded(map)."
        )
    return jacobian
