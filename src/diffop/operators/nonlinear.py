"""Nonlinear operators: sums of products of linear operators' values, and functions of them."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar, NoReturn, final

import wadler_lindig as wl
from jaxtyping import PyTree

from ..array_types import Key
from ..complete import Complete
from ..estimators.together import Joint, estimate
from ..jets.fields import Number
from ..jets.point import Point
from ..jets.table import Plan, ResolvedPlan
from ..probes import AbstractProbe
from ..scalars import plain
from ..schemes.names import PlanKind
from ..terms.arguments import is_function
from ..terms.coefficients import as_coefficient, multiply, number_of
from ..terms.evaluate import sum_of_values
from .base import Operator, reciprocal, refused_divisor, refused_power, refused_term
from .elementary import Identity
from .equality import equal
from .products import (
    AbstractValue,
    After,
    Applied,
    Linear,
    Product,
    collected_products,
    expanded_products,
    is_nothing,
)


class NonlinearOperator(Complete):
    """A sum of pointwise products of values of operators, such as $u ∂_x u$ or $Δ(u³ − u)$.

    You build it from `Value()`, [`diffop.FunctionOf`][] and linear operators. Products are
    pointwise (`A * B` is $u ↦ (A u)(B u)$, `Value() ** 3` is $u³$). `L @ N` is a linear operator
    applied to N u, and `N @ M` is N of M u. Nonlinear operators add, scale, take variable
    coefficients on the left, compare with `==` (functions by identity) and print as formulas in u.
    Equations and losses take them as they take linear ones. Linear terms stay linear operators.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        u = do.Value()
        cahn_hilliard = do.Partial(1) - do.Laplacian(dims=(0,)) @ (
            u**3 - u - 0.01 * do.Laplacian(dims=(0,))
        )
        cahn_hilliard  # ∂₁u + Δ{0}u + 0.01 (Δ{0})²u − Δ{0}(u³)
        cahn_hilliard.is_linear  # False
        cahn_hilliard.exact(lambda x: x[0] * x[1])(jnp.array([2.0, 1.0]))  # 2 − 6 · 2 = -10.0
        ```
    """

    __array_ufunc__ = None
    is_operator: ClassVar[bool] = True
    """Lets `arguments.is_function` recognise operators, which it cannot import."""

    @property
    @abstractmethod
    def products(self) -> tuple[Any, ...]:
        """The products that it is the sum of."""

    @property
    def is_linear(self) -> bool:
        """Whether each of its terms is known to be a linear operator."""
        return all(product.linear is not None for product in self.products)

    @property
    def leaves(self) -> tuple[Any, ...]:
        """The linear operators that act on u directly, as in `Operator.leaves`."""
        return tuple(leaf for product in self.products for leaf in product.leaves)

    def combine(self, values: Sequence[PyTree], point: Point) -> PyTree:
        """Its value at a point, computed from the values of its leaves."""
        rest = iter(values)
        return sum_of_values([product.of(rest, point) for product in self.products])

    @property
    def key(self) -> Hashable:
        """Equal for equal operators, as far as this is known while tracing."""
        numbers = [_identity(product.coefficient) for product in self.products]
        keys = [product.key for product in self.products]
        return frozenset(zip(keys, numbers, strict=True))

    @property
    def parts(self) -> NoReturn:
        """Raises an error: code that asks for parts takes linear operators only."""
        raise TypeError(
            f"expected a linear operator; got {self}, which is not linear. It is applied by "
            "N.exact(u)(x) or N.estimate(key, n)(u)(x), and what is linear in it by itself."
        )

    @property
    def exact(self) -> Joint:
        """The operator as a map from functions to functions, `N.exact(u)(x)`, with `chunk=` and
        `plan=` beside u as for `Operator.exact`. Operators that act on u directly share one push;
        for `L @ N` jets are pushed through N u.
        """
        return Joint(self, None)

    def estimate(self, key: Key, n: int, probes: str | AbstractProbe = "auto") -> Joint:
        """An unbiased estimate. Linear operators are estimated with n draws, and the factors of a
        product with independent draws. The inside of `L @ N` and of functions is exact.

        **Arguments:**

        - `key`, `n`, `probes`: as for `DifferentialOperator.estimate`.

        **Returns:** a map from functions to functions: `E(u)(x)`, and `E.stats(u)(x)` with its
        standard error. The standard error is exact if one factor of each product is sampled. If two
        are, it is correct to first order; the square "pairs" of a loss is then biased, and
        "product" is not.

        **Raises:** as `DifferentialOperator.estimate`.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            N = do.Value() * do.Laplacian()
            N.estimate(jax.random.key(0), 4)(lambda x: jnp.sum(x**2))(jnp.ones(10))  # 200.0
            ```
        """
        return estimate(self, key, n, probes)

    def jets(self, *args: Any, plan: PlanKind = "auto") -> Plan | ResolvedPlan:
        """The jets that compute it, as `Operator.jets` shows them."""
        return self.exact.jets(*args, plan=plan)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises an error that asks for `exact` or `estimate`."""
        raise TypeError(
            "an operator is applied exactly, N.exact(u)(x), or estimated, "
            f"N.estimate(key, n)(u)(x); got a call of the operator N = {self} itself. L @ φ is no "
            "application of L to φ, but the operator u ↦ L(φ(u))."
        )

    def __add__(self, other: Any) -> "NonlinearOperator":
        added = as_nonlinear(other)
        return refused_term(other) if added is None else _sum((*self.products, *added.products))

    def __radd__(self, other: Any) -> "NonlinearOperator":
        if isinstance(other, int) and other == 0:
            return self
        added = as_nonlinear(other)
        return refused_term(other) if added is None else _sum((*added.products, *self.products))

    def __sub__(self, other: Any) -> "NonlinearOperator":
        taken = as_nonlinear(other)
        return refused_term(other) if taken is None else self + (-1) * taken

    def __rsub__(self, other: Any) -> "NonlinearOperator":
        added = as_nonlinear(other)
        return refused_term(other) if added is None else added + (-1) * self

    def __neg__(self) -> "NonlinearOperator":
        return (-1) * self

    def __mul__(self, other: Any) -> "NonlinearOperator":
        if (operand := as_nonlinear(other)) is not None:
            for each in (self, operand):
                refuse_estimates(each)
            return _sum(expanded_products(self.products, operand.products))
        if as_coefficient(other) is not None:
            return other * self
        if is_function(other):
            raise TypeError(
                "N * c is ambiguous for a function c: write c * N for c of the point, and "
                "N * FunctionOf(c) for c of u's value."
            )
        return NotImplemented

    def __rmul__(self, other: Any) -> "NonlinearOperator":
        if (operand := as_nonlinear(other)) is not None:
            return operand * self
        scalar = as_coefficient(other)
        if scalar is None and not is_function(other):
            return NotImplemented
        number, functions = (Number(1), (other,)) if scalar is None else (scalar, ())
        return _sum(
            Product(multiply(number, each.coefficient), functions + each.functions, each.factors)
            for each in self.products
        )

    def __truediv__(self, other: Any) -> "NonlinearOperator":
        inverse = reciprocal(other)
        return NotImplemented if inverse is None else number_of(inverse) * self

    def __rtruediv__(self, other: Any) -> Any:
        return refused_divisor(self, other)

    def __pow__(self, exponent: Any) -> "NonlinearOperator":
        exponent = plain(exponent)
        if not isinstance(exponent, int) or isinstance(exponent, bool):
            return refused_power(exponent)
        if exponent < 1:
            raise ValueError(
                f"a power of u's value must be 1, 2, 3, …; got {exponent}. Others are functions: "
                "FunctionOf(jnp.sqrt)."
            )
        return reduce(lambda N, _: N * self, range(exponent - 1), self)

    def __matmul__(self, other: Any) -> "NonlinearOperator":
        inner = _as_operand(other)
        if inner is None:
            return NotImplemented
        refuse_estimates(inner)
        return _sum(each for product in self.products for each in _substituted(product, inner))

    def __rmatmul__(self, other: Any) -> "NonlinearOperator":
        if not isinstance(other, Operator):
            return NotImplemented
        for each in (other, self):
            refuse_estimates(each)
        linear = [op for product in self.products if (op := product.linear) is not None]
        rest = tuple(product for product in self.products if product.linear is None)
        found = [_of_linear(other @ operator) for operator in linear]
        if len(rest) == 1 and not rest[0].functions:
            found.append(_outside(other, rest[0]))
        elif rest:
            found.append(Product(Number(1), (), (After(other, _sum(rest)),)))
        return _sum(found)

    def __eq__(self, other: object) -> bool:
        operand = as_nonlinear(other)
        return NotImplemented if operand is None else equal(self, operand)

    def __hash__(self) -> int:
        return hash(Operator)  # equal operators may be written in different ways, linear ones too

    def __repr__(self) -> str:
        if all(map(is_nothing, self.products)):
            return "0"
        texts = [each for product in self.products for each in product.signed_texts]
        found = " ".join(f"{sign} {text}" for sign, text in texts)
        return found.removeprefix("+ ").replace("− ", "−", found.startswith("− "))

    def __pdoc__(self, **options: Any) -> wl.AbstractDoc:
        """What Equinox prints of a module that holds it."""
        return wl.TextDoc(repr(self))

    def __str__(self) -> str:
        return repr(self)


@final
class SumOfProducts(NonlinearOperator):
    """A sum of products, like products added up: the result of operators' arithmetic."""

    terms: tuple[Product, ...]

    @property
    def products(self) -> tuple[Product, ...]:
        return self.terms


@final
class Value(NonlinearOperator):
    """u's value, for pointwise products and powers: `Value() ** 3` is $u³$, while
    `Identity() ** 3` would be the identity applied three times.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        u = do.Value()
        burgers = do.Partial(argnum=1) + u * do.Partial(0) - 0.1 * do.Partial(0, order=2)
        burgers  # ∂ₜu − 0.1 ∂₀²u + u (∂₀u)
        (do.Laplacian() @ u**2).exact(lambda x: x[0])(jnp.ones(2))  # Δ(x²) = 2.0
        ```
    """

    @property
    def products(self) -> tuple[Product, ...]:
        return (_of_linear(Identity()),)


@final
class FunctionOf(NonlinearOperator):
    """$φ(u)$, or φ of the values of several operators at a point, φ(A u, B u, …).

    **Arguments:**

    - `function`: φ, a function of as many values as there are operators. If it requires more
        arguments, the point, that is, u's arguments, follow: `lambda u, x: x[0] * u`.
    - `*operators`: by default u's value.

    In `L @ N` a function stands for itself: `Laplacian() @ jnp.sin` is `Laplacian() @
    FunctionOf(jnp.sin)`. In estimates the arguments of φ are exact, since φ of an estimate is
    biased. Two are equal if their functions are the same object.

    **Raises:** `TypeError` if `function` is not a function, or an operator is not an operator.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        K = do.FunctionOf(lambda u: 1 + u**2)
        diffusion = do.Divergence() @ (K * do.Gradient())
        diffusion.exact(lambda x: x[0])(jnp.ones(2))  # (1 + x²)′ = 2.0
        advection = do.FunctionOf(jnp.matmul, do.Gradient(), do.Value())  # (u·∇)u
        advection.exact(lambda x: x)(jnp.ones(2))  # [1, 1]
        ```
    """

    function: Callable[..., PyTree]
    operators: tuple[Any, ...]

    def __init__(self, function: Callable[..., PyTree], *operators: Any) -> None:
        if not is_function(function):
            raise TypeError(
                "FunctionOf expects a function of values, and operators after it; got "
                f"{function!r} of type {type(function).__name__} in place of the function."
            )
        for each in operators:
            if as_nonlinear(each) is None:
                raise TypeError(
                    f"FunctionOf expects operators after the function; got {each!r} of type "
                    f"{type(each).__name__}."
                )
            refuse_estimates(each)
        self.function, self.operators = function, operators or (Identity(),)

    @property
    def products(self) -> tuple[Product, ...]:
        return (Product(Number(1), (), (Applied(self.function, self.operators),)),)


def as_nonlinear(value: Any) -> NonlinearOperator | None:
    """An operator as a nonlinear operator; None for anything else."""
    if isinstance(value, NonlinearOperator):
        return value
    return SumOfProducts((_of_linear(value),)) if isinstance(value, Operator) else None


def refuse_estimates(operator: Any) -> None:
    """Raises an error for estimates, which would be biased inside a nonlinear operator."""
    if any(part.draw is not None for parts, _ in operator.leaves for part in parts):
        raise TypeError(
            "estimates are neither multiplied nor composed, nor put into functions, since with one "
            "draw the result would be biased. Estimate what is made of the operators instead: "
            "(A * B).estimate(key, n)."
        )


def _as_operand(value: Any) -> Any:
    """What an operator may be applied to: another operator, or a function of u's value."""
    if isinstance(value, Operator | NonlinearOperator):
        return value
    return FunctionOf(value) if is_function(value) else None


def _sum(products: Iterable[Product]) -> NonlinearOperator:
    return SumOfProducts(collected_products(products))


def _of_linear(operator: Operator) -> Product:
    return Product(Number(1), (), (Linear(operator),))


def _outside(outer: Operator, product: Product) -> Product:
    """A product without functions of the point behind a linear operator, its number outside."""
    inner: Any = Product(Number(1), (), product.factors)
    if len(product.factors) == 1 and isinstance(factor := product.factors[0], After):
        return Product(product.coefficient, (), (After(outer @ factor.outer, factor.inner),))
    return Product(product.coefficient, (), (After(outer, SumOfProducts((inner,))),))


def _substituted(product: Product, inner: Any) -> Sequence[Product]:
    """The product with `inner` in place of u."""
    factors = [_inserted(factor, inner).products for factor in product.factors]
    found = reduce(expanded_products, factors)
    return [
        Product(
            multiply(product.coefficient, each.coefficient),
            product.functions + each.functions,
            each.factors,
        )
        for each in found
    ]


def _inserted(value: AbstractValue, inner: Any) -> NonlinearOperator:
    match value:
        case Linear():
            found = value.operator @ inner
        case After():
            found = value.outer @ (value.inner @ inner)
        case Applied():
            found = FunctionOf(value.function, *(each @ inner for each in value.operands))
        case _:
            raise TypeError(f"no value of an operator: {value!r}")
    result = as_nonlinear(found)
    assert result is not None
    return result


def _identity(coefficient: Any) -> Hashable:
    return coefficient.value if isinstance(coefficient, Number) else ("object", id(coefficient))
