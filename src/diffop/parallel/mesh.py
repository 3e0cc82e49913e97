"""Meshes of devices, and how the arrays of a fit lie on them.

Points are divided along the axis `data`, the input dimension along `model`. The longest axis in a
model is taken as its input dimension, since nearly all numbers of a network in many dimensions are
in the weights with that axis. These weights, and arrays with their shape in the state of the
optimiser, are divided along it over the mesh's axis `model`; every other array is copied to all
devices.

Between programs JAX divides arrays into equal parts. If the input dimension is not a multiple of
`model`, arrays are divided along another axis there, such as the width of a layer, and exchanged on
the way in and out. Inside a program parts may differ.
"""

import contextlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, ArrayLike, Inexact, PyTree

from ..kinds import COUNT, Kind, as_word
from .sharding import AXES, DATA, MODEL


def shard(tree: PyTree, mesh: Mesh) -> PyTree:
    """Divides the arrays of a pytree, such as a network, over a mesh of devices.

    The longest axis of its inexact arrays is taken as the input dimension: arrays are divided along
    it over the mesh's axis `model`. All other arrays are copied to every device.

    Inside `jax.jit` it determines where results lie: a network that is made and sharded in one
    jitted function is never on one device as a whole.

    **Arguments:**

    - `tree`: any pytree.
    - `mesh`: with the axes `data` and `model`, or one of them.

    **Returns:** the pytree with its arrays on the mesh.

    **Raises:** `ValueError` if the mesh has other axes.

    !!! example

        ```python
        import equinox as eqx, jax
        import diffop as do

        mesh = jax.make_mesh((1, 1), ("data", "model"))

        @eqx.filter_jit
        def make(key):
            return do.train.shard(do.nn.WeightSharedMLP(1000, 10, 16, 2, key=key), mesh)

        net = make(jax.random.key(0))
        ```
    """
    return Layout(mesh, tree).shard(tree)


@final
class Layout:
    """Where arrays lie: those of a model, and others of the same shapes. Without a mesh they lie
    where JAX puts them.
    """

    def __init__(self, mesh: Mesh | None, model: PyTree):
        self.mesh = checked_mesh(mesh)
        shapes = [leaf.shape for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))]
        self._length = max((size for shape in shapes for size in shape), default=0)
        self._parts = 1 if self.mesh is None else self.mesh.shape.get(MODEL, 1)

    def shard(self, tree: PyTree) -> PyTree:
        """The arrays of a pytree where they lie between programs."""
        if self.mesh is None:
            return tree
        arrays, rest = eqx.partition(tree, eqx.is_array)
        homes = self._between(arrays)
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arrays)):
            arrays = jax.lax.with_sharding_constraint(arrays, homes)
        elif jax.process_count() == 1:
            arrays = jax.device_put(arrays, homes)
        else:  # compares no arrays across devices, unlike device_put
            with in_context(self.mesh):
                arrays = jax.jit(lambda arrays: arrays, out_shardings=homes)(arrays)
        return eqx.combine(arrays, rest)

    def owned(self, tree: PyTree) -> PyTree:
        """Copies of arrays, which may be donated, where they lie between programs."""
        if self.mesh is None:
            return jax.tree.map(_own, tree)
        copy = jax.jit(partial(jax.tree.map, _own), out_shardings=self._between(tree))
        with in_context(self.mesh):
            return copy(tree)

    def enter(self, leaf: Array) -> Array:
        """Moves an array from where it lies between programs to where it lies inside one."""
        axis, home = self._input(leaf), self._home(leaf)
        if axis is None or axis == home:
            return leaf
        moved = leaf if home is None else self._exchanged(leaf, home, axis)
        return jax.lax.with_sharding_constraint(moved, self._along(axis))

    def leave(self, leaf: Array) -> Array:
        """Moves an array from where it lies inside a program to where it lies between programs."""
        axis, home = self._input(leaf), self._home(leaf)
        if axis is None or home is None or axis == home:
            return leaf
        return self._exchanged(leaf, axis, home)

    def jit(self, function: Callable, carry: PyTree) -> jax.stages.Wrapped:
        """Compiles a function from a carry, which it donates, and other arguments to a carry and
        results that are the same on all devices.
        """
        shardings = (self._between(carry), self._along(None))
        return jax.jit(function, donate_argnums=0, out_shardings=shardings)

    def _between(self, tree: PyTree) -> PyTree:
        return jax.tree.map(lambda leaf: self._along(self._home(leaf)), tree)

    def _along(self, axis: int | None) -> NamedSharding:
        assert self.mesh is not None
        names = () if axis is None else (*(None,) * axis, MODEL)
        return NamedSharding(self.mesh, PartitionSpec(*names))

    def _input(self, leaf: ArrayLike) -> int | None:
        """The axis that is the input dimension."""
        shape = jnp.shape(leaf)
        divided = self._parts > 1 and self._length in shape
        return shape.index(self._length) if divided else None

    def _home(self, leaf: ArrayLike) -> int | None:
        """The axis along which an array is divided between programs."""
        axis = self._input(leaf)
        if axis is None or self._length % self._parts == 0:
            return axis
        equal = (i for i, size in enumerate(jnp.shape(leaf)) if size and size % self._parts == 0)
        return next(equal, None)

    def _exchanged(self, leaf: Array, before: int, after: int) -> Array:
        """Divided along another axis, explicitly, since the compiler would gather such arrays. The
        input dimension is padded meanwhile, up to a multiple of the parts.
        """
        widths, axis = [(0, 0)] * leaf.ndim, leaf.shape.index(self._length)
        widths[axis] = (0, -self._length % self._parts)
        wide = jax.lax.with_sharding_constraint(jnp.pad(leaf, widths), self._along(before))
        exchange = partial(
            jax.lax.all_to_all, axis_name=MODEL, split_axis=after, concat_axis=before, tiled=True
        )
        old, new = self._along(before).spec, self._along(after).spec
        exchanged = jax.shard_map(exchange, mesh=self.mesh, in_specs=old, out_specs=new)(wide)
        return jax.lax.slice_in_dim(exchanged, 0, self._length, axis=axis)


def _own(leaf: ArrayLike) -> Array:
    """A copy that may be donated, of a type that does not depend on the leaf's origin."""
    return jnp.array(leaf, dtype=jnp.asarray(leaf).dtype)


def checked_mesh(mesh: Mesh | None) -> Mesh | None:
    """The same devices and names as a mesh whose divisions the compiler chooses.

    `jax.make_mesh` makes explicit axes, for which every operation would have to say how its result
    is divided.

    **Raises:** `ValueError` if an axis has another name, `TypeError` for anything but a mesh.
    """
    if mesh is None:
        return None
    if not isinstance(mesh, Mesh):
        raise TypeError(
            "training expects a mesh of jax.make_mesh((4, 2), ('data', 'model')), or none, got "
            f"{mesh!r} of type {type(mesh).__name__}."
        )
    unknown = [str(name) for name in mesh.axis_names if name not in AXES]
    if unknown:
        raise ValueError(
            f"a mesh for training has the axes data and model, or one of them, got {unknown[0]!r}; "
            f"say for instance jax.make_mesh((4, 2), ('data', 'model'))."
        )
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def in_context(mesh: Mesh | None) -> contextlib.AbstractContextManager[Any]:
    """The context in which programs are traced, so that code inside finds the mesh, if any."""
    return contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, dict) and {*value} <= {*AXES} and all(map(COUNT.holds, value.values()))


SIZES = Kind(
    "data=N, model=M or data=N,model=M, with integers of at least 1", _are_sizes, "data=N,model=M"
)
"""The sizes of a mesh, by the names of its axes."""


def make(sizes: dict[str, int]) -> Mesh:
    """A mesh of all devices; neighbouring devices lie along `model`.

    **Raises:** `ValueError` if there are fewer devices, or more.
    """
    ordered = {name: sizes[name] for name in AXES if name in sizes}
    devices, wanted = jax.device_count(), math.prod(ordered.values())
    if wanted != devices:
        raise ValueError(
            f"the mesh {as_word(ordered)} has {wanted} devices, but there "
            f"{'is' if devices == 1 else 'are'} {devices}; "
            f"{as_word(_nearest(ordered, devices))} would fit."
        )
    return jax.make_mesh(
        tuple(ordered.values()), tuple(ordered), axis_types=(AxisType.Auto,) * len(ordered)
    )


def sizes_of(tree: PyTree) -> dict[str, int]:
    """The sizes of the mesh that arrays lie on; empty if they lie on one device."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array) and isinstance(leaf.sharding, NamedSharding):
            return {str(name): size for name, size in leaf.sharding.mesh.shape.items()}
    return {}


def on_all(values: Inexact[Array, "*shape"]) -> Inexact[Array, "*shape"]:
    """The same values on every device, so that every process can look at them."""
    if jax.sharding.get_abstract_mesh().empty:
        return values
    return jax.lax.with_sharding_constraint(values, PartitionSpec())


def _nearest(sizes: dict[str, int], devices: int) -> dict[str, int]:
    """A mesh of all devices that keeps as many of the sizes as possible."""
    if len(sizes) == 1:
        return dict.fromkeys(sizes, devices)
    for kept, other in ((MODEL, DATA), (DATA, MODEL)):
        if devices % sizes[kept] == 0:
            return {**sizes, kept: sizes[kept], other: devices // sizes[kept]}
    return {DATA: devices, MODEL: 1}
