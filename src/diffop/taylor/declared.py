"""`register`: rules for primitives that are not JAX's, by their class."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.extend.core as jex

from .bundle import Families, Value, is_moving
from .primitive import Form, Primitive, enter, has_rule
from .rules.bilinear import bilinear_rule
from .rules.by_jvp import piecewise_linear
from .rules.elementwise import elementwise, piecewise_constant
from .rules.linear import linear

_in_all = linear(slice(None))


def _linear(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """The rule of a linear primitive. If some operands are constant, its jvp says what they do."""
    rule = _in_all if all(map(is_moving, operands)) else piecewise_linear
    return rule(families, eqn, operands)


_RECORDS: Mapping[str, Primitive] = {
    "linear": Primitive(_linear, "linear", linear_in=slice(None)),
    "bilinear": Primitive(bilinear_rule, "bilinear", form=Form.OTHER),
    "elementwise": Primitive(elementwise, "elementwise"),
    "constant": Primitive(piecewise_constant, "constant"),
}


def register(primitive: Any, kind: str) -> None:
    """Declares the class of a primitive, so that the engine pushes jets through it by the rule of
    that class.

    Without a declaration, a primitive with a rule for `jax.jvp` is pushed by integrating that rule,
    jet by jet, which is correct but slower. The primitive needs rules for `jax.vmap`, and for
    reverse mode if gradients are taken.

    **Arguments:**

    - `primitive`: a `jax.extend.core.Primitive`.
    - `kind`: its class with respect to the operands that depend on the point:
        - `"linear"`: jointly linear in all of them, such as a sum or a transform. If some operands
          do not depend on the point, it needs a rule for `jax.jvp`, which says what they do.
        - `"bilinear"`: two operands, linear in each.
        - `"elementwise"`: one output, entry by entry, for operands of any shape; its derivatives
          come from its `jax.jvp` rule, once for all jets.
        - `"constant"`: the output has derivative zero, as for rounding.

    **Raises:** `TypeError` for anything but a primitive; `ValueError` for another kind, and for a
    primitive that already has a rule.

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
