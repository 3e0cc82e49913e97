"""`jax.vmap` in batches."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree


def batched_vmap(
    fn: Callable[..., PyTree],
    max_batch_size: int,
    in_axes: int | None | tuple[Any, ...] | list[Any] = 0,
    out_axes: Any = 0,
) -> Callable[..., PyTree]:
    """`folx.batched_vmap`: `jax.vmap` in batches of at most `max_batch_size` points.

    **Arguments:**

    - `fn`: a function as `jax.vmap` takes it.
    - `max_batch_size`: how many points at once.
    - `in_axes`: as for `jax.vmap`. Keywords are not mapped over.
    - `out_axes`: as for `jax.vmap`; each output has an axis of points.

    **Returns:** a function with fn's own arguments.

    **Raises:** `ValueError` for a size below one, and, when it is called, if nothing is mapped
    over, lengths differ, or an entry of `out_axes` is None.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        forward = folx.forward_laplacian(lambda x: jnp.sum(x**2))
        folx.batched_vmap(forward, 16)(jnp.ones((100, 3))).laplacian  # [6, …, 6]
        ```
    """
    if max_batch_size < 1:
        raise ValueError(f"max_batch_size must be at least 1; got {max_batch_size}.")
    axes_in = tuple(in_axes) if isinstance(in_axes, list) else in_axes

    @functools.wraps(fn)
    def batched(*args: Any, **kwargs: Any) -> PyTree:
        one = functools.partial(fn, **kwargs)
        leaves, structure = jax.tree.flatten(args)
        axes = _for_each_leaf(axes_in, args)
        lengths = {jnp.shape(x)[a] for x, a in zip(leaves, axes, strict=True) if a is not None}
        if len(lengths) != 1 or max(lengths) <= max_batch_size:  # else jax.vmap raises the error
            return jax.vmap(one, in_axes=axes_in, out_axes=out_axes)(*args)
        mapped = [jnp.moveaxis(x, a, 0) for x, a in zip(leaves, axes, strict=True) if a is not None]

        def at(point: list[Any]) -> PyTree:
            moving = iter(point)
            filled = [x if a is None else next(moving) for x, a in zip(leaves, axes, strict=True)]
            return one(*jax.tree.unflatten(structure, filled))

        found = jax.lax.map(at, mapped, batch_size=max_batch_size)
        outputs, structure_out = jax.tree.flatten(found)
        to = _for_each_leaf(out_axes, found)
        if any(a is None for a in to):
            raise ValueError(
                "batched_vmap puts an axis of points into each output; got None in out_axes. Take "
                "what does not depend on the point out of the function."
            )
        moved = [jnp.moveaxis(y, 0, a) for y, a in zip(outputs, to, strict=True) if a is not None]
        return jax.tree.unflatten(structure_out, moved)

    return batched


def _for_each_leaf(axes: Any, tree: PyTree) -> list[int | None]:
    """An axis for each leaf of a tree, from a prefix of it."""
    found: list[int | None] = []
    jax.tree.map(
        lambda axis, part: found.extend([axis] * len(jax.tree.leaves(part))),
        axes,
        tree,
        is_leaf=lambda node: node is None,
    )
    return found
