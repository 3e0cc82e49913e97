"""Kinds of settings: a check with its error message, and the form on the command line."""

import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, final

from .nearest import nearest
from .scalars import plain

SHARING = ("joined", "summed", "sliding")
"""How the rest of the network sees the numbers of blocks, which overlap if they slide."""

NONE = "none"
"""The word for None on the command line."""

SOURCE = "source"
"""The output scale or anchor that follows from a problem's source."""


@final
class Kind(NamedTuple):
    """The allowed values of a setting.

    - `expected`: in words, for errors.
    - `holds`: whether a value is allowed.
    - `metavar`: the placeholder of a value in the help of the command line; the setting's name if
        it is None.
    - `choices`: the allowed words, which the help lists, and of which an error names the nearest.
    - `bound`: another kind, to which values belong too, with its own error message.
    """

    expected: str
    holds: Callable[[Any], bool]
    metavar: str | None = None
    choices: Collection[str] = ()
    bound: "Kind | None" = None

    def check(self, name: str, value: object) -> None:
        """**Raises:** `ValueError` naming the setting, what it expects and what it got."""
        if not self.holds(plain(value)):
            option, near = name.replace("_", "-"), nearest(value, self.choices)
            raise ValueError(f"{option} must be {self.expected}{near}, got {value!r}.")
        if self.bound is not None:
            self.bound.check(name, value)

    def or_word(self, word: str | None) -> "Kind":
        """These values, and a word or None."""
        return self._replace(
            expected=f"{self.expected}, or {as_word(word)}",
            holds=lambda value: value == word or self.holds(value),
            metavar=f"{self.metavar or 'NUMBER'}|{as_word(word)}",
        )


def only(value: Any, why: str) -> Kind:
    """A single value, if others would have no effect, with the reason."""
    return Kind(f"{as_word(value)} {why}", (value,).__contains__)


def one_of(choices: Collection[str], metavar: str = "NAME") -> Kind:
    """One of some words."""
    known = tuple(choices)
    return Kind(f"one of {', '.join(known)}", known.__contains__, metavar, known)


def from_word(text: str) -> Any:
    """A value from a word of the command line: `none`, a number, numbers `1,2`, named numbers
    `a=1,b=2`; anything else is the word itself. The checks decide what is allowed.
    """
    if text == NONE:
        return None
    pairs = [each.rpartition("=") for each in text.split(",")]
    names, numbers = [name for name, _, _ in pairs], [_number(word) for _, _, word in pairs]
    if None in numbers or ("=" in text and not (all(names) and len({*names}) == len(names))):
        return text
    if all(names):
        return dict(zip(names, numbers, strict=True))
    return numbers if len(numbers) > 1 else numbers[0]


def _number(word: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return None


def as_word(value: Any) -> str:
    """The form of a setting's value on the command line."""
    if isinstance(value, dict):
        return ",".join(f"{name}={number}" for name, number in value.items())
    if isinstance(value, list):
        return ",".join(map(str, value))
    return NONE if value is None else str(value)


def _is_integer(value: Any, least: int = 1) -> bool:
    return type(value) is int and value >= least


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_not_negative(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_positive(value: Any) -> bool:
    return _is_not_negative(value) and value != 0


def _are_positive(value: Any) -> bool:
    return all(map(_is_positive, value if isinstance(value, list) else [value]))


def _are_weights(value: Any) -> bool:
    numbers = value.values() if isinstance(value, dict) else value
    several = isinstance(value, dict | list) and bool(value)
    return value is None or (several and all(map(_is_not_negative, numbers)))


def _below(bits: int, why: str = "") -> Kind:
    return Kind(f"below 2**{bits} = {2**bits}{why}", lambda value: value is None or value < 2**bits)


_SIZE = _below(31)  # a size or an index of arrays
COUNT = Kind("an integer of at least 1", _is_integer, bound=_SIZE)
COUNT_OR_NONE = COUNT.or_word(None)
NATURAL = Kind("a non-negative integer", lambda value: _is_integer(value, 0), bound=_SIZE)
SEED = NATURAL._replace(bound=_below(32, ", as random keys tell no others apart"))
POSITIVE = Kind("a finite positive number", _is_positive)
NOT_NEGATIVE = Kind("a finite non-negative number", _is_not_negative)
SCALE = POSITIVE.or_word(SOURCE)
NUMBER_OR_NONE = Kind("a finite number", _is_number).or_word(None)
ANCHOR = Kind("a finite number", _is_number).or_word(SOURCE).or_word(None)
FOR_CONDITIONS = Kind(
    "a finite positive number, or a list with one for each condition",
    _are_positive,
    "NUMBER[,NUMBER…]",
)
FOR_RESIDUALS = Kind(
    "none, or a dict or a list of finite non-negative numbers, one for each residual",
    _are_weights,
    "NAME=NUMBER,…",
)
