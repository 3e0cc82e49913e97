"""Error messages for users who pass many points at once without `jax.vmap`."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import PyTree

from ..arrays import has_symbols
from ..called import check_takes, shapes_of, take_all
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
    arguments, or of one of them, the error says that these are many points.
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
            _explain(error, u, args, kwargs)
            raise
        if _is_nothing(value):
            raise TypeError(
                "u must return an array, or a pytree of arrays; got None: is its `return` missing?"
            )
        return value

    return at_one_point


def _explain(error: Exception, u: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Adds a note to an error at a point, if it is known what to write.

    **Raises:** `ValueError` if u takes another number of arguments, or one point at a time, and if
    sizes of a point are symbols.
    """
    shapes = shapes_of((args, kwargs))
    if works(u, *args, **kwargs):
        if any(map(has_symbols, map(jax.typeof, jax.tree.leaves(args)))):
            raise ValueError(
                "an operator has to know how many coordinates a point has, and here a shape is "
                f"{shapes}, with a symbol of jax.export: fix the sizes of a point; the number of "
                "points may be a symbol, in jax.vmap(L.exact(u))(points)."
            ) from error
        if isinstance(error, TypeError) and "positional argument" in str(error):
            error.add_note(
                "functions in an operator, such as its coefficients, take the arguments of u, here "
                f"{len(args)} of shape {shapes}."
            )
        return
    each = "give the operator an argument for each, such as L.exact(u)(x, t)"
    check_takes("u", u, args, kwargs, each if len(args) == 1 else take_all("u"))
    many = _many(u, args, kwargs)
    if not many:
        error.add_note(f"u fails with arguments of shape {shapes}{_advice(args)}.")
        return
    raise ValueError(
        "an operator evaluates u at one point, and u fails with arguments of shape "
        f"{shapes}; these are many points{many}."
    ) from error


def _many(u: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """How to map over the first axes of all arguments, or of one of them; empty if u fails then,
    too.
    """
    if works_mapped(u, *args, **kwargs):
        return ": map over them, such as jax.vmap(L.exact(u))(points)"
    for number, arg in enumerate(args):
        before, after = args[:number], args[number + 1 :]
        if works_mapped(lambda arg, b=before, a=after: u(*b, arg, *a, **kwargs), arg):
            axes = ", ".join("0" if i == number else "None" for i in range(len(args)))
            mapped = f"jax.vmap(L.exact(u), ({axes}))"
            return f" in argument {number}: map over them alone, such as {mapped}"
    return ""


def _advice(args: tuple[Any, ...]) -> str:
    """What to write for arguments that may not be what u expects."""
    if any(type(arg) in (list, tuple) for arg in args):
        return "; a list is a pytree of numbers: for one array write jnp.array([…])"
    if jax.tree_util.all_leaves(args) and shapes_of(args) == "()":
        return (
            ", which is one number: a point with one coordinate is an array of shape (1,), and "
            "many points have shape (count, d)"
        )
    return ""


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


@contextlib.contextmanager
def noting_point(what: str, *args: PyTree) -> Iterator[None]:
    """Adds a note to errors of a function of one point: what fails, and at which shape."""
    try:
        with explaining_mistakes():
            yield
    except Exception as error:
        error.add_note(f"{what} fails at a point of shape {shapes_of(args)}.")
        raise


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
