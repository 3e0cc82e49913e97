"""Digests of the parts of runs and fits: words that differ if the contents differ."""

import dataclasses
import dis
import functools
import hashlib
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import PyTree

from ..held import Held, array_of
from .arrays import is_spread, stored_numbers

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DIGITS = 16
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)

_Seen: TypeAlias = dict[int, int]
"""The functions met so far, by their identities, since functions may call themselves."""


def shown(leaf: Any) -> str:
    """A leaf as Python prints it, wherever it lies."""
    return _ADDRESS.sub("", repr(leaf))


def digest(tree: PyTree, leaf: Callable[[Any], str] = shown) -> str:
    """A digest of a pytree: of its structure, its arrays, and `leaf` of its other leaves."""
    leaves, structure = jax.tree.flatten(tree)
    found = hashlib.sha256("\n".join(_of_structure(structure)).encode())
    for each in leaves:
        found.update(_of_array(each) if _is_array(each) else leaf(each).encode())
    return found.hexdigest()[:_DIGITS]


def digest_with_code(tree: PyTree) -> str:
    """Like `digest`, but functions count with what they do: their code, their defaults, and the
    numbers, arrays and functions in their scope or module.

    Lists, dicts and objects there may change while they are used, so only their type counts. For
    functions of other modules only the name counts.
    """
    return digest(tree, lambda leaf: "\n".join(_contents(leaf, {})))


def _of_structure(structure: Any) -> Iterator[str]:
    """The kinds of a pytree's nodes, with what is static in them, and where its leaves are."""
    node = structure.node_data()
    if node is None:
        yield "leaf" if structure.num_leaves else "none"
        return
    kind, static = node
    yield f"{_name(kind)} of {structure.num_nodes}"
    yield from _of_static(static)
    for child in structure.children():
        yield from _of_structure(child)


def _of_static(value: Any) -> Iterator[str]:
    """Something static: functions with what they do, arrays with all entries, pytrees that are held
    as they are otherwise, sets in an order of ours, and other objects, which do not change, as
    Python prints them.
    """
    value = array_of(value)
    if isinstance(value, Held):
        yield digest_with_code(value.value)
    elif isinstance(value, set | frozenset):
        yield from (_name(value), *sorted("\n".join(_of_static(each)) for each in value))
    elif isinstance(value, tuple | list):
        yield f"{_name(value)} of {len(value)}"
        for each in value:
            yield from _of_static(each)
    elif isinstance(value, dict):
        yield from _of_static(list(value.items()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield _name(value)
        yield from _of_static([getattr(value, f.name) for f in dataclasses.fields(value)])
    elif _is_array(value) or isinstance(value, _FUNCTIONS) or hasattr(value, "__wrapped__"):
        yield from _contents(value, {})
    else:
        yield shown(value)


def _contents(value: Any, seen: _Seen) -> Iterator[str]:
    if isinstance(value, _PLAIN):
        yield shown(value)
    elif _is_array(value):
        yield hashlib.sha256(_of_array(value)).hexdigest()
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value, seen)
    elif isinstance(value, types.MethodType):
        yield from _all((value.__func__, value.__self__), seen)
    elif isinstance(value, functools.partial):
        yield from _all((value.func, *value.args, *sorted(value.keywords.items())), seen)
    elif isinstance(value, tuple):
        yield from _all((type(value), *value), seen)
    elif callable(getattr(value, "__wrapped__", None)):  # by jax.jit and similar functions
        yield from _all((type(value), value.__wrapped__), seen)
    elif isinstance(value, list | dict) or jax.tree.leaves(value) == [value]:
        yield _name(value)
    else:  # a module of arrays and functions
        yield digest(value, lambda leaf: "\n".join(_contents(leaf, seen)))


def _all(values: tuple[Any, ...], seen: _Seen) -> Iterator[str]:
    for value in values:
        yield from _contents(value, seen)


def _of_function(function: types.FunctionType, seen: _Seen) -> Iterator[str]:
    if id(function) in seen:
        yield f"function {seen[id(function)]}"
        return
    seen[id(function)] = len(seen)
    yield _name(function)
    yield from _of_code(function.__code__, function, seen)
    defaults = sorted((function.__kwdefaults__ or {}).items())
    yield from _all((*(function.__defaults__ or ()), *defaults), seen)
    for cell in function.__closure__ or ():
        try:
            found = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        yield from _contents(_as_used(found), seen)


def _as_used(value: Any) -> Any:
    """A number in the scope of a function, the same if it is whole and was an integer before:
    `optax.cosine_decay_schedule` makes its integers floats when it is first called.
    """
    return int(value) if type(value) is float and value.is_integer() else value


def _of_code(code: types.CodeType, function: types.FunctionType, seen: _Seen) -> Iterator[str]:
    """The instructions, their constants, and what they refer to in the module."""
    yield code.co_code.hex()
    yield " ".join((*code.co_names, *code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _of_code(constant, function, seen)
        elif isinstance(constant, frozenset):  # in no order
            yield from sorted(map(shown, constant))
        else:
            yield from _contents(constant, seen)
    instructions = dis.get_instructions(code)
    for name in sorted({each.argval for each in instructions if each.opname == "LOAD_GLOBAL"}):
        found = function.__globals__.get(name)
        other = getattr(found, "__module__", None) != function.__module__
        if isinstance(found, types.FunctionType) and other:
            yield _name(found)
        elif isinstance(found, (*_PLAIN, types.FunctionType)) or _is_array(found):
            yield from _contents(found, seen)


def _name(value: Any) -> str:
    """The name of a function or a class, or of the class of another object."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}:{named.__qualname__}"


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray)


def _of_array(array: Any) -> bytes:
    """Type, shape and entries; without entries if other processes hold some of them."""
    form = f"{array.dtype}{array.shape}".encode()
    if isinstance(array, np.ndarray):
        return form + array.tobytes()
    (plain,) = stored_numbers(array)
    whole = not is_spread(plain) or plain.is_fully_addressable
    return form + (np.asarray(plain).tobytes() if whole else b"")
