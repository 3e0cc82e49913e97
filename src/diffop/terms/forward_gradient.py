"""Gradients from the jets of other derivatives in few coordinates, such as a Laplacian's.

Reverse mode takes d derivatives at the cost of about two evaluations (`gradient.py`). Jets along
the same d coordinates that are pushed anyway carry them already, if these are few (`sharing.py`).
"""

import math
from collections.abc import Sequence
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..jets.arranged_terms import ArrangedTerms, CurlTerms, Derivative
from ..jets.index_terms import PowerSum
from ..jets.point import Point
from ..jets.terms import Located
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from .sharing import FEW
from .term import Request, Segment, Term


@final
class ForwardGradient(Located, ArrangedTerms):
    """∇u from the derivatives with respect to each coordinate: in the structure of the argument, or
    as a vector with respect to some coordinates.
    """

    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = 1
    number: ClassVar[None] = None

    @property
    def symbol(self) -> str:
        return f"∇{self.mark}"

    def derivatives(self, point: Point) -> tuple[Derivative, ...]:
        return tuple((((self.argnum, i), 1),) for i in self.positions(point).tolist())

    def arrange(self, values: Sequence[PyTree], point: Point) -> PyTree:
        leaves, structure = jax.tree.flatten(point.args[self.argnum])
        shapes = [jnp.shape(leaf) for leaf in leaves]
        ends = np.cumsum([math.prod(shape) for shape in shapes])

        def of_one(*entries: Array) -> PyTree:
            """The gradient of one output."""
            row = jnp.stack(entries, axis=-1)
            if self.dims is not None:
                return row
            parts = zip(jnp.split(row, ends[:-1], axis=-1), shapes, strict=True)
            leaves = [part.reshape(*row.shape[:-1], *shape) for part, shape in parts]
            return jax.tree.unflatten(structure, leaves)

        return jax.tree.map(of_one, *values)


def forward_gradients(requests: Sequence[Request], point: Point) -> Sequence[Request]:
    """The terms whose heads act on one function, with every gradient beside such jets in this
    form.
    """
    if point.plan != "auto" or point.chunk is not None:
        return requests
    exact = [term.head for _, term, draw in requests if draw is None]
    carried = {place for head in exact for place in _carried(head, point)}

    def written(term: Term) -> Term:
        factor = term.head.factors[0] if term.head.factors else None
        if not isinstance(factor, GradientTerms) or factor.field is not None:
            return term
        leaves = jax.tree.leaves(point.args[factor.argnum])
        real = all(jnp.issubdtype(jnp.result_type(leaf), jnp.floating) for leaf in leaves)
        wanted = [(factor.argnum, i) for i in factor.positions(point).tolist()]
        if not real or len(wanted) > FEW or not carried.issuperset(wanted):
            return term
        gradient = ForwardGradient(factor.argnum, factor.dims)
        head = Segment(term.head.functions, (gradient,), (1,), term.head.entries)
        return Term(term.coefficient, (head, *term.word[1:]))

    return [(n, term if draw else written(term), draw) for n, term, draw in requests]


def _carried(head: Segment, point: Point) -> set[tuple[int, int]]:
    """The coordinates (argnum, i) with respect to which first derivatives are carried for a term:
    few of a power sum or of a divergence, all of a curl, and all of a derivative of higher order.
    """
    factor = head.factors[0] if len(head.factors) == 1 and head.powers == (1,) else None
    if isinstance(factor, PowerSum | DivergenceTerms) and factor.count(point) <= FEW:
        if isinstance(factor, DivergenceTerms) or factor.power > 1:
            return {(factor.argnum, i) for i in factor.positions(point).tolist()}
    every = isinstance(factor, CurlTerms)
    alphas = [alpha for alpha in head.derivatives(point) if every or sum(k for _, k in alpha) > 1]
    return {variable for alpha in alphas for variable, _ in alpha}
