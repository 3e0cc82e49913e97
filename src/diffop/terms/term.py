"""Terms of an operator, and their sums: a scalar times a word of segments.

A segment is a product of coefficient functions and derivatives, evaluated together at a point:
c(x) ∂^α. Inside a segment everything commutes. It may act on an entry of a vector-valued u, which
is taken first: c(x) ∂^α u_i. Derivatives that treat every value of u alike commute with that. A
word s₁ s₂ … is a composition: s₁ differentiates the function that s₂ … gives for u, including its
coefficient functions. Constant coefficients commute with derivatives, so a segment absorbs a
constant one on its right and words stay as short as possible; `Laplacian() @ Laplacian()` is one
segment, Δ².
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeAlias, final

import equinox as eqx

from ..jets.arranged_terms import ArrangedTerms, Derivative, HessianTerms, mixed
from ..jets.fields import Number
from ..jets.identity import by_object
from ..jets.index_terms import Monomial, PowerSum
from ..jets.point import Point
from ..jets.terms import Factor, Factors
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from ..notation import superscript
from ..probes.base import Draw
from .coefficients import ZERO, ScalarCoefficient, add, multiply, sign_and_text
from .entries import Entries, Entry, entry_text
from .nonlocal_terms import Nonlocal


@final
class Segment(eqx.Module):
    """$Π_i c_i(x) Π_j D_j^{m_j}$, applied to `entries` of a function, taken one after another: the
    segments of which a [`diffop.operators.Term`][] is composed.

    !!! example

        ```python
        import diffop as do

        (term,) = do.Laplacian().terms()
        term.head.text, term.head.order  # ('Δ', 2)
        ```
    """

    functions: tuple[Callable[..., Any], ...] = ()
    factors: tuple[Factor, ...] = ()
    powers: tuple[int, ...] = eqx.field(static=True, default=())
    entries: Entries = eqx.field(static=True, default=())

    @property
    def order(self) -> int:
        return sum(t.order * m for t, m in self.product)

    @property
    def componentwise(self) -> bool:
        """Whether the segment acts on each value of a function separately."""
        return all(t.componentwise for t in self.factors)

    @property
    def sees_all(self) -> bool:
        """Whether it reads u at points other than its own."""
        return any(isinstance(t, Nonlocal) for t in self.factors)

    @property
    def all_drawn(self) -> bool:
        """Whether it sees all of u, and estimates draw those points."""
        return any(isinstance(t, Nonlocal) and t.drawn for t in self.factors)

    @property
    def derivative(self) -> Derivative | None:
        """$α$ if the derivative is $∂^α$; such derivatives are planned together."""
        factor = arranged(self)
        return factor.alpha if isinstance(factor, Monomial) else None

    def derivatives(self, point: Point) -> tuple[Derivative, ...]:
        """The derivatives with respect to single coordinates that it is, or arranges."""
        factor = arranged(self)
        return () if factor is None else factor.derivatives(point)

    @property
    def product(self) -> Factors:
        """The factors with their powers."""
        return list(zip(self.factors, self.powers, strict=True))

    @property
    def constant(self) -> bool:
        return not self.functions and all(t.constant for t in self.factors)

    @property
    def key(self) -> Hashable:
        """Equal for equal products, in whatever order they were written."""
        factors = {t.key: m for t, m in self.product}
        return (
            frozenset(Counter(map(by_object, self.functions)).items()),
            frozenset(factors.items()),
            self.entries,
        )

    @property
    def text(self) -> str:
        functions = [f"{function_name(c)}·" for c in self.functions]
        factors = [
            t.symbol if m == 1 else f"{_parenthesised(t)}{superscript(m)}" for t, m in self.product
        ]
        taken = [entry_text(entry) for entry in reversed(self.entries)]
        return "".join(functions) + (" ".join([*factors, *taken]) or "I")


def arranged(segment: Segment) -> ArrangedTerms | None:
    """The factor of a segment, if it is read from derivatives with respect to single
    coordinates.
    """
    factor = segment.factors[0] if len(segment.factors) == 1 else None
    return factor if isinstance(factor, ArrangedTerms) else None


Word: TypeAlias = tuple[Segment, ...]


@final
class Term(eqx.Module):
    """$c s₁ s₂$ …, a coefficient times a composition of [`diffop.operators.Segment`][]s, the last
    of which is applied first; the empty word is the identity. Your own operators return the terms
    of an expression.

    !!! example

        ```python
        import diffop as do

        (2 * do.Laplacian() + do.Identity()).terms()[0].head  # Δ
        ```
    """

    coefficient: ScalarCoefficient
    word: Word

    @property
    def key(self) -> Hashable:
        return tuple(segment.key for segment in self.word)

    @property
    def head(self) -> Segment:
        """The segment that is applied last."""
        return self.word[0] if self.word else Segment()

    @property
    def kind(self) -> tuple[Hashable, ...]:
        """How the term changes the shape of u: terms of one kind can be added."""
        steps: list[Hashable] = []
        for segment in self.word:
            for factor in segment.factors:
                _take_step(steps, factor)
            for entry in reversed(segment.entries):
                if not isinstance(entry, tuple):
                    steps.append("entry")
                elif steps[-1:] != ["contracted"]:  # a contraction accepts a vector of any length
                    steps.append(("entries", len(entry)))
        return tuple("entry" if step == "contracted" else step for step in steps)

    @property
    def signed_text(self) -> tuple[str, str]:
        sign, magnitude = sign_and_text(self.coefficient)
        word = " ".join(
            f"({segment.text})" if segment.functions and len(self.word) > 1 else segment.text
            for segment in self.word
        )
        return sign, " ".join(filter(None, [magnitude, word or "I"]))


def _take_step(steps: list[Hashable], factor: Factor) -> None:
    """Records how a factor changes the shape, after the steps of later factors."""
    if isinstance(factor, GradientTerms):
        field = None if factor.field is None else "sigma"
        if steps[-1:] == ["contracted"]:
            steps.pop()
        else:
            steps.append(("gradient", factor.argnum, factor.dims, field))
    elif isinstance(factor, HessianTerms):
        steps.append(factor.key)
    elif _is_like_argument(factor, steps):
        steps.pop()
    elif factor.rank < 0:
        steps.append("contracted")


def _is_like_argument(factor: Factor, steps: Sequence[Hashable]) -> bool:
    """Whether it is ∇ div, whose values have the structure of the argument, as u's have."""
    if not isinstance(factor, DivergenceTerms) or factor.dims is not None:
        return False
    return steps[-1:] == [("gradient", factor.argnum, None, None)]


@final
class Part(eqx.Module):
    """Terms that are exact (no draw) or share one [`diffop.probes.Draw`][].

    !!! example

        ```python
        import jax
        import diffop as do

        (part,) = do.Laplacian().estimate(jax.random.key(0), 4).parts
        part.draw.n  # 4
        ```
    """

    terms: tuple[Term, ...]
    draw: Draw | None


Request: TypeAlias = tuple[int, Term, Draw | None]
"""The number of an operator, one of its terms, and the term's draw."""


def by_inner_function(requests: Iterable[Request]) -> list[list[Request]]:
    """The terms in groups whose heads act on the same function: u, or the value of the rest of the
    word for u.
    """
    groups: dict[Hashable, list[Request]] = {}
    for name, term, draw in requests:
        rest, identity = tuple(segment.key for segment in term.word[1:]), None
        if rest and draw is not None:
            identity = draw.identity
        groups.setdefault((rest, identity), []).append((name, term, draw))
    return list(groups.values())


def factor_term(factor: Factor, power: int = 1) -> Term:
    """A factor by itself as a term."""
    return Term(Number(1), (Segment((), (factor,), (power,)),))


def function_term(function: Callable[..., Any]) -> Term:
    """Multiplication by c(x)."""
    return Term(Number(1), (Segment((function,)),))


def entry_term(entry: Entry) -> Term:
    """An entry of u's value, or several, as a term."""
    return Term(Number(1), (Segment(entries=(entry,)),))


def compose(left: Term, right: Term) -> Term:
    """The term that applies `right` first."""
    word = reduce(_append, right.word, list(left.word))
    return Term(multiply(left.coefficient, right.coefficient), tuple(word))


def compose_sums(left: Sequence[Term], right: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of a composition of two sums."""
    return tuple(compose(a, b) for a in left for b in right)


def leading_part(term: Term) -> Term:
    """The part of the term that has its own order, with all coefficient functions taken out of
    derivatives.
    """
    return Term(term.coefficient, (reduce(_product, term.word, Segment()),))


def _append(word: Sequence[Segment], segment: Segment) -> list[Segment]:
    if not word:
        return [segment]
    last = word[-1]
    trace = _divergence_of_gradient(last, segment)
    if trace is not None:
        return _append(word[:-1], trace)
    if segment.factors or segment.functions:  # other segments only take an entry, first of all
        moves = last.order > 0 or last.entries
        if not last.componentwise or (moves and not segment.componentwise):
            return [*word, segment]
        if last.sees_all or (segment.sees_all and last.factors):
            return [*word, segment]
        if last.order and not segment.constant:
            return [*word, segment]
    return [*word[:-1], _product(last, segment)]


def _divergence_of_gradient(left: Segment, right: Segment) -> Segment | None:
    """c(x) div ∇ = c(x) Δ, if both act on the same coordinates."""
    grad = flux(left, right)
    if grad is None or grad.field is not None:
        return None
    return Segment(left.functions, (PowerSum(grad.argnum, grad.dims, 2),), (1,), right.entries)


def flux(left: Segment, right: Segment) -> GradientTerms | None:
    """The gradient of which a divergence is taken, if both act on the same coordinates."""
    if left.entries or right.functions or len(left.factors) != 1 or len(right.factors) != 1:
        return None
    div, grad = left.factors[0], right.factors[0]
    if not (isinstance(div, DivergenceTerms) and isinstance(grad, GradientTerms)):
        return None
    return grad if (div.argnum, div.dims) == (grad.argnum, grad.dims) else None


def _product(left: Segment, right: Segment) -> Segment:
    """Like factors are collected; mixed derivatives are one factor."""
    powers: dict[Hashable, int] = {}
    factors: dict[Hashable, Factor] = {}
    alpha: Derivative = ()
    scalars: frozenset[int] = frozenset()
    full: frozenset[tuple[int, int]] = frozenset()
    for segment in (left, right):
        for factor, power in segment.product:
            if isinstance(factor, Monomial):
                scalars |= factor.scalars
                full |= factor.full
                alpha = reduce(mixed, [factor.alpha] * power, alpha)
            else:
                factors.setdefault(factor.key, factor)
                powers[factor.key] = powers.get(factor.key, 0) + power
    ordered = [(factors[key], power) for key, power in powers.items()]
    if alpha:
        ordered.append((Monomial(alpha, scalars, full), 1))
    return Segment(
        left.functions + right.functions,
        tuple(factor for factor, _ in ordered),
        tuple(power for _, power in ordered),
        right.entries + left.entries,
    )


def function_name(function: Callable[..., Any]) -> str:
    """A coefficient function's own name, if it has one."""
    name = getattr(function, "__name__", "c")
    return f"{name}(x)" if name.isidentifier() else "c(x)"


def _parenthesised(factor: Factor) -> str:
    simple = isinstance(factor, PowerSum) and factor.power == 2 and factor.dims is None
    return factor.symbol if simple else f"({factor.symbol})"


def merged(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Like terms added up, in the order of their first appearance; terms with coefficient 0
    dropped. If all are, the first one stays unless its value has the shape of u, as the operator 0
    has.

    **Raises:** `ValueError` for terms whose outputs have different shapes.
    """
    terms = tuple(terms)
    if len(terms) > 1:
        terms = _collected(terms)
    kept = tuple(term for term in terms if term.coefficient != ZERO)
    return kept or tuple(term for term in terms[:1] if term.kind)


def _collected(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Like terms added up."""
    collected: dict[Hashable, Term] = {}
    kind = terms[0].kind
    for term in terms:
        if term.kind != kind:
            first, second = terms[0].signed_text[1], term.signed_text[1]
            raise ValueError(
                f"{first} and {second} cannot be added: their outputs have different shapes. "
                "Evaluate them together with do.exact({...}) and combine the results."
            )
        key = term.key
        known = collected.get(key)
        if known is not None:
            term = Term(add(known.coefficient, term.coefficient), known.word)
        collected[key] = term
    return tuple(collected.values())


def text(terms: Sequence[Term]) -> str:
    """A sum in the notation of mathematics."""
    if all(term.coefficient == ZERO for term in terms):
        return "0"
    parts = []
    for position, term in enumerate(terms):
        sign, body = term.signed_text
        if position == 0:
            parts.append(f"−{body}" if sign == "−" else body)
        else:
            parts.append(f"{sign} {body}")
    return " ".join(parts)
