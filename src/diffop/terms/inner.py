"""Nonlinear functions of u to which words of linear operators are applied."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

from ..jets.point import Point
from ..jets.terms import Factor
from .term import Part, Segment, compose, factor_term


@final
class InnerFunction(Factor):
    """x ↦ (N u)(x) for a nonlinear operator N, which is applied first. It is exact in estimates
    too, so that operators that are linear in it stay unbiased.
    """

    operator: Any
    """The operator: it has `leaves`, operators on u, and combines their values."""
    exponents: ClassVar[tuple[int, ...]] = ()
    rank: ClassVar[int] = 0
    mixes: ClassVar[bool] = True
    constant: ClassVar[bool] = False
    number: ClassVar[int] = 1

    @property
    def symbol(self) -> str:
        return f"({self.operator})"

    def count(self, point: Point) -> int:
        return 1


def after(outer: Sequence[Part], operator: Any) -> tuple[Part, ...]:
    """The parts of a linear operator, applied to the value of another one for u."""
    inner = factor_term(InnerFunction(operator))
    return tuple(Part(tuple(compose(t, inner) for t in part.terms), part.draw) for part in outer)


def order_in_u(leaves: Sequence[tuple[tuple[Part, ...], int | None]]) -> int:
    """The highest order of a derivative of u itself."""
    words = [term.word for parts, _ in leaves for part in parts for term in part.terms]
    return max(map(_order, words), default=0)


def _order(word: Sequence[Segment]) -> int:
    inner = [f for segment in word[-1:] for f in segment.factors if isinstance(f, InnerFunction)]
    if inner:
        return order_in_u(inner[0].operator.leaves)
    return sum(segment.order for segment in word)


def inner_parts(parts: Sequence[Part]) -> list[Part]:
    """The parts inside nonlinear functions."""
    words = [term.word for part in parts for term in part.terms]
    inner = [f for word in words for s in word for f in s.factors if isinstance(f, InnerFunction)]
    found = [part for f in inner for own, _ in f.operator.leaves for part in own]
    return found + (inner_parts(found) if found else [])
