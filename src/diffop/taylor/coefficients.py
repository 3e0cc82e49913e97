"""Coefficients of Taylor series, by the structure of their zeros.

A coefficient belongs to a value of the program (its *primal*). It has the primal's shape after
leading axes, one for the directions or for the collapsed sums (see `Family`). There are three
kinds:

- `Zero`: nothing is stored.
- `Full`: one array.
- `Blocks`: arrays whose axes say which directions and which entries they belong to (all basis
    vectors, or a sample of them, before the first dense layer).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import jax

from ..array_types import AnyArray
from ..arrays import times
from ..coefficients.block import Block
from ..coefficients.blocks import Blocks
from ..devices import varying_over
from ..record import record, static
from ..source import Source


@final
@record
class Zero:
    """A coefficient that is zero for every input: no array, no arithmetic."""


@final
@record
class Image:
    """What is known of an array of rows $ℓ(e_r)$, for a linear map ℓ.

    In $(1 − |x|²) φ(Wx)$ the gradient of $|x|²$ is $2x$, and the rows of $Wx$ are those of $Wᵀ$.
    Where the two meet, $Σ_r x_r W e_r$ is $Wx$, which the program has computed.

    - `source`: of the array. If it is a vector x, ℓ is the product with x.
    - `operand`: the source of a value to which ℓ was applied, here x.
    - `output`: what this gave, here $Wx$.
    """

    source: Source = static()
    operand: Source | None = static(default=None)
    output: AnyArray | None = None


@final
@record
class Full:
    """A coefficient held as one array (leading axes, then the primal's shape) times a known number.

    The number is kept apart so that −2x is recognised as a multiple of x. With `image`, a sum over
    directions $Σ_r x_r ℓ(e_r)$ is recognised as the ℓ(x) that the primal has computed already.

    Two more notes say how `base` was made, so that what uses it next can begin with its factors:

    - `scaled`: numbers s and a matrix, if `base` is $s_r A_rk$ (see `replacing/forms.py`).
    - `weighted`: numbers w and rows, if `base` is $w_k A_rk$ (see `dense.py`).

    Only an operation that comes directly after finds these two; scaling keeps `image`.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.taylor.Full(jnp.eye(3), factor=2).array  # two times each of three basis vectors
        ```
    """

    base: AnyArray
    factor: float | int = static(default=1)
    image: Image | None = None
    scaled: tuple[AnyArray, AnyArray] | None = None
    weighted: tuple[AnyArray, AnyArray] | None = None

    @property
    def array(self) -> AnyArray:
        return times(self.base, self.factor)


Coefficient: TypeAlias = Zero | Full | Blocks
Series: TypeAlias = tuple[Coefficient, ...]
"""The coefficients of one value along one family, one at each place of its algebra."""


def all_zero(series: Sequence[Coefficient]) -> bool:
    return all(isinstance(coefficient, Zero) for coefficient in series)


def zeros(order: int) -> Series:
    return (Zero(),) * order


def scale(coefficient: Coefficient, factor: float | int) -> Coefficient:
    """A coefficient times a Python number.

    The number is kept apart from an array as long as it has an ordinary size. Squares of x · 10^22
    and of 10^-22 are both out of the range of single precision, but not that of their product.
    """
    if isinstance(coefficient, Zero) or factor == 1:
        return coefficient
    if isinstance(coefficient, Full):
        c, number = coefficient, coefficient.factor * factor
        if _is_ordinary(number):
            return Full(c.base, number, c.image)
        return Full(times(c.base, number))
    parts = tuple(_scaled(part, factor) for part in coefficient.parts)
    return Blocks(parts, coefficient.shape).named_as(coefficient)


def _scaled(part: Block, factor: float | int) -> Block:
    number = part.factor * factor
    if part.values is None or _is_ordinary(number):
        return part.with_values(part.values, number)
    return part.with_values(times(part.values, number), 1)


def _is_ordinary(number: float | int) -> bool:
    """Whether arrays may be multiplied with each other before they are multiplied by
    this number.
    """
    return number == 0 or 2**-10 <= abs(number) <= 2**10


def on_array(function: Callable[[Any], Any], coefficient: Coefficient) -> Coefficient:
    """A coefficient with what a function makes of its array, if it is one; the number stays."""
    c = coefficient
    return Full(function(c.base), c.factor) if isinstance(c, Full) else c


def without_notes(coefficient: Any) -> Any:
    """An array without what else is known about it."""
    return Full(coefficient.array) if isinstance(coefficient, Full) else coefficient


def varying(coefficient: Coefficient, axes: frozenset) -> Coefficient:
    """A coefficient whose values vary over these axes of devices, inside `jax.shard_map`."""
    c = coefficient
    if isinstance(c, Zero) or not axes:
        return c
    if isinstance(c, Full):
        return Full(varying_over(c.base, axes), c.factor, c.image)
    return jax.tree.map(lambda array: varying_over(array, axes), c)
