"""`forward_laplacian`: value, Jacobian and Laplacian from one push."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...taylor.bundle import is_inexact
from ...tracebacks import short_tracebacks
from .arrays import FwdLaplArray, is_forward
from .continued import continued
from .started import started


def forward_laplacian(
    fn: Callable[..., PyTree],
    sparsity_threshold: int | float = 0,
    disable_jit: bool = False,
) -> Callable[..., PyTree]:
    """`folx.forward_laplacian`: a function's value, and its Jacobian and Laplacian with respect to
    all coordinates of all positional arguments, from one push of all directions.

    **Arguments:**

    - `fn`: a function of arrays or pytrees of arrays, to an array or a pytree.
    - `sparsity_threshold`: without effect. Directions stay sparse as long as the function allows,
        and results are dense.
    - `disable_jit`: return the function as it is, not under `jax.jit`.

    **Returns:**

    A function with fn's own arguments and one more. Each output that depends on the arguments
    becomes a [`diffop.compat.folx.api.FwdLaplArray`][]: `.x`, `.jacobian.dense_array` of shape
    `(n, *shape)`, `.laplacian`. Other outputs stay arrays: integers, and constant or piecewise
    constant values.

    - The n coordinates are those of all floating arrays among the positional arguments, in order.
        Integers and keyword arguments are constants.
    - Arguments may be such results. Derivatives are then with respect to the coordinates behind
        them, and all other arguments are constants. If a result has fewer coordinates than another,
        it does not depend on the last ones.
    - `weights=` by keyword: derivatives are with respect to $x_i / w_i$, so the Laplacian is
        $Σ w_i² ∂_i²$. A number, or a tuple of numbers for the arguments or for the arrays in them,
        or arrays like these. Arguments that are results already have theirs.

    **Raises:** `TypeError` if fn is not a function, or, when it is called, if no argument is
    floating; then also `ValueError` for weights of another structure.

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
    results = any(map(is_forward, leaves))
    moving = [n for n, x in enumerate(leaves) if (is_forward if results else is_inexact)(x)]
    if not moving:
        kinds = ", ".join(str(getattr(leaf, "dtype", type(leaf).__name__)) for leaf in leaves)
        raise TypeError(
            "forward_laplacian differentiates by floating arrays, and there is none among the "
            f"positional arguments; got {kinds or 'no arguments'}. Convert one with astype(float)."
        )

    def of_moving(*arrays: Array) -> PyTree:
        given = dict(zip(moving, arrays, strict=True))
        filled = [given.get(n, leaf) for n, leaf in enumerate(leaves)]
        return fn(*jax.tree.unflatten(structure, filled))

    point: list[Any] = [leaves[n] for n in moving]
    values = [x.x if isinstance(x, FwdLaplArray) else x for x in point]
    program, shape = jax.make_jaxpr(of_moving, return_shape=True)(*values)
    if results:
        found = continued(program, point)
    else:
        each = _each_weight(weights, args, leaves)
        found = started(program, values, [each[n] for n in moving])
    return jax.tree.unflatten(jax.tree.structure(shape), found)


def _each_weight(weights: PyTree, args: tuple[PyTree, ...], leaves: Sequence[Any]) -> list[Any]:
    """A weight for each array, from a prefix of the arguments or of the arrays in them."""
    if weights is None:
        return [None] * len(leaves)
    for tree in (args, tuple(leaves)):
        each: list[Any] = []
        try:
            jax.tree.map(
                lambda w, part: each.extend([w] * len(jax.tree.leaves(part))), weights, tree
            )
        except ValueError:
            continue
        return each
    raise ValueError(
        "weights must be one number, or a tuple with one entry for each argument; got "
        f"{jax.tree.structure(weights)} for {jax.tree.structure(args)}."
    )
