"""What NumPy evaluates of random programs is what XLA makes of it, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ..taylor.coverage import primitives_in
from . import evaluation
from .arithmetic import RULES
from .evaluation import run

pytestmark = pytest.mark.usefixtures("x64")

CASES = {
    "entries of one": lambda a, b: [
        *(-a, abs(a), lax.sign(a), lax.floor(a), lax.ceil(a), lax.sqrt(a), lax.square(a)),
        *(lax.integer_pow(a, k) for k in (-3, -1, 2, 3, 5, 6)),
        *(
            lax.is_finite(a),
            lax.stop_gradient(a),
            jnp.clip(a, -0.5, 0.7),
            lax.clamp(b[1], a, b[5]),
            jnp.copy(a),
        ),
    ],
    "entries of two": lambda a, b: [
        *(a + b, a - b, a * b, a / b, a / b[0], lax.rem(a, b), lax.max(a, b), lax.min(a, b)),
        *(a == b, a != b, a < b, a <= b, a > b, a >= b, jnp.where(a < b, a, b)),
    ],
    "types": lambda a, b: [
        *((a > 0).astype(int), (a > 0).astype(a.dtype), a.astype(float), a.astype(complex)),
        *(f(lax.complex(a, b)) for f in (lax.real, lax.imag, lax.conj, lax.neg)),
    ],
    "bits": lambda a, b: [
        *((a > 0) & (b > 0), (a > 0) | (b > 0), (a > 0) ^ (b > 0), ~(a > 0)),
        *(
            f(jnp.arange(5), jnp.array([3, -2, 9, 0, 1]))
            for f in (lax.add, lax.mul, lax.bitwise_and)
        ),
    ],
    "places": lambda a, b: [
        *(
            a.reshape(3, 4),
            a.reshape(3, 4).T,
            lax.reshape(a.reshape(3, 4), (2, 6), (1, 0)),
            a.reshape(1, 12)[0],
            a[::-1],
            a[1:9:3],
        ),
        *(jnp.concatenate([a, b]), lax.broadcasted_iota(int, (2, 3), 1)),
        *(lax.pad(a, a[0], [config]) for config in ((1, 2, 0), (0, 1, 2), (-1, 2, 0))),
        lax.broadcast_in_dim(a.reshape(3, 4), (3, 2, 4), (0, 2)),
    ],
    "extremes": lambda a, b: [lax.reduce_max(a, (0,)), lax.reduce_min(a.reshape(3, 4), (1,))],
    "slopes": lambda a, b: [jax.grad(lambda a: jnp.sum(a * a * b))(a)],
    "sums": lambda a, b: [
        *(jnp.sum(a[5:]), jnp.sum(b[5:].reshape(7, 1), 1), a[5:] @ b[5:]),
        jnp.einsum("ija,jib->iba", a[8:].reshape(1, 2, 2), b[8:].reshape(2, 1, 2)),
    ],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_numpy_evaluates_as_xla(case, dtype, monkeypatch):
    numbers = np.random.default_rng(0).normal(size=(2, 12)).astype(dtype)
    numbers[:, :5] = [0.0, -0.0, np.inf, np.nan, 1e-30], [-0.0, 2.0, -np.inf, 1.0, 1e-12]
    jaxpr = jax.make_jaxpr(CASES[case])(*numbers)
    found = run(jaxpr, numbers)
    monkeypatch.setattr(evaluation, "in_numpy", lambda *_: None)
    for got, expected in zip(found, run(jaxpr, numbers), strict=True):
        assert got.dtype == expected.dtype
        if case == "sums":
            np.testing.assert_allclose(got, expected, 4 * np.finfo(dtype).eps)
        else:
            np.testing.assert_array_equal(got, expected)


def test_every_rule_has_a_case():
    a = np.ones(12)
    found = {
        name for case in CASES.values() for name in primitives_in(jax.make_jaxpr(case)(a, a).jaxpr)
    }
    assert found >= set(RULES)
