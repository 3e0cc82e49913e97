"""Equality of nonlinear operators: sums of products that may be written in different ways."""

from collections.abc import Hashable, Sequence
from typing import Any

from ..terms.canonical import concrete, precision
from ..terms.coefficients import number_of
from .base import Operator
from .products import After, Product, place


def equal(left: Any, right: Any) -> bool:
    """Whether they are equal sums, up to rounding of their numbers."""
    first, second = _linear_parts(left), _linear_parts(right)
    for kind in {**first, **second}:
        one = first[kind] if kind in first else 0 * second[kind]
        if one != second.get(kind, 0 * one):
            return False
    return _equal_inside(left, right) and _cancel(
        [p for p in (*left.products, *(-right).products) if p.linear is None and not _alone(p)]
    )


def _linear_parts(operator: Any) -> dict[Hashable, Operator]:
    """The linear products, by the kind of their outputs."""
    found = [(place(each), each.linear) for each in operator.products]
    return {kind: linear for kind, linear in found if linear is not None}


def _alone(product: Product) -> After | None:
    """The linear operator applied to another value, if a product is a number times that."""
    (factor,) = product.factors if len(product.factors) == 1 else (None,)
    return factor if isinstance(factor, After) and not product.functions else None


def _equal_inside(left: Any, right: Any) -> bool:
    """Whether linear operators are applied to equal values."""
    inside: list[tuple[Operator, list[Any]]] = []
    for side, operator in enumerate((left, right)):
        for product in operator.products:
            if (factor := _alone(product)) is None:
                continue
            sums = next((both for outer, both in inside if outer == factor.outer), None)
            if sums is None:
                inside.append((factor.outer, sums := [0 * factor.inner, 0 * factor.inner]))
            sums[side] = sums[side] + number_of(product.coefficient) * factor.inner
    return all(equal(*both) for _, both in inside)


def _cancel(products: Sequence[Product]) -> bool:
    """Whether a sum of products is zero."""
    rest = list(products)
    while rest:
        alike = [each for each in rest if each.same(rest[0])]
        rest = [each for each in rest if not any(each is other for other in alike)]
        numbers = [concrete(each.coefficient) for each in alike]
        tolerance = 8 * precision([each.coefficient for each in alike])
        if abs(sum(numbers)) > tolerance * max(map(abs, numbers)):
            return False
    return True
