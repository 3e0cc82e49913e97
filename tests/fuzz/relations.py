"""What an operator makes of a changed program, in float32 and float64.

Relations such as L(s u) = s L u hold exactly, and are chosen so that the change itself rounds
nothing: factors are powers of two, points few binary digits, rotations have entries ±1/2. So an
operator may lose in the changed program no more digits than the program itself does, and that is
told by JAX: never more than eight times the error of nested `jax.jvp`, and four units in the last
place. The changed program contains the program: where the relation holds, the operator is right.
"""

import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import diffop as do

from .checking import LARGEST, Wanted
from .evaluation import evaluate
from .operations import SIZE
from .oracle import derivatives

ROTATION = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
PERMUTATION = np.array([2, 0, 3, 1])


class Changed(NamedTuple):
    """`operator` of `function` at `point` is `factor` times what it is without the change."""

    operator: Any
    function: Callable
    point: Any
    factor: float = 1.0


def order_of(wanted: Wanted) -> int | None:
    """The order of a homogeneous operator."""
    orders = {len(coordinates) for _, coordinates in wanted.terms}
    return orders.pop() if len(orders) == 1 else None


def _unchanged(wanted, u, x, s):
    return Changed(wanted.operator, u, x)


def _scaled_output(wanted, u, x, s):
    return Changed(wanted.operator, lambda y: s * u(y), x, s)


def _scaled_operator(wanted, u, x, s):
    return Changed(s * wanted.operator, u, x, s)


def _scaled_input(wanted, u, x, s):
    order = order_of(wanted)
    if order is None or not 1e-30 < s**order < 1e30:
        return None
    return Changed(wanted.operator, lambda y: u(s * y), x / s, s**order)


def _shifted(wanted, u, x, s):
    return Changed(wanted.operator, lambda y: u(y - 2.0), x + 2.0)


def _permuted(wanted, u, x, s):
    """u(Py) by the coordinates that P takes there."""
    back = np.argsort(PERMUTATION)
    if not order_of(wanted) or any(np.ndim(c) for c, _ in wanted.terms):
        return None
    moved = [[int(PERMUTATION[i]) for i in coordinates] for _, coordinates in wanted.terms]
    indices = np.array([[row.count(i) for i in range(SIZE)] for row in moved])
    coefficients = jnp.array([c for c, _ in wanted.terms], x.dtype)
    operator = do.TensorOperator(indices, coefficients)
    return Changed(operator, lambda y: u(y[..., PERMUTATION]), x[back])


def _rotated(wanted, u, x, s):
    if str(wanted.operator) not in ("Laplacian()", "DiagonalK(2)"):
        return None
    rotation = jnp.asarray(ROTATION, x.dtype)
    return Changed(wanted.operator, lambda y: u(rotation @ y), rotation.T @ x)


def _same(change):
    """The same function by another way; a function of its own, as JAX keeps weak references."""
    return lambda wanted, u, x, s: Changed(wanted.operator, change(lambda y: u(y)), x)


def _scan_of_one(u):
    return lambda x: lax.scan(lambda c, row: (c + u(row), None), jnp.zeros((), x.dtype), x[None])[0]


def _declared(u):
    function = jax.custom_jvp(u)
    function.defjvp(lambda primals, tangents: jax.jvp(u, primals, tangents))
    return function


def _with_a_rule(wanted, program, x, s):
    """Nothing where the rule would need the jvp of a `custom_vjp`: JAX has none."""
    if "custom_vjp_call" in str(jax.make_jaxpr(program)(x)):
        return None
    return _same(_declared)(wanted, program, x, s)


RELATIONS: dict[str, Callable] = {
    "none": _unchanged,
    "output": _scaled_output,
    "operator": _scaled_operator,
    "input": _scaled_input,
    "shift": _shifted,
    "permutation": _permuted,
    "rotation": _rotated,
    "jit": _same(jax.jit),
    "checkpoint": _same(jax.checkpoint),
    "scan": _same(_scan_of_one),
    "cond": _same(lambda u: lambda x: lax.cond(True, u, jnp.sum, x)),
    "custom_jvp": _with_a_rule,
    "product": _same(lambda u: lambda x: u(x) * 0.5 + 0.5 * u(x)),
}


class Change(NamedTuple):
    """A relation, the power of two that it takes, and the type of the point."""

    relation: str
    exponent: int
    dtype: str


def random_change(choose: random.Random) -> Change:
    exponent = choose.choice([-40, -27, -13, 13, 27, 40])  # from 1e-12 to 1e12
    return Change(choose.choice(sorted(RELATIONS)), exponent, choose.choice(["float32", "float64"]))


def check_relation(change, program, wanted, x):
    """Whether the program says anything here, after an assertion that the relation holds; where it
    is none for this operator, that the operator of the program itself is right.
    """
    with jax.enable_x64(change.dtype == "float64"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype")  # which there is not
        expected, allowed = _judged(program, wanted, x, change.dtype)
        if expected is None:
            return False
        x = x.astype(change.dtype)
        changed = RELATIONS[change.relation](wanted, program, x, 2.0**change.exponent)
        changed = changed or _unchanged(wanted, program, x, 1.0)
        got = evaluate(changed.operator.exact(changed.function), changed.point)
    assert got.shape == np.shape(expected) and got.dtype == x.dtype
    found = np.asarray(got, float) / changed.factor
    error = np.abs(found - expected)
    assert np.all(error <= allowed), (found, expected, np.max(error / allowed))
    return True


def _judged(program, wanted, x, dtype):
    """The truth, in float64, and how far from it a result may be; None where it says nothing.

    Errors of rounding are multiples of the unit of rounding, to first order in it: what nested
    `jax.jvp` loses in float64, where there is no better truth, is what it loses in float32 times
    the ratio of the units.
    """
    expected, allowed = 0.0, 0.0
    unit = float(jnp.finfo(dtype).eps)
    for order, (coefficients, terms) in wanted.by_order.items():
        rows = terms + [(i,) * order for i in range(SIZE)]
        with jax.enable_x64(False):
            nested = derivatives(program, x.astype("float32"), rows)
        with jax.enable_x64(True):
            truth = derivatives(program, x, rows)
        size = np.max(np.abs([truth, nested]))
        if not (np.isfinite(size) and size < LARGEST):
            return None, None
        found = truth[: len(terms)]
        expected += np.tensordot(found, coefficients, 1)
        lost = np.max(np.abs(nested - truth)) * unit / float(jnp.finfo("float32").eps)
        allowed += 8 * lost * np.sum(np.abs(coefficients), 0)
        allowed += 4 * unit * np.tensordot(np.abs(found), np.abs(coefficients), 1)
    return expected, allowed
