"""What the engine knows of a primitive: one record, made where its rule is, and read by all else.

Rules, replacing, costs, chunks and the table in the documentation ask here; no other place names
a primitive.
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
    """Products whose coefficients keep their structure, each in its own way."""

    ENTRYWISE = enum.auto()
    DOT = enum.auto()
    CONVOLUTION = enum.auto()
    OTHER = enum.auto()


@final
class Inner(enum.Enum):
    """What an inner program is to the primitive that calls it."""

    CALLED = enum.auto()
    """All of it."""
    REMATERIALISED = enum.auto()
    """All of it, computed again in reverse mode."""
    DECLARED = enum.auto()
    """A function whose derivative the user has given."""
    REVERSED = enum.auto()
    """A function whose derivative the user has given for reverse mode alone."""


class Following(NamedTuple):
    """How a value follows where s is added to something: it becomes e^{`factor` s} times itself,
    plus `added` s. One of them is 0.
    """

    added: float = 0
    factor: float = 0


@final
@dataclasses.dataclass(frozen=True)
class Primitive:
    """One primitive.

    - `rule`: how jets are pushed through it; None where nothing that moves has a derivative, and
        where an inner program is written out in its place.
    - `kind`: the class of the rule, as the documentation calls it.
    - `linear_in`: the operands that it is jointly linear in, the others standing still.
    - `signs`: of a sum, the signs of its terms.
    - `scalars`: whether a number may stand for an array among its operands.
    - `behind`: what changes in its parameters where its operand has rows in front.
    - `moves`: of a linear one, where the entries of an operand go, as relations, see `places`.
    - `on_values`: whether it is a function of each entry by itself.
    - `form`: of a bilinear one, which product it is.
    - `summed`: of a product that sums over axes, how many terms an equation sums for each entry.
    - `entrywise`: whether each entry of the output depends on one entry of each operand, for all
        equations or for some.
    - `on_indices`: whether it is kept known while tracing where its operands are, so that sparse
        coefficients can be followed through indices.
    - `recurrence`: of an elementwise function, how its Taylor coefficients follow from one another.
    - `slope`: of an elementwise function of real numbers, its derivative where JAX's loses digits.
    - `equation`: of an elementwise function that solves y′ = a + λ y + μ y², λ and μ.
    - `logarithmic`: of an elementwise function with φ″ = −λ φ′², λ.
    - `in_range`: the order to which its derivatives are in range wherever it is itself.
    - `singular`: whether derivatives grow without bounds somewhere, for all equations or for some.
    - `settled`: of an elementwise function, what may not count of coefficients that meet its higher
        derivatives.
    - `inner`: what its inner program is, where that is written out or looked into.
    - `known`: of a call, the record of the function behind it, where that is one of JAX's own.
    - `evaluate`: how an equation is evaluated that is not just bound.
    - `stops`: whether its output is its operand, standing still.
    - `under_shift`: how its output follows a number that is added to something in its operands.
    - `mixes`: whether named axes among its parameters say that it moves values along them.
    """

    rule: Rule | None = None
    kind: str = "no derivative"
    linear_in: slice | None = None
    signs: tuple[int, ...] | None = None
    scalars: bool = False
    behind: Callable[[dict[str, Any], tuple[int, ...]], dict[str, Any]] | None = None
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
    settled: Callable[..., Any] | None = None
    inner: Inner | None = None
    known: Callable[[jex.JaxprEqn], "Primitive | None"] | None = None
    evaluate: Callable[..., list[Any]] | None = None
    stops: bool = False
    under_shift: Callable[..., "Following | None"] | None = None
    mixes: bool = True

    @property
    def is_contraction(self) -> bool:
        return self.summed is not None

    def multiplies(self, moving: int) -> bool:
        """Whether coefficients of so many moving operands meet in products of one another."""
        return self.linear_in is None and not (self.form is not None and moving < 2)

    def is_entrywise(self, eqn: jex.JaxprEqn) -> bool:
        return self.entrywise(eqn) if callable(self.entrywise) else self.entrywise

    def is_singular(self, eqn: jex.JaxprEqn) -> bool:
        return self.singular(eqn) if callable(self.singular) else self.singular


_records: dict[str, Primitive] = {}
_of_others = [Primitive()]


def enter(names: list[str], record: Primitive) -> None:
    """The record of some primitives, by their names."""
    _records.update(dict.fromkeys(names, record))


def enter_further(names: str, **known: Any) -> None:
    """More that is known of primitives that have a record."""
    for name in names.split():
        _records[name] = dataclasses.replace(_records[name], **known)


def enter_others(record: Primitive) -> None:
    """The record of all primitives without one of their own."""
    _of_others[:] = [record]


def has_rule(name: str) -> bool:
    """Whether there is one, of the primitive or of those of its inner program."""
    record = _records.get(name)
    return record is not None and (record.rule is not None or record.inner is not None)


def named(name: str) -> Primitive:
    return _records.get(name, _of_others[0])


def of(eqn: jex.JaxprEqn) -> Primitive:
    """The record of an equation's primitive, or of a function of JAX's that it calls."""
    record = _records.get(eqn.primitive.name, _of_others[0])
    return record if record.known is None else record.known(eqn) or record


def rule_of(eqn: jex.JaxprEqn) -> Rule:
    rule = of(eqn).rule or _of_others[0].rule
    assert rule is not None
    return rule
