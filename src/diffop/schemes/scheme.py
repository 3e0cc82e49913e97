"""Schemes: mixed derivatives as combinations of the outputs of jets, in exact arithmetic."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, final

from ..algebra.algebra import Algebra, Exponents
from ..notation import variable_symbol
from ..scalars import plain
from .expansion import (
    Alpha,
    Direction,
    Expansion,
    Pattern,
    alpha_of,
    alpha_text,
    bell,
    exponents_of,
    pattern_of,
    sum_text,
    word_of,
)


@final
@dataclasses.dataclass(frozen=True)
class Jet:
    """A jet by its tangents. `J[k]` is its derivative of order k, to write readouts with.

    **Arguments:**

    - `pattern`: the tangents, as for [`diffop.schemes.expand`][]: `{2: 0, 3: 1}` has $v_2 = e_0$
        and $v_3 = e_1$; `{1: {0: 2, 1: 1}}` is the curve along $2e_0 + e_1$; `{(1, 0): 0,
        (0, 1): 1}` has two parameters, and `J[3, 1]` is an output of it.

    **Raises:** `ValueError` for a pattern that is not one.

    !!! example

        ```python
        import diffop as do

        J = do.schemes.Jet({1: 0, 2: 1})
        J.expansion(4)  # ∂₀⁴ + 6 ∂₀²∂₁ + 3 ∂₁²
        (J[4] - do.schemes.Jet({1: 0})[4] - 3 * do.schemes.Jet({1: 1})[2]) / 6  # ∂₀²∂₁
        ```
    """

    tangents: Pattern

    def __init__(self, pattern: Mapping[Any, Any]) -> None:
        object.__setattr__(self, "tangents", pattern_of(pattern))

    def expansion(self, order: int | Iterable[int]) -> Expansion:
        """The contents of the output of an order."""
        return Expansion(dict(bell(self.tangents, exponents_of(order, self.tangents))))

    def __getitem__(self, order: int | Iterable[int]) -> "Readout":
        return Readout(((Fraction(1), self, exponents_of(order, self.tangents)),))

    def __repr__(self) -> str:
        tangents = ", ".join(f"v{_order_text(k)} = {_vector(v)}" for k, v in self.tangents)
        return f"jet {tangents}"


@final
@dataclasses.dataclass(frozen=True)
class Readout:
    """A linear combination of outputs of jets, with rational coefficients. It is made by `J[k]`,
    and by adding and scaling such.

    !!! example

        ```python
        import diffop as do

        fourth, straight = do.schemes.Jet({1: "x", 2: "y"}), do.schemes.Jet({1: "x"})
        (fourth[4] - straight[4]).content()  # 6 of ∂_x²∂_y, 3 of ∂_y²
        ```
    """

    terms: tuple[tuple[Fraction, Jet, Exponents], ...]

    def __add__(self, other: Any) -> "Readout":
        if not isinstance(other, Readout):
            return NotImplemented
        return Readout((*self.terms, *other.terms))

    def __sub__(self, other: Any) -> "Readout":
        return self + -1 * other if isinstance(other, Readout) else NotImplemented

    def __neg__(self) -> "Readout":
        return -1 * self

    def __rmul__(self, number: Any) -> "Readout":
        number = plain(number)
        if not isinstance(number, int | Fraction):
            return NotImplemented
        return Readout(tuple((c * number, jet, order) for c, jet, order in self.terms))

    __mul__ = __rmul__

    def __truediv__(self, number: Any) -> "Readout":
        number = plain(number)
        if not isinstance(number, int | Fraction):
            return NotImplemented
        return 1 / Fraction(number) * self

    def collected(self) -> "Readout":
        """Each output once."""
        sums: dict[tuple[Jet, Exponents], Fraction] = {}
        for c, jet, order in self.terms:
            sums[jet, order] = sums.get((jet, order), Fraction(0)) + c
        return Readout(tuple((c, jet, order) for (jet, order), c in sums.items() if c))

    def content(self) -> dict[Alpha, Fraction]:
        """The derivatives in it, with their coefficients."""
        result: dict[Alpha, Fraction] = {}
        for c, jet, order in self.terms:
            for alpha, number in bell(jet.tangents, order):
                result[alpha] = result.get(alpha, Fraction(0)) + c * number
        return {alpha: number for alpha, number in result.items() if number}

    @property
    def amplification(self) -> Fraction:
        """How much rounding errors grow if all derivatives have one size: the sum of the magnitudes
        of everything that is added up, divided by the result.
        """
        return sum(
            (abs(c) * abs(n) for c, jet, order in self.terms for _, n in bell(jet.tangents, order)),
            Fraction(0),
        )

    def __repr__(self) -> str:
        return sum_text((c, f"J{_order_text(order)}") for c, _, order in self.terms)


PlanShape: TypeAlias = tuple[tuple[Exponents, ...], Algebra]
"""The places of the tangents and the algebra: jets of one shape are pushed side by side."""


@final
@dataclasses.dataclass(frozen=True)
class Scheme:
    """Jets, and how mixed derivatives are read from them. It is verified exactly when it is made.

    **Arguments:**

    - `readouts`: for each mixed derivative its [`diffop.schemes.Readout`][]. A derivative is a word
        of variables: `"xxy"`, or `(0, 0, 1)` for $∂₀²∂₁$, or pairs `(argnum, coordinate)` for
        arguments other than the first.
    - `name`: its name in plans.

    A scheme over coordinates can be a plan: `L.exact(u, plan=scheme)`.

    **Raises:** `ValueError` if a readout does not hold exactly its derivative; it names what else
    the readout holds. `TypeError` for anything but readouts.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        J = do.schemes.Jet({2: 0, 3: 1})
        scheme = do.schemes.Scheme({(0, 0, 1): J[7] / 105})
        do.Mixed({0: 2, 1: 1}).exact(lambda x: x[0] ** 2 * x[1], plan=scheme)(jnp.ones(2))  # 2.0
        ```
    """

    readouts: Mapping[Alpha, Readout]
    name: str = "by hand"

    def __init__(self, readouts: Mapping[Any, Readout], name: str = "by hand") -> None:
        for word, each in readouts.items():
            if not isinstance(each, Readout):
                raise TypeError(
                    f"Scheme expects a readout for {word!r}, such as Jet({{1: 'x'}})[1], an output "
                    f"of a jet; got {each!r}."
                )
        collected = {alpha_of(word): each.collected() for word, each in readouts.items()}
        for alpha, readout in collected.items():
            _verify(alpha, readout)
        object.__setattr__(self, "readouts", collected)
        object.__setattr__(self, "name", name)

    def __hash__(self) -> int:
        return hash((frozenset(self.readouts.items()), self.name))

    def over_coordinates(self) -> "Scheme":
        """The same with variables (argnum, coordinate): a plain coordinate belongs to argument 0.

        **Raises:** `ValueError` for variables that are not coordinates.
        """
        return Scheme(
            {
                tuple(map(_coordinate, word_of(alpha))): Readout(
                    tuple((c, _renamed(jet), order) for c, jet, order in readout.terms)
                )
                for alpha, readout in self.readouts.items()
            },
            self.name,
        )

    @property
    def jets(self) -> dict[Jet, Algebra]:
        """Each jet with the monomials that have to be carried."""
        wanted: dict[Jet, list[Exponents]] = {}
        for readout in self.readouts.values():
            for _, jet, order in readout.terms:
                wanted.setdefault(jet, []).append(order)
        return {jet: Algebra.closure(orders) for jet, orders in wanted.items()}

    @property
    def shapes(self) -> dict[PlanShape, list[Jet]]:
        """The jets by what is pushed side by side."""
        result: dict[PlanShape, list[Jet]] = {}
        for jet, kept in self.jets.items():
            result.setdefault((tuple(k for k, _ in jet.tangents), kept), []).append(jet)
        return result

    @property
    def amplification(self) -> Fraction:
        """The largest amplification of its readouts (see [`diffop.schemes.Readout`][])."""
        own = (readout.amplification for readout in self.readouts.values())
        return max(own, default=Fraction(1))

    def __repr__(self) -> str:
        names = {jet: f"J{chr(0x2081 + i)}" for i, jet in enumerate(self.jets)}
        lines = [f"{names[jet]}: {_pushed(jet, kept)}" for jet, kept in self.jets.items()]
        for alpha, readout in self.readouts.items():
            read = sum_text((c, f"{names[j]}{_order_text(k)}") for c, j, k in readout.terms)
            lines.append(f"{alpha_text(alpha)} = {read}")
        return "\n".join(lines)


def _coordinate(variable: Hashable) -> tuple[int, int]:
    match variable:
        case int():
            return 0, variable
        case (int(argnum), int(coordinate)):
            return argnum, coordinate
    raise ValueError(
        "a scheme that is used as a plan has coordinates for variables, or pairs (argnum, "
        f"coordinate); got {variable!r}."
    )


def _renamed(jet: Jet) -> Jet:
    return Jet({k: {_coordinate(v): a for v, a in along} for k, along in jet.tangents})


def _verify(alpha: Alpha, readout: Readout) -> None:
    content = readout.content()
    wanted = content.pop(alpha, Fraction(0))
    if wanted == 1 and not content:
        return
    name = alpha_text(alpha)
    holding = [_holding(alpha, order, jet) for _, jet, order in readout.terms]
    details = "; ".join(dict.fromkeys(each for each in holding if each))
    found = sum_text((n, alpha_text(a)) for a, n in ({alpha: wanted} | content).items() if n)
    raise ValueError(
        f"this is not {name}: the readout holds {found or 'nothing'}"
        + (f" ({details})." if details else ".")
    )


def _holding(alpha: Alpha, order: Exponents, jet: Jet) -> str:
    """What an output holds besides the wanted derivative."""
    others = {a: n for a, n in bell(jet.tangents, order) if a != alpha}
    shown = order[0] if len(order) == 1 else order
    return f"order {shown} also holds {Expansion(others)}" if others else ""


def _pushed(jet: Jet, kept: Algebra) -> str:
    if len(kept.monomials[0]) == 1:
        return f"{jet}, order {kept.degree}"
    tops = ", ".join(str(kept.monomials[place]) for place in sorted(kept.tops))
    return f"{jet}, up to {tops}"


def _order_text(order: Exponents) -> str:
    return f"[{','.join(map(str, order))}]"


def _vector(direction: Direction) -> str:
    parts = [
        ("" if a == 1 else "-" if a == -1 else str(a)) + "e" + variable_symbol(v, 1).lstrip("∂")
        for v, a in direction
    ]
    return " + ".join(parts).replace("+ -", "− ")
