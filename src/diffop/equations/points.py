"""Points: what u is called with. A point of u(x) is x; of u(x, t), a function of several arguments,
it is the tuple (x, t). Of many points each array has them along its first axis.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

Point: TypeAlias = PyTree[Float[Array, "..."]]
"""One argument of u, or a tuple of them."""

Points: TypeAlias = PyTree[Float[Array, "count ..."]]
"""The same, many along the first axes."""


def arguments(point: Point) -> tuple[PyTree, ...]:
    """What u is called with at a point; of many points all of them."""
    return point if type(point) is tuple else (point,)


def count_of(points: Points) -> int:
    """How many points there are."""
    return len(jax.tree.leaves(points)[0])


def size_of(points: Points) -> int:
    """How many coordinates each of many points has, those of all arguments together."""
    return sum(leaf.size for leaf in jax.tree.leaves(points)) // count_of(points)


def chosen(points: PyTree, which: Any) -> PyTree:
    """The points of some numbers, or the one of a number; `None` makes one point several."""
    return jax.tree.map(lambda leaf: leaf[which], points)


def at_each(function: Callable[..., PyTree], points: Points) -> PyTree:
    """The values of a function of u's arguments, at each point."""
    return jax.vmap(function)(*arguments(points))


def check_arguments(
    what: str, function: Callable, points: PyTree, before: tuple[str, ...] = ()
) -> None:
    """Refuse a function that cannot be called with the arguments that points are.

    **Arguments:**

    - `what`: the function, in words.
    - `points`: one or many.
    - `before`: what it is called with before them.

    **Raises:** `ValueError` naming what it takes and what it would get.
    """
    given = arguments(points)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # it does not tell
    try:
        signature.bind(*before, *given)
    except TypeError:
        words = ["1 argument", f"{len(given)} arguments"][len(given) > 1]
        shapes = ", ".join(str(np.shape(leaf)) for leaf in jax.tree.leaves(points))
        raise ValueError(
            f"{what} takes ({', '.join(signature.parameters)}), and here it gets "
            f"{''.join(f'{name} and ' for name in before)}{words} of points, of shape {shapes}: "
            f"{_remedy(what, len(given))}."
        ) from None


def _remedy(what: str, arguments: int) -> str:
    if arguments == 1:
        return "give points as a tuple, with an array for each argument of u"
    joined = ", or make it of a network of one vector: diffop.nn.JoinedInput(net)"
    return f"let it take all of them{joined if what in ('u', 'the network') else ''}"
