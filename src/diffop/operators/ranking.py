"""Which probes have the least variance for a function at a point, at an equal number of jets."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._traceback import short_tracebacks
from .._types import Key
from ..jets.point import Point
from ..jets.probes import NAMED, AbstractProbe, as_probe
from ..jets.pushes import number_pushed
from ..jets.table import text_table
from .base import DifferentialOperator
from .draws import make_draw, supports
from .evaluate import segment_jets
from .variance import variance


@final
class RankedProbe(NamedTuple):
    """One line of a [`diffop.ProbeRanking`][].

    - `name`: of the probe.
    - `draws`: how many fit the jets.
    - `jets`: pushed for them.
    - `standard_error`: the root of the variance; of several outputs, that of their sum of
        variances.
    - `method`: "formula" or "pilot".
    """

    name: str
    draws: int
    jets: int
    standard_error: float
    method: str


@final
class ProbeRanking(Sequence[RankedProbe]):
    """Probes by their standard error, the best first; prints as a table. Made by
    [`diffop.rank_probes`][].
    """

    def __init__(self, rows: Sequence[RankedProbe]) -> None:
        self.rows = tuple(sorted(rows, key=lambda row: row.standard_error))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[RankedProbe]:
        return iter(self.rows)

    def __repr__(self) -> str:
        header = ("probes", "draws", "jets", "standard error", "method")
        rows = [(*row[:3], f"{row.standard_error:.3g}", row.method) for row in self.rows]
        return text_table(header, [tuple(map(str, row)) for row in rows])


@short_tracebacks
def rank_probes(
    op: DifferentialOperator,
    u: Callable[..., PyTree],
    *args: Any,
    jets: int = 16,
    key: Key | None = None,
    probes: Sequence[str | AbstractProbe] | None = None,
) -> ProbeRanking:
    """The standard errors of `op.estimate(key, n, probes)(u)(*args)` for several kinds of probes,
    each with as many draws as the same number of jets pays for.

    **Arguments:**

    - `op`, `u`, `*args`: an operator, a function and a point.
    - `jets`: how many jets an estimate may push for what is sampled, at least 2.
    - `key`: for pilots, where there is no formula; see [`diffop.variance`][].
    - `probes`: the kinds to compare; by default all named ones that are unbiased for the operator.

    **Returns:**

    A [`diffop.ProbeRanking`][].

    **Raises:** what `diffop.variance` raises; `ValueError` for fewer than 2 jets.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        u = lambda x: jnp.sum(jnp.arange(8.0) * x**2) + x[0] * x[1]
        kinds = ("sparse", "rademacher")
        ranking = do.rank_probes(do.Laplacian(), u, jnp.ones(8), jets=4, probes=kinds)
        ranking[0].name  # "rademacher": the diagonal has no part in its variance
        ```
    """
    if jets < 2:
        raise ValueError(f"rank_probes compares estimates of at least 2 jets; got jets={jets}.")
    if probes is None:
        unnamed = [each for name, each in NAMED.items() if name != "auto"]
        kinds = [each for each in unnamed if supports(op.parts, each)]
    else:
        kinds = [as_probe(each) for each in probes]
    return ProbeRanking([_row(op, u, args, probe, jets, key) for probe in kinds])


def _row(
    op: DifferentialOperator,
    u: Callable[..., PyTree],
    args: tuple[Any, ...],
    probe: AbstractProbe,
    jets: int,
    key: Key | None,
) -> RankedProbe:
    one, two = (_sampled_jets(op, args, probe, n) for n in (1, 2))
    each = max(1, two - one)
    draws = max(1, 1 + (jets - one) // each)
    found = variance(op, u, *args, probes=probe, n=draws, key=key)
    squares = sum(float(jnp.sum(leaf)) for leaf in jax.tree.leaves(found.value))
    pushed = _sampled_jets(op, args, probe, draws)
    return RankedProbe(probe.name, draws, pushed, math.sqrt(squares), found.method)


def _sampled_jets(
    op: DifferentialOperator, args: tuple[Any, ...], probe: AbstractProbe, n: int
) -> int:
    """How many jets the sampled parts of an estimate push."""
    draw = make_draw(jax.random.key(0), n, probe)
    requests = [(term.word[0], draw) for part in op.parts for term in part.terms if term.word]
    sizes = []

    def count() -> None:
        found = [each for jets in segment_jets(requests, Point(args)) for each in jets or ()]
        sizes.append(number_pushed([each for each in found if each.design is not None]))

    jax.eval_shape(count)  # nothing is drawn
    return sum(sizes)
