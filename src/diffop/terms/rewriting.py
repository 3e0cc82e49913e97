"""Rewriting of terms: replaces them by others that are cheaper for the shapes at a point.

*Product rule.* The divergence of a scalar field times a gradient is

    div (a∇u) = a Δu + ∇a·∇u.

Unchanged, d first-order jets would go through the reverse mode of u. Written out, Δ is d collapsed
jets through u itself, or n draws of them, and ∇a·∇ is one more jet, with ∇a in reverse mode.

*Powers.* Powers of second-order operators are nested if this is cheaper than their jets. The m-th
power of a sum of N second derivatives has about N^m jets of order 2m, and each carries 2m − 1
coefficients besides the primal and the collapsed top: for Δ² in d dimensions d² jets with three
each. Applied repeatedly, the operator carries N + 2 values for each of the N + 2 values of the
application before (the primal, N directions and the collapsed sum): (N + 2)^m in all.

    m = 2:   N = 2: 14 coefficients against 16,   N = 3: 29 against 25,   N = 10: 302 against 144.

Estimates keep their jets: a composition of two draws with one key would be biased.

*Powers of coordinates.* Σ_i ∂_i^k and its single terms are written as what shares more jets
(`powers.py`).

*Hessians.* The jets of a Hessian carry its d(d + 1)/2 entries one by one. In more than a few
coordinates the gradient of the gradient takes d directions through reverse mode,

    ∇∇ᵀu = ∇(∇u).

Its program does not grow with d.

*Sums of order one.* Terms of order one that are only added up are Σ_j c_j(x) D_j. Order one is
linear in the direction v,

    Σ_j c_j (v_j·∇) u = (Σ_j c_j v_j)·∇ u,

so they become one direction, instead of one for each term. A derivative with respect to a
coordinate that other derivatives use as well costs nothing and stays: u_x of u_t + u u_x + u_xxx.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from ..devices import own_copy
from ..jets.arranged_terms import HessianTerms
from ..jets.field_terms import FirstOrderSum, LinearForm
from ..jets.fields import Number, as_floating, is_constant, resolve
from ..jets.index_terms import PowerSum
from ..jets.point import Point
from ..jets.terms import Terms
from ..jets.vector_terms import GradientTerms
from ..schemes.scheme import Scheme
from .coefficients import coefficient_at, number_of
from .entries import Entries
from .first_derivatives import grad
from .forward_gradient import forward_gradients
from .powers import lone_powers, power_sums
from .products import as_polynomial
from .sharing import FEW
from .term import Part, Request, Segment, Term, by_inner_function, flux

MANY = 3
"""Powers of at least this many terms are nested."""
_LARGE = 1e15
"""Coefficients as far as this from one multiply the result instead of directions."""


def product_rule(term: Term, point: Point) -> tuple[Term, ...]:
    """The term with every divergence of a scalar field times a gradient written out as two."""
    for position, (left, right) in enumerate(pairwise(term.word)):
        grad = flux(left, right)
        field = None if grad is None else _scalar_field(grad, point)
        if grad is not None and field is not None:
            before, after = term.word[:position], term.word[position + 2 :]
            return tuple(
                each
                for segment in _written_out(left, field, grad, right.entries)
                for each in product_rule(Term(term.coefficient, (*before, segment, *after)), point)
            )
    return (term,)


def _scalar_field(grad: GradientTerms, point: Point) -> Callable[..., Any] | None:
    """A variable field whose value at the point is a number; nothing is computed."""
    field = grad.field
    if field is None or is_constant(field):
        return None
    found = []

    def look(point: Point) -> int:
        value = resolve(field, point, grad.argnum, "a of DivergenceForm")
        found.append(not callable(value) and value.ndim == 0)
        return 0

    eqx.filter_eval_shape(look, point)
    return field if found[0] else None


def _written_out(
    div: Segment, a: Callable[..., Any], grad: GradientTerms, entries: Entries
) -> tuple[Segment, Segment]:
    """a Δ and ∇a·∇, each times the functions before the divergence."""
    argnum, dims = grad.argnum, grad.dims
    slope = LinearForm(argnum, dims, Slope(a, argnum, dims))
    return (
        Segment((*div.functions, a), (PowerSum(argnum, dims, 2),), (1,), entries),
        Segment(div.functions, (slope,), (1,), entries),
    )


@final
class Slope(eqx.Module):
    """The function ∇a of the point, in the coordinates on which the term acts."""

    a: Callable[..., Any]
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __call__(self, *args: Any, **kwargs: Any) -> jax.Array:
        point = Point(args, kwargs)

        def value(x: PyTree) -> jax.Array:
            return as_floating(point.replaced(self.argnum, x).value_of(self.a), "a", real=False)

        x = own_copy(value, jax.tree.map(jnp.asarray, args[self.argnum]))
        slope = ravel_pytree(grad(value, x))[0]
        return slope if self.dims is None else slope[np.asarray(self.dims)]


def composed(term: Term, point: Point, powers: bool = True) -> Term:
    """The term with every Hessian, and every power unless it is estimated, written as a composition
    where that is cheaper.
    """
    word: list[Segment] = []
    for segment in term.word:
        lone = len(segment.factors) == 1
        factor, number = (segment.factors[0], segment.powers[0]) if lone else (None, 1)
        if isinstance(factor, HessianTerms) and _is_nested(factor, point):
            dims = tuple(factor.positions(point).tolist())  # as a vector, whatever the argument is
            factor, number = GradientTerms(factor.argnum, dims, None), 2
        elif factor is None or not (powers and number > 1 and _is_large(segment, point)):
            word.append(segment)
            continue
        once = Segment((), (factor,), (1,))
        word += [Segment(segment.functions, (factor,), (1,)), *[once] * (number - 2)]
        word.append(Segment((), (factor,), (1,), segment.entries))
    return Term(term.coefficient, tuple(word)) if len(word) > len(term.word) else term


def rewritten(operators: Sequence[Sequence[Part]], point: Point) -> list[list[Request]]:
    """The terms of several operators, each a list of parts, as they are evaluated at a point: in
    groups whose heads act on the same function.
    """
    requests: list[Request] = []
    for position, parts in enumerate(operators):
        for part in parts:
            for term in part.terms:
                for each in product_rule(term, point):
                    written = composed(each, point, powers=part.draw is None)
                    requests.append((position, written, part.draw))
    if len(requests) == 1:
        return [requests]
    return [
        first_order_sums(forward_gradients(power_sums(group, point), point), point)
        for group in by_inner_function(lone_powers(requests, point))
    ]


def first_order_sums(requests: Sequence[Request], point: Point) -> list[Request]:
    """The terms whose heads act on one function. Terms of order one that are only added up become
    one, in place of the first.
    """
    if isinstance(point.plan, Scheme) or not _is_wide(point):
        return list(requests)
    sums: dict[Hashable, list[int]] = {}
    for number, (name, term, _) in enumerate(requests):
        if _is_along_a_direction(term.head):
            sums.setdefault((name, term.head.entries), []).append(number)
    alone = _read_alone(requests, sums, point)
    written: dict[int, Term | None] = {}
    for numbers in sums.values():
        directions = {n: requests[n][1].head.derivative or n for n in numbers if n in alone}
        if len(set(directions.values())) > 1:
            written |= _added_up({n: requests[n][1] for n in directions}, point)
    every = [(name, written.get(n, term), draw) for n, (name, term, draw) in enumerate(requests)]
    return [(name, term, draw) for name, term, draw in every if term is not None]


def _read_alone(
    requests: Sequence[Request], sums: Mapping[Hashable, list[int]], point: Point
) -> set[int]:
    """The numbers of terms in sums, without coordinate derivatives whose coordinate another
    derivative, outside of that sum, uses as well.
    """
    readers: dict[Hashable, set[Hashable]] = {}
    sum_of = {number: key for key, numbers in sums.items() for number in numbers}
    coordinates = [
        {variable for alpha in term.head.derivatives(point) for variable, _ in alpha}
        for _, term, _ in requests
    ]
    for number, own in enumerate(coordinates):
        for coordinate in own:
            readers.setdefault(coordinate, set()).add(sum_of.get(number, number))
    return {n for n in sum_of if all(len(readers[each]) == 1 for each in coordinates[n])}


def _added_up(terms: Mapping[int, Term], point: Point) -> dict[int, Term | None]:
    """All of them as the first one; nothing if their numbers cannot be those of a direction."""
    numbers = [_real_number(term, point) for term in terms.values()]
    if any(number is None for number in numbers):
        return {}
    first, term = next(iter(terms.items()))
    total = FirstOrderSum(tuple(numbers), tuple(_factor(each) for each in terms.values()))
    word = (Segment((), (total,), (1,), term.head.entries), *term.word[1:])
    return {**dict.fromkeys(terms), first: Term(Number(1), word)}


def _factor(term: Term) -> Terms:
    (factor,) = term.head.factors
    assert isinstance(factor, Terms)  # by _is_along_a_direction
    return factor


def _real_number(term: Term, point: Point) -> Any:
    """A term's coefficient times its functions at the point; None if it is complex, or a number
    that would use up the range of single precision.
    """
    number = number_of(term.coefficient)
    values = [coefficient_at(function, point) for function in term.head.functions]
    if any(map(jnp.iscomplexobj, (number, *values))):
        return None
    if isinstance(number, int | float) and not 1 / _LARGE < abs(number) < _LARGE:
        return None
    with jax.numpy_dtype_promotion("standard"):
        return math.prod((as_floating(value, "a coefficient") for value in values), start=number)


def _is_wide(point: Point) -> bool:
    """Whether numbers in the arguments' own types have as many digits, and as large a range, as the
    values that they would multiply afterwards.
    """
    kinds = [leaf.dtype for leaf in jax.tree.leaves(point.args) if hasattr(leaf, "dtype")]
    floating = [kind for kind in kinds if jnp.issubdtype(kind, jnp.inexact)]
    return all(jnp.finfo(kind).bits >= 32 for kind in floating)


def _is_along_a_direction(segment: Segment) -> bool:
    return segment.order == 1 and all(
        isinstance(factor, Terms) and factor.componentwise for factor in segment.factors
    )


def _is_nested(factor: HessianTerms, point: Point) -> bool:
    return point.plan == "auto" and factor.dimension(point) > FEW


def _is_large(segment: Segment, point: Point) -> bool:
    (factor,) = segment.factors
    if not isinstance(factor, Terms) or factor.order != 2:
        return False
    if not factor.constant or factor.count(point) < MANY:
        return False
    return as_polynomial(segment.product, point) is None
