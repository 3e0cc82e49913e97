"""Estimates that add draws until an accuracy is reached."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..array_types import Key, ScalarArray
from ..devices import in_shard_map, is_on_mesh, start_of_sum, varying_over, zeros_for
from ..jets.design import Design
from ..jets.point import Point
from ..probes import AbstractProbe, Sparse
from ..probes.base import Draw
from ..probes.windows import Window, orders
from ..scalars import checked_integer, is_number, plain
from ..streams import stream
from ..terms.evaluate import Head, common_kind, flattened, head_jets, sum_of_two
from ..terms.term import Part, Term
from ..versions import varying_axes
from .draws import make_draw, without_error
from .norms import norm_over_first
from .rounds import AbstractRounds, Tally, empty_tally, rounds_of
from .statistics import draws

_LEAST = 16
"""The least number of draws, in at least two rounds. k draws know their spread to about 1/√(2k), a
fifth for 16. With fewer, a spread that is small by chance would often stop too early.
"""


@final
class Adaptive(NamedTuple):
    """What `L.estimate_to(key, …)(u)(*args)` returns: a [`diffop.estimators.Stats`][], and more.

    - `value`: the estimate.
    - `standard_error`: zero if the value is exact.
    - `jets`: how many were pushed.
    - `n`: how many draws were made for each set of terms (0 if nothing is sampled).
    - `converged`: whether the standard error is as small as asked for; False if `max_n` draws were
        not enough.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.Laplacian().estimate_to(jax.random.key(0), rtol=0.05)
        estimate(lambda x: jnp.sum(x**4))(jnp.linspace(0, 1, 1000)).converged  # True
        ```
    """

    value: PyTree
    standard_error: PyTree
    jets: Array
    n: Array
    converged: Array


@final
class Accuracy(NamedTuple):
    """When to stop: a standard error of at most max(atol, rtol |mean|), or max_n draws."""

    rtol: float
    atol: float
    max_n: int
    batch: int

    def holds(self, mean: Sequence[Array], error: Sequence[Array]) -> Array:
        """Whether it holds for every entry; never for an entry that is NaN."""
        within = [  # XLA takes 0 ≤ max(0, m) for true, even if m is NaN
            jnp.all((e <= jnp.maximum(self.atol, self.rtol * jnp.abs(m))) & ~jnp.isnan(m))
            for m, e in zip(mean, error, strict=True)
        ]
        return jnp.all(jnp.stack(within))


def checked_accuracy(rtol: Any, atol: Any, max_n: Any, batch: Any) -> Accuracy:
    """The condition to stop, checked at the call."""
    rtol, atol = _tolerance(rtol, "rtol"), _tolerance(atol, "atol")
    if rtol == 0 == atol:
        raise ValueError(
            "one of rtol and atol must be positive; got 0 for both. For the exact value use "
            "`L.exact`, for a fixed number of draws `L.estimate`."
        )
    batch = checked_integer(batch, "batch, the draws in a round,", 2)
    max_n = checked_integer(max_n, "max_n, the number of draws in all,", 1)
    if max_n < 2 * batch:  # a smaller batch would change memory and cost: the user has to ask
        raise ValueError(
            f"max_n must allow for two rounds, 2·batch = {2 * batch} draws; got {max_n}. Choose a "
            "smaller batch or more draws."
        )
    return Accuracy(rtol, atol, max_n, batch)


def _tolerance(value: Any, name: str) -> float:
    given, value = value, plain(value)
    if not is_number(value):
        raise TypeError(f"{name} must be a Python number; got {given!r} of {type(given).__name__}.")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and not negative; got {value}.")
    return float(value)


def make_round(key: Key, batch: int, probes: str | AbstractProbe) -> Draw:
    """The draw of the first round, from probes with a standard error.

    **Raises:** `ValueError` for probes without one.
    """
    draw = make_draw(key, batch, probes)
    unknown = without_error(draw.probe, batch)
    if unknown is not None:
        raise ValueError(f"an accuracy needs a standard error, but {unknown}")
    return draw


def adaptive(
    parts: Sequence[Part], draw: Draw, accuracy: Accuracy, u: Callable[..., PyTree], point: Point
) -> Adaptive:
    """The sum of all parts at a point, from as many rounds of `draw` as are needed."""
    exact, sampled = _split(parts, draw, point)
    known = draws([[Part(exact, None)]], u, point) if exact or not sampled else None
    if sampled:
        value, jets = (None, 0) if known is None else (known.exact[0], known.jets)
        return _sampled(value, jets, _Rounds(sampled, draw, accuracy, u, point))
    assert known is not None
    (mean,) = known.exact
    error = jax.tree.map(lambda leaf: jnp.zeros_like(leaf, jnp.finfo(leaf.dtype).dtype), mean)
    converged = accuracy.holds(jax.tree.leaves(mean), jax.tree.leaves(error))
    return Adaptive(mean, error, jnp.asarray(known.jets), jnp.asarray(0), converged)


def _split(
    parts: Sequence[Part], draw: Draw, point: Point
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The terms that a round computes exactly, and the terms that it samples."""
    exact, sampled = [], []
    for term in (term for part in parts for term in part.terms):
        jets = flattened(head_jets([Head(segment, draw) for segment in term.word], point))
        drawn = any(each.design is not None for each in jets)
        drawn = drawn or any(segment.all_drawn for segment in term.word)
        (sampled if drawn else exact).append(term)
    return tuple(exact), tuple(sampled)


@final
class _Rounds:
    """Rounds of draws of some terms, numbered from 0. Rounds are independent, except for draws
    without replacement.
    """

    def __init__(
        self,
        terms: tuple[Term, ...],
        draw: Draw,
        accuracy: Accuracy,
        u: Callable[..., PyTree],
        point: Point,
    ) -> None:
        self.accuracy = accuracy
        self._terms, self._draw, self._u, self._point = terms, draw, u, point
        self._orders = None
        if isinstance(draw.probe, Sparse):
            segments = [segment for term in terms for segment in term.word]
            products = [segment.product for segment in segments]
            self._orders = orders(
                products, point, stream(draw.key, "orders"), accuracy.max_n, accuracy.batch
            )

    def draw(self, number: ScalarArray) -> tuple[list[PyTree], list[Design], int]:
        """The contributions of a round for each design, the designs, and the jets pushed."""
        probe = self._draw.probe
        if self._orders is not None:
            probe = Window(self._orders, number * self.accuracy.batch)
        key = stream(self._draw.key, "round", number)
        part = Part(self._terms, Draw(key, self._draw.n, probe))
        found = draws([[part]], self._u, self._point)
        designs = [design for _, design in found.sampled]
        return [values[0] for values in found.sampled.values()], designs, found.jets


Tallies: TypeAlias = list[list[Tally]]
"""One tally for each design and each output."""

State: TypeAlias = tuple[Array, Tallies]
"""How many rounds were made, and their tallies."""


@final
class _Total:
    """The exact value plus the sums over the rounds of each design, output by output."""

    def __init__(self, exact: Sequence[Array], rules: Sequence[AbstractRounds]) -> None:
        self.exact, self._rules = exact, rules
        self.rounds = max(rule.number for rule in rules)

    def add(
        self, tallies: Tallies, contributions: Sequence[PyTree], number: ScalarArray
    ) -> Tallies:
        return [
            [rule.add(m, z, number) for m, z in zip(known, jax.tree.leaves(tree), strict=True)]
            for rule, known, tree in zip(self._rules, tallies, contributions, strict=True)
        ]

    def summary(self, number: ScalarArray, tallies: Tallies) -> tuple[list[Array], list[Array]]:
        """Means and standard errors after `number` rounds: variances of designs add."""
        means, errors = [], []
        for position, value in enumerate(self.exact):
            found = [each[position] for each in tallies]
            sums = [m.mean for m in found]
            each = [r.standard_error(m, number) for r, m in zip(self._rules, found, strict=True)]
            means.append(functools.reduce(sum_of_two, sums, value))
            errors.append(norm_over_first(jnp.stack(each)))
        return means, errors

    def used(self, number: ScalarArray) -> Array:
        return jnp.max(jnp.stack([rule.used(number) for rule in self._rules]))


def _sampled(exact: PyTree, exact_jets: int, rounds: _Rounds) -> Adaptive:
    """Adds rounds until the accuracy is reached."""
    accuracy = rounds.accuracy
    shapes, designs, jets = eqx.filter_eval_shape(rounds.draw, jnp.asarray(0))
    zeros = _nothing_yet(rounds, shapes)
    if exact is None:
        exact = zeros[0]
    exact = jax.tree.map(lambda leaf, *z: leaf.astype(common_kind(leaf, *z)), exact, *shapes)
    leaves, structure = jax.tree.flatten(exact)
    rules = [rounds_of(design, accuracy.batch, accuracy.max_n) for design in designs]
    total = _Total(leaves, rules)
    start = [[empty_tally(leaf) for leaf in jax.tree.leaves(tree)] for tree in zeros]
    number, tallies = _loop(rounds, total, start)
    means, errors = total.summary(number, tallies)
    converged = accuracy.holds(means, errors)
    means = [m.astype(leaf.dtype) for m, leaf in zip(means, leaves, strict=True)]
    errors = [e.astype(jnp.finfo(m.dtype).dtype) for e, m in zip(errors, means, strict=True)]
    return Adaptive(
        jax.tree.unflatten(structure, means),
        jax.tree.unflatten(structure, errors),
        exact_jets + jets * number,
        total.used(number),
        converged,
    )


def _nothing_yet(rounds: _Rounds, shapes: Sequence[PyTree]) -> list[PyTree]:
    """Zeros with the shapes of one contribution to each design."""
    if any(map(is_on_mesh, jax.tree.leaves(shapes))):
        first = jnp.asarray(0)
        return start_of_sum(lambda: jax.tree.map(lambda z: z[0], rounds.draw(first)[0]))
    return jax.tree.map(lambda z: jnp.zeros(z.shape[1:], z.dtype), list(shapes))


def _loop(rounds: _Rounds, total: _Total, start: Tallies) -> State:
    """How many rounds were made, and their tallies.

    Equinox's checkpointed loop has a reverse mode, in which u and the point may be closed over. A
    checkpoint for each round takes no more memory than some copies of u's output. Inside
    `jax.shard_map` another loop is used: what Equinox keeps for the reverse mode does not vary over
    devices there, and without `jax.jit` JAX refuses rules such as that of its loop.
    """
    accuracy = rounds.accuracy
    least = max(2, -(-_LEAST // accuracy.batch))

    def unfinished(state: State) -> Array:
        return (state[0] < least) | ~accuracy.holds(*total.summary(*state))

    def one_more(state: State) -> State:
        # Under vmap all points that need more rounds are in the same round, the latest, and share
        # its jets. The results for the other points are thrown away.
        number = varying_over(eqxi.unvmap_max(state[0]), varying_axes(state[0]))
        contributions, _, _ = rounds.draw(number)
        after = number + 1, total.add(state[1], contributions, number)
        more = unfinished(state)
        return jax.tree.map(lambda new, old: jnp.where(more, new, old), after, state)

    # arrays that are selected together lie on the devices together, and are mapped together; the
    # exact value is a part of what decides whether to select them
    leaves = [*total.exact, *jax.tree.leaves(start)]
    number = sum((zeros_for(leaf, (), int) for leaf in leaves), jnp.asarray(0))
    start = jax.tree.map(lambda leaf: leaf + zeros_for(number, (), leaf.dtype), start)
    if in_shard_map():
        return _scanned(unfinished, one_more, (number, start), total.rounds)
    return eqxi.while_loop(
        lambda state: _anywhere(unfinished(state)),
        one_more,
        (number, start),
        max_steps=total.rounds,
        kind="checkpointed",
        checkpoints=total.rounds,
    )


def _scanned(
    unfinished: Callable[[State], Array],
    one_more: Callable[[State], State],
    start: State,
    rounds: int,
) -> State:
    """As many rounds as are needed on any device, by a loop over all that may be needed, in which
    the others cost nothing. All devices agree on which these are. The reverse mode keeps the state
    before each round, as the checkpointed loop does.
    """

    def step(carry: tuple[State, Array], _: None) -> tuple[tuple[State, Array], None]:
        state, needed = carry

        def made() -> tuple[State, Array]:
            after = one_more(state)
            return after, _anywhere(unfinished(after))

        return jax.lax.cond(needed, made, lambda: carry), None

    needed = _anywhere(unfinished(start))
    (found, _), _ = jax.lax.scan(
        jax.checkpoint(step, prevent_cse=False), (start, needed), None, length=rounds
    )
    return found


def _anywhere(unfinished: Array) -> Array:
    """Whether any point on any device needs more. u may communicate, so all have to take part."""
    needed, axes = eqxi.unvmap_any(unfinished), varying_axes(unfinished)
    if not axes:
        return needed
    return jax.lax.psum(varying_over(needed, axes).astype(int), tuple(sorted(axes))) > 0
