"""Points, that is, the arguments of u: x for u(x), and the tuple (x, t) for u(x, t), a function of
several arguments. With many points, each array has them along its first axis.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..called import check_takes, take_all
from ..scalars import is_number, plain
from ..terms.arguments import is_function
from ..terms.one_point import explaining_mistakes

OnePoint: TypeAlias = PyTree[Float[Array, "..."]]
"""One argument of u, or a tuple of them."""

Points: TypeAlias = PyTree[Float[Array, "count ..."]]
"""Many points, along the first axes."""


def arguments(point: OnePoint) -> tuple[PyTree, ...]:
    """The arguments of u at a point, or at many points."""
    return point if type(point) is tuple else (point,)


def as_arrays(given: PyTree) -> PyTree:
    """Points with JAX's arrays in the place of lists and of NumPy's."""

    def is_list(node: PyTree) -> bool:
        return isinstance(node, list)

    def as_array(leaf: PyTree) -> PyTree:
        return jnp.asarray(leaf) if isinstance(leaf, list | np.ndarray) else leaf

    return jax.tree.map(as_array, given, is_leaf=is_list)


def count_of(points: Points) -> int:
    """How many points there are."""
    return len(jax.tree.leaves(points)[0])


def coordinates_per_point(points: Points) -> int:
    """How many coordinates each point has, in all arguments together."""
    return sum(leaf.size for leaf in jax.tree.leaves(points)) // count_of(points)


def chosen(points: PyTree, which: Any) -> PyTree:
    """The points with these numbers, or the point with one number; `None` adds an axis
    of points.
    """
    return jax.tree.map(lambda leaf: leaf[which], points)


def at_each(function: Callable[..., PyTree], points: Points) -> PyTree:
    """The values of a function of u's arguments, at each point."""
    with explaining_mistakes():
        return jax.vmap(function)(*arguments(points))


def as_function(value: Any) -> Callable[..., PyTree]:
    """A function of u's arguments; a number or an array becomes a constant function.

    **Raises:** `TypeError` for anything else.
    """
    if is_function(value):
        return value
    if is_number(plain(value)) or isinstance(value, jax.Array | np.ndarray):
        return Everywhere(value)
    raise TypeError(
        f"expected a function of the point, such as lambda x: x[0], or a number, got {value!r} of "
        f"type {type(value).__name__}."
    )


@final
class Everywhere(eqx.Module):
    """A constant function: a Python number is known, an array can be learnt. Its values have the
    precision of the point, and are complex if the number is.
    """

    value: Any

    def __call__(self, *args: PyTree) -> Array:
        least = 0j if jnp.iscomplexobj(self.value) else 0.0
        kinds = [*jax.tree.leaves(args), least]
        with jax.numpy_dtype_promotion("standard"):
            return jnp.asarray(self.value, jnp.result_type(*kinds))


def check_arguments(
    what: str, function: Callable, points: PyTree, before: tuple[str, ...] = ()
) -> None:
    """Refuses a function that cannot be called with a point.

    **Arguments:**

    - `what`: the function, in words.
    - `points`: one or many.
    - `before`: arguments that come before the point.

    **Raises:** `ValueError` naming what it takes and what it would get.
    """
    given = arguments(points)
    check_takes(what, function, given, {}, _remedy(what, len(given), before), before)


def _remedy(what: str, arguments: int, before: tuple[str, ...]) -> str:
    if arguments > 1:
        return take_all(what)
    if before:
        return f"write lambda {', '.join(before)}, x: …"
    return "give points as a tuple, with an array for each argument of u"
