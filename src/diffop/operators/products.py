"""The products whose sum is a nonlinear operator, and the values that are multiplied.

A value is A u for a linear operator A, or A applied to a nonlinear operator's value, or a function
of such values at the point.
"""

import inspect
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..jets.fields import Number
from ..jets.identity import by_object
from ..jets.point import Point
from ..notation import superscript
from ..terms.canonical import function_key
from ..terms.coefficients import (
    ZERO,
    ScalarCoefficient,
    coefficient_at,
    multiply,
    number_of,
    sign_and_text,
    times_scalar,
)
from ..terms.evaluate import as_floating_leaf, common_kind
from ..terms.inner import after
from ..terms.term import Part, Segment, Term, function_name
from .base import Operator
from .differential import Sum

Leaves: TypeAlias = tuple[tuple[tuple[Part, ...], int | None], ...]
"""Parts that act on u, each with the number of its draw; None for parts that are never drawn."""


class AbstractValue(eqx.Module):
    """A value computed from u at a point."""

    @abstractmethod
    def leaves(self, number: int | None) -> Leaves:
        """The operators on u from which it is computed."""

    @abstractmethod
    def of(self, values: Iterator[PyTree], point: Point) -> PyTree:
        """The value, computed from the values of the leaves."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for equal values, as far as this is known while tracing."""

    @abstractmethod
    def same(self, other: "AbstractValue") -> bool:
        """Whether they are equal, as operators are."""

    @property
    @abstractmethod
    def text(self) -> str:
        """As a formula in u."""


@final
class Linear(AbstractValue):
    """A u."""

    operator: Operator

    def leaves(self, number: int | None) -> Leaves:
        return ((self.operator.parts, number),)

    def of(self, values: Iterator[PyTree], point: Point) -> PyTree:
        return next(values)

    @property
    def key(self) -> Hashable:
        return ("linear", by_object(self.operator.parts))

    def same(self, other: AbstractValue) -> bool:
        return isinstance(other, Linear) and self.operator == other.operator

    @property
    def text(self) -> str:
        return _of_u(_in_front(self.operator))


@final
class After(AbstractValue):
    """A (N u), for a linear A and a nonlinear N."""

    outer: Operator
    inner: Any

    def leaves(self, number: int | None) -> Leaves:
        return ((after(self.outer.parts, self.inner), number),)

    def of(self, values: Iterator[PyTree], point: Point) -> PyTree:
        return next(values)

    @property
    def key(self) -> Hashable:
        return ("after", by_object(self.outer.parts), self.inner.key)

    def same(self, other: AbstractValue) -> bool:
        if not isinstance(other, After):
            return False
        return self.outer == other.outer and self.inner == other.inner

    @property
    def text(self) -> str:
        return f"{_in_front(self.outer)}({self.inner})"


@final
class Applied(AbstractValue):
    """φ(N₁ u, N₂ u, …), or φ(N₁ u, N₂ u, …, x) if the function takes more arguments."""

    function: Callable[..., PyTree]
    operands: tuple[Any, ...]

    def leaves(self, number: int | None) -> Leaves:
        return tuple((parts, None) for each in self.operands for parts, _ in each.leaves)

    def of(self, values: Iterator[PyTree], point: Point) -> PyTree:
        found = [each.combine([next(values) for _ in each.leaves], point) for each in self.operands]
        return self._called(found, point)

    def _called(self, values: Sequence[PyTree], point: Point) -> PyTree:
        asked, given = _required(self.function), len(values)
        if asked > given and asked != given + len(point.args):
            raise ValueError(
                f"FunctionOf expects a function of {given} value(s), or of these and of the "
                f"{len(point.args)} argument(s) of u; got {_name(self.function)}, which takes "
                f"{asked}."
            )
        try:
            return self.function(*values, *(point.args if asked > given else ()))
        except IndexError as error:
            shapes = ", ".join(str(jnp.shape(leaf)) for leaf in jax.tree.leaves(values))
            raise TypeError(
                f"A @ φ and FunctionOf(φ, …) expect a function of values, here of shape {shapes}; "
                f"got {_name(self.function)}, which fails ({error}). To apply A to a function u of "
                "the point, write A.exact(u)(x)."
            ) from error

    @property
    def key(self) -> Hashable:
        operands = [
            by_object(each.parts) if isinstance(each, Operator) else each.key
            for each in self.operands
        ]
        return ("function", by_object(self.function), tuple(operands))

    def same(self, other: AbstractValue) -> bool:
        if not isinstance(other, Applied) or len(self.operands) != len(other.operands):
            return False
        pairs = zip(self.operands, other.operands, strict=True)
        equal = function_key(self.function) == function_key(other.function)
        return equal and all(a == b for a, b in pairs)

    @property
    def text(self) -> str:
        operands = [
            Linear(each).text if isinstance(each, Operator) else str(each) for each in self.operands
        ]
        point = ["x"] if _required(self.function) > len(operands) else []
        return f"{_name(self.function)}({', '.join([*operands, *point])})"


@final
class Product(eqx.Module):
    """c Π_i c_i(x) Π_j v_j: a number, coefficients, and values computed from u."""

    coefficient: ScalarCoefficient
    functions: tuple[Callable[..., Any], ...]
    factors: tuple[AbstractValue, ...]

    @property
    def linear(self) -> Operator | None:
        """The product as a linear operator, if it is linear."""
        if len(self.factors) != 1 or not isinstance(factor := self.factors[0], Linear):
            return None
        number = number_of(self.coefficient)
        operator = (
            factor.operator
            if isinstance(number, int) and number == 1
            else (number * factor.operator)
        )
        return reduce(lambda A, c: c * A, reversed(self.functions), operator)

    @property
    def leaves(self) -> Leaves:
        """Factors have independent draws, since the product of two estimates with one draw is
        biased.
        """
        return tuple(leaf for i, each in enumerate(self.factors) for leaf in each.leaves(i))

    def of(self, values: Iterator[PyTree], point: Point) -> PyTree:
        """The value, computed from the values of the leaves."""
        each = [factor.of(values, point) for factor in self.factors]
        value = reduce(_multiplied, [jax.tree.map(as_floating_leaf, value) for value in each])
        if self.coefficient == ZERO:
            return jax.tree.map(jnp.zeros_like, value)
        for number in (
            number_of(self.coefficient),
            *(coefficient_at(c, point) for c in self.functions),
        ):
            value = jax.tree.map(lambda leaf, n=number: times_scalar(jnp.asarray(leaf), n), value)
        return value

    @property
    def key(self) -> Hashable:
        """Equal for products that differ only in their numbers."""
        functions = frozenset(Counter(map(by_object, self.functions)).items())
        return functions, frozenset(Counter(each.key for each in self.factors).items())

    def same(self, other: "Product") -> bool:
        """Whether they differ only in their numbers."""
        mine, others = (Counter(map(function_key, p.functions)) for p in (self, other))
        return mine == others and _same_in_some_order(list(self.factors), list(other.factors))

    @property
    def signed_texts(self) -> list[tuple[str, str]]:
        """Its terms, each with its sign and the formula without the sign."""
        operator = self.linear
        if operator is not None:
            return _terms_of(operator)
        sign, number = sign_and_text(self.coefficient)
        functions = "".join(f"{function_name(c)}·" for c in self.functions)
        groups = [list(group) for _, group in groupby(self.factors, key=lambda each: each.key)]
        several = len(groups) > 1
        powers = [_power(group[0].text, len(group), several) for group in groups]
        return [(sign, " ".join(filter(None, [number, functions + " ".join(powers)])))]


def _terms_of(operator: Operator) -> list[tuple[str, str]]:
    """The terms of a linear operator, applied to u."""
    if any(part.draw is not None for part in operator.parts):
        return [("+", f"({operator})u")]
    signed = [term.signed_text for part in operator.parts for term in part.terms]
    return [(sign, _of_u(text)) for sign, text in signed]


def _of_u(text: str) -> str:
    """An operator's formula applied to u: I becomes u, and I₀ an entry of it."""
    named, count = re.subn(r"\bI([₀-₉]*|\[[^\]]*\])$", r"u\1", text)
    return named if count else f"{text}u"


def _power(text: str, power: int, several: bool) -> str:
    simple = re.fullmatch(r"u[₀-₉]*", text) is not None
    if power > 1:
        return f"{text if simple else f'({text})'}{superscript(power)}"
    return f"({text})" if several and not simple else text


def _same_in_some_order(left: list[AbstractValue], right: list[AbstractValue]) -> bool:
    for value in left:
        place = next((i for i, other in enumerate(right) if value.same(other)), None)
        if place is None:
            return False
        right.pop(place)
    return not right


def _in_front(operator: Operator) -> str:
    """The formula of an operator that stands before something."""
    terms = [term for part in operator.parts for term in part.terms]
    number = terms[0].coefficient if len(terms) == 1 else None
    alone = isinstance(number, Number) and number.value == 1
    return str(operator) if alone else f"({operator})"


def _multiplied(left: PyTree, right: PyTree) -> PyTree:
    """The product of numbers, of a number and anything, or of arrays of one shape by entries.

    **Raises:** `ValueError` for other shapes.
    """
    for one, other in ((left, right), (right, left)):
        if jax.tree.structure(one) == jax.tree.structure(0) and jnp.ndim(one) == 0:
            return jax.tree.map(lambda leaf, one=one: _times(one, leaf), other)
    shapes = [jax.tree.map(jnp.shape, each) for each in (left, right)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "a product of operators multiplies numbers, a number and an array, or arrays of one "
            f"shape by entries; got shapes {shapes[0]} and {shapes[1]}. For others say how: "
            "FunctionOf(jnp.matmul, A, B)."
        )
    return jax.tree.map(_times, left, right)


def _times(left: Array, right: Array) -> Array:
    kind = common_kind(left, right)
    return jnp.asarray(left).astype(kind) * jnp.asarray(right).astype(kind)


def _required(function: Callable[..., Any]) -> int:
    """How many arguments without a default a function has."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "φ")
    return name if name.isidentifier() else "φ"


def collected_products(products: Iterable[Product]) -> tuple[Product, ...]:
    """Adds up like products and drops those with the number 0; if all have it, the first one stays,
    since 0 has a shape too. Linear products become one operator if their outputs have one shape.
    Arguments of the same operator are added up too.
    """
    found: dict[Hashable, Product] = {}
    for product in products:
        key = place(product)
        known = found.get(key)
        found[key] = product if known is None else _added(known, product)
    every = tuple(found.values())
    return tuple(product for product in every if not is_nothing(product)) or every[:1]


def place(product: Product) -> Hashable:
    """Equal for products that are added up."""
    operator = product.linear
    if operator is not None:
        terms = [term for part in operator.parts for term in part.terms]
        return ("linear", terms[0].kind if terms else None)
    (factor,) = product.factors if len(product.factors) == 1 else (None,)
    if isinstance(factor, After) and not product.functions:
        return ("after", by_object(factor.outer.parts))
    return ("product", product.key)


def _added(left: Product, right: Product) -> Product:
    first, second = left.linear, right.linear
    if first is not None and second is not None:
        return Product(Number(1), (), (Linear(first + second),))
    if left.key == right.key:
        total = number_of(left.coefficient) + number_of(right.coefficient)
        numbers = isinstance(left.coefficient, Number) and isinstance(right.coefficient, Number)
        return Product(Number(total) if numbers else total, left.functions, left.factors)
    (one,), (other,) = left.factors, right.factors
    assert isinstance(one, After) and isinstance(other, After)  # since their places are equal
    inner = number_of(left.coefficient) * one.inner + number_of(right.coefficient) * other.inner
    return Product(Number(1), (), (After(one.outer, inner),))


def is_nothing(product: Product) -> bool:
    """Whether it is known to be 0 for every u."""
    operator = product.linear
    if operator is not None:
        terms = [term for part in operator.parts for term in part.terms]
        return all(term.coefficient == ZERO for term in terms)
    inner = [each.inner.products for each in product.factors if isinstance(each, After)]
    return product.coefficient == ZERO or any(all(map(is_nothing, each)) for each in inner)


def _by_term(product: Product) -> Sequence[Product]:
    """A linear product split into the terms of its operator, numbers and functions in front."""
    operator = product.linear
    if operator is None:
        return (product,)
    found = []
    for term in (term for part in operator.parts for term in part.terms):
        head = term.head
        bare = Segment((), head.factors, head.powers, head.entries)
        word = (bare, *term.word[1:]) if bare.factors or bare.entries else term.word[1:]
        factor = Linear(Sum((Term(Number(1), word),)))
        found.append(Product(term.coefficient, head.functions, (factor,)))
    return found or (Product(ZERO, (), product.factors),)  # 0 u


def expanded_products(left: Sequence[Product], right: Sequence[Product]) -> tuple[Product, ...]:
    """The product of two sums, each of single terms."""
    left, right = ([term for p in sums for term in _by_term(p)] for sums in (left, right))
    return tuple(
        Product(
            multiply(a.coefficient, b.coefficient),
            a.functions + b.functions,
            tuple(sorted(a.factors + b.factors, key=lambda each: each.text)),
        )
        for a in left
        for b in right
    )
