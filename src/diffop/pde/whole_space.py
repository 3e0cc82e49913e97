"""Problems in all of space during an interval of time."""

import equinox as eqx

from ..scalars import plain
from .problem import AbstractProblem


class AbstractWholeSpace(AbstractProblem):
    """A problem for (x, t) with x in all of space and 0 ≤ t ≤ T.

    **Arguments:**

    - `space_dim`: the dimension d of space, at least 1. Points have d + 1 coordinates, `dim`.
    - `duration`: T, positive.

    **Raises:** `ValueError` if `space_dim` is less than 1 or `duration` is not positive.
    """

    space_dim: int = eqx.field(static=True, converter=plain)
    duration: int | float = eqx.field(static=True, converter=plain, default=1.0)
    dim: int = eqx.field(static=True, init=False)

    def __post_init__(self) -> None:
        self.dim = self.space_dim + 1  # time is a coordinate too

    def __check_init__(self) -> None:
        if self.space_dim < 1 or not self.duration > 0:
            raise ValueError(
                f"{self.name} expects a space_dim of at least 1 and a positive duration, got "
                f"space_dim={self.space_dim} and duration={self.duration}."
            )

    @property
    def space(self) -> tuple[int, ...]:
        """The coordinates of space."""
        return tuple(range(self.space_dim))
