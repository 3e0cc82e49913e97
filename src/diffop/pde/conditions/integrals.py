"""Conditions on integrals of u: normalisation, and orthogonality to functions."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import equinox as eqx
from jaxtyping import PRNGKeyArray

from ...equations.condition import Condition
from ...equations.sampled import Sampled
from ...operators.integral import Integral
from ...quadrature import AbstractRegion, AbstractRule, GaussLegendre
from ...quadrature.region import as_region
from ...scalars import checked_integer, plain
from ...streams import stream
from ...terms.arguments import is_function
from ..domains.domain import AbstractDomain
from ..domains.space_time import SpaceTime
from .base import AbstractDrawnCondition, GivenValue, as_value, at_points

Asked: TypeAlias = Sequence[tuple[Callable[..., Any] | None, GivenValue]]
"""Functions that multiply u, and the values that the integrals must have."""


def _as_region(given: Any) -> AbstractRegion | None:
    return None if given is None else as_region(given)


def _as_functions(given: Any) -> tuple[Callable[..., Any], ...]:
    functions = tuple(given) if isinstance(given, tuple | list) else (given,)
    for each in functions:
        if not is_function(each):
            raise TypeError(
                "OrthogonalTo expects functions of the coordinates that are integrated over, got "
                f"{each!r}."
            )
    return functions


class _AbstractOfIntegrals(AbstractDrawnCondition):
    """Integrals over a domain (or over space, at any time) have given values. They are computed by
    a rule, or with `n` by that many random points, drawn afresh each time.
    """

    on: AbstractDomain = eqx.field(kw_only=True)
    over: AbstractRegion | None = eqx.field(kw_only=True, default=None, converter=_as_region)
    rule: AbstractRule = eqx.field(kw_only=True, default=GaussLegendre(16))
    n: int | None = eqx.field(static=True, kw_only=True, default=None, converter=plain)

    @abstractmethod
    def asked(self) -> Asked:
        """The integrals, and the values they must have."""

    def check(self) -> None:
        """Checks that the domain and the way of integrating are given.

        **Raises:** `TypeError` for anything but a domain, `ValueError` for a single draw.
        """
        if not isinstance(self.on, AbstractDomain):
            raise TypeError(
                f"{type(self).__name__} is taken over a domain, such as diffop.pde.Box((0.0,), "
                f"(1.0,)), got {self.on!r}; your own region is over=, beside a domain that "
                "says what points are."
            )
        if self.n is not None:
            checked_integer(self.n, f"n of {type(self).__name__}, whose square is unbiased,", 2)

    def draw(self, key: PRNGKeyArray, count: int) -> tuple[Condition | Sampled, ...]:
        """The condition at `count` times, or at one point if it is the same at all times."""
        lasting = isinstance(self.on, SpaceTime)
        points = self.on.sample(stream(key, "times of integrals"), count if lasting else 1)
        found = []
        for place, (function, value) in enumerate(self.asked()):
            operator: Any = self.of_component(self._integral(function))
            values = at_points(value, points)
            if self.n is None:
                found.append(Condition(operator, points, values, self.weight))
            else:
                estimate = operator.estimate(stream(key, "integrals", place), self.n)
                found.append(Sampled(estimate, points, values, self.weight))
        return tuple(found)

    def _integral(self, function: Callable[..., Any] | None) -> Integral:
        """The integral of u times a function, over all coordinates but time."""
        domain = self.on.space if isinstance(self.on, SpaceTime) else self.on
        region = as_region(domain) if self.over is None else self.over
        kernel = None if function is None else _Elsewhere(function)
        if not isinstance(self.on, SpaceTime):
            return Integral(region, kernel, self.rule)
        if self.on.argnum is not None:
            return Integral(region, kernel, self.rule, argnum=1 - self.on.argnum)
        return Integral(region, kernel, self.rule, dims=tuple(range(self.on.space.dim)))


@final
class _Elsewhere(eqx.Module):
    """The kernel g(y)."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(args[-1])


@final
class Normalised(_AbstractOfIntegrals):
    """$∫ u dx$ = value over a domain; if it has time, over its space at any time. This fixes the
    factor of a density, and the constant of a function of which only derivatives are known
    (`Normalised(0.0, on=…)`).

    **Arguments:**

    - `value`: a number, an array, or a function of the point; 1 if it is not given.
    - `on`: a domain: a [`diffop.pde.Box`][], a [`diffop.pde.Ball`][], or a
        [`diffop.pde.SpaceTime`][] of these.
    - `over`: another region than the domain's own, such as [`diffop.quadrature.WholeSpace`][].
    - `rule`: as for [`diffop.Integral`][], if `n` is not given.
    - `n`: how many random points instead, at least 2. The condition is then a
        [`diffop.equations.Sampled`][], whose square is unbiased.
    - `component`, `weight`: as for [`diffop.pde.Dirichlet`][].

    **Raises:** `TypeError` for a wrong type of domain or value; `ValueError` for fewer than two
    points.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        density = do.pde.Normalised(on=do.pde.Box((0.0,), (1.0,)))
        (condition,) = density.draw(jax.random.key(0), 10)
        condition.misfit(lambda x: 3 * x[0])  # (3/2 − 1)² = 0.25
        ```
    """

    value: GivenValue = eqx.field(converter=as_value, default=1.0)

    def __check_init__(self) -> None:
        self.check()

    def asked(self) -> Asked:
        """The integral of u itself."""
        return [(None, self.value)]


@final
class OrthogonalTo(_AbstractOfIntegrals):
    """$∫ g u dx = 0$ for functions g, as an eigenfunction is orthogonal to the eigenfunctions
    before it.

    **Arguments:**

    - `functions`: g, a function of the coordinates that are integrated over, and not of time, that
        returns a number; or several in a tuple.
    - `on`, `over`, `rule`, `n`, `component`, `weight`: as for [`diffop.pde.Normalised`][].

    **Raises:** as `diffop.pde.Normalised`, and `TypeError` for anything but a function.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        box = do.pde.Box((0.0,), (1.0,))
        first = do.pde.OrthogonalTo(lambda x: jnp.sin(jnp.pi * x[0]), on=box)
        (condition,) = first.draw(jax.random.key(0), 10)
        condition.misfit(lambda x: jnp.sin(2 * jnp.pi * x[0]))  # 0 up to rounding
        ```
    """

    functions: tuple[Callable[..., Any], ...] = eqx.field(converter=_as_functions)

    def __check_init__(self) -> None:
        self.check()

    def asked(self) -> Asked:
        """The integrals of u times each of them."""
        return [(each, 0.0) for each in self.functions]
