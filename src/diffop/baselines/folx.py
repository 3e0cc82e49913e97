"""The forward Laplacian of the package folx."""

import importlib
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np

from ..array_types import ScalarArray, Vector
from ..extras import require
from ..jets.index_terms import PowerSum
from ..jets.point import Point
from ..jets.terms import Factors
from ..probes.base import Draw
from ..terms.gradient import gradient
from ..terms.term import Part
from .base import AbstractBaseline, ScalarFunction
from .directions import Weighted, all_directions, array, over_all_sets
from .evaluation import Local


@final
class Folx(AbstractBaseline):
    """`"folx"`: the exact forward Laplacian by the package folx, which has to be installed. The key
    and the number of draws have no effect.

    It computes sums of squares $Σ_r w_r (v_r·∇)²$ with known $w_r ≥ 0$, such as $Δ$, $∂_i²$ and
    $½σσᵀ:∇²$, as the Laplacian of $u(x + Σ_r y_r √w_r v_r)$ with respect to y. Mixed derivatives
    and $C:∇²$ are not such sums.

    It takes d first derivatives of every intermediate value in u.

    Source: Li et al. 2024, "A computational framework for neural network-based variational Monte
    Carlo with forward Laplacian".

    **Raises:** `diffop.train.MissingExtraError` when an estimate is made, if folx is not installed.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        joint = do.baselines.estimate("folx", do.Laplacian(), jax.random.key(0), 1)
        joint(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "folx"
    random: ClassVar[bool] = False

    def check(self, parts: Sequence[Part]) -> None:
        require("the baseline 'folx'", "folx", ("folx",))

    def at(self, u: ScalarFunction, point: Point, draw: Draw) -> Local:
        (x,) = point.args

        def second(factors: Factors) -> ScalarArray:
            if _is_laplacian(factors):
                return laplacian(u, x)
            return over_all_sets(partial(_along, u, x), all_directions(factors, point))

        return Local(
            value=lambda: u(x),
            slope=lambda b: jnp.vdot(b, jax.grad(u)(x)),
            gradient=partial(gradient, u, point),
            second=second,
        )


def laplacian(u: ScalarFunction, x: Vector) -> ScalarArray:
    """Δu at x."""
    folx = importlib.import_module("folx")
    # folx promotes ranks and types itself; u was traced before under the user's settings
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        return folx.forward_laplacian(u)(x).laplacian


def _is_laplacian(factors: Factors) -> bool:
    """Whether it is Δ over all coordinates."""
    match list(factors):
        case [(PowerSum(power=2, dims=None), 1)]:
            return True
    return False


def _along(u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
    """The Laplacian of y ↦ u(x + Σ_r y_r √w_r v_r) at y = 0."""
    weights = weighted.weights
    if not isinstance(weights, np.ndarray) or (weights < 0).any():
        raise ValueError(
            "the baseline 'folx' computes sums of squares of derivatives along vectors, such as Δ "
            "and ½σσᵀ:∇², got an operator with mixed derivatives or coefficients of its squares; "
            "the other baselines and diffop.exact take it."
        )
    vectors = jnp.asarray(np.sqrt(weights)).astype(x.dtype)[:, None] * array(weighted, x)
    return laplacian(lambda y: u(x + y @ vectors), jnp.zeros(vectors.shape[0], x.dtype))
