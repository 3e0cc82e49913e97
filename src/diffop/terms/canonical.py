"""The canonical form of operators, which `==` compares: polynomials in ∂ with collected
coefficients.

The generators are the coordinate derivatives ∂_{a,i}, the power sums P_k = Σ_i ∂_i^k over all
coordinates (separate symbols, since d is not known), and opaque factors: fields that are functions
of the point, matrix-vector products, gradients and divergences. Restricted sums, concrete matrices
and lists of terms are written out in ∂_{a,i}.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..jets.field_terms import FactoredForm, LinearForm, MatrixForm
from ..jets.fields import Field, Number, SparseColumns, constant_vector, is_constant, is_matvec
from ..jets.identity import by_value
from ..jets.index_terms import CoordinateTerms, Monomial, PowerSum
from ..jets.terms import Factor
from ..jets.vector_terms import GradientTerms
from .coefficients import number_of
from .term import Segment, Term

PlainNumber: TypeAlias = int | float | complex
Monomials: TypeAlias = dict[frozenset[tuple[Hashable, int]], PlainNumber]
ByMonomial: TypeAlias = dict[Hashable, PlainNumber]


def polynomial(terms: Iterable[Term]) -> ByMonomial:
    """Coefficients by monomial (by a word of them if coefficients vary); zeros are dropped.

    **Raises:** `TypeError` for traced coefficients, whose values are not known.
    """
    result: ByMonomial = {}
    for term in terms:
        words: dict[tuple[Hashable, ...], Any] = {(): concrete(number_of(term.coefficient)).item()}
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
    tolerance = 8 * max(precision(left), precision(right))
    return first.keys() == second.keys() and all(
        abs(first[key] - second[key]) <= tolerance * max(abs(first[key]), abs(second[key]))
        for key in first
    )


def precision(terms: Any) -> float:
    """The precision of the least precise type among a tree's arrays."""
    kinds = [x.dtype for x in jax.tree.leaves(terms) if hasattr(x, "dtype")]
    return max([float(np.finfo(np.float64).eps), *(_epsilon(kind) for kind in kinds)])


def _epsilon(kind: Any) -> float:
    floating = jnp.issubdtype(kind, jnp.inexact)
    return float(jnp.finfo(kind).eps) if floating else 0.0


def _segment(segment: Segment) -> dict[Hashable, Any]:
    product: Monomials = {frozenset(): 1}
    for factor, power in segment.product:
        expansion = _factor(factor)
        for _ in range(power):
            product = _multiply(product, expansion)
    functions = frozenset(Counter(map(function_key, segment.functions)).items())
    if not functions and not segment.entries and product.keys() == {frozenset()}:
        return {"identity": product[frozenset()]}
    return {(functions, monomial, segment.entries): value for monomial, value in product.items()}


def _multiply(left: Monomials, right: Monomials) -> Monomials:
    result: Monomials = {}
    for first, a in left.items():
        for second, b in right.items():
            key = frozenset((Counter(dict(first)) + Counter(dict(second))).items())
            result[key] = result.get(key, 0) + a * b
    return result


def _factor(factor: Factor) -> Monomials:
    """A factor, written in the generators."""
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
            return _form(factor, concrete(constant_vector(factor.field)))
        case GradientTerms() if isinstance(factor.field, jax.Array | Number):
            return _gradient(factor, concrete(factor.field))
        case MatrixForm() if (matrix := _known(factor.field)) is not None:
            return _form(factor, matrix) if matrix.ndim == 2 else _diagonal(factor, matrix)
        case FactoredForm() if (root := _known(factor.field)) is not None:
            weights = 0.5 if factor.weights is None else concrete(factor.weights)
            if root.ndim == 2:
                return _form(factor, (root * weights) @ root.T)
            if root.ndim == 1:
                return _diagonal(factor, root**2 * weights)
            expansion = _factor(PowerSum(factor.argnum, factor.dims, 2))
            return {key: root.item() ** 2 * weights * value for key, value in expansion.items()}
    return _symbol(_opaque(factor))


def _known(field: Field) -> np.ndarray | None:
    """A matrix, its diagonal, or a number, if it is the same at every point and not known by its
    products alone. A sparse matrix is written out: equality compares entry by entry.
    """
    if isinstance(field, SparseColumns):
        positions, values = concrete(field.positions), concrete(field.values)
        matrix = np.zeros(field.shape)
        np.add.at(matrix, (positions, np.arange(field.shape[1])[:, None]), values)
        return matrix
    known = is_constant(field) and not is_matvec(field)
    return concrete(field).astype(np.float64) if known else None


def _symbol(key: Hashable) -> Monomials:
    return {frozenset({(key, 1)}): 1}


def _opaque(factor: Factor) -> Hashable:
    """The key of an opaque factor: fields that are functions are equal if the functions are."""
    field = getattr(factor, "field", None)
    if not callable(field) and not hasattr(field, "mv"):
        return factor.key
    return (function_key(field), place_of_factor(factor))


def place_of_factor(factor: Any) -> Hashable:
    """Everything in a factor except its coefficients."""
    names = ("argnum", "argnums", "dims", "exponents", "rows", "transposed")
    positions = factor.positions if isinstance(factor, CoordinateTerms) else None
    if positions is not None:
        array = concrete(positions)
        positions = (array.shape, array.tolist())
    return (type(factor).__name__, str(positions), *(getattr(factor, n, None) for n in names))


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


def _gradient(factor: GradientTerms, sigma: np.ndarray) -> Monomials:
    """σᵀ∇: entry j is Σ_i σ_ij ∂_i. A vector is a diagonal; for a number, d is not known."""
    name = ("gradient", factor.argnum, factor.dims, factor.transposed)
    if sigma.ndim == 0:
        return {frozenset({((*name, "each"), 1)}): sigma.item()}
    matrix = np.diag(sigma) if sigma.ndim == 1 else sigma
    entries = zip(*np.nonzero(matrix), strict=True)
    return {
        frozenset({((*name, int(i), int(j), matrix.shape[1]), 1)}): matrix[i, j].item()
        for i, j in entries
    }


def _coordinate_terms(factor: CoordinateTerms) -> Monomials:
    result: Monomials = {}
    _refuse_traced(factor.positions)
    coefficients = np.broadcast_to(concrete(factor.field), factor.number)
    for alpha, value in zip(factor.alphas, coefficients, strict=True):
        key = frozenset(alpha)
        result[key] = result.get(key, 0) + value.item()
    return result


def function_key(function: Any) -> Hashable:
    """A function as a key: itself if it can be hashed. Others, such as networks, are equal if their
    arrays are.
    """
    try:
        hash(function)
    except TypeError:
        _refuse_traced(*jax.tree.leaves(function))
        return ("tree", by_value(function))
    return function


def concrete(value: Any) -> np.ndarray:
    if isinstance(value, Number):
        return np.asarray(value.value)
    _refuse_traced(value)
    return np.asarray(value)


def _refuse_traced(*values: Any) -> None:
    if any(isinstance(value, Tracer) for value in values):
        raise TypeError(
            "operators with traced coefficients cannot be compared with ==: their values are "
            "not known inside jit, grad or vmap. Compare them outside."
        )
