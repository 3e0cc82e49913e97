"""Periodic boundaries: opposite faces are identified."""

from collections.abc import Iterable
from typing import Any, final

import equinox as eqx
from jaxtyping import PRNGKeyArray

from ...equations.matching import Matching
from ...scalars import checked_integer
from ..domains.domain import AbstractPart
from .base import AbstractDrawnCondition, along_normal, check_part


def _as_orders(orders: Any) -> tuple[int, ...]:
    if not isinstance(orders, Iterable):
        raise TypeError(f"Periodic expects several orders, such as orders=(0, 1), got {orders!r}.")
    return tuple(checked_integer(order, "an order of Periodic", 0) for order in orders)


@final
class Periodic(AbstractDrawnCondition):
    """u and its normal derivatives at a face equal those at the opposite face.

    **Arguments:**

    - `on`: a face of a box, such as `box.face(0, "lower")`, also if the domain has time.
    - `orders`: which derivatives along the normal, where 0 is u itself. An equation of order k in
        that coordinate needs those below k.
    - `component`, `weight`: as for [`diffop.pde.Dirichlet`][].

    **Raises:** `TypeError` for anything but a part; `ValueError` for a part without an opposite
    face.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ring = do.pde.Periodic(on=do.pde.Box((0.0,), (2.0,)).face(0, "lower"))
        value, slope = ring.draw(jax.random.key(0), 8)
        slope.misfit(lambda x: jnp.sin(jnp.pi * x[0]))  # 0 up to rounding
        ```
    """

    on: AbstractPart = eqx.field(kw_only=True)
    orders: tuple[int, ...] = eqx.field(
        static=True, kw_only=True, default=(0, 1), converter=_as_orders
    )

    def __check_init__(self) -> None:
        check_part(self, self.on)
        if self.on.across is None:
            raise ValueError(
                f"Periodic joins opposite faces of a box, got {self.on!r}, which has no opposite; "
                "take a face, such as box.face(0, 'lower'). If time is periodic, let it be a "
                "coordinate of the box."
            )

    def draw(self, key: PRNGKeyArray, count: int) -> tuple[Matching, ...]:
        points, step, slope = self.on.sample(key, count), self.on.across, along_normal(self.on)
        assert step is not None  # it was checked
        return tuple(
            Matching(self.of_component(slope**order), points, step, self.weight)
            for order in self.orders
        )
