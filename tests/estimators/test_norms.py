"""Norms keep the range of their type."""

import jax.numpy as jnp
import numpy as np
import pytest

from diffop.estimators.norms import norm_over_first

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_all_sizes(dtype):
    limits = np.finfo(dtype)
    sizes = np.array([limits.tiny, 1e-30, 1.0, 1e30, limits.max / 8, limits.max / 5], dtype)
    found = norm_over_first(jnp.stack([3 * sizes, 4 * sizes]))
    np.testing.assert_allclose(found, 5 * sizes, rtol=4 * limits.eps)
