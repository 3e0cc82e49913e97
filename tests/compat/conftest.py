"""Settings that programs of other packages need."""

import jax
import pytest


@pytest.fixture
def promotion():
    """JAX's own."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield
