"""The formal adjoint of an operator, term by term.

Integration by parts, without boundary terms, gives ∫ conj(v) c D u = ∫ conj((c D)* v) u for

    (c ∂^α)* v = (−1)^|α| ∂^α (c̄ v),        (A B)* = B* A*.

A coefficient function stays inside the derivative, as a composition. Coefficients that are fields
of vectors or matrices are differentiated:

    (b·∇)* = −b·∇ − div b,
    (C:∇²)* = C:∇² + β·∇ + ½ div β,        β_j = Σ_i ∂_i (C_ij + C_ji),

since ∂_i∂_j (C_ij v) = C_ij ∂_i∂_j v + β_j ∂_j v + (∂_i∂_j C_ij) v, summed over i and j, and div β
contains every ∂_i∂_j C_ij twice. C = ½σσᵀ is treated in the same way. Fields are real.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jets.arranged_terms import CurlTerms, HessianTerms
from ..jets.field_terms import FactoredForm, LinearForm, MatrixForm
from ..jets.fields import Number, is_constant, is_matvec
from ..jets.index_terms import CoordinateTerms, Monomial
from ..jets.terms import Factor
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from .coefficients import ScalarCoefficient
from .derived_fields import DivergenceOf, RowDivergence, RowOf, conjugate
from .term import Segment, Term, compose, compose_sums, entry_term, factor_term, flux, function_term

_ROTATED = np.array([[0.0, -1.0], [1.0, 0.0]])


def adjoint(terms: Sequence[Term], conjugated: bool) -> tuple[Term, ...]:
    """The terms of the adjoint; of the transpose if nothing is conjugated.

    **Raises:** `ValueError` for terms whose adjoint depends on u's shape.
    """
    return tuple(each for term in terms for each in _of_term(term, conjugated))


def _of_term(term: Term, conjugated: bool) -> Sequence[Term]:
    """(s₁ s₂ …)* = … s₂* s₁*."""
    found: Sequence[Term] = (Term(_conjugated(term.coefficient, conjugated), ()),)
    word = list(term.word)
    while word:
        segment = word.pop(0)
        grad = flux(segment, word[0]) if word else None
        if grad is not None and not word[0].entries:
            word.pop(0)
            inner: Sequence[Term] = _of_flux(segment, grad)
        else:
            inner = _of_product(segment)
        found = compose_sums(_of_functions(segment.functions, conjugated), found)
        found = compose_sums(inner, found)
    return found


def _conjugated(coefficient: ScalarCoefficient, conjugated: bool) -> ScalarCoefficient:
    if not conjugated:
        return coefficient
    if isinstance(coefficient, Number):
        value = coefficient.value
        return Number(value.conjugate()) if isinstance(value, complex) else coefficient
    return jnp.conj(coefficient) if jnp.iscomplexobj(coefficient) else coefficient


def _of_functions(functions: Sequence[Callable[..., Any]], conjugated: bool) -> Sequence[Term]:
    found = Term(Number(1), ())
    for function in functions:
        found = compose(found, function_term(conjugate(function) if conjugated else function))
    return (found,)


def _of_flux(div: Segment, grad: GradientTerms) -> Sequence[Term]:
    """(div M∇)* = div Mᵀ∇, where M is σᵀ or a."""
    other = GradientTerms(grad.argnum, grad.dims, grad.field, transposed=not grad.transposed)
    return (compose(factor_term(div.factors[0]), factor_term(other)),)


def _of_product(segment: Segment) -> Sequence[Term]:
    """The adjoint of the derivatives in a segment. At most one of them has variable coefficients:
    the one that is applied last.
    """
    if segment.entries:
        raise ValueError(
            f"{segment.text} has no adjoint by itself: it takes an entry of u, and how many u has "
            "is not known. Take that of the operator on scalars, and place it by hand."
        )
    varying = [each for each in segment.product if not each[0].constant]
    if sum(power for _, power in varying) > 1:
        raise ValueError(
            f"the adjoint of {segment.text} would differentiate a product of coefficients in one "
            "segment; write it as a composition, A @ B."
        )
    found: Sequence[Term] = (Term(Number(1), ()),)
    constant = [each for each in segment.product if each[0].constant]
    for factor, power in [*varying, *constant]:
        for _ in range(power):
            found = compose_sums(_of_factor(factor), found)
    return found


def _of_factor(factor: Factor) -> Sequence[Term]:
    match factor:
        case GradientTerms():
            return _of_gradient(factor)
        case DivergenceTerms():
            return (_scaled(-1, GradientTerms(factor.argnum, factor.dims, None)),)
        case CurlTerms() if len(factor.dims) == 3:
            return (factor_term(factor),)
        case CurlTerms():
            rotated = GradientTerms(factor.argnum, factor.dims, jnp.asarray(_ROTATED))
            return (factor_term(rotated),)
        case HessianTerms():
            raise ValueError(
                f"{factor} has no adjoint here: it would act on matrices. Take "
                "Divergence() @ Divergence() of each row by hand."
            )
        case _ if factor.constant:
            return (_scaled((-1) ** factor.order, factor),)
        case LinearForm():
            divergence = DivergenceOf(factor.field, factor.argnum, factor.dims)
            return (_scaled(-1, factor), _times(-1, divergence))
        case MatrixForm() | FactoredForm():
            slope = RowDivergence(factor)
            divergence = DivergenceOf(slope, factor.argnum, factor.dims)
            first = factor_term(LinearForm(factor.argnum, factor.dims, slope))
            return (factor_term(factor), first, _times(0.5, divergence))
        case CoordinateTerms():
            return _of_list(factor)
    raise ValueError(
        f"{factor} has no adjoint here: adjoints are taken of what diffop makes of derivatives at "
        "a point. That of an integral is one over the other argument of its kernel."
    )


def _scaled(number: int | float, factor: Factor) -> Term:
    return Term(Number(number), factor_term(factor).word)


def _times(number: int | float, function: Callable[..., Any]) -> Term:
    return Term(Number(number), function_term(function).word)


def _of_gradient(grad: GradientTerms) -> Sequence[Term]:
    """−div, or −div σ; if the columns of σ are known, each column along its own direction."""
    field, argnum, dims = grad.field, grad.argnum, grad.dims
    divergence = DivergenceTerms(argnum, dims)
    if field is None:
        return (_scaled(-1, divergence),)
    if isinstance(field, Number):
        return (_scaled(-field.value, divergence),)
    if not is_constant(field) or is_matvec(field) or not isinstance(field, jax.Array):
        raise ValueError(
            f"{grad} has no adjoint here: it is −div(σ v), and the columns of σ are not known "
            "before there is a point. With a σ that is an array it has one, and so has the "
            "operator in divergence form, DivergenceForm(a)."
        )
    if field.ndim == 0:
        return (Term(-field, factor_term(divergence).word),)
    columns = (jnp.diag(field) if field.ndim == 1 else field).T
    along = [factor_term(LinearForm(argnum, dims, -column)) for column in columns]
    return tuple(compose(term, entry_term(j)) for j, term in enumerate(along))


def _of_list(terms: CoordinateTerms) -> Sequence[Term]:
    """Σ_r (−1)^k ∂^{α_r} c_r."""
    sign = (-1) ** terms.order
    return [
        compose(_scaled(sign, Monomial(alpha)), function_term(RowOf(terms, row)))
        for row, alpha in enumerate(terms.alphas)
    ]
