"""Control variates: the same draw on a function whose exact value is known.

For fixed jets E and a function g with a known L g,

    E(u) + s (L g − E(g)) = E(u − s g) + s L g

is unbiased for L u with any number s. Its variance is that of E(u − s g), which is small if u is
close to s g. The best s is Cov[E(u), E(g)]/Var[E(g)].
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..jets.design import deviations
from ..jets.point import Point
from ..terms.evaluate import apply, common_kind, sum_of_two
from ..terms.shapes import check_shapes
from ..terms.term import Part
from .estimator import AbstractEstimator
from .norms import unit_near
from .statistics import Draws, Stats, draws, standard_error_of

Scale: TypeAlias = float | Array | Literal["fitted"]


@final
class Controlled(AbstractEstimator):
    """An estimate with a control variate, made by `Estimate.controlled`. Call it on a function,
    `(u)(*args)`, or ask for its `stats`, which are those of $E(u − s g)$. They treat a fitted s as
    if it were given.
    """

    samples: tuple[Part, ...]
    control: Callable[..., PyTree]
    value: Callable[..., PyTree] | None
    scale: Scale

    def _value(self, u: Callable[..., PyTree], point: Point) -> PyTree:
        return self._by_source(u, point)[0]

    def _stats(self, u: Callable[..., PyTree], point: Point) -> Stats:
        mean, contributions, jets = self._by_source(u, point)
        each = [
            jax.tree.map(partial(deviations, design=design), z) for (_, design), z in contributions
        ]
        return Stats(mean, standard_error_of(mean, each), jets)

    def _by_source(
        self, u: Callable[..., PyTree], point: Point
    ) -> tuple[PyTree, "Contributions", int]:
        """The estimate, what the draws of each source contribute, and the jets pushed."""
        found = _of_both(self.samples, u, self.control, point)
        known = self._known(point)
        estimate, control = found.mean(0)
        check_shapes("the estimate of u", estimate, "that of the control", control)
        check_shapes("the value of the control", known, "its estimate", control)
        if isinstance(self.scale, str):
            return *_fitted(found, known), found.jets
        return *_scaled(found, known, self.scale), found.jets

    def _known(self, point: Point) -> PyTree:
        """L g."""
        if self.value is not None:
            return point.value_of(self.value)
        exact = [Part(part.terms, None) for part in self.samples]
        return apply(exact, self.control, point)


def _of_both(
    samples: tuple[Part, ...],
    u: Callable[..., PyTree],
    control: Callable[..., PyTree],
    point: Point,
) -> Draws:
    """Both functions draw by draw, as a pair, from one push. Operators that distinguish u's values,
    such as a divergence, are applied to one function at a time.
    """
    if not _tells_apart(samples):
        return draws([samples], lambda *a, **k: (u(*a, **k), control(*a, **k)), point)
    first, second = (draws([samples], function, point) for function in (u, control))
    return Draws(
        [(first.exact[0], second.exact[0])],
        {source: [(z[0], second.sampled[source][0])] for source, z in first.sampled.items()},
        first.jets + second.jets,
    )


def _tells_apart(samples: tuple[Part, ...]) -> bool:
    segments = [segment for part in samples for term in part.terms for segment in term.word]
    return any(
        segment.entries or any(factor.mixes for factor in segment.factors) for segment in segments
    )


Contributions: TypeAlias = Sequence[tuple[Any, PyTree]]


def _scaled(found: Draws, known: PyTree, scale: float | Array) -> tuple[PyTree, Contributions]:
    """E(u) + s (L g − E(g))."""
    estimate, control = found.mean(0)
    mean = jax.tree.map(
        lambda e, k, c: _less(e, scale, jnp.asarray(c - k)), estimate, known, control
    )
    contributions = [
        (source, jax.tree.map(lambda z, c: _less(z, scale, c), *pair))
        for source, (pair,) in found.sampled.items()
        if pair is not None
    ]
    return mean, contributions


def _fitted(found: Draws, known: PyTree) -> tuple[PyTree, Contributions]:
    """The same, with an s for each draw that is fitted to all other draws. For independent draws, s
    is then independent of what it multiplies, and the mean stays unbiased.

    **Raises:** `ValueError` for draws of several sums of terms, of several strata, or fewer than 4.
    """
    if not found.sampled:
        return found.exact[0][0], []  # all terms were taken
    if len(found.sampled) != 1:
        raise ValueError(
            'a scale is "fitted" to the draws of one sum of terms; this estimate has '
            f"{len(found.sampled)}. Give a number as the scale."
        )
    ((source, (pair,)),) = found.sampled.items()
    if len(source[1].strata) != 1:
        raise ValueError(
            'a scale is "fitted" to draws that are alike, and those of this probe come from '
            f"{len(source[1].strata)} strata. Give a number as the scale."
        )
    assert pair is not None  # the only operator has all that was sampled
    exact_u, exact_g = found.exact[0]

    def remainder(z: Array, c: Array, k: Array, e: Array) -> Array:
        n = z.shape[0]
        if n < 4:
            raise ValueError(f'scale="fitted" needs at least 4 draws; got {n}. Give a number.')
        c, left = c.astype(kind := common_kind(z, c)), (c - (k - e)[None] / n).astype(kind)
        return z.astype(kind) - _slopes(z.astype(kind), c) * left

    z = jax.tree.map(remainder, *pair, known, exact_g)
    mean = jax.tree.map(lambda e, z: sum_of_two(e, jnp.sum(z, axis=0)), exact_u, z)
    return mean, [(source, z)]


def _less(z: Array, scale: float | Array, c: Array) -> Array:
    """z − s c, complex if one of them is."""
    kind = common_kind(z, c, *([] if isinstance(scale, int | float | complex) else [scale]))
    if isinstance(scale, complex):
        kind = jnp.promote_types(kind, jnp.complex64)
    return z.astype(kind) - jnp.asarray(scale, kind) * c.astype(kind)


def _slopes(z: Array, c: Array) -> Array:
    """Cov(z, c)/Var(c) without draw r, for each r: sums without r follow from those over all draws.
    Complex values use Σ z conj(c) / Σ |c|², about the means, which minimises |z − s c|².
    """
    n, unit = z.shape[0], unit_near(c).astype(c.dtype)
    c = c / unit[None]  # squares of c may be out of range
    dz, dc = z - jnp.mean(z, axis=0, keepdims=True), c - jnp.mean(c, axis=0, keepdims=True)
    # Σ_{s≠r} of products about the means of the others: S − n/(n−1) times the r-th product
    products, squares = dz * jnp.conj(dc), jnp.real(dc * jnp.conj(dc))
    covariance = jnp.sum(products, axis=0, keepdims=True) - n / (n - 1) * products
    spread = jnp.sum(squares, axis=0, keepdims=True) - n / (n - 1) * squares
    total = jnp.sum(jnp.real(c * jnp.conj(c)), axis=0, keepdims=True)
    flat = spread <= 1e-12 * total  # a control without variance is useless
    spread = jnp.where(flat, 1, spread).astype(covariance.dtype)
    return jnp.where(flat, 0, covariance / spread / unit[None])
