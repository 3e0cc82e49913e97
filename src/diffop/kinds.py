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
    - `choices`: the allowed words, of which an error names the nearest.

    Called with a setting's help it returns the `metadata` of the dataclass's field.
    """

    expected: str
    holds: Callable[[Any], bool]
    metavar: str | None = None
    choices: Collection[str] = ()

    def __call__(self, text: str) -> dict[str, Any]:
        return {"kind": self, "help": text}

    def check(self, name: str, value: object) -> None:
        """**Raises:** `ValueError` naming the setting, what it expects and what it got."""
        if not self.holds(plain(value)):
            option, near = name.replace("_", "-"), nearest(value, self.choices)
            raise ValueError(f"{option} must be {self.expected}{near}, got {value!r}.")


def only(value: Any, why: str) -> Kind:
    """A single value, if others would have no effect, with the reason."""
    return Kind(f"{as_word(value)} {why}", (value,).__contains__)


def one_of(choices: Collection[str], metavar: str | None = None) -> Kind:
    """One of some words."""
    known = tuple(choices)
    shown = metavar or f"{{{','.join(known)}}}"
    return Kind(f"one of {', '.join(known)}", known.__contains__, shown, known)


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


def check_size(name: str, value: int | None) -> None:
    """Checks a count, which is a size or an index of arrays, or the seed, of which random keys use
    the last 32 bits.

    **Raises:** `ValueError` naming the setting, what it expects and what it got.
    """
    bits, why = (32, ", as random keys tell no others apart") if name == "seed" else (31, "")
    expected = f"below 2**{bits} = {2**bits}{why}"
    Kind(expected, lambda value: value is None or value < 2**bits).check(name, value)


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


COUNT = Kind("an integer of at least 1", _is_integer)
COUNT_OR_NONE = Kind(
    f"{COUNT.expected}, or {NONE}",
    lambda value: value is None or _is_integer(value),
    f"NUMBER|{NONE}",
)
NATURAL = Kind("a non-negative integer", lambda value: _is_integer(value, 0))
POSITIVE = Kind("a finite positive number", _is_positive)
NOT_NEGATIVE = Kind("a finite non-negative number", _is_not_negative)
SCALE = Kind(
    f"a finite positive number, or {SOURCE}",
    lambda value: value == SOURCE or _is_positive(value),
    f"NUMBER|{SOURCE}",
)
ANCHOR = Kind(
    f"a finite number, {SOURCE} or {NONE}",
    lambda value: value is None or value == SOURCE or _is_number(value),
    f"NUMBER|{SOURCE}|{NONE}",
)
NUMBER_OR_NONE = Kind(
    f"a finite number or {NONE}",
    lambda value: value is None or _is_number(value),
    f"NUMBER|{NONE}",
)
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
