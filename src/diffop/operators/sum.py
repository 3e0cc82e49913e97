"""Sums of terms, flat and merged: what every operator is made of."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import filterfalse

from ..jets.fields import Number
from .coefficients import add
from .term import Term


def merged(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Like terms added up, in the order of their first appearance; terms with coefficient 0
    dropped.

    **Raises:** `ValueError` for terms whose outputs have different shapes.
    """
    terms = tuple(terms)
    if len(terms) > 1:
        terms = _collected(terms)
    kept = tuple(filterfalse(_vanishes, terms))
    _check_kinds(kept)
    return kept


def _collected(terms: Sequence[Term]) -> tuple[Term, ...]:
    collected: dict[Hashable, Term] = {}
    for term in terms:
        key = term.key
        known = collected.get(key)
        if known is not None:
            term = Term(add(known.coefficient, term.coefficient), known.word)
        collected[key] = term
    return tuple(collected.values())


def _vanishes(term: Term) -> bool:
    return isinstance(term.coefficient, Number) and term.coefficient.value == 0


def _check_kinds(terms: Sequence[Term]) -> None:
    for term in terms[1:]:
        if term.kind != terms[0].kind:
            first, second = terms[0].signed_text[1], term.signed_text[1]
            raise ValueError(
                f"{first} and {second} cannot be added: their outputs have different shapes. "
                "Evaluate them together with do.exact({...}) and combine the results."
            )


def text(terms: Sequence[Term]) -> str:
    """A sum in the notation of mathematics."""
    if not terms:
        return "0"
    parts = []
    for position, term in enumerate(terms):
        sign, body = term.signed_text
        if position == 0:
            parts.append(f"−{body}" if sign == "−" else body)
        else:
            parts.append(f"{sign} {body}")
    return " ".join(parts)
