"""Rows that are multiplied in place."""

import jax
from jaxtyping import Array, Float, Int

from ...devices import on_lone_cpu

LARGE = 2**20
"""From so many numbers on, memory is what counts."""


def scaled(
    rows: Float[Array, "count dim"], factors: Float[Array, "count 1"]
) -> Float[Array, "count dim"]:
    """Rows times their factors.

    On a lone CPU large ones are multiplied one after another, where they are. XLA would keep the
    rows beside what becomes of them, and multiply again wherever it is used: an array more, whose
    pages the system makes anew in each step, and a second pass over the first.
    """
    if rows.size < LARGE or not on_lone_cpu(rows, factors):
        return rows * factors

    def with_row(n: Int[Array, ""], made: Float[Array, "count dim"]) -> Float[Array, "count dim"]:
        row, factor = (jax.lax.dynamic_slice_in_dim(each, n, 1) for each in (made, factors))
        return jax.lax.dynamic_update_slice_in_dim(made, row * factor, n, 0)

    return jax.lax.fori_loop(0, rows.shape[0], with_row, rows)
