"""Operators given by a list of mixed derivatives with their coefficients."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, final

import numpy as np

from ..held import KnownArray
from ..jets.fields import Field
from ..jets.index_terms import CoordinateTerms, Monomial
from ..jets.terms import Factor
from ..scalars import is_number
from ..terms.arguments import checked_alpha, checked_argnum, checked_field, equal_magnitudes
from ..terms.term import Term, factor_term
from .differential import DifferentialOperator


@final
class TensorOperator(DifferentialOperator):
    """$Σ_r c_r ∂^{α_r}$: any sparse coefficient tensor, orders may differ.

    **Arguments:**

    - `indices`: a sequence of multi-indices, each as for [`diffop.Mixed`][].
    - `coefficients`: as many numbers: a sequence, an array, or a callable coefficients(*args) that
        returns an array. A sequence of Python numbers is a part of the operator's structure. An
        array is a leaf: it can be differentiated with respect to, and learnt.
    - `argnum`: the argument that plain coordinates belong to.

    For very many terms use `TensorOperator.from_coordinates`. Estimated, terms are drawn with p ∝
    |$c_r$|, without replacement if all magnitudes are equal (STDE, equation `eqn:stde-sparse`).

    **Raises:** `ValueError` if the numbers of indices and coefficients differ.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        L = do.TensorOperator([{0: 2}, {0: 1, 1: 1}], [1.0, -2.0])  # ∂₀² − 2 ∂₀∂₁
        ```
    """

    groups: tuple[Factor, ...]

    def __init__(self, indices: Iterable[Any], coefficients: Any, *, argnum: int = 0) -> None:
        argnum = checked_argnum(argnum)
        if isinstance(indices, str) or not isinstance(indices, Iterable):
            raise TypeError(
                f"indices of TensorOperator must be a sequence of alphas; got {indices!r}."
            )
        monomials = [checked_alpha(alpha, argnum, "TensorOperator") for alpha in indices]
        values = _checked_coefficients(coefficients, len(monomials))
        self.groups = _grouped(monomials, values)

    @classmethod
    def from_coordinates(
        cls, coordinates: Any, coefficients: Any, *, argnum: int = 0
    ) -> "TensorOperator":
        """The same from arrays: row r of `coordinates` (terms, k) names the k coordinates with
        respect to which term r differentiates.

        `(0, 0, 1)` is $∂₀²∂₁$. All terms have order k. A million terms are possible.
        """
        argnum = checked_argnum(argnum)
        table = np.asarray(coordinates)
        if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer) or table.shape[1] < 1:
            raise ValueError(
                "coordinates must be an integer array (terms, k), one row of coordinates for "
                f"each term; got {table.dtype} of shape {table.shape}."
            )
        if np.any(table < 0):
            raise ValueError(f"coordinates must be nonnegative; got {int(table.min())}.")
        values = _checked_coefficients(coefficients, table.shape[0])
        operator = object.__new__(cls)
        object.__setattr__(
            operator, "groups", _groups_of_rows(np.sort(table, axis=1), values, argnum)
        )
        return operator

    def terms(self) -> tuple[Term, ...]:
        return tuple(factor_term(group) for group in self.groups)


def _checked_coefficients(coefficients: Any, count: int) -> Field:
    if count == 0:
        raise ValueError("TensorOperator needs at least one index; got none.")
    values = checked_field(
        coefficients,
        "coefficients of TensorOperator",
        (1,),
        "one number for each index or a callable that returns them",
    )
    if not callable(values) and values.shape != (count,):
        raise ValueError(
            f"TensorOperator needs one coefficient for each of its {count} indices; "
            f"got {values.shape[0]}."
        )
    return np.asarray(coefficients, float) if _are_python_numbers(coefficients) else values


def _are_python_numbers(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(map(is_number, values))


def _grouped(monomials: Sequence[Monomial], values: Field) -> tuple[CoordinateTerms, ...]:
    """Terms with one pattern of exponents and arguments, together."""
    groups: dict[Hashable, list[int]] = {}
    ordered = [
        sorted(monomial.alpha, key=lambda item: (-item[1], item[0])) for monomial in monomials
    ]
    for row, alpha in enumerate(ordered):
        pattern = tuple((argnum, power) for (argnum, _), power in alpha)
        groups.setdefault(pattern, []).append(row)
    return tuple(
        _terms(
            tuple(argnum for (argnum, _), _ in ordered[rows[0]]),
            tuple(power for _, power in ordered[rows[0]]),
            np.array([[i for (_, i), _ in ordered[row]] for row in rows], dtype=np.int32),
            values,
            np.array(rows),
        )
        for rows in groups.values()
    )


def _groups_of_rows(table: np.ndarray, values: Field, argnum: int) -> tuple[CoordinateTerms, ...]:
    """Sorted rows of coordinates, grouped by how often each coordinate is repeated."""
    starts = np.concatenate(
        [np.ones((table.shape[0], 1), bool), table[:, 1:] != table[:, :-1]], axis=1
    )
    groups = []
    for pattern, rows in _by_pattern(starts):
        places = np.flatnonzero(pattern)
        exponents = tuple(np.diff([*places, table.shape[1]]).tolist())
        positions = table[rows][:, places].astype(np.int32)
        groups.append(_terms((argnum,) * len(places), exponents, positions, values, rows))
    return tuple(groups)


def _by_pattern(starts: np.ndarray) -> list[tuple[tuple[bool, ...], np.ndarray]]:
    """The different rows of a table in order, each with its places. Rows are many, and few of them
    differ: sorting them would take most of the time.
    """
    found, left = [], np.arange(len(starts))
    while left.size:
        pattern = starts[left[0]]
        same = np.all(starts[left] == pattern, axis=1)
        found.append((tuple(pattern.tolist()), left[same]))
        left = left[~same]
    return sorted(found, key=lambda pair: pair[0])


def _terms(
    argnums: tuple[int, ...],
    exponents: tuple[int, ...],
    positions: np.ndarray,
    values: Field,
    rows: np.ndarray,
) -> CoordinateTerms:
    bound = tuple(positions.max(axis=0).tolist())
    if callable(values):
        return CoordinateTerms(
            argnums, exponents, positions, values, KnownArray(rows), False, bound
        )
    chosen = values[rows]
    equal = equal_magnitudes(chosen)
    return CoordinateTerms(argnums, exponents, positions, chosen, None, equal, bound)
