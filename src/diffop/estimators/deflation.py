"""Estimates of second-order operators whose large part is computed exactly."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..array_types import Key, PerDirection, ScalarArray
from ..jets.design import Design, Stratum, deviations
from ..jets.point import Point
from ..jets.vector_terms import DivergenceTerms
from ..probes.base import Draw
from ..streams import stream
from ..terms.entries import entries_of
from ..terms.evaluate import apply, scaled
from ..terms.term import Part, Term
from .draws import make_draw
from .estimator import AbstractEstimator
from .statistics import Stats, standard_error_of, statistics
from .trace_estimators import Products, hutch_plus_plus, xtrace
from .traces import Trace, as_trace, hessian_products, is_exact, jacobian_products

LEAST = {"xtrace": 4, "hutch++": 3}
"""The methods, with the least number of products that each needs."""


@final
class Deflated(AbstractEstimator):
    """An unbiased estimate of a trace whose large part is exact: what
    `L.deflate(key, n, method)` returns.

    The Laplacian, `SecondOrder`, `ParabolicTrace` and `Divergence` are traces $tr A(x)$ of matrices
    known by their products with vectors: Hessian-vector products by forward over reverse mode, or
    derivatives along a direction for the divergence. Products with random vectors find the
    directions in which A is large. The trace there is computed exactly, and only the rest is
    estimated. If the eigenvalues of A decay, the variance is a small fraction of that of as many
    plain probes; for an A of rank below n/2 (XTrace) or n/3 (Hutch++) it is zero.

    - "xtrace": n/2 test vectors (rounded down), each a probe of what the others leave: 2 products
        for each vector. The standard error is the spread of the leave-one-out estimates over
        $√(n/2)$, as its authors give it. These are not independent, so it is an indication and not
        unbiased.
    - "hutch++": n/3 products (rounded down) find the directions, and as many compute the trace
        there; the others are Rademacher probes of the rest. The square of the standard error is
        unbiased. It needs two probes, so n ≥ 4.

    Every second-order term and the divergence have n products and test vectors of their own (if u
    has several values, each value does). Exact are terms whose matrix has at most n rows, terms of
    order one and zero, and single derivatives.

    `D(u)(*args)` is the estimate. `D.stats(u)(*args)` is a [`diffop.estimators.Stats`][] with its
    standard error and the number of products (and jets of exact terms) that it took. `chunk=`
    beside u bounds products too. The directions depend on u and on the point. So, unlike
    [`diffop.operators.Estimate`][], this is not an operator, which would be linear in u with fixed
    jets. u must be real and differentiable in reverse mode. Gradients with respect to u's
    parameters are unbiased too; the derivation is in `diffop.estimators.trace_estimators`.

    **Raises:** `ValueError`, by `stats` of "hutch++" with n = 3, whose one probe has no spread.

    Sources: Meyer, Musco, Musco, Woodruff (2021) for Hutch++; Epperly, Tropp, Webber (2024) for
    XTrace with normalised test vectors.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        u = lambda x: jnp.sum(x[:3] ** 2)  # a Hessian of rank 3 in 1000 dimensions
        D = do.Laplacian().deflate(jax.random.key(0), 12)
        D(u)(jnp.ones(1000))  # 6.0
        value, error, products = D.stats(u)(jnp.ones(1000))
        ```
    """

    collected: tuple[Term, ...]
    made: Draw
    method: str = eqx.field(static=True)

    def _value(self, u: Callable[..., PyTree], point: Point) -> PyTree:
        exact, sampled = self._split(point)
        values = [_mean(self._estimates(term, key, u, point)) for term, key in sampled]
        if exact or not values:
            values.append(apply([Part(exact, None)], u, point))
        return _add(values)

    def _stats(self, u: Callable[..., PyTree], point: Point) -> Stats:
        exact, sampled = self._split(point)
        estimates = [self._estimates(term, key, u, point) for term, key in sampled]
        means, spreads = [*map(_mean, estimates)], [*map(_deviations, estimates)]
        jets = sum(self._products(each) for each in estimates)
        if exact or not means:
            rest = statistics([Part(exact, None)], u, point)
            means.append(rest.value)
            jets += rest.jets
        mean = _add(means)
        return Stats(mean, standard_error_of(mean, spreads), jets)

    def _split(self, point: Point) -> tuple[tuple[Term, ...], list[tuple[Term, Key]]]:
        """The terms that are exact at a point, and the others, each with its own key."""
        exact, sampled = [], []
        for i, term in enumerate(self.collected):
            trace = as_trace(term)
            if trace is None or trace.count(point) <= self.made.n:
                exact.append(term)
            else:
                sampled.append((term, stream(self.made.key, "deflation", self.made.n, i)))
        return tuple(exact), sampled

    def _estimates(self, term: Term, key: Key, u: Callable[..., PyTree], point: Point) -> PyTree:
        """Several estimates of a term, on a leading axis of each leaf."""
        trace = as_trace(term)
        assert trace is not None  # terms were split by this
        _check_real(trace, u, point)
        u = entries_of(u, term.head.entries)
        draw = partial(self._draw, key, trace.count(point), point.dtype(trace.argnum))
        if isinstance(trace, DivergenceTerms):
            values = draw(jacobian_products(trace, u, point))
        else:
            values = _for_each_value(lambda f: draw(hessian_products(trace, f, point)), u, point)
        return scaled(values, term, point)

    def _draw(self, key: Key, size: int, dtype: Any, products: Products) -> PerDirection:
        """Estimates of the trace of a matrix of this size."""
        dtype = dtype if jnp.finfo(dtype).bits >= 32 else jnp.float32  # the basis needs precision
        if self.method == "xtrace":
            tests = jax.random.normal(stream(key, "test vectors"), (self.made.n // 2, size), dtype)
            return xtrace(products, tests)
        third, for_probes = self.made.n // 3, stream(key, "probes")
        # Gaussian vectors miss no direction with certainty; Rademacher probes vary least.
        sketch = jax.random.normal(stream(key, "sketch"), (third, size), dtype)
        probes = jax.random.rademacher(for_probes, (self.made.n - 2 * third, size), dtype)
        return hutch_plus_plus(products, sketch, probes)

    def _products(self, estimates: PyTree) -> int:
        """How many products with matrices a term took: n for each value (even for XTrace)."""
        values = sum(leaf[0].size for leaf in jax.tree.leaves(estimates))
        n = self.made.n
        return values * (n - n % 2 if self.method == "xtrace" else n)


def deflated(terms: Sequence[Term], key: Any, n: Any, method: Any) -> Deflated:
    """Check what a deflated estimate is made from."""
    if method not in LEAST:
        raise ValueError(f"method must be one of {', '.join(LEAST)}; got {method!r}.")
    draw = make_draw(key, n, "auto")
    if draw.n < LEAST[method]:
        raise ValueError(
            f"{method} needs at least n = {LEAST[method]} products; got {n}. For fewer draws use "
            "L.estimate(key, n)."
        )
    for term in terms:
        if as_trace(term) is None and not is_exact(term):
            raise ValueError(
                f"deflation is for traces of second derivatives (Laplacian, SecondOrder, "
                f"ParabolicTrace) and Divergence, times coefficients; got {term.signed_text[1]}. "
                "Use L.estimate(key, n) for this part and add the results."
            )
    return Deflated(tuple(terms), draw, method)


def _for_each_value(
    draw: Callable[[Callable[..., ScalarArray]], PerDirection],
    u: Callable[..., PyTree],
    point: Point,
) -> PyTree:
    """Draws for u's values one by one: each has its own matrix."""

    def of_leaf(leaf: int, shape: tuple[int, ...]) -> Array:
        def of_value(i: Any) -> Array:
            return draw(lambda *a, **k: jax.tree.leaves(u(*a, **k))[leaf].reshape(-1)[i])

        if shape == ():
            return of_value(0)
        values = jax.vmap(of_value, out_axes=1)(jnp.arange(math.prod(shape)))
        return values.reshape(-1, *shape)

    leaves, structure = jax.tree.flatten(jax.eval_shape(lambda: point.value_of(u)))
    values = [of_leaf(i, x.shape).astype(x.dtype) for i, x in enumerate(leaves)]
    return jax.tree.unflatten(structure, values)


def _mean(estimates: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), estimates)


def _deviations(estimates: PyTree) -> PyTree:
    """Those of the mean of m independent estimates, which contribute an m-th part each."""

    def of(leaf: Array) -> Array:
        m = leaf.shape[0]
        if m < 2:
            raise ValueError(
                "a standard error of hutch++ needs at least 2 probes of what is left; got n = 3, "
                "which has one. Use n = 4 or more."
            )
        return deviations(leaf / m, Design("deflated", (Stratum(m),)))

    return jax.tree.map(of, estimates)


def _add(values: Sequence[PyTree]) -> PyTree:
    return jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *values)


def _check_real(trace: Trace, u: Callable[..., PyTree], point: Point) -> None:
    """Raises an error unless u is a real function of real numbers, as products with A need."""
    outputs = jax.tree.leaves(jax.eval_shape(lambda: point.value_of(u)))
    for what, dtype in [
        *(("u", jnp.dtype(leaf.dtype)) for leaf in outputs),
        (f"argument {trace.argnum}", jnp.dtype(point.dtype(trace.argnum))),
    ]:
        if not jnp.issubdtype(dtype, jnp.floating):
            raise TypeError(
                f"deflation of {trace.symbol} needs a real u of a real point; got {what} of type "
                f"{dtype}. Apply it to the real and the imaginary part."
            )
