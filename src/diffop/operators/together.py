"""Several operators on one function at once."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import PyTree

from .._types import Key
from ..jets.planner import Kind
from ..jets.point import Point
from .arguments import checked_chunk, checked_plan
from .base import Function, Operator, check_function, check_probes, make_draw
from .evaluate import Part, apply_all


def exact(ops: PyTree, plan: Kind = "auto") -> Callable[[Function], Function]:
    """Several operators in one pass: `do.exact(ops)(u)(*args)` has the structure of `ops`.

    All of them share u's primal, the derivatives of its nonlinearities, and the jets that they have
    in common. This is how a residual f(x, u, D₁u, D₂u, …) is written, linear or not.

    **Arguments:**

    - `ops`: a pytree of operators.
    - `plan`: how mixed derivatives are computed, as for `Operator.exact`. Those of all operators
        are planned together.

    **Returns:**

    A map from functions to functions; like `Operator.exact` it takes `chunk=` by keyword.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        parts = do.exact({"u": do.Identity(), "lap": do.Laplacian()})(lambda x: jnp.sum(x**2))
        parts(jnp.ones(3))  # {"u": 3.0, "lap": 6.0}
        ```
    """
    operators, structure = _flatten(ops)
    return _together([operator.parts for operator in operators], structure, checked_plan(plan))


def estimate(ops: PyTree, key: Key, n: int, probes: str = "auto") -> Callable[[Function], Function]:
    """Several operators estimated with one draw: `do.estimate(ops, key, n)(u)(*args)` has the
    structure of `ops`.

    Operators that sample the same terms share jets: Δ and Σ∂_i⁴ use the same coordinates.

    **Arguments:**

    - `ops`: a pytree of operators; estimates among them keep their own draws.
    - `key`, `n`, `probes`: as for `Operator.estimate`.

    **Returns:**

    A map from functions to functions.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"lap": do.Laplacian(), "fourth": do.DiagonalK(4)}
        do.estimate(ops, jax.random.key(0), 4)(lambda x: jnp.sum(x**4))(jnp.ones(100))
        ```
    """
    operators, structure = _flatten(ops)
    draw = make_draw(key, n, probes)
    for operator in operators:
        check_probes(operator, probes)
    parts = [
        tuple(part if part.draw is not None else Part(part.terms, draw) for part in operator.parts)
        for operator in operators
    ]
    return _together(parts, structure, "auto")


def _flatten(ops: PyTree) -> tuple[list[Operator], Any]:
    leaves, structure = jax.tree.flatten(ops, is_leaf=lambda node: isinstance(node, Operator))
    for leaf in leaves:
        if not isinstance(leaf, Operator):
            raise TypeError(
                f"expected a pytree of operators; got {leaf!r} of type {type(leaf).__name__}."
            )
    return leaves, structure


def _together(
    parts: list[tuple[Part, ...]], structure: Any, plan: Kind
) -> Callable[[Function], Function]:
    def transform(u: Function, *, chunk: int | None = None) -> Function:
        check_function(u)
        size = checked_chunk(chunk)
        return lambda *args, **kwargs: jax.tree.unflatten(
            structure, apply_all(parts, u, Point(args, kwargs, size, plan))
        )

    return transform
