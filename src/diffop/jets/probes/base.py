"""What every kind of random jets has in common: it can draw a product of factors, or cannot."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..._types import Key, Probes, Weights
from ..design import Design, Stratum
from ..point import Point
from ..terms import Block, Factor, ProbedTerms, Target, times

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar

Factors: TypeAlias = Sequence[tuple[Factor, int]]
"""Factors of a homogeneous operator with their powers."""


@final
class Request(NamedTuple):
    """What is drawn: `tag` tells the draws of one evaluation apart."""

    point: Point
    key: Key
    n: int
    tag: int


class AbstractProbe(eqx.Module):
    """How random jets are drawn, the `probes` of `Operator.estimate`.

    Subclass [`diffop.probes.AbstractDenseProbe`][] for random directions, or
    [`diffop.probes.AbstractTermProbe`][] for random terms.
    """

    name: AbstractClassVar[str]

    @abstractmethod
    def supports(self, factors: Factors) -> bool:
        """Whether draws of this kind have the product of factors as their expectation."""

    @abstractmethod
    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        """Whether n draws of this kind are everything, so that all the jets are pushed instead."""

    @abstractmethod
    def block(self, factors: Factors, request: Request) -> Block:
        """n draws of the product of factors, weighted so that their sum is unbiased; a draw may be
        several adjacent jets.
        """


@final
class Drawn(NamedTuple):
    """Weighted directions with Σ_r w_r (v_r·∇)^k as an unbiased estimate, w including 1/n.

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
        """The variance of n draws of Σ_ij A_ij v_i v_j, from the symmetric matrix A in the last two
        axes; None where no formula is known.
        """
        return None

    def supports(self, factors: Factors) -> bool:
        target = target_of(factors)
        return target is not None and self.reaches(target)

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        return number_of_terms(factors, point) <= n

    def block(self, factors: Factors, request: Request) -> Block:
        ((terms, power),) = factors
        assert isinstance(terms, ProbedTerms)  # `supports` was asked when the estimate was made
        point, n = request.point, request.n
        target, size = terms.target(power), terms.probe_space(point)
        assert target is not None
        key = jax.random.fold_in(request.key, size)
        drawn = self.draw(key, n, size, terms.probe_dtype(point), target)
        check_shapes(self, drawn.directions, drawn.weights, size)
        block = terms.probe(point, drawn.directions)
        family = self.family(target)
        signature = None
        if block.signature is not None:
            signature = (request.tag, n, family, block.signature)
        return Block(
            times(block.weights, drawn.weights),
            block.slots,
            (terms.order * power,) if power > 1 else block.exponents,
            signature,
            Design((family, size), drawn.strata),
        )


def check_shapes(probe: AbstractProbe, drawn: Any, weights: Any, size: int | None = None) -> None:
    """What a probe of one's own returns: as many weights as directions of `size` entries, or as
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
