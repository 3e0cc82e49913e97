"""The commutator of two operators."""

from typing import Any

from .base import Operator


def commutator(A: Any, B: Any) -> Operator:
    """The commutator $[A, B] = A B − B A$.

    **Arguments:**

    - `A`, `B`: operators that can be composed in both orders.

    **Returns:** an operator; 0 if both operators have constant coefficients.

    **Raises:** `TypeError` for an operand that is not an operator, or for an estimate: estimates
    do not compose.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        x = (lambda x: x[0]) * do.Identity()
        do.commutator(do.Partial(0), x).exact(jnp.sin)(jnp.ones(1))  # [0.84147]
        do.commutator(do.Laplacian(), do.Partial(0))  # which commute
        ```
    """
    for operand in (A, B):
        if not isinstance(operand, Operator):
            raise TypeError(
                f"commutator expects two operators; got {operand!r} of type "
                f"{type(operand).__name__}. A function c of the point is c * Identity()."
            )
    return A @ B - B @ A
