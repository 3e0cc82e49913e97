"""How time and memory grow with d, n, K, width and depth, beside what cannot be avoided.

The operator is Σ_i ∂_i^K, estimated from n sparse jets or exact, of the network on the unit ball.
The floors are u itself, and a regression step: the same network, points and optimiser, and no
derivative by x.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

import diffop as do

from ..harness.case import Case, Scope
from ..harness.program import Program, Runnable
from ..harness.records import Record, Records
from ..harness.slopes import slope
from ..harness.suite import AbstractTimed
from ..harness.table import Curves, Table, curves, duration, listing, megabytes, ratio
from ..harness.training import Training
from ..subjects.agreement import check_agreement, forward
from ..subjects.methods import Method, itself, laplacian_by_hand
from ..subjects.networks import Network, ball_points, mlp
from ..subjects.steps import OURS

POINTS = 100
FLOOR, EXACT, ESTIMATE = "u itself", "exact", "estimate"
BASE = {"d": 1000, "n": 16, "K": 2, "width": 128, "depth": 3}
AXES = tuple(BASE)
PARTS = ("value", "step")
UNIT = 4
"""The order that others are compared with."""


class Scaling(AbstractTimed):
    name = "scaling"
    title = "time and memory against d, n, K, width and depth, beside u itself"
    budget = 8.0

    def cases(self, scope: Scope) -> Iterator[Case]:
        base = {**BASE, "d": 10, "n": 2, "width": 4} if scope.level == "mini" else BASE
        for axis, values in _values(scope).items():
            for value in values:
                for part in PARTS if axis == "d" else PARTS[1:]:
                    for method in _methods(axis, value):
                        sizes = {**base, axis: value}
                        yield self.case(method, axis=axis, part=part, **sizes)

    def program(self, case: Case) -> Runnable:
        u = _network(case)
        if case.sizes["part"] == "value":
            points = ball_points(POINTS, case.whole("d"))
            return Program(_value, case, u, points, jax.random.key(2))
        return Training(_regression(case), u)

    def beside(self, case: Case) -> Case | None:
        return None if case.method == FLOOR else case._replace(method=FLOOR)

    def check(self, case: Case) -> None:
        """The Laplacian by hand, and an estimate by one-hot jets along the same coordinates."""
        if case.method == FLOOR or case.sizes["K"] != 2:
            return
        key, dim = jax.random.key(2), case.whole("d")
        others = {
            EXACT: laplacian_by_hand,
            ESTIMATE: do.baselines.estimate("jet", do.Laplacian(), key, case.whole("n")),
        }
        ways = {"other": others[case.method], OURS: _method(case, key)}
        check_agreement(ways, _network(case), ball_points(2, dim))

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        columns = {
            "by": lambda record: str(record.case.sizes["axis"]),
            "size": lambda record: f"{_size(record):,}",
            "part": lambda record: str(record.case.sizes["part"]),
            "method": lambda record: record.case.method,
            "time": duration,
            "beside u itself": ratio,
            "peak memory": megabytes,
            "temporary": lambda record: megabytes(record, "temporary_mb"),
        }
        yield listing("all", ours, columns)
        yield _slopes(ours)
        yield _orders(ours)
        yield _headline(ours)

    def pictures(self, ours: Records) -> Iterator[Curves]:
        for part in PARTS:
            chosen = ours.where(axis="d", part=part)
            yield curves(f"scaling-{part}", chosen, ("d", "d"), ("seconds", "seconds"), floor=FLOOR)


def _values(scope: Scope) -> dict[str, list[int]]:
    mini = {"K": [2, 4]}
    short = {"d": [100, 1000, 10_000]}
    full = {
        "d": [100, 1000, 10_000, 100_000, 1_000_000],
        "n": [1, 16, 64, 256],
        "K": [2, 4, 6, 8],
        "width": [128, 256, 512, 1024],
        "depth": [3, 6, 12, 24],
    }
    return scope.pick([mini], [short], [full])[0]


def _methods(axis: str, value: int) -> tuple[str, ...]:
    """The exact operator of order two is one pass of first-layer width; that of a higher order has
    a jet for each coordinate, and is another question.
    """
    return (FLOOR, ESTIMATE, EXACT) if axis in ("d", "width", "depth") else (FLOOR, ESTIMATE)


def _method(case: Case, key: jax.Array) -> Method:
    operator = do.DiagonalK(case.whole("K"))
    ways: dict[str, Callable[[], Any]] = {
        FLOOR: lambda: itself,
        EXACT: lambda: operator.exact,
        ESTIMATE: lambda: operator.estimate(key, case.whole("n")),
    }
    return ways[case.method]()


def _network(case: Case) -> do.nn.ZeroOnUnitSphere:
    network = Network(layers=case.whole("depth") + 1, width=case.whole("width"))
    return do.nn.ZeroOnUnitSphere(mlp(case.whole("d"), network))


def _value(case: Case, u: Any, points: jax.Array, key: jax.Array) -> jax.Array:
    return forward(_method(case, key), u, points)


def _regression(case: Case) -> Callable[..., jax.Array]:
    """The mean square of the method's values at new points: of u itself, a regression on zero."""

    def loss(u: Any, key: jax.Array, _: None) -> jax.Array:
        points_key, jets_key = jax.random.split(key)
        points = do.pde.unit_ball_by_radius(points_key, POINTS, case.whole("d"))
        return jnp.mean(forward(_method(case, jets_key), u, points) ** 2)

    return loss


def _size(record: Record) -> int:
    return record.case.whole(str(record.case.sizes["axis"]))


def _slopes(ours: Records) -> Table:
    """The powers s of cost ≈ c · sizeˢ over the upper half of the sizes, where what does not grow
    matters least.
    """
    lines = []
    for axis in ours.sizes("axis"):
        for part in PARTS:
            for method in ours.where(axis=axis, part=part).methods:
                found = ours.where(method, axis=axis, part=part).good
                upper = sorted(found, key=_size)[len(found) // 2 - 1 if len(found) > 2 else 0 :]
                if len(upper) < 2:
                    continue
                sizes = [_size(record) for record in upper]
                powers = [
                    f"{slope(sizes, [record.values[name] for record in upper]):.2f}"
                    for name in ("seconds", "temporary_mb")
                ]
                span = f"{sizes[0]:,} – {sizes[-1]:,}"
                lines.append([axis, span, part, method, *powers])
    header = ["by", "from – to", "part", "method", "time ∝ sizeˢ, s", "temporary memory, s"]
    return Table("slopes", header, lines)


def _orders(ours: Records) -> Table:
    """What a derivative of a higher order costs, with that of order four as the unit. Products with
    the layers' matrices are K − 1 + 1/n for each of n jets: from four to eight they grow by 7/3.
    """
    chosen = ours.where(axis="K").good
    orders = sorted({record.case.whole("K") for record in chosen})
    lines = []
    for part in PARTS:
        for method in chosen.where(part=part).methods:
            seconds = {
                record.case.whole("K"): record.values["seconds"]
                for record in chosen.where(method, part=part)
            }
            if UNIT not in seconds:
                continue
            beside = [f"{seconds[k] / seconds[UNIT]:.2f}" if k in seconds else "" for k in orders]
            lines.append([part, method, *beside])
    return Table("orders", ["part", "method", *(f"K = {k}" for k in orders)], lines)


def _headline(ours: Records) -> Table:
    """What derivatives cost in the most dimensions, with u itself as the unit."""
    chosen = ours.where(axis="d", d=max(ours.where(axis="d").sizes("d"), default=0))
    lines = []
    for method, code in (
        (ESTIMATE, "`do.Laplacian().estimate(key, 16)(u)`"),
        (EXACT, "`do.Laplacian().exact(u)`"),
    ):
        found = (chosen.one(method, part=part) for part in PARTS)
        lines.append([code, *("" if each is None else ratio(each) for each in found)])
    size = f"{chosen[0].case.whole('d'):,}" if chosen else ""
    return Table("headline", [f"d = {size}", "value", "training step"], lines)
