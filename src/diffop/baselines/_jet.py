"""The paper's own implementation: jets along basis vectors by `jax.experimental.jet`."""

from typing import ClassVar, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax.experimental import jet

from .._types import ScalarArray, Vector
from ..jets.probes import AbstractProbe, Sparse
from ._autodiff import AbstractAutodiff
from ._base import ScalarFunction
from ._directions import Second, Weighted, mapped


@final
class Jet(AbstractAutodiff):
    """`"jet"`: the paper's implementation. n of the d coordinates, their second derivatives by jets
    of order two along one-hot vectors, with `jax.experimental.jet`, all at once, scaled by d/n.

    Unbiased. One forward pass for each coordinate, and arrays of n × d numbers.

    u may contain what `jax.experimental.jet` has rules for. `jax.lax.scan`, `jax.lax.cond`,
    `jnp.sort`, `jnp.prod` and `jnp.tan` are not among them, nor is any function with a derivative
    of its own (`jax.custom_jvp`), such as `jax.nn.relu` and `jax.nn.softplus`.

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
        return mapped(along_jets(u, x), weighted, x)


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
            # jet calls the function behind a custom rule outside its own trace; JAX 0.12 finds no
            # trace at all there
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
