"""Error bars of least-squares fits.

Let r(θ) be the residuals at a minimum of |r|², and J their derivatives. If the data in the
residuals change by ε, a Gauss–Newton step moves θ by −J⁺ε, with J⁺ = (JᵀJ + λ)⁻¹Jᵀ, and g(θ) by
−G J⁺ε, where G is the derivative of g. So if the noise of the residuals is independent, with
variance s_c² in the group c,

    Var[g] = Σ_c s_c² Σ_{i in c} (G J⁺)_i².

The remaining residuals are (1 − H) ε with H = J J⁺. For a group of n_c residuals |r_c|² is about
s_c² (n_c − tr H_cc): each group fits away as much noise as it has degrees of freedom.

A group that is met nearly exactly, such as a condition at one point, has less than half a degree of
freedom left, which tells nothing of its noise. It counts as exact, s_c = 0, if what is left of it
is what the noise of the others leaves there: its residuals are then −H_cd ε_d, with squares of mean
Σ_d s_d² |H_cd|². Otherwise its noise is not known.
"""

import itertools
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.methods import has_method
from ..least_squares.vector import check_residuals, real_parts, usual_damping
from ..losses.pointwise import Pointwise
from ..streams import checked_key

_NOTHING = 1e-6  # of the loss
_DEVIATIONS = 3.0  # up to which residuals count as those of other noise


def standard_errors(
    of: Callable[[PyTree], PyTree],
    model: PyTree,
    loss: Any,
    *,
    key: PRNGKeyArray,
    damping: float | None = None,
    most: int = 3_000,
) -> PyTree:
    """Standard errors of quantities of a fitted model: an unknown number, a function of several,
    the values of an unknown field. As in nonlinear regression they come from the derivatives of the
    residuals at the minimum, and tell how far the noise in the residuals moves the quantities.

    The noise is estimated from the remaining residuals, separately for each array of them. The
    residuals of the equation and those of each condition have their own variances, so weights
    between them do no harm, and exact data have almost no noise. This needs more residuals than the
    fit has used up: more points of the equation, and more measurements, than make the network fit
    anything. A condition at so few points that the model can meet it counts as exact, as long as
    its residuals are not larger than the noise of the others explains.

    Directions that the residuals do not determine, such as most of a network's parameters, count as
    known because of the damping: a direction v with $|J v|²$ below it does not move. The quantities
    should not depend on such directions; their errors would be too small.

    Sources: Seber and Wild 1989, "Nonlinear regression", section 2.1; for variances that differ
    White 1980, "A heteroskedasticity-consistent covariance matrix estimator and a direct test for
    heteroskedasticity".

    **Arguments:**

    - `of`: from a model to the quantities whose errors are wanted: an array of real numbers, or a
        pytree of them.
    - `model`: at a minimum of the loss, such as `diffop.train.fit` returns with
        `diffop.methods.GaussNewton`.
    - `loss`: the loss of the fit, which gives the numbers whose squares it sums: a
        `diffop.methods.HasResiduals`, such as a `diffop.losses.ResidualLoss`.
    - `key`: a key from `jax.random.key`, for the points of the loss.
    - `damping`: in units of the mean square of the residuals' derivatives. If not given, 1e-10 in
        double precision and 1e-3 in single.
    - `most`: the largest allowed value of the smaller of the numbers of residuals and parameters,
        since the matrix of derivatives is factorised.

    **Returns:** standard errors in the structure of `of(model)`.

    **Raises:** `TypeError` if the loss does not give the numbers whose squares it sums, if a
    parameter or a quantity is not real, or if there is no parameter, no quantity or no key.
    `ValueError` for a damping that is negative or not finite, for a model that is not finite, if
    there are too many residuals and parameters, or if residuals have no degrees of freedom left, so
    that nothing is known about their noise, and are larger than the noise of the others explains.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        class Line:
            def residuals(self, model, key):
                x, y = jnp.arange(4.0), jnp.array([0.1, 0.9, 2.1, 2.9])
                return model[0] + model[1] * x - y

        key = jax.random.key(0)
        line = do.train.fit(jnp.zeros(2), Line(), do.methods.GaussNewton(), 10, key=key).model
        errors = do.train.standard_errors(lambda line: line[1], line, Line(), key=key)
        # a slope has (Σ r² / (4 − 2) / Σ (x − x̄)²)^½ = (0.032 / 2 / 5)^½ = 0.0566
        ```
    """
    check_residuals(loss, "standard_errors")
    checked_key(key, "standard_errors")
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    theta, unravel = jax.flatten_util.ravel_pytree(parameters)
    _check_parameters(theta, model)
    shift = _checked_damping(damping, usual_damping(theta))

    def groups(theta: Array) -> dict[str, Float[Array, " entries"]]:
        return _groups(loss, eqx.combine(unravel(theta), static), key)

    def asked(theta: Array) -> PyTree:
        return of(eqx.combine(unravel(theta), static))

    _check_real(jax.eval_shape(asked, theta))
    sizes = {name: each.size for name, each in jax.eval_shape(groups, theta).items()}
    rows = sum(sizes.values())
    if min(rows, theta.size) > most:
        raise ValueError(
            f"standard_errors expects at most {most} residuals or parameters, whose matrix it "
            f"factorises, got {rows} residuals and {theta.size} parameters; take fewer "
            "points, or allow for more by most."
        )
    found = _moved(groups, asked, theta, shift, rows < theta.size)
    noise = _variances(found, sizes)
    return jax.tree.map(
        lambda moves: jnp.sqrt(moves**2 @ jnp.asarray(noise, moves.dtype)), found.moves
    )


def _check_parameters(theta: Array, model: PyTree) -> None:
    if not theta.size:
        raise TypeError(
            f"standard_errors expects a model with parameters, got {type(model).__name__}, which "
            "has none; call standard_errors(of, model, loss, key=key), where of is a function of "
            "the model."
        )
    if jnp.iscomplexobj(theta):
        raise TypeError(
            "standard_errors expects real parameters, got complex ones; fit their real and "
            "imaginary parts."
        )
    if not np.isfinite(theta).all():
        raise ValueError(
            "standard_errors expects a model at a minimum of the loss, got one whose parameters "
            "are not finite; give one of a fit that has succeeded."
        )


def _checked_damping(given: float | None, usual: float) -> float:
    damping = usual if given is None else given
    if not (damping >= 0 and math.isfinite(damping)):
        raise ValueError(
            f"standard_errors expects a finite damping of at least 0, got {damping}; by default it "
            f"is {usual} here."
        )
    return damping


def _check_real(quantities: PyTree) -> None:
    if not jax.tree.leaves(quantities):
        raise TypeError(
            "standard_errors expects of(model) to be an array of real numbers, or a pytree of "
            f"them, got {quantities}; return the quantities whose errors are wanted."
        )
    for each in jax.tree.leaves(quantities):
        if not jnp.issubdtype(each.dtype, jnp.floating):
            raise TypeError(
                "standard_errors expects quantities that are real numbers, got one of type "
                f"{each.dtype}; ask for its real and its imaginary part, or for what it was made "
                "of before it was rounded."
            )


@final
class _Moved(NamedTuple):
    """Numbers at the minimum.

    - `left`: the residuals.
    - `share`: the diagonal of H: the fraction of each residual's noise that the fit has absorbed.
    - `left_vectors`, `weights`: U and w of H = U w Uᵀ.
    - `moves`: G J⁺, in the structure of the quantities, residuals along the last axes.
    """

    left: Float[Array, " rows"]
    share: Float[Array, " rows"]
    left_vectors: Float[Array, "rows rank"]
    weights: Float[Array, " rank"]
    moves: PyTree


@eqx.filter_jit
def _moved(
    groups: Callable, asked: Callable, theta: Array, damping: Array | float, wide: bool
) -> _Moved:
    def residuals(theta: Array) -> Float[Array, " rows"]:
        return jnp.concatenate(list(groups(theta).values()))

    jacobian = jax.jacrev(residuals) if wide else jax.jacfwd(residuals)
    left, J = residuals(theta), jacobian(theta)
    U, S, Vt = jnp.linalg.svd(J, full_matrices=False)
    shift = damping * jnp.sum(S**2) / len(left)
    # S/(S² + shift), without squares; what no residual sees does not move
    seen = S > 0
    size = jnp.where(seen, S, 1)
    gain = jnp.where(seen, 1 / (size + shift / size), 0)
    inverse = (Vt.T * gain[None]) @ U.T
    moves = jax.tree.map(lambda G: G @ inverse, jax.jacrev(asked)(theta))
    return _Moved(left, U**2 @ (S * gain), U, S * gain, moves)


def _variances(found: _Moved, sizes: dict[str, int]) -> Float[np.ndarray, " rows"]:
    """The variance of the noise of each residual, alike in a group."""
    left, share = np.asarray(found.left), np.asarray(found.share)
    noise = np.zeros(len(left))
    unknown: dict[str, slice] = {}
    for name, rows in _slices(sizes).items():
        free = float(np.sum(1 - share[rows]))
        if free < 0.5:
            unknown[name] = rows
        else:
            noise[rows] = left[rows] @ left[rows] / free
    for name, rows in unknown.items():
        _check_exact(found, name, rows, noise)
    return noise


def _slices(sizes: dict[str, int]) -> dict[str, slice]:
    """The rows of each group."""
    ends = itertools.accumulate(sizes.values())
    return {name: slice(end - sizes[name], end) for name, end in zip(sizes, ends, strict=True)}


def _check_exact(found: _Moved, name: str, rows: slice, noise: Float[np.ndarray, " rows"]) -> None:
    """Checks that nothing is left of a group but what the noise of the others leaves there."""
    left, share = np.asarray(found.left), np.asarray(found.share)
    square, total = float(left[rows] @ left[rows]), float(left @ left)
    if square <= _NOTHING * total or square <= _DEVIATIONS**2 * _explained(found, rows, noise):
        return
    count, free = rows.stop - rows.start, float(np.sum(1 - share[rows]))
    raise ValueError(
        "standard_errors expects more residuals than the fit has used up, which tell of their "
        f"noise, got {count} of {_spelt(name)} of which {free:.2g} are free, larger than the noise "
        "of the other residuals explains; draw more points there (data_batch for conditions), take "
        "more measurements or a smaller network, or fit until the loss is at its minimum."
    )


def _explained(found: _Moved, rows: slice, noise: Float[np.ndarray, " rows"]) -> float:
    """The mean of the squares that the noise of other residuals leaves in a group."""
    U, weights = np.asarray(found.left_vectors), np.asarray(found.weights)
    return sum(float(((row * weights) @ U.T) ** 2 @ noise) for row in U[rows])


def _groups(loss: Any, model: PyTree, key: PRNGKeyArray) -> dict[str, Float[Array, " entries"]]:
    """The residuals in groups, one for each array, by its place."""
    if has_method(loss, "residuals"):
        tree = loss.residuals(model, key)
    else:
        named = loss.pointwise(model, key).items()
        tree = {
            name: [each(model) for each in ([g] if isinstance(g, Pointwise) else g)]
            for name, g in named
        }
    places = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    return dict(zip(places, real_parts(tree), strict=True))


def _spelt(place: str) -> str:
    """A place in a pytree as users write it, such as data[0]. Two places may be spelt alike."""
    return re.sub(r"\['([^']*)'\]", r".\1", place).removeprefix(".") or "the loss"
