"""The base class of conditions, which name a part of a boundary instead of points."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray, Shaped

from ...complete import Complete
from ...equations.condition import as_weight, check_array
from ...equations.points import Points, as_function, at_each, check_arguments
from ...equations.sampled import AtPoints
from ...operators.base import Operator
from ...operators.elementary import Directional
from ...operators.nonlinear import NonlinearOperator
from ...operators.vector import Component
from ...scalars import described, is_number, plain
from ...streams import stream
from ...terms.arguments import checked_entry, is_function
from ...terms.entries import Entry
from ..domains.domain import AbstractDomain, AbstractPart

GivenValue: TypeAlias = int | float | Shaped[Array | np.ndarray, "..."] | Callable[..., Any]
"""What is prescribed: a number or an array for a constant, or a function of the point."""


def as_value(value: Any) -> GivenValue:
    """Checks a prescribed value.

    **Raises:** `TypeError` for anything else.
    """
    value = plain(value) if isinstance(value, np.generic) else value
    if is_number(value) or isinstance(value, jax.Array | np.ndarray) or is_function(value):
        return value
    raise TypeError(
        "a condition expects numbers, arrays or functions of the point for its values, got "
        f"{value!r} of type {type(value).__name__}."
    )


def as_component(component: Any) -> Entry | None:
    """An entry, as `diffop.Component` takes it, or None."""
    return None if component is None else checked_entry(component)


class AbstractDrawnCondition(Complete):
    """A condition on a part of a boundary, or on integrals, whose points are drawn afresh whenever
    they are needed.

    A subclass is final, and defines `draw`. It has the keyword arguments

    - `component`: the entry of a vector-valued u, as [`diffop.Component`][] takes it; None for all
        of u.
    - `weight`: its weight beside the other conditions.
    """

    component: Entry | None = eqx.field(
        static=True, kw_only=True, default=None, converter=as_component
    )
    weight: int | float = eqx.field(static=True, converter=as_weight, kw_only=True, default=1.0)

    @abstractmethod
    def draw(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        """The condition at `count` random points.

        **Arguments:**

        - `key`: a key from `jax.random.key`.
        - `count`: how many.
        """

    def of_component(self, operator: Operator | NonlinearOperator) -> Operator | NonlinearOperator:
        """The operator, applied to the component that the condition is for."""
        return operator if self.component is None else operator @ Component(self.component)


@final
class Conditions(eqx.Module):
    """Several conditions, each with its own random points, for the `conditions` of a
    [`diffop.equations.Equation`][] or of a problem.

    **Arguments:**

    - `*given`: such as [`diffop.pde.Dirichlet`][] and [`diffop.pde.Neumann`][]; also conditions
        with fixed points, such as measurements in a [`diffop.equations.Condition`][].

    **Returns:** called with a key and a number of points, a tuple of
    [`diffop.equations.Condition`][]s, [`diffop.equations.Matching`][]s and
    [`diffop.equations.Sampled`][]s at points that the key determines.

    **Raises:** `TypeError` for anything else among the conditions.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        rod = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=2.0)
        conditions = do.pde.Conditions(
            do.pde.Initial(lambda x: jnp.sin(jnp.pi * x[0]), on=rod),
            do.pde.Dirichlet(0.0, on=rod.face(0, "lower")),
            do.pde.Neumann(0.0, on=rod.face(0, "upper")),
        )
        first, second, third = conditions(jax.random.key(0), 64)
        second.points  # (64, 2), all with x = 0
        ```
    """

    given: tuple[AbstractDrawnCondition | AtPoints, ...]

    def __init__(self, *given: AbstractDrawnCondition | AtPoints):
        for each in given:
            if not isinstance(each, AbstractDrawnCondition | AtPoints):
                raise TypeError(
                    "Conditions expects conditions one by one, such as diffop.pde.Dirichlet(0.0, "
                    "on=part), and for points that are given diffop.equations.Condition(operator, "
                    f"points, values), got {eqx.tree_pformat(each)} of type {type(each).__name__}."
                )
        self.given = given

    def __call__(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        def drawn(place: int, given: AbstractDrawnCondition | AtPoints) -> tuple[AtPoints, ...]:
            if isinstance(given, AbstractDrawnCondition):
                return given.draw(stream(key, "condition", place), count)
            return (given,)

        made = [drawn(place, each) for place, each in enumerate(self.given)]
        return tuple(each for several in made for each in several)


def at_points(value: GivenValue, points: Points) -> Shaped[Array, "count ..."]:
    """The prescribed values at each of the points.

    **Raises:** `ValueError` for a function of other arguments, `TypeError` for one that returns a
    pytree.
    """
    function = as_function(value)
    check_arguments("the value of a condition", function, points)
    values = at_each(function, points)
    check_array("a prescribed value", values)
    return values


def along_normal(part: AbstractPart) -> Operator:
    """The derivative along the outward normal of a part."""
    return Directional(part.normal, argnum=part.argnum)


def check_part(whose: Any, part: Any) -> None:
    """Refuses anything but a part of a boundary.

    **Raises:** `TypeError` naming the condition.
    """
    if not isinstance(part, AbstractPart):
        raise TypeError(
            f"{type(whose).__name__} expects a part of a boundary, such as box.face(0, 'lower') or "
            f"ball.boundary, got {described(part)}; at points that are given it is a "
            "diffop.equations.Condition(operator, points, values)."
        )


def check_place(whose: Any, place: Any) -> None:
    """Refuses anything but a part of a boundary or a domain.

    **Raises:** `TypeError` naming the condition.
    """
    if not isinstance(place, AbstractDomain):
        check_part(whose, place)


def check_normal(whose: Any, part: Any) -> None:
    """Refuses anything without an outward normal.

    **Raises:** `TypeError` for anything but a part, `ValueError` for a part without a normal.
    """
    check_part(whose, part)
    if part.normal is None:
        raise ValueError(
            f"{type(whose).__name__} expects a part with an outward normal, got {part!r}, which "
            "has none: it is not defined at the corners of a box, nor at one time; give each face "
            "a condition of its own, such as [Neumann(0.0, on=face) for face in box.faces]."
        )
