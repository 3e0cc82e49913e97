"""What estimates are made from, checked at the call that makes them."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..jets.probes import KINDS
from ..jets.products import has_probe, unbiased_probes
from .evaluate import Draw, Part


def make_draw(key: Any, n: Any, probes: Any) -> Draw:
    """Check what an estimate is made from."""
    if not isinstance(key, jax.Array) or not _is_key(key):
        raise TypeError(
            f"an estimate needs a JAX random key such as jax.random.key(0); got {_describe(key)}."
        )
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"n, the number of draws, must be a Python integer; got {_describe(n)}.")
    if n.__index__() < 1:
        raise ValueError(f"n, the number of draws, must be at least 1; got {n}.")
    if probes not in KINDS:
        raise ValueError(f"probes must be one of {', '.join(KINDS)}; got {probes!r}.")
    return Draw(key, n.__index__(), probes)


def _is_key(key: jax.Array) -> bool:
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key.shape == ()
    return key.dtype == jnp.uint32 and key.shape in ((2,), (4,))


def _describe(value: Any) -> str:
    if isinstance(value, jax.Array):
        return f"an array of type {value.dtype} and shape {value.shape}"
    return f"{value!r} of type {type(value).__name__}"


def check_probes(parts: Sequence[Part], probes: str) -> None:
    """Refuse dense probes that are biased for an operator, at the call that asks for them."""
    for part in parts:
        for segment in (segment for term in part.terms for segment in term.word):
            factors = list(zip(segment.factors, segment.powers, strict=True))
            if factors and not has_probe(factors, probes):
                raise ValueError(_biased(factors, probes, segment.text))


def _biased(factors: Any, probes: str, name: str) -> str:
    possible = ["sparse", *unbiased_probes(factors)]
    return (
        f"{probes} probes are biased for {name}: no such random direction has it as its "
        f"expectation. Unbiased for it: {', '.join(possible)}."
    )
