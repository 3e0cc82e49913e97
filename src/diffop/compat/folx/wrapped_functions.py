"""folx's registration of rules for functions, which diffop does not need."""

import functools
import warnings
from typing import Any

import jax.extend.core as jex


def register_function(primitive_or_name: jex.Primitive | str, laplacian: Any) -> None:
    """`folx.register_function`: registers the rule of a function, which diffop does not need. It
    differentiates the function itself, if `jax.jvp` can.

    It warns once. If a rule defines the derivative, and not only how it is computed, give the
    function a `jax.custom_jvp`.

    **Arguments:**

    - `primitive_or_name`: a primitive, or the name of a function under `jax.jit`.
    - `laplacian`: the rule, without effect.

    !!! example

        ```python
        import warnings
        import jax
        from diffop.compat import folx

        with warnings.catch_warnings(action="ignore"):
            folx.register_function("glu", folx.wrap_forward_laplacian(jax.nn.glu, in_axes=()))
        ```
    """
    del primitive_or_name, laplacian
    say_that_rules_are_not_needed()


def deregister_function(primitive_or_name: jex.Primitive | str) -> None:
    """`folx.deregister_function`: without effect, see
    [`diffop.compat.folx.register_function`][].

    **Arguments:**

    - `primitive_or_name`: a primitive, or the name of a function under `jax.jit`.

    !!! example

        ```python
        from diffop.compat import folx

        folx.deregister_function("glu")
        ```
    """
    del primitive_or_name


@functools.cache
def say_that_rules_are_not_needed() -> None:
    warnings.warn(
        "diffop.compat.folx differentiates functions themselves, so it needs no rules, and those "
        "that are registered, or given as custom_jac_hessian_jac, have no effect. Where a rule "
        "says what a derivative is, give the function a jax.custom_jvp.",
        stacklevel=3,
    )
