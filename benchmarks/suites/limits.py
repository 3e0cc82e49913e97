"""What operators cost beside the least work that is known for them, at the machine's peak."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax

import diffop as do

from ..harness.case import Case, Scope
from ..harness.peak import measured_peak
from ..harness.program import Program, Runnable
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed, Values
from ..harness.table import Table, duration, listing
from ..subjects.agreement import PARTS
from ..subjects.equations import EQUATIONS, Equation
from ..subjects.least import Least, coefficients, least
from ..subjects.methods import Method, itself
from ..subjects.networks import BASE, Network, ball_points, mlp
from ..subjects.steps import JETS, OURS, POINTS, training
from ..subjects.words import residuals
from .high_order import training as equation_training

STEP = "step"


class Subject(NamedTuple):
    """Programs by part, and the least work of each."""

    programs: Mapping[str, Callable[[], Runnable]]
    least: Mapping[str, Least]


class Limits(AbstractTimed):
    name = "limits"
    title = "times beside the least work that is known, at the machine's peak"
    budget = 8.0

    def cases(self, scope: Scope) -> Iterator[Case]:
        names = list(_SUBJECTS)
        for name in scope.pick(names[:1], names[:6], names):
            for part in _SUBJECTS[name].programs:
                yield self.case(OURS, subject=name, part=part)

    def program(self, case: Case) -> Runnable:
        return _subject(case).programs[str(case.sizes["part"])]()

    def values(self, case: Case, program: Runnable) -> Values:
        peak, least = measured_peak(), _subject(case).least[str(case.sizes["part"])]
        return {
            "peak_flops": peak.flops,
            "peak_bytes": peak.bytes,
            "flops": least.flops,
            "bytes": least.bytes,
            "least_seconds": least.seconds(peak),
        }

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        columns = {
            "what": lambda record: str(record.case.sizes["subject"]),
            "part": lambda record: str(record.case.sizes["part"]),
            "time": duration,
            "operations": lambda record: _short(record, "flops"),
            "bytes": lambda record: _short(record, "bytes"),
            "least time": lambda record: duration(record, "least_seconds"),
            "time / least": _ratio,
        }
        yield listing("all", ours, columns)
        yield _peaks(ours)


def _subject(case: Case) -> Subject:
    return _SUBJECTS[str(case.sizes["subject"])]


def _short(record: Record, name: str) -> str:
    return f"{record.values[name]:.2g}" if name in record.values else record.text(name)


def _ratio(record: Record) -> str:
    if "least_seconds" not in record.values:
        return record.text("least_seconds")
    return f"{record.values['seconds'] / record.values['least_seconds']:.3g}"


def _peaks(ours: Records) -> Table:
    """The most that any of the processes has seen."""
    found = ours.good
    lines = [
        [words, f"{max((each.values[name] for each in found), default=0) / 1e9:,.0f} {unit}"]
        for words, name, unit in (
            ("multiplications and additions", "peak_flops", "Gflop/s"),
            ("bytes read and written", "peak_bytes", "GB/s"),
        )
    ]
    return Table("peak", ["peak", "of the machine"], lines)


_SUMS = {"2D KdV": ("xxxy", "yt", "yy"), "2D KP": ("xxxx", "xt", "yy"), "1D g-KdV": ("xxxt", "tt")}
"""Derivatives that no other one of the equation contains, and that occur in one sum alone."""


def _equation(equation: Equation) -> Subject:
    through = coefficients(equation.words, _SUMS[equation.name])
    method = residuals(equation)[OURS]
    return Subject(
        {STEP: lambda: equation_training(equation.dim, method, BASE, POINTS)},
        {STEP: least(equation.dim, BASE, POINTS, through)["gradient"]},
    )


def _operator(
    method: Method,
    dim: int,
    least: Mapping[str, Least],
    network: Network = BASE,
    ansatz: Callable[[Any], Any] = do.nn.ZeroOnUnitSphere,
) -> Subject:
    def program(part: str) -> Program:
        return Program(PARTS[part], method, ansatz(mlp(dim, network)), ball_points(POINTS, dim))

    return Subject({part: functools.partial(program, part) for part in PARTS}, least)


def _dense(dim: int, width: int) -> Subject:
    """Exact, without a factor: a direction for each coordinate, and the sum of what collapses."""
    network = BASE._replace(width=width)
    through = least(dim, network, POINTS, dim + 2)
    return _operator(do.Laplacian().exact, dim, through, network, lambda net: net)


def _replaced(dim: int, network: Network = BASE) -> Subject:
    """Exact, with as many directions as the first layer is wide."""
    found = least(dim, network, POINTS, 2, moments=True)
    return _operator(do.Laplacian().exact, dim, found, network)


def _drawn(order: int, dim: int) -> Subject:
    """Coordinates that are drawn: K − 1 numbers for each, and the sum of what collapses."""
    method = do.DiagonalK(order).estimate(jax.random.key(2), JETS)
    return _operator(method, dim, least(dim, BASE, POINTS, JETS * (order - 1) + 2))


def _step(dim: int) -> Subject:
    program = functools.partial(training, OURS, "allen-cahn-two-body", dim)
    return Subject({STEP: program}, {STEP: least(dim, BASE, POINTS, JETS + 2)[STEP]})


_SUBJECTS: dict[str, Subject] = {
    **{f"{equation.name}, base network": _equation(equation) for equation in EQUATIONS},
    **{
        f"Δ in {dim} dimensions, exact, width {width}": _dense(dim, width)
        for dim, width in ((3, 64), (10, 64), (50, 128))
    },
    **{f"`do.DiagonalK({k})` in 1,000 dimensions, 16 draws": _drawn(k, 1000) for k in (4, 8)},
    **{
        f"Δ in 1,000 dimensions, exact, width {width:,}, {layers - 1} hidden layers": _replaced(
            1000, Network(layers, width)
        )
        for width in (128, 512, 1024)
        for layers in (3, 4)
    },
    "u itself in 1,000,000 dimensions": _operator(
        itself, 1_000_000, least(1_000_000, BASE, POINTS, 1)
    ),
    "Δ in 1,000,000 dimensions, 16 draws": _drawn(2, 1_000_000),
    "Δ in 1,000,000 dimensions, exact": _replaced(1_000_000),
    "a step in 100,000 dimensions, 16 draws": _step(100_000),
}
