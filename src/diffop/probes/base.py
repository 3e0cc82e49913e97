"""The base classes of probes, and the draw that an estimate keeps."""

import dataclasses
import math
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
from ..streams import is_key_array, stream

if TYPE_CHECKING:
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class AbstractProbe(Complete):
    """How random jets are drawn: the `probes` of `Operator.estimate`. A probe draws from a product
    of [`diffop.jets.Factor`][]s.
    Subclass [`diffop.probes.AbstractDenseProbe`][] for random directions, or
    [`diffop.probes.AbstractTermProbe`][] for random terms.
    """

    name: AbstractVar[str]

    @abstractmethod
    def supports(self, factors: Factors) -> bool:
        """Whether the expectation of draws of this kind is the product of factors."""

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        """Whether n draws of this kind include everything. Then all jets are pushed instead."""
        return number_of_terms(factors, point) <= n

    @abstractmethod
    def jets(self, factors: Factors, point: Point, draw: "Draw") -> WeightedJets:
        """n draws of the product of factors, weighted so that their sum is unbiased; a draw may be
        several adjacent jets. Random numbers come from a draw that is `started`.
        """


@final
class Draw(eqx.Module):
    """A fixed sample of jets: the same for every function and every point.

    A draw is its key, its n and its probe. `identity` compares what is known while tracing: draws
    known to be equal are merged. Draws with traced keys may be equal without being known to be, for
    instance when one estimate enters a jitted function twice. A static number for each draw would
    settle this, but every key would compile anew. So such draws are compared by `equals` when the
    program runs. Draws with one key that differ in n or in the probe are independent: see `stream`.

    The key is stored as its words and the name of its generator. NumPy knows these arrays, so they
    can be written to files, for example by `equinox.tree_serialise_leaves`.
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
        """Whether two draws are the same; traced if this is known only at run time."""
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
        """The key from which random numbers are drawn. Generators fill arrays of different sizes,
        or of signs and of normal numbers, from the same bits. So n and the probe (its name,
        numbers and arrays) are folded into the key.
        """
        words = zlib.crc32(_description(self.probe).encode()), self.n
        return stream(self.key, "probe", *words, *map(_digest, jax.tree.leaves(self.probe)))

    @property
    def started(self) -> "Draw":
        """The draw with its stream in place of its key: what probes draw from. It is taken once;
        that of a started draw would be another.
        """
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
    moment. They are real, in the precision of the point.

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
        """Whether its directions have the moment of the target."""

    @abstractmethod
    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        """n draws for a target that it reaches."""

    def jets_per_draw(self, target: Target) -> int:
        """How many directions a draw has."""
        return 1

    def family(self, target: Target) -> Hashable:
        """Equal for targets that use the same directions. Different families must be drawn
        independently, but all get one key: fold into it what distinguishes them.
        """
        return self.name

    def variance_of_form(self, matrix: Array, n: int) -> Array | None:
        """The variance of n draws of $Σ_ij A_ij v_i v_j$, from the symmetric matrix A in the last
        two axes; None if no formula is known.
        """
        return None

    def supports(self, factors: Factors) -> bool:
        target = target_of(factors)
        return target is not None and self.reaches(target)

    def jets(self, factors: Factors, point: Point, draw: "Draw") -> WeightedJets:
        ((terms, power),) = factors
        assert isinstance(terms, ProbedTerms)  # `supports` was checked with the estimate
        target, size = terms.target(power), terms.count(point)
        assert target is not None
        key = stream(draw.key, "directions", size)
        # real ones, also at complex points: E[v vᵀ] of complex normal vectors is 0
        real = jnp.finfo(point.dtype(terms.argnum)).dtype
        found = self.draw(key, draw.n, size, real, target)
        check_drawn(self, found.directions, found.weights, size)
        jets, family = terms.probe(point, found.directions), self.family(target)
        if power > 1:
            jets = dataclasses.replace(jets, output=(terms.order * power,))  # pyright: ignore
        design = Design((family, size), found.strata)
        return drawn(jets, design, (draw.identity, family), found.weights)


def check_drawn(probe: AbstractProbe, drawn: Any, weights: Any, size: int | None = None) -> None:
    """Checks what a user's probe returns: as many weights as directions, each of `size` entries, or
    as many weights as terms.
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
    """The moment that dense directions need for a product of factors; None if there is none."""
    terms, power = factors[0]
    if len(factors) > 1 or not isinstance(terms, ProbedTerms):
        return None
    return terms.target(power)


def number_of_terms(factors: Factors, point: Point) -> int:
    """The number of terms of a product of factors; equal factors count unordered tuples."""
    return math.prod(math.comb(terms.count(point) + power - 1, power) for terms, power in factors)


def _description(probe: AbstractProbe) -> str:
    """A probe's class and its plain settings, alike in every process."""
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
    """32 bits made from those of an array: the sum of its words, each times its own odd number."""
    array = jax.lax.stop_gradient(jnp.asarray(leaf)).reshape(-1)
    if is_key_array(array):
        array = jax.random.key_data(array)
    elif array.dtype == bool:
        array = array.astype(jnp.uint8)
    elif jnp.iscomplexobj(array):
        array = jnp.stack([array.real, array.imag])
    words = jax.lax.bitcast_convert_type(array, _WORDS[array.dtype.itemsize]).reshape(-1)
    factors = jnp.arange(words.size, dtype=jnp.uint32) * jnp.uint32(2654435762) + jnp.uint32(1)
    return jnp.sum(words.astype(jnp.uint32) * factors, dtype=jnp.uint32)


_WORDS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint32}


def _comparable(left: Any, right: Any) -> bool:
    """Whether two trees differ at most in the values of their arrays."""
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
