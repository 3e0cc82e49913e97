"""Meshes of devices: points lie along the axis `data`, the input dimension along `model`."""

import contextlib
import math
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, PyTree

from ..losses.sharding import AXES, DATA, MODEL


def checked(mesh: Mesh | None) -> Mesh | None:
    """The same devices under the same names, to be divided over by the compiler.

    `jax.make_mesh` makes axes of which every operation would have to say how it divides its result.

    **Raises:** `ValueError` if an axis has another name.
    """
    if mesh is None:
        return None
    unknown = [str(name) for name in mesh.axis_names if name not in AXES]
    if unknown:
        raise ValueError(
            f"a mesh for training has the axes data and model, or one of them, got {unknown[0]!r}; "
            f"say for instance jax.make_mesh((4, 2), ('data', 'model'))."
        )
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def has_several_processes(mesh: Mesh) -> bool:
    """Whether devices of several processes are in it."""
    return len({device.process_index for device in mesh.devices.flat}) > 1


def in_context(mesh: Mesh | None) -> contextlib.AbstractContextManager[Any]:
    """In which programs are traced, so that what is inside them finds the mesh, if there is one."""
    return contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh)


def parsed(words: str) -> dict[str, int]:
    """The sizes in words such as `data=4,model=2`.

    **Raises:** `ValueError` if they are not such words.
    """
    sizes: dict[str, int] = {}
    for word in words.split(","):
        name, _, number = word.partition("=")
        if name not in AXES or name in sizes:
            raise ValueError(
                f"mesh must name each of data and model at most once, got {name!r} in {words!r}; "
                f"say for instance data=4,model=2."
            )
        if not (number.isascii() and number.isdecimal() and int(number) > 0):
            raise ValueError(
                f"mesh must give each axis an integer of at least 1, got {word!r}; say for "
                f"instance data=4,model=2."
            )
        sizes[name] = int(number)
    return sizes


def make(sizes: dict[str, int]) -> Mesh:
    """A mesh of all devices; those that are next to each other lie along `model`.

    **Raises:** `ValueError` if there are fewer devices, or more.
    """
    ordered = {name: sizes[name] for name in AXES if name in sizes}
    devices, wanted = jax.device_count(), math.prod(ordered.values())
    if wanted != devices:
        raise ValueError(
            f"the mesh {in_words(ordered)} has {wanted} devices, but there {_are(devices)}; "
            f"{in_words(_nearest(ordered, devices))} would fit."
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


def in_words(sizes: dict[str, int]) -> str:
    """`data=4,model=2`, as on the command line."""
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def on_all(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The same values on every device, so that every process can look at them."""
    if jax.sharding.get_abstract_mesh().empty:
        return values
    return jax.lax.with_sharding_constraint(values, PartitionSpec())


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _nearest(sizes: dict[str, int], devices: int) -> dict[str, int]:
    """A mesh of all devices that keeps what can be kept."""
    if len(sizes) == 1:
        return dict.fromkeys(sizes, devices)
    for kept, other in ((MODEL, DATA), (DATA, MODEL)):
        if devices % sizes[kept] == 0:
            return {**sizes, kept: sizes[kept], other: devices // sizes[kept]}
    return {DATA: devices, MODEL: 1}
