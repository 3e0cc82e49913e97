"""Second moments: many directions replaced by few, exactly.

A collapsed family of order two depends on its directions v_r only through Σ_r w_r a_r ⊗ b_r, for
values a and b whose first-order coefficients meet in a product. If all that is still needed are
values z_1, …, z_m (together as many entries as there are basis vectors of them), then with the
second moments

    M_pq = Σ_r w_r (z_p)_r ⊗ (z_q)_r

every later sum is Σ_r w_r B(a_r, b_r) = Σ_pq Σ_ij (M_pq)_ij B(∂a/∂z_pi, ∂b/∂z_qj): the directions
become the basis vectors of the z_p, weighted by a matrix instead of a diagonal. Nothing is
factorised, so M may have any rank and any sign, and gradients are those of polynomials.

A family of pairs (a_r, b_r), of which Σ_r w_r D²u(a_r, b_r) is read, has the symmetric second
moment ½ Σ_r w_r (a_r ⊗ b_r + b_r ⊗ a_r), and what follows does not know it from that of curves. No
difference of powers is taken, so vectors of a pair may differ in size as much as they like.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array

from ...array_types import AnyArray
from ..arithmetic import densify, instantiate, total
from ..arrays import times
from ..blocks import BLOCK, Blockwise, in_blocks, may_be_in_blocks
from ..coefficients import ByEntry, Coefficient, Full, Image, Series, Sets, Zero
from ..equation import BilinearMap
from ..points import are_one_by_one, each_point
from ..precision import full_precision
from ..primitive import Form
from ..program import KEPT, own_policy
from ..record import record, static
from ..sparsity import by_entry
from ..sparsity.contractions import broadcast
from ..sparsity.numbers import Numbers
from ..symmetric import blocks_of, quadratic_form, share, symmetric_product


@final
@record
class DiagonalMatrix:
    """A matrix that is zero off its diagonal: between entries that no direction moves together.
    `entries` are `(*sums, n)`.
    """

    entries: AnyArray


Between: TypeAlias = AnyArray | DiagonalMatrix


@final
@record
class SecondMoment:
    """The matrices M_pq between sets of directions, for each of the sums that a family collapses
    to.

    `matrices[p][q]`, p ≤ q, has shape `(*sums, sizes[p], sizes[q])`; None is zero, and
    M_qp = M_pqᵀ. A `DiagonalMatrix` stands for one that is.
    """

    matrices: tuple[tuple[Between | None, ...], ...]
    sizes: tuple[int, ...] = static()
    sums: tuple[int, ...] = static()

    def matrix(self, p: int, q: int) -> Between | None:
        if p <= q:
            return self.matrices[p][q - p]
        transposed = self.matrices[q][p - q]
        assert not isinstance(transposed, DiagonalMatrix)  # those are M_pp
        return None if transposed is None else jnp.swapaxes(transposed, -1, -2)

    def contract(
        self, product: BilinearMap, left: Coefficient, right: Coefficient | None
    ) -> Coefficient:
        """Σ_pq Σ_ij (M_pq)_ij B(a_pi, b_qj), of a alone where there is no b."""
        symmetric = product.form is Form.ENTRYWISE and right is None
        right = left if right is None else right
        if product.form is Form.ENTRYWISE:
            left, right = (
                broadcast(c, 1, jnp.shape(x), product.output.shape)
                for c, x in zip((left, right), product.operands, strict=True)
            )
        if isinstance(left, Zero) or isinstance(right, Zero):
            return Zero()
        assert isinstance(left, Sets) and isinstance(right, Sets)
        terms = []
        for p in range(len(self.sizes)):
            for q in range(p if symmetric else 0, len(self.sizes)):
                same = symmetric and p == q
                term = self._pair(product, left.parts[p], right.parts[q], p, q, same)
                if term is not None:
                    terms.append(Full(term, 2 if symmetric and p < q else 1))
        return total(terms, len(self.sums), product.output)

    def _pair(
        self, product: BilinearMap, left: Any, right: Any, p: int, q: int, same: bool
    ) -> Array | None:
        matrix = self.matrix(p, q)
        if matrix is None or isinstance(left, Zero) or isinstance(right, Zero):
            return None
        entrywise = product.form is Form.ENTRYWISE
        if entrywise and isinstance(left, ByEntry) and isinstance(right, ByEntry):
            if left.numbers.count * right.numbers.count <= 16:
                return _entrywise(matrix, left, right, product.output.dtype)
        first, second = (
            densify(c, 1, x) for c, x in zip((left, right), product.operands, strict=True)
        )
        assert isinstance(first, Full) and isinstance(second, Full)
        if same and not isinstance(matrix, DiagonalMatrix):
            result = _form(matrix, first).astype(product.output.dtype)
            return times(result, first.factor * first.factor)
        weighted = apply(matrix, second).astype(product.output.dtype)
        if entrywise:
            own = first.array.astype(product.output.dtype)
            own = jnp.expand_dims(own, tuple(range(len(self.sums))))
            return jnp.sum(own * weighted, axis=len(self.sums))
        function = jax.vmap(product.function)
        for _ in self.sums:
            function = jax.vmap(function, in_axes=(None, 0))
        return jnp.sum(function(first.array, weighted), axis=len(self.sums))

    def instantiate(self, coefficient: Coefficient, primal: Any) -> Sets:
        """A coefficient of order one with arrays along all sets of directions."""
        parts = coefficient.parts if isinstance(coefficient, Sets) else [Zero()] * len(self.sizes)
        return Sets(
            tuple(instantiate(c, (n,), primal) for c, n in zip(parts, self.sizes, strict=True))
        )

    def as_pairs(
        self, parts: Sequence[Coefficient], primals: Sequence[Any]
    ) -> list[tuple[Array, Array]]:
        """Pairs of directions `(n, *shape)`, `(*sums, n, *shape)` of several values, with the same
        second moment: Σ_ij M_ij f''(e_i, e_j) = Σ_i f''(e_i, (M e)_i).
        """
        matrix = self._whole()
        rows = [self.instantiate(c, x).parts for c, x in zip(parts, primals, strict=True)]
        stacked = [
            jnp.concatenate([each.array for each in parts if isinstance(each, Full)])
            for parts in rows
        ]
        return [(s, jnp.tensordot(*_alike(matrix, s), axes=1).astype(s.dtype)) for s in stacked]

    def _whole(self) -> Array:
        """All matrices as one."""
        arrays = jax.tree.leaves(self.matrices)
        kind = _alike(*arrays)[0].dtype
        count = len(self.sizes)

        def block(p: int, q: int) -> Array:
            matrix = self.matrix(p, q)
            shape = (*self.sums, self.sizes[p], self.sizes[q])
            if matrix is None:
                return jnp.zeros(shape, kind)
            if isinstance(matrix, DiagonalMatrix):
                matrix = matrix.entries[..., None] * jnp.eye(shape[-1], dtype=kind)
            return matrix.astype(kind)

        rows = [jnp.concatenate([block(p, q) for q in range(count)], axis=-1) for p in range(count)]
        return jnp.concatenate(rows, axis=-2)


PRODUCTS = "diffop products"
"""A name inside of functions whose jvp saves work, but is that of what they are made of: where
operators are nested, jets are pushed through them by the products' own rules.
"""


@jax.custom_jvp
def quadratic(matrix: Array, array: Array) -> Array:
    """Σ_ij M_ij a_i a_j, entrywise, for a symmetric M.

    Its derivative Σ_ij dM_ij a_i a_j + 2 Σ_i (M a)_i da_i uses M a again; differentiated as a
    product it would cost one more application of M in reverse mode.
    """
    array = checkpoint_name(array, PRODUCTS)
    return _dot_first(array, jnp.tensordot(matrix, array, axes=1), matrix.ndim - 2)


@quadratic.defjvp
@full_precision()
def _quadratic_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (matrix, array), (dmatrix, darray) = primals, tangents
    sums = matrix.ndim - 2
    applied = jnp.tensordot(matrix, array, axes=1)
    along = _dot_first(array, jnp.tensordot(dmatrix, array, axes=1), sums)
    return _dot_first(array, applied, sums), along + 2 * _dot_first(darray, applied, sums)


def _form(matrix: Array, rows: Full) -> Array:
    """Σ_ij M_ij a_i a_j without the factors of the rows a_i."""
    size, width = rows.base.shape[0], rows.base.size // max(1, rows.base.shape[0])
    if not (is_halved(size, width) and are_one_by_one(matrix, rows.base)):
        return quadratic(*_alike(matrix, rows.base))
    matrix, *factors = _alike(matrix, *(rows.scaled or (_flat(rows.base),)))
    sums, every = matrix.shape[:-2], matrix.reshape(-1, *matrix.shape[-2:])
    forms = [each_point(_form_at_point, one, blocks_of(one), *factors) for one in every]
    return jnp.stack(forms).reshape(*sums, *rows.base.shape[1:])


@functools.partial(jax.checkpoint, policy=own_policy, prevent_cse=False)
def _form_at_point(matrix: Array, blocks: list[Array], *factors: Array) -> Array:
    array = factors[0] if len(factors) == 1 else factors[0][:, None] * factors[1]
    return by_halves(matrix, blocks, array)


@jax.custom_jvp
def by_halves(matrix: Array, blocks: list[Array], array: Array) -> Array:
    """As `quadratic`, of a matrix and its blocks: it changes as the blocks do."""
    return quadratic_form(blocks, checkpoint_name(array, PRODUCTS))


@by_halves.defjvp
@full_precision()
def _by_halves_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (matrix, _, array), (_, dblocks, darray) = primals, tangents
    applied = checkpoint_name(matrix @ array, KEPT)
    along = quadratic_form(dblocks, array) + 2 * jnp.sum(darray * applied, axis=0)
    return jnp.sum(array * applied, axis=0), along


def form_cost(size: int, width: int) -> float:
    """How many multiply-adds a quadratic form of an array `(size, width)` takes."""
    halved = is_halved(size, width) and are_one_by_one()
    return size * size * width * (share(size) if halved else 1.0)


def is_halved(size: int, width: int) -> bool:
    """Whether a quadratic form of an array `(size, width)` is large enough for halves."""
    return share(size) < 1 and size * size * width >= _LARGE


_LARGE = 256**3
"""So many multiplications for one point fill a loop over points."""


def _dot_first(array: Array, applied: Array, sums: int) -> Array:
    """Σ_i a_i b_i for a `(m, *shape)` and b `(*sums, m, *shape)`."""
    return jnp.sum(jnp.expand_dims(array, tuple(range(sums))) * applied, axis=sums)


def apply(matrix: Between, coefficient: Full) -> Array:
    """Σ_j M_ij b_j: `(*sums, m, *shape)`."""
    if isinstance(matrix, DiagonalMatrix):
        entries, base = _alike(matrix.entries, coefficient.base)
        entries = entries.reshape(*entries.shape, *(1,) * (base.ndim - 1))
        weighted = entries * base.reshape((1,) * (entries.ndim - base.ndim) + base.shape)
    else:
        weighted = jnp.tensordot(*_alike(matrix, coefficient.base), axes=1)
    return times(weighted, coefficient.factor)


def _alike(*arrays: Array) -> list[Array]:
    """Arrays in their common type: live values may be real and complex, single and half."""
    with jax.numpy_dtype_promotion("standard"):
        kind = functools.reduce(jnp.promote_types, (array.dtype for array in arrays))
    return [array.astype(kind) for array in arrays]


def _entrywise(matrix: Between, left: ByEntry, right: ByEntry, dtype: Any) -> Array:
    """Entries that move along few directions meet in few entries of the matrix."""
    terms = []
    for j in range(left.numbers.count):
        for k in range(right.numbers.count):
            a, b = (by_entry.column(c, i, dtype) for c, i in ((left, j), (right, k)))
            rows, columns = (
                np.asarray(np.maximum(c.numbers.array[i], 0)) for c, i in ((left, j), (right, k))
            )
            entries = _entries(matrix, rows, columns).astype(dtype)
            shape = (1,) * (entries.ndim - a.ndim) + a.shape
            terms.append(a.reshape(shape) * entries * b.reshape(shape))  # a b may underflow
    factor = left.factor * right.factor
    result = sum(terms[1:], terms[0])
    return times(result, factor)


def _entries(matrix: Between, rows: np.ndarray, columns: np.ndarray) -> Array:
    if isinstance(matrix, DiagonalMatrix):
        numbers = Numbers(rows[None])
        entries = by_entry.weights_at(matrix.entries, numbers)
        entries = entries.reshape(*matrix.entries.shape[:-1], *rows.shape)
        same = rows == columns
        return entries if same.all() else jnp.where(same, entries, jnp.zeros((), entries.dtype))
    everything = np.arange(matrix.shape[-1])
    if matrix.shape[-1] == matrix.shape[-2] and all(
        np.array_equal(index.reshape(-1), everything) for index in (rows, columns)
    ):
        return jnp.diagonal(matrix, axis1=-2, axis2=-1).reshape(*matrix.shape[:-2], *rows.shape)
    return matrix[..., rows, columns]


def moments(weights: Any, lower: Sequence[Series], primals: Sequence[Any]) -> SecondMoment:
    """The second moments of values whose coefficients of order one are `(n, *shape)`, one along
    curves and two along pairs, for weights `(*sums, n)`.
    """
    sizes = tuple(int(np.prod(jnp.shape(x))) for x in primals)
    values = list(zip(lower, primals, strict=True))
    rows = tuple(
        tuple(_second_moment(weights, values[p], values[q], p == q) for q in range(p, len(values)))
        for p in range(len(values))
    )
    return SecondMoment(rows, sizes, tuple(weights.shape[:-1]))


def _second_moment(
    weights: Any, left: tuple[Series, Any], right: tuple[Series, Any], same: bool
) -> Between | None:
    (first, x), (second, y) = left, right
    gram = _gram(weights, first[0], x, second[-1], y, same and len(first) == 1)
    if len(first) == 1:
        return gram
    assert not isinstance(gram, DiagonalMatrix)  # which is of one set of directions with itself
    if same:
        return None if gram is None else (gram + jnp.swapaxes(gram, -1, -2)) * 0.5
    other = _gram(weights, first[-1], x, second[0], y, False)
    assert not isinstance(other, DiagonalMatrix)
    terms = [each for each in (gram, other) if each is not None]
    return sum(terms[1:], terms[0]) * 0.5 if terms else None


def is_separate(coefficient: Coefficient) -> bool:
    """Whether no direction moves two entries."""
    return isinstance(coefficient, ByEntry) and coefficient.numbers.injective


def _gram(
    weights: Any, left: Coefficient, x: Any, right: Coefficient, y: Any, same: bool
) -> Between | None:
    """Σ_r w_r a_r ⊗ b_r as a matrix; `same` if a is b."""
    if isinstance(left, Zero) or isinstance(right, Zero):
        return None
    if isinstance(left, ByEntry) and is_separate(left) and same:
        return DiagonalMatrix(_separate_squares(weights, left, jnp.result_type(x)))
    if isinstance(left, ByEntry) and is_separate(left) and isinstance(right, Full):
        return _separate_rows(weights, left, right, jnp.result_type(x))
    if isinstance(right, ByEntry) and is_separate(right) and isinstance(left, Full):
        return jnp.swapaxes(_separate_rows(weights, right, left, jnp.result_type(y)), -1, -2)
    left, right = densify(left, 1, x), densify(right, 1, y)
    assert isinstance(left, Full) and isinstance(right, Full)
    number = by_entry.uniform(weights)
    if number is not None:
        number = number * left.factor * right.factor
        return times(_unweighted(left, right, same), number)
    a, b = _alike(_flat(left.array), _flat(right.array))
    weights = jnp.asarray(weights).astype(a.dtype)
    return jnp.einsum("...r,ra,rb->...ab", weights, a, b)


def _separate_squares(weights: Any, coefficient: ByEntry, dtype: Any) -> Array:
    """Σ_j w v_j² for each entry: `(*sums, entries)`."""
    squares = by_entry.product(coefficient, coefficient, dtype)
    assert squares is not None
    if squares.is_ones:
        squares = ByEntry(
            jnp.asarray(squares.numbers.known, dtype), squares.numbers, squares.size, squares.factor
        )
    collapsed = by_entry.collapse(squares, weights, dtype).array
    return collapsed.reshape(*weights.shape[:-1], -1)


def _separate_rows(weights: Any, coefficient: ByEntry, rows: Full, dtype: Any) -> Array:
    """Σ_j w v_j ⊗ (the row of the other coefficient for that direction): `(*sums, entries, k)`."""
    numbers = coefficient.numbers
    values = by_entry.values_of(coefficient, dtype).reshape(numbers.count, -1)
    values, other = _alike(values, by_entry.rows_at(_flat(rows.array), numbers))
    number = by_entry.uniform(weights)
    if number is not None:
        return number * jnp.einsum("je,jek->ek", values, other)
    at = by_entry.weights_at(weights, numbers).astype(values.dtype)
    at = at.reshape(*weights.shape[:-1], numbers.count, -1)
    return jnp.einsum("...je,je,jek->...ek", at, values, other)


def _flat(array: Array) -> Array:
    return array if array.ndim == 2 else array.reshape(array.shape[0], -1)


def _unweighted(left: Full, right: Full, same: bool) -> Array:
    """Σ_r a_r ⊗ b_r without their factors. Σ_r x_r ℓ(e_r) = ℓ(x) is there where ℓ was applied to
    x.
    """
    a, b = left.image, right.image
    if a is not None and b is not None:
        if a.operand == b.source and a.output is not None:
            return a.output.reshape(-1, 1)
        if b.operand == a.source and b.output is not None:
            return b.output.reshape(1, -1)
        same = same or a.source == b.source
    if same:
        known = None if a is None else a.gram
        return gram(_flat(left.base)) if known is None else known
    first, second = _alike(_flat(left.base), _flat(right.base))
    return first.T @ second


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def gram(a: Array, axis: int = 0) -> Array:
    """AᵀA, or AAᵀ by summing over the axis 1. Its derivative S + Sᵀ with S = AᵀdA takes one product
    instead of two, forward and reverse.
    """
    a = checkpoint_name(a, PRODUCTS)
    return lax.dot_general(a, a, (((axis,), (axis,)), ((), ())))


@gram.defjvp
@full_precision()
def _gram_jvp(axis: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (a,), (da,) = primals, tangents
    half = lax.dot_general(a, da, (((axis,), (axis,)), ((), ())))
    return gram(a, axis), half + half.T


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def gram_by_halves(a: Array, axis: int) -> Array:
    """As `gram`, by halves where the matrix is a block that stays in the caches."""
    a = checkpoint_name(a, PRODUCTS)
    if a.size > BLOCK:
        return gram(a, axis)
    return symmetric_product(a if axis == 1 else a.T, _LEAST)


gram_by_halves.defjvp(_gram_jvp)
_LEAST = 64
"""Products of so few rows with a block are the fastest that there are."""


@final
@dataclasses.dataclass(frozen=True)
class _Layer:
    """A matrix times a vector, and the Gram matrix of its rows along the axis that is summed."""

    axis: int

    def __call__(self, matrix: Array, vector: Array) -> tuple[Array, Array]:
        product = lax.dot_general(matrix, vector, (((self.axis,), (0,)), ((), ())))
        return product, gram_by_halves(matrix, self.axis)


def with_gram(image: Image) -> Image:
    """What a layer made of a vector, computed again, in one pass with the Gram matrix of its rows:
    so in reverse mode their gradients by the layer are one array from the start.

    What was computed before is dropped: nothing reads it any more.
    """
    if image.layer is None or image.output is None or image.gram is not None:
        return image
    vector, matrix = image.layer
    types = {array.dtype for array in (vector, matrix, image.output)}
    if len(types) > 1 or matrix.dtype not in _WIDE or not may_be_in_blocks(matrix):
        return image
    layer = Blockwise(_Layer(image.axis), (image.axis, 0), (None, None))
    output, rows = in_blocks(layer, matrix, vector)
    return dataclasses.replace(image, output=output, gram=rows)


_WIDE = (jnp.dtype("float32"), jnp.dtype("float64"))
"""Types with digits enough for sums over many blocks."""


def replaced_moments(
    moment: SecondMoment, values: Sequence[Coefficient], primals: Sequence[Any]
) -> SecondMoment:
    """The second moments of values whose coefficients are along the sets of another moment."""
    sizes = tuple(int(np.prod(jnp.shape(x))) for x in primals)
    count = len(values)
    rows = []
    for p in range(count):
        row = []
        for q in range(p, count):
            row.append(_between(moment, values[p], values[q], primals[p], primals[q]))
        rows.append(tuple(row))
    return SecondMoment(tuple(rows), sizes, moment.sums)


def _between(moment: SecondMoment, left: Any, right: Any, x: Any, y: Any) -> Array | None:
    """Σ_pq A_pᵀ M_pq B_q."""
    terms = []
    for p, a in enumerate(left.parts):
        for q, b in enumerate(right.parts):
            matrix = moment.matrix(p, q)
            if matrix is None or isinstance(a, Zero) or isinstance(b, Zero):
                continue
            first, second = densify(a, 1, x), densify(b, 1, y)
            assert isinstance(first, Full) and isinstance(second, Full)
            flat = Full(_flat(second.base), second.factor)
            terms.append(jnp.matmul(*_alike(_flat(first.array).T, apply(matrix, flat))))
    return sum(terms[1:], terms[0]) if terms else None
