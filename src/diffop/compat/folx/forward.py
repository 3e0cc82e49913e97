"""Value, Jacobian and Laplacian from one push."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ...arrays import at_run_time
from ...taylor import Block, Blocks, Full, Truncation, basis
from ...taylor.bundle import Families, Family, is_moving, primal_of
from ...taylor.coefficients import Series, Zero, scale, zeros
from ...taylor.pushforward import SeriesLeaf, derivative_of, is_series_leaf, push_series
from ...taylor.tangents import is_inexact
from ...tracebacks import short_tracebacks
from .arrays import FwdJacobian, FwdLaplArray, is_forward


def forward_laplacian(
    fn: Callable[..., PyTree],
    sparsity_threshold: int | float = 0,
    disable_jit: bool = False,
) -> Callable[..., PyTree]:
    """`folx.forward_laplacian`: a function's value, its Jacobian and its Laplacian by all
    coordinates of all positional arguments, from one push of all directions.

    **Arguments:**

    - `fn`: a function of arrays or pytrees of arrays, to an array or a pytree.
    - `sparsity_threshold`: without effect. Directions stay sparse as long as the function allows,
        and what comes out is dense.
    - `disable_jit`: return the function as it is, not under `jax.jit`.

    **Returns:**

    A function with fn's own arguments and one more. Each output that depends on the arguments
    becomes a [`diffop.compat.folx.api.FwdLaplArray`][]: `.x`, `.jacobian.dense_array` of shape
    `(n, *shape)`, `.laplacian`. Others stay arrays: integers, and what is constant or piecewise so.

    - The n coordinates are those of all floating arrays among the positional arguments, in order.
        Integers and what is given by keyword do not move.
    - Arguments may be such results. Then derivatives are by the coordinates behind those, and all
        other arguments are constants.
    - `weights=` by keyword: derivatives are by $x_i / w_i$, so that the Laplacian is $Σ w_i² ∂_i²$.
        A number, or a tuple of them for each argument or for each array in these, or arrays like
        those. Results as arguments have theirs already.

    **Raises:** `TypeError` where fn is no function, and, when it is called, where no argument is
    floating; `ValueError` then for weights of another structure, and for arguments with derivatives
    by different numbers of coordinates.

    Source: Li et al. 2024, "A computational framework for neural network-based variational Monte
    Carlo with forward Laplacian"; the interface: Gao, Köhler and Foster 2023, folx.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        result = folx.forward_laplacian(lambda x: jnp.sum(x**3))(jnp.ones(4))
        result.x, result.jacobian.dense_array, result.laplacian  # 4, [3, 3, 3, 3], 24
        ```
    """
    del sparsity_threshold
    if not callable(fn):
        raise TypeError(
            f"forward_laplacian takes a function; got {type(fn).__name__}. Its arguments come "
            "after: forward_laplacian(f)(x)."
        )

    def forward(*args: PyTree, weights: PyTree = None, **kwargs: Any) -> PyTree:
        return _pushed(partial(fn, **kwargs), args, weights)

    return forward if disable_jit else jax.jit(forward)


@short_tracebacks
def _pushed(fn: Callable[..., PyTree], args: tuple[PyTree, ...], weights: PyTree) -> PyTree:
    leaves, structure = jax.tree.flatten(args, is_leaf=is_forward)
    leaves = [jnp.asarray(x) if isinstance(x, float | complex) else x for x in leaves]
    if any(map(is_forward, leaves)):
        series, size = _continued(leaves)
    else:
        series, size = _started(leaves, _each_weight(weights, args, leaves))
    values = [leaf.x if isinstance(leaf, FwdLaplArray) else leaf for leaf in leaves]
    families = (Family(np.ones(size, np.int32), Truncation.curve(2), size),)
    point = jax.tree.unflatten(structure, values)
    _, outputs = push_series(fn, point, families, [series])
    return jax.tree.map(partial(_read, families), outputs, is_leaf=is_series_leaf)


def _started(leaves: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Series], int]:
    """All basis vectors, times weights, and their number."""
    if not any(map(is_inexact, leaves)):
        kinds = ", ".join(str(getattr(leaf, "dtype", type(leaf).__name__)) for leaf in leaves)
        raise TypeError(
            "forward_laplacian differentiates by floating arrays, and there is none among the "
            f"positional arguments; got {kinds or 'no arguments'}. Convert one with astype(float)."
        )
    sizes = [jnp.size(leaf) if is_inexact(leaf) else 0 for leaf in leaves]
    size = sum(sizes)
    starts = accumulate(sizes, initial=0)
    return [
        _basis(leaf, weight, start, size) if count else zeros(2)
        for leaf, weight, start, count in zip(leaves, weights, starts, sizes, strict=False)
    ], size


def _basis(leaf: Array, weight: Any, start: int, size: int) -> Series:
    part = basis(leaf.shape).parts[0]
    if weight is not None:
        weights = jnp.broadcast_to(jnp.asarray(weight).astype(leaf.dtype), leaf.shape)
        part = part.with_values(weights)
    part = Block(part.values, part.axes, (start, *part.origin[1:]))
    return Blocks((part,), (size, *leaf.shape)), Zero()


def _continued(leaves: Sequence[Any]) -> tuple[list[Series], int]:
    """The derivatives that arguments bring along, and the number of coordinates behind them."""
    moving = [leaf for leaf in leaves if is_forward(leaf)]
    sizes = sorted({leaf.jacobian.max_n for leaf in moving})
    if len(sizes) > 1:
        raise ValueError(
            "arguments with derivatives must have them by the same coordinates; got Jacobians by "
            f"{' and '.join(map(str, sizes))}. Compute them by one call of forward_laplacian."
        )
    return [_along(leaf) if is_forward(leaf) else zeros(2) for leaf in leaves], sizes[0]


def _along(leaf: FwdLaplArray) -> Series:
    arrays = leaf.jacobian.dense_array, leaf.laplacian
    first, second = (Full(at_run_time(array.astype(leaf.dtype))) for array in arrays)
    return first, scale(second, 1 / 2)


def _each_weight(weights: PyTree, args: tuple[PyTree, ...], leaves: Sequence[Any]) -> list[Any]:
    """A weight for each array, from a prefix of the arguments, or of the arrays in them."""
    if weights is None:
        return [None] * len(leaves)
    for tree in (args, tuple(leaves)):
        try:
            each = jax.tree.map(lambda w, part: [w] * len(jax.tree.leaves(part)), weights, tree)
        except ValueError:
            continue
        return sum(jax.tree.leaves(each, is_leaf=lambda node: isinstance(node, list)), [])
    raise ValueError(
        "weights must be one number, or a tuple with one entry for each argument; got "
        f"{jax.tree.structure(weights)} for {jax.tree.structure(args)}."
    )


def _read(families: Families, leaf: SeriesLeaf) -> FwdLaplArray | Array:
    value = jnp.asarray(primal_of(leaf.value))
    if not is_moving(leaf.value):
        return value
    first, second = (derivative_of(leaf, families, 0, place) for place in (0, 1))
    return FwdLaplArray(value, FwdJacobian(first), second)
