"""Elementwise functions: derivatives of the primal once for all directions, then Faà di Bruno; the
integral of the derivative where these would not stay in range.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, final

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..arithmetic import bilinear_map, multiplication
from ..binding import bind, live_equations
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
from ..coefficients import Coefficient, Dense, Diagonal, Series, Sparse, Zero
from ..diagonal import values_of
from ..interpreter import interpret
from ..program import CALLS, called
from ..registry import register
from ..series import faa_di_bruno, integral, logarithm
from ..sparse import entries_at, times_values
from . import programs
from .fallback import fallback
from .piecewise import piecewise_linear
from .recurrences import RECURRENCES

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
_UNDERFLOWING = ("exp", "exp2")
"""Functions that are 0 where their argument is far below it, all their derivatives with them."""
_MODERATE = frozenset(ANALYTIC) - {"igamma", "igammac"}
"""Functions whose first two derivatives are in range from 1e-19 to 1e12 in single precision."""
_LOGARITHMS = {"log": 1.0, "log1p": 1.0, "log2": math.log(2)}
"""λ of functions with φ″ = −λ φ′²."""
_NOWHERE_CONSTANT = ("cos", "cosh", "sin", "sinh")
"""Functions that change everywhere: a derivative is 0 at single points only."""


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
    everywhere, rate = None, _LOGARITHMS.get(eqn.primitive.name)
    if _is_sparse(operands[position]) and eqn.primitive.name != "custom_jvp_call":
        (output,) = bind(eqn, primals)
    else:  # a custom rule was traced for the shape of the whole operand
        output, *everywhere = programs.taylor_coefficients(eqn, primals, position, order)
    derivatives = Derivatives(
        lambda values: programs.taylor_coefficients(eqn, values, position, order)[1:],
        primals,
        output,
        everywhere,
        _settling(eqn.primitive.name),
    )

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        moving = broadcast_series(family, series[position], primals[position], output)
        if rate is not None:
            return [logarithm(family, derivatives.times, output, moving, rate)]
        return [faa_di_bruno(family, derivatives.times, output, moving, order)]

    return expand(families, operands, [output], expansion)


def _integrated(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value], position: int
) -> list[Value]:
    """y = ∫ φ′(x(t)) dx, where φ′ is JAX's own derivative, pushed like any other program."""
    primals = [primal_of(operand) for operand in operands]
    (output,) = bind(eqn, primals)
    derivative = programs.derivative(eqn, primals, position)

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


def is_narrow(x: Any) -> bool:
    """Whether numbers and powers of ordinary sizes are out of a type's range."""
    return jnp.result_type(x) == jnp.float16


def _is_bounded(eqn: jex.JaxprEqn, primals: Sequence[Any], position: int, order: int) -> bool:
    """Whether the derivatives up to an order have about the same size, so that they may be taken at
    the point and multiplied with powers of the directions.
    """
    if is_narrow(primals[position]):
        return False
    name = eqn.primitive.name
    if name != "custom_jvp_call":
        return name in RECURRENCES or (name in _MODERATE and order <= 2)
    kinds = set(_kinds(programs.derivative(eqn, primals, position).jaxpr))
    return True in kinds and False not in kinds


def _kinds(jaxpr: jex.Jaxpr) -> Iterator[bool | None]:
    """Whether each function in a program is bounded, None for what has no higher derivatives. An
    inner custom rule says nothing: it is usually the function itself.
    """
    for eqn in live_equations(jaxpr):
        name = eqn.primitive.name
        if name in CALLS:
            yield from _kinds(called(eqn).jaxpr)
        elif name in RECURRENCES:
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


Settled: TypeAlias = Callable[[Coefficient, Array], Coefficient]
"""A coefficient that is to be multiplied with a factor, without what may not count there."""


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
        settled: Settled | None = None,
    ) -> None:
        self._program = program
        self._primals = primals
        self._output = output
        self._everywhere = everywhere
        self._settled = settled or _settled
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
        return coefficient if power == 1 else self._settled(coefficient, factor)

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


def _settling(name: str) -> Settled:
    """How the coefficients that meet a function's higher derivatives are settled."""
    if name in _NOWHERE_CONSTANT:
        return lambda coefficient, factor: coefficient
    return functools.partial(_settled, whole=name in _UNDERFLOWING)


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
    shape, axes = values.shape, tuple(range(values.ndim - factor.ndim, values.ndim))
    counts = lax.broadcast_in_dim(lax.ne(factor, factor.dtype.type(0)), shape, axes)
    counts = counts if whole else counts | jnp.isfinite(values)
    return lax.select(counts, values, lax.full_like(values, 0))


@register(*CONSTANT)
def piecewise_constant(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """Nothing moves behind a step or a stopped gradient: JAX's own convention."""
    return bind(eqn, [primal_of(operand) for operand in operands])


def _is_complex(operand: Value) -> bool:
    return jnp.iscomplexobj(primal_of(operand))
