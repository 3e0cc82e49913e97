"""The plans that users can ask for: by a name, by a scheme, or by a function to one."""

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .expansion import Alpha, alpha_text, word_of
from .nested import nested
from .power import power
from .scheme import Scheme

NAMED = {"auto": nested, "nested": nested, "power": power}
"""By name. "auto" reads single derivatives as "nested" does; sums of them may be read together."""
PlanKind: TypeAlias = str | Scheme | Callable[[tuple[Alpha, ...]], Scheme]
"""A plan: a name, a scheme written by hand, or a function to one."""


def scheme_of(wanted: Sequence[Alpha], kind: PlanKind = "auto") -> Scheme:
    """The scheme of a set of mixed derivatives.

    **Arguments:**

    - `wanted`: different mixed derivatives.
    - `kind`: a name, a scheme written by hand, or a function from the wanted derivatives to a
        scheme.

    **Raises:** `ValueError` if a scheme does not hold a wanted derivative, `TypeError` for a
    function that returns something else.
    """
    wanted = tuple(sorted(wanted, key=repr))
    if isinstance(kind, str):
        return _named(wanted, kind)
    scheme = kind if isinstance(kind, Scheme) else kind(wanted)
    if not isinstance(scheme, Scheme):
        raise TypeError(
            "a plan that is a function makes a diffop.schemes.Scheme of the derivatives that are "
            f"wanted; got {scheme!r} of type {type(scheme).__name__}."
        )
    missing = [alpha_text(alpha) for alpha in wanted if alpha not in scheme.readouts]
    if missing:
        raise ValueError(
            f"the plan reads {', '.join(map(alpha_text, scheme.readouts))}, but not "
            f"{', '.join(missing)}, which the operator needs; add a readout for it."
        )
    return Scheme({word_of(alpha): scheme.readouts[alpha] for alpha in wanted}, scheme.name)


@functools.lru_cache(maxsize=4096)
def _named(wanted: tuple[Alpha, ...], name: str) -> Scheme:
    return NAMED[name](wanted)
