"""A function of arrays that are long along one axis, evaluated in blocks of it.

With very many coordinates a first layer is read from memory by each product that it is in, copied
to be multiplied, and its gradient is written by each of them and added up. In blocks of coordinates
that stay in the caches of a CPU several products read it once, and what they add to its gradient is
added before it is written.

Derivatives are functions in blocks again: a tangent is one of more operands, and the transpose of a
linear one takes blocks of what it wrote in blocks, and writes in blocks what it took.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..devices import on_lone_cpu

Axis: TypeAlias = int | None
"""The long axis of an array, if it has one."""

in_blocks_p = jex.Primitive("in_blocks")
"""A call of an inner program."""
in_blocks_p.multiple_results = True

LONG = 2**20
"""A matrix of so many numbers may be worth it, when it meets many points."""
LARGE = 2**23
"""Arrays of so many numbers are evaluated in blocks: what XLA and its libraries copy of them, glibc
gets from the kernel and gives back each time, page by page.
"""
BLOCK = 2**19
"""So many numbers of each array are a block, or a little less."""
MANY = 4
"""With so many times more points than rows, products with these are all that counts, and are as
fast in whole.
"""
NARROW = 512
"""Blocks are not narrower, however many points there are: results that are sums are read and
written with each.
"""


@final
@dataclasses.dataclass(frozen=True)
class Blockwise:
    """A function, and along which axes its operands and results are long.

    A result that is long has for each block what the function makes of that block; one that is not
    is the sum of what it makes of all blocks. The first operand that is long is a matrix that all
    points share. `function` has nothing of its own but its operands, and functions that are equal
    do the same.
    """

    function: Callable[..., Sequence[Any]]
    inputs: tuple[Axis, ...]
    outputs: tuple[Axis, ...]


def may_be_in_blocks(matrix: Any) -> bool:
    """Whether functions of such a matrix may be evaluated in blocks: on a lone CPU."""
    return matrix.size >= LONG and on_lone_cpu(matrix)


def in_blocks(blockwise: Blockwise, *operands: Any) -> list[Any]:
    """The results of a function."""
    closed = jax.make_jaxpr(blockwise.function)(*operands)
    assert not closed.consts
    return in_blocks_p.bind(*operands, jaxpr=closed, blockwise=blockwise)


def _evaluate(*operands: Any, blockwise: Blockwise) -> list[Any]:
    """One block after another, and what is left of the axis; or all at once."""
    pairs = zip(operands, blockwise.inputs, strict=True)
    long = [(operand, axis) for operand, axis in pairs if axis is not None]
    (size,) = {operand.shape[axis] for operand, axis in long}
    largest = max(operand.size for operand, _ in long)
    if largest < LARGE or largest > MANY * long[0][0].size:
        return list(blockwise.function(*operands))
    width = min(size, max(NARROW, BLOCK * size // largest))

    def with_block(start: Any, length: int, results: Sequence[Any]) -> list[Any]:
        def part(array: Any, axis: Axis) -> Any:
            return array if axis is None else lax.dynamic_slice_in_dim(array, start, length, axis)

        made = blockwise.function(*map(part, operands, blockwise.inputs))
        return [
            result + each
            if axis is None
            else lax.dynamic_update_slice_in_dim(result, each, start, axis)
            for result, each, axis in zip(results, made, blockwise.outputs, strict=True)
        ]

    shapes = jax.eval_shape(blockwise.function, *operands)
    results = [jnp.zeros(each.shape, each.dtype) for each in shapes]
    count, rest = divmod(size, width)
    results = lax.fori_loop(0, count, lambda i, made: with_block(i * width, width, made), results)
    return with_block(count * width, rest, results) if rest else results


@final
@dataclasses.dataclass(frozen=True)
class _Tangent:
    """The derivative of a function; tangents of the operands `moving` come last."""

    function: Callable[..., Any]
    moving: tuple[int, ...]

    def __call__(self, *operands: Any) -> Any:
        count = len(operands) - len(self.moving)
        primals, tangents = operands[:count], operands[count:]

        def of_moving(*values: Any) -> Any:
            replaced = dict(zip(self.moving, values, strict=True))
            return self.function(*(replaced.get(n, x) for n, x in enumerate(primals)))

        return jax.jvp(of_moving, tuple(primals[n] for n in self.moving), tangents)[1]


@final
@dataclasses.dataclass(frozen=True)
class _Transposed:
    """The transpose of a function that is linear in some operands, of their types: None where it is
    not. Cotangents of the results `given` come first, then the operands that it is not linear in.
    """

    blockwise: Blockwise
    linear: tuple[Any, ...]
    given: tuple[int, ...]

    def __call__(self, *operands: Any) -> Any:
        cotangents, known = operands[: len(self.given)], operands[len(self.given) :]
        axes = [*(self.blockwise.outputs[k] for k in self.given), *self._axes(known=True)]
        (width,) = {
            operand.shape[axis]
            for operand, axis in zip(operands, axes, strict=True)
            if axis is not None
        }

        def of_linear(*values: Any) -> Any:
            moving, still = iter(values), iter(known)
            every = [next(still) if kind is None else next(moving) for kind in self.linear]
            results = self.blockwise.function(*every)
            return [results[k] for k in self.given]

        kinds = [kind for kind in self.linear if kind is not None]
        blocks = [
            jax.ShapeDtypeStruct(_with(kind.shape, axis, width), kind.dtype)
            for kind, axis in zip(kinds, self._axes(known=False), strict=True)
        ]
        return jax.linear_transpose(of_linear, *blocks)(list(cotangents))

    def _axes(self, known: bool) -> tuple[Axis, ...]:
        pairs = zip(self.linear, self.blockwise.inputs, strict=True)
        return tuple(axis for kind, axis in pairs if (kind is None) is known)

    def in_blocks(self) -> Blockwise:
        cotangents = tuple(self.blockwise.outputs[k] for k in self.given)
        return Blockwise(self, (*cotangents, *self._axes(known=True)), self._axes(known=False))


def _with(shape: Sequence[int], axis: Axis, width: int) -> tuple[int, ...]:
    return tuple(width if n == axis else size for n, size in enumerate(shape))


@final
@dataclasses.dataclass(frozen=True)
class _Mapped:
    """A function mapped over the first axes of some operands, and of the results that depend on
    them.
    """

    function: Callable[..., Any]
    operands: tuple[bool, ...]
    results: tuple[bool, ...]

    def __call__(self, *operands: Any) -> Any:
        axes = tuple(0 if each else None for each in self.operands)
        out = [0 if each else None for each in self.results]
        return jax.vmap(lambda *xs: list(self.function(*xs)), axes, out)(*operands)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, blockwise: Blockwise
) -> tuple[list[Any], list[Any]]:
    del jaxpr
    moving = tuple(n for n, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero))
    inputs = (*blockwise.inputs, *(blockwise.inputs[n] for n in moving))
    tangent = Blockwise(_Tangent(blockwise.function, moving), inputs, blockwise.outputs)
    moved = [tangents[n] for n in moving]
    return in_blocks(blockwise, *primals), in_blocks(tangent, *primals, *moved)


def _transpose(
    cotangents: Sequence[Any], *operands: Any, jaxpr: Any, blockwise: Blockwise
) -> list[Any]:
    del jaxpr
    kinds = tuple(
        jax.ShapeDtypeStruct(each.aval.shape, each.aval.dtype)
        if ad.is_undefined_primal(each)
        else None
        for each in operands
    )
    given = tuple(k for k, each in enumerate(cotangents) if not isinstance(each, ad.Zero))
    known = [each for each, kind in zip(operands, kinds, strict=True) if kind is None]
    transposed = _Transposed(blockwise, kinds, given).in_blocks()
    results = iter(in_blocks(transposed, *(cotangents[k] for k in given), *known))
    return [None if kind is None else next(results) for kind in kinds]


def _batch(
    operands: Sequence[Any], axes: Sequence[Any], *, jaxpr: Any, blockwise: Blockwise
) -> tuple[list[Any], list[Axis]]:
    mapped = tuple(axis is not None for axis in axes)
    depends = _dependent(jaxpr.jaxpr, mapped)
    moved = [
        x if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes, strict=True)
    ]
    whole = Blockwise(
        _Mapped(blockwise.function, mapped, depends),
        _behind(blockwise.inputs, mapped),
        _behind(blockwise.outputs, depends),
    )
    return in_blocks(whole, *moved), [0 if each else None for each in depends]


def _behind(axes: Sequence[Axis], mapped: Sequence[bool]) -> tuple[Axis, ...]:
    """The long axes where some arrays have one more in front."""
    pairs = zip(axes, mapped, strict=True)
    return tuple(None if axis is None else axis + each for axis, each in pairs)


def _dependent(jaxpr: jex.Jaxpr, inputs: Sequence[bool]) -> tuple[bool, ...]:
    """Which outputs of a program depend on some of its inputs."""
    found = {var for var, each in zip(jaxpr.invars, inputs, strict=True) if each}

    def is_found(atom: Any) -> bool:
        return not isinstance(atom, jex.Literal) and atom in found

    for eqn in jaxpr.eqns:
        if any(map(is_found, eqn.invars)):
            found.update(eqn.outvars)
    return tuple(map(is_found, jaxpr.outvars))


def _lowered(*operands: Any, jaxpr: Any, blockwise: Blockwise) -> list[Any]:
    del jaxpr
    return _evaluate(*operands, blockwise=blockwise)


_compiled = jax.jit(_evaluate, static_argnames="blockwise")
in_blocks_p.def_impl(lambda *operands, jaxpr, blockwise: _compiled(*operands, blockwise=blockwise))
in_blocks_p.def_abstract_eval(lambda *_, jaxpr, blockwise: jaxpr.out_avals)
mlir.register_lowering(in_blocks_p, mlir.lower_fun(_lowered, multiple_results=True))
ad.primitive_jvps[in_blocks_p] = _jvp
ad.primitive_transposes[in_blocks_p] = _transpose
batching.primitive_batchers[in_blocks_p] = _batch
