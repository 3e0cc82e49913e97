"""The engine's derivatives of random programs, along random blocks, beside nested `jax.jvp`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
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
        """The values; Jacobians times directions, and sums of second derivatives."""
        jets = taylor.Jets(((directions, None), (None, None)), self.weights)
        values, orders = taylor.push(self.program, (x, i), [jets])
        return values, orders[0]

    def along(self, x: Any, v: Any, i: Any) -> Any:
        """The first and the second derivative along one direction."""
        u = lambda x: self.program(x, i)
        slope = lambda x: jax.jvp(u, (x,), (v,))[1]
        return jax.jvp(slope, (x,), (v,))


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
    try:
        found = [_compared(cases, jax.jit)]
    except Exception as error:
        if len(cases) == 1:
            return [f"{_said(cases[0])}\n  raises {type(error).__name__}: {str(error)[:300]}"]
        found = [disagree([case]) for case in cases]
        return [text for each in found for text in each]
    wrong = [case for case, text in zip(cases, found[0], strict=True) if text]
    return [text for case in wrong for text in _compared([case], _slowly) if text]


def _slowly(function: Callable) -> Callable:
    """Primitive by primitive: XLA compiles some programs wrongly, as those that write a slice of an
    array into itself.
    """

    def evaluated(*args: Any) -> Any:
        jaxpr, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        outputs = jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(shapes), outputs)

    return evaluated


def _compared(cases: Sequence[Case], compiled: Callable) -> list[str]:
    pairs = lambda given: zip(cases, given, strict=True)
    pushed = compiled(lambda given, i: [case.pushed(*own, i) for case, own in pairs(given)])
    along = compiled(lambda given, i: [case.along(*own, i) for case, own in pairs(given)])
    found = pushed([(c.x, c.directions) for c in cases], 0)
    rows = [definition(c.directions) for c in cases]
    each = [
        along([(c.x, v[min(r, len(v) - 1)]) for c, v in pairs(rows)], 0)
        for r in range(max(map(len, rows)))
    ]
    texts = []
    for place, (case, v) in enumerate(pairs(rows)):
        both = [outputs[place] for outputs in each[: len(v)]]
        first, second = (
            jax.tree.map(lambda *ys: np.stack(ys), *own) for own in zip(*both, strict=True)
        )
        sums = [np.tensordot(case.weights, y, 1) for y in second]
        texts.append(_difference(case, found[place], (first, sums)))
    return texts


def _difference(case: Case, got: Any, expected: Any) -> str:
    for name, ours, theirs in zip(("slope", "sum"), got[1], expected, strict=True):
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
