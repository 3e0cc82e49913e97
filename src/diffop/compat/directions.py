"""Values, Jacobians and Laplacians along given directions: the functions of fwdlap."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jaxtyping import Array, PyTree

from .folx.arrays import FwdJacobian, FwdLaplArray, cast, is_forward
from .folx.interpreter import forward_laplacian


def lap(
    fun: Callable[..., PyTree],
    primals: Sequence[Array],
    jacobians: Sequence[Any],
    laplacians: Sequence[Any],
) -> tuple[PyTree, PyTree, PyTree]:
    """`fwdlap.lap`: like `jax.jvp`, but for n directions and a Laplacian instead of one direction.

    **Arguments:**

    - `fun`: a function of arrays, to a pytree of arrays.
    - `primals`: its arguments, a tuple or list.
    - `jacobians`: for each argument n directions, of shape `(n, *shape)`, or a zero:
        [`diffop.compat.fwdlap.zero_tangent_from_primal`][].
    - `laplacians`: for each argument an array like it, or a zero. For independent coordinates it is
        zero, and the directions are the rows of the unit matrix.

    **Returns:**

    `(primals_out, jacobians_out, laplacians_out)`, each in the structure of fun's output.

    **Raises:** `ValueError` if arguments are not arrays, have different numbers of directions, or
    have none.

    Source: Li et al. 2024, "A computational framework for neural network-based variational Monte
    Carlo with forward Laplacian".

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import fwdlap

        x = jnp.ones(3)
        zero = fwdlap.zero_tangent_from_primal(x)
        fwdlap.lap(lambda x: jnp.sum(x**3), (x,), (jnp.eye(3),), (zero,))  # 3, [3, 3, 3], 18
        ```
    """
    size = _directions(primals, jacobians, laplacians)
    given = [_joined(*each, size) for each in zip(primals, jacobians, laplacians, strict=True)]
    found = forward_laplacian(fun, disable_jit=True)(*given)
    parts = [partial(_part, n, size) for n in range(3)]
    value, first, second = (jax.tree.map(part, found, is_leaf=is_forward) for part in parts)
    return value, first, second


def lap_partial(
    fun: Callable[..., PyTree],
    primals: Sequence[Array],
    example_jacs: Sequence[Any],
    example_laps: Sequence[Any],
) -> tuple[PyTree, Callable[[Sequence[Any], Sequence[Any]], tuple[PyTree, PyTree]]]:
    """`fwdlap.lap_partial`: like `jax.linearize`, but for n directions and a Laplacian, so that
    many directions can be pushed in parts.

    **Arguments:**

    - `fun`, `primals`: as for [`diffop.compat.fwdlap.lap`][].
    - `example_jacs`, `example_laps`: examples of later `jacobians` and `laplacians`. Only their
        shapes matter.

    **Returns:**

    `(primals_out, lap_pe)`: fun's output, and a pytree that is a function: from jacobians and
    laplacians of the arguments to those of the output.

    **Raises:** as [`diffop.compat.fwdlap.lap`][].

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import fwdlap

        x, eye = jnp.ones(4), jnp.eye(4).reshape(2, 2, 4)
        zero = fwdlap.zero_tangent_from_primal(x)
        f = lambda x: jnp.sum(x**3)
        value, lap_pe = fwdlap.lap_partial(f, (x,), (eye[0],), (zero,))
        lap_pe((eye[1],), (zero,))  # [3, 3], 12
        ```
    """
    _directions(primals, example_jacs, example_laps)
    rest = partial(_derivatives, fun)
    return fun(*primals), jax.tree_util.Partial(rest, tuple(primals))


def zero_tangent_from_primal(primal: Array, jsize: int | None = None) -> ad.Zero:
    """`fwdlap.zero_tangent_from_primal`: zero derivatives, without an array.

    **Arguments:**

    - `primal`: an array.
    - `jsize`: a number of directions, for a Jacobian.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import fwdlap

        fwdlap.zero_tangent_from_primal(jnp.ones(3))
        ```
    """
    lead = () if jsize is None else (jsize,)
    return ad.Zero(jax.typeof(primal).update(shape=(*lead, *jnp.shape(primal))).to_tangent_aval())


def _derivatives(
    fun: Callable[..., PyTree],
    primals: Sequence[Array],
    jacobians: Sequence[Any],
    laplacians: Sequence[Any],
) -> tuple[PyTree, PyTree]:
    return lap(fun, primals, jacobians, laplacians)[1:]


def _directions(*given: Sequence[Any]) -> int:
    """How many directions there are."""
    for place, parts in enumerate(zip(*given, strict=True)):
        for part, name in zip(parts, ("primal", "Jacobian", "Laplacian"), strict=True):
            if not (_is_zero(part) or jax.tree_util.treedef_is_leaf(jax.tree.structure(part))):
                raise ValueError(
                    f"the {name} at position {place} must be an array; got {type(part).__name__}. "
                    "Give the leaves of a pytree as arguments of their own."
                )
    sizes = sorted({jnp.shape(jacobian)[0] for jacobian in given[1] if not _is_zero(jacobian)})
    if len(sizes) != 1:
        raise ValueError(
            "Jacobians must have one number of directions, as their first axis, and at least one "
            f"must not be zero; got {' and '.join(map(str, sizes)) or 'zeros alone'}."
        )
    return sizes[0]


def _is_zero(part: Any) -> bool:
    return isinstance(part, ad.Zero) or getattr(part, "dtype", None) == jax.dtypes.float0


def _joined(primal: Any, jacobian: Any, laplacian: Any, size: int) -> Any:
    """An argument with its derivatives, if it has any."""
    if _is_zero(jacobian) and _is_zero(laplacian):
        return primal
    x = jnp.asarray(primal)
    first, second = (
        jnp.zeros(shape, x.dtype) if _is_zero(given) else _checked(given, name, shape, x)
        for given, name, shape in (
            (jacobian, "Jacobian", (size, *x.shape)),
            (laplacian, "Laplacian", x.shape),
        )
    )
    return FwdLaplArray(x, FwdJacobian(first), second)


def _checked(given: Any, name: str, shape: tuple[int, ...], x: Array) -> Array:
    """A derivative of x, in its type.

    **Raises:** `ValueError` if it has another shape, or is complex where x is real.
    """
    array = cast(given, x, name)
    if array.shape != shape:
        raise ValueError(
            f"the {name} of an array of shape {x.shape} must have the shape {shape}; got shape "
            f"{array.shape}."
        )
    return array


def _part(place: int, size: int, leaf: FwdLaplArray | Array) -> Array:
    """Value, Jacobian or Laplacian of an output."""
    if isinstance(leaf, FwdLaplArray):
        return (leaf.x, leaf.jacobian.dense_array, leaf.laplacian)[place]
    if place == 0:
        return leaf
    return jnp.zeros((size, *leaf.shape) if place == 1 else leaf.shape, leaf.dtype)
