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

Here is how coefficients meet through a moment. `live_moments.py` makes the moment of live values
from that of the directions before.
"""

from collections.abc import Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...array_types import AnyArray
from ...arrays import times
from ...coefficients.blocks import Blocks, dense
from ...record import record, static
from ..arithmetic import densify, instantiate, total
from ..coefficients import Coefficient, Full, Sets, Zero
from ..equation import BilinearMap
from ..primitive import Form
from ..products import broadcast_coefficient, of_blocks
from .forms import alike, form


@final
@record
class SecondMoment:
    """The matrices M_pq between sets of directions with some `sizes`, for each of the sums to which
    a family collapses; `sums` is the shape of these, as `weights.shape[:-1]` is for weights.

    `matrices[p][q - p]`, p ≤ q, has shape `(*sums, sizes[p], sizes[q])`; None is zero, and
    M_qp = M_pqᵀ. Of a diagonal matrix there is the diagonal.
    """

    matrices: tuple[tuple[AnyArray | np.ndarray | None, ...], ...]
    sizes: tuple[int, ...] = static()
    sums: tuple[int, ...] = static()

    @classmethod
    def curves(cls, weights: Any) -> "SecondMoment":
        """For n directions: Σ_r w_r a_r ⊗ a_r, with weights `(*sums, n)`."""
        return cls(((weights,),), (weights.shape[-1],), weights.shape[:-1])

    @classmethod
    def pairs(cls, weights: Any) -> "SecondMoment":
        """For n directions and n partners: Σ_r w_r D²u(a_r, b_r), with weights `(*sums, n)`."""
        half, size = weights * 0.5, weights.shape[-1]
        return cls(((None, half), (None,)), (size, size), weights.shape[:-1])

    @classmethod
    def by_matrix(cls, matrix: Any) -> "SecondMoment":
        """For n directions that meet through a symmetric matrix: Σ_ij C_ij D²u(a_i, a_j)."""
        return cls(((matrix,),), (matrix.shape[-1],), ())

    @property
    def is_of_pairs(self) -> bool:
        """Whether it is the moment of directions and their partners."""
        (first, *others), *_ = self.matrices
        return first is None and len(others) == 1 and self.is_line(others[0])

    @property
    def is_diagonal(self) -> bool:
        """Whether applying it costs as much as applying weights."""
        every = [matrix for row in self.matrices for matrix in row]
        return all(matrix is None or self.is_line(matrix) for matrix in every)

    def is_line(self, matrix: Any) -> bool:
        """Whether it is the diagonal of a matrix that is zero off it: between entries that no
        direction moves together, or between the directions of pairs.
        """
        return jnp.ndim(matrix) == len(self.sums) + 1

    def matrix(self, p: int, q: int) -> Any:
        found = self.matrices[min(p, q)][abs(q - p)]
        if p <= q or found is None or self.is_line(found):
            return found
        return jnp.swapaxes(found, -1, -2)

    def contract(
        self, product: BilinearMap, left: Coefficient, right: Coefficient | None
    ) -> Coefficient:
        """Σ_pq Σ_ij (M_pq)_ij B(a_pi, b_qj); b = a if there is no b."""
        symmetric = product.form is Form.ENTRYWISE and right is None
        right = left if right is None else right
        assert isinstance(left, Sets) and isinstance(right, Sets)
        terms = []
        for p in range(len(self.sizes)):
            for q in range(p if symmetric else 0, len(self.sizes)):
                same = symmetric and p == q
                term = self._part(product, left.parts[p], right.parts[q], p, q, same)
                if term is not None:
                    terms.append(Full(term, 2 if symmetric and p < q else 1))
        return total(terms, len(self.sums), product.output)

    def _part(
        self, product: BilinearMap, left: Any, right: Any, p: int, q: int, same: bool
    ) -> Array | None:
        """Σ_ij (M_pq)_ij B(a_pi, b_qj) for one p and one q; None if it is zero. It is a quadratic
        form if both coefficients are the `same`.
        """
        matrix = self.matrix(p, q)
        if matrix is None or isinstance(left, Zero) or isinstance(right, Zero):
            return None
        entrywise = product.form is Form.ENTRYWISE
        if isinstance(left, Blocks) and isinstance(right, Blocks):
            ties = jnp.ndim(matrix) - len(self.sums)
            met = of_blocks(product, (left, right), (1, 1), matrix, summed=ties)
            if met is not None:
                array = dense(met, product.output.dtype)
                return array.reshape(*self.sums, *product.output.shape)
        pairs = list(zip((left, right), product.operands, strict=True))
        if entrywise:
            whole = product.output
            pairs = [
                (broadcast_coefficient(c, 1, jnp.shape(x), whole.shape), whole) for c, x in pairs
            ]
        first, second = (densify(c, 1, x) for c, x in pairs)
        assert isinstance(first, Full) and isinstance(second, Full)
        if same and not self.is_line(matrix):
            result = form(matrix, first).astype(product.output.dtype)
            return times(result, first.factor * first.factor)
        weighted = self.times(matrix, second).astype(product.output.dtype)
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
            return [(a, 2 * self.times(half, Full(b))) for a, b in rows]
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
            return jnp.zeros(shape, kind) if matrix is None else self.in_whole(matrix).astype(kind)

        rows = [jnp.concatenate([block(p, q) for q in range(count)], axis=-1) for p in range(count)]
        return jnp.concatenate(rows, axis=-2)

    def times(self, matrix: Any, coefficient: Full) -> Array:
        """Σ_j M_ij b_j: `(*sums, m, *shape)`."""
        entries, base = alike(jnp.asarray(matrix), coefficient.base)
        if self.is_line(matrix):
            entries = entries.reshape(*entries.shape, *(1,) * (base.ndim - 1))
            weighted = entries * base.reshape((1,) * (entries.ndim - base.ndim) + base.shape)
        else:
            weighted = jnp.tensordot(entries, base, axes=1)
        return times(weighted, coefficient.factor)

    def in_whole(self, matrix: Any) -> Array:
        """The matrix as an array, with the zeros of a diagonal one."""
        if not self.is_line(matrix):
            return matrix
        unit = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
        return jnp.asarray(matrix)[..., None] * jnp.expand_dims(unit, range(matrix.ndim - 1))
