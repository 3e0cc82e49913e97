"""The known name that is most similar to an unknown one, for errors."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

_ELSEWHERE = {
    "epochs": "steps",
    "iterations": "steps",
    "layers": "depth",
    "hidden": "width",
    "neurons": "width",
    "units": "width",
}
"""Names that other packages have for some of ours."""


def nearest(name: Any, known: Iterable[str]) -> str:
    """The end of an error's list of names: the name most similar to the given one, or nothing if
    none is similar.
    """
    if not isinstance(name, str):
        return ""
    known = list(known)
    by_initials = [each for each in known if _initials(each) == name.lower()]
    elsewhere = [each for each in known if each == _ELSEWHERE.get(name.lower())]
    near = by_initials or elsewhere or difflib.get_close_matches(name, known, n=1)
    return f" (nearest: {near[0]})" if near else ""


def _initials(name: str) -> str:
    return "".join(word[0] for word in re.split("[-_]", name) if word)
