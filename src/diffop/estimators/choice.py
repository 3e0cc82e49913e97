"""The choice between exact evaluation and the kinds of estimates.

Which jets are best depends on u. The variance of draws of terms depends on the diagonal of its
Hessian, that of dense draws on the other entries, that of deflation on how fast its eigenvalues
decay. The operator alone does not tell.

So the ways are compared on a function, at some points like those of the later evaluation. Each way
may spend as many floating-point operations of the compiled program as n sparse draws cost, so ways
with expensive draws get fewer of them. The way with the least variance is taken, averaged over the
points and summed over all outputs. Exact evaluation is taken if it costs no more than n sparse
draws.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..array_types import Key
from ..jets.identity import by_value
from ..jets.point import Point
from ..jets.table import text_table
from ..kernels import plain
from ..probes import NAMED, AbstractProbe, as_probe
from ..scalars import checked_integer
from ..streams import stream, streams
from ..terms.arguments import check_callable
from ..terms.one_point import works
from ..terms.term import Part
from ..tracebacks import short_tracebacks
from .deflation import LEAST, deflated
from .draws import is_unsampled, make_draw, supports, without_error
from .statistics import draws, variance_of
from .together import Joint, flat_operators
from .traces import as_trace, is_exact

MANY = 1000
"""Costs are those of one point among this many, since one draw serves all points."""
ROUNDING = 1e-3
"""The fraction of a draw, or of a budget, that is ignored."""

ProbeKind: TypeAlias = AbstractProbe | str | None
"""Probes, the name of a method of deflation, or None for no draws at all."""


@final
class Way(NamedTuple):
    """One way to evaluate, a line of a [`diffop.estimators.Choice`][].

    - `name`: "exact", the name of probes, or a method of deflation. Other probes of the same name
        have a number, "importance 2".
    - `draws`: how many draws (products, for deflation) it makes at the cost of n sparse draws.
    - `operations`: floating-point operations at a point.
    - `standard_error`: at a point; for several outputs, the root of the sum of their variances.
        None for one draw, which has no spread.
    """

    name: str
    draws: int
    operations: float
    standard_error: float | None


@final
class Choice:
    """What `diffop.choose` finds; prints as a table.

    - `chosen`: the way that was taken.
    - `ways`: all ways that were compared, including the chosen one.
    - `reason`: a sentence.
    """

    def __init__(
        self, ops: PyTree, kind: ProbeKind, chosen: Way, ways: Sequence[Way], reason: str
    ) -> None:
        self._ops, self._kind = ops, kind
        self.chosen, self.ways, self.reason = chosen, tuple(ways), reason

    def estimate(self, key: Key) -> Callable[..., Callable[..., PyTree]]:
        """The operators in the chosen way, as `diffop.estimate` with a key of your choice:
        `choice.estimate(key)(u)(*args)`.
        """
        return _made(self._ops, self._kind, self.chosen.draws, key)

    def __repr__(self) -> str:
        header = ("", "way", "draws", "operations", "standard error")
        rows = [
            (
                "→" if way == self.chosen else "",
                way.name,
                str(way.draws) if way.draws else "",
                f"{way.operations:.3g}",
                "" if way.standard_error is None else f"{way.standard_error:.3g}",
            )
            for way in self.ways
        ]
        return f"{text_table(header, rows)}\n{self.reason}"


def choose(
    ops: PyTree,
    key: Key,
    n: int,
    probes: str | AbstractProbe | Sequence[str | AbstractProbe] | None = None,
    repeats: int = 4,
) -> Callable[..., Callable[..., Choice]]:
    """Finds the best way to evaluate operators at the cost of n sparse draws, for a function and
    some points: `do.choose(ops, key, n)(u)(*points)`.

    It takes about as long as `repeats` estimates in each way at the points, and a compilation of
    each way. So make the choice once for many points and steps.

    **Arguments:**

    - `ops`: a pytree of operators.
    - `key`: a JAX random key, for the comparison alone.
    - `n`: how many sparse draws an evaluation may cost.
    - `probes`: what to compare with exact evaluation and sparse draws, by name ("xtrace" and
        "hutch++" for deflation among them) or as an object of `diffop.probes`; by default every
        name that is unbiased for all the operators.
    - `repeats`: how many estimates are made at each point in each way.

    **Returns:**

    A map from a function to a map from its arguments to a [`diffop.estimators.Choice`][]. The
    function should resemble later ones, such as the network at some step of its training. Each
    argument has a leading axis of points (4 to 16 are enough).

    **Raises:** what `Operator.estimate` raises; `ValueError` for fewer than 2 repeats, no
    points, or values that are not finite.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        u = lambda x: jnp.sum(jnp.sin(x)) ** 2
        points = jax.random.normal(jax.random.key(0), (4, 30))
        choice = do.choose(do.Laplacian(), jax.random.key(1), 4, ("rademacher",))(u)(points)
        print(choice)
        choice.estimate(jax.random.key(2))(u)(points[0])
        ```
    """
    operators, _ = flat_operators(ops)
    for operator in operators:
        if not is_unsampled(operator):
            raise TypeError(f"choose decides how to evaluate operators; got {operator!r}.")
    n = make_draw(key, n, "auto").n
    repeats = checked_integer(repeats, "repeats of choose", 2)
    one = isinstance(probes, str | AbstractProbe)
    asked = None if probes is None else _by_name([probes] if one else probes)

    def of(u: Callable[..., PyTree], *beside: Any) -> Callable[..., Choice]:
        check_callable(u, beside)

        @short_tracebacks
        def at(*points: Any) -> Choice:
            pilot = _Pilot(ops, u, points, key, repeats)
            return _chosen(pilot, pilot.unbiased() if asked is None else asked, n)

        return at

    return of


def _by_name(probes: Iterable[Any]) -> dict[str, ProbeKind]:
    """Sparse draws, and what else is compared. Probes that differ may have one name, such as those
    with other weights or strata: all but the first of them are numbered.
    """
    kinds: dict[str, ProbeKind] = {"sparse": NAMED["sparse"]}
    known = {by_value(NAMED["sparse"])}
    for each in probes:
        kind = each if isinstance(each, str) and each in LEAST else as_probe(each)
        name, identity = (kind, kind) if isinstance(kind, str) else (kind.name, by_value(kind))
        if identity not in known:
            known.add(identity)
            kinds[_free(name, kinds)] = kind
    return kinds


def _free(name: str, taken: Collection[str]) -> str:
    """The name, with the first number that makes it another than those taken."""
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def _made(ops: PyTree, kind: ProbeKind, n: int, key: Key) -> Callable[..., Callable[..., PyTree]]:
    """The operators in one way."""
    if not isinstance(kind, str):
        return Joint(ops, None if kind is None else make_draw(key, n, kind))
    operators, structure = flat_operators(ops)
    made = [
        deflated(op.parts[0].terms, stream(key, "operator", i), n, kind)
        for i, op in enumerate(operators)
    ]
    return lambda u, **how: (
        lambda *args, **kwargs: jax.tree.unflatten(
            structure, [each(u, **how)(*args, **kwargs) for each in made]
        )
    )


@final
class _Pilot:
    """Operators on a function at some points, at which ways are compared."""

    def __init__(
        self, ops: PyTree, u: Callable[..., PyTree], points: Any, key: Key, repeats: int
    ) -> None:
        sizes = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(points)}
        if len(sizes) != 1 or sizes <= {(), (0,)}:
            raise ValueError(
                "the points of choose must all have one leading axis, with at least one point; got "
                f"leading axes {sorted(sizes)}."
            )
        if works(u, *points) and not works(jax.vmap(u), *points):
            shapes = ", ".join(str(jnp.shape(leaf)) for leaf in jax.tree.leaves(points))
            raise ValueError(
                "choose compares the ways at some points, along the first axis of each argument; "
                f"got one point, of shape {shapes}: give it as x[None], or several."
            )
        self.ops, self.u, self.points, self.key = ops, u, points, key
        self.keys = streams(key, "points of a choice", (sizes.pop()[0], repeats))
        operators, _ = flat_operators(ops)
        self._parts = [operator.parts for operator in operators]

    def unbiased(self) -> dict[str, ProbeKind]:
        """The ways that are unbiased for all the operators, and defined for the function."""
        parts = [part for each in self._parts for part in each]
        kinds: dict[str, ProbeKind] = {
            name: probe
            for name, probe in NAMED.items()
            if name != "auto" and supports(parts, probe)
        }
        terms = [term for part in parts for term in part.terms]
        deflatable = all(is_exact(term) or as_trace(term) is not None for term in terms)
        return kinds | {name: name for name in LEAST if deflatable and self._is_real()}

    def _is_real(self) -> bool:
        """Whether the function has floating values and arguments: deflation needs them."""
        values = jax.eval_shape(jax.vmap(self.u), *self.points)
        kinds = [jnp.result_type(leaf) for leaf in jax.tree.leaves((values, self.points))]
        return all(jnp.issubdtype(kind, jnp.floating) for kind in kinds)

    def cost(self, kind: ProbeKind, n: int) -> float:
        """Floating-point operations at one of many points, as the compiler counts them."""

        def shape(leaf: Any) -> jax.ShapeDtypeStruct:
            array = jnp.asarray(leaf)
            return jax.ShapeDtypeStruct((MANY, *array.shape[1:]), array.dtype)

        function = jax.jit(jax.vmap(_made(self.ops, kind, n, self.key)(self.u)))
        with plain():  # the compiler counts one turn of a loop
            lowered = function.lower(*jax.tree.map(shape, self.points))
        found: Any = lowered.cost_analysis()
        return float(found.get("flops", 0.0)) / MANY  # none at all for a constant u

    def error(self, name: str, kind: ProbeKind, n: int) -> float:
        """The root of the mean variance over the points, summed over outputs."""
        told = not isinstance(kind, str) and kind is not None and not without_error(kind, n)

        def spread(key: Key, args: tuple[Any, ...]) -> Any:
            """An unbiased estimate of the variance, from one draw."""
            draw = make_draw(key, n, kind)
            parts = [[Part(part.terms, draw) for part in each] for each in self._parts]
            found = draws(parts, self.u, Point(args))
            each = [variance_of(found.mean(i), found.deviations(i)) for i in range(len(parts))]
            return _sum(jax.tree.leaves(each))

        def variances(keys: Any, *args: Any) -> Any:
            if told:
                return jnp.mean(jax.vmap(lambda key: spread(key, args))(keys))
            values = jax.vmap(lambda key: _made(self.ops, kind, n, key)(self.u)(*args))(keys)
            leaves = jax.tree.leaves(values)
            return _sum(jnp.var(leaf, axis=0, ddof=1) for leaf in leaves)

        found = float(jnp.mean(jax.jit(jax.vmap(variances))(self.keys, *self.points)))
        if not math.isfinite(found):
            raise ValueError(
                f"the values by {name} are not finite: u or its derivatives are not finite at the "
                "points, or overflow in this precision."
            )
        return math.sqrt(found)


def _chosen(pilot: _Pilot, kinds: dict[str, ProbeKind], n: int) -> Choice:
    """The decision, from measured variances and costs."""
    kinds = {"sparse": NAMED["sparse"]} | kinds
    cost = cache(lambda name, draws: pilot.cost(kinds[name], draws))
    budget = cost("sparse", n)
    exact = Way("exact", 0, pilot.cost(None, 0), 0.0)
    ways = [exact]
    for name, kind in kinds.items():
        least = LEAST[kind] if isinstance(kind, str) else 2
        affordable = _affordable(least, n, budget, lambda k, name=name: cost(name, k))
        if affordable is not None:
            error = pilot.error(name, kind, affordable)
            ways.append(Way(name, affordable, cost(name, affordable), error))
    if exact.operations <= budget:
        reason = f"exact costs no more than {n} sparse draws."
        return Choice(pilot.ops, None, exact, ways, reason)
    within = [way for way in ways[1:] if way.operations <= (1 + ROUNDING) * budget]
    if not within:
        sparse = Way("sparse", n, budget, None)
        reason = "too few draws to compare variances."
        return Choice(pilot.ops, kinds["sparse"], sparse, [*ways, sparse], reason)
    best = min(within, key=lambda way: way.standard_error or 0.0)
    reason = f"the least standard error for what {n} sparse draws cost, on these points."
    return Choice(pilot.ops, kinds[best.name], best, ways, reason)


def _affordable(least: int, n: int, budget: float, cost: Callable[[int], float]) -> int | None:
    """How many draws a budget pays for; None if it does not pay for the least number. Costs are
    nearly a constant plus a multiple of the draws. If they grow in steps, as with pairs of
    products, this line may give too many draws, and the excess is removed.
    """
    low, high = max(least, n // 4), max(least + 4, n)
    slope = (cost(high) - cost(low)) / (high - low)
    draws_ = high
    if slope > 0:
        constant = cost(high) - slope * high
        draws_ = math.floor((budget - constant) / slope + ROUNDING)
    while draws_ >= least and (excess := cost(draws_) - budget) > ROUNDING * budget:
        draws_ -= math.ceil(excess / slope) if slope > 0 else draws_
    return draws_ if draws_ >= least else None


def _sum(leaves: Iterable[Array]) -> Any:
    """The sum of all entries, whatever their precisions."""
    return sum(jnp.sum(leaf).astype(float) for leaf in leaves)
