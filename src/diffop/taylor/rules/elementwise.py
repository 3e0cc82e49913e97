"""Elementwise functions: derivatives of the primal once for all directions, then Faà di Bruno; the
integral of the derivative where these would not stay in range.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..arithmetic import bilinear_map, instantiate, multiplication
from ..binding import bind, live_equations, partially_bound, read
from ..bundle import (
    Bundle,
    Families,
    Family,
    Value,
    broadcast_series,
    bundle,
    expand,
    is_moving,
    primal_of,
    series_of,
)
from ..coefficients import Coefficient, Dense, Diagonal, Series, Sparse, Zero, zeros
from ..diagonal import values_of
from ..interpreter import interpret
from ..one_jet import push_jet
from ..program import CALLS, called
from ..registry import register
from ..series import faa_di_bruno, integral
from ..sparse import entries_at, times_values
from ..truncation import Truncation
from .fallback import fallback
from .piecewise import piecewise_linear

ANALYTIC = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "igamma",
    "igammac",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "logistic",
    "polygamma",
    "polynomial",
    "sin",
    "sinh",
    "tan",
    "tanh",
)
REAL = ("abs", "clamp", "max", "min", "rem")
CONSTANT = ("ceil", "floor", "round", "sign", "stop_gradient")
_BOUNDED = {
    *("cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "logistic", "sin", "sinh"),
    *("tan", "tanh"),
}
"""Functions without a singularity on the way: derivatives of all orders have about one size."""
_UNDERFLOWING = ("exp", "exp2")
"""Functions that are 0 where their argument is far below it, all their derivatives with them."""


@register(*ANALYTIC, *REAL)
def elementwise(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = φ(x) with one moving operand; with several, or where φ is not analytic in a complex x,
    the general rule, but maxima and remainders of real numbers choose.
    """
    moving = [position for position, operand in enumerate(operands) if is_moving(operand)]
    real = eqn.primitive.name in REAL
    if real and any(_is_complex(operands[position]) for position in moving):
        return fallback(families, eqn, operands)
    if len(moving) > 1:
        return (piecewise_linear if real else fallback)(families, eqn, operands)
    return along_one(families, eqn, operands, moving[0])


def along_one(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value], position: int
) -> list[Value]:
    """An equation with one output that is elementwise in its only moving operand."""
    primals = [primal_of(operand) for operand in operands]
    order = max(family.order for family in families)
    if not _is_bounded(eqn, primals, position, order):
        return _integrated(families, eqn, operands, position)
    everywhere = None
    if _is_sparse(operands[position]) and eqn.primitive.name != "custom_jvp_call":
        (output,) = bind(eqn, primals)
    else:  # a custom rule was traced for the shape of the whole operand
        output, *everywhere = taylor_coefficients(eqn, primals, position, order)
    derivatives = Derivatives(
        lambda values: taylor_coefficients(eqn, values, position, order)[1:],
        primals,
        output,
        everywhere,
        may_underflow=eqn.primitive.name in _UNDERFLOWING,
    )

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        moving = broadcast_series(family, series[position], primals[position], output)
        return [faa_di_bruno(family, derivatives.times, output, moving, order)]

    return expand(families, operands, [output], expansion)


def _integrated(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value], position: int
) -> list[Value]:
    """y = ∫ φ′(x(t)) dx, where φ′ is JAX's own derivative, pushed like any other program."""
    primals = [primal_of(operand) for operand in operands]
    (output,) = bind(eqn, primals)
    derivative = _slope(eqn, primals, position)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        x, below = primals[position], (family.below,)
        arguments = list(primals)
        arguments[position] = bundle(x, [family.series_below(series[position])])
        (slope,) = interpret(derivative.jaxpr, derivative.consts, below, arguments)
        moving = broadcast_series(family, series[position], x, output)
        factor, slopes = jnp.asarray(primal_of(slope)), series_of(slope, below, 0)
        if not is_moving(slope):  # it chooses, as in relu
            moving = tuple(_settled(c, _factor_of(c, factor)) for c in moving)
        return [integral(family, factor, slopes, moving)]

    return expand(families, operands, [output], expansion)


def _factor_of(coefficient: Coefficient, factor: Array) -> Array:
    """What a coefficient's entries are multiplied with."""
    if isinstance(coefficient, Sparse):
        return entries_at(factor, coefficient.positions, factor.shape)
    return factor


def _slope(eqn: jex.JaxprEqn, primals: Sequence[Any], position: int) -> jex.ClosedJaxpr:
    """φ′ as a program of the equation's operands."""

    def program(*operands: Array) -> Array:
        function, x = partially_bound(eqn, operands, (position,)), operands[position]
        return jax.jvp(function, (x,), (jnp.ones_like(x),))[1][0]

    return _programs.of(("slope", position), eqn, program, primals)


def is_narrow(x: Any) -> bool:
    """Whether numbers and powers of ordinary sizes are out of a type's range."""
    return jnp.result_type(x) == jnp.float16


def _is_bounded(eqn: jex.JaxprEqn, primals: Sequence[Any], position: int, order: int) -> bool:
    """Whether the derivatives up to an order have about the same size, so that they may be taken at
    the point and multiplied with powers of the directions. The first two of JAX's own functions,
    but for powers, are in range from 1e-19 to 1e12 in single precision.
    """
    if is_narrow(primals[position]):
        return False
    name = eqn.primitive.name
    if name != "custom_jvp_call":
        return name in _BOUNDED or (name in ANALYTIC and order <= 2)
    kinds = set(_kinds(_slope(eqn, primals, position).jaxpr))
    return True in kinds and False not in kinds


def _kinds(jaxpr: jex.Jaxpr) -> Iterator[bool | None]:
    """Whether each function in a program is bounded, None for what has no higher derivatives. An
    inner custom rule says nothing: it is usually the function itself.
    """
    for eqn in live_equations(jaxpr):
        name = eqn.primitive.name
        if name in CALLS:
            yield from _kinds(called(eqn).jaxpr)
        elif name in _BOUNDED:
            yield True
        elif name == "div":
            yield None if isinstance(eqn.invars[1], jex.Literal) else False
        elif name == "integer_pow":
            yield None if eqn.params["y"] >= 0 else False
        elif name in ANALYTIC or name in ("cbrt", "pow", "rsqrt", "sqrt"):
            yield False


def _is_sparse(value: Bundle) -> bool:
    """Whether derivatives are needed at the positions of sparse coefficients only."""
    return all(isinstance(term, Sparse | Zero) for series in value.series for term in series)


@final
class Derivatives:
    """The Taylor coefficients c_1, …, c_K of φ, computed where they are needed: at all entries of
    the primal, or at the positions of sparse coefficients only.
    """

    def __init__(
        self,
        program: Callable[[Sequence[Any]], Sequence[Array]],
        primals: Sequence[Any],
        output: Any,
        everywhere: Sequence[Array] | None = None,
        may_underflow: bool = False,
    ) -> None:
        self._program = program
        self._primals = primals
        self._output = output
        self._everywhere = everywhere
        self._may_underflow = may_underflow
        self._at_positions: dict[int, tuple[Any, Sequence[Array]]] = {}

    def times(self, power: int, coefficient: Coefficient, lead: int) -> Coefficient:
        """c_power times a coefficient."""
        if isinstance(coefficient, Zero):
            return coefficient
        if isinstance(coefficient, Sparse):
            factor = self._at(coefficient.positions)[power - 1]
            return times_values(self._guarded(power, coefficient, factor), factor)
        if self._everywhere is None:
            self._everywhere = self._program(self._primals)
        factor = jnp.asarray(self._everywhere[power - 1])
        coefficient = self._guarded(power, coefficient, factor)
        return bilinear_map(multiplication(self._output), Dense(factor), coefficient, (0, lead))

    def _guarded(self, power: int, coefficient: Any, factor: Array) -> Any:
        """The first power is the user's own: what JAX makes of it is made of it here."""
        if power == 1:
            return coefficient
        return _settled(coefficient, factor, whole=self._may_underflow)

    def _at(self, positions: Any) -> Sequence[Array]:
        key = id(positions)
        if key not in self._at_positions:
            shape = jnp.shape(self._output)
            if self._everywhere is None:
                entries = [entries_at(p, positions, shape) for p in self._primals]
                found = self._program(entries)
            else:
                found = [entries_at(c, positions, shape) for c in self._everywhere]
            self._at_positions[key] = (positions, found)
        return self._at_positions[key][1]


def _settled(coefficient: Coefficient, factor: Array, whole: bool = False) -> Coefficient:
    """A coefficient that is to be multiplied with a factor, of a sparse one at its positions:
    without what is not finite where the factor vanishes, because the function does not change
    there. 0 · ∞ stands for 0, as in exp(−1/x²) near 0, in tanh far from it, and in relu. What is
    finite counts, for the gradient of the product by the factor, but (`whole`) where all
    derivatives underflow together.
    """
    c = coefficient
    if isinstance(c, Sparse):
        return Sparse(c.positions, _zero_at(factor, c.values, whole), c.distinct, c.source)
    if isinstance(c, Diagonal):
        values = _zero_at(factor, values_of(c, factor.dtype), whole)
        return Diagonal(values, c.numbers, c.size)
    return Dense(_zero_at(factor, c.array, whole)) if isinstance(c, Dense) else c


def _zero_at(factor: Array, values: Array, whole: bool) -> Array:
    leading = tuple(range(values.ndim - factor.ndim))
    void = jnp.expand_dims(factor == 0, leading)
    void = void if whole else void & ~jnp.isfinite(values)
    return jnp.where(void, jnp.zeros_like(values), values)


@register(*CONSTANT)
def piecewise_constant(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """Nothing moves behind a step or a stopped gradient: JAX's own convention."""
    return bind(eqn, [primal_of(operand) for operand in operands])


def taylor_coefficients(
    eqn: jex.JaxprEqn, primals: Sequence[Any], position: int, order: int
) -> list[Array]:
    """φ(x), then φ^{(j)}(x)/j! for j = 1 … K: the curve t ↦ x + t pushed through the equation."""

    def program(*operands: Array) -> list[Array]:
        function = partially_bound(eqn, operands, (position,))
        x = operands[position]
        line: Series = (Dense(jnp.ones_like(x)), *zeros(order - 1))
        (series,) = push_jet(function, (x,), (line,), Truncation.curve(order))
        return [function(x)[0], *(instantiate(term, (), x).array for term in series)]

    closed = _programs.of((position, order), eqn, program, primals)
    return [jnp.asarray(each) for each in evaluate(closed, primals)]


def evaluate(closed: jex.ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr, each repeated equation once: derivatives of all orders share their
    subexpressions.
    """
    environment = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    environment.update(zip(closed.jaxpr.invars, operands, strict=True))
    seen: dict[Hashable, list[Any]] = {}

    for eqn in live_equations(closed.jaxpr):
        params = _hashable(eqn.params)
        values = read(environment, eqn.invars)
        key = (eqn.primitive, params, *map(_identity, eqn.invars, values))
        if params is None or key not in seen:
            seen[key] = bind(eqn, values)
        environment.update(zip(eqn.outvars, seen[key], strict=True))
    return read(environment, closed.jaxpr.outvars)


def _identity(atom: Any, value: Any) -> Hashable:
    """What equal operands have in common."""
    if isinstance(atom, jex.Literal):
        return str(atom.aval), np.asarray(value).tobytes()
    return id(value)


def _hashable(params: dict[str, Any]) -> Hashable:
    """Parameters as a dictionary key, or None where they have none."""
    key = tuple(sorted(params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


class _Programs:
    """The most recently used programs about equations."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[Hashable, jex.ClosedJaxpr] = {}

    def of(
        self,
        kind: Hashable,
        eqn: jex.JaxprEqn,
        program: Callable[..., Any],
        primals: Sequence[Any],
    ) -> jex.ClosedJaxpr:
        """A program of an equation's operands, traced unless it has been for operands like them."""
        params = _hashable(eqn.params)
        if params is None:
            return jax.make_jaxpr(program)(*primals)
        key = (kind, eqn.primitive, params, tuple(jax.typeof(primal) for primal in primals))
        entry = self._entries.pop(key, None)
        if entry is None:
            entry = jax.make_jaxpr(program)(*primals)
        self._entries[key] = entry
        if len(self._entries) > self._capacity:
            del self._entries[next(iter(self._entries))]
        return entry


_programs = _Programs(capacity=1024)


def _is_complex(operand: Value) -> bool:
    return jnp.iscomplexobj(primal_of(operand))
