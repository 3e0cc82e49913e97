"""Value, Jacobian and Laplacian of a program, by the plan of `diffop.exact`.

Laplacians are pushed along directions that may be replaced by fewer on the way, which leaves no
Jacobian. The Jacobian is then a gradient in reverse mode, a backward pass for each number that the
program returns; under `jax.jit` there is no pass if it is not read. Directions are replaced if this
saves more than these passes cost. Otherwise Jacobian and Laplacian come from one push.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...operators.vector import Gradient
from ...taylor import Algebra
from ...taylor.bundle import Family, is_inexact, is_moving, primal_of
from ...taylor.coefficients import Series
from ...taylor.pushforward import at_a_point, derivative_of, push_series
from ...taylor.replacing.cost import evaluation
from .arrays import FwdJacobian, FwdLaplArray

GradientRows: TypeAlias = Sequence[Array]
"""The derivative of one output with respect to each argument, whose axes come last."""

_BACKWARDS = 2
"""The cost of a backward pass in evaluations; the values on the way are shared."""


def by_plan(
    program: jex.ClosedJaxpr,
    point: Sequence[Array],
    series: Sequence[Series],
    size: int,
    along: Callable[[GradientRows], Array] | None,
) -> list[FwdLaplArray | Array]:
    """The results of a program whose arrays have `size` directions. `along` contracts a gradient
    with all of these; None if it cannot.
    """
    function = jex.jaxpr_as_fun(program)
    price = _BACKWARDS * _numbers(program) * evaluation(program.jaxpr)
    given = np.ones(size, np.int32), Algebra.curve(2), size
    family = Family(*given, replaceable=along is not None, price=price)

    def pushed() -> list[tuple[Array | None, ...]]:
        _, values, (carried,) = push_series(function, tuple(point), (family,), [series])
        return [_coefficients(family, each, carried is not family) for each in values]

    found = at_a_point(tuple(point), (family,), pushed)
    left = [n for n, parts in enumerate(found) if any(part is None for part in parts)]

    def replaced(arrays: Sequence[Array]) -> list[Array]:
        return [function(*arrays)[n] for n in left]

    if left and along is not None:
        for n, rows in zip(left, Gradient().exact(replaced)(list(point)), strict=True):
            found[n] = found[n][0], along(rows), found[n][2]
    return [_result(*parts) for parts in found]


def _numbers(program: jex.ClosedJaxpr) -> int:
    """How many real numbers the program returns that may depend on the input."""
    kinds: list[Any] = [kind for kind in program.out_avals if is_inexact(kind)]
    return sum(kind.size * (1 + jnp.iscomplexobj(kind)) for kind in kinds)


def _coefficients(family: Family, own: Any, replaced: bool) -> tuple[Array | None, ...]:
    """The value alone if it is constant; otherwise value, Jacobian and Laplacian. There is no
    Jacobian if its directions were replaced.
    """
    value = jnp.asarray(primal_of(own))
    if not is_moving(own):
        return (value,)
    first = None if replaced else derivative_of(own, (family,), 0, 0)
    return value, first, derivative_of(own, (family,), 0, 1)


def _result(value: Array, *derivatives: Array) -> FwdLaplArray | Array:
    if not derivatives:
        return value
    first, second = derivatives
    return FwdLaplArray(value, FwdJacobian(first), second)
