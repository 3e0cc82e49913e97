"""Rules of elementwise functions: derivatives of the primal once for all directions, then Faà di
Bruno; or the integral of the derivative, if these would not stay in range.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ...arrays import as_array, product_of, type_of
from ...coefficients.block import Block
from ...coefficients.blocks import Blocks, entries_at
from ..arithmetic import bilinear_map, multiplication
from ..binding import bind
from ..bundle import (
    Bundle,
    Families,
    Family,
    Value,
    broadcast_series,
    bundle,
    expand_families,
    is_moving,
    primal_of,
    series_of,
)
from ..coefficients import Coefficient, Full, Series, Zero
from ..interpreter import interpret
from ..primitive import Inner, Primitive, Rule, enter, of
from ..program import called, live_equations
from ..series import faa_di_bruno, integral, logarithm, powers
from . import programs, recurrences, slopes, special
from .by_jvp import fallback, of_one_direction, piecewise_linear
from .composed import composed_series, way
from .entry_factor import EntryFactor
from .masks import Mask, at_entries, masked, masked_whole, unmasked
from .recomputed import is_of_arrays, recomputed
from .recurrences import Quadratic, Recurrence


def elementwise(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = φ(x) with one moving operand; with several the general rule is used."""
    moving = [position for position, operand in enumerate(operands) if is_moving(operand)]
    if len(moving) > 1:
        return fallback(families, eqn, operands)
    return along_one(families, eqn, operands, moving[0])


def of_real_numbers(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """The rule of a φ that is not analytic for complex x. Maxima and remainders of several moving
    numbers choose one of them.
    """
    moving = [primal_of(operand) for operand in operands if is_moving(operand)]
    if any(map(jnp.iscomplexobj, moving)):
        return fallback(families, eqn, operands)
    if len(moving) > 1:
        return piecewise_linear(families, eqn, operands)
    return elementwise(families, eqn, operands)


def along_one(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value], position: int
) -> list[Value]:
    """An equation with one output, elementwise in its only moving operand. Its derivatives are
    computed at the places of blocks, if these are few, or at all entries of the primal.
    """
    primals = [primal_of(operand) for operand in operands]
    order = max(family.order for family in families)
    if not _is_bounded(eqn, primals, position, order):
        return _integrated(families, eqn, operands, position)
    rate, mask = of(eqn).logarithmic, of(eqn).mask or masked
    further = Further(of(eqn).recurrence, of(eqn).equation, order)

    def first(values: Sequence[Any]) -> list[Any]:
        """What `further` begins with: x, φ and φ′ for a recurrence, all coefficients without."""
        found = programs.first_coefficients(eqn, values, position, order)
        return found if further.recurrence is None else [values[position], *found]

    if _is_sparse(operands[position]) and of(eqn).inner is not Inner.DECLARED:
        (output,) = bind(eqn, primals)
        derivatives = Derivatives(
            lambda values: further(first(values)), primals, output, mask, few=True
        )
    else:  # custom rules too: they are traced for the shape of the whole operand
        found = first(primals)
        output = found[0 if further.recurrence is None else 1]
        derivatives = Derivatives(further, found, output, mask)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        moving = broadcast_series(family, series[position], primals[position], output)
        if rate is not None:
            return [logarithm(family, derivatives.times, output, moving, rate)]
        return [expanded(family, derivatives, moving, order)]

    return expand_families(families, operands, [output], expansion)


@final
@dataclasses.dataclass(frozen=True)
class Further:
    """The Taylor coefficients c_1, …, c_K from those computed at the primal: from x, c_0 and c_1 by
    a recurrence, or from all of them. φ may also solve an `equation`.
    """

    recurrence: Recurrence | None
    equation: Quadratic | None
    order: int

    def __call__(self, values: Sequence[Any]) -> Sequence[Array]:
        if self.recurrence is None:
            return values[1:]
        x, value, slope = values
        return recurrences.coefficients(self.recurrence, x, value, slope, self.order)[1:]


def expanded(family: Family, derivatives: "Derivatives", series: Series, degree: int) -> Series:
    """The series of φ(x(t)) for a φ with derivatives up to a degree. A series of arrays is computed
    again in reverse mode.
    """
    if family.order < 2 or not is_of_arrays(series):
        return _by_powers(family, derivatives, series, degree)
    how = (derivatives.program, derivatives.mask, degree)
    return recomputed(_of_arrays, how, (family, derivatives.primals, derivatives.output, series))


def _of_arrays(
    how: tuple[Any, Mask, int],
    family: Family,
    primals: Sequence[Any],
    output: Any,
    series: Series,
) -> Series:
    program, mask, degree = how
    recurrence = program.recurrence if isinstance(program, Further) else None
    if recurrence is not None and family.order > 2 and mask is not unmasked:
        chosen = way(recurrence, program.equation, family, series)
        return composed_series(chosen, family, primals, series)
    return _by_powers(family, Derivatives(program, primals, output, mask), series, degree)


def _by_powers(family: Family, derivatives: "Derivatives", series: Series, degree: int) -> Series:
    output = derivatives.output
    return faa_di_bruno(family, derivatives.times, output, powers(family, output, series, degree))


def _integrated(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value], position: int
) -> list[Value]:
    """y = ∫ φ′(x(t)) dx, where φ′ is JAX's own derivative, pushed like any other program. Of one
    direction φ′(x) dx is JAX's own product, since its transpose is reverse mode.
    """
    if of_one_direction(families):
        return piecewise_linear(families, eqn, operands)
    primals = [primal_of(operand) for operand in operands]
    (output,) = bind(eqn, primals)
    derivative = programs.derivative(eqn, primals, position)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        x, below = primals[position], (family.below,)
        arguments = list(primals)
        arguments[position] = bundle(x, [family.series_below(series[position])])
        (slope,) = interpret(derivative.jaxpr, derivative.consts, below, arguments)
        moving = broadcast_series(family, series[position], x, output)
        factor, slopes = as_array(primal_of(slope)), series_of(slope, below, 0)
        if not is_moving(slope):  # it only chooses, as relu does
            whole = EntryFactor(factor)
            moving = tuple(masked(c, whole) for c in moving)
        return [integral(family, factor, slopes, moving)]

    return expand_families(families, operands, [output], expansion)


def is_narrow(x: Any) -> bool:
    """Whether numbers and powers of ordinary sizes are out of the range of x's type."""
    return type_of(x) == jnp.float16


def _is_bounded(eqn: jex.JaxprEqn, primals: Sequence[Any], position: int, order: int) -> bool:
    """Whether the derivatives up to an order have about the same size, so that they may be computed
    at the point and multiplied by powers of the directions.
    """
    if is_narrow(primals[position]):
        return False
    if of(eqn).inner is not Inner.DECLARED:
        return order <= of(eqn).in_range
    kinds = set(_kinds(programs.derivative(eqn, primals, position).jaxpr))
    return True in kinds and False not in kinds


def _kinds(jaxpr: jex.Jaxpr) -> Iterator[bool]:
    """Whether each function in a program that has higher derivatives is bounded. An inner custom
    rule does not count, since it is usually the function itself.
    """
    for eqn in live_equations(jaxpr):
        record = of(eqn)
        if record.inner is Inner.CALLED:
            yield from _kinds(called(eqn).jaxpr)
        elif record.recurrence is not None:
            yield True
        elif record.is_singular(eqn):
            yield False


def _is_sparse(value: Bundle) -> bool:
    """Whether derivatives are needed only at the places of a few blocks."""
    terms = [term for series in value.series for term in series if not isinstance(term, Zero)]
    few = jnp.size(value.primal) // 2
    return all(isinstance(term, Blocks) and term.size <= few for term in terms)


@final
class Derivatives:
    """The Taylor coefficients c_1, …, c_K of φ, computed by a program from primals where they are
    needed: at all entries of the primal, or at those of blocks if these are `few`.
    """

    def __init__(
        self,
        program: Callable[[Sequence[Any]], Sequence[Array]],
        primals: Sequence[Any],
        output: Any,
        mask: Mask,
        few: bool = False,
    ) -> None:
        self.program = program
        self.primals = primals
        self.output = output
        self.mask = mask
        self.few = few
        self._everywhere: Sequence[EntryFactor] | None = None
        self._at: dict[Any, Sequence[Array]] = {}

    def times(self, power: int, coefficient: Coefficient, lead: int) -> Coefficient:
        """c_power times a coefficient."""
        if isinstance(coefficient, Zero):
            return coefficient
        if isinstance(coefficient, Blocks) and self.few:
            parts = [self._times_few(power, part) for part in coefficient.parts]
            return Blocks(tuple(parts), coefficient.shape)
        if self._everywhere is None:
            self._everywhere = [EntryFactor(each) for each in self.program(self.primals)]
        factor = self._everywhere[power - 1]
        # the first power is the user's own, and is treated as JAX treats it
        c: Any = coefficient if power == 1 else self.mask(coefficient, factor)
        if isinstance(c, Full):
            made = (factor.array, c.base) if power == 1 and _are_rows(c.base, factor) else None
            return Full(factor.times(c.base, lead), c.factor, weighted=made)
        return bilinear_map(multiplication(self.output), Full(factor.array), c, (0, lead))

    def _times_few(self, power: int, part: Block) -> Block:
        """The same for a block, with the derivatives at its entries."""
        if part.place not in self._at:
            shape = jnp.shape(self.output)
            entries = [
                jnp.asarray(x) if jnp.ndim(x) == 0 else entries_at(part, jnp.broadcast_to(x, shape))
                for x in self.primals
            ]
            self._at[part.place] = self.program(entries)
        array = self._at[part.place][power - 1]
        values = part.written(array.dtype)
        if power > 1:
            values = at_entries(self.mask, values, array)
        return part.with_values(product_of(values, array))


def _are_rows(array: Any, factor: EntryFactor) -> bool:
    """Whether an array consists of rows, and a vector of factors has a number for each column."""
    return factor.array.ndim == 1 and array.shape[1:] == factor.array.shape and len(array) > 1


def piecewise_constant(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """Steps and stopped gradients have derivative zero, as in JAX."""
    return bind(eqn, [primal_of(operand) for operand in operands])


def _enter(
    names: str, rule: Rule | None = elementwise, kind: str = "elementwise", **known: Any
) -> None:
    enter(names.split(), Primitive(rule, kind, entrywise=True, **known))


def _enter_with(
    recurrence: Recurrence,
    names: str,
    mask: Mask | None = None,
    **known: Any,
) -> None:
    """Enters functions without singularities: derivatives of all orders have about one size. If the
    first is 0 all are, unless the function changes everywhere (`unmasked`).
    """
    _enter(names, recurrence=recurrence, mask=mask, in_range=math.inf, **known)


def _enter_solving(equation: Quadratic, names: str, **known: Any) -> None:
    _enter_with(known.pop("recurrence", equation.further), names, equation=equation, **known)


_enter_solving(recurrences.EXPONENTIAL, "exp", mask=masked_whole)
_enter_solving(recurrences.BINARY, "exp2", mask=masked_whole)
_enter_solving(recurrences.EXPONENTIAL, "expm1", slope=lax.exp)
_enter_solving(recurrences.TAN, "tan")
_enter_solving(recurrences.TANH, "tanh", recurrence=recurrences.OF_TANH, slope=slopes.OF_TANH)
_enter_solving(
    recurrences.LOGISTIC, "logistic", recurrence=recurrences.OF_LOGISTIC, slope=slopes.OF_LOGISTIC
)
_enter_with(recurrences.oscillating(-1), "sin cos", unmasked)
_enter_with(recurrences.oscillating(1), "sinh cosh", unmasked)
_enter_with(recurrences.OF_ERF, "erf erfc")
_enter(
    "acos acosh asin asinh atan atan2 atanh digamma erf_inv lgamma polygamma polynomial",
    in_range=2,
    singular=True,
)
_enter("bessel_i0e", in_range=2, singular=True, slope=special.bessel_i0e_slope)
_enter("bessel_i1e", in_range=2, singular=True, slope=special.bessel_i1e_slope)
_enter("log log1p", in_range=2, singular=True, logarithmic=1.0)
_enter("log2", in_range=2, singular=True, logarithmic=math.log(2))
_enter("igamma igammac", singular=True)
_enter("abs", of_real_numbers)
_enter("max min clamp rem", of_real_numbers, on_indices=True)
_enter("ceil floor round", piecewise_constant, "constant")
_enter("stop_gradient", piecewise_constant, "constant", stops=True)
_enter("sign", piecewise_constant, "constant", on_indices=True)
_enter("eq ge gt le lt ne and or not", None, "no derivative", on_indices=True)
_enter("xor is_finite", None, "no derivative")
enter(["iota"], Primitive(on_indices=True))
