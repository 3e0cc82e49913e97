"""Names of folx that are not here, with the reason."""

from typing import NoReturn

_RULES = (
    *("register_function", "deregister_function"),
    *("wrap_forward_laplacian", "warp_without_fwd_laplacian"),
)


def __getattr__(name: str) -> NoReturn:
    if name in _RULES:
        raise AttributeError(
            f"diffop.compat.folx has no {name!r}: it needs no rules, since it takes every function "
            "that jax.jvp differentiates. Leave the rule out; where it says what a derivative is, "
            "give the function a jax.custom_jvp."
        )
    raise AttributeError(f"module 'diffop.compat.folx' has no attribute {name!r}")
