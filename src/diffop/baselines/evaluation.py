"""`estimate`: operators by a baseline, in the form of `diffop.estimate`."""

from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..array_types import Key
from ..estimators.draws import make_draw
from ..estimators.together import flatten
from ..jets.directions import to_dense
from ..jets.point import Point
from ..jets.vector_terms import GradientTerms
from ..terms.arguments import Function, check_callable
from ..terms.evaluate import scaled
from ..terms.products import exact_jets
from ..terms.term import Part, Segment
from ..tracebacks import short_tracebacks
from .base import AbstractBaseline, Local
from .check import check_parts, checked_point
from .registry import as_baseline


def estimate(method: str | AbstractBaseline, ops: PyTree, key: Key, n: int) -> Function:
    """Several operators by a baseline: `do.baselines.estimate(method, ops, key, n)(u)(x)`, as
    `do.estimate(ops, key, n)(u)(x)`.

    Baselines compute u, first derivatives, gradients and derivatives of order two of a real scalar
    function of one vector. They are for comparisons only; otherwise use [`diffop.estimate`][].

    **Arguments:**

    - `method`: one of [`diffop.baselines.names`][], or an object of `diffop.baselines`.
    - `ops`: a pytree of operators.
    - `key`: a JAX random key. The draw depends only on it, on `n` and on the number of coordinates.
        The coordinates are those that `diffop.estimate` draws with this key.
    - `n`: draws for each second-order part; exact (except `"stein"`) if it has no more terms.

    **Returns:**

    A map from functions to functions, whose values have the structure of `ops`.

    **Raises:** `ValueError` or `TypeError` for unknown methods, for operators that baselines cannot
    handle, for something that is not a key, and for n < 1. When it is called, it raises them for
    functions that are not real scalar functions of one vector; `"jet"` raises `NotImplementedError`
    for functions for which `jax.experimental.jet` has no rule. `diffop.train.MissingExtraError` if
    folx is needed and not installed.

    Source: the ablation study of Shi et al. 2024, "Stochastic Taylor Derivative Estimator"; each
    method names its own source.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"u": do.Identity(), "lap": do.Laplacian()}
        joint = do.baselines.estimate("sdgd", ops, jax.random.key(0), 4)
        jax.jit(joint(lambda x: jnp.sum(x**4)))(jnp.ones(9))  # {"u": 9.0, "lap": 108.0}
        ```
    """
    baseline = as_baseline(method)
    operators, structure = flatten(ops)
    draw = make_draw(key, n, "auto")
    parts = [operator.parts for operator in operators]
    for each in parts:
        check_parts(each)
        baseline.check(each)

    def applied(u: Function, *point: Any) -> Function:
        check_callable(u, point)

        @short_tracebacks
        def at(*args: Any) -> PyTree:
            point = checked_point(u, args)
            values = _values(parts, baseline.at(u, point, draw), point)
            return jax.tree.unflatten(structure, values)

        return at

    return applied


def _values(operators: Sequence[Sequence[Part]], local: Local, point: Point) -> list[PyTree]:
    """Each operator as the sum of its terms; a derivative that occurs in several is
    computed once.
    """
    known: dict[Hashable, PyTree] = {}

    def derivative(segment: Segment) -> PyTree:
        key = frozenset((factor.key, power) for factor, power in segment.product)
        if key not in known:
            known[key] = _derivative(segment, local, point)
        return known[key]

    def value(parts: Sequence[Part]) -> PyTree:
        terms = [term for part in parts for term in part.terms]
        found = [scaled(derivative(term.head), term, point) for term in terms]
        return reduce(jnp.add, found) if found else jnp.zeros_like(local.value())

    return [value(parts) for parts in operators]


def _derivative(segment: Segment, local: Local, point: Point) -> PyTree:
    """The value of a segment, without its coefficient functions, for u."""
    if segment.order == 0:
        return local.value()
    if isinstance(segment.factors[0], GradientTerms):
        segment.factors[0].count(point)
        return local.gradient(segment.factors[0])
    if segment.order == 2:
        return local.second(segment.product)
    (jets,) = exact_jets(segment.product, point, "auto")  # directions of order one add up to one
    (x,) = point.args
    weight = jnp.asarray(jets.weights[0]).astype(x.dtype)
    return local.slope(weight * to_dense(jets.directions[0], x.size, x.dtype)[0])
