"""What some tests need that the lowest JAX that is supported does not have."""

import jax
import pytest

JAX = jax.__version_info__


def needs_jax(*version: int, why: str) -> pytest.MarkDecorator:
    """A test for a JAX as new as this, and why."""
    wanted = ".".join(map(str, version))
    return pytest.mark.skipif(JAX < version, reason=f"needs JAX {wanted}: {why}")
