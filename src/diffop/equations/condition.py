"""Conditions: data that a solution has to match, beside its equation."""

import math
from collections.abc import Callable
from typing import Any, Protocol, final, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, PyTree, Shaped

from ..operators.base import Operator
from ..operators.nonlinear import NonlinearOperator
from ..scalars import described, is_number, plain
from ..terms.arguments import kind_of
from ..terms.shapes import check_shape
from .points import Points, as_arrays, at_each, check_arguments, count_of


@runtime_checkable
class AnyCondition(Protocol):
    """What losses need from a condition."""

    def misfit(self, u: Callable) -> Float[Array, ""]: ...


def as_weight(weight: Any) -> Any:
    """The weight of a condition as a number.

    **Raises:** `ValueError` if it is negative, or not finite; `TypeError` for no number.
    """
    weight = plain(weight)
    if weight is None or isinstance(weight, str):
        raise TypeError(f"a condition expects a number as its weight, got {weight!r}.")
    if is_number(weight) and not 0 <= weight < math.inf:
        raise ValueError(
            f"a condition expects a finite weight of at least 0, got {weight}; with a negative one "
            "u would miss what is asked of it."
        )
    return weight


def check_operator(name: str, operator: Any) -> None:
    """**Raises:** `TypeError` for a condition, by its name, on anything but an operator's value."""
    if not isinstance(operator, Operator | NonlinearOperator):
        raise TypeError(
            f"{name} expects an operator, such as diffop.Partial(0), or diffop.Identity() for the "
            f"values of u; got {described(operator)} in the place of the operator."
        )


def check_values(values: Any) -> None:
    """**Raises:** `TypeError` for a number or a function, which are not a value for each point."""
    if callable(values):
        advice = "jax.vmap(function)(points)"
    elif is_number(plain(values)) or (isinstance(values, jax.Array) and not values.ndim):
        advice = "jnp.full(len(points), number)"
    else:
        return
    raise TypeError(
        f"Condition expects a value for each of its points, got {described(values)}; "
        f"write {advice}."
    )


def check_array(what: str, got: PyTree) -> None:
    """**Raises:** `TypeError` for values that are a pytree, of which a condition would need one for
    each entry.
    """
    if isinstance(got, jax.Array):
        return
    entries = f"a dict with {', '.join(map(repr, got))}" if isinstance(got, dict) else kind_of(got)
    raise TypeError(
        f"Condition expects {what} to be one array at a point, got {entries}; give each entry of u "
        "a condition of its own, by component=, or by operator @ diffop.Component(entry) in a "
        "Condition."
    )


@runtime_checkable  # for type checks; `has_method` decides which conditions have residuals
class TellsResiduals(Protocol):
    """A condition that gives the numbers whose squares add up to its misfit."""

    def residuals(self, u: Callable) -> PyTree: ...


@final
class Condition(eqx.Module):
    """Data that the solution has to match: `operator.exact(u)(x) = v` at points x.

    - `operator`: whose value is prescribed: `diffop.Identity()` for the values of u,
        `diffop.Partial(i)` for a slope, or any other operator.
    - `points`: shape `(count, dim)`; for a u of several arguments a tuple of arrays, one for each,
        with points along the first axes.
    - `values`: the prescribed values, shape `(count,)`, or `(count, …)` for an operator with
        several values, such as a gradient.
    - `weight`: its weight beside the problem's other conditions.

    **Raises:** `TypeError` for anything but an operator, and for one number or a function in the
    place of the values.
    """

    operator: Operator | NonlinearOperator
    points: Points = eqx.field(converter=as_arrays)
    values: Inexact[Array, "count ..."] = eqx.field(converter=as_arrays)
    weight: int | float = 1.0

    def __check_init__(self) -> None:
        check_operator("Condition", self.operator)
        check_values(self.values)

    def misfit(self, u: Callable) -> Float[Array, ""]:
        """The misfit: the weight times the mean over the points of |operator(u) − values|².

        **Raises:** `ValueError` if operator(u) and the values differ in shape, and without points;
        `TypeError` for a u whose value is a pytree.
        """
        missed = self._missed(u)
        squares = jnp.real(missed * jnp.conj(missed))
        return self.weight * jnp.mean(jnp.sum(squares, axis=tuple(range(1, squares.ndim))))

    def residuals(self, u: Callable) -> Shaped[Array, "count ..."]:
        """The misfit at each point, scaled so that the squares add up to `misfit(u)`: √(weight /
        count) times operator(u) − values.

        **Raises:** as `misfit`.
        """
        missed = self._missed(u)
        return math.sqrt(self.weight / len(missed)) * missed

    def _missed(self, u: Callable) -> Shaped[Array, "count ..."]:
        check_arguments("u", u, self.points)
        as_weight(self.weight)
        got = at_each(self.operator.exact(u), self.points)
        check_array(f"{self.operator} of u", got)
        asked = jnp.shape(self.values)
        if asked[:1] != got.shape[:1] or jnp.shape(self.weight):
            raise ValueError(
                f"Condition expects a value for each of its {count_of(self.points)} points and one "
                f"number as its weight, got values of shape {asked} and a weight of shape "
                f"{jnp.shape(self.weight)}; points with other weights are another Condition."
            )
        if not len(got):
            raise ValueError("Condition expects at least one point; a mean over none has no value.")
        check_shape(f"{self.operator} of u", got.shape[1:], "what is prescribed", asked[1:])
        return got - self.values
