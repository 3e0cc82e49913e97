"""The divergence of a scalar field times a gradient, by the product rule:

    div (a∇u) = a Δu + ∇a·∇u.

Left as it is, d first-order jets go through the reverse mode of u. Written out, Δ is d collapsed
jets through u itself, or n draws of them, and ∇a·∇ is one jet more, with ∇a in reverse mode. What
shape a field has is known at a point only, so terms are rewritten there.
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

from ..jets.field_terms import LinearForm
from ..jets.fields import is_constant, resolve
from ..jets.index_terms import PowerSum
from ..jets.point import Point
from ..jets.vector_terms import GradientTerms
from ..taylor.binding import own_copy
from .term import Segment, Term, flux


def product_rule(term: Term, point: Point) -> tuple[Term, ...]:
    """The term with every divergence of a scalar field times a gradient written out as two."""
    for position, (left, right) in enumerate(pairwise(term.word)):
        grad = flux(left, right)
        field = None if grad is None else _scalar_field(grad, point)
        if grad is not None and field is not None:
            before, after = term.word[:position], term.word[position + 2 :]
            return tuple(
                each
                for segment in _written_out(left, field, grad.argnum, grad.dims)
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
    div: Segment, a: Callable[..., Any], argnum: int, dims: tuple[int, ...] | None
) -> tuple[Segment, Segment]:
    """a Δ and ∇a·∇, each times the functions before the divergence."""
    slope = LinearForm(_Slope(a, argnum, dims), argnum, dims)
    return (
        Segment((*div.functions, a), (PowerSum(argnum, 2, dims),), (1,)),
        Segment(div.functions, (slope,), (1,)),
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
        slope = ravel_pytree(jax.grad(value)(x))[0]
        return slope if self.dims is None else slope[np.asarray(self.dims)]
