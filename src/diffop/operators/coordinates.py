"""The base class of operators with respect to coordinates of one argument."""

import equinox as eqx

from ..terms.arguments import checked_argnum, checked_dims
from .differential import DifferentialOperator


class AbstractOfCoordinates(DifferentialOperator):
    """An operator with respect to all coordinates of an argument, or to those named by `dims`.

    **Arguments:**

    - `argnum`: which of u's arguments.
    - `dims`: which of its coordinates, numbered as `jax.flatten_util.ravel_pytree` numbers them;
        all by default, including time if time is a coordinate.
    """

    argnum: int = eqx.field(static=True, default=0, converter=checked_argnum, kw_only=True)
    dims: tuple[int, ...] | None = eqx.field(
        static=True, default=None, converter=checked_dims, kw_only=True
    )
