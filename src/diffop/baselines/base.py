"""The base class of baselines: a way to compute first and second derivatives of a function."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

from ..array_types import ScalarArray, Vector
from ..complete import Complete
from ..jets.point import Point
from ..jets.terms import Factors
from ..probes.base import Draw
from ..terms.term import Part

if TYPE_CHECKING:
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

ScalarFunction: TypeAlias = Callable[[Vector], ScalarArray]
"""u: from one vector to a real number."""


@final
class Local(NamedTuple):
    """The derivatives of u at a point by a baseline, each by a call.

    - `value`: u.
    - `slope`: from a vector b to $b·∇u$.
    - `gradient`: from a factor with a gradient, such as $σᵀ∇$, to its value for u.
    - `second`: from a product of factors of order two, such as $Δ$, to its value for u.
    """

    value: Callable[[], ScalarArray]
    slope: Callable[[Vector], ScalarArray]
    gradient: Callable[..., Vector]
    second: Callable[[Factors], ScalarArray]


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
