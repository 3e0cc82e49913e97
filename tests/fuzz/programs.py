"""Random programs: straight lines of operations, each on values that are there already."""

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp

from .operations import ENTRYWISE, OPERATIONS, REFERENCES, Operation
from .products import random_product

DEPTH = 6
"""The least number of operations."""
PRODUCTS = 0.15
"""How many of them are products made at random."""


class Line(NamedTuple):
    operation: Operation
    operands: tuple[int, ...]
    """Numbers of values of the operation's kinds, counted back from the newest."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of a vector. Its result is a sum of everything that nothing else has used. No
    tuple, to which there are no weak references: `jax.eval_shape` takes no such function.
    """

    lines: tuple[Line, ...]

    def __call__(self, x):
        unused = self.by(lambda operation, values: _applied(operation.function, values), x)
        return sum((jnp.sum(u) for u in unused), jnp.zeros((), x.dtype))

    def by(self, apply: Callable[[Operation, Sequence[Any]], Any], x: Any) -> list[Any]:
        """The values that nothing uses, where `apply` says what an operation is."""
        values = {"v": [x], "s": [], "m": [], "o": []}
        unused = {}
        for operation, operands in self.lines:
            # which value it is, and not what: an operation may return its operand itself
            places = [
                (k, len(values[k]) - 1 - i) for k, i in zip(operation.takes, operands, strict=True)
            ]
            for place in places:
                unused.pop(place, None)
            result = apply(operation, [values[k][i] for k, i in places])
            unused[operation.gives, len(values[operation.gives])] = result
            values[operation.gives].append(result)
        return list(unused.values())

    @property
    def reference(self) -> "Program":
        """The same function, of operations that nested `jax.jvp` takes."""
        return Program(
            tuple(line._replace(operation=_reference(line.operation)) for line in self.lines)
        )

    def __repr__(self):
        return " ; ".join(f"{op.name}:{op.takes}{list(args)}" for op, args in self.lines)


def _applied(function, values):
    return _traced(function, *map(jax.typeof, values))(*values)


@functools.lru_cache(maxsize=2**12)
def _traced(function, *types):
    """The operation as JAX traces it, once for all programs."""
    as_jaxpr = jex.jaxpr_as_fun(jax.make_jaxpr(function)(*types))
    return lambda *values: as_jaxpr(*values)[0]


def _reference(operation):
    return operation._replace(function=REFERENCES.get(operation.name, operation.function))


def random_program(choose: random.Random, longest: int = 9) -> Program:
    """Each line takes and gives any kinds of values that there are, by any operation that does."""
    counts = {"v": 1, "s": 0, "m": 0, "o": 0}
    lines = []
    for _ in range(choose.randint(DEPTH, longest)):
        if choose.random() < PRODUCTS:
            operation = random_product(choose, "".join(k for k in counts if counts[k]))
        else:
            possible = [group for group in OPERATIONS if all(counts[k] for k in group[0].takes)]
            operation = choose.choice(choose.choice(possible))
        lines.append(_random_line(choose, operation, counts))
    return Program(tuple(lines))


def _random_line(choose, operation, counts):
    """An operation of mostly the newest values, so that programs are deep."""
    operands = tuple(choose.randint(0, min(2, counts[kind] - 1)) for kind in operation.takes)
    counts[operation.gives] += 1
    return Line(operation, operands)


def random_short_program(choose: random.Random, contraction: str) -> Program:
    """A product or two of one kind; before and after them may be a function of entries."""
    counts = {"v": 1, "s": 0, "m": 0, "o": 0}
    lines = []
    if choose.random() < 0.3:
        lines.append(_random_line(choose, _entrywise(choose, "v"), counts))
    for _ in range(choose.choice((1, 1, 1, 2))):
        kinds = "".join(k for k in counts if counts[k])
        lines.append(_random_line(choose, random_product(choose, kinds, contraction), counts))
    if choose.random() < 0.5:
        given = lines[-1].operation.gives
        lines.append(Line(_entrywise(choose, given), (0,)))
    return Program(tuple(lines))


def _entrywise(choose, kind):
    name = choose.choice(["sin", "cos", "integer_pow_negative"])
    return Operation(name, kind, kind, ENTRYWISE[name])


def shortened(program: Program, disagrees: Callable[[Program], bool]) -> Program:
    """A program that disagrees, of which no line can be left out."""
    for i in range(len(program.lines)):
        shorter = Program(program.lines[:i] + program.lines[i + 1 :])
        if _is_whole(shorter) and disagrees(shorter):
            return shortened(shorter, disagrees)
    return program


def _is_whole(program):
    """Whether a program has lines, and all values that they take."""
    counts = {"v": 1, "s": 0, "m": 0, "o": 0}
    for operation, operands in program.lines:
        if any(i >= counts[kind] for kind, i in zip(operation.takes, operands, strict=True)):
            return False
        counts[operation.gives] += 1
    return bool(program.lines)
