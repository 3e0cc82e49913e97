"""Operators in the notation of mathematics."""

from typing import Any

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def superscript(number: int) -> str:
    """A power; nothing for the first."""
    return "" if number == 1 else str(number).translate(_SUPERSCRIPTS)


def subscript(text: str | int) -> str:
    return str(text).translate(_SUBSCRIPTS)


def variable_symbol(variable: Any, order: int) -> str:
    """∂₀² for coordinate 0, ∂₁:₀ for coordinate 0 of argument 1, ∂_x² for a name."""
    match variable:
        case int(i) | (0, int(i)):
            place = subscript(i)
        case (int(argnum), int(i)):
            place = subscript(f"{argnum}:{i}")
        case _:
            place = f"_{variable}"
    return f"∂{place}{superscript(order)}"


def dims_mark(dims: tuple[int, ...] | None) -> str:
    """The mark of the coordinates to which an operator is restricted."""
    if dims is None:
        return ""
    shown = (
        [str(i) for i in dims]
        if len(dims) <= 4
        else [str(dims[0]), str(dims[1]), "…", str(dims[-1])]
    )
    return "{" + ",".join(shown) + "}"


def argument_mark(argnum: int) -> str:
    """The mark of the argument that an operator differentiates, unless it is the first."""
    return "" if argnum == 0 else f"₍{subscript(argnum)}₎"
