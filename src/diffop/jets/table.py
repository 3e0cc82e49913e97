"""Plans in readable form: the jets that compute an operator, and their cost."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

from ..algebra.algebra import Exponents
from ..schemes.scheme import Scheme
from .directions import Directions, Rows
from .pushes import Group, groups
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

    - `schemes`: the [`diffop.schemes.Scheme`][]s by which mixed derivatives are read.

    !!! example

        ```python
        import diffop as do

        print((do.Laplacian() + do.Mixed({0: 2, 1: 1})).jets())
        ```
    """

    def __init__(self, rows: Sequence[PlanRow], schemes: Sequence[Scheme] = ()) -> None:
        self.rows = tuple(rows)
        self.schemes = tuple({repr(each): each for each in schemes}.values())

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        header = ("operator", "order", "terms", "jets/term", "directions", "weights", "method")
        table = text_table(header, [tuple(map(str, row)) for row in self.rows])
        return "\n\n".join([table, *map(_scheme_text, self.schemes)])


@final
class Push(NamedTuple):
    """What is pushed through one function: u, or operators applied to u.

    - `function`: its name.
    - `named`: the weighted jets that are read, with the names of their operators.
    - `inside`: the pushes that one value of the function takes; none for u.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        (push,) = (do.Laplacian() @ do.Laplacian()).jets(jnp.ones(20)).pushes
        push.function, push.coefficients  # ('Δ u', 483), which is (1 + 21) (1 + 21) − 1
        ```
    """

    function: str
    named: Sequence[tuple[str, WeightedJets]]
    inside: Sequence["Push"]

    @property
    def groups(self) -> list[Group]:
        """The jets by what is pushed together."""
        return groups([jets for _, jets in self.named])

    @property
    def coefficients(self) -> int:
        """How many coefficients there are beside u's value."""
        own, inside = (sum(each.coefficients for each in s) for s in (self.groups, self.inside))
        return (1 + own) * (1 + inside) - 1

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of a table."""
        names = {id(jets): name for name, jets in self.named}
        return [
            (
                ", ".join(dict.fromkeys(names[id(each)] for each in group.members)),
                self.function,
                str(group.size),
                _tangents(group.tangents),
                _outputs(group.members),
                str(group.coefficients),
                ", ".join(dict.fromkeys(map(_method, group.members))),
            )
            for group in self.groups
        ]


def _all_of(pushes: Iterable[Push]) -> Iterator[Push]:
    for push in pushes:
        yield push
        yield from _all_of(push.inside)


@final
class ResolvedPlan:
    """The jets of an operator at a point: what is pushed when it is evaluated there. Iterate over
    its [`diffop.jets.WeightedJets`][]; it prints as a table.

    - `pushes`: the jets by the function through which they are pushed, as [`diffop.jets.Push`][]es.
        An operator that is applied to another one's value is pushed through that value.

    Directions are values at positions ([`diffop.jets.Rows`][]): basis vectors are never an (n, d)
    array.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        plan = do.Laplacian().jets(jnp.ones(1000))
        plan.total  # 1000
        ```
    """

    def __init__(
        self, pushes: Sequence[Push], least: Callable[[], int | None] = lambda: None
    ) -> None:
        self.pushes = tuple(pushes)
        self._least = least

    @property
    def jets(self) -> tuple[WeightedJets, ...]:
        """All jets that are read."""
        return tuple(jets for push in _all_of(self.pushes) for _, jets in push.named)

    def __iter__(self) -> Iterator[WeightedJets]:
        return iter(self.jets)

    def __len__(self) -> int:
        return len(self.jets)

    @property
    def total(self) -> int:
        """The number of jets; those that are pushed together count once."""
        return sum(group.size for push in _all_of(self.pushes) for group in push.groups)

    @property
    def coefficients(self) -> int:
        """The cost in Taylor coefficients beside the primal, the maximal ones collapsed: n (K − 1)
        + 1 for n curves of order K. For an operator on a function that has coefficients itself,
        each of its coefficients has all of these.
        """
        return sum(push.coefficients for push in self.pushes)

    @property
    def least(self) -> int | None:
        """How many coefficients any pass has to carry: the dimension of the
        [algebra](../../devdocs/algebra.md) of the operator. None if the operator is no sum of known
        derivatives, is estimated, or has too many terms to count. Numbers that depend on the point
        may be any.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            do.Biharmonic().jets(jnp.ones(3)).least  # 13
            ```
        """
        return self._least()

    def __repr__(self) -> str:
        header = ("operator", "of", "jets", "directions", "reads", "coefficients", "method")
        rows = [row for push in _all_of(self.pushes) for row in push.rows]
        if not rows:
            return "no jets: values alone, and gradients in reverse mode"
        least = self.least  # counted once: it may take a second
        bound = "" if least is None else f" (least: {least})"
        jets, numbers = _counted(self.total, "jet"), _counted(self.coefficients, "coefficient")
        return f"{text_table(header, rows)}\n{jets}, {numbers}{bound}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _method(jets: WeightedJets) -> str:
    if jets.draws is not None:
        return f"{jets.draws} draws"
    return "exact" if jets.matrix is None else "exact, meeting by a matrix"


def _tangents(tangents: Mapping[Exponents, Directions]) -> str:
    """The forms of directions, each once, with its number."""
    forms = Counter(_tangent(*each) for each in sorted(tangents.items()))
    return "; ".join(f"{n} × {form}" if n > 1 else form for form, n in forms.items())


def _tangent(exponents: Exponents, directions: Directions) -> str:
    order = f"v[{','.join(map(str, exponents))}] " if sum(exponents) > 1 else ""
    return order + ", ".join(f"argument {a}: {_structure(v)}" for a, v in directions.items())


def _outputs(members: Sequence[WeightedJets]) -> str:
    """What is read: derivatives by exponents, or how many they are."""
    outputs = dict.fromkeys(",".join(map(str, each.output)) for each in members)
    return f"{len(outputs)} derivatives" if len(outputs) > 2 else "; ".join(outputs)


def _scheme_text(scheme: Scheme) -> str:
    return f"plan {scheme.name}, rounding × {float(scheme.amplification):.3g}\n{scheme}"


def _structure(rows: Rows) -> str:
    return f"{'dense' if rows.positions is None else 'sparse'} {rows.values.shape}"


def text_table(header: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    """Rows as aligned columns below a header."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    lines = [header, tuple("─" * width for width in widths), *rows]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
