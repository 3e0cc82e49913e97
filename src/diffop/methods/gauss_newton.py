"""Gauss–Newton: steps that solve the linearised least-squares problem of the residuals."""

import math
from typing import ClassVar, NamedTuple, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from ..least_squares.dense import Cholesky
from ..least_squares.linear import AbstractSolver, Solution
from ..least_squares.vector import ParameterVector, Residuals, check_residuals, usual_damping
from ..scalars import checked_integer, plain
from ..streams import stream
from .base import AbstractMethod, Evaluated, Objective, step_key
from .search import adapted, halved, restored

_MOST_BEND = 0.375  # half of Transtrum and Sethna's bound of |a| by |d|


@final
class Memory(NamedTuple):
    """What a step leaves for the next step.

    - `direction`: the last one; zero at the beginning.
    - `damping`: of the next step.
    """

    direction: ParameterVector
    damping: Float[Array, ""]


@final
class GaussNewton(AbstractMethod):
    """Gauss–Newton for losses that are sums of squares: the natural gradient of a PINN, with
    adaptive damping, momentum and a line search.

    A step goes from $θ$ to $θ − s$ d. With the residuals r at the step's points, their derivatives
    J with respect to $θ$, and the last step's direction p,

        d = argmin |r − J d|² + λ |d − μ p|²,

    where $λ$ is `damping` times the mean of $|J_n|²$ over the residuals n. Without `momentum`
    ($μ = 0$) it is the damped Gauss–Newton step, which is energy natural gradient descent if the
    loss is the mean square of a residual. With momentum it is SPRING: directions that the new
    points do not determine are kept from the last step, scaled by $μ$, so that many steps of few
    points act like one step of many. The size s is `learning_rate`, halved as long as this makes
    the loss at the step's points smaller, at most `halvings` times. If no size makes it smaller,
    the step is not made. The next one then has four times the damping, which each step that is made
    brings down to a third again, as far as the given one. Without `halvings` and `adaptive` every
    step is made. If points are few for the parameters, a whole step also fits the noise of its
    residuals. Sizes that decay average over the points of many steps.

    With `adaptive` it is the Levenberg–Marquardt method. $λ$ falls to a third after a step that
    reduced the loss by at least three quarters of what its linear model promised for a whole step,
    of size `learning_rate`, and grows fourfold after a step that reduced it by less than a quarter.

    With `acceleration`, which needs `adaptive`, a step follows the curve $θ − s d − s² a/2$ instead
    of its tangent. With the second derivative $r''$ of the residuals along d, taken exactly, J a
    approximates $r''$ as J d approximates r, with the same damping. Steps along a narrow, bent
    valley of small residuals then get longer. The acceleration costs two forward derivatives and
    one more solution with the same factors, little beside J. If $s |a|$ is more than 0.75 of $|d|$
    the curve is not reliable: the step is not made, and damping grows.

    Everything that a step asks of the loss has the same key, so points and jets are the same on
    both sides of the equations and in the line search. With random jets, r and J belong to the
    equation whose operators are the drawn ones. The step solves that equation, so errors end at a
    floor of noise, as with the loss `"biased"`.

    Use double precision if you can (`jax.config.update("jax_enable_x64", True)`). In single
    precision eigenvalues of the kernel below 1e-7 of its largest are rounding errors; the default
    damping is chosen for that.

    Sources: Levenberg 1944; Marquardt 1963; Müller and Zeinhofer 2023, "Achieving high accuracy
    with PINNs via energy natural gradient descent"; Goldshlager, Abrahamsen and Lin 2024, "A
    Kaczmarz-inspired approach to accelerate the optimization of neural network wavefunctions"
    (SPRING); Guzmán-Cordero et al. 2025, "Improving energy natural gradient descent through
    Woodbury, momentum, and randomization"; for the acceleration Transtrum and Sethna 2012,
    "Improvements to the Levenberg-Marquardt algorithm for nonlinear least-squares minimization",
    arXiv 1201.5885.

    **Arguments:**

    - `damping`: $λ$ in units of the mean of $|J_n|²$; if it adapts, the one of the first step. If
        not given, 1e-10 in double precision and 1e-3 in single.
    - `adaptive`: whether it adapts.
    - `momentum`: $μ$, from 0 on and less than 1.
    - `halvings`: at most how often the step is halved; 0 for steps of size 1.
    - `solver`: `diffop.methods.Cholesky()`, by a matrix of residuals by residuals;
        `diffop.methods.QR()`, which allows smaller damping and takes longer; or
        `diffop.methods.ConjugateGradients()`, without a matrix.
    - `acceleration`: whether steps use the second derivative of the residuals too.
    - `learning_rate`: the largest size of a step, in (0, 1], or a schedule of it: a function of the
        step's index, as in optax.

    **Returns:** an optimiser for `diffop.train.fit`. The loss has to give the numbers whose squares
    it sums: `diffop.methods.HasPointwise`, or `diffop.methods.HasResiduals`.

    **Raises:** `ValueError` if damping is negative, momentum not in [0, 1), halvings negative, a
    learning rate that is a number not in (0, 1], or acceleration asked for without `adaptive`;
    `TypeError` for halvings that are not an integer, and for no solver; from `fit`, `TypeError` if
    the loss does not give the numbers whose squares it sums, or if a custom solver does not support
    acceleration, and `ValueError` if parameters are complex.

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
        checked_integer(self.halvings, "halvings of GaussNewton", 0)
        if not isinstance(self.solver, AbstractSolver):
            raise TypeError(
                "GaussNewton expects a solver, such as diffop.methods.Cholesky(), QR() or "
                f"ConjugateGradients(), got {self.solver!r}."
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
        return Memory(jnp.zeros_like(theta), self._first_damping(theta))

    def _first_damping(self, theta: ParameterVector) -> Float[Array, ""]:
        damping = usual_damping(theta) if self.damping is None else self.damping
        return jnp.asarray(damping, theta.dtype)

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

        def after(size: Float[Array, ""]) -> ParameterVector:
            return residuals.theta - size * (direction + size * bend)

        whole = self._whole(index, value)
        size, reached = halved(
            lambda size: residuals.loss(after(size)), value, self.halvings, whole
        )
        straight = size * _length(bend) <= _MOST_BEND * _length(direction)
        made = self._is_made(value, reached, direction, straight)
        if self.adaptive:
            left = (1 - whole) * values + whole * solution.left
            reached = jnp.where(made, reached, jnp.inf)
            damping = adapted(memory.damping, value, reached, left @ left)
        else:
            damping = restored(memory.damping, self._first_damping(residuals.theta), made)
        theta = jnp.where(made, after(size), residuals.theta)
        direction = jnp.where(made, direction, 0)
        evaluated = Evaluated(value, residuals.terms(values))
        return residuals.unravel(theta), Memory(direction, damping), evaluated

    def _whole(self, index: Array, value: Float[Array, ""]) -> Float[Array, ""]:
        """The first size of a step, before it is halved."""
        rate = self.learning_rate
        if callable(rate):
            with jax.numpy_dtype_promotion("standard"):  # optax multiplies integers by floats
                rate = rate(index)
        return jnp.asarray(rate, value.dtype)

    def _bend(self, residuals: Residuals, solution: Solution) -> ParameterVector:
        """Half of the acceleration along the direction."""
        if not self.acceleration:
            return jnp.zeros_like(solution.direction)
        if solution.again is None:
            raise TypeError(
                f"GaussNewton expects a solver whose solutions have `again`, for its acceleration, "
                f"got {self.solver!r}; give them one, or leave acceleration out."
            )

        def slope(theta: ParameterVector) -> Float[Array, " rows"]:
            return jax.jvp(residuals, (theta,), (solution.direction,))[1]

        _, second = jax.jvp(slope, (residuals.theta,), (solution.direction,))
        return solution.again(second) / 2

    def _is_made(
        self,
        value: Float[Array, ""],
        reached: Float[Array, ""],
        direction: ParameterVector,
        straight: Bool[Array, ""],
    ) -> Bool[Array, ""]:
        """Whether a step is made. Without `adaptive`, if the equations have no solution in this
        precision, it is made, and the fit ends with an error that asks for more damping.
        """
        if self.adaptive:
            return (reached < value) & straight
        if self.halvings:
            return (reached < value) | ~jnp.isfinite(direction).all()
        return jnp.array(True)


def _length(direction: ParameterVector) -> Float[Array, ""]:
    return jnp.sqrt(direction @ direction)
