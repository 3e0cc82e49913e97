"""Checks of the arguments of operators: one clear sentence at the call that made the mistake."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from ..jets.fields import (
    Field,
    Number,
    SparseColumns,
    as_floating,
    is_bcoo,
    is_matvec,
    sparse_columns,
)
from ..jets.index_terms import Monomial
from ..scalars import checked_integer, is_number, plain
from ..schemes.names import NAMED, PlanKind
from ..schemes.scheme import Scheme
from .entries import Entry

Function: TypeAlias = Callable[..., PyTree]
"""u: from any arguments to arrays or pytrees of them."""


def checked_order(value: Any, name: str) -> int:
    return checked_integer(value, name, 1)


def kind_of(value: Any) -> str:
    """The type of a value with its article: a Linear, an Equation, an MLP."""
    name = type(value).__name__
    letters = name[1:2].isupper()  # em el pee
    return f"{'an' if name[0] in ('AEFHILMNORSX' if letters else 'AEIOU') else 'a'} {name}"


def checked_argnum(argnum: Any) -> int:
    if isinstance(argnum, tuple | list):
        raise TypeError(
            f"argnum must be an integer; got {argnum!r}. Add the operators of several arguments, "
            "such as Laplacian(argnum=0) + Laplacian(argnum=1)."
        )
    return checked_integer(argnum, "argnum", 0)


def checked_dims(dims: Any) -> tuple[int, ...] | None:
    """Coordinates without repetition, in the order in which they are given."""
    if dims is None:
        return None
    if not isinstance(dims, Iterable):
        raise TypeError(f"dims must be a sequence of coordinate numbers or None; got {dims!r}.")
    result = tuple(checked_integer(i, "a coordinate in dims", 0) for i in dims)
    if not result:
        raise ValueError("dims must name at least one coordinate, or be None for all; got none.")
    if len(set(result)) != len(result):
        raise ValueError(f"dims must name different coordinates; got {result}.")
    return result


def checked_entry(entry: Any) -> Entry:
    """An entry of u's value, or a tuple of different ones."""
    if isinstance(entry, tuple | list):
        several = tuple(checked_entry(each) for each in entry)
        if not several or len(set(several)) != len(several):
            raise ValueError(f"Component takes at least one entry, and none twice; got {entry!r}.")
        return several  # pyright: ignore
    if isinstance(entry, slice | range):
        raise TypeError(
            "Component expects several entries as a tuple, such as Component((0, 1, 2)); "
            f"got {entry}."
        )
    return entry if isinstance(entry, str) else checked_integer(entry, "the entry of Component", 0)


def checked_coordinate(i: Any) -> Any:
    """A traced coordinate."""
    if i.shape != () or not jnp.issubdtype(i.dtype, jnp.integer):
        raise TypeError(
            "the coordinate i of Partial must be an integer or a 0-d integer array; got an array "
            f"of type {i.dtype} and shape {i.shape}."
        )
    return i


def checked_alpha(alpha: Any, argnum: int, name: str) -> Monomial:
    """A multi-index in any of its spellings."""
    orders: dict[tuple[int, int], int] = {}
    for place, order in _entries(alpha, argnum, name):
        order = checked_integer(order, f"an order in {name}'s alpha", 0)
        if order:
            orders[place] = orders.get(place, 0) + order
    if not orders:
        raise ValueError(f"{name}'s alpha must have at least one positive order; got {alpha!r}.")
    full = () if isinstance(alpha, Mapping) else [(argnum, len(tuple(alpha)))]
    return Monomial(tuple(sorted(orders.items())), full=frozenset(full))


def _entries(alpha: Any, argnum: int, name: str) -> list[tuple[tuple[int, int], Any]]:
    if isinstance(alpha, Mapping):
        return [(_place(key, argnum, name), order) for key, order in alpha.items()]
    if isinstance(alpha, str) or not isinstance(alpha, Iterable):
        raise TypeError(
            f"{name}'s alpha must be a dict {{coordinate: order}}, a dict "
            f"{{(argnum, coordinate): order}} "
            f"or a full multi-index such as (2, 1, 0); got {alpha!r}."
        )
    return [((argnum, i), order) for i, order in enumerate(alpha)]


def _place(key: Any, argnum: int, name: str) -> tuple[int, int]:
    if isinstance(key, tuple):
        if len(key) != 2:
            raise ValueError(f"{name}'s alpha needs keys (argnum, coordinate); got {key!r}.")
        return checked_argnum(key[0]), checked_integer(key[1], f"a coordinate in {name}'s alpha", 0)
    return argnum, checked_integer(key, f"a coordinate in {name}'s alpha", 0)


def checked_field(field: Any, name: str, ranks: tuple[int, ...], forms: str) -> Field:
    """A coefficient field: callables unchanged, arrays as floating ones of an allowed rank."""
    if is_bcoo(field):
        field = sparse_columns(field, name)
    if isinstance(field, SparseColumns):
        values = as_floating(field.values, name)
        return eqx.tree_at(lambda columns: columns.values, field, values)
    if is_matvec(field) or (is_function(field) and not isinstance(field, jax.Array)):
        return field
    field = plain(field) if isinstance(field, np.generic) else field
    if is_number(field) and 0 in ranks:
        return Number(field)
    try:
        array = jnp.asarray(field)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must be {forms}; got {type(field).__name__}.") from error
    array = as_floating(array, name)
    if array.ndim not in ranks:
        raise ValueError(f"{name} must be {forms}; got an array of shape {array.shape}.")
    return array


def equal_magnitudes(array: Any) -> bool:
    """Whether all entries are known to have one magnitude; not for traced arrays."""
    if isinstance(array, Tracer) or np.size(array) == 0:
        return False
    magnitudes = np.abs(np.asarray(array))
    return bool(np.all(magnitudes == magnitudes.flat[0]))


def checked_plan(plan: Any) -> PlanKind:
    """How mixed derivatives are computed: a name, a scheme over coordinates, or a
    function to one.
    """
    if isinstance(plan, str) and plan in NAMED:
        return plan
    if isinstance(plan, Scheme):
        return plan.over_coordinates()
    if not is_function(plan):
        also = " The paper's is diffop.baselines.paper." if plan == "paper" else ""
        raise ValueError(
            f"plan must be one of {', '.join(NAMED)}, a diffop.schemes.Scheme, or a function that "
            f"makes one; got {plan!r}.{also}"
        )
    return plan


def is_operator(value: Any) -> bool:
    """Whether a value is an operator or an estimate; their class is in a higher room."""
    return hasattr(type(value), "is_operator")


def is_function(value: Any) -> bool:
    """Whether a value may be u, or a coefficient. Operators are callable too: estimates with u, and
    others raise an error that says how to apply them. They are no functions of points.
    """
    return callable(value) and not is_operator(value)


def check_callable(u: Any, point: tuple[Any, ...] = ()) -> None:
    """Refuses anything but a function, and a point beside it. Operators are recognised before other
    callables.
    """
    if is_operator(u):
        raise TypeError("an operator is applied to a function u; to compose operators write A @ B.")
    if point:
        raise TypeError(
            "an operator is applied to a function u alone, and the result to a point: "
            f"L.exact(u)(x); got {len(point)} more argument(s) beside u."
        )
    if not callable(u):
        got = "an array" if isinstance(u, jax.Array) else type(u).__name__
        raise TypeError(
            f"an operator is applied to a function u, and the result to a point: L.exact(u)(x); "
            f"got {got} in place of u."
        )
