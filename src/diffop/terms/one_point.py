"""Error messages for users who pass many points at once without `jax.vmap`."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import PyTree

from ..jets.point import Point
from ..scalars import checked_integer
from ..tracebacks import short_tracebacks
from .arguments import check_callable, checked_plan

R = TypeVar("R")


def applied(
    u: Any, beside: tuple[Any, ...], at: Callable[[Point], R], chunk: Any, plan: Any
) -> Callable[..., R]:
    """The function of u's arguments that evaluates an operator at each point.

    **Arguments:**

    - `u`: a function; anything else is refused.
    - `beside`: extra arguments beside u, if any, which are refused.
    - `at`: the evaluation at a point.
    - `chunk`, `plan`: as for `Operator.exact`.

    If u itself fails at a point, but would not if it were mapped over the first axes of its
    arguments, the error says that these are many points.
    """
    check_callable(u, beside)
    chunk = None if chunk is None else checked_integer(chunk, "chunk", 1)
    plan = checked_plan(plan)

    @short_tracebacks
    def at_one_point(*args: Any, **kwargs: Any) -> R:
        try:
            with explaining_mistakes():
                value = at(Point(args, kwargs, chunk, plan))
        except Exception as error:
            if works(u, *args, **kwargs):
                raise
            shapes = ", ".join(str(np.shape(leaf)) for leaf in jax.tree.leaves((args, kwargs)))
            if not works_mapped(u, *args, **kwargs):
                error.add_note(f"u fails with arguments of shape {shapes}.")
                raise
            raise ValueError(
                "an operator evaluates u at one point, and u fails with arguments of shape "
                f"{shapes}; these are many points: map over them, such as "
                "jax.vmap(L.exact(u))(points)."
            ) from error
        if _is_nothing(value):
            raise TypeError(
                "u must return an array, or a pytree of arrays; got None: is its `return` missing?"
            )
        return value

    return at_one_point


def _is_nothing(value: Any) -> bool:
    """Whether it is None, or contains only None."""
    if jax.tree.leaves(value):
        return False
    return bool(jax.tree.leaves(value, is_leaf=lambda each: each is None))


@contextlib.contextmanager
def explaining_mistakes() -> Iterator[None]:
    """Helps users who write `x[:, 0]`, as for many points, although points come one by one, and
    those who write `np.sin`, `math.sin` or `if x[0] > 0`, although JAX traces their function.

    **Raises:** `IndexError` or `TypeError` that says what to write; JAX's own errors say it in a
    note.
    """
    try:
        yield
    except jax.errors.TracerArrayConversionError as error:
        raise TypeError(
            "JAX traces functions of a point, and numpy cannot compute with what it traces: write "
            "jnp.sin for np.sin, with `import jax.numpy as jnp`."
        ) from error
    except jax.errors.ConcretizationTypeError as error:
        error.add_note(
            "JAX traces functions of a point, and their values are not known yet: write "
            "jnp.where(x > 0, a, b) for `a if x > 0 else b`, and jnp.sin(x) for math.sin(x)."
        )
        raise
    except IndexError as error:
        if not str(error).startswith("Too many indices"):
            raise
        raise IndexError(
            "a function is called at one point, whose coordinates are x[0], x[1], …; x[:, 0] is "
            f"for many points at once: write x[0]. JAX says: {error}"
        ) from error


def works_mapped(u: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree) -> bool:
    """Whether u can be traced when it is mapped over the first axes of its arguments."""
    axes = jax.tree.map(lambda leaf: 0 if np.ndim(leaf) else None, args)
    return any(map(np.ndim, jax.tree.leaves(args))) and works(
        jax.vmap(functools.partial(u, **kwargs), axes), *args
    )


def works(u: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree) -> bool:
    """Whether u can be traced; a tuple with a `__call__`, too, of which JAX has no reference."""
    try:
        jax.eval_shape(lambda *args, **kwargs: u(*args, **kwargs), *args, **kwargs)
    except Exception:
        return False
    return True
