"""Checks of the operators and functions that baselines can handle."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jets.index_terms import CoordinateTerms, Monomial
from ..jets.point import Point
from ..jets.terms import Factor
from ..jets.vector_terms import GradientTerms
from ..terms.term import Part, Segment, Term


def check_parts(parts: Sequence[Part]) -> None:
    """Refuses operators that no baseline can handle."""
    for part in parts:
        if part.draw is not None:
            raise TypeError(
                "a baseline makes its own estimates of operators, got an estimate, whose jets are "
                "fixed; give it the operator."
            )
        for term in part.terms:
            if not _is_possible(term):
                raise ValueError(
                    "baselines take u, b·∇u, ∇u and derivatives of order two by the first "
                    f"argument, their sums and multiples; got {term.signed_text[1]}. "
                    "diffop.estimate and diffop.exact take every operator."
                )


def _is_possible(term: Term) -> bool:
    if len(term.word) > 1:
        return False
    return all(map(_is_simple, term.word))


def _is_simple(segment: Segment) -> bool:
    gradients = [isinstance(factor, GradientTerms) for factor in segment.factors]
    if segment.entries or segment.sees_all:
        return False
    if any(gradients):
        known = len(gradients) == 1 and segment.order == 1
    else:
        known = segment.componentwise and segment.order <= 2
    return known and all(_arguments(factor) == {0} for factor in segment.factors)


def _arguments(factor: Factor) -> set[int]:
    """The arguments of u with respect to which a factor differentiates."""
    match factor:
        case Monomial():
            return {argnum for (argnum, _), _ in factor.alpha}
        case CoordinateTerms():
            return set(factor.argnums)
    return {getattr(factor, "argnum", -1)}


def checked_point(u: Callable[..., Any], args: tuple[Any, ...]) -> Point:
    """The point, if u is a real function of one vector there."""
    expected = "a baseline differentiates real scalar functions of one vector"
    if len(args) != 1:
        raise TypeError(
            f"{expected}, got {len(args)} arguments; put them into one vector, or take "
            "diffop.estimate."
        )
    x = jnp.asarray(args[0]) if isinstance(args[0], np.ndarray) else args[0]
    if not (isinstance(x, jax.Array) and x.ndim == 1 and jnp.issubdtype(x.dtype, jnp.floating)):
        got = f"{x.dtype}{list(x.shape)}" if isinstance(x, jax.Array) else type(x).__name__
        raise TypeError(f"{expected}, got the point {got}; map over points with jax.vmap.")
    value = jax.eval_shape(u, x)
    shapes = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(value)]
    if len(shapes) != 1 or shapes[0][0] or not jnp.issubdtype(shapes[0][1], jnp.floating):
        got = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in shapes)
        raise TypeError(f"{expected}, got one that returns {got}.")
    return Point((x,))
