"""Points divided over the devices of a mesh."""

from typing import Any

import jax
from jax.sharding import AxisType, PartitionSpec
from jaxtyping import Array, PyTree, Shaped

DATA, MODEL = AXES = ("data", "model")


def shard_points(
    points: PyTree[Shaped[Array, "points ..."]],
) -> PyTree[Shaped[Array, "points ..."]]:
    """Divides points over the mesh of a fit: their number over `data`, their coordinates over
    `model`.

    Use it in your own losses that draw their points inside; `diffop.losses.ResidualLoss` calls it.
    The compiler propagates it backwards, so every device draws only its part. Points keep their
    values. Sizes need not be multiples of the mesh's.

    **Arguments:**

    - `points`: one in each row; for a u of several arguments a tuple of arrays, points along the
        first axes.

    **Returns:** the same points; unchanged without a mesh.

    !!! example

        ```python
        import jax
        import diffop as do

        def loss(u, key):
            points = do.train.shard_points(do.pde.unit_ball_by_radius(key, 100, 10))
            return jax.vmap(u)(points).mean()
        ```
    """
    mesh = jax.sharding.get_abstract_mesh()
    kinds: dict[Any, AxisType] = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    names = [name if kinds.get(name) == AxisType.Auto else None for name in AXES]
    if not any(names):
        return points
    return jax.tree.map(
        lambda leaf: jax.lax.with_sharding_constraint(leaf, PartitionSpec(*names[: leaf.ndim])),
        points,
    )
