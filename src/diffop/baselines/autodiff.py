"""Baselines by automatic differentiation: values and slopes exact, second derivatives sampled."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax.experimental import jet

from ..array_types import ScalarArray, Vector
from ..estimators.draws import check_probes
from ..jets.point import Point
from ..jets.terms import Factors
from ..probes import AbstractProbe, Rademacher, Sparse
from ..probes.base import Draw
from ..terms.gradient import gradient
from ..terms.term import Part
from .base import AbstractBaseline, ScalarFunction
from .directions import Second, Weighted, all_at_once, drawn_directions, looped, over_all_sets
from .evaluation import Local

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


class AbstractAutodiff(AbstractBaseline):
    """Second derivatives along directions, drawn by a probe."""

    probe: AbstractClassVar[AbstractProbe]

    @abstractmethod
    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        """Σ_r w_r (v_r·∇)² u at x."""

    def check(self, parts: Sequence[Part]) -> None:
        check_probes(parts, self.probe)

    def at(self, u: ScalarFunction, point: Point, draw: Draw) -> Local:
        (x,) = point.args
        started = Draw(draw.key, draw.n, self.probe).started  # as in diffop's estimate

        def second(factors: Factors) -> ScalarArray:
            drawn = drawn_directions(factors, started, point)
            return over_all_sets(partial(self.weighted_sum, u, x), drawn)

        return Local(
            value=lambda: u(x),
            slope=lambda b: jnp.vdot(b, jax.grad(u)(x)),
            gradient=partial(gradient, u, point),
            second=second,
        )


@final
class SDGDLoop(AbstractAutodiff):
    """`"sdgd-loop"`: like [`diffop.baselines.SDGD`][], but with the sampled coordinates one after
    the other in a loop (`jax.lax.scan`), as the method was first written.

    Unbiased. It needs the memory of one coordinate, however many are sampled, also in training:
    values for the derivative of a coordinate are computed again.

    Source: the appendix "PyTorch implementation of SDGD-PINN using backward mode AD" of Shi et al.
    2024, "Stochastic Taylor Derivative Estimator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("sdgd-loop", do.Laplacian(), jax.random.key(0), 16)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "sdgd-loop"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return looped(reverse_over_reverse(u, x), weighted, x)


@final
class SDGD(AbstractAutodiff):
    """`"sdgd"`: the second derivatives of n of the d coordinates by reverse over reverse mode, all
    at once (under `jax.vmap`), scaled by d/n.

    Unbiased. It takes two reverse passes for each coordinate, and arrays of n × d numbers.

    Sources: Hu, Shukla, Karniadakis and Kawaguchi 2024, "Tackling the curse of dimensionality with
    physics-informed neural networks"; in parallel as in the appendix "JAX implementation of SDGD
    Parallelization via HVP" of Shi et al. 2024, "Stochastic Taylor Derivative Estimator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("sdgd", do.Laplacian(), jax.random.key(0), 16)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "sdgd"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return all_at_once(reverse_over_reverse(u, x), weighted, x)


@final
class ForwardOverReverse(AbstractAutodiff):
    """`"forward-over-reverse"`: the second derivatives of n of the d coordinates by `jax.jvp` of
    `jax.grad`, all at once, scaled by d/n.

    Unbiased. It takes a Hessian-vector product for each coordinate, and arrays of n × d numbers.

    Source: the appendix "JAX implementation of Forward-over-backward AD" of Shi et al. 2024,
    "Stochastic Taylor Derivative Estimator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"u": do.Identity(), "lap": do.Laplacian()}
        joint = do.baselines.estimate("forward-over-reverse", ops, jax.random.key(0), 16)
        joint(lambda x: jnp.sum(x**2))(jnp.ones(100))  # {"u": 100.0, "lap": 200.0}
        ```
    """

    name: ClassVar[str] = "forward-over-reverse"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return all_at_once(forward_over_reverse(u, x), weighted, x)


@final
class PaperJet(AbstractAutodiff):
    """`"jet"`: the paper's implementation. The second derivatives of n of the d coordinates by jets
    of order two along one-hot vectors, with `jax.experimental.jet`, all at once, scaled by d/n.

    Unbiased. It takes one forward pass for each coordinate, and arrays of n × d numbers.

    u may contain only functions for which `jax.experimental.jet` has rules. It has none for
    `jax.lax.scan`, `jax.lax.cond`, `jnp.sort`, `jnp.prod` and `jnp.tan`, nor for functions with a
    `jax.custom_jvp`, such as `jax.nn.relu` and `jax.nn.softplus`.

    Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", equation `eqn:forward-lapl`
    and the appendix "JAX implementation of STDE for the Laplacian operator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("jet", do.Laplacian(), jax.random.key(0), 16)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "jet"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return all_at_once(along_jets(u, x), weighted, x)


@final
class HTE(AbstractAutodiff):
    """`"hte"`: Hutchinson's trace estimator, the mean of $vᵀ (Hess u)$ v over n vectors v of random
    signs, by forward over reverse mode.

    Unbiased, with the variance $2/n Σ_{i≠j} H_ij²$. It takes a Hessian-vector product for each v,
    and arrays of n × d numbers.

    Sources: Hutchinson 1989, "A stochastic estimator of the trace of the influence matrix"; Hu,
    Shi, Karniadakis and Kawaguchi 2024, "Hutchinson trace estimation for high-dimensional and
    high-order physics-informed neural networks".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("hte", do.Laplacian(), jax.random.key(0), 4)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "hte"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Rademacher()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return all_at_once(forward_over_reverse(u, x), weighted, x)


def reverse_over_reverse(u: ScalarFunction, x: Vector) -> Second:
    """v ↦ v · ∇(v·∇u): the gradient is computed once, and pulled back along each direction."""
    _, pullback = jax.vjp(jax.grad(u), x)
    return lambda v: jnp.vdot(v, pullback(v)[0])


def forward_over_reverse(u: ScalarFunction, x: Vector) -> Second:
    """v ↦ v · (Hess u v), by pushing v forward through the gradient."""
    return lambda v: jnp.vdot(v, jax.jvp(jax.grad(u), (x,), (v,))[1])


def along_jets(u: ScalarFunction, x: Vector) -> Second:
    """v ↦ (v·∇)² u, twice the Taylor coefficient of order two of t ↦ u(x + t v)."""

    def second(v: Vector) -> ScalarArray:
        series = ((v, jnp.zeros_like(v)),)
        try:
            _, (_, coefficient) = jet.jet(u, (x,), series, factorial_scaled=False)
        except KeyError as error:
            (missing,) = error.args
            if not isinstance(missing, jex.Primitive):
                raise
            raise _refusal(f"has no rule for {missing.name!r}") from error
        except (jax.errors.UnexpectedTracerError, AttributeError) as error:
            # jet calls the function behind a custom rule outside of its own trace, where JAX 0.12
            # finds no trace at all
            if isinstance(error, AttributeError) and "process_primitive" not in str(error):
                raise
            raise _refusal(
                "fails in functions with a derivative of their own (jax.custom_jvp), such as "
                "jax.nn.relu and jax.nn.softplus"
            ) from error
        return 2 * coefficient

    return second


def _refusal(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"jax.experimental.jet {what}, and u contains such; take another baseline, or "
        "diffop.estimate, which takes it."
    )
