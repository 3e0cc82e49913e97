"""What networks are called with: one point."""

from jaxtyping import Array, Inexact


def check_point(name: str, x: Inexact[Array, "*point"], dim: int | None = None) -> None:
    """Refuse batches, and points of another dimension."""
    if x.ndim != 1 or x.size != (dim or x.size):
        shape = "(d,)" if dim is None else f"({dim},)"
        raise ValueError(
            f"{name} expects one point of shape {shape}, got shape {x.shape}; use jax.vmap for "
            "many points."
        )
