"""Second moments: many directions replaced by few, exactly.

A collapsed family of order two depends on its directions v_r only through Σ_r w_r a_r ⊗ b_r, for
values a and b whose first-order coefficients meet in a product. Suppose that only the values
z_1, …, z_m are still needed (together they have as many entries as basis vectors). With the second
moments

    M_pq = Σ_r w_r (z_p)_r ⊗ (z_q)_r

every later sum is Σ_r w_r B(a_r, b_r) = Σ_pq Σ_ij (M_pq)_ij B(∂a/∂z_pi, ∂b/∂z_qj). So the
directions become the basis vectors of the z_p, weighted by a matrix instead of a diagonal. Nothing
is factorised: M may have any rank and any sign, and gradients are those of polynomials.

A family of pairs (a_r, b_r), from which Σ_r w_r D²u(a_r, b_r) is read, is carried as two sets of
directions. Their only moment is the one between the sets, ½ Σ_r w_r (a_r ⊗ b_r + b_r ⊗ a_r). Later
steps treat it like that of curves. No difference of powers is taken, so the vectors of a pair may
differ in size by any factor.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ...array_types import AnyArray
from ...arrays import times, type_of
from ...coefficients.block import Block
from ...coefficients.blocks import Blocks, PairWeights, applied, dense, uniform
from ...coefficients.relations import entrywise, outer
from ...kernels import call
from ...record import record, static
from ..arithmetic import as_block, densify, instantiate, total
from ..coefficients import Coefficient, Full, Sets, Zero, each_set, on_array, parts_of
from ..equation import BilinearMap
from ..primitive import Form
from ..products import broadcast, of_blocks
from .forms import alike, flat, form, gram


@final
@record
class DiagonalMatrix:
    """A matrix that is zero off its diagonal: between entries that no direction moves together, or
    between the directions of pairs. `entries` are `(*sums, n)`.
    """

    entries: AnyArray | np.ndarray


Between: TypeAlias = AnyArray | DiagonalMatrix


@final
@record
class SecondMoment:
    """The matrices M_pq between sets of directions, for each of the sums to which a family
    collapses.

    `matrices[p][q]`, p ≤ q, has shape `(*sums, sizes[p], sizes[q])`; None is zero, and
    M_qp = M_pqᵀ. A diagonal matrix is a `DiagonalMatrix`.
    """

    matrices: tuple[tuple[Between | None, ...], ...]
    sizes: tuple[int, ...] = static()
    sums: tuple[int, ...] = static()

    @classmethod
    def curves(cls, weights: Any) -> "SecondMoment":
        """For n directions: Σ_r w_r a_r ⊗ a_r, with weights `(*sums, n)`."""
        return cls(((DiagonalMatrix(weights),),), (weights.shape[-1],), weights.shape[:-1])

    @classmethod
    def pairs(cls, weights: Any) -> "SecondMoment":
        """For n directions and n partners: Σ_r w_r D²u(a_r, b_r), with weights `(*sums, n)`."""
        half, size = DiagonalMatrix(weights * 0.5), weights.shape[-1]
        return cls(((None, half), (None,)), (size, size), weights.shape[:-1])

    @classmethod
    def between(cls, matrix: Any) -> "SecondMoment":
        """For n directions that meet through a symmetric matrix: Σ_ij C_ij D²u(a_i, a_j)."""
        return cls(((matrix,),), (matrix.shape[-1],), ())

    @property
    def is_of_pairs(self) -> bool:
        """Whether it is the moment of directions and their partners."""
        (first, *others), *_ = self.matrices
        return first is None and len(others) == 1 and isinstance(others[0], DiagonalMatrix)

    @property
    def is_diagonal(self) -> bool:
        """Whether applying it costs as much as applying weights."""
        every = [matrix for row in self.matrices for matrix in row]
        return all(matrix is None or isinstance(matrix, DiagonalMatrix) for matrix in every)

    def matrix(self, p: int, q: int) -> Between | None:
        if p <= q:
            return self.matrices[p][q - p]
        transposed = self.matrices[q][p - q]
        if transposed is None or isinstance(transposed, DiagonalMatrix):
            return transposed
        return jnp.swapaxes(transposed, -1, -2)

    def contract(
        self, product: BilinearMap, left: Coefficient, right: Coefficient | None
    ) -> Coefficient:
        """Σ_pq Σ_ij (M_pq)_ij B(a_pi, b_qj); b = a if there is no b."""
        symmetric = product.form is Form.ENTRYWISE and right is None
        right = left if right is None else right
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
        if isinstance(left, Blocks) and isinstance(right, Blocks):
            weights = matrix.entries if isinstance(matrix, DiagonalMatrix) else PairWeights(matrix)
            met = of_blocks(product, (left, right), (1, 1), weights, summed=True)
            if met is not None:
                array = dense(met, product.output.dtype)
                return array.reshape(*self.sums, *product.output.shape)
        pairs = list(zip((left, right), product.operands, strict=True))
        if entrywise:
            whole = product.output
            pairs = [(broadcast(c, 1, jnp.shape(x), whole.shape), whole) for c, x in pairs]
        first, second = (densify(c, 1, x) for c, x in pairs)
        assert isinstance(first, Full) and isinstance(second, Full)
        if same and not isinstance(matrix, DiagonalMatrix):
            result = form(matrix, first).astype(product.output.dtype)
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
        sets = [self.instantiate(c, x).parts for c, x in zip(parts, primals, strict=True)]
        rows = [[each.array for each in own if isinstance(each, Full)] for own in sets]
        half = self.matrix(0, 1) if self.is_of_pairs else None
        if half is not None:
            return [(a, 2 * apply(half, Full(b))) for a, b in rows]
        matrix, stacked = self._whole(), map(jnp.concatenate, rows)
        return [(s, jnp.tensordot(*alike(matrix, s), axes=1).astype(s.dtype)) for s in stacked]

    def _whole(self) -> Array:
        """All matrices as one matrix."""
        arrays = map(jnp.asarray, jax.tree.leaves(self.matrices))
        kind = alike(*arrays)[0].dtype
        count = len(self.sizes)

        def block(p: int, q: int) -> Array:
            matrix = self.matrix(p, q)
            shape = (*self.sums, self.sizes[p], self.sizes[q])
            return jnp.zeros(shape, kind) if matrix is None else _in_whole(matrix).astype(kind)

        rows = [jnp.concatenate([block(p, q) for q in range(count)], axis=-1) for p in range(count)]
        return jnp.concatenate(rows, axis=-2)


def apply(matrix: Between, coefficient: Full) -> Array:
    """Σ_j M_ij b_j: `(*sums, m, *shape)`."""
    if isinstance(matrix, DiagonalMatrix):
        entries, base = alike(jnp.asarray(matrix.entries), coefficient.base)
        entries = entries.reshape(*entries.shape, *(1,) * (base.ndim - 1))
        weighted = entries * base.reshape((1,) * (entries.ndim - base.ndim) + base.shape)
    else:
        weighted = jnp.tensordot(*alike(matrix, coefficient.base), axes=1)
    return times(weighted, coefficient.factor)


def unit_of(coefficient: Coefficient, primal: Any, pairs: bool) -> Array | None:
    """The length of the basis vector of a single number, as a power of two: about the size of its
    coefficients (for `pairs`, the mean of two, by their product). For a value such as |x|², the
    square of its coefficients may be out of range while the value is not, and so may the values it
    meets, such as derivatives of |x|⁻¹. None means one.
    """
    if jnp.size(primal) != 1:
        return None
    found = parts_of(coefficient) if pairs else (coefficient,)
    largest = [_largest(c) for c in found if not isinstance(c, Zero)]
    known = [each for each in largest if each is not None]
    if not known or len(known) < len(largest):
        return None
    length = known[0] if len(known) == 1 else jnp.sqrt(known[0]) * jnp.sqrt(known[1])
    limits = jnp.finfo(length.dtype)
    length = lax.reduce_precision(lax.stop_gradient(length), limits.nexp, mantissa_bits=0)
    return jnp.where((length > 0) & jnp.isfinite(length), length, jnp.ones_like(length))


def _largest(coefficient: Coefficient) -> Array | None:
    """The largest number of a coefficient that consists of arrays."""
    parts = parts_of(coefficient)
    arrays = [part for part in parts if isinstance(part, Full)]
    if any(not isinstance(part, Full | Zero) for part in parts) or not arrays:
        return None
    each = [jnp.max(jnp.abs(part.base)) * abs(part.factor) for part in arrays]
    return functools.reduce(jnp.maximum, each)


def _over(coefficient: Coefficient, unit: Array) -> Coefficient:
    """A coefficient along a basis vector of this length."""
    return each_set(functools.partial(on_array, lambda array: array / unit), coefficient)


def replaced_moments(
    moment: SecondMoment,
    lower: Sequence[Coefficient],
    primals: Sequence[Any],
    units: Sequence[Array | None],
) -> SecondMoment:
    """The second moments of values whose coefficients of order one are along the sets of another
    moment, along basis vectors with the lengths `units`. The moment of two numbers is computed from
    coefficients in these units; known moments are divided by them.
    """

    def between(left: Coefficient, right: Coefficient, p: int, q: int) -> Between | None:
        return _between(moment, (left, primals[p]), (right, primals[q]), p == q)

    def entry(p: int, q: int) -> Between | None:
        first, second = units[p], units[q]
        if first is not None and second is not None:
            return between(_over(lower[p], first), _over(lower[q], second), p, q)
        matrix, unit = between(lower[p], lower[q], p, q), second if first is None else first
        if matrix is None or unit is None:
            return matrix
        assert not isinstance(matrix, DiagonalMatrix)  # only between a value and itself
        return matrix / unit

    count = len(lower)
    matrices = tuple(tuple(entry(p, q) for q in range(p, count)) for p in range(count))
    sizes = tuple(int(np.prod(jnp.shape(x))) for x in primals)
    return SecondMoment(matrices, sizes, moment.sums)


Along: TypeAlias = tuple[Coefficient, Any]
"""A coefficient of order one, and its primal."""


def _between(moment: SecondMoment, left: Along, right: Along, same: bool) -> Between | None:
    """Σ_pq A_pᵀ M_pq B_q; `same` if A is B."""
    (first, x), (second, y) = left, right
    assert isinstance(first, Sets) and isinstance(second, Sets)
    terms = []
    for p, a in enumerate(first.parts):
        for q, b in enumerate(second.parts):
            matrix = moment.matrix(p, q)
            if matrix is None or isinstance(a, Zero) or isinstance(b, Zero):
                continue
            if isinstance(matrix, DiagonalMatrix):
                terms.append(_gram(matrix.entries, a, x, b, y, same and p == q))
                continue
            of_a, of_b = densify(a, 1, x), densify(b, 1, y)
            assert isinstance(of_a, Full) and isinstance(of_b, Full)
            rows = Full(flat(of_b.base), of_b.factor)
            terms.append(jnp.matmul(*alike(flat(of_a.array).T, apply(matrix, rows))))
    if len(terms) > 1:
        terms = [_in_whole(term) for term in terms]
    return sum(terms[1:], terms[0]) if terms else None


def _in_whole(matrix: Between) -> Array:
    if not isinstance(matrix, DiagonalMatrix):
        return matrix
    entries = jnp.asarray(matrix.entries)
    unit = jnp.eye(entries.shape[-1], dtype=entries.dtype)
    return entries[..., None] * jnp.expand_dims(unit, range(entries.ndim - 1))


def is_separate(c: Coefficient) -> bool:
    """Whether it is known that no direction moves two entries."""
    if not isinstance(c, Blocks):
        return False
    parts = tuple(part.with_values(None, 1) for part in c.parts)
    shape = c.shape[1:]
    met = applied([Blocks(parts, c.shape)] * 2, [None, None], outer(shape, shape), 1.0, None, True)
    return met is not None and all(_is_diagonal(part, len(shape)) for part in met.parts)


def _is_diagonal(part: Block, rank: int) -> bool:
    """Whether two values only meet at equal entries."""
    ends = part.origin[1 : rank + 1], part.origin[rank + 1 :]
    adds = all(axis.adds[1 : rank + 1] == axis.adds[rank + 1 :] for axis in part.axes)
    return adds and ends[0] == ends[1]


def _gram(weights: Any, left: Any, x: Any, right: Any, y: Any, same: bool) -> Between:
    """Σ_r w_r a_r ⊗ b_r as a matrix; `same` if a is b."""
    number, shapes = uniform(weights), (jnp.shape(x), jnp.shape(y))
    if isinstance(left, Blocks) or isinstance(right, Blocks):
        blocks = [
            c if isinstance(c, Blocks) else as_block(c, shape)
            for c, shape in zip((left, right), shapes, strict=True)
        ]
        kind = jnp.promote_types(type_of(x), type_of(y))
        diagonal = same and is_separate(left)
        relation = entrywise(shapes[0], shapes) if diagonal else outer(*shapes)
        met = applied(
            blocks, [None, None], relation, weights if number is None else number, kind, True
        )
        if met is not None:
            array, sums = dense(met, kind), weights.shape[:-1]
            sizes = tuple(map(math.prod, shapes))[: 1 if diagonal else 2]
            array = array.reshape(*sums, *sizes)
            return DiagonalMatrix(array) if diagonal else array
    left, right = densify(left, 1, x), densify(right, 1, y)
    assert isinstance(left, Full) and isinstance(right, Full)
    if number is not None:
        number = number * left.factor * right.factor
        return times(_unweighted(left, right, same), number)
    a, b = alike(flat(left.array), flat(right.array))
    weights = jnp.asarray(weights).astype(a.dtype)
    return jnp.einsum("...r,ra,rb->...ab", weights, a, b)


def _unweighted(left: Full, right: Full, same: bool) -> Array:
    """Σ_r a_r ⊗ b_r without their numbers. Σ_r x_r ℓ(e_r) = ℓ(x) is taken from the program if ℓ was
    applied to x.
    """
    a, b = left.image, right.image
    if a is not None and b is not None:
        if a.operand == b.source and a.output is not None:
            return a.output.reshape(-1, 1)
        if b.operand == a.source and b.output is not None:
            return b.output.reshape(1, -1)
        same = same or a.source == b.source
    if same:
        return call("gram", gram, flat(left.base))
    first, second = alike(flat(left.base), flat(right.base))
    return first.T @ second
