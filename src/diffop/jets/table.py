"""Plans as things to read: which jets compute an operator, and what they cost."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

from .directions import Dense, Sparse
from .polarisation import polarisation
from .power_jets import Factors, PowerJets, has_probe, order_of
from .probes import DENSE
from .terms import ProbedTerms


class PlanRow(NamedTuple):
    """One homogeneous set of terms of an operator.

    `order`: k; `terms`: their number as a formula in d; `jets`: jets for each term; `directions`,
    `weights`: as formulas (the weights of one term's jets, before its coefficient); `method`:
    "exact", "reverse mode", or the draws of an estimate.

    !!! example

        ```python
        import diffop as do

        (row,) = do.Mixed({0: 1, 1: 1}).jets()
        row.jets, row.weights  # "2", "1/4, -1/4"
        ```
    """

    operator: str
    order: int
    terms: str
    jets: str
    directions: str
    weights: str
    method: str


@final
class Plan:
    """The jets of an operator, symbolic in d. Iterate over its rows; it prints as a table.

    Order K of n jets costs one primal, n (K − 1) coefficients and one collapsed sum.

    !!! example

        ```python
        import diffop as do

        print((do.Laplacian() + do.Biharmonic()).jets())
        ```
    """

    def __init__(self, rows: Sequence[PlanRow]) -> None:
        self.rows = tuple(rows)

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        header = ("operator", "order", "terms", "jets/term", "directions", "weights", "method")
        return _table(header, [tuple(map(str, row)) for row in self.rows])


@final
class ResolvedPlan:
    """The jets of an operator at a point. Iterate over its [`diffop.jets.PowerJets`][]; it prints
    as a table.

    Directions are structured (`Sparse` positions and values, or `Dense` rows): basis vectors are
    never an (n, d) array.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        plan = do.Laplacian().jets(jnp.ones(1000))
        plan.total  # 1000
        ```
    """

    def __init__(self, names: Sequence[str], jets: Sequence[PowerJets]) -> None:
        self.names = tuple(names)
        self.jets = tuple(jets)

    def __iter__(self) -> Iterator[PowerJets]:
        return iter(self.jets)

    def __len__(self) -> int:
        return len(self.jets)

    @property
    def total(self) -> int:
        """The number of jets; jets with equal directions count once."""
        return sum({each.signature or i: each.size for i, each in enumerate(self.jets)}.values())

    @property
    def coefficients(self) -> int:
        """The cost in Taylor coefficients beside the primal: n (K − 1) + 1 for n jets of order
        K.
        """
        return sum(each.size * (each.order - 1) + 1 for each in self.jets)

    def __repr__(self) -> str:
        header = ("operator", "order", "jets", "directions", "method")
        rows = [
            (
                name,
                str(each.order),
                str(each.size),
                ", ".join(f"argument {a}: {_structure(v)}" for a, v in each.directions.items()),
                "exact" if each.draws is None else f"{each.draws} draws",
            )
            for name, each in zip(self.names, self.jets, strict=True)
        ]
        return _table(header, rows) + f"\n{self.total} jets, {self.coefficients} coefficients"


def describe(name: str, factors: Factors, draws: int | None, probes: str) -> PlanRow:
    """The row of one product of factors."""
    order = order_of(factors)
    if any(terms.rank > 0 for terms, _ in factors):
        return PlanRow(name, order, "d", "0", "reverse mode", "", "reverse mode")
    if not factors:
        return PlanRow(name, 0, "1", "0", "", "", "primal")
    single = all(terms.single for terms, _ in factors)
    linear = order == 1 and factors[0][0].rank == 0
    exact = draws is None or single or linear
    dense = not exact and probes in DENSE and has_probe(factors, probes)
    exponents = tuple(p for terms, power in factors for p in terms.exponents * power)
    plan = polarisation(exponents)
    jets = "1" if linear else str(len(plan))
    weights = "1" if linear else ", ".join(dict.fromkeys(str(weight) for _, weight in plan))
    directions = ", ".join(terms.direction_symbol for terms, _ in factors)
    method = "exact"
    if not exact:
        method = f"{draws} draws, exact if terms ≤ {draws}"
    if dense and isinstance(factors[0][0], ProbedTerms):
        directions, jets = f"{probes} v", str(factors[0][0].jets_per_probe)
        weights = "1/4, -1/4" if jets == "2" else "1 over the probe's moment"
    return PlanRow(name, order, _count(factors), jets, directions, weights, method)


def _count(factors: Factors) -> str:
    counts = []
    for terms, power in factors:
        symbol = terms.count_symbol
        if symbol == "1":
            continue
        if power == 1:
            counts.append(symbol)
        elif power == 2 and symbol == "d":
            counts.append("d(d+1)/2")
        else:
            counts.append(f"C({symbol}+{power - 1}, {power})")
    return " · ".join(counts) or "1"


def _structure(rows: Sparse | Dense) -> str:
    if isinstance(rows, Dense):
        return f"dense {rows.array.shape}"
    return f"sparse {rows.positions.shape}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    lines = [header, tuple("─" * width for width in widths), *rows]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
