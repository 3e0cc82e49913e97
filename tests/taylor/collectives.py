"""Functions ℝ⁶ → anything that are mapped over devices, for each way in which these communicate."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.layout import Layout, with_layout_constraint
from jax.sharding import AxisType, NamedSharding

from ..versions import JAX

TWO = jax.devices("cpu")[:2]
DEVICES = len(TWO)
MESH = jax.make_mesh((DEVICES,), ("i",), axis_types=(AxisType.Auto,), devices=TWO)


def _on_devices(f, out=jax.P("i"), **options):
    """f of each device's part of x."""
    return jax.shard_map(f, mesh=MESH, in_specs=jax.P("i"), out_specs=out, **options)


def _everywhere(f, out=jax.P("i"), **options):
    """f of all of x, on every device."""
    return jax.shard_map(f, mesh=MESH, in_specs=jax.P(), out_specs=out, **options)


def _products(x):
    """A matrix with a row for each device."""
    return jnp.stack([jnp.sin((k + 1) * x) for k in range(DEVICES)])


def _in_rows(x):
    return lax.with_sharding_constraint(jnp.sin(x), NamedSharding(MESH, jax.P("i"))) * x


COLLECTIVES = {
    "psum": _on_devices(lambda x: lax.psum(jnp.sin(x) * x, "i"), jax.P()),
    "psum_unchecked": _on_devices(lambda x: lax.psum(jnp.sin(x), "i"), jax.P(), check_vma=False),
    "pmean": _on_devices(lambda x: x * lax.pmean(jnp.sin(x), "i")),
    "all_gather": _on_devices(lambda x: lax.all_gather(jnp.sin(x), "i")[-1] * x),
    "all_gather_tiled": _on_devices(lambda x: lax.all_gather(x**2, "i", tiled=True)[-1] * x),
    "all_gather_reduced": _on_devices(
        lambda x: (
            lax.pcast(lax.all_gather(jnp.sin(x), "i", to="reduced"), "i", to="varying")[-1] * x
        )
    ),
    "all_to_all": _everywhere(
        lambda x: lax.all_to_all(lax.pcast(_products(x), "i", to="varying"), "i", 0, 0)
    ),
    "ppermute": _on_devices(
        lambda x: x * lax.ppermute(jnp.sin(x), "i", [(k, DEVICES - 1 - k) for k in range(DEVICES)])
    ),
    "psum_scatter": _on_devices(
        lambda x: lax.psum_scatter(_products(x), "i", scatter_dimension=0) ** 2
    ),
    "pvary": _everywhere(lambda x: jnp.sin(x) * jnp.where(lax.axis_index("i") == 0, x, 2 * x)),
    "unreduced": _on_devices(
        lambda x: lax.psum(lax.pcast(jnp.sin(x) * x, "i", to="unreduced"), "i"), jax.P()
    ),
    "unreduced_scatter": _on_devices(
        lambda x: lax.psum_scatter(
            lax.pcast(_products(x), "i", to="unreduced"), "i", scatter_dimension=0
        )
    ),
    "reduced": _everywhere(
        lambda x: lax.pcast(lax.pcast(jnp.sin(x), "i", to="reduced"), "i", to="varying") ** 2
    ),
    "sharding_constraint": _in_rows,
    "layout_constraint": lambda x: with_layout_constraint(jnp.sin(x), Layout((0,))) * x,
    "device_put": lambda x: jax.device_put(jnp.sin(x), TWO[0]) * x,
    "nested": _on_devices(
        lambda x: lax.fori_loop(0, 3, lambda k, h: jnp.sin(h) * lax.psum(x, "i") + h, x)
    ),
    "scan_over_parts": _on_devices(
        lambda x: lax.scan(
            lambda c, row: (c + lax.psum(row**3, "i"), jnp.sin(row) * c), lax.psum(x[0], "i"), x
        )[1]
    ),
    "remat": jax.checkpoint(_on_devices(lambda x: lax.psum(jnp.sin(x) * x, "i"), jax.P())),
    "cond": lambda x: lax.cond(x[0] > 0, _on_devices(jnp.sin), _on_devices(jnp.cos), x),
    "jit_inside": _on_devices(lambda x: jax.jit(lambda y: lax.psum(y**2, "i") * y)(jnp.sin(x))),
    "grad_inside": _on_devices(
        lambda x: jax.grad(lambda y: jnp.sum(lax.psum(jnp.sin(y), "i") ** 2))(x)
    ),
    "part_of_the_axes": lambda x: jax.shard_map(
        lambda y: lax.psum(y**3, "i"),
        mesh=jax.make_mesh((DEVICES, 1), ("i", "j"), axis_types=(AxisType.Auto,) * 2, devices=TWO),
        in_specs=jax.P("i"),
        out_specs=jax.P(),
        axis_names={"i"},
    )(jnp.sin(x)),
    "two_outputs": lambda x: jax.shard_map(
        lambda y, c: (lax.psum(jnp.sin(y), "i"), {"sum": y * c, "constants": (c, 3.0)}),
        mesh=MESH,
        in_specs=(jax.P("i"), jax.P()),
        out_specs=(jax.P(), {"sum": jax.P("i"), "constants": jax.P()}),
    )(x, 2.0),
}

if JAX >= (0, 10):  # before, no public function makes such
    COLLECTIVES["all_gather_invarying"] = _on_devices(
        lambda x: lax.all_gather(jnp.sin(x), "i", to="invarying") ** 2, jax.P()
    )

UNMAPPED = ("all_gather_reduced", "reduced", "unreduced", "unreduced_scatter")
"""Those that `jax.vmap` cannot map: one jet at a time."""
