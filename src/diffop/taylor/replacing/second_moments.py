"""Second moments: many directions replaced by few, exactly.

A collapsed family of order two depends on its directions v_r only through Σ_r w_r a_r ⊗ b_r, for
values a and b whose first-order coefficients meet in a product. Suppose that only the values
z_1, …, z_m are still needed (together they have as many entries as basis vectors). With the second
moments

    M_pq = Σ_r w_r (z_p)_r ⊗ (z_q)_r

every later sum is Σ_r w_r B(a_r, b_r) = Σ_pq Σ_ij (M_pq)_ij B(∂a/∂z_pi, ∂b/∂z_qj). So the
directions become the basis vectors of the z_p, weighted by a matrix instead of a diagonal. Nothing
is factorised: M may have any rank and any sign, and gradients are those of polynomials.

Series are then elements of the algebra with a parameter t_p for each z_p and t_p t_q = t_1²
(`Algebra.squares`). At the place of t_p are the ∂/∂z_pi, and M_pq weights the products of the
places p and q.

Here is how coefficients meet through a moment. `live_moments.py` makes the moment of live values
from that of the directions before.
"""

from collections.abc import Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...algebra.algebra import Algebra
from ...array_types import AnyArray
from ...arrays import times
from ...coefficients.blocks import Blocks, dense
from ...record import record, static
from ..arithmetic import full, instantiate, total
from ..coefficients import Coefficient, Full, Series, Zero
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
    def weighted(cls, algebra: Algebra, weights: Any) -> "SecondMoment":
        """For n curves of order two or pairs, with weights `(*sums, n)`: Σ_r w_r a_r ⊗ a_r,
        or Σ_r w_r (a_r ⊗ b_r + b_r ⊗ a_r). So M_00 is diag(w) for curves; for pairs it is M_01, and
        M_00 and M_11 are zero.
        """
        top = len(algebra) - 1
        met = {(i, j): weights for _, i, j in algebra.products(top)}
        matrices = (tuple(met.get((i, j)) for j in range(i, top)) for i in range(top))
        return cls(tuple(matrices), (weights.shape[-1],) * top, weights.shape[:-1])

    @classmethod
    def by_matrix(cls, matrix: Any) -> "SecondMoment":
        """For n directions that meet through a symmetric matrix: Σ_ij C_ij D²u(a_i, a_j)."""
        return cls(((matrix,),), (matrix.shape[-1],), ())

    @property
    def is_diagonal(self) -> bool:
        """Whether applying it costs as much as applying weights."""
        return all(map(self.is_line, jax.tree.leaves(self.matrices)))

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

    def lead_shape(self, place: int) -> tuple[int, ...]:
        """The axes of the coefficient at a place: that of a set of directions, or those of sums."""
        return self.sums if place == len(self.sizes) else (self.sizes[place],)

    def met(self, product: BilinearMap, a: Any, b: Any, p: int, q: int, same: bool) -> Coefficient:
        """Σ_ij (M_pq)_ij B(a_pi, b_qj) for one p and one q. It is a quadratic form if a_p and b_q
        are the `same`.
        """
        matrix = self.matrix(p, q)
        if matrix is None:
            return Zero()
        return Full(self._met(product, a, b, matrix, same))

    def _met(self, product: BilinearMap, left: Any, right: Any, matrix: Any, same: bool) -> Array:
        entrywise = product.form is Form.ENTRYWISE
        if isinstance(left, Blocks) and isinstance(right, Blocks):
            ties = jnp.ndim(matrix) - len(self.sums)
            met = of_blocks(product, (left, right), (1, 1), matrix, summed=ties)
            if met is not None:
                array = dense(met, product.output.dtype)
                return array.reshape(*self.sums, *product.output.shape)
        pairs: list[Any] = list(zip((left, right), product.operands, strict=True))
        if entrywise:
            whole = product.output
            pairs = [
                (broadcast_coefficient(c, 1, jnp.shape(x), whole.shape), whole) for c, x in pairs
            ]
        first, second = (full(c, 1, x) for c, x in pairs)
        if same and entrywise and not self.is_line(matrix):
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

    def as_pairs(
        self, lower: Sequence[Series], primals: Sequence[Any]
    ) -> list[tuple[Array, Array]]:
        """Pairs of directions `(n, *shape)`, `(*sums, n, *shape)` of several values, with the same
        second moment: Σ_ij M_ij f''(e_i, e_j) = Σ_i f''(e_i, (M e)_i).
        """
        pairs = []
        for series, x in zip(lower, primals, strict=True):
            sets = [instantiate(c, (n,), x) for c, n in zip(series, self.sizes, strict=True)]
            partners = [self._partner(p, sets, x) for p in range(len(sets))]
            rows = jnp.concatenate([each.array for each in sets])
            pairs.append((rows, jnp.concatenate(partners, axis=len(self.sums))))
        return pairs

    def _partner(self, p: int, sets: Sequence[Full], x: Any) -> Array:
        """Σ_q M_pq a_q: `(*sums, sizes[p], *shape)`."""
        met = [(self.matrix(p, q), rows) for q, rows in enumerate(sets)]
        terms = [self.times(m, rows).astype(rows.base.dtype) for m, rows in met if m is not None]
        lead = *self.sums, self.sizes[p]
        return instantiate(total([*map(Full, terms)], len(lead), x), lead, x).array

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
