"""Records of primitives: all that the engine knows of each, made beside its rule.

Rules, replacing, costs, chunks and the table in the documentation read these records. No other file
names a primitive.
"""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, final

import jax.extend.core as jex

Rule: TypeAlias = Callable[..., list[Any]]
"""`rule(families, eqn, operands)`: the values of an equation's outputs."""


@final
class Form(enum.Enum):
    """Products whose coefficients keep their structure, each in a different way."""

    ENTRYWISE = enum.auto()
    DOT = enum.auto()
    CONVOLUTION = enum.auto()
    OTHER = enum.auto()


@final
class Inner(enum.Enum):
    """How an inner program relates to the primitive that calls it."""

    CALLED = enum.auto()
    """The primitive is just this program."""
    REMATERIALISED = enum.auto()
    """The primitive is just this program, computed again in reverse mode."""
    DECLARED = enum.auto()
    """A function whose derivative the user has defined."""
    REVERSED = enum.auto()
    """A function whose derivative the user has defined for reverse mode only."""


class Following(NamedTuple):
    """How a value changes if s is added to something: it is multiplied by e^{`factor` s}, and
    `added` s is added to it. One of the two numbers is 0.
    """

    added: float = 0
    factor: float = 0


@final
@dataclasses.dataclass(frozen=True)
class Primitive:
    """One primitive.

    - `rule`: how jets are pushed through it; None if nothing that moves has a derivative, or if an
        inner program is written out in its place.
    - `kind`: the class of the rule, as the documentation calls it.
    - `linear_in`: the operands in which it is jointly linear, with the others constant.
    - `signs`: of the terms, if it is a sum.
    - `scalars`: whether a number may stand for an array among its operands.
    - `moves`: for a linear one, where the entries of an operand go, as relations, see `places`.
    - `on_values`: whether it is a function of each entry separately.
    - `form`: for a bilinear one, which product it is.
    - `summed`: for a product that sums over axes, how many terms an equation sums for each entry.
    - `entrywise`: whether each entry of the output depends on one entry of each operand, for all
        equations or for some.
    - `on_indices`: whether its result stays known while tracing if its operands are known, so that
        sparse coefficients can be followed through indices.
    - `recurrence`: for an elementwise function, how its Taylor coefficients follow from each other.
    - `slope`: for an elementwise function of real numbers, its derivative if JAX's loses digits.
    - `equation`: for an elementwise function that solves y′ = a + λ y + μ y², λ and μ.
    - `logarithmic`: for an elementwise function with φ″ = −λ φ′², λ.
    - `in_range`: the order up to which its derivatives are in range wherever the function is.
    - `singular`: whether derivatives grow without bounds somewhere, for all equations or for some.
    - `mask`: for an elementwise function, which coefficients are masked before they meet its
        higher derivatives.
    - `inner`: how its inner program relates to it, if that is written out or inspected.
    - `known`: for a call, the record of the function behind it, if that is one of JAX's own.
    - `evaluate`: how an equation is evaluated, if not by a plain bind.
    - `stops`: whether its output is its operand with derivative zero.
    - `under_shift`: how its output changes if a number is added to something in its operands.
    - `mixes`: whether named axes among its parameters say that it moves values along them.
    """

    rule: Rule | None = None
    kind: str = "no derivative"
    linear_in: slice | None = None
    signs: tuple[int, ...] | None = None
    scalars: bool = False
    moves: Callable[..., Any] | None = None
    on_values: bool = False
    form: Form | None = None
    summed: Callable[[jex.JaxprEqn], int] | None = None
    entrywise: bool | Callable[[jex.JaxprEqn], bool] = False
    on_indices: bool = False
    recurrence: Callable[..., Any] | None = None
    slope: Callable[[Any], Any] | None = None
    equation: Any = None
    logarithmic: float | None = None
    in_range: float | int = 0
    singular: bool | Callable[[jex.JaxprEqn], bool] = False
    mask: Callable[..., Any] | None = None
    inner: Inner | None = None
    known: Callable[[jex.JaxprEqn], "Primitive | None"] | None = None
    evaluate: Callable[..., list[Any]] | None = None
    stops: bool = False
    under_shift: Callable[..., "Following | None"] | None = None
    mixes: bool = True

    def multiplies(self, moving: int) -> bool:
        """Whether the coefficients of this many moving operands are multiplied with each other."""
        return self.linear_in is None and not (self.form is not None and moving < 2)

    def is_entrywise(self, eqn: jex.JaxprEqn) -> bool:
        return self.entrywise(eqn) if callable(self.entrywise) else self.entrywise

    def is_singular(self, eqn: jex.JaxprEqn) -> bool:
        return self.singular(eqn) if callable(self.singular) else self.singular


_records: dict[str, Primitive] = {}
_of_others = [Primitive()]


def enter(names: list[str], record: Primitive) -> None:
    """Enters the record of some primitives, by their names."""
    _records.update(dict.fromkeys(names, record))


def enter_further(names: str, **known: Any) -> None:
    """Adds knowledge about primitives that have a record."""
    for name in names.split():
        _records[name] = dataclasses.replace(_records[name], **known)


def enter_others(record: Primitive) -> None:
    """Enters the record for all primitives without one of their own."""
    _of_others[:] = [record]


def has_rule(name: str) -> bool:
    """Whether the primitive, or all primitives of its inner program, have a rule."""
    record = _records.get(name)
    return record is not None and (record.rule is not None or record.inner is not None)


def named(name: str) -> Primitive:
    return _records.get(name, _of_others[0])


def of(eqn: jex.JaxprEqn) -> Primitive:
    """The record of an equation's primitive, or of a function of JAX that it calls."""
    record = _records.get(eqn.primitive.name, _of_others[0])
    return record if record.known is None else record.known(eqn) or record


def rule_of(eqn: jex.JaxprEqn) -> Rule:
    rule = of(eqn).rule or _of_others[0].rule
    assert rule is not None
    return rule
