"""Rules for primitives that are not JAX's: their owner says of which class they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.extend.core as jex

from .bundle import Families, Value, is_moving
from .primitive import Form, Primitive, enter, has_rule
from .rules.bilinear import product
from .rules.by_jvp import piecewise_linear
from .rules.elementwise import elementwise, piecewise_constant
from .rules.linear import linear

_in_all = linear(slice(None))


def _linear(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Where operands stand still, only its jvp says whether they are added or multiply."""
    rule = _in_all if all(map(is_moving, operands)) else piecewise_linear
    return rule(families, eqn, operands)


_RECORDS: Mapping[str, Primitive] = {
    "linear": Primitive(_linear, "linear", linear_in=slice(None)),
    "bilinear": Primitive(product, "bilinear", form=Form.OTHER),
    "elementwise": Primitive(elementwise, "elementwise"),
    "constant": Primitive(piecewise_constant, "constant"),
}


def register(primitive: Any, kind: str) -> None:
    """Says of which class a primitive of yours is, so that the engine pushes jets through it by
    the rule of that class.

    Without it a primitive with a rule for `jax.jvp` is pushed by integrating that rule, jet by jet:
    right, and slower. The primitive needs rules for `jax.vmap`, and for reverse mode if gradients
    are taken.

    **Arguments:**

    - `primitive`: a `jax.extend.core.Primitive`.
    - `kind`: what it is in the operands that depend on the point:
        - `"linear"`: jointly linear in all of them, such as a sum or a transform. With operands
          that do not depend on the point it needs a rule for `jax.jvp`, which says what they do.
        - `"bilinear"`: two operands, linear in each.
        - `"elementwise"`: one output, entry by entry, for operands of any shape; its derivatives
          come from its `jax.jvp` rule, once for all jets.
        - `"constant"`: the output does not move, such as that of a rounding.

    **Raises:** `TypeError` for what is not a primitive, `ValueError` for another kind, and for a
    primitive that has a rule already.

    !!! example

        ```python
        import jax.extend.core as jex
        import diffop as do

        window = jex.Primitive("window_of_the_example")  # x ↦ Wx with a matrix of its own
        do.taylor.register(window, "linear")
        ```
    """
    if not isinstance(primitive, jex.Primitive):
        raise TypeError(
            f"register expects a jax.extend.core.Primitive, got {type(primitive).__name__}; "
            f"functions need no rule, and may have a jax.custom_jvp."
        )
    if kind not in _RECORDS:
        raise ValueError(f"kind must be one of {', '.join(_RECORDS)}, got {kind!r}.")
    if has_rule(primitive.name):
        raise ValueError(f"the primitive {primitive.name!r} has a rule already.")
    enter([primitive.name], _RECORDS[kind])
