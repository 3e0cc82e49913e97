"""The probe of k-th roots of unity, for Σ_i ∂_i^k.

Let the entries of z be independent and uniform on the k-th roots of unity. E[z_i^a] is 1 for a = 0
and a = k, and 0 between, so E[z_{i_1} … z_{i_k}] is 1 where all indices agree and 0 elsewhere:
E[(z·∇)^k] = Σ_i ∂_i^k. No real Gaussian has such moments for even k > 2.

A complex direction is k real ones. For z = a + ib, with c_j = Re(z e^{−iπj/k}) = a cos(πj/k) +
b sin(πj/k),

    Re (z·∇)^k = (2^{k−1}/k) Σ_{j<k} (−1)^j (c_j·∇)^k.

For the root e^{2πil/k} the entry of c_j is cos(π(2l − j)/k).

Odd k need no complex numbers: v_i = 2 cos(2πl/k) with a uniform l has E[v_i^a] = 0 for odd a < k
and E[v_i^k] = 2 (of the k + 1 terms of (ω + ω̄)^k only ω^k and ω̄^k have a mean). A product of k
entries with different indices contains an odd power below k, so E[(v·∇)^k]/2 = Σ_i ∂_i^k: one jet a
draw. The k jets of a complex draw are, up to signs, k such directions, v_i = 2 cos(2π(l_i + s)/k)
for s < k. In every coordinate they take every value once, so they add up to zero: they are
antithetic.
For k = 3 and one entry D_iij of the derivative the variance of three such jets is half of that of
three independent ones: with f = v_i² and g = v_j, Σ_{s,t} E[f_s f_t] E[g_s g_t] = 3·6·2 + 6·3·(−1)
= 18 against 36. D_iii has no variance at all. One D_ijk has 3·2³ − 6 = 18 against 24, and D_iij and
D_ijj together, when equal, have 72 against 96.
"""

from collections.abc import Hashable
from typing import ClassVar, final

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Int

from ..array_types import Key
from ..jets.design import Stratum
from ..jets.terms import Target
from ..streams import stream
from .base import AbstractDenseProbe, Drawn
from .dense import rademacher_variance


@final
class Roots(AbstractDenseProbe):
    """Entries from the k-th roots of unity: dense estimates of $Σ_i ∂_i^k$ for every k.

    **Arguments:**

    - `antithetic`: whether a draw consists of the k real jets of a complex direction. For odd k,
        False takes one of them, with more variance for each jet. Even k need all of them.

    For k = 2 these are [`diffop.probes.Rademacher`][] signs, one jet a draw.

    Sources: the paper's remark that $Σ_i ∂_i⁴$ has no dense estimator holds for real Gaussians
    only; the derivation is in this module.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        E = do.DiagonalK(4).estimate(jax.random.key(0), 4, probes="roots")
        stats = E.stats(lambda x: jnp.sum(x**4))(jnp.ones(10))
        stats.value, stats.standard_error, stats.jets  # 240, 0, 16
        ```
    """

    antithetic: bool = eqx.field(static=True, default=True)
    name: ClassVar[str] = "roots"

    def reaches(self, target: Target) -> bool:
        return target.kind == "diagonal" or target.kind == "trace"

    def family(self, target: Target) -> Hashable:
        return (self.name, self.antithetic, target.order)

    def variance_of_form(self, matrix: Array, n: int) -> Array:
        return rademacher_variance(matrix) / n  # for k = 2 they are signs

    def jets_per_draw(self, target: Target) -> int:
        return len(self._shifts(target.order))

    def _shifts(self, k: int) -> list[int]:
        """The c_j that are used: for k = 2 the second one is zero."""
        return list(range(k)) if k > 2 and (self.antithetic or k % 2 == 0) else [0]

    def numbers(self, key: Key, n: int, size: int, k: int) -> Int[Array, "n size"]:
        """The numbers of the roots."""
        return jax.random.randint(key, (n, size), 0, k)

    def draw(self, key: Key, n: int, size: int, dtype: np.dtype, target: Target) -> Drawn:
        k, shifts = target.order, self._shifts(target.order)
        # other roots are drawn independently: their variances add
        numbers = self.numbers(stream(key, "roots", k), n, size, k)
        cosines = np.cos(np.pi * np.arange(2 * k) / k)
        cosines = np.where(np.abs(cosines) < 1e-15, 0.0, cosines).astype(dtype)
        places = (2 * numbers[:, None, :] - np.array(shifts)[None, :, None]) % (2 * k)
        directions = jax.numpy.asarray(cosines)[places].reshape(n * len(shifts), size)
        signs = (-1.0) ** np.array(shifts)
        jets = k if k == 2 else len(shifts)  # the zero direction counts
        weights = np.tile(2 ** (k - 1) / jets * signs, n) / n
        return Drawn(directions, weights, (Stratum(n),))
