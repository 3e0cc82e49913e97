"""Terms written in another way where that is cheaper, which the shapes at a point decide.

The divergence of a scalar field times a gradient, by the product rule:

    div (a∇u) = a Δu + ∇a·∇u.

Left as it is, d first-order jets go through the reverse mode of u. Written out, Δ is d collapsed
jets through u itself, or n draws of them, and ∇a·∇ is one jet more, with ∇a in reverse mode.

Powers of second-order operators, one inside the other where that is cheaper than their jets.

The m-th power of a sum of N second derivatives has about N^m jets of order 2m, and each carries
2m − 1 coefficients besides the primal and the collapsed top: for Δ² in d dimensions d² jets with
three each. Applied to what it has made of u, the operator carries N + 2 values for each of the
N + 2 of the first application (the primal, N directions and the collapsed sum): (N + 2)^m in all.

    m = 2:   N = 2: 14 coefficients against 16,   N = 3: 29 against 25,   N = 10: 302 against 144.

Estimates keep their jets: a composition of two draws with one key would be biased.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from ..devices import own_copy
from ..jets.field_terms import LinearForm
from ..jets.fields import is_constant, resolve
from ..jets.index_terms import PowerSum
from ..jets.point import Point
from ..jets.terms import Terms
from ..jets.vector_terms import GradientTerms
from .entries import Entries
from .modes import modes_of
from .term import Segment, Term, flux

_MANY = 3
"""From this many terms on a power is nested."""


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
    """A field that varies and whose value at the point is a number; nothing is computed."""
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
    slope = LinearForm(argnum, dims, _Slope(a, argnum, dims))
    return (
        Segment((*div.functions, a), (PowerSum(argnum, dims, 2),), (1,), entries),
        Segment(div.functions, (slope,), (1,), entries),
    )


@final
class _Slope(eqx.Module):
    """The function ∇a of the point, in the coordinates acted on."""

    a: Callable[..., Any]
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __call__(self, *args: Any, **kwargs: Any) -> jax.Array:
        def value(x: PyTree) -> jax.Array:
            a = jnp.asarray(self.a(*args[: self.argnum], x, *args[self.argnum + 1 :], **kwargs))
            return a if jnp.issubdtype(a.dtype, jnp.inexact) else a.astype(float)

        x = own_copy(value, jax.tree.map(jnp.asarray, args[self.argnum]))
        modes = modes_of(jax.make_jaxpr(value)(x))
        slope = ravel_pytree(modes.grad(value)(x))[0]
        return slope if self.dims is None else slope[np.asarray(self.dims)]


def composed(term: Term, point: Point) -> Term:
    """The term with every power that is cheaper so written as a composition."""
    word: list[Segment] = []
    for segment in term.word:
        if len(segment.powers) == 1 and segment.powers[0] > 1 and _is_large(segment, point):
            once = Segment((), segment.factors, (1,))
            word += [Segment(segment.functions, segment.factors, (1,))]
            word += [once] * (segment.powers[0] - 2)
            word += [Segment((), segment.factors, (1,), segment.entries)]
        else:
            word.append(segment)
    return Term(term.coefficient, tuple(word)) if len(word) > len(term.word) else term


def _is_large(segment: Segment, point: Point) -> bool:
    (factor,) = segment.factors
    if not isinstance(factor, Terms) or factor.order != 2:
        return False
    return factor.constant and factor.count(point) >= _MANY
