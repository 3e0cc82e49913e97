"""What every kind of random jets has in common: it can draw a product of factors, or cannot."""

import dataclasses
import zlib
from abc import abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool

from ..array_types import Key, KeyWords, Probes, Weights
from ..complete import Complete
from ..jets.design import Design, Stratum
from ..jets.identity import by_value
from ..jets.point import Point
from ..jets.terms import Factors, ProbedTerms, Target
from ..jets.weighted_jets import WeightedJets, drawn
from ..scalars import plain
from ..streams import stream

if TYPE_CHECKING:
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class AbstractProbe(Complete):
    """How random jets are drawn, the `probes` of `Operator.estimate`. What it draws of is a
    product of [`diffop.jets.Factor`][]s.

    Subclass [`diffop.probes.AbstractDenseProbe`][] for random directions, or
    [`diffop.probes.AbstractTermProbe`][] for random terms.
    """

    name: AbstractVar[str]

    @abstractmethod
    def supports(self, factors: Factors) -> bool:
        """Whether draws of this kind have the product of factors as their expectation."""

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        """Whether n draws of this kind are everything, so that all the jets are pushed instead."""
        return number_of_terms(factors, point) <= n

    @abstractmethod
    def jets(self, factors: Factors, point: Point, draw: "Draw") -> WeightedJets:
        """n draws of the product of factors, weighted so that their sum is unbiased; a draw may be
        several adjacent jets. Random numbers are those of a draw that is `started`.
        """


@final
class Draw(eqx.Module):
    """A fixed sample of jets: the same whatever function and point it is used on.

    A draw is its key, its n and its probe, wherever it travels. `identity` says what is known of it
    while tracing: equal ones are merged. Draws with traced keys may be equal without that being
    known, as when one estimate enters a jitted function twice; to mark each draw with a static
    number would settle it, and compile anew for every key. So they are compared by `equals` when
    the program runs. Draws of one key that differ in n or in the probe are independent: see
    `stream`.

    The key is kept as its words and the name of its generator: arrays that NumPy knows can be
    written to files, by `equinox.tree_serialise_leaves` for one.
    """

    words: KeyWords
    generator: Hashable = eqx.field(static=True)
    n: int = eqx.field(static=True, converter=plain)
    probe: AbstractProbe

    def __init__(self, key: Key, n: int, probe: AbstractProbe) -> None:
        self.words, self.generator = jax.random.key_data(key), jax.random.key_impl(key)
        self.n, self.probe = n, probe

    @property
    def key(self) -> Key:
        return jax.random.wrap_key_data(self.words, impl=self.generator)  # pyright: ignore

    @property
    def identity(self) -> Hashable:
        """Equal for draws that are known to be the same."""
        return (self.n, self.generator, by_value(self.words), by_value(self.probe))

    def equals(self, other: "Draw") -> Bool[Array, ""] | bool:
        """Whether two draws are the same; traced where it is known at run time only."""
        if self.identity == other.identity:
            return True
        if not _comparable(self, other):
            return False
        pairs = zip(jax.tree.leaves(self), jax.tree.leaves(other), strict=True)
        equal = [_equal(*pair) for pair in pairs]
        if any(each is False for each in equal):
            return False
        return jnp.all(jnp.stack([jnp.asarray(each) for each in equal]))

    @property
    def stream(self) -> Key:
        """What random numbers are drawn from. Generators fill arrays of different sizes, or of
        signs and normal numbers, from the same bits, so that n and the probe are folded into the
        key: what its name, its numbers and its arrays are.
        """
        words = zlib.crc32(_description(self.probe).encode()), self.n
        return stream(self.key, "probe", *words, *map(_digest, jax.tree.leaves(self.probe)))

    @property
    def started(self) -> "Draw":
        """The draw with its stream in the place of its key: what probes draw from."""
        return Draw(self.stream, self.n, self.probe)

    def inner(self) -> "Draw":
        """An independent draw for the operator that is applied first in a composition."""
        return Draw(stream(self.key, "inner"), self.n, self.probe)


@final
class Drawn(NamedTuple):
    """Weighted directions with $Σ_r w_r (v_r·∇)^k$ as an unbiased estimate, w including 1/n.

    - `directions`: shape `(n j, size)`, the j directions of a draw one after the other.
    - `weights`: shape `(n j,)`.
    - `strata`: how the n draws depend on each other.
    """

    directions: Probes
    weights: Weights
    strata: tuple[Stratum, ...]


class AbstractDenseProbe(AbstractProbe):
    """Random directions in all the coordinates that an operator acts on.

    A subclass says which [`diffop.probes.Target`][] it `reaches`, and draws directions with that
    moment.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        class Uniform(do.probes.AbstractDenseProbe):
            name = "uniform"  # v in [-√3, √3]^d has E[v vᵀ] = I

            def reaches(self, target):
                return target.kind == "trace"

            def draw(self, key, n, size, dtype, target):
                v = jax.random.uniform(key, (n, size), dtype, -(3**0.5), 3**0.5)
                return do.probes.Drawn(v, jnp.full(n, 1 / n), (do.probes.Stratum(n),))

        do.Laplacian().estimate(jax.random.key(0), 8, probes=Uniform())
        ```
    """

    @abstractmethod
    def reaches(self, target: Target) -> bool:
        """Whether its directions have this moment."""

    @abstractmethod
    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        """n draws for a target that it reaches."""

    def jets_per_draw(self, target: Target) -> int:
        """How many directions a draw has."""
        return 1

    def family(self, target: Target) -> Hashable:
        """Equal for targets that the same directions are drawn for. Different families have to be
        drawn independently, and all get one key: fold into it what tells them apart.
        """
        return self.name

    def variance_of_form(self, matrix: Array, n: int) -> Array | None:
        """The variance of n draws of $Σ_ij A_ij v_i v_j$, from the symmetric matrix A in the last
        two axes; None where no formula is known.
        """
        return None

    def supports(self, factors: Factors) -> bool:
        target = target_of(factors)
        return target is not None and self.reaches(target)

    def jets(self, factors: Factors, point: Point, draw: "Draw") -> WeightedJets:
        ((terms, power),) = factors
        assert isinstance(terms, ProbedTerms)  # `supports` was asked when the estimate was made
        target, size = terms.target(power), terms.count(point)
        assert target is not None
        key = stream(draw.key, "directions", size)
        found = self.draw(key, draw.n, size, point.dtype(terms.argnum), target)
        check_shapes(self, found.directions, found.weights, size)
        jets, family = terms.probe(point, found.directions), self.family(target)
        if power > 1:
            jets = dataclasses.replace(jets, output=(terms.order * power,))  # pyright: ignore
        design = Design((family, size), found.strata)
        return drawn(jets, design, (draw.identity, family), found.weights)


def check_shapes(probe: AbstractProbe, drawn: Any, weights: Any, size: int | None = None) -> None:
    """What your own probe returns: as many weights as directions of `size` entries, or as
    terms.
    """
    shape, entries = jnp.shape(drawn), () if size is None else (size,)
    if len(shape) != 1 + len(entries) or shape[1:] != entries or jnp.shape(weights) != shape[:1]:
        what = "numbers (m,)" if size is None else f"directions (m, {size})"
        raise ValueError(
            f"the probe {probe.name!r} must draw {what}, m of them, with weights (m,); got "
            f"{'numbers' if size is None else 'directions'} {shape} and weights "
            f"{jnp.shape(weights)}."
        )


def target_of(factors: Factors) -> Target | None:
    """The moment that dense directions need for a product of factors; None where none will do."""
    terms, power = factors[0]
    if len(factors) > 1 or not isinstance(terms, ProbedTerms):
        return None
    return terms.target(power)


def number_of_terms(factors: Factors, point: Point) -> int:
    """The number of terms of a product of factors, equal ones counted as unordered."""
    total = 1
    for terms, power in factors:
        total *= multisets(terms.count(point), power)
    return total


def multisets(total: int, power: int) -> int:
    """Unordered choices of `power` out of `total`, with repetition."""
    result = 1
    for i in range(power):
        result = result * (total + i) // (i + 1)
    return result


def _description(probe: AbstractProbe) -> str:
    """A probe's class and those of its settings that are plain, alike in every process."""
    settings = [
        (field.name, value)
        for field in dataclasses.fields(probe)
        if _is_plain(value := getattr(probe, field.name, None))
    ]
    return f"{probe.name} {type(probe).__name__} {settings}"


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _digest(leaf: Any) -> Array:
    """32 bits made of those of an array: a sum of its words, each times an odd number of its
    own.
    """
    array = jax.lax.stop_gradient(jnp.asarray(leaf)).reshape(-1)
    if array.dtype == bool:
        array = array.astype(jnp.uint8)
    words = jax.lax.bitcast_convert_type(array, _WORDS[array.dtype.itemsize]).reshape(-1)
    factors = jnp.arange(words.size, dtype=jnp.uint32) * jnp.uint32(2654435762) + jnp.uint32(1)
    return jnp.sum(words.astype(jnp.uint32) * factors, dtype=jnp.uint32)


_WORDS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint32}


def _comparable(left: Any, right: Any) -> bool:
    """Whether two trees differ in the values of their arrays at most."""
    (first, structure), (second, other) = jax.tree.flatten(left), jax.tree.flatten(right)
    return structure == other and all(
        jnp.shape(a) == jnp.shape(b) and jnp.result_type(a) == jnp.result_type(b)
        for a, b in zip(first, second, strict=True)
    )


def _equal(left: Any, right: Any) -> Array | bool:
    if by_value(left) == by_value(right):
        return True
    if not isinstance(left, Tracer) and not isinstance(right, Tracer):
        return False
    return jnp.all(left == right)
