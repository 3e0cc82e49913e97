"""As most users run it: without double precision enabled, and under strict promotion."""

import jax
import jax.numpy as jnp
import pytest

from .. import functions, oracle
from ..functions import TOLERANCE
from . import table


@pytest.mark.parametrize("case", table.operators() + table.gradients(), ids=str)
def test_exact_without_x64(case):
    function = functions.SCALAR[1]
    with jax.enable_x64(True):
        model, points = function.model("float32"), function.points("float32")
        expected = jax.vmap(case.oracle.value)(function.derivatives("float32"), oracle.to64(points))
        scale = float(jnp.sqrt(jnp.mean(expected**2)))
        expected = jax.device_get(expected)
    got = jax.jit(jax.vmap(case.operator("float32").exact(model)))(*points)
    assert got.dtype == jnp.float32
    assert abs(jax.device_get(got) - expected).max() <= TOLERANCE["float32"] * scale
