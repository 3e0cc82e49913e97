"""Score matching: densities from samples, without their normalising constant.

Let p be the density of the points, and s = ∇ log q the score of a model. Fisher's divergence is

    J = ½ E|s − ∇ log p|² = ½ E|s|² − E[s·∇ log p] + ½ E|∇ log p|²,

with the mean over p. The last term does not depend on s. In the middle term p ∇ log p = ∇p, and if
p s vanishes at infinity, Gauss' theorem gives

    E[s·∇ log p] = ∫ s·∇p dx = −∫ p ∇·s dx = −E[∇·s],

so J = E[½ |s|² + ∇·s] + const can be computed from points of p alone (Hyvärinen 2005). For
log q = u up to a constant it is E[½ |∇u|² + Δu].

For random v with E[vvᵀ] = 1, independent of the point, each of

    ½ |s|² + vᵀ(∂s)v                        (Hutchinson's trace; Song et al. 2019, "SSM-VR"),
    ½ (v·s)² + vᵀ(∂s)v                      (sliced; Song, Garg, Shi, Ermon 2019)

has the mean ½ |s|² + ∇·s. The second varies more, but for a scalar u it needs no gradient: its
terms are derivatives along v.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..array_types import Key
from ..estimators.together import exact
from ..operators.elementary import Directional, Identity
from ..operators.laplacian import Laplacian
from ..operators.vector import Divergence, Gradient
from ..scalars import checked_integer, described
from ..streams import stream
from ..terms.one_point import noting_point

WAYS = ("exact", "hutchinson", "sliced")
_MODEL = "a model for score matching is a function of one point, net and not jax.vmap(net); it"


def score_matching(
    model: Callable,
    points: Float[Array, "points ..."],
    key: Key | None = None,
    *,
    way: str = "exact",
    n: int = 1,
) -> Float[Array, ""]:
    """Fisher's divergence between a model and the density of some points, up to a constant.

    Its minimum over all models is the score $∇ log p$ of that density p.

    **Arguments:**

    - `model`: a function of a point: the logarithm of a density that need not be normalised (a
        scalar), or its score (an array like the point).
    - `points`: drawn from p, one behind the other along the first axis: `(count, d)`, or images.
    - `key`: for the directions, which are random signs; None if there are none.
    - `way`: `"exact"`, $½|s|² + ∇·s$ with d jets; `"hutchinson"`, with random directions for
        $∇·s$; `"sliced"`, with random directions for both terms. All are unbiased.
    - `n`: how many random directions each point has.

    **Returns:** the mean over the points, a scalar. It may be negative.

    **Raises:** `ValueError` for another way, a key or directions that are missing or not needed,
    or a model whose values have another shape; `TypeError` for an n that is no integer.

    **Source:** Hyvärinen 2005, "Estimation of non-normalized statistical models by score matching";
    Song, Garg, Shi, Ermon 2019, "Sliced score matching".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        points = jax.random.normal(jax.random.key(0), (1000, 2))
        do.losses.score_matching(lambda x: -0.5 * x @ x, points)  # near −2 + ½ · 2 = −1
        ```
    """
    if way not in WAYS:
        raise ValueError(f"way must be one of {', '.join(map(repr, WAYS))}; got {way!r}.")
    if (key is None) != (way == "exact"):
        wanted = "takes no key" if way == "exact" else "takes a key for its directions"
        raise ValueError(f"score matching that is {way!r} {wanted}; got {described(key)}.")
    if np.ndim(points) < 2:
        raise ValueError(
            "score matching expects a model and points of shape (count, d), in this order; got "
            f"{described(points)} in the place of the points."
        )
    if checked_integer(n, "n, the number of directions,", 1) > 1 and way == "exact":
        raise ValueError(f"score matching that is 'exact' takes no random directions; got n={n}.")
    is_score = _is_score(model, points)
    if key is None:
        return jnp.mean(jax.vmap(lambda x: _exact(model, x, is_score))(points))
    signs_key = stream(key, "directions of a score")  # the key may have drawn the points
    signs = jax.random.rademacher(signs_key, (len(points), n, *points.shape[1:]), points.dtype)
    return jnp.mean(jax.vmap(lambda x, v: _along(model, x, v, is_score, way))(points, signs))


def _is_score(model: Callable, points: Float[Array, "points ..."]) -> bool:
    """Whether a model's values are scores, not logarithms of densities."""
    with noting_point(_MODEL, points[0]):
        value = jax.eval_shape(model, jax.ShapeDtypeStruct(points.shape[1:], points.dtype))
    shape = getattr(value, "shape", None)
    if shape not in ((), points.shape[1:]):
        raise ValueError(
            "a model for score matching returns the logarithm of a density, which is a scalar, or "
            f"a score of shape {points.shape[1:]} like the points; got {value}."
        )
    return shape != ()


def _exact(model: Callable, x: Float[Array, "*point"], is_score: bool) -> Float[Array, ""]:
    first, second = (Identity(), Divergence()) if is_score else (Gradient(), Laplacian())
    v = exact({"score": first, "divergence": second})(model)(x)
    return 0.5 * jnp.sum(v["score"] ** 2) + v["divergence"]


def _along(
    model: Callable,
    x: Float[Array, "*point"],
    directions: Float[Array, "n ..."],
    is_score: bool,
    way: str,
) -> Float[Array, ""]:
    """The summand at a point, with the mean over some directions."""
    along = [Directional(v) for v in directions]
    first = Identity() if is_score else Gradient() if way == "hutchinson" else along
    second = along if is_score else [each @ each for each in along]
    values = exact({"first": first, "second": second})(model)(x)
    if is_score:
        score, moved = values["first"], jnp.stack(values["second"])
        first = score if way == "hutchinson" else jax.vmap(jnp.vdot, (0, None))(directions, score)
        second = jax.vmap(jnp.vdot)(directions, moved)
    else:
        first, second = (jnp.asarray(values[name]) for name in ("first", "second"))
    squares = jnp.sum(first**2)
    return 0.5 * (squares if way == "hutchinson" else squares / len(along)) + jnp.mean(second)
