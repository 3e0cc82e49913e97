"""The square of a residual R of which only a random, unbiased estimate R̂ is known. For a complex R
it is |R|²: below, squares are those of magnitudes, products R̂₁R̂₂ the real part of R̂₁ conj(R̂₂),
and variances those of real and imaginary part together.

- *biased*: R̂², with the mean R² + Var[R̂].
- *product*: R̂₁R̂₂ of two independent estimates, with the mean E[R̂₁] E[R̂₂] = R².
- *pairs*: R̂² − V with an unbiased estimate V of Var[R̂] from the same draws, with the mean
    R² + Var[R̂] − Var[R̂] = R².

V is known for every design that has a standard error (`jets.design`): independent draws, terms
without replacement, strata, orthogonal directions. If R̂ = (1/n) Σ_r R_r is the mean of n
independent draws, V is the squared standard error

    V = 1/(n(n−1)) Σ_r (R_r − R̂)² = 1/(n(n−1)) (Σ_r R_r² − n R̂²),

and with Σ_{r≠s} R_r R_s = n² R̂² − Σ_r R_r²

    1/(n(n−1)) Σ_{r≠s} R_r R_s = 1/(n(n−1)) ((n² − n) R̂² − (Σ_r R_r² − n R̂²)) = R̂² − V:

the mean over all pairs of different draws, a U-statistic (Hoeffding 1948). If σ² is the variance of
a draw, the variance of each square is

    4 R²σ²/n + 2 σ⁴/(n(n−1))                     (pairs of n draws),
    2 R²σ²/n + σ⁴/n²                             (product of two estimates of n draws each).

The product takes twice the jets. With 2n draws the pairs have 2 R²σ²/n + σ⁴/(n(2n−1)), which is
never more than the product's, and half of it in the limit of many draws and a vanishing R.

R has to be unbiased itself, so it has to be affine in the estimated values: any function of exact
values, such as u and its first derivatives, times the sampled values. The draws do not depend on
the network's parameters θ, so E[∂_θ loss] = ∂_θ E[loss]: if the mean of the loss is exact, the mean
of its gradient is, too.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..array_types import Key
from ..equations.points import OnePoint, Points, arguments
from ..estimators.together import Joint, JointDraws
from ..streams import stream
from ..terms.evaluate import sum_of_two
from .residual import Residual, with_gradient


def draw_keys(key: Key) -> tuple[Key, Key]:
    """The keys of two independent draws, from that of the jets of a call."""
    return stream(key, "draw", 0), stream(key, "draw", 1)


def data_key(key: Key) -> Key:
    """The key of the points of conditions, if the only key is that of the draw."""
    return stream(key, "data of points")


@final
class RandomResidual(eqx.Module):
    """The residual of u at some points, with as many independent draws of jets as are wanted.

    - `function`: from the values of the operators at a point, and the point, to a pytree of arrays:
        the residual, affine in the sampled values.
    - `points`: the points.
    - `u`: the function that the operators act on.
    - `joint`: the operators, with the draw of a given number: a `Joint`, or another map from
        functions to functions, whose variance is not known.
    - `whole`: whether the whole gradient of `function.value` with respect to the point is added.
    """

    function: Callable[[PyTree, OnePoint], Residual]
    points: Points
    u: Callable
    joint: Callable[[int], Callable[[Callable], Callable]]
    whole: bool = eqx.field(static=True, default=False)

    def at_point(self, number: int) -> Callable[[OnePoint], Residual]:
        """The residual as a function of a point, with one draw of jets."""
        values = self.joint(number)(self.u)

        def at(point: OnePoint) -> Residual:
            return self.function(values(*arguments(point)), point)

        return with_gradient(lambda point: at(point).value) if self.whole else at

    def draw(self, number: int) -> Residual:
        """The residual at all points, with one draw of jets."""
        return jax.vmap(self.at_point(number))(self.points)

    def draws(self, number: int) -> Callable[..., JointDraws]:
        """The values of the operators at a point, draw by draw.

        **Raises:** `ValueError` if the operators are a baseline's.
        """
        joint = self.joint(number)
        if not isinstance(joint, Joint):
            raise ValueError(
                "the variance is known of diffop's own estimates, such as those by the probes "
                "'sparse', and not of those by a baseline."
            )
        return joint.draws(self.u)

    def with_variance(self, number: int) -> tuple[Residual, Residual]:
        """The residual, with an unbiased estimate of its variance.

        **Raises:** `ValueError` if none is known.
        """
        draws = self.draws(number)

        def at(point: OnePoint) -> JointDraws:
            return draws(*arguments(point)).of(lambda values: self.function(values, point))

        def whole(point: OnePoint) -> JointDraws:
            """∂_j of an estimate and of its draws are an estimate of ∂_j R and its draws."""
            found = jax.eval_shape(at, point)

            def arrays(point: OnePoint) -> tuple[PyTree, list[PyTree]]:
                drawn = at(point)
                return drawn.value.value, [z.value for z in drawn.contributions]

            (mean, z), (gradient, dz) = with_gradient(arrays)(point)
            by_draw = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), dz)
            contributions = list(map(Residual, z, by_draw))
            return JointDraws(Residual(mean, gradient), contributions, found.designs, found.jets)

        draw = whole if self.whole else at

        def at_each(point: OnePoint) -> tuple[Residual, Residual]:
            drawn = draw(point)
            return drawn.value, drawn.variance()

        return jax.vmap(at_each)(self.points)


def of_points(residuals: PyTree, factors: Float[Array, " count"]) -> PyTree:
    """Values at points, which are the first axes, times a factor for each point."""
    times = jax.vmap(lambda factor, entries: factor.astype(entries.dtype) * entries)
    return jax.tree.map(partial(times, factors), residuals)


def sum_at_points(squares: PyTree) -> Float[Array, " count"]:
    """The sum over all entries of a residual, at each point."""
    sums = jax.tree.map(lambda leaf: jnp.sum(leaf.reshape(len(leaf), -1), axis=1), squares)
    return jax.tree.reduce(sum_of_two, sums)


def mean_over_points(squares: PyTree) -> Float[Array, ""]:
    """The mean over points of the sum over all entries of a residual, a scalar, an array or a
    pytree of arrays. Points are the first axes.
    """
    means = jax.tree.map(lambda leaf: jnp.sum(leaf) / leaf.shape[0], squares)
    return jax.tree.reduce(sum_of_two, means)


def biased(random: RandomResidual) -> PyTree:
    """R̂² at each point."""
    value = random.draw(0)
    return jax.tree.map(_product, value, value)


def product(random: RandomResidual) -> PyTree:
    """R̂₁R̂₂ at each point."""
    return jax.tree.map(_product, random.draw(0), random.draw(1))


def pairs(random: RandomResidual) -> PyTree:
    """R̂² − V at each point."""
    value, variance = random.with_variance(0)
    return jax.tree.map(lambda r, v: _product(r, r) - v, value, variance)


def _product(left: Array, right: Array) -> Array:
    if not (jnp.iscomplexobj(left) or jnp.iscomplexobj(right)):
        return left * right
    return jnp.real(left * jnp.conj(right))


Square: TypeAlias = Callable[[RandomResidual], PyTree]

SQUARES: dict[str, Square] = {"biased": biased, "product": product, "pairs": pairs}
