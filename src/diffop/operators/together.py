"""Several operators on one function at once."""

from collections.abc import Sequence
from typing import Any, final

import jax
from jaxtyping import PyTree

from .._types import Key
from ..jets.planner import Kind
from ..jets.point import Point
from ..jets.probes import AbstractProbe
from ..jets.table import Plan, ResolvedPlan
from .arguments import checked_chunk, checked_plan
from .base import Function, Operator, check_function
from .draws import check_probes, make_draw
from .evaluate import Part, apply_all
from .plans import plan as symbolic_plan, resolved_plan


def exact(ops: PyTree, plan: Kind = "auto") -> "Joint":
    """Several operators in one pass: `do.exact(ops)(u)(*args)` has the structure of `ops`.

    All of them share u's primal, the derivatives of its nonlinearities, and the jets that they have
    in common. This is how a residual f(x, u, D₁u, D₂u, …) is written, linear or not.

    **Arguments:**

    - `ops`: a pytree of operators.
    - `plan`: how mixed derivatives are computed, as for `Operator.exact`. Those of all operators
        are planned together.

    **Returns:**

    A map from functions to functions; like `Operator.exact` it takes `chunk=` by keyword. Its
    `.jets()` shows the common plan.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        parts = do.exact({"u": do.Identity(), "lap": do.Laplacian()})(lambda x: jnp.sum(x**2))
        parts(jnp.ones(3))  # {"u": 3.0, "lap": 6.0}
        ```
    """
    operators, structure = flatten(ops)
    return Joint([operator.parts for operator in operators], structure, checked_plan(plan))


def estimate(ops: PyTree, key: Key, n: int, probes: str | AbstractProbe = "auto") -> "Joint":
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
    operators, structure = flatten(ops)
    draw = make_draw(key, n, probes)
    for operator in operators:
        check_probes(operator.parts, draw.probe)
    parts = [
        tuple(part if part.draw is not None else Part(part.terms, draw) for part in operator.parts)
        for operator in operators
    ]
    return Joint(parts, structure, "auto")


def flatten(ops: PyTree) -> tuple[list[Operator], Any]:
    """The operators in a pytree of them, and its structure."""
    leaves, structure = jax.tree.flatten(ops, is_leaf=lambda node: isinstance(node, Operator))
    for leaf in leaves:
        if not isinstance(leaf, Operator):
            raise TypeError(
                f"expected a pytree of operators; got {leaf!r} of type {type(leaf).__name__}."
            )
    return leaves, structure


@final
class Joint:
    """What `exact` and `estimate` return: called with a function u, and how many directions to push
    together at most, it returns the function that the operators make of u. `jets` shows their
    common plan.
    """

    def __init__(self, parts: Sequence[tuple[Part, ...]], structure: Any, plan: Kind) -> None:
        self._parts = parts
        self._structure = structure
        self._plan: Kind = plan

    def __call__(self, u: Function, *, chunk: int | None = None) -> Function:
        check_function(u)
        size = checked_chunk(chunk)
        return lambda *args, **kwargs: jax.tree.unflatten(
            self._structure, apply_all(self._parts, u, Point(args, kwargs, size, self._plan))
        )

    def jets(self, *args: Any) -> Plan | ResolvedPlan:
        """The plan of all the operators, as `Operator.jets` shows that of one."""
        every = [part for parts in self._parts for part in parts]
        if args:
            return resolved_plan(every, args, self._plan)
        return symbolic_plan(every, self._plan)
