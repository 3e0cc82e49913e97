"""Families of jets, and bundles: a program's values with their Taylor coefficients along
families.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, final

import jax
import jax.numpy as jnp

from ..algebra.algebra import Algebra, ProductTerm
from ..array_types import AnyArray, CollapsingWeights
from ..arrays import as_array, sum_over, type_of, weighted_sum
from ..coefficients import blocks
from ..coefficients.blocks import Blocks
from ..devices import divided_along, is_divided
from ..record import record, static
from ..source import Source
from ..versions import varying_axes
from . import products
from .arithmetic import bilinear_map, densify, instantiate, total, unless_full
from .coefficients import (
    Coefficient,
    Full,
    Series,
    Zero,
    all_zero,
    scale,
    varying,
    without_notes,
    zeros,
)
from .equation import BilinearMap
from .primitive import Form
from .products import broadcast_coefficient
from .replacing.second_moments import SecondMoment

Factors: TypeAlias = Mapping[int, Coefficient] | Series
"""Coefficients by their places."""
Pair: TypeAlias = tuple[int | float, Coefficient, Coefficient]
"""A product to be formed: its factor, and its two operands."""


@final
@record
class Family:
    """Jets x(t) = x + Σ_γ t^γ x_γ through one point, pushed together: curves, or jets with several
    parameters.

    Every value of the program has one coefficient for each basis element of the `algebra`, in the
    algebra's order; the index is called its *place*. A coefficient holds `size` jets. At a top
    place (order K of a curve) only the sums Σ_r w_r x_{γ,r} are carried, because tops enter every
    rule linearly (the collapse). With `weights` of shape (m, size) there are m such sums; with
    `weights=None` all jets are kept. `size=None` is a single jet without an axis for directions.

    Directions that meet through a matrix have a `moment` instead of weights: directions that were
    replaced, one set of them at each place below the top (`Algebra.squares`). Directions may be
    replaced if the family is `replaceable`, that is, if only a top of degree two is read at the
    end. `price` is the number of multiply-adds of other computations that a replacement makes
    necessary.
    """

    weights: CollapsingWeights | None
    algebra: Algebra = static()
    size: int | None = static()
    moment: SecondMoment | None = None
    replaceable: bool = static(default=False)
    price: float = static(default=0.0)

    @classmethod
    def by_moment(cls, moment: SecondMoment, replaceable: bool = False) -> "Family":
        """Sets of directions that meet through the matrices of a moment."""
        algebra, size = Algebra.squares(len(moment.sizes)), sum(moment.sizes)
        return cls(None, algebra, size, moment, replaceable)

    @property
    def order(self) -> int:
        """K: at most this many coefficients are multiplied with each other."""
        return self.algebra.degree

    @property
    def places(self) -> range:
        return range(len(self.algebra))

    def is_top(self, place: int) -> bool:
        return place in self.algebra.tops

    def lead(self, place: int) -> int:
        """How many axes the coefficient at a place has in front of the primal's axes."""
        return len(self.lead_shape(place))

    def lead_shape(self, place: int) -> tuple[int, ...]:
        if self.moment is not None:
            return self.moment.lead_shape(place)
        if self.weights is not None and self.is_top(place):
            return self.weights.shape[:-1]
        return () if self.size is None else (self.size,)

    @property
    def jet_axes(self) -> int:
        """How many leading axes a coefficient has that is held jet by jet. At a top place `lead`
        may differ: one sum over jets has no axis, several have one.
        """
        return 0 if self.size is None else 1

    @property
    def below(self) -> "Family":
        """The same jets without their maximal monomials, so that nothing is collapsed. Rules need
        only this of a factor that is multiplied by a value that moves.
        """
        return Family(None, self.algebra.below, self.size, self.moment)

    def series_below(self, series: Series) -> Series:
        """The coefficients that belong to `below`."""
        return tuple(c for place, c in enumerate(series) if not self.is_top(place))

    def series_above(self, series: Series) -> Series:
        """A series that belongs to `below`, with zeros as its maximal coefficients."""
        known = dict(zip(self.algebra.below.monomials, series, strict=True))
        return tuple(known.get(monomial, Zero()) for monomial in self.algebra.monomials)

    def without_tops(self, series: Series) -> Series:
        """The same series with zeros as its maximal coefficients."""
        return self.series_above(self.series_below(series))

    def plus_tops(self, series: Series, tops: Mapping[int, Coefficient], primal: Any) -> Series:
        """A series plus maximal coefficients, by their places."""
        return tuple(
            total([tops[place], c], self.lead(place), primal) if place in tops else c
            for place, c in enumerate(series)
        )

    def collapse_tops(self, series: Series, primal: Any) -> Series:
        """A series that is held jet by jet, with its maximal coefficients collapsed."""
        return tuple(
            self.collapse(c, primal) if self.is_top(place) else c for place, c in enumerate(series)
        )

    def instantiate(self, coefficient: Coefficient, place: int, primal: Any) -> Full:
        """The same coefficient as an array, even if it is zero."""
        return instantiate(coefficient, self.lead_shape(place), primal)

    def collapse(self, coefficient: Coefficient, primal: Any) -> Coefficient:
        """Σ_r w_r c_r of a coefficient that is held jet by jet."""
        if self.weights is None or isinstance(coefficient, Zero):
            return coefficient
        if isinstance(coefficient, Blocks):
            sums = blocks.collapsed(coefficient, self._each_weight, type_of(primal))
            return unless_full(sums, len(self.weights.shape) - 1, primal)
        assert isinstance(coefficient, Full)
        number, base = blocks.common_weight(self.weights), coefficient.base
        if number is not None:
            return Full(sum_over(base, (0,)), coefficient.factor * number)
        return Full(weighted_sum(jnp.asarray(self.weights), base), coefficient.factor)

    def combine(
        self,
        product: BilinearMap,
        terms: Iterable[ProductTerm],
        left: Factors,
        right: Factors,
        place: int,
    ) -> Coefficient:
        """Σ k B(a_i, b_j) over terms (k, i, j) of lower coefficients; at a top place their weighted
        sum.

        Products of directions are not formed there if they can be summed at once: of blocks, and of
        matrices in a dot. Other products are formed for each direction, and then summed together.
        """
        terms = [
            (k, i, j)
            for k, i, j in terms
            if not (isinstance(left[i], Zero) or isinstance(right[j], Zero))
        ]
        if not terms:
            return Zero()
        lead, output = self.lead(place), product.output
        if self.moment is not None:
            same = left is right
            met = [
                (k, self.moment.met(product, left[i], right[j], i, j, same and i == j))
                for k, i, j in terms
            ]
            return total([scale(each, k) for k, each in met], lead, output)
        pairs = [(k, left[i], right[j]) for k, i, j in terms]
        if self.weights is None or not self.is_top(place):
            return self._products(product, pairs)
        dots = product.form is Form.DOT and self.size is not None and jnp.ndim(self.weights) == 1
        structured = [p for p in pairs if dots or any(isinstance(c, Blocks) for c in p[1:])]
        sums = [scale(self._met(product, a, b, place), k) for k, a, b in structured]
        others = [pair for pair in pairs if pair not in structured]
        if others:
            sums.append(self.collapse(self._products(product, others), output))
        return total(sums, lead, output)

    @property
    def _each_weight(self) -> Any:
        """The weights of directions, or one number if all are known to be equal."""
        number = blocks.common_weight(self.weights)
        return self.weights if number is None else number

    def _met(
        self, product: BilinearMap, left: Coefficient, right: Coefficient, place: int
    ) -> Coefficient:
        """$Σ_r w_r B(a_r, b_r)$ without the products of each direction: of blocks, and of matrices
        in a dot, which is contracted over directions as well.
        """
        pair, leads = (left, right), (self.jet_axes, self.jet_axes)
        met = products.of_blocks(product, pair, leads, self._each_weight, summed=1)
        if met is None:
            return self.collapse(bilinear_map(product, *pair, leads), product.output)
        return unless_full(met, self.lead(place), product.output)

    def _products(self, product: BilinearMap, pairs: Sequence[Pair]) -> Coefficient:
        """The sum of products, direction by direction."""
        lead = self.jet_axes
        terms = [scale(bilinear_map(product, a, b, (lead, lead)), k) for k, a, b in pairs]
        return total(terms, lead, product.output)


Families: TypeAlias = tuple[Family, ...]


@final
@record
class Bundle:
    """A value that depends on the jets: its primal, shared by all jets, and its series along each
    family. The walk records the primal's `source`.
    """

    primal: AnyArray
    series: tuple[Series, ...]
    source: Source | None = static(default=None)


Value: TypeAlias = Any
"""A `Bundle`, or an array that does not depend on the jets."""


def primal_of(value: Value) -> Any:
    return value.primal if isinstance(value, Bundle) else value


def source_of(value: Value) -> Source | None:
    return value.source if isinstance(value, Bundle) else None


def series_of(value: Value, families: Families, index: int) -> Series:
    """The series along one family; zeros for a constant value."""
    if isinstance(value, Bundle):
        return value.series[index]
    return zeros(len(families[index].algebra))


def is_moving(value: Value) -> bool:
    return isinstance(value, Bundle)


def is_inexact(array: Any) -> bool:
    """Whether it is an array, or its type, of floating or complex numbers, which can move."""
    return hasattr(array, "dtype") and jnp.issubdtype(array.dtype, jnp.inexact)


def inexact_places(arrays: Sequence[Any]) -> list[int]:
    """The places of arrays that can move."""
    return [place for place, array in enumerate(arrays) if is_inexact(array)]


def bundle(primal: Any, series: Sequence[Series]) -> Value:
    """A bundle, or the plain primal if all coefficients are zero or if it cannot have any
    (integers, booleans, empty arrays).

    Inside `jax.shard_map` coefficients vary over the devices over which their primal varies, as
    tangents do in JAX. A collective or a loop then treats them as it treats the primal, even if
    they are the same everywhere.
    """
    kind = jax.typeof(primal)
    if all(map(all_zero, series)) or not is_inexact(kind) or not kind.size:
        return primal
    axes = varying_axes(primal)
    if axes:
        series = [tuple(varying(term, axes) for term in terms) for terms in series]
    return Bundle(as_array(primal), tuple(series))


def each_term(
    function: Callable[[Any, int], Coefficient], value: Value, families: Families
) -> Value:
    """A value with a function applied to its coefficients and their numbers of leading axes."""
    if not isinstance(value, Bundle):
        return value
    series = tuple(
        tuple(function(term, family.lead(place)) for place, term in enumerate(terms))
        for family, terms in zip(families, value.series, strict=True)
    )
    return Bundle(value.primal, series)


def dense_value(value: Value, families: Families, name: str) -> Value:
    """A value with plain arrays as coefficients along every family, for primitives that cannot
    follow any structure.
    """
    return each_term(
        lambda term, lead: without_notes(densify(term, lead, value.primal, name)), value, families
    )


def laid_out(families: Families, value: Value) -> Value:
    """A value whose coefficients are divided over a mesh with explicit axes as its primal is.

    They become arrays: JAX needs to know how the result of each gather from a divided array is
    divided, so structured coefficients, whose rules gather, cannot be used.
    """
    if not isinstance(value, Bundle) or not is_divided(jax.typeof(value.primal)):
        return value
    own = jax.typeof(value.primal).sharding

    def divided(term: Coefficient, lead: int) -> Coefficient:
        if not isinstance(term, Full):
            return term
        return Full(divided_along(term.array, jax.P(*[None] * lead, *own.spec), own.mesh))

    dense = dense_value(value, families, "on a mesh with explicit axes")
    return each_term(divided, dense, families)


def broadcast_series(family: Family, series: Series, before: Any, after: Any) -> Series:
    """The series of a value that is broadcast to another shape along axes of size one."""
    shapes = jnp.shape(before), jnp.shape(after)
    if shapes[0] == shapes[1]:
        return series
    return tuple(
        broadcast_coefficient(c, family.lead(place), *shapes) for place, c in enumerate(series)
    )


SeriesMap: TypeAlias = Callable[[Family, Sequence[Series]], Sequence[Series]]


def expand_families(
    families: Families,
    operands: Sequence[Value],
    primals_out: Sequence[Any],
    expansion: SeriesMap,
) -> list[Value]:
    """Runs one rule along every family: `expansion` maps the operands' series to the outputs'
    series.
    """
    per_family = []
    for index, family in enumerate(families):
        series = [series_of(operand, families, index) for operand in operands]
        if all(map(all_zero, series)):
            per_family.append([zeros(len(family.algebra))] * len(primals_out))
        else:
            per_family.append(expansion(family, series))
    return [
        bundle(primal, [series[position] for series in per_family])
        for position, primal in enumerate(primals_out)
    ]
