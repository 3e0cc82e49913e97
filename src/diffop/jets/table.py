"""Plans in readable form: the jets that compute an operator, and their cost."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

from ..schemes.cost import Cost
from ..schemes.planner import Planned
from .directions import DenseRows, SparseRows
from .pushes import coefficients, number_pushed
from .weighted_jets import WeightedJets


class PlanRow(NamedTuple):
    """One homogeneous set of terms of an operator.

    `order`: k; `terms`: their number as a formula in d; `jets`: jets for each term; `directions`,
    `weights`: as formulas (the weights of one term's jets, before its coefficient); `method`:
    "exact", "reverse mode", or the draws of an estimate.

    !!! example

        ```python
        import diffop as do

        (row,) = do.Mixed({0: 2, 1: 1}).jets(plan="power")
        row.jets, row.weights  # "3", "1/6, -1/6, -1/3"
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
    """The jets of an operator, symbolic in d. Iterate over its rows. It prints as a table, followed
    by the schemes by which mixed derivatives are read.

    - `planned`: each scheme with its [`diffop.schemes.Cost`][], and those of the candidates to
        which it was preferred.

    !!! example

        ```python
        import diffop as do

        print((do.Laplacian() + do.Mixed({0: 2, 1: 1})).jets())
        ```
    """

    def __init__(self, rows: Sequence[PlanRow], planned: Sequence[Planned] = ()) -> None:
        self.rows = tuple(rows)
        self.planned = tuple({repr(each.scheme): each for each in planned}.values())

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        header = ("operator", "order", "terms", "jets/term", "directions", "weights", "method")
        table = text_table(header, [tuple(map(str, row)) for row in self.rows])
        return "\n\n".join([table, *map(_scheme_text, self.planned)])


@final
class ResolvedPlan:
    """The jets of an operator at a point. Iterate over its [`diffop.jets.WeightedJets`][]; it
    prints as a table.

    Directions are structured (positions and values of `SparseRows`, or `DenseRows`): basis vectors
    are never an (n, d) array.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        plan = do.Laplacian().jets(jnp.ones(1000))
        plan.total  # 1000
        ```
    """

    def __init__(self, names: Sequence[str], jets: Sequence[WeightedJets]) -> None:
        self.names = tuple(names)
        self.jets = tuple(jets)

    def __iter__(self) -> Iterator[WeightedJets]:
        return iter(self.jets)

    def __len__(self) -> int:
        return len(self.jets)

    @property
    def total(self) -> int:
        """The number of jets; those with equal directions count once."""
        return number_pushed(self.jets)

    @property
    def coefficients(self) -> int:
        """The cost in Taylor coefficients beside the primal, the maximal ones collapsed: n (K − 1)
        + 1 for n curves of order K.
        """
        return coefficients(self.jets)

    def __repr__(self) -> str:
        header = ("operator", "output", "jets", "directions", "method")
        rows = [
            (
                name,
                ",".join(map(str, each.output)),
                str(each.size),
                "; ".join(_tangent(k, v) for k, v in sorted(each.tangents.items())),
                _method(each),
            )
            for name, each in zip(self.names, self.jets, strict=True)
        ]
        return text_table(header, rows) + f"\n{self.total} jets, {self.coefficients} coefficients"


def _method(jets: WeightedJets) -> str:
    if jets.draws is not None:
        return f"{jets.draws} draws"
    return "exact" if jets.matrix is None else "exact, meeting by a matrix"


def _tangent(exponents: tuple[int, ...], directions: Any) -> str:
    order = f"v[{','.join(map(str, exponents))}] " if exponents != (1,) else ""
    return order + ", ".join(f"argument {a}: {_structure(v)}" for a, v in directions.items())


def _scheme_text(planned: Planned) -> str:
    others = ", ".join(
        f"{name} {other.score:.1f}"
        for name, other in sorted(planned.others.items(), key=lambda item: item[1].score)
    )
    runners_up = f"; others: {others}" if others else ""
    head = f"plan {planned.scheme.name}: {_cost_text(planned.cost)}{runners_up}"
    return f"{head}\n{planned.scheme}"


def _cost_text(cost: Cost) -> str:
    return (
        f"score {cost.score:.1f} ({cost.coefficients} coefficients, {cost.products} products, "
        f"{cost.arrays} arrays, rounding × {float(cost.amplification):.3g})"
    )


def _structure(rows: SparseRows | DenseRows) -> str:
    if isinstance(rows, DenseRows):
        return f"dense {rows.array.shape}"
    return f"sparse {rows.positions.shape}"


def text_table(header: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    """Rows as aligned columns below a header."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    lines = [header, tuple("─" * width for width in widths), *rows]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
