"""The base class of baselines: a way to compute first and second derivatives of a function."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
from jaxtyping import PyTree

from ..array_types import Key, ScalarArray, Vector
from ..complete import Complete
from ..estimators.draws import make_draw
from ..estimators.together import flat_operators
from ..jets.point import Point
from ..probes.base import Draw
from ..terms.arguments import Function, check_callable
from ..terms.term import Part
from ..tracebacks import short_tracebacks
from .check import check_parts, checked_point
from .evaluation import Local, values

if TYPE_CHECKING:
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

ScalarFunction: TypeAlias = Callable[[Vector], ScalarArray]
"""u: from one vector to a real number."""


class AbstractBaseline(Complete):
    """A way to compute derivatives other than diffop's, the `method` of
    [`diffop.baselines.estimate`][].

    - `name`: its name.
    - `random`: whether it is random.

    !!! example

        ```python
        import diffop as do

        isinstance(do.baselines.SDGD(), do.baselines.AbstractBaseline)
        ```
    """

    name: AbstractVar[str]
    random: AbstractVar[bool]

    @abstractmethod
    def check(self, parts: Sequence[Part]) -> None:
        """Refuses an operator that the method cannot estimate, and packages that are missing."""

    @abstractmethod
    def at(self, u: ScalarFunction, point: Point, draw: Draw) -> Local:
        """The derivatives of u at a point. Equal draws are equal at all points, for all u."""

    def joint(self, ops: PyTree, key: Key, n: int) -> Function:
        """Several operators in this way, as [`diffop.baselines.estimate`][] gives them."""
        operators, structure = flat_operators(ops)
        draw = make_draw(key, n, "auto")
        parts = [operator.parts for operator in operators]
        for each in parts:
            check_parts(each)
            self.check(each)

        def applied(u: Function, *point: Any) -> Function:
            check_callable(u, point)

            @short_tracebacks
            def at(*args: Any) -> PyTree:
                point = checked_point(u, args)
                found = values(parts, self.at(u, point, draw), point)
                return jax.tree.unflatten(structure, found)

            return at

        return applied
