"""Gauss–Newton: steps that make the residuals vanish to first order."""

import math
from typing import ClassVar, NamedTuple, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from ..scalars import plain
from ..streams import stream
from .base import AbstractMethod, Evaluated, Objective, step_key
from .dense import Cholesky
from .linear import AbstractSolver, Solution
from .search import adapted, halved
from .vector import Residuals, Vector, check_residuals, usual_damping

_MOST_BEND = 0.375  # half of Transtrum and Sethna's bound of |a| by |d|


@final
class Memory(NamedTuple):
    """What a step leaves for the next one.

    - `direction`: the last one; zero at the beginning.
    - `damping`: of the next step.
    """

    direction: Vector
    damping: Float[Array, ""]


@final
class GaussNewton(AbstractMethod):
    """Gauss–Newton for losses that are sums of squares: the natural gradient of a PINN, with
    damping that adapts, momentum and a line search.

    A step goes from $θ$ to $θ − s$ d. With r the residuals at the step's points, J their
    derivatives by $θ$, and p the last step's d,

        d = argmin |r − J d|² + λ |d − μ p|²,

    where $λ$ is `damping` times the mean of $|J_n|²$ over the residuals n. Without `momentum`
    ($μ = 0$) it is the damped Gauss–Newton step, which is energy natural gradient descent for a
    mean square of a residual. With it, it is SPRING: what the new points do not determine is kept
    from the last step, scaled by $μ$, so that many steps of few points do what one step of many
    would. The size s is `learning_rate`, halved for as long as that makes the loss at the step's
    points smaller, at most `halvings` times. Where no size makes it smaller the step is not made;
    without `halvings` and `adaptive` every step is. A whole step fits the residuals that it sees,
    their noise included, where points are few for the parameters. Sizes that decay average over
    the points of many steps.

    With `adaptive` it is the method of Levenberg and Marquardt: $λ$ falls to a third after a step
    that has made the loss smaller by three quarters or more of what its linear model promised for
    s = 1, and rises to four times itself after one that has not kept a quarter of the promise.

    With `acceleration`, which only the adaptive method has, a step follows the curve
    $θ − s d − s² a/2$ instead of its tangent: with $r''$ the second derivative of the residuals
    along d, taken exactly, J a is as near to $r''$ as J d is to r, with the same damping. Where the
    valley of small residuals is narrow and bent, steps along it are longer. One costs two
    derivatives forwards and one more solution with the same factors, little beside J. A step is not
    made, and damping rises, where $s |a|$ is more than 0.75 of $|d|$, so that the curve is not
    what it is taken for.

    All that a step asks of the loss has the same key, so points and jets are the same on both sides
    of the equations and in the line search. With jets that are random, r and J belong to the
    equation whose operators are the drawn ones: the step solves that one, and errors end at a floor
    of noise, that of the loss `"biased"`.

    It is at its best in double precision (`jax.config.update("jax_enable_x64", True)`). In single
    precision eigenvalues of the kernel below 1e-6 of its largest are rounding, which is what the
    default damping is for.

    Sources: Levenberg 1944; Marquardt 1963; Müller and Zeinhofer 2023, "Achieving high accuracy
    with PINNs via energy natural gradient descent"; Goldshlager, Abrahamsen and Lin 2024, "A
    Kaczmarz-inspired approach to accelerate the optimization of neural network wavefunctions"
    (SPRING); Guzmán-Cordero et al. 2025, "Improving energy natural gradient descent through
    Woodbury, momentum, and randomization"; for the acceleration Transtrum and Sethna 2012,
    "Improvements to the Levenberg-Marquardt algorithm for nonlinear least-squares minimization",
    arXiv 1201.5885.

    **Arguments:**

    - `damping`: $λ$ in units of the mean of $|J_n|²$; the first step's where it adapts. If not
        given, 1e-10 in double precision and 1e-3 in single.
    - `adaptive`: whether it adapts.
    - `momentum`: $μ$, from 0 on and less than 1.
    - `halvings`: at most how often the step is halved; 0 for steps of size 1.
    - `solver`: `diffop.methods.Cholesky()`, by a matrix of residuals by residuals, or
        `diffop.methods.ConjugateGradients()`, without a matrix.
    - `acceleration`: whether steps follow the second derivative of the residuals, too.
    - `learning_rate`: the largest size of a step, in (0, 1], or a schedule of it: a function of the
        step's index, as in optax.

    **Returns:** an optimiser for `diffop.train.fit`, whose loss has to say what it is the sum of
    squares of: `diffop.methods.HasPointwise`, or `diffop.methods.HasResiduals`.

    **Raises:** `ValueError` if damping is negative, momentum not in [0, 1), halvings negative, a
    learning rate that is a number not in (0, 1], or acceleration asked for without `adaptive`; from
    `fit`, `TypeError` if the loss does not say what it is the sum of squares of, or your
    own solver is not what acceleration takes, and `ValueError` if parameters are complex.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        class Fitted:
            def residuals(self, model, key):
                x = jax.random.uniform(key, (20,))
                return (model[0] * jnp.exp(model[1] * x) - 2 * jnp.exp(-x)) / 20**0.5

        result = do.train.fit(
            jnp.ones(2), Fitted(), do.methods.GaussNewton(), 10, key=jax.random.key(0)
        )
        result.model  # [2, -1]
        ```
    """

    helps: ClassVar[str] = "more damping, or double precision,"
    divisible: ClassVar[bool] = False

    damping: float | None = eqx.field(static=True, converter=plain, default=None)
    adaptive: bool = eqx.field(static=True, default=False)
    momentum: float = eqx.field(static=True, converter=plain, default=0.0)
    halvings: int = eqx.field(static=True, converter=plain, default=12)
    solver: AbstractSolver = eqx.field(default_factory=Cholesky)
    acceleration: bool = eqx.field(static=True, default=False)
    learning_rate: float | optax.Schedule = eqx.field(static=True, converter=plain, default=1.0)

    def __check_init__(self) -> None:
        damping = 0.0 if self.damping is None else self.damping
        if not (damping >= 0 and math.isfinite(damping)):
            raise ValueError(
                f"GaussNewton expects a finite damping of at least 0, got {self.damping}; 1e-10 is "
                f"usual in double precision."
            )
        if not 0 <= self.momentum < 1:
            raise ValueError(
                f"GaussNewton expects a momentum of at least 0 and less than 1, got "
                f"{self.momentum}; 0 is for none."
            )
        if self.halvings < 0:
            raise ValueError(
                f"GaussNewton expects at least 0 halvings, got {self.halvings}; 0 is for steps of "
                f"size 1."
            )
        rate = self.learning_rate
        if not callable(rate) and not 0 < rate <= 1:
            raise ValueError(
                f"GaussNewton expects a learning rate above 0 and at most 1, or a schedule, got "
                f"{rate}; 1 is for whole steps."
            )
        if self.acceleration and not self.adaptive:
            raise ValueError(
                "GaussNewton expects adaptive=True with acceleration, whose steps are not made "
                "where they bend too much, got adaptive=False; take both, or none."
            )

    def init(self, parameters: PyTree) -> Memory:
        if any(map(jnp.iscomplexobj, jax.tree.leaves(parameters))):
            raise ValueError(
                "GaussNewton expects real parameters, got complex ones; train their real and "
                "imaginary parts."
            )
        theta, _ = jax.flatten_util.ravel_pytree(parameters)
        damping = usual_damping(theta) if self.damping is None else self.damping
        return Memory(jnp.zeros_like(theta), jnp.asarray(damping, theta.dtype))

    def step(
        self,
        objective: Objective,
        parameters: PyTree,
        memory: Memory,
        key: PRNGKeyArray,
        index: Array,
    ) -> tuple[PyTree, Memory, Evaluated]:
        check_residuals(objective.loss, "GaussNewton")
        points_key = step_key(key, index)
        residuals = Residuals(objective.loss, parameters, objective.static, points_key)
        values, solution = self.solver.solve(
            residuals,
            self.momentum * memory.direction,
            memory.damping,
            stream(key, "solver", index),
        )
        value, direction = values @ values, solution.direction
        bend = self._bend(residuals, solution)

        def after(size: Float[Array, ""]) -> Vector:
            return residuals.theta - size * (direction + size * bend)

        whole = self._whole(index, value)
        size, reached = halved(
            lambda size: residuals.loss(after(size)), value, self.halvings, whole
        )
        straight = size * _length(bend) <= _MOST_BEND * _length(direction)
        made = self._is_made(value, reached, direction, straight)
        damping = memory.damping
        if self.adaptive:
            left = (1 - whole) * values + whole * solution.left
            promised = left @ left
            damping = adapted(damping, value, jnp.where(made, reached, jnp.inf), promised)
        theta = jnp.where(made, after(size), residuals.theta)
        direction = jnp.where(made, direction, 0)
        evaluated = Evaluated(value, residuals.terms(values))
        return residuals.unravel(theta), Memory(direction, damping), evaluated

    def _whole(self, index: Array, value: Float[Array, ""]) -> Float[Array, ""]:
        """The size from which on a step is halved."""
        rate = self.learning_rate
        if callable(rate):
            with jax.numpy_dtype_promotion("standard"):  # optax multiplies integers with numbers
                rate = rate(index)
        return jnp.asarray(rate, value.dtype)

    def _bend(self, residuals: Residuals, solution: Solution) -> Vector:
        """Half of the acceleration along the direction."""
        if not self.acceleration:
            return jnp.zeros_like(solution.direction)
        if solution.again is None:
            raise TypeError(
                f"GaussNewton expects a solver whose solutions have `again`, for its acceleration, "
                f"got {self.solver!r}; give them one, or leave acceleration out."
            )

        def slope(theta: Vector) -> Float[Array, " rows"]:
            return jax.jvp(residuals, (theta,), (solution.direction,))[1]

        _, second = jax.jvp(slope, (residuals.theta,), (solution.direction,))
        return solution.again(second) / 2

    def _is_made(
        self,
        value: Float[Array, ""],
        reached: Float[Array, ""],
        direction: Vector,
        straight: Bool[Array, ""],
    ) -> Bool[Array, ""]:
        """Whether a step is made. Without `adaptive` nothing will change where the equations have
        no solution in this precision, so that step is made, and the fit ends with an error.
        """
        if self.adaptive:
            return (reached < value) & straight
        if self.halvings:
            return (reached < value) | ~jnp.isfinite(direction).all()
        return jnp.array(True)


def _length(direction: Vector) -> Float[Array, ""]:
    return jnp.sqrt(direction @ direction)
