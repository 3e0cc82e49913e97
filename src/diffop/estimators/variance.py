"""The variance of an estimate: by a formula if there is one, otherwise from a pilot.

The formulas need the values of all terms (for draws of terms), or the matrix A of the quadratic
form q(v) that a dense draw computes. Both are read from the operator's own jets: with every term
as one draw, or with the directions e_i and e_i + e_j as draws, since
A_ij = (q(e_i + e_j) − q(e_i) − q(e_j))/2. So they hold for sums of operators that share draws, for
variable coefficients, and for any C.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PyTree

from ..array_types import Key
from ..jets.design import Stratum
from ..jets.point import Point
from ..jets.pushes import number_pushed
from ..jets.terms import TRACE, Factors, ProbedTerms, Target, Terms
from ..probes import AbstractDenseProbe, AbstractProbe, Drawn
from ..probes.base import Draw, target_of
from ..probes.by_term import AbstractTermProbe, Selection
from ..probes.sparse import Sparse
from ..scalars import checked_integer
from ..schemes.names import PlanKind
from ..streams import streams
from ..terms.evaluate import Head, apply, flattened, head_jets
from ..terms.nonlocal_draws import design_of, evaluations_of
from ..terms.one_point import applied
from ..terms.term import Part, Term
from .draws import check_probes, is_unsampled, make_draw
from .norms import root_of
from .statistics import added_statistics, draws, real_kind


@final
class Variance(NamedTuple):
    """What `variance` returns.

    - `variance`: Var of the estimate, in its structure. Its root is the `standard_error`.
    - `method`: "formula" if it is exact, "pilot" if it is itself an estimate, "formula and pilot"
        for a sum of both.
    - `jets`: how many were pushed to find it.
    """

    variance: PyTree
    method: str
    jets: int

    @property
    def standard_error(self) -> PyTree:
        """The root of the variance."""
        return jax.tree.map(root_of, self.variance)


def variance(
    op: Any,
    *,
    n: int = 1,
    probes: str | AbstractProbe = "auto",
    key: Key | None = None,
    pilot: int = 64,
    max_jets: int = 4096,
) -> Callable[..., Any]:
    """The variance of `op.estimate(key, n, probes)(u)(*args)` over keys:
    `do.variance(op, n=n, probes=probes)(u)(*args)`.

    **Arguments:**

    - `op`: the operator.
    - `n`, `probes`: as for `Operator.estimate`.
    - `key`, `pilot`: without a formula, the variance is the sample variance of `pilot` estimates
        with keys made from `key`; its relative error is about $√(2/(m − 1))$ for m of them.
    - `max_jets`: formulas that need more jets than this are not used. A quadratic form in d
        dimensions needs $d(d+1)/2$, a sum of N terms needs N.

    **Returns:**

    A map from functions to functions of a point, which takes `chunk=` and `plan=` beside u; these
    return a [`diffop.estimators.Variance`][].

    **Raises:** `ValueError` if a pilot is needed and no key is given, or if it has fewer than 2
    estimates, or values that are not finite; `TypeError` if `pilot` is not an integer; what
    `Operator.estimate` raises.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        u = lambda x: x[0] * x[1] + x[2] ** 2
        do.variance(do.Laplacian(), probes="rademacher")(u)(jnp.ones(3)).variance  # 4.0
        do.variance(do.Laplacian(), probes="sparse")(u)(jnp.ones(3)).variance  # 8.0
        ```
    """
    if not is_unsampled(op):
        raise TypeError(
            f"variance is that of an operator's estimates, such as do.Laplacian(); got {op!r}."
        )
    draw = make_draw(jax.random.key(0) if key is None else key, n, probes)
    check_probes(op.parts, draw.probe)

    def at(u: Callable[..., PyTree], point: Point) -> Variance:
        total, methods, jets = None, [], 0
        for group in _groups(op.parts, draw, point).values():
            terms = [term for term, _ in group]
            found = _formula(terms, [factors for _, factors in group], u, point, draw, max_jets)
            if found is None:
                found = _pilot(terms, u, point, draw, key, pilot)
            total = added_statistics(total, found.variance)
            methods.append(found.method)
            jets += found.jets
        if total is None:  # nothing is sampled
            shape = jax.eval_shape(lambda: apply(op.parts, u, point))
            total = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, real_kind(leaf.dtype)), shape)
        return Variance(total, " and ".join(sorted(set(methods))) or "formula", jets)

    def of(
        u: Callable[..., PyTree], *beside: Any, chunk: int | None = None, plan: PlanKind = "auto"
    ) -> Callable[..., Variance]:
        return applied(u, beside, partial(at, u), chunk, plan)

    return of


def _groups(
    parts: Sequence[Part], draw: Draw, point: Point
) -> dict[Hashable, list[tuple[Term, Factors]]]:
    """The sampled terms with their factors, by design: terms of one design share their draws, those
    of different designs are independent.
    """
    groups: dict[Hashable, list[tuple[Term, Factors]]] = {}
    for term in (term for part in parts for term in part.terms):
        if not term.word:
            continue
        if len(term.word) > 1:
            raise ValueError(
                "a composition with variable coefficients has no variance of its draws alone, as "
                "its inner operator is sampled too; take the sample variance over several keys."
            )
        head = term.head
        jets = flattened(head_jets([Head(head, draw)], point))
        design = jets[0].design if jets else design_of(head, draw)
        if design is not None:
            groups.setdefault(design, []).append((term, head.product))
    return groups


def _formula(
    terms: list[Term],
    drawn: list[Factors],
    u: Callable[..., PyTree],
    point: Point,
    draw: Draw,
    max_jets: int,
) -> Variance | None:
    """The variance of terms with the same draws, if it has a formula."""
    probe, n = draw.probe, draw.n
    if isinstance(probe, AbstractTermProbe):
        numbered = [_numbered(factors) for factors in drawn]
        factor = numbered[0]
        if factor is None:
            return None
        count, magnitudes = factor.numbered(point), factor.magnitudes(point)
        by_magnitude = isinstance(probe, Sparse) and magnitudes is not None
        different = any(each is None or each.key != factor.key for each in numbered)
        if count > max_jets or (by_magnitude and different):
            return None
        values = _contributions(terms, u, point, Draw(draw.key, count, _EveryTerm()))
        found = [probe.variance_of_terms(leaf, n, magnitudes) for leaf in jax.tree.leaves(values)]
    elif isinstance(probe, AbstractDenseProbe) and all(target_of(f) == TRACE for f in drawn):
        factor = drawn[0][0][0]
        assert isinstance(factor, ProbedTerms)  # it has a target
        size = factor.count(point)
        count = size * (size + 1) // 2
        if count > max_jets:
            return None
        values = _contributions(terms, u, point, Draw(draw.key, count, _EveryPair()))
        leaves = jax.tree.leaves(values)
        found = [probe.variance_of_form(_matrix(leaf, size), n) for leaf in leaves]
    else:
        return None
    if any(each is None for each in found):
        return None
    return Variance(jax.tree.unflatten(jax.tree.structure(values), found), "formula", count)


def _numbered(factors: Factors) -> Terms | None:
    """The factor whose terms are drawn by number; None if tuples of terms are drawn."""
    large = [(each, power) for each, power in factors if not each.single]
    if len(large) != 1 or large[0][1] != 1 or not isinstance(large[0][0], Terms):
        return None
    return large[0][0]


def _contributions(terms: list[Term], u: Callable[..., PyTree], point: Point, draw: Draw) -> PyTree:
    """What each draw contributes to a sum of terms."""
    (contributions,) = draws([(Part(tuple(terms), draw),)], u, point).sampled.values()
    return contributions[0]


def _matrix(values: Array, size: int) -> Array:
    """A from q(e_i), then q(e_i + e_j) for i < j; in the last two axes."""
    values = jnp.moveaxis(values, 0, -1)
    diagonal, sums = values[..., :size], values[..., size:]
    rows, columns = np.triu_indices(size, 1)
    upper = (sums - diagonal[..., rows] - diagonal[..., columns]) / 2
    matrix = jnp.zeros((*diagonal.shape, size), values.dtype)
    matrix = matrix.at[..., rows, columns].set(upper).at[..., columns, rows].set(upper)
    return matrix.at[..., np.arange(size), np.arange(size)].set(diagonal)


def _pilot(
    terms: list[Term],
    u: Callable[..., PyTree],
    point: Point,
    draw: Draw,
    key: Key | None,
    pilot: int,
) -> Variance:
    """The sample variance of estimates with different keys."""
    if key is None:
        raise ValueError(
            f"there is no formula for the variance of {draw.probe.name} probes here within "
            "max_jets; give a key for a pilot: variance(..., key=jax.random.key(0))."
        )
    pilot = checked_integer(pilot, "pilot, the number of estimates with other keys,", 2)

    def estimate(key: Key) -> PyTree:
        return apply([Part(tuple(terms), Draw(key, draw.n, draw.probe))], u, point)

    values = jax.lax.map(estimate, streams(key, "pilot", pilot))
    found = jax.tree.map(lambda leaf: jnp.var(leaf, axis=0, ddof=1), values)
    heads = [Head(term.head, draw) for term in terms]
    jets = number_pushed(flattened(head_jets(heads, point)))
    jets += sum(evaluations_of(term.head, draw) for term in terms)
    return Variance(checked_finite(found, "the pilot"), "pilot", pilot * jets)


def checked_finite(values: PyTree, what: str) -> PyTree:
    """Refuses values that are not finite, unless they are traced."""
    for leaf in jax.tree.leaves(values):
        if not isinstance(leaf, Tracer) and not bool(jnp.all(jnp.isfinite(leaf))):
            raise ValueError(
                f"{what} has a variance that is not finite: {leaf}. u or its derivatives are not "
                "finite at this point, or overflow in this precision."
            )
    return values


@final
class _EveryTerm(AbstractTermProbe):
    """Each term as one draw, unweighted."""

    name: ClassVar[str] = "every term"

    def select(self, key: Key, total: int, n: int) -> Selection:
        return Selection(np.arange(total), np.ones(total), (Stratum(total),))

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        return False


@final
class _EveryPair(AbstractDenseProbe):
    """The directions e_i, then e_i + e_j for i < j, each as one draw."""

    name: ClassVar[str] = "every pair"

    def reaches(self, target: Target) -> bool:
        return target == TRACE

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        return False

    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        unit = np.eye(size)
        rows, columns = np.triu_indices(size, 1)
        directions = jnp.asarray(np.concatenate([unit, unit[rows] + unit[columns]]), dtype)
        return Drawn(directions, np.ones(n), (Stratum(n),))
