"""The paper's probe for an indefinite C: Gaussian directions with the covariance C + λI.

For a symmetric C and λ with C + λI positive definite, C + λI = R Rᵀ. With z ~ N(0, I)

    E[(Rz·∇)² − λ (z·∇)²] = (C + λI):∇² − λΔ = C:∇².

The paper takes R from an eigen-decomposition, whose gradient is not finite if eigenvalues repeat.
Any square root of C + λI works: here R is the Cholesky factor, with a finite gradient for every
positive definite matrix.
"""

from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..array_types import AnyArray, Key, Probes
from ..jets.design import Design, Stratum
from ..jets.field_terms import MatrixForm
from ..jets.point import Point
from ..jets.terms import Factors
from ..jets.weighted_jets import WeightedJets, drawn, terms_along
from ..scalars import plain
from ..streams import stream
from .base import AbstractProbe, Draw


@final
class Shifted(AbstractProbe):
    """Two jets a draw, along Rz and z with $R Rᵀ = C + λI$, for second-order operators with a C.

    **Arguments:**

    - `shift`: $λ$, more than minus the least eigenvalue of C. By default twice that, or a
        thousandth of C's largest entry if that is more; no gradient flows into it.

    [`diffop.probes.Rademacher`][] has the same expectation from one jet along v and Cv. It needs no
    square root, and only products with C. `Shifted` is here for comparison.

    Source: STDE, section "Dense STDE jets", theorem on arbitrary second-order operators.

    **Raises:** `ValueError` if C is known only by its products, or if $C + λI$ is not positive
    definite (by `equinox.error_if` if C is traced).

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        wave = do.SecondOrder(jnp.diag(jnp.array([1.0, 1.0, -1.0])))
        wave.estimate(jax.random.key(0), 2, probes=do.probes.Shifted(shift=1.5))
        ```
    """

    shift: float | None = eqx.field(static=True, converter=plain, default=None)
    name: ClassVar[str] = "shifted"

    def __check_init__(self) -> None:
        if self.shift is not None and not np.isfinite(self.shift):
            raise ValueError(f"shift of Shifted must be finite, or None; got {self.shift}.")

    def supports(self, factors: Factors) -> bool:
        terms, power = factors[0]
        return len(factors) == 1 and power == 1 and isinstance(terms, MatrixForm)

    def directions(self, key: Key, n: int, size: int, dtype: np.dtype) -> Probes:
        return jax.random.normal(key, (n, size), dtype)

    def jets(self, factors: Factors, point: Point, draw: Draw) -> WeightedJets:
        ((terms, _),) = factors
        assert isinstance(terms, MatrixForm)  # `supports` was checked
        n, size = draw.n, terms.dimension(point)
        dtype = jnp.finfo(point.dtype(terms.argnum)).dtype  # directions are real
        key = stream(draw.key, "shifted", size)
        z = self.directions(key, n, size, dtype)
        matrix = terms.matrix(point).astype(dtype)
        precise = matrix.astype(np.promote_types(dtype, np.float32))  # decompositions need it
        root, shift = self._root((precise + precise.T) / 2, terms.symbol)
        root, shift = root.astype(dtype), shift.astype(dtype)
        pairs = jnp.stack([z @ root.T, z], axis=1).reshape(2 * n, size)
        weights = jnp.tile(jnp.stack([jnp.ones_like(shift), -shift]), n) / n
        rows = {terms.argnum: terms.embed(pairs, point)}
        design = Design((self.name, size), (Stratum(n),))
        return drawn(terms_along([rows], weights, (2,)), design, None)

    def _root(self, matrix: AnyArray, symbol: str) -> tuple[AnyArray, AnyArray]:
        """R and λ."""
        least = jnp.min(jnp.linalg.eigvalsh(jax.lax.stop_gradient(matrix)))
        if self.shift is None:
            # at least of the size of C, so that its root is as smooth as C is
            margin = 1e-3 * jnp.max(jnp.abs(matrix)) + jnp.finfo(matrix.dtype).tiny
            shift = jax.lax.stop_gradient(jnp.maximum(-2 * least, margin))
        else:
            shift = jnp.asarray(self.shift, matrix.dtype)
        wrong = least + shift <= 0
        message = (
            f"shift of Shifted must be more than minus the least eigenvalue of C of {symbol}, so "
            f"that C + shift·I is positive definite; got {self.shift}. Leave it out to have it "
            "chosen."
        )
        if isinstance(wrong, Tracer):
            shift = eqx.error_if(shift, wrong, message)
        elif bool(wrong):
            raise ValueError(message)
        shifted = matrix + shift * jnp.eye(matrix.shape[0], dtype=matrix.dtype)
        return jnp.linalg.cholesky(shifted), shift
