"""The base class of all operators: arithmetic, composition and evaluation."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import jax
import numpy as np
import wadler_lindig as wl
from jaxtyping import PyTree

from ..complete import Complete
from ..jets.fields import Number
from ..jets.point import Point
from ..jets.table import Plan, ResolvedPlan
from ..probes.base import Draw
from ..scalars import is_number, plain
from ..schemes.names import PlanKind
from ..terms.arguments import Function, is_function, is_operator
from ..terms.coefficients import ScalarCoefficient, as_coefficient, multiply
from ..terms.equality import same
from ..terms.plans import plan_of
from ..terms.term import Part, Term, compose, function_term, merged, text


class Operator(Complete):
    """A linear differential operator, or a fixed sample of one.

    Operators add (`A + B`, `A - B`, `sum`), scale (`2 * A`, `A / 3`, `theta * A` for a 0-d array),
    take variable coefficients on the left (`c * A` for a callable `c(*args)`) and compose (`A @ B`,
    `A ** m`). They are pytrees: array coefficients are leaves and can be learnt, Python numbers are
    part of the structure. They compare with `==` as polynomials and print as mathematics.

    Products `A * B`, which are pointwise, u ↦ (A u)(B u), and `A @ φ` with a function φ of u's
    value are [`diffop.operators.NonlinearOperator`][]s.
    """

    __array_ufunc__ = None
    is_operator: ClassVar[bool] = True
    """Lets `arguments.is_function` recognise operators, which it cannot import."""
    is_linear: ClassVar[bool] = True
    """Whether all terms are linear, for a [`diffop.operators.NonlinearOperator`][]."""

    @property
    @abstractmethod
    def leaves(self) -> tuple[tuple[tuple[Part, ...], int | None], ...]:
        """The operators that act on u directly: parts, each with the number of their draw, or None
        if they are never drawn. A linear operator is one leaf.
        """

    @property
    def parts(self) -> tuple[Part, ...]:
        """The operator's terms: the exact ones and those of each draw."""
        return self.leaves[0][0]

    def combine(self, values: Sequence[PyTree], point: Point) -> PyTree:
        """The value at a point, computed from the values of the leaves."""
        return values[0]

    @property
    @abstractmethod
    def exact(self) -> Callable[..., Function]:
        """The operator without sampling: a map from functions to functions, like `jax.grad`."""

    def jets(self, *args: Any, plan: PlanKind = "auto") -> Plan | ResolvedPlan:
        """The plan: which jets compute the operator.

        **Arguments:**

        - `*args`: nothing for the plan as a formula in d; u's arguments (or their
            `jax.ShapeDtypeStruct`) for the plan at such a point.
        - `plan` (by keyword): as for `exact`.

        **Returns:**

        A [`diffop.jets.Plan`][], or a [`diffop.jets.ResolvedPlan`][] with structured directions and
        weights. Both print as a table.
        """
        return plan_of([self.parts], args, plan)

    def __add__(self, other: Any) -> "Operator":
        if not isinstance(other, Operator):
            return refused_term(other)
        return _from_parts((*self.parts, *other.parts))

    def __radd__(self, other: Any) -> "Operator":
        return self if isinstance(other, int) and other == 0 else refused_term(other)

    def __sub__(self, other: Any) -> "Operator":
        return self + (-other) if isinstance(other, Operator) else refused_term(other)

    def __rsub__(self, other: Any) -> "Operator":
        return -self if isinstance(other, int) and other == 0 else refused_term(other)

    def __neg__(self) -> "Operator":
        return _scale(Number(-1), self)

    def __mul__(self, other: Any) -> Any:
        if is_operator(other):
            from .nonlinear import as_nonlinear  # which is made of operators

            return as_nonlinear(self) * other
        scalar = as_coefficient(other)
        if scalar is not None:
            return _scale(scalar, self)
        if callable(other):
            raise TypeError(
                "A * c is ambiguous for a function c: write c * A to multiply A's result by "
                "c(x), or A @ (c * Identity()) to apply A to the product c(x) u(x)."
            )
        return NotImplemented

    def __rmul__(self, other: Any) -> "Operator":
        scalar = as_coefficient(other)
        if scalar is not None:
            return _scale(scalar, self)
        if not callable(other):
            return NotImplemented
        factor = function_term(other)
        return _map_terms(lambda term: compose(factor, term), self)

    def __truediv__(self, other: Any) -> "Operator":
        inverse = reciprocal(other)
        return NotImplemented if inverse is None else _scale(inverse, self)

    def __rtruediv__(self, other: Any) -> Any:
        return refused_divisor(self, other)

    def __matmul__(self, other: Any) -> Any:
        if is_function(other):
            from .nonlinear import FunctionOf  # which is made of operators

            return self @ FunctionOf(other)
        if not isinstance(other, Operator):
            return NotImplemented
        _refuse_estimates(self, other)
        products = (
            compose(a, b)
            for left in self.parts
            for a in left.terms
            for right in other.parts
            for b in right.terms
        )
        return _from_parts((Part(tuple(products), None),))

    def __pow__(self, exponent: Any) -> "Operator":
        exponent = plain(exponent)
        if not isinstance(exponent, int) or isinstance(exponent, bool):
            return refused_power(exponent)
        if exponent < 0:
            raise ValueError(f"an operator's power must be 0, 1, 2, …; got {exponent}.")
        if exponent > 1 and _is_identity(self):
            raise ValueError(
                f"Identity() ** {exponent} is the identity applied {exponent} times, u itself; the "
                f"power of u's value is Value() ** {exponent}."
            )
        _refuse_estimates(self)
        result = _from_parts((Part((Term(Number(1), ()),), None),))
        for _ in range(exponent):
            result = result @ self
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operator):
            return NotImplemented
        return same(self.parts, other.parts)

    def __hash__(self) -> int:
        return hash(Operator)  # equal operators may be written in different ways

    def __repr__(self) -> str:
        return " + ".join(_part_text(part) for part in self.parts) or "0"

    def __str__(self) -> str:
        return repr(self)

    def __pdoc__(self, **options: Any) -> wl.AbstractDoc:
        """What Equinox prints of a module that holds it."""
        return wl.TextDoc(repr(self))


def _from_parts(parts: tuple[Part, ...]) -> Operator:
    """Parts of one draw together: an operator if nothing is sampled, otherwise an estimate."""
    from .differential import Estimate, Sum  # which are operators themselves

    groups: dict[Hashable, tuple[Draw | None, list[Term]]] = {}
    for part in parts:
        key = None if part.draw is None else part.draw.identity
        groups.setdefault(key, (part.draw, []))[1].extend(part.terms)
    if len(groups) > 1:
        merged([term for _, terms in groups.values() for term in terms])  # outputs of one shape
    collected = tuple(Part(merged(terms), draw) for draw, terms in groups.values())
    if all(part.draw is None for part in collected):
        return Sum(tuple(term for part in collected for term in part.terms))
    return Estimate(tuple(part for part in collected if part.terms))


def _is_identity(operator: Operator) -> bool:
    terms = [term for part in operator.parts for term in part.terms]
    if len(terms) != 1 or terms[0].word:
        return False
    coefficient = terms[0].coefficient
    return isinstance(coefficient, Number) and coefficient.value == 1


def _map_terms(function: Callable[[Term], Term], operator: Operator) -> Operator:
    return _from_parts(
        tuple(Part(tuple(map(function, part.terms)), part.draw) for part in operator.parts)
    )


def _scale(coefficient: ScalarCoefficient, operator: Operator) -> Operator:
    return _map_terms(
        lambda term: Term(multiply(coefficient, term.coefficient), term.word), operator
    )


def _refuse_estimates(*operators: Operator) -> None:
    if any(part.draw is not None for operator in operators for part in operator.parts):
        raise TypeError(
            "estimates do not compose: with one draw the product would be biased. Compose the "
            "operators first, then estimate: (A @ B).estimate(key, n)."
        )


def _part_text(part: Part) -> str:
    if part.draw is None:
        return text(part.terms)
    return f"[{text(part.terms)}; {part.draw.n} × {part.draw.probe.name}]"


def refused_term(other: Any) -> Any:
    """What `+` and `-` return for an operand that is not an operator, so that Python refuses it.

    **Raises:** `TypeError` for a number or a function, which can only be the factor of a term.
    """
    array = isinstance(other, jax.Array | np.ndarray)
    if not array and as_coefficient(other) is None and not is_function(other):
        return NotImplemented
    shown = f"{plain(other)}" if is_number(plain(other)) else "c"
    raise TypeError(
        "operators are added to operators, and a number or a function is the factor of one: "
        f"expected {shown} * do.Identity(), which is u ↦ {shown} u, got {shown} alone."
    )


def reciprocal(other: Any) -> ScalarCoefficient | None:
    """One over a divisor of operators; None if it is not a number, so that Python refuses it.

    **Raises:** `TypeError` for an operator or a function, by which values are divided, and
    `ZeroDivisionError` for 0.
    """
    if is_operator(other) or is_function(other):
        shown = other if is_operator(other) else "c"
        raise TypeError(
            f"an operator is divided by numbers; got {shown}. A quotient of values is a function "
            "of them: FunctionOf(jnp.divide, A, B) is u ↦ A u / B u, and (lambda x: 1 / c(x)) * A "
            "divides by a function of the point."
        )
    scalar = as_coefficient(other)
    if not isinstance(scalar, Number):
        return None if scalar is None else 1 / scalar
    if scalar.value == 0:
        raise ZeroDivisionError("an operator is divided by a number that is not 0; got 0.")
    return Number(1 / scalar.value)


def refused_divisor(operator: Any, other: Any) -> Any:
    """What `/` by an operator returns for what is not divided by one, so that Python refuses it.

    **Raises:** `TypeError` for a number, an array or a function.
    """
    if as_coefficient(other) is None and not is_function(other):
        return NotImplemented
    shown = f"{plain(other)}" if is_number(plain(other)) else "c"
    raise TypeError(
        f"the divisor must be a number; got {operator}. A quotient of values is a function of "
        f"them: FunctionOf(lambda a: {shown} / a, A) is u ↦ {shown} / A u."
    )


def refused_power(exponent: Any) -> Any:
    """What `**` returns for an exponent that is not an integer, so that Python refuses it.

    **Raises:** `TypeError` for another number, to which values are raised.
    """
    if isinstance(exponent, float):
        raise TypeError(
            f"a power of an operator has an integer exponent; got {exponent}. Other powers are "
            f"functions of values: FunctionOf(lambda a: a**{exponent}, A) is u ↦ (A u)^{exponent}."
        )
    return NotImplemented
