"""log det A, whose derivatives are traces of powers.

With N(t) = A⁻¹ A(t) − 1, or A(t) A⁻¹ − 1, which are zero at t = 0,

    log det A(t) = log det A + Σ_m (−1)^{m+1} tr(N(t)^m) / m,

and powers above K are of a higher order than K. N is linear in A(t). Where each direction moves one
row of A, the second N has only this row, and tr(N²) is the square of one entry; with columns it is
the first.

Where all of a nearly singular A moves, the traces are large and cancel: errors are a few times
those of nested derivatives, which cancel A″ − A′A⁻¹A′ before A⁻¹ makes it large, with a product of
matrices more for each direction.
"""

import inspect
from collections.abc import Sequence

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..arithmetic import total
from ..binding import bind
from ..bundle import Bundle, Families, Family, Value, expand, is_moving, primal_of
from ..coefficients import ByEntry, Coefficient, Series, scale, zeros
from ..equation import BilinearMap
from ..primitive import Form
from .decomposed import pushed_as

_FILE = inspect.unwrap(jnp.linalg.slogdet).__code__.co_filename
_JAX = f"_slogdet_lu at {_FILE}:"


def is_slogdet(jaxpr: jex.Jaxpr) -> bool:
    """Whether a program is that of `jnp.linalg.slogdet` behind JAX's rule for its derivative."""
    return (jaxpr.debug_info.func_src_info or "").startswith(_JAX)


def sign_and_logarithm(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """The outputs of `jnp.linalg.slogdet`. A complex sign is e^{i Im log det A}."""
    matrix = primal_of(operands[0])
    sign, logarithm = bind(eqn, [matrix])
    inverse = jnp.linalg.inv(matrix)

    def relative_to(a: Array) -> Array:
        return jnp.matmul(a, inverse) if by_rows else jnp.matmul(inverse, a)

    by_rows = _moves_by_rows(operands[0])
    (relative,) = pushed_as(relative_to, families, operands)
    (trace,) = pushed_as(lambda n: jnp.trace(n, axis1=-2, axis2=-1), families, [relative])
    (moved,) = _log_of_one_plus(families, relative, trace)
    if not is_moving(moved):
        return [sign, logarithm]
    if not jnp.iscomplexobj(matrix):
        return [sign, Bundle(logarithm, moved.series)]

    def polar(z: Array) -> list[Array]:
        angle = lax.complex(jnp.zeros_like(z.real), z.imag)
        return [sign * jnp.exp(angle), logarithm + z.real]

    return pushed_as(polar, families, [moved])


def _moves_by_rows(value: Value) -> bool:
    """Whether directions move rows of a matrix, as those of electrons do; or else columns."""
    terms = [term for series in value.series for term in series if isinstance(term, ByEntry)]
    last = primal_of(value).ndim - 1
    return bool(terms) and all(term.numbers.along(last) is not None for term in terms)


def _log_of_one_plus(families: Families, relative: Value, trace: Value) -> list[Value]:
    """Σ_m (−1)^{m+1} tr(N^m) / m, given N and tr N as values whose primals do not count."""
    n, zero = primal_of(relative), jnp.zeros_like(primal_of(trace))
    product, meeting = _matrix_product(n), _trace_of_product(n)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        powers = _powers(family, product, series[0])

        def coefficient(place: int) -> Coefficient:
            terms = [series[1][place]]
            for m, power in enumerate(powers, start=2):
                # as powers of numbers, since a trace does not see where a product begins
                pairs = [
                    (k, series[0][i], power[j]) for k, i, j in family.truncation.powers(place, m)
                ]
                terms.append(scale(family.combine(meeting, pairs, place), (-1) ** (m + 1) / m))
            return total(terms, family.lead(place), zero)

        return [tuple(map(coefficient, family.places))]

    return expand(families, [relative, trace], [zero], expansion)


def _powers(family: Family, product: BilinearMap, series: Series) -> list[Series]:
    """N, N², … N^{K−1}, without the maximal monomials, which do not meet N."""
    below = family.below
    own = family.series_below(series)
    powers = [own]
    for _ in range(2, family.order):
        powers.append(
            tuple(
                below.combine(
                    product,
                    [(k, own[i], powers[-1][j]) for k, i, j in below.truncation.products(place)],
                    place,
                )
                for place in below.places
            )
        )
    return [_at_all_places(family, power) for power in powers[: family.order - 1]]


def _at_all_places(family: Family, power: Series) -> Series:
    known = dict(zip(family.truncation.below.monomials, power, strict=True))
    (none,) = zeros(1)
    return tuple(known.get(monomial, none) for monomial in family.truncation.monomials)


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
