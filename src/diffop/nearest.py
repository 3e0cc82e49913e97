"""What was probably meant by a name that there is not."""

import difflib
import re
from collections.abc import Iterable
from typing import Any


def nearest(name: Any, known: Iterable[str]) -> str:
    """The end of a list of names in an error: the one that is most like what was given, or nothing
    where none is.
    """
    if not isinstance(name, str):
        return ""
    known = list(known)
    by_initials = [each for each in known if _initials(each) == name.lower()]
    near = by_initials or difflib.get_close_matches(name, known, n=1)
    return f" (nearest: {near[0]})" if near else ""


def _initials(name: str) -> str:
    return "".join(word[0] for word in re.split("[-_]", name) if word)
