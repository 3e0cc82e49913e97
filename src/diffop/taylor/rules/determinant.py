"""The rule of log det A, whose derivatives are traces.

With D(t) = A(t) − A, and N = A⁻¹ D or D A⁻¹, which are zero at t = 0,

    log det A(t) = log det A + Σ_m (−1)^{m+1} tr(N^m) / m,

and powers above K have a higher order than K. There are two ways to add up these traces.

- If each direction moves one row of A, only this row of D A⁻¹ is nonzero, and tr(N²) is the square
  of one entry; for columns A⁻¹ D is used. Such traces are cheap one by one.
- Otherwise the sum comes first, and A⁻¹ after it: tr(A⁻¹ P) with P = D (1 − N/2 + N²/3 − …). If A
  is nearly singular the traces are large and cancel. P cancels before A⁻¹ makes it large, as in
  nested derivatives A″ − A′A⁻¹A′ cancels. This takes one more product of matrices per direction.
"""

from collections.abc import Sequence

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ...coefficients.block import Block
from ...coefficients.blocks import Blocks
from ...devices import zeros_for
from ..arithmetic import total
from ..binding import bind
from ..bundle import (
    Bundle,
    Families,
    Family,
    Value,
    expand_families,
    is_moving,
    primal_of,
    series_of,
)
from ..coefficients import Coefficient, Series, Zero, scale
from ..equation import BilinearMap
from ..primitive import Form
from .decomposed import pushed_as


def sign_and_logarithm(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """The outputs of `jnp.linalg.slogdet`. A complex sign is e^{i Im log det A}."""
    (matrix,) = operands
    primal = primal_of(matrix)
    sign, logarithm = bind(eqn, [primal])
    moved = _logarithm(families, matrix, _inverse(primal))
    if not is_moving(moved):
        return [sign, logarithm]
    if not jnp.iscomplexobj(primal):
        return [sign, Bundle(logarithm, moved.series)]

    def polar(z: Array) -> list[Array]:
        angle = lax.complex(jnp.zeros_like(z.real), z.imag)
        return [sign * jnp.exp(angle), logarithm + z.real]

    return pushed_as(polar, families, [moved])


def _inverse(matrix: Array) -> Array:
    """`jnp.linalg.inv`. The unit matrix is mapped by `jax.vmap` where the matrix is: with explicit
    axes JAX cannot pivot the rows of another one.
    """
    unit = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    return jnp.linalg.solve(matrix, zeros_for(matrix, matrix.shape, matrix.dtype) + unit)


def _logarithm(families: Families, matrix: Value, inverse: Array) -> Value:
    """log det A(t) − log det A."""
    if _moves_one(matrix, families, "row"):
        (relative,) = pushed_as(lambda a: jnp.matmul(a, inverse), families, [matrix])
        return _traces_of_powers(families, relative)
    (relative,) = pushed_as(lambda a: jnp.matmul(inverse, a), families, [matrix])
    if _moves_one(matrix, families, "column"):
        return _traces_of_powers(families, relative)
    summed = _summed_powers(families, matrix, relative)
    (moved,) = pushed_as(lambda p: jnp.sum(inverse.mT * p, axis=(-2, -1)), families, [summed])
    return moved


def _moves_one(matrix: Value, families: Families, line: str) -> bool:
    """Whether each direction moves one row of a matrix, as an electron does, or one column."""
    axis = primal_of(matrix).ndim - (1 if line == "row" else 2)
    terms = [
        term
        for index, family in enumerate(families)
        for term in family.series_below(series_of(matrix, families, index))
        if not isinstance(term, Zero)
    ]
    return bool(terms) and all(
        isinstance(term, Blocks) and all(_is_along(part, axis) for part in term.parts)
        for term in terms
    )


def _is_along(part: Block, axis: int) -> bool:
    """Whether the direction is constant along an axis of the value."""
    return not any(
        each.adds[0] is not None and each.adds[axis + 1] is not None for each in part.axes
    )


def _traces_of_powers(families: Families, relative: Value) -> Value:
    """Σ_m (−1)^{m+1} tr(N^m) / m."""
    (trace,) = pushed_as(lambda n: jnp.trace(n, axis1=-2, axis2=-1), families, [relative])
    n, zero = primal_of(relative), jnp.zeros_like(primal_of(trace))
    product, meeting = _matrix_product(n), _trace_of_product(n)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        powers = _powers(family, product, series[0])

        def coefficient(place: int) -> Coefficient:
            terms = [series[1][place]]
            for m, power in enumerate(powers, start=2):
                # as powers of numbers, since the trace of a product is cyclic
                of = family.algebra.powers(place, m)
                met = family.combine(meeting, of, series[0], power, place)
                terms.append(scale(met, (-1) ** (m + 1) / m))
            return total(terms, family.lead(place), zero)

        return [tuple(map(coefficient, family.places))]

    return expand_families(families, [relative, trace], [zero], expansion)[0]


def _summed_powers(families: Families, matrix: Value, relative: Value) -> Value:
    """P = D (1 − N/2 + N²/3 − …)."""
    primal = primal_of(matrix)
    product = _matrix_product(primal)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        moved, n = series
        powers = enumerate(_powers(family, product, n), start=2)
        signed = [[scale(term, (-1) ** (m + 1) / m) for term in power] for m, power in powers]
        factor = tuple(
            total([power[place] for power in signed], family.lead(place), primal)
            for place in family.places
        )

        def coefficient(place: int) -> Coefficient:
            products = family.algebra.products(place)
            own = family.combine(product, products, moved, factor, place)
            return total([moved[place], own], family.lead(place), primal)

        return [tuple(map(coefficient, family.places))]

    return expand_families(families, [matrix, relative], [jnp.zeros_like(primal)], expansion)[0]


def _powers(family: Family, product: BilinearMap, series: Series) -> list[Series]:
    """N, N², … N^{K−1}, without the maximal monomials, which are not multiplied by N."""
    below = family.below
    own = family.series_below(series)
    powers = [own]
    for _ in range(2, family.order):
        powers.append(
            tuple(
                below.combine(product, below.algebra.products(place), own, powers[-1], place)
                for place in below.places
            )
        )
    return [family.series_above(power) for power in powers[: family.order - 1]]


def _matrix_product(n: Array) -> BilinearMap:
    batch = tuple(range(n.ndim - 2))
    return _dot(n, (((n.ndim - 1,), (n.ndim - 2,)), (batch, batch)))


def _trace_of_product(n: Array) -> BilinearMap:
    """tr(ab) = Σ_ij a_ij b_ji."""
    batch, row, column = tuple(range(n.ndim - 2)), n.ndim - 2, n.ndim - 1
    return _dot(n, (((row, column), (column, row)), (batch, batch)))


def _dot(n: Array, numbers: lax.DotDimensionNumbers) -> BilinearMap:
    def multiply(a: Array, b: Array) -> Array:
        return lax.dot_general(a, b, numbers)

    params = {
        "dimension_numbers": numbers,
        "precision": None,
        "preferred_element_type": None,
        "out_sharding": None,
    }
    return BilinearMap(Form.DOT, params, multiply, (n, n))
