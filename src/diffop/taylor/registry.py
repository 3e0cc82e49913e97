"""Which rule pushes which primitive: one table."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax.extend.core as jex

from .bundle import Families, Value
from .tables import entering

Rule: TypeAlias = Callable[[Families, jex.JaxprEqn, Sequence[Value]], list[Value]]

_rules: dict[str, Rule] = {}
_fallback: list[Rule] = []


register = entering(_rules)
"""Name the primitives that a rule pushes."""


def register_fallback(rule: Rule) -> Rule:
    """Name the rule for every primitive without one of its own."""
    _fallback[:] = [rule]
    return rule


def has_rule(name: str) -> bool:
    return name in _rules


def rule_named(name: str) -> Rule:
    return _rules.get(name, _fallback[0])


def rule_for(eqn: jex.JaxprEqn) -> Rule:
    return rule_named(eqn.primitive.name)
