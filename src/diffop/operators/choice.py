"""The choice between exact evaluation and the kinds of estimates.

Which jets are best depends on u: draws of terms vary with the diagonal of its Hessian, dense draws
with the rest of it, deflation with how fast its eigenvalues decay. An operator alone does not tell.

Rule without a pilot. Sums of at most n terms and everything of order one are exact; of other sums n
terms are drawn ("sparse": unbiased for every operator, on sparse directions). That is what
`Operator.estimate` does by default.

Rule with a pilot: a function and some points like those to come. Every way is given what n sparse
draws cost, in floating point operations of the compiled program, so that ways with expensive draws
get fewer of them. At that cost the one with the least variance is taken, averaged over the pilot's
points and summed over all outputs. Exact evaluation is taken if it costs no more than n sparse
draws.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from .._types import Key
from ..jets.point import Point
from ..jets.probes import NAMED
from ..jets.table import ResolvedPlan, text_table
from .arguments import check_callable
from .base import DifferentialOperator, Function, Operator
from .deflation import LEAST
from .draws import make_draw, supports
from .plans import resolved_plan
from .statistics import draws
from .term import Part
from .together import Joint, flatten
from .traces import as_trace, is_exact

EXACT = "exact"
MANY = 1000
"""Costs are those of a point among so many: one draw serves all of them."""
ROUNDING = 1e-3
"""How much of a draw, and of a budget, is nothing."""


@final
class Pilot:
    """A function and some points, on which `diffop.evaluate` compares the ways to evaluate.

    **Arguments:**

    - `u`: a function like those to come, such as the network at some step of its training.
    - `*args`: its arguments, each with a leading axis of points; 4 to 16 points are enough.
    - `repeats`: how many estimates are made at each point with each way.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        points = jax.random.normal(jax.random.key(0), (8, 100))
        pilot = do.Pilot(lambda x: jnp.sum(jnp.sin(x)) ** 2, points)
        ```
    """

    def __init__(self, u: Function, *args: Any, repeats: int = 4) -> None:
        check_callable(u)
        sizes = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(args)}
        if len(sizes) != 1 or sizes == {()}:
            raise ValueError(
                "a pilot's arguments must all have one leading axis of points; got leading axes "
                f"{sorted(sizes)}."
            )
        if repeats < 2:
            raise ValueError(f"repeats of Pilot must be at least 2; got {repeats}.")
        self.u, self.args, self.repeats = u, args, repeats
        self.points = sizes.pop()[0]

    @property
    def is_real(self) -> bool:
        """Whether the function has floating values and arguments: deflation needs them."""
        values = jax.eval_shape(jax.vmap(self.u), *self.args)
        kinds = [jnp.result_type(leaf) for leaf in jax.tree.leaves((values, self.args))]
        return all(jnp.issubdtype(kind, jnp.floating) for kind in kinds)

    def many(self, points: int) -> tuple[Any, ...]:
        """The shapes of so many points."""

        def shape(leaf: Any) -> jax.ShapeDtypeStruct:
            array = jnp.asarray(leaf)
            return jax.ShapeDtypeStruct((points, *array.shape[1:]), array.dtype)

        return jax.tree.map(shape, self.args)


@final
class Way(NamedTuple):
    """One way to evaluate, a line of [`diffop.Explanation`][].

    - `name`: "exact", the name of probes, or a method of deflation.
    - `draws`: how many, for what n sparse draws cost.
    - `jets`: pushed at a point, or products for deflation; None where this was not counted.
    - `operations`: floating point operations at a point; None without a pilot.
    - `standard_error`: at a point; None without a pilot.
    """

    name: str
    draws: int
    jets: int | None
    operations: float | None
    standard_error: float | None


@final
class Explanation:
    """How `diffop.evaluate` decided; prints as a table.

    - `chosen`: the way that was taken.
    - `ways`: all that were compared, it among them.
    - `reason`: a sentence.
    """

    def __init__(self, chosen: Way, ways: Sequence[Way], reason: str) -> None:
        self.chosen, self.ways, self.reason = chosen, tuple(ways), reason

    def __repr__(self) -> str:
        header = ("", "way", "draws", "jets", "operations", "standard error")
        rows = [
            (
                "→" if way == self.chosen else "",
                way.name,
                "" if way.name == EXACT else str(way.draws),
                "" if way.jets is None else str(way.jets),
                "" if way.operations is None else f"{way.operations:.3g}",
                "" if way.standard_error is None else f"{way.standard_error:.3g}",
            )
            for way in self.ways
        ]
        return f"{text_table(header, rows)}\n{self.reason}"


@final
class Evaluation:
    """What `diffop.evaluate` returns: called with a function u it returns the function that the
    operators make of u, in the way that was chosen. `explain` tells which and why.
    """

    def __init__(self, ops: PyTree, key: Key, n: int, found: Explanation | None) -> None:
        self._operators, self._structure = flatten(ops)
        self._key, self._n = key, n
        self._found = found

    def __call__(self, u: Function) -> Function:
        """The operators applied to u, as a function with u's own signature."""
        name, draws = ("sparse", self._n)
        if self._found is not None:
            name, draws = self._found.chosen.name, self._found.chosen.draws
        return _evaluator(self._operators, self._structure, name, draws, self._key)(u)

    def explain(self, *args: Any) -> Explanation:
        """The decision, with the alternatives and what they cost.

        **Arguments:**

        - `*args`: u's arguments at one point (or their `jax.ShapeDtypeStruct`), to count jets at;
            not needed after a pilot.

        **Raises:** `ValueError` without arguments where there was no pilot.
        """
        if self._found is not None:
            return self._found
        if not args:
            raise ValueError(
                "explain counts jets at a point: give u's arguments, such as explain(x), or make "
                "the evaluation with a pilot."
            )
        return _by_rule(self._operators, self._key, self._n, args)


def evaluate(ops: PyTree, key: Key, n: int, pilot: Pilot | None = None) -> Evaluation:
    """Operators evaluated exactly or estimated, whichever is better for what n draws cost.

    Without a pilot a sum of at most n terms is exact, and n terms are drawn of any other. With one
    the ways are compared on it, and the one with the least variance at equal cost is taken; see
    `explain`. The result is unbiased whatever is taken, as the pilot has draws of its own.

    **Arguments:**

    - `ops`: a pytree of operators.
    - `key`: a JAX random key.
    - `n`: how many sparse draws the evaluation may cost.
    - `pilot`: a [`diffop.Pilot`][]. The comparison takes about as long as `repeats` estimates with
        each way at its points, and a compilation of each way: make it once for many points and
        steps.

    **Returns:**

    An [`diffop.Evaluation`][].

    **Raises:** what `Operator.estimate` raises; `ValueError` for a pilot with values that are not
    finite.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        u, x = (lambda x: jnp.sum(jnp.sin(x)) ** 2), jnp.ones(100)
        E = do.evaluate(do.Laplacian(), jax.random.key(1), 16)
        print(E.explain(x))
        E(u)(x)
        # on a pilot: do.evaluate(do.Laplacian(), key, 16, do.Pilot(u, points)).explain()
        ```
    """
    operators, structure = flatten(ops)
    for operator in operators:
        if not isinstance(operator, DifferentialOperator):
            raise TypeError(f"evaluate decides how to evaluate operators; got {operator!r}.")
    draw = make_draw(key, n, "auto")
    found = None
    if pilot is not None:
        found = _by_pilot(operators, structure, jax.random.fold_in(key, 1), draw.n, pilot)
    return Evaluation(ops, key, draw.n, found)


def _evaluator(
    operators: Sequence[Operator], structure: Any, name: str, n: int, key: Key
) -> Callable[[Function], Function]:
    """The operators in one way."""
    if name in LEAST:
        keys = [jax.random.fold_in(key, i) for i in range(len(operators))]
        made = [op.deflate(k, n, name) for op, k in zip(operators, keys, strict=True)]  # pyright: ignore
        return lambda u: (
            lambda *args, **kwargs: jax.tree.unflatten(
                structure, [each(u)(*args, **kwargs) for each in made]
            )
        )
    draw = None if name == EXACT else make_draw(key, n, name)
    return Joint(jax.tree.unflatten(structure, operators), draw, "auto")


def _names(operators: Sequence[Operator], pilot: Pilot | None = None) -> list[str]:
    """The ways that are unbiased for all the operators, and for a function like the pilot's;
    "sparse" first.
    """
    parts = [part for op in operators for part in op.parts]
    names = [name for name, probe in NAMED.items() if name != "auto" and supports(parts, probe)]
    terms = [term for part in parts for term in part.terms]
    deflatable = all(is_exact(term) or as_trace(term) is not None for term in terms)
    if not deflatable or (pilot is not None and not pilot.is_real):
        return names
    return [*names, *LEAST]


def _by_rule(operators: Sequence[Operator], key: Key, n: int, args: tuple[Any, ...]) -> Explanation:
    """The decision from the operators, d and n."""

    def jets(name: str) -> ResolvedPlan:
        draw = None if name == EXACT else make_draw(key, n, name)
        parts = [Part(part.terms, draw) for op in operators for part in op.parts]
        return resolved_plan(parts, args, "auto")

    def way(name: str, draws: int) -> Way:
        return Way(name, draws, draws if name in LEAST else jets(name).total, None, None)

    ways = [way(EXACT, 0), *(way(name, n) for name in _names(operators))]
    sampled = any(each.design is not None for each in jets("sparse"))
    chosen = ways[1] if sampled else ways[0]
    drawn = f"sums of more than {n} terms are drawn from; a pilot tells what has least variance."
    reason = drawn if sampled else f"no sum has more than {n} terms: all are exact."
    return Explanation(chosen, ways, reason)


def _by_pilot(
    operators: Sequence[Operator], structure: Any, key: Key, n: int, pilot: Pilot
) -> Explanation:
    """The decision from variances and costs that are measured."""

    @cache
    def cost(name: str, draws: int) -> float:
        apply = jax.vmap(_evaluator(operators, structure, name, draws, key)(pilot.u))
        return _operations(apply, pilot.many(MANY)) / MANY

    budget = cost("sparse", n)
    exact = Way(EXACT, 0, None, cost(EXACT, 0), 0.0)
    ways = [exact]
    for name in _names(operators, pilot):
        draws_ = _affordable(name, n, budget, cost)
        if draws_ is not None:
            error = _error(operators, structure, name, draws_, key, pilot)
            ways.append(Way(name, draws_, None, cost(name, draws_), error))
    within = [way for way in ways[1:] if (way.operations or 0) <= (1 + ROUNDING) * budget]
    if (exact.operations or 0) <= budget:
        return Explanation(exact, ways, f"exact costs no more than {n} sparse draws.")
    if not within:
        sparse = Way("sparse", n, None, budget, None)
        return Explanation(sparse, [*ways, sparse], "too few draws to compare variances.")
    best = min(within, key=lambda way: way.standard_error or 0.0)
    return Explanation(
        best, ways, f"the least standard error for what {n} sparse draws cost, on the pilot."
    )


def _operations(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Floating point operations, as the compiler counts them."""
    found: Any = jax.jit(function).lower(*args).cost_analysis()
    return float(found.get("flops", 0.0))  # none at all for a u that is constant


def _affordable(name: str, n: int, budget: float, cost: Callable[[str, int], float]) -> int | None:
    """How many draws a budget pays for; None where not even as few as there have to be. Costs are
    a constant and a multiple of the draws, nearly: where they go in steps, as in pairs of products,
    the line may promise too many draws, and the excess is given back.
    """
    least = LEAST.get(name, 2)
    low, high = max(least, n // 4), max(least + 4, n)
    slope = (cost(name, high) - cost(name, low)) / (high - low)
    draws_ = high
    if slope > 0:
        constant = cost(name, high) - slope * high
        draws_ = math.floor((budget - constant) / slope + ROUNDING)
    while draws_ >= least and (excess := cost(name, draws_) - budget) > ROUNDING * budget:
        draws_ -= math.ceil(excess / slope) if slope > 0 else draws_
    return draws_ if draws_ >= least else None


def _error(
    operators: Sequence[Operator], structure: Any, name: str, n: int, key: Key, pilot: Pilot
) -> float:
    """The root of the mean variance over the pilot's points, summed over outputs."""
    keys = jax.random.split(key, (pilot.points, pilot.repeats))

    def variances(keys: Any, *args: Any) -> Any:
        if name not in LEAST and name != "systematic":  # which has no standard error
            spread = jax.vmap(lambda key: _spread(operators, name, n, key, pilot, args))
            return jnp.mean(spread(keys))
        in_this_way = partial(_evaluator, operators, structure, name, n)
        values = jax.vmap(lambda key: in_this_way(key)(pilot.u)(*args))(keys)
        return _sum(jnp.var(leaf, axis=0, ddof=1) for leaf in jax.tree.leaves(values))

    found = float(jnp.mean(jax.jit(jax.vmap(variances))(keys, *pilot.args)))
    if not math.isfinite(found):
        raise ValueError(
            f"the pilot's values by {name} are not finite: u or its derivatives are not finite at "
            "its points, or overflow in this precision."
        )
    return math.sqrt(found)


def _spread(
    operators: Sequence[Operator],
    name: str,
    n: int,
    key: Key,
    pilot: Pilot,
    args: tuple[Any, ...],
) -> Any:
    """An unbiased estimate of the variance, from one draw."""
    draw = make_draw(key, n, name)
    parts = [[Part(part.terms, draw) for part in op.parts] for op in operators]
    found = draws(parts, pilot.u, Point(args))
    return _sum(jax.tree.leaves([found.variance(i) for i in range(len(operators))]))


def _sum(leaves: Iterable[Array]) -> Any:
    """Of all entries, whatever their precisions are."""
    return sum(jnp.sum(leaf).astype(float) for leaf in leaves)
