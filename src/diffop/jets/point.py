"""The point at which an operator is applied: the arguments of u, and their coordinates."""

import math
from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp

from ..devices import is_divided
from ..schemes.names import PlanKind


@final
class Point(eqx.Module):
    """The arguments of u at one point. Coordinates of an argument are numbered as `ravel_pytree`
    numbers them. `chunk` bounds how many directions are pushed together; `plan` says how mixed
    derivatives are computed.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.jets.Point((jnp.ones(3),)).size(0, do.Laplacian())  # 3
        ```
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = eqx.field(default_factory=dict)
    chunk: int | None = eqx.field(static=True, default=None)
    plan: PlanKind = eqx.field(static=True, default="auto")

    def value_of(self, function: Callable[..., Any]) -> Any:
        """The value of a function with u's own signature at this point."""
        return function(*self.args, **self.kwargs)

    def replaced(self, argnum: int, argument: Any) -> "Point":
        """The point with another value of one argument."""
        args = (*self.args[:argnum], argument, *self.args[argnum + 1 :])
        return Point(args, self.kwargs, self.chunk, self.plan)

    def size(self, argnum: int, operator: object) -> int:
        """The number d of coordinates of an argument; `operator` is named in errors.

        **Raises:** `ValueError` for an argument that does not exist or has no coordinates;
        `TypeError` for one that is not made of floating arrays.
        """
        if argnum >= len(self.args):
            raise ValueError(
                f"{operator} differentiates argument {argnum}, but u was called with "
                f"{len(self.args)} positional argument(s); argnum counts from 0."
            )
        total = 0
        for leaf in jax.tree.leaves(self.args[argnum]):
            dtype = leaf.dtype if hasattr(leaf, "dtype") else _dtype_of(leaf, argnum, operator)
            if not jnp.issubdtype(dtype, jnp.inexact):
                raise TypeError(
                    f"{operator} differentiates argument {argnum}, which must be floating; got "
                    f"{dtype}. Convert it, for example with jnp.asarray(x, float)."
                )
            total += math.prod(jnp.shape(leaf))
        if not total:
            raise ValueError(
                f"{operator} differentiates argument {argnum}, which must have coordinates; got "
                f"{_without_coordinates(self.args[argnum])}. Pass an array with at least one entry."
            )
        return total

    def dtype(self, argnum: int) -> Any:
        """The type of an argument's directions."""
        leaves = jax.tree.leaves(self.args[argnum])
        return jnp.result_type(
            *(jnp.asarray(x).dtype if not hasattr(x, "dtype") else x.dtype for x in leaves)
        )

    def is_divided(self, argnum: int) -> bool:
        """Whether a part of an argument is divided over a mesh with explicit axes."""
        return any(is_divided(jax.typeof(leaf)) for leaf in jax.tree.leaves(self.args[argnum]))

    def coordinates(self, argnum: int, dims: tuple[int, ...] | None, operator: object) -> int:
        """The number of coordinates that an operator acts on; checks that `dims` are among them."""
        size = self.size(argnum, operator)
        if dims is None:
            return size
        if max(dims) >= size:
            raise ValueError(
                f"{operator} acts on coordinate {max(dims)} of argument {argnum}, which has only "
                f"{size} (numbered from 0)"
                + (f"; {_OF_ARGUMENTS}." if max(dims) < len(self.args) else ".")
            )
        return len(dims)


_OF_ARGUMENTS = (
    "the derivative with respect to argument j of u(x, y, …) is Partial(argnum=j), and a mixed one "
    "of arguments j and k is Mixed({(j, 0): 1, (k, 0): 1})"
)


def _dtype_of(leaf: Any, argnum: int, operator: object) -> Any:
    try:
        return jnp.asarray(leaf).dtype
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{operator} differentiates argument {argnum}, which must be an array, or a pytree of "
            f"arrays; got {leaf!r} of type {type(leaf).__name__}."
        ) from error


def _without_coordinates(argument: Any) -> str:
    shapes = [str(jnp.shape(leaf)) for leaf in jax.tree.leaves(argument)]
    return f"an array of shape {' and '.join(shapes)}" if shapes else repr(argument)
