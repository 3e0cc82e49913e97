"""Prescribed values of u, of its normal derivative, and of other operators."""

from abc import abstractmethod
from typing import TypeAlias, final

import equinox as eqx
from jaxtyping import PRNGKeyArray

from ...equations.condition import Condition, check_operator
from ...operators.base import Operator
from ...operators.elementary import Identity
from ...operators.nonlinear import NonlinearOperator
from ...scalars import checked_integer, plain
from ..domains.domain import AbstractDomain, AbstractPart
from ..domains.space_time import SpaceTime
from .base import (
    AbstractDrawnCondition,
    GivenValue,
    along_normal,
    as_value,
    at_points,
    check_normal,
    check_place,
)

Place: TypeAlias = AbstractPart | AbstractDomain
"""A part of a boundary, or the inside of a domain."""


class _AbstractPrescribed(AbstractDrawnCondition):
    """The value of an operator applied to u is given."""

    @abstractmethod
    def prescribed(self) -> tuple[Operator | NonlinearOperator, GivenValue, Place]:
        """The operator, applied to all of u, its value, and the place."""

    def draw(self, key: PRNGKeyArray, count: int) -> tuple[Condition]:
        operator, value, part = self.prescribed()
        points = part.sample(key, count)
        values = at_points(value, points)
        return (Condition(self.of_component(operator), points, values, self.weight),)


@final
class Prescribed(_AbstractPrescribed):
    """`operator.exact(u) = value` on a part of a boundary or inside of a domain, for any operator:
    for example an equation that holds in a part of the domain, or a jump at an interface.

    **Arguments:**

    - `operator`: whose value is prescribed.
    - `value`: a number, an array, or a function of the point, in the shape of the operator's value.
    - `on`, `component`, `weight`: as for [`diffop.pde.Dirichlet`][].

    **Raises:** as `diffop.pde.Dirichlet`, and `TypeError` for anything but an operator.

    !!! example

        ```python
        import diffop as do

        edge = do.pde.Box((0.0, 0.0), (1.0, 1.0)).face(1, "upper")
        n = do.Directional(edge.normal)
        moment = do.pde.Prescribed(0.3 * do.Laplacian() + 0.7 * n @ n, 0.0, on=edge)
        ```
    """

    operator: Operator | NonlinearOperator
    value: GivenValue = eqx.field(converter=as_value)
    on: Place

    def __check_init__(self) -> None:
        check_place(self, self.on)
        check_operator("Prescribed", self.operator)

    def prescribed(self) -> tuple[Operator | NonlinearOperator, GivenValue, Place]:
        return self.operator, self.value, self.on


@final
class Dirichlet(_AbstractPrescribed):
    """u = value on a part of a boundary, or inside a domain.

    **Arguments:**

    - `value`: a number, an array, or a function of the point that returns one: in the shape of u,
        or of its component.
    - `on`: the part, such as `box.face(0, "lower")` or `ball.boundary`; or a domain, for its
        inside.
    - `component`: the entry of a vector-valued u, as [`diffop.Component`][] takes it: a number, a
        name, or a tuple of these; by default all of u.
    - `weight`: its weight beside the other conditions.

    **Raises:** `TypeError` for a wrong type of value or part; `ValueError`, when a loss is
    computed, for a component that u does not have, and for values of another shape.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        channel = do.pde.Box((0.0, -1.0), (4.0, 1.0))
        inflow = do.pde.Dirichlet(
            lambda x: jnp.stack([1 - x[1] ** 2, jnp.zeros(())]),
            on=channel.face(0, "lower"),
            component=(0, 1),
        )
        no_slip = do.pde.Dirichlet(jnp.zeros(2), on=channel.face(1, "upper"), component=(0, 1))
        ```
    """

    value: GivenValue = eqx.field(converter=as_value)
    on: Place

    def __check_init__(self) -> None:
        check_place(self, self.on)

    def prescribed(self) -> tuple[Operator | NonlinearOperator, GivenValue, Place]:
        return Identity(), self.value, self.on


@final
class Neumann(_AbstractPrescribed):
    """$∂u/∂n$ = value on a part of a boundary, where n is its outward normal.

    **Arguments:** as for [`diffop.pde.Dirichlet`][].

    **Raises:** as `diffop.pde.Dirichlet`, and `ValueError` for a part without a normal.

    !!! example

        ```python
        import jax
        import diffop as do

        flux = do.pde.Neumann(2.0, on=do.pde.Ball(3).boundary)
        (condition,) = flux.draw(jax.random.key(0), 10)
        condition.misfit(lambda x: x @ x)  # 0 up to rounding: ∂(r²)/∂r = 2 at r = 1
        ```
    """

    value: GivenValue = eqx.field(converter=as_value)
    on: AbstractPart

    def __check_init__(self) -> None:
        check_normal(self, self.on)

    def prescribed(self) -> tuple[Operator | NonlinearOperator, GivenValue, Place]:
        return along_normal(self.on), self.value, self.on


@final
class Robin(_AbstractPrescribed):
    """$a u + b ∂u/∂n$ = value on a part of a boundary, where n is its outward normal.

    **Arguments:**

    - `a`, `b`: numbers, or functions of the point.
    - `value`, `on`, `component`, `weight`: as for [`diffop.pde.Dirichlet`][].

    **Raises:** as `diffop.pde.Neumann`.

    !!! example

        ```python
        import diffop as do

        wall = do.pde.Box((0.0, 0.0), (1.0, 1.0)).face(0, "upper")
        cooling = do.pde.Robin(2.0, 1.0, 0.0, on=wall)  # ∂u/∂n = −2 u
        ```
    """

    a: GivenValue = eqx.field(converter=as_value)
    b: GivenValue = eqx.field(converter=as_value)
    value: GivenValue = eqx.field(converter=as_value)
    on: AbstractPart

    def __check_init__(self) -> None:
        check_normal(self, self.on)

    def prescribed(self) -> tuple[Operator | NonlinearOperator, GivenValue, Place]:
        mixed = self.a * Identity() + self.b * along_normal(self.on)
        return mixed, self.value, self.on


@final
class Initial(_AbstractPrescribed):
    """$∂ᵏu/∂tᵏ$ = value at time 0, by default u itself.

    **Arguments:**

    - `value`: as for [`diffop.pde.Dirichlet`][]; a function takes the whole point (x, …, 0).
    - `on`: a [`diffop.pde.SpaceTime`][].
    - `order`: k for $∂ᵏu/∂tᵏ$: 0, which is the default, for u, 1 for $∂u/∂t$.
    - `component`, `weight`: as for `diffop.pde.Dirichlet`.

    **Raises:** as `diffop.pde.Dirichlet`, and `TypeError` for a domain without time.

    !!! example

        ```python
        import diffop as do

        string = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=2.0)
        at_rest = do.pde.Initial(0.0, on=string, order=1)
        ```
    """

    value: GivenValue = eqx.field(converter=as_value)
    on: SpaceTime
    order: int = eqx.field(static=True, converter=plain, kw_only=True, default=0)

    def __check_init__(self) -> None:
        checked_integer(self.order, "order of Initial", 0)
        if not isinstance(self.on, SpaceTime):
            raise TypeError(
                f"Initial expects a domain with time, a diffop.pde.SpaceTime, got {self.on!r}."
            )

    def prescribed(self) -> tuple[Operator | NonlinearOperator, GivenValue, Place]:
        return self.on.rate(self.order), self.value, self.on.initial
