"""Baselines by name."""

from typing import Any

from .autodiff import HTE, SDGD, ForwardOverReverse, PaperJet, SDGDLoop
from .base import AbstractBaseline
from .finite_differences import FiniteDifferences
from .folx import Folx
from .stein import Stein

_ALL: tuple[AbstractBaseline, ...] = (
    SDGDLoop(),
    SDGD(),
    ForwardOverReverse(),
    PaperJet(),
    HTE(),
    Stein(),
    FiniteDifferences(),
    Folx(),
)
_NAMED: dict[str, AbstractBaseline] = {each.name: each for each in _ALL}


def names() -> tuple[str, ...]:
    """The names of all baselines.

    !!! example

        ```python
        import diffop as do

        do.baselines.names()  # ("sdgd-loop", "sdgd", "forward-over-reverse", "jet", …)
        ```
    """
    return tuple(_NAMED)


def as_baseline(method: Any) -> AbstractBaseline:
    """A baseline from itself or its name.

    **Arguments:**

    - `method`: one of [`diffop.baselines.names`][], or an object such as
        `diffop.baselines.Stein(sigma=0.1)`.

    **Returns:** an [`diffop.baselines.AbstractBaseline`][].

    **Raises:** `ValueError` for an unknown name, `TypeError` for anything else.

    !!! example

        ```python
        import diffop as do

        do.baselines.as_baseline("stein").sigma  # 0.01
        ```
    """
    if isinstance(method, AbstractBaseline):
        return method
    if isinstance(method, str) and method in _NAMED:
        return _NAMED[method]
    kind = ValueError if isinstance(method, str) else TypeError
    raise kind(
        f"a baseline is one of {', '.join(_NAMED)}, or one of diffop.baselines such as "
        f"diffop.baselines.Stein(sigma=0.1); got {method!r}."
    )
