"""What a setting may be: a check with its words, and how the command line reads it."""

import argparse
import functools
import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, final

from .nearest import nearest
from .scalars import plain

SHARING = ("joined", "summed")
"""What the rest of the network sees of blocks."""

NONE = "none"
"""How the command line says None."""

SOURCE = "source"
"""The output scale or anchor that a problem tells from its source."""


@final
class Kind(NamedTuple):
    """What a setting may be.

    - `expected`: in words, for errors.
    - `holds`: whether a value is such.
    - `read`: a value from a word of the command line.
    - `metavar`: what stands for a value in its help; the setting's name if it is None.
    - `choices`: all words that there are, if they can be listed.

    Called with a setting's help it is the `metadata` of the dataclass's field.
    """

    expected: str
    holds: Callable[[Any], bool]
    read: Callable[[str], Any] = str
    metavar: str | None = None
    choices: Collection[str] | None = None

    def __call__(self, text: str) -> dict[str, Any]:
        return {"kind": self, "help": text}

    def check(self, name: str, value: object) -> None:
        """**Raises:** `ValueError` naming the setting, what it expects and what it got."""
        if not self.holds(plain(value)):
            option, near = name.replace("_", "-"), nearest(value, self.choices or ())
            raise ValueError(f"{option} must be {self.expected}{near}, got {value!r}.")


def one_of(choices: Collection[str], metavar: str | None = None) -> Kind:
    """One of some words."""
    known = tuple(choices)
    read = functools.partial(_word, choices=known)
    return Kind(f"one of {', '.join(known)}", known.__contains__, read, metavar, known)


def _word(text: str, choices: Collection[str]) -> str:
    if text not in choices:
        known = ", ".join(map(repr, choices))
        raise argparse.ArgumentTypeError(
            f"invalid choice: {text!r}{nearest(text, choices)} (choose from {known})"
        )
    return text


def _integer_or_none(text: str) -> int | None:
    try:
        return None if text == NONE else int(text)
    except ValueError:
        message = f"expected an integer or {NONE}, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def _number_or_word(text: str) -> float | str:
    """The check says which words there are."""
    try:
        return float(text)
    except ValueError:
        return text


def _number_or_word_or_none(text: str) -> float | str | None:
    return None if text == NONE else _number_or_word(text)


def _numbers(text: str) -> float | list[float] | dict[str, float] | None:
    """`1.5`, `1,2,3`, `a=1,b=2` or none; the checks say which of these are taken."""
    words = [word.rpartition("=") for word in text.split(",")]
    names = [name for name, _, _ in words if name]
    try:
        numbers = [float(number) for _, _, number in words]
    except ValueError:
        numbers = []
    if text == NONE:
        return None
    if len(numbers) != len(words) or len(set(names)) not in (0, len(words)):
        raise argparse.ArgumentTypeError(
            f"expected numbers such as 1,10, or names with numbers such as a=1,b=10, each name "
            f"once, got {text!r}"
        )
    if names:
        return dict(zip(names, numbers, strict=True))
    return numbers if len(numbers) > 1 else numbers[0]


def as_word(value: Any) -> str:
    """How the command line says the value of a setting."""
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


def _is_positive_or_several(value: Any) -> bool:
    return all(map(_is_positive, value)) if isinstance(value, list) else _is_positive(value)


def _are_weights(value: Any) -> bool:
    numbers = value.values() if isinstance(value, dict) else value
    several = isinstance(value, dict | list) and bool(value)
    return value is None or (several and all(map(_is_not_negative, numbers)))


def check_size(name: str, value: int | None) -> None:
    """Of counts, which are sizes and indices of arrays, and of the seed, of which random keys see
    the last 32 bits.

    **Raises:** `ValueError` naming the setting, what it expects and what it got.
    """
    bits, why = (32, ", as random keys tell no others apart") if name == "seed" else (31, "")
    expected = f"below 2**{bits} = {2**bits}{why}"
    Kind(expected, lambda value: value is None or value < 2**bits).check(name, value)


COUNT = Kind("an integer of at least 1", _is_integer, int)
COUNT_OR_NONE = Kind(
    COUNT.expected,
    lambda value: value is None or _is_integer(value),
    _integer_or_none,
    f"NUMBER|{NONE}",
)
NATURAL = Kind("a non-negative integer", lambda value: _is_integer(value, 0), int)
POSITIVE = Kind("a finite positive number", _is_positive, float)
NOT_NEGATIVE = Kind("a finite non-negative number", _is_not_negative, float)
SCALE = Kind(
    f"a finite positive number, or {SOURCE}",
    lambda value: value == SOURCE or _is_positive(value),
    _number_or_word,
    f"NUMBER|{SOURCE}",
)
ANCHOR = Kind(
    f"a finite number, {SOURCE} or {NONE}",
    lambda value: value is None or value == SOURCE or _is_number(value),
    _number_or_word_or_none,
    f"NUMBER|{SOURCE}|{NONE}",
)
NUMBER_OR_NONE = Kind(
    f"a finite number or {NONE}",
    lambda value: value is None or _is_number(value),
    _number_or_word_or_none,
    f"NUMBER|{NONE}",
)
FOR_CONDITIONS = Kind(
    "a finite positive number, or a list with one for each condition",
    _is_positive_or_several,
    _numbers,
    "NUMBER[,NUMBER…]",
)
FOR_RESIDUALS = Kind(
    "none, or a dict or a list of finite non-negative numbers, one for each residual",
    _are_weights,
    _numbers,
    "NAME=NUMBER,…",
)
