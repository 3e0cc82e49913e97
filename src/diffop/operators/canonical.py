"""Operators as polynomials in ∂ with collected coefficients: what `==` compares.

The generators are the coordinate derivatives ∂_{a,i}, the power sums P_k = Σ_i ∂_i^k over all
coordinates (symbols of their own, since d is not known), and what stays opaque: fields that are
functions of the point, matrix-vector products, gradients and divergences. Restricted sums, concrete
matrices and lists of terms are written out in ∂_{a,i}.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree

from ..jets.field_terms import DiagonalForm, EntryForm, LinearForm, RowForm, SquareRoot
from ..jets.fields import Scalar, SparseColumns
from ..jets.index_terms import CoordinateTerms, Monomial, PowerSum
from ..jets.low_rank import LowRankForm
from ..jets.terms import Factor
from .coefficients import plain
from .term import Segment, Term

Value: TypeAlias = int | float | complex
Monomials: TypeAlias = dict[frozenset[tuple[Hashable, int]], Value]
Polynomial: TypeAlias = dict[Hashable, Value]


def polynomial(terms: Iterable[Term]) -> Polynomial:
    """Coefficients by monomial (a word of them where coefficients vary); zeros dropped.

    **Raises:** `TypeError` for traced coefficients, whose values are not known.
    """
    result: Polynomial = {}
    for term in terms:
        words: dict[tuple[Hashable, ...], Any] = {(): _concrete(plain(term.coefficient)).item()}
        for segment in term.word:
            expansion = _segment(segment)
            words = {
                (*word, key): a * b for word, a in words.items() for key, b in expansion.items()
            }
        for word, value in words.items():
            result[word] = result.get(word, 0) + value
    return {key: value for key, value in result.items() if value != 0}


def agree(left: Sequence[Term], right: Sequence[Term]) -> bool:
    """Whether two operators are equal up to the rounding of their coefficients."""
    first, second = polynomial(left), polynomial(right)
    tolerance = 8 * max(_precision(left), _precision(right))
    return first.keys() == second.keys() and all(
        abs(first[key] - second[key]) <= tolerance * max(abs(first[key]), abs(second[key]))
        for key in first
    )


def _precision(terms: Sequence[Term]) -> float:
    kinds = [x.dtype for x in jax.tree.leaves(terms) if hasattr(x, "dtype")]
    return max([float(np.finfo(np.float64).eps), *(_epsilon(kind) for kind in kinds)])


def _epsilon(kind: Any) -> float:
    floating = jnp.issubdtype(kind, jnp.inexact)
    return float(jnp.finfo(kind).eps) if floating else 0.0


def _segment(segment: Segment) -> dict[Hashable, Any]:
    product: Monomials = {frozenset(): 1}
    for factor, power in zip(segment.factors, segment.powers, strict=True):
        expansion = _factor(factor)
        for _ in range(power):
            product = _multiply(product, expansion)
    functions = frozenset(Counter(map(_name, segment.functions)).items())
    if not functions and product.keys() == {frozenset()}:
        return {"identity": product[frozenset()]}
    return {(functions, monomial): value for monomial, value in product.items()}


def _multiply(left: Monomials, right: Monomials) -> Monomials:
    result: Monomials = {}
    for first, a in left.items():
        for second, b in right.items():
            key = frozenset((Counter(dict(first)) + Counter(dict(second))).items())
            result[key] = result.get(key, 0) + a * b
    return result


def _factor(factor: Factor) -> Monomials:
    """A factor written out in the generators."""
    match factor:
        case PowerSum(dims=None):
            return _symbol(factor.key)
        case PowerSum():
            return {frozenset({((factor.argnum, i), factor.power)}): 1 for i in factor.dims or ()}
        case Monomial():
            return {frozenset(factor.alpha): 1}
        case CoordinateTerms() if factor.constant:
            return _coordinate_terms(factor)
        case LinearForm() if factor.constant:
            return _form(factor, np.asarray(_concrete(ravel_pytree(factor.field)[0])))
        case DiagonalForm():
            return _diagonal(factor, _concrete(factor.field))
        case EntryForm():
            return _form(factor, _concrete(factor.field))
        case LowRankForm():
            columns, weights = _concrete(factor.field.factors), _concrete(factor.field.weights)
            return _form(factor, (columns * weights) @ columns.T)
        case RowForm(field=SparseColumns()):
            return _form(factor, _dense(factor.field))
        case SquareRoot(field=SparseColumns()):
            sigma = _dense(factor.field)
            return _form(factor, sigma @ sigma.T / 2)
        case SquareRoot() if factor.constant and np.ndim(_array(factor.field)) == 2:
            sigma = _concrete(factor.field).astype(np.float64)
            return _form(factor, sigma @ sigma.T / 2)
        case SquareRoot() if factor.constant and np.ndim(_array(factor.field)) == 1:
            return _diagonal(factor, _concrete(factor.field).astype(np.float64) ** 2 / 2)
        case SquareRoot() if factor.constant and not hasattr(factor.field, "mv"):
            half = _concrete(factor.field).item() ** 2 / 2
            expansion = _factor(PowerSum(factor.argnum, 2, factor.dims))
            return {key: half * value for key, value in expansion.items()}
    return _symbol(_opaque(factor))


def _dense(field: SparseColumns) -> np.ndarray:
    """A sparse matrix as an array: equality compares entry by entry."""
    positions, values = _concrete(field.positions), _concrete(field.values)
    matrix = np.zeros(field.shape)
    np.add.at(matrix, (positions, np.arange(field.shape[1])[:, None]), values)
    return matrix


def _symbol(key: Hashable) -> Monomials:
    return {frozenset({(key, 1)}): 1}


def _opaque(factor: Factor) -> Hashable:
    """Fields that are functions are equal when the functions are."""
    field = getattr(factor, "field", None)
    if not callable(field) and not hasattr(field, "mv"):
        return factor.key
    names = ("argnum", "dims", "exponents", "rows", "transposed")
    place = tuple(getattr(factor, name, None) for name in names)
    return (type(factor).__name__, _name(field), place)


def _diagonal(factor: Any, coefficients: np.ndarray) -> Monomials:
    """Σ c_i ∂_i²."""
    return {
        frozenset({((factor.argnum, int(i) if factor.dims is None else factor.dims[i]), 2)}): c
        for i, c in enumerate(coefficients.tolist())
        if c
    }


def _form(factor: Any, coefficients: np.ndarray) -> Monomials:
    """Σ b_i ∂_i or Σ C_ij ∂_i∂_j."""
    result: Monomials = {}
    for place in zip(*np.nonzero(coefficients), strict=True):
        places = [int(i) if factor.dims is None else factor.dims[int(i)] for i in place]
        key = frozenset(Counter((factor.argnum, i) for i in places).items())
        result[key] = result.get(key, 0) + coefficients[place].item()
    return result


def _coordinate_terms(factor: CoordinateTerms) -> Monomials:
    result: Monomials = {}
    coefficients = _concrete(factor.field)
    for row, value in zip(_concrete(factor.positions), coefficients, strict=True):
        alpha: Counter[Hashable] = Counter()
        for argnum, i, power in zip(factor.argnums, row, factor.exponents, strict=True):
            alpha[(argnum, int(i))] += power
        key = frozenset(alpha.items())
        result[key] = result.get(key, 0) + value.item()
    return result


def _name(function: Any) -> Hashable:
    """A function as a key: itself where it can be hashed, its identity otherwise."""
    try:
        hash(function)
    except TypeError:
        return ("object", id(function))
    return function


def _array(value: Any) -> Any:
    return value if hasattr(value, "ndim") else np.asarray(0.0) if hasattr(value, "mv") else value


def _concrete(value: Any) -> np.ndarray:
    if isinstance(value, Scalar):
        return np.asarray(value.value)
    if isinstance(value, Tracer):
        raise TypeError(
            "operators with traced coefficients cannot be compared with ==: their values are "
            "not known inside jit, grad or vmap. Compare them outside."
        )
    return np.asarray(value)
