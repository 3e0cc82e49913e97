"""Control variates: the same draw on a function whose value is known.

For fixed jets E and a function g with a known L g,

    E(u) + s (L g − E(g)) = E(u − s g) + s L g

is unbiased for L u whatever the number s is, and its variance is that of E(u − s g): small where u
is close to s g. The best s is Cov[E(u), E(g)]/Var[E(g)].
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from .._traceback import short_tracebacks
from ..jets.design import variance as design_variance
from ..jets.point import Point
from .evaluate import Part, apply
from .statistics import Draws, Stats, draws

Scale: TypeAlias = float | Array | Literal["fitted"]


@final
class Controlled:
    """An estimate with a control variate; made by `Estimate.controlled`. Call it on a function:
    `(u)(*args)`, or ask for its `stats`.
    """

    def __init__(
        self,
        samples: tuple[Part, ...],
        control: Callable[..., PyTree],
        value: Callable[..., PyTree] | None,
        scale: Scale,
    ) -> None:
        self._samples = samples
        self._control = control
        self._value = value
        self._scale = scale

    def __call__(self, u: Callable[..., PyTree]) -> Callable[..., PyTree]:
        """The controlled estimate as a function with u's own signature."""
        return lambda *args, **kwargs: self._stats(u, Point(args, kwargs)).mean

    def stats(self, u: Callable[..., PyTree]) -> Callable[..., Stats]:
        """The controlled estimate with its standard error: that of E(u − s g). A fitted s counts as
        if it were given.
        """
        return lambda *args, **kwargs: self._stats(u, Point(args, kwargs), error=True)

    @short_tracebacks
    def _stats(self, u: Callable[..., PyTree], point: Point, error: bool = False) -> Stats:
        def both(*args: Any, **kwargs: Any) -> tuple[PyTree, PyTree]:
            return u(*args, **kwargs), self._control(*args, **kwargs)

        found = draws([self._samples], both, point)
        known = self._known(point)
        if isinstance(self._scale, str):
            mean, contributions = _fitted(found, known)
        else:
            mean, contributions = _scaled(found, known, self._scale)
        zero = jax.tree.map(lambda leaf: jnp.zeros_like(jnp.real(leaf)), mean)
        if not error:
            return Stats(mean, zero, found.jets)
        total = zero
        for (_, design), z in contributions:
            spread = jax.tree.map(lambda leaf, design=design: design_variance(leaf, design), z)
            total = jax.tree.map(jnp.add, total, spread)
        return Stats(mean, jax.tree.map(jnp.sqrt, total), found.jets)

    def _known(self, point: Point) -> PyTree:
        """L g."""
        if self._value is not None:
            return point.value_of(self._value)
        exact = [Part(part.terms, None) for part in self._samples]
        return apply(exact, self._control, point)


Contributions: TypeAlias = Sequence[tuple[Any, PyTree]]


def _scaled(found: Draws, known: PyTree, scale: float | Array) -> tuple[PyTree, Contributions]:
    """E(u) + s (L g − E(g))."""
    estimate, control = found.mean(0)
    mean = jax.tree.map(lambda e, k, c: e + scale * (k - c), estimate, known, control)
    contributions = [
        (source, jax.tree.map(lambda z, c: z - scale * c, *pair))
        for source, (pair,) in found.sampled.items()
        if pair is not None
    ]
    return mean, contributions


def _fitted(found: Draws, known: PyTree) -> tuple[PyTree, Contributions]:
    """The same with an s for each draw that is fitted to all the others, so that for independent
    draws s and what it multiplies are independent, and the mean is not touched.
    """
    if len(found.sampled) != 1:
        raise ValueError(
            'a scale is "fitted" to the draws of one sum of terms; this estimate has '
            f"{len(found.sampled)}. Give a number as the scale."
        )
    ((source, (pair,)),) = found.sampled.items()
    assert pair is not None  # one operator has all that was sampled
    exact_u, exact_g = found.exact[0]

    def remainder(z: Array, c: Array, k: Array, e: Array) -> Array:
        n = z.shape[0]
        if n < 4:
            raise ValueError(f'scale="fitted" needs at least 4 draws; got {n}. Give a number.')
        return z - _slopes(z, c) * (c - (k - e)[None] / n)

    z = jax.tree.map(remainder, *pair, known, exact_g)
    mean = jax.tree.map(lambda e, z: e + jnp.sum(z, axis=0), exact_u, z)
    return mean, [(source, z)]


def _slopes(z: Array, c: Array) -> Array:
    """Cov(z, c)/Var(c) without draw r, for each r: sums without r follow from those over all."""
    n = z.shape[0]
    dz, dc = z - jnp.mean(z, axis=0, keepdims=True), c - jnp.mean(c, axis=0, keepdims=True)
    # Σ_{s≠r} of products about the means of the others: S − n/(n−1) times the r-th product
    covariance = jnp.sum(dz * dc, axis=0, keepdims=True) - n / (n - 1) * dz * dc
    spread = jnp.sum(dc * dc, axis=0, keepdims=True) - n / (n - 1) * dc * dc
    flat = spread <= 1e-12 * jnp.sum(
        c * c, axis=0, keepdims=True
    )  # a control without variance is of no use
    return jnp.where(flat, 0, covariance / jnp.where(flat, 1, spread))
