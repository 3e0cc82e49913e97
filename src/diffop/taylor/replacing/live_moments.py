"""The second moments of live values, through which the basis vectors of these values meet in place
of the directions before (see `second_moments.py`).
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from ...arrays import nearest_powers_of_two, times, type_of
from ...coefficients.block import Block
from ...coefficients.blocks import Blocks, common_weight, dense, multiplied
from ...coefficients.relations import entrywise, outer_relation
from ...kernels import call
from ..arithmetic import full
from ..coefficients import Coefficient, Full, Series, Zero, all_zero, on_array
from ..products import as_block
from .forms import alike, flat, gram
from .second_moments import SecondMoment


def live_moments(
    moment: SecondMoment,
    lower: Sequence[Series],
    primals: Sequence[Any],
    units: Sequence[Array | None],
) -> SecondMoment:
    """The second moments of values whose series below the top are along the sets of another
    moment, along basis vectors with the lengths `units`. The moment of two numbers is computed from
    coefficients in these units; known moments are divided by them.
    """

    def met(left: Series, right: Series, p: int, q: int) -> Any:
        return _met(moment, (left, primals[p]), (right, primals[q]), p == q)

    def entry(p: int, q: int) -> Any:
        first, second = units[p], units[q]
        if first is not None and second is not None:
            return met(_over(lower[p], first), _over(lower[q], second), p, q)
        matrix, unit = met(lower[p], lower[q], p, q), second if first is None else first
        if matrix is None or unit is None:
            return matrix
        return matrix / unit

    count = len(lower)
    matrices = tuple(tuple(entry(p, q) for q in range(p, count)) for p in range(count))
    return SecondMoment(matrices, tuple(map(jnp.size, primals)), moment.sums)


Along: TypeAlias = tuple[Series, Any]
"""A series below the top, and its primal."""


def _met(moment: SecondMoment, left: Along, right: Along, same: bool) -> Any:
    """Σ_pq A_pᵀ M_pq B_q; `same` if A is B."""
    (first, x), (second, y) = left, right
    terms = []
    for p, a in enumerate(first):
        for q, b in enumerate(second):
            matrix = moment.matrix(p, q)
            if matrix is None or isinstance(a, Zero) or isinstance(b, Zero):
                continue
            if moment.is_line(matrix):
                terms.append(_gram(matrix, a, x, b, y, same and p == q))
                continue
            of_a, of_b = full(a, 1, x), full(b, 1, y)
            rows = Full(flat(of_b.base), of_b.factor)
            terms.append(jnp.matmul(*alike(flat(of_a.array).T, moment.times(matrix, rows))))
    if len(terms) > 1:
        terms = [moment.in_whole(term) for term in terms]
    return sum(terms[1:], terms[0]) if terms else None


def _gram(weights: Any, left: Any, x: Any, right: Any, y: Any, same: bool) -> Any:
    """Σ_r w_r a_r ⊗ b_r as a matrix; `same` if a is b."""
    number, shapes = common_weight(weights), (jnp.shape(x), jnp.shape(y))
    if isinstance(left, Blocks) or isinstance(right, Blocks):
        blocks = [
            c if isinstance(c, Blocks) else as_block(c, shape)
            for c, shape in zip((left, right), shapes, strict=True)
        ]
        kind = jnp.promote_types(type_of(x), type_of(y))
        diagonal = same and is_separate(left)
        relation = entrywise(shapes[0], shapes) if diagonal else outer_relation(*shapes)
        met = multiplied(
            blocks, [None, None], relation, weights if number is None else number, kind, True
        )
        if met is not None:
            array, sums = dense(met, kind), weights.shape[:-1]
            sizes = tuple(map(math.prod, shapes))[: 1 if diagonal else 2]
            return array.reshape(*sums, *sizes)
    left, right = full(left, 1, x), full(right, 1, y)
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


def unit_of(lower: Series, primal: Any, pairs: bool) -> Array | None:
    """The length of the basis vector of a single number, as a power of two: about the size of its
    coefficients (for `pairs`, the mean of two, by their product). For a value such as |x|², the
    square of its coefficients may be out of range while the value is not, and so may the values it
    meets, such as derivatives of |x|⁻¹. None means one.
    """
    if jnp.size(primal) != 1:
        return None
    groups = [(c,) for c in lower] if pairs else [lower]
    largest = [_largest(group) for group in groups if not all_zero(group)]
    known = [each for each in largest if each is not None]
    if not known or len(known) < len(largest):
        return None
    length = known[0] if len(known) == 1 else jnp.sqrt(known[0]) * jnp.sqrt(known[1])
    return nearest_powers_of_two(length)


def _largest(lower: Series) -> Array | None:
    """The largest number of coefficients, if they are arrays."""
    arrays = [c for c in lower if isinstance(c, Full)]
    if any(isinstance(c, Blocks) for c in lower):
        return None
    each = [jnp.max(jnp.abs(c.base)) * abs(c.factor) for c in arrays]
    return functools.reduce(jnp.maximum, each)


def _over(lower: Series, unit: Array) -> Series:
    """Coefficients along a basis vector of this length."""
    return tuple(on_array(lambda array: array / unit, c) for c in lower)


def is_separate(c: Coefficient) -> bool:
    """Whether it is known that no direction moves two entries."""
    if not isinstance(c, Blocks):
        return False
    parts = tuple(part.with_values(None, 1) for part in c.parts)
    shape = c.shape[1:]
    met = multiplied(
        [Blocks(parts, c.shape)] * 2, [None, None], outer_relation(shape, shape), 1.0, None, True
    )
    return met is not None and all(_is_diagonal(part, len(shape)) for part in met.parts)


def _is_diagonal(part: Block, rank: int) -> bool:
    """Whether two values only meet at equal entries."""
    ends = part.origin[1 : rank + 1], part.origin[rank + 1 :]
    adds = all(axis.adds[1 : rank + 1] == axis.adds[rank + 1 :] for axis in part.axes)
    return adds and ends[0] == ends[1]
