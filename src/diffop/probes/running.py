"""Importance weights that are learnt from the draws themselves."""

from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ..array_types import Magnitudes, PerDirection, TermNumbers
from ..scalars import checked_integer, plain
from .sparse import Importance


@final
class RunningMagnitudes(eqx.Module):
    """A running mean of the magnitude of each term of a sum, as weights for
    [`diffop.probes.Importance`][].

    Probabilities $p ∝ |t_i|$ have the least variance. During training the terms $t_i$ change slowly
    from step to step, so their earlier values are a good guess. Estimates stay unbiased whatever
    the weights are, since these depend on earlier keys only.

    **Arguments:**

    - `terms`: how many there are, such as the number of coordinates for $Δ$.
    - `decay`: how much of the old mean is kept at a new observation, between 0 and 1.
    - `floor`: a positive fraction of the mean magnitude that is added to every weight, so that
        every term can be drawn.

    **Raises:** `ValueError` for numbers outside of these ranges.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        a = jnp.array([100.0, 1.0, 1.0, 1.0])
        u, x = (lambda x: a @ x**4), jnp.ones(4)
        memory = do.probes.RunningMagnitudes(4)
        for seed in range(20):
            E = do.Laplacian().estimate(jax.random.key(seed), 2, probes=memory.probe())
            memory = E.observe(memory)(u)(x)
        memory.probe().weights  # 12 a, and a tenth of its mean added to each
        ```
    """

    means: Magnitudes
    seen: Bool[Array, " terms"]
    decay: float = eqx.field(static=True, converter=plain)
    floor: float = eqx.field(static=True, converter=plain)

    def __init__(self, terms: int, *, decay: float = 0.5, floor: float = 0.1) -> None:
        terms = checked_integer(terms, "terms of RunningMagnitudes", 1)
        if not 0 <= decay < 1:
            raise ValueError(f"decay of RunningMagnitudes must be in [0, 1); got {decay}.")
        if not floor > 0:
            raise ValueError(f"floor of RunningMagnitudes must be positive; got {floor}.")
        self.means, self.seen = jnp.zeros(terms), jnp.zeros(terms, bool)
        self.decay, self.floor = decay, floor

    def probe(self) -> Importance:
        """Probes with the weights learnt so far. At first all are equal; a term that was not drawn
        yet counts as an average one.
        """
        # divided first: the sum may be out of range
        average = jnp.sum(self.means / jnp.maximum(jnp.sum(self.seen, dtype=self.means.dtype), 1))
        average = jnp.where(average > 0, average, 1.0)
        return Importance(jnp.where(self.seen, self.means, average) + self.floor * average)

    def observe(self, numbers: TermNumbers, magnitudes: PerDirection) -> "RunningMagnitudes":
        """The memory after terms with these magnitudes were seen; a term that was drawn several
        times counts once, and one whose magnitude is not finite not at all. `Estimate.observe`
        calls this with the draws of an estimate.
        """
        old, new = self.means[numbers], magnitudes.astype(self.means.dtype)
        mixed = jnp.where(self.seen[numbers], self.decay * old + (1 - self.decay) * new, new)
        known = jnp.isfinite(new)
        means = self.means.at[numbers].set(jnp.where(known, mixed, old))
        seen = self.seen.at[numbers].set(self.seen[numbers] | known)
        return eqx.tree_at(lambda m: (m.means, m.seen), self, (means, seen))
