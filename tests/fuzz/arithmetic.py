"""Primitives that NumPy evaluates bit for bit as XLA does: a hundredth of the time of a program.

They move numbers, compare them or round one exact result to the nearest, as IEEE 754 has it. What
adds up in an order of its own, or approximates, is left to XLA, but for double precision, in which
the order of a sum moves it by less than anything here is compared to.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def in_numpy(name: str, params: dict[str, Any], operands: list[Any]) -> Any:
    """The value of a primitive; None where this is XLA's."""
    rule = RULES.get(name)
    if rule is None or any(type(each) is not np.ndarray for each in operands):
        return None
    found = rule(params, *operands)
    if found is None:
        return None
    found = np.asarray(found)
    return _flushed(found) if name in _ARITHMETIC and found.dtype == np.float32 else found


def _flushed(found: np.ndarray) -> np.ndarray:
    """XLA takes numbers below the normal ones for zero."""
    tiny = np.abs(found) < _TINY
    return np.where(tiny, np.float32(0), found) if tiny.any() else found


_TINY = np.finfo(np.float32).tiny


def _of(function: Callable[..., Any], kinds: str) -> Callable[..., Any]:
    """A function of each entry, for types of some kinds."""
    return lambda params, *operands: (
        function(*operands) if operands[0].dtype.kind in kinds else None
    )


def _select(params, which, *cases):
    return np.where(which, cases[1], cases[0]) if which.dtype == bool else None


def _clamp(params, low, x, high):
    return np.minimum(np.maximum(x, low), high) if x.dtype.kind in "fi" else None


def _div(params, a, b):
    """XLA multiplies by the inverse of one divisor of many, which rounds twice."""
    return a / b if a.dtype.kind == "f" and a.shape == b.shape else None


def _convert(params, x):
    new = np.dtype(params["new_dtype"])
    exact = x.dtype.kind in "bi" or new.kind in "fc" and x.dtype.kind == "f" or new == x.dtype
    return x.astype(new) if exact else None


def _integer_pow(params, x):
    """By squares, as `lax.integer_pow` is lowered."""
    exponent, square, result = abs(params["y"]), x, None
    if x.dtype != np.float64 or not exponent:
        return None
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        square, exponent = square * square, exponent >> 1
    return 1 / result if params["y"] < 0 else result


def _broadcast(params, x):
    shape, dimensions = params["shape"], params["broadcast_dimensions"]
    kept = [1] * len(shape)
    for size, axis in zip(x.shape, dimensions, strict=True):
        kept[axis] = size
    return np.broadcast_to(x.reshape(kept), shape)


def _reshape(params, x):
    order = params["dimensions"]
    return (x if order is None else x.transpose(order)).reshape(params["new_sizes"])


def _slice(params, x):
    strides = params["strides"] or (1,) * x.ndim
    limits = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return x[tuple(slice(*each) for each in limits)]


def _pad(params, x, value):
    config = params["padding_config"]
    if any(low < 0 or high < 0 for low, high, _ in config):
        return None
    inner = [(n + max(n - 1, 0) * gap) for n, (_, _, gap) in zip(x.shape, config, strict=True)]
    shape = [low + n + high for n, (low, high, _) in zip(inner, config, strict=True)]
    result = np.full(shape, value, x.dtype)
    place = zip(inner, config, strict=True)
    result[tuple(slice(low, low + n, 1 + gap) for n, (low, _, gap) in place)] = x
    return result


def _iota(params):
    shape, axis = params["shape"], params["dimension"]
    column = [-1 if i == axis else 1 for i in range(len(shape))]
    line = np.arange(shape[axis], dtype=params["dtype"])
    return np.broadcast_to(line.reshape(column), shape)


def _dot(params, a, b):
    if a.dtype != np.float64 or b.dtype != np.float64:
        return None
    (over_a, over_b), (batch_a, batch_b) = params["dimension_numbers"]
    free_a = [i for i in range(a.ndim) if i not in (*over_a, *batch_a)]
    free_b = [i for i in range(b.ndim) if i not in (*over_b, *batch_b)]
    batch = [a.shape[i] for i in batch_a]
    rows, columns = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
    inner = math.prod(a.shape[i] for i in over_a)
    left = a.transpose(*batch_a, *free_a, *over_a).reshape(*batch, math.prod(rows), inner)
    right = b.transpose(*batch_b, *over_b, *free_b).reshape(*batch, inner, math.prod(columns))
    return (left @ right).reshape((*batch, *rows, *columns))


def _sum(params, x):
    return np.sum(x, axis=tuple(params["axes"])) if x.dtype == np.float64 else None


def _extreme(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def rule(params, x):
        return reduce(x, axis=tuple(params["axes"])) if x.dtype.kind in "fi" and x.size else None

    return rule


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": _of(np.add, "fi"),
    "add_any": _of(np.add, "fi"),
    "sub": _of(np.subtract, "fi"),
    "mul": _of(np.multiply, "fi"),
    "div": _div,
    "square": _of(np.square, "f"),
    "integer_pow": _integer_pow,
}
RULES: dict[str, Callable[..., Any]] = _ARITHMETIC | {
    "neg": _of(np.negative, "fic"),
    "max": _of(np.maximum, "fi"),
    "min": _of(np.minimum, "fi"),
    "abs": _of(np.abs, "fi"),
    "sign": _of(np.sign, "fi"),
    "floor": _of(np.floor, "f"),
    "ceil": _of(np.ceil, "f"),
    "sqrt": _of(np.sqrt, "f"),
    "rem": _of(np.fmod, "f"),
    "eq": _of(np.equal, "fib"),
    "ne": _of(np.not_equal, "fib"),
    "lt": _of(np.less, "fi"),
    "le": _of(np.less_equal, "fi"),
    "gt": _of(np.greater, "fi"),
    "ge": _of(np.greater_equal, "fi"),
    "and": _of(np.bitwise_and, "ib"),
    "or": _of(np.bitwise_or, "ib"),
    "xor": _of(np.bitwise_xor, "ib"),
    "not": _of(np.invert, "ib"),
    "is_finite": _of(np.isfinite, "f"),
    "real": _of(np.real, "c"),
    "imag": _of(np.imag, "c"),
    "conj": _of(np.conj, "c"),
    "select_n": _select,
    "clamp": _clamp,
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": lambda params, x: x.squeeze(tuple(params["dimensions"])),
    "transpose": lambda params, x: x.transpose(params["permutation"]),
    "rev": lambda params, x: np.flip(x, params["dimensions"]),
    "concatenate": lambda params, *parts: np.concatenate(parts, params["dimension"]),
    "slice": _slice,
    "pad": _pad,
    "iota": _iota,
    "copy": lambda params, x: x,
    "dot_general": _dot,
    "reduce_sum": _sum,
    "reduce_max": _extreme(np.max),
    "reduce_min": _extreme(np.min),
}
