"""What was probably meant by a name that there is not."""

import difflib
from collections.abc import Iterable
from typing import Any


def nearest(name: Any, known: Iterable[str]) -> str:
    """The end of a list of names in an error: the one that is most like what was given, or nothing
    where none is.
    """
    near = difflib.get_close_matches(name, known, n=1) if isinstance(name, str) else []
    return f" (nearest: {near[0]})" if near else ""
