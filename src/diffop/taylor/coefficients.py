"""Coefficients of Taylor series, by what is known of their zeros.

A coefficient belongs to a value of the program (its *primal*). It has the primal's shape behind
leading axes, one for the directions or for the collapsed sums (see `Family`). It is one of

- `Zero`: nothing at all.
- `Full`: one array.
- `ByDirection`: few entries for each direction, found by their positions in the primal (a sample of
    basis vectors before the first dense layer).
- `ByEntry`: few directions for each entry, found by their numbers (all the basis vectors).
- `Sets`: several sets of directions side by side, each with a structure of its own (where
    directions were replaced, see `second_moments`).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from ..array_types import AnyArray
from ..devices import varying_over
from .arrays import times
from .record import record, static
from .sparsity.numbers import Numbers
from .sparsity.source import Source


@final
@record
class Zero:
    """A coefficient that is zero whatever the input: no array, no arithmetic."""


@final
@record
class Image:
    """What is known of an array of rows $ℓ(e_r)$, for a linear map ℓ.

    - `source`: of the array. Where it is a vector x, ℓ is the product with x.
    - `operand`, `output`: the source of a value that ℓ was applied to, and what came of it.
    """

    source: Source = static()
    operand: Source | None = static(default=None)
    output: AnyArray | None = None


@final
@record
class Full:
    """A coefficient held as one array, leading axes followed by the primal's shape, times a known
    number.

    The number is kept apart so that −2x is recognised as a multiple of x, and with `image` a sum
    over directions $Σ_r x_r ℓ(e_r)$ as the ℓ(x) that the primal has computed already. `scaled` are
    numbers and a matrix of which the array is: its rows times the numbers.

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


@final
@record
class ByDirection:
    """A coefficient with few entries: `values` at flat `positions` of the primal, all else zero.

    Shapes: values `(*lead, *entries)`, positions `entries` behind the leading axes that tell them
    apart: `(n, s)` both for a coefficient held direction by direction, lead `(n,)`; collapsed,
    values `(*m, n, s)` at positions `(n, s)`, lead `m`. Entries at one position add up; `distinct`
    says that no two of one direction do, whatever their values. Positions are equal where their
    `source` is, the engine's own note; those that are a NumPy array are part of it, −1 for an entry
    that a primitive lost. So entries at equal positions are lost together, and a slice of the
    first half of an array is never taken for one of the second.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        # ∂_2² + ∂_700² of a function of a million variables
        v = do.taylor.ByDirection(jnp.array([[2], [700]]), jnp.ones((2, 1)), distinct=True)
        jets = do.taylor.Jets(((v,), (None,)), weights=jnp.ones(2))
        x = jnp.ones(1_000_000)
        do.taylor.push(lambda x: jnp.sum(x**3), (x,), [jets]).derivatives[0][1]  # 12
        ```
    """

    unknown: Int[Array, "..."] | None
    values: AnyArray
    distinct: bool = static()
    source: Source = static()

    def __init__(
        self,
        positions: Int[Array | np.ndarray, "..."] | None,
        values: AnyArray,
        distinct: bool = False,
        source: Source | None = None,
    ) -> None:
        source = source or Source()
        if isinstance(positions, np.ndarray) and source.numbers is None:
            source = Source(Numbers(positions))
        unknown = positions if source.numbers is None else None
        fields = {"unknown": unknown, "values": values, "distinct": distinct, "source": source}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def positions(self) -> Any:
        """Where the entries are: a NumPy array where that is known while tracing. Those that are
        lost, whose values are zero, are anywhere.
        """
        return self.source.numbers.anywhere if self.source.numbers else self.unknown

    def moved_to(
        self, positions: Any, values: AnyArray, step: Any, distinct: bool = False, keep: Any = None
    ) -> "ByDirection":
        """Entries at the other positions that a step gives them: several for each, one after
        another, none where `keep` is false.
        """
        if isinstance(positions, np.ndarray):
            numbers, distinct = self.source.numbers, distinct and not isinstance(keep, Array)
            copies = positions.shape[-1] // max(1, self.positions.shape[-1])
            lost = np.zeros((), bool) if numbers is None else ~np.repeat(numbers.known, copies, -1)
            if isinstance(keep, np.ndarray):
                lost = lost | ~keep
            return ByDirection(np.where(lost, -1, positions), values, distinct)
        return ByDirection(positions, values, distinct, Source(step, self.source))

    def with_values(self, values: AnyArray, distinct: bool | None = None) -> "ByDirection":
        """Other values at the same positions."""
        distinct = self.distinct if distinct is None else distinct
        return ByDirection(self.unknown, values, distinct, self.source)


@final
@record
class ByEntry:
    """A coefficient each of whose entries depends on few of the n directions: on direction
    `numbers[j]` with derivative `factor * values[j]`, j = 0 … s−1.

    `numbers` has shape `(s, *shape)`, is known while tracing, and is −1 where there is no
    direction. `values` has that shape too and is zero there, or is None for ones. All n basis
    vectors need no more memory than the point itself, and structural primitives act on `numbers` as
    they act on the primal. One column of values may have the primal's own shape: operations see it
    as they see the primal. `source` is then the engine's own note of what it is.

    !!! example

        ```python
        import jax.numpy as jnp
        import numpy as np
        import diffop as do

        # all the basis vectors of a million variables, without a number for each
        numbers = do.taylor.Numbers(np.arange(1_000_000)[None])
        basis = do.taylor.ByEntry(None, numbers, size=1_000_000)
        jets = do.taylor.Jets(((basis,), (None,)), weights=np.ones(1_000_000), top_only=True)
        x = jnp.ones(1_000_000)
        do.taylor.push(lambda x: jnp.sum(x**3), (x,), [jets]).derivatives[0][1]  # 6000000
        ```
    """

    values: AnyArray | None
    numbers: Numbers = static()
    size: int = static()
    factor: float | int = static(default=1)
    source: Source | None = static(default=None)

    @property
    def is_ones(self) -> bool:
        return self.values is None

    @property
    def is_lone(self) -> bool:
        """Whether there is one column, without an axis for columns."""
        return self.values is not None and self.values.ndim == len(self.numbers.shape)

    @property
    def columns(self) -> Any:
        """The values as `(s, *shape)`, without the factor; None for ones."""
        return lax.expand_dims(self.values, (0,)) if self.is_lone else self.values  # pyright: ignore

    def with_values(self, values: AnyArray | None) -> "ByEntry":
        """Other values at the same numbers."""
        return ByEntry(values, self.numbers, self.size, self.factor)


@final
@record
class Sets:
    """A coefficient along several sets of directions, one part for each."""

    parts: tuple["Zero | Full | ByDirection | ByEntry", ...]


Structured: TypeAlias = ByDirection | ByEntry
"""Coefficients that are smaller than an array of all their entries."""
Coefficient: TypeAlias = Zero | Full | ByDirection | ByEntry | Sets
Series: TypeAlias = tuple[Coefficient, ...]
"""The coefficients of order 1, …, K of one value along one family (index k − 1 holds order k)."""


def all_zero(series: Sequence[Coefficient]) -> bool:
    return all(isinstance(coefficient, Zero) for coefficient in series)


def zeros(order: int) -> Series:
    return (Zero(),) * order


def sets(parts: Sequence[Any]) -> Coefficient:
    """Parts side by side, or zero where they all are."""
    return Zero() if all_zero(parts) else Sets(tuple(parts))


def each_set(function: Callable[[Any], Coefficient], coefficient: Coefficient) -> Coefficient:
    """What a function makes of a coefficient, set by set where there are several."""
    if isinstance(coefficient, Sets):
        return sets([function(part) for part in coefficient.parts])
    return function(coefficient)


def scale(coefficient: Coefficient, factor: float | int) -> Coefficient:
    """A coefficient times a Python number.

    It is kept apart from an array while it is of an ordinary size: squares of x · 10^22 and of
    10^-22 are both out of the range of single precision, where that of their product is not.
    """
    if isinstance(coefficient, Zero) or factor == 1:
        return coefficient
    if isinstance(coefficient, Full):
        c, number = coefficient, coefficient.factor * factor
        if _is_ordinary(number):
            return Full(c.base, number, c.image)
        return Full(times(c.base, number))
    if isinstance(coefficient, ByDirection):
        return coefficient.with_values(times(coefficient.values, factor))
    if isinstance(coefficient, ByEntry):
        c, number = coefficient, coefficient.factor * factor
        if c.is_ones or _is_ordinary(number):
            return ByEntry(c.values, c.numbers, c.size, number, c.source)
        return ByEntry(times(c.values, number), c.numbers, c.size)
    return sets([scale(part, factor) for part in coefficient.parts])


def _is_ordinary(number: float | int) -> bool:
    """Whether arrays may be multiplied with one another before they are with such numbers."""
    return number == 0 or 2**-10 <= abs(number) <= 2**10


def varying(coefficient: Coefficient, axes: frozenset) -> Coefficient:
    """A coefficient whose values vary over these axes of devices, inside `jax.shard_map`."""
    c = coefficient
    if isinstance(c, Zero) or not axes:
        return c
    if isinstance(c, Full):
        return Full(varying_over(c.base, axes), c.factor, c.image)
    if isinstance(c, ByDirection):
        return c.with_values(varying_over(c.values, axes))
    if isinstance(c, ByEntry):
        return c if c.is_ones else c.with_values(varying_over(c.values, axes))
    return sets([varying(part, axes) for part in c.parts])


def zero_array(lead_shape: tuple[int, ...], primal: Any) -> Array:
    """Zeros in the shape of a coefficient, of the primal's type."""
    return jnp.broadcast_to(jnp.zeros_like(primal), (*lead_shape, *jnp.shape(primal)))
