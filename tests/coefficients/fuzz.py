"""The engine's derivatives of random programs, along random blocks, beside nested `jax.jvp`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from diffop import taylor

from .blocks import Rng, definition, flag, number, random_blocks, random_entries
from .programs import Program, random_program


class Case(NamedTuple):
    """A program, a point, and directions with weights."""

    seed: int
    program: Program
    x: np.ndarray
    directions: Any
    weights: np.ndarray

    def pushed(self, x: Any, directions: Any, i: Any) -> Any:
        """The values, Jacobians times directions, and sums of second derivatives."""
        jets = taylor.Jets(((directions, None), (None, None)), self.weights)
        values, orders = taylor.push(self.program, (x, i), [jets])
        return values, orders[0]

    def expected(self, x: Any, rows: Any, i: Any) -> Any:
        u = lambda x: self.program(x, i)
        along = lambda f, v: jax.jvp(f, (x,), (v,))[1]
        first = jax.vmap(lambda v: along(u, v))(rows)
        slope = lambda v: lambda x: jax.jvp(u, (x,), (v,))[1]
        second = jax.vmap(lambda v: along(slope(v), v))(rows)
        sums = jax.tree.map(lambda y: jnp.tensordot(self.weights, y, 1), second)
        return u(x), (first, sums)


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    shape, size = program.shape, int(np.prod(program.shape))
    directions = _directions(rng, shape, size)
    count = directions.shape[0]
    weights = rng.normal(size=(2, count) if number(rng, 0, 3) == 0 else count)
    weights = np.ones(count) if number(rng, 0, 3) == 0 else weights
    return Case(seed, program, rng.uniform(0.3, 1.5, shape), directions, weights)


def _directions(rng: Rng, shape: tuple[int, ...], size: int) -> Any:
    """All basis vectors, twice as often as others."""
    kind, count, known = number(rng, 0, 3), number(rng, 1, 4), flag(rng)
    if kind < 2:
        return taylor.basis(shape)
    make = random_entries if kind == 2 else random_blocks
    return make(rng, shape, count, known)


def disagree(cases: Sequence[Case]) -> list[str]:
    """What is wrong, all in one program; where this cannot be, one by one."""
    given = [(c.x, c.directions, definition(c.directions)) for c in cases]

    def both(given, i):
        return [
            (case.pushed(x, blocks, i), case.expected(x, rows, i))
            for case, (x, blocks, rows) in zip(cases, given, strict=True)
        ]

    try:
        found = jax.jit(both)(given, 0)
    except Exception as error:
        if len(cases) > 1:
            return [text for case in cases for text in disagree([case])]
        return [f"{_said(cases[0])}\n  raises {type(error).__name__}: {str(error)[:300]}"]
    return [
        text
        for case, (got, expected) in zip(cases, found, strict=True)
        for text in [_difference(case, got, expected)]
        if text
    ]


def _difference(case: Case, got: Any, expected: Any) -> str:
    (value, (first, second)), (right, (slopes, sums)) = got, expected
    names = ("value", "slope", "sum")
    parts = zip(names, (value, first, second), (right, slopes, sums), strict=True)
    for name, ours, theirs in parts:
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
            if a.shape != b.shape:
                return f"{_said(case)}\n  {name} {k} has shape {a.shape} for {b.shape}"
            error = float(np.max(np.abs(a - b), initial=0.0))
            if not error <= 1e-10 * scale:
                return f"{_said(case)}\n  {name} {k} is off by {error:.2} of {scale:.2}"
    return ""


def _said(case: Case) -> str:
    lines = "\n  ".join(case.program.lines)
    return f"{case.seed}: of shape {case.program.shape}, along {case.directions}\n  {lines}"
