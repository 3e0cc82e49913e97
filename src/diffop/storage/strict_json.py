"""JSON that every reader accepts.

JSON cannot express numbers that are not finite, such as an infinite skill. They are written as the
strings `"Infinity"`, `"-Infinity"` and `"NaN"`, which `float` and JavaScript's `Number` read, and
are read back as numbers. A string that is such a word gets an apostrophe in front: `"'NaN"`.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any

_WORDS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_QUOTED = re.compile(f"'*({'|'.join(_WORDS)})")


def dumps(value: Any, indent: int | None = None) -> str:
    """The text of a value."""
    return json.dumps(spelt(value), indent=indent, allow_nan=False)


def loads(text: str) -> Any:
    """The value of a text, also if it contains the bare words of Python's own `json`.

    **Raises:** `ValueError` if it is not JSON.
    """
    return unspelt(json.loads(text))


def spelt(value: Any) -> Any:
    """A value with words in place of the numbers that are not finite, and an apostrophe before each
    string that is such a word.
    """
    return _with_leaves(_word, value)


def unspelt(value: Any) -> Any:
    """The value that was spelt."""
    return _with_leaves(_meant, value)


def _word(leaf: Any) -> Any:
    if isinstance(leaf, str) and _QUOTED.fullmatch(leaf):
        return f"'{leaf}"
    if not isinstance(leaf, float) or math.isfinite(leaf):
        return leaf
    return "NaN" if math.isnan(leaf) else "Infinity" if leaf > 0 else "-Infinity"


def _meant(leaf: Any) -> Any:
    if isinstance(leaf, str) and _QUOTED.fullmatch(leaf):
        return _WORDS[leaf] if leaf in _WORDS else leaf[1:]
    return leaf


def _with_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """A value with its dicts, lists and tuples kept, and everything in them changed."""
    if isinstance(value, dict):
        return {name: _with_leaves(change, each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_leaves(change, each) for each in value]
    return change(value)
