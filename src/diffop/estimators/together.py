"""Several operators on one function, evaluated together."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..array_types import Key
from ..devices import varying_over
from ..jets.design import Design, deviations
from ..jets.point import Point
from ..jets.table import Plan, ResolvedPlan
from ..probes import AbstractProbe
from ..probes.base import Draw
from ..scalars import described
from ..schemes.names import PlanKind
from ..streams import stream
from ..terms.arguments import Function, is_operator, kind_of
from ..terms.evaluate import apply_all, floating
from ..terms.one_point import applied
from ..terms.plans import plan_of
from ..terms.term import Part
from ..versions import varying_axes
from .draws import check_probes, make_draw
from .estimator import AbstractEstimator
from .statistics import Draws, Stats, draws, standard_error_of, variance_of


def exact(ops: PyTree, *beside: Any) -> "Joint":
    """Several operators in one pass: `do.exact(ops)(u)(*args)` has the structure of `ops`.

    They share u's primal, the derivatives of its nonlinearities, and common jets. Use it to write a
    residual $f(x, u, D₁u, D₂u, …)$, linear or not.

    **Arguments:**

    - `ops`: a pytree of operators.
    - `*beside`: nothing; operators and functions beside `ops` are refused.

    **Returns:**

    A map from functions to functions; like `Operator.exact` it takes `chunk=` and `plan=` beside u.
    Mixed derivatives of all operators are planned together; its `.jets()` shows the common plan.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        parts = do.exact({"u": do.Identity(), "lap": do.Laplacian()})(lambda x: jnp.sum(x**2))
        parts(jnp.ones(3))  # {"u": 3.0, "lap": 6.0}
        ```
    """
    flat_operators(ops)  # refuses what is not an operator
    _check_alone("exact([A, B])", beside)
    return Joint(ops, None)


def estimate(ops: PyTree, key: Key, n: int, probes: str | AbstractProbe = "auto") -> "Joint":
    """Several operators estimated with one draw: `do.estimate(ops, key, n)(u)(*args)` has the
    structure of `ops`.

    Operators that sample the same terms share jets: $Δ$ and $Σ∂_i⁴$ use the same coordinates.

    **Arguments:**

    - `ops`: a pytree of operators; estimates among them keep their own draws.
    - `key`, `n`, `probes`: as for `Operator.estimate`.

    **Returns:**

    A map from functions to functions, which takes `chunk=` and `plan=` beside u.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"lap": do.Laplacian(), "fourth": do.DiagonalK(4)}
        do.estimate(ops, jax.random.key(0), 4)(lambda x: jnp.sum(x**4))(jnp.ones(100))
        ```
    """
    operators, _ = flat_operators(ops)
    _check_alone("estimate([A, B], key, n)", [key] if callable(key) else [])
    draw = make_draw(key, n, probes)
    for operator in operators:
        for parts, number in operator.leaves:
            if number is not None:
                check_probes(parts, draw.probe)
    return Joint(ops, draw)


def _check_alone(call: str, beside: Sequence[Any]) -> None:
    """Refuses operators, or a function, beside the operators of a call."""
    if beside:
        got = "an operator" if is_operator(beside[0]) else kind_of(beside[0])
        raise TypeError(
            "several operators are given in one list or dict, and their function afterwards: "
            f"do.{call}(u)(x); got {got} beside them."
        )


def flat_operators(ops: PyTree) -> tuple[list[Any], Any]:
    """The operators in a pytree of them, and its structure."""
    leaves, structure = jax.tree.flatten(ops, is_leaf=is_operator)
    for leaf in [ops] if callable(ops) else leaves:  # a network has leaves, too
        if not is_operator(leaf):
            raise TypeError(
                "expected an operator, such as do.Laplacian(), or a pytree of operators; got "
                f"{kind_of(leaf) if isinstance(leaf, eqx.Module) else described(leaf)}. "
                f"{_remedy(leaf)}"
            )
    return leaves, structure


def _remedy(given: Any) -> str:
    """What to do with what is not an operator."""
    if isinstance(given, type):
        return f"This is a class; make an operator of it: {given.__name__}(…)."
    return "A function u comes after them: do.exact(ops)(u)(x)."


@final
class JointDraws(eqx.Module):
    """What `Joint.draws` returns: estimates of several operators at a point, draw by draw.

    An estimate is the exact part plus $Σ_s Σ_r z_sr$, where the sources s are independent and r
    numbers the draws of one source. All operators use the same draws of a source.

    - `value`: the estimates, in the structure of the operators.
    - `contributions`: for each source $z_s$ in that structure, draws along the first axis of every
        array; zero for an operator that does not use the source.
    - `designs`: for each source, how its draws were made.
    - `jets`: how many were pushed.
    """

    value: PyTree
    contributions: list[PyTree]
    designs: tuple[Design, ...] = eqx.field(static=True)
    jets: int = eqx.field(static=True)

    def of(self, function: Callable[[PyTree], PyTree]) -> "JointDraws":
        """A function of the estimates, draw by draw.

        Let F' be the derivative of the function F at the mean. A draw changes F by $F'(z_sr)$, so
        these are the draws of F. This is exact, and `variance` unbiased, if F is affine in the
        sampled values (it may depend in any way on the exact ones). Otherwise it is so to first
        order.

        **Arguments:**

        - `function`: from values in the structure of the operators to a pytree of arrays.

        **Returns:** a [`diffop.estimators.JointDraws`][] in the structure of the function's value.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            ops = {"u": do.Identity(), "lap": do.Laplacian()}
            draws = do.estimate(ops, jax.random.key(0), 4).draws(lambda x: jnp.sum(x**4))
            draws(jnp.arange(9.0)).of(lambda v: v["lap"] + v["u"] ** 3).stats()
            ```
        """
        value, derivative = jax.linearize(floating(function), self.value)
        contributions = [jax.vmap(derivative)(source) for source in self.contributions]
        return JointDraws(value, contributions, self.designs, self.jets)

    def stats(self) -> Stats:
        """The estimates with their standard errors.

        **Returns:** a [`diffop.estimators.Stats`][].

        **Raises:** `ValueError` if a source has no standard error, such as a single draw.
        """
        return Stats(self.value, standard_error_of(self.value, self._deviations()), self.jets)

    def variance(self) -> PyTree:
        """An unbiased estimate of the variance of each value, real, in the structure of the values:
        the square of the standard error.

        **Returns:** a pytree of arrays.

        **Raises:** `ValueError` as `stats`.
        """
        return variance_of(self.value, self._deviations())

    def _deviations(self) -> list[PyTree]:
        return [
            jax.tree.map(partial(deviations, design=design), contributions)
            for contributions, design in zip(self.contributions, self.designs, strict=True)
        ]


def _by_source(found: Draws, structure: Any) -> JointDraws:
    """Draws in the structure of the operators, zero for an operator that does not use them. They
    vary over the devices over which the operators' values vary.
    """
    mean = [found.mean(position) for position in range(len(found.exact))]

    def full(value: PyTree, known: PyTree | None, n: int) -> PyTree:
        if known is None:
            known = jax.tree.map(lambda leaf: jnp.zeros((n, *leaf.shape), leaf.dtype), value)
        return jax.tree.map(
            lambda z, leaf: varying_over(z.astype(leaf.dtype), varying_axes(leaf)), known, value
        )

    contributions = [
        jax.tree.unflatten(
            structure,
            [
                full(value, known, sum(stratum.n for stratum in design.strata))
                for value, known in zip(mean, source, strict=True)
            ],
        )
        for (_, design), source in found.sampled.items()
    ]
    designs = tuple(design for _, design in found.sampled)
    return JointDraws(jax.tree.unflatten(structure, mean), contributions, designs, found.jets)


def _drawn_parts(parts: tuple[Part, ...], draw: Draw, number: int | None) -> tuple[Part, ...]:
    """The parts of a leaf with their draw. Factors of a product have independent draws, by number.
    Arguments of a nonlinear function are exact.
    """
    if number is None:
        return parts
    own = Draw(stream(draw.key, "factor", number), draw.n, draw.probe) if number else draw
    return tuple(part if part.draw is not None else Part(part.terms, own) for part in parts)


@final
class Joint(AbstractEstimator):
    """What `diffop.exact` and `diffop.estimate` return: several operators as one map.

    It is a pytree. The arrays of the operators are leaves and can be learnt. The key of an estimate
    is a leaf too, so a function compiled for one key serves all keys.

    Called with a function u, it returns a function of u's arguments whose values have the structure
    of the operators; `chunk` and `plan` beside u are as for `Operator.exact`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"lap": do.Laplacian(), "fourth": do.DiagonalK(4)}
        joint = do.estimate(ops, jax.random.key(0), 4)
        joint(lambda x: jnp.sum(x**4))(jnp.ones(9))  # {"lap": 108.0, "fourth": 216.0}
        ```
    """

    operators: PyTree
    draw: Draw | None

    def _parts(self) -> list[tuple[Part, ...]]:
        """The parts of all leaves of the operators in order; estimates among them keep their own
        draws.
        """
        leaves = [
            leaf for operator in flat_operators(self.operators)[0] for leaf in operator.leaves
        ]
        if self.draw is None:
            return [parts for parts, _ in leaves]
        return [_drawn_parts(parts, self.draw, number) for parts, number in leaves]

    def _combined(self, values: Sequence[PyTree], point: Point) -> PyTree:
        """The operators' values, in their structure, from the values of all leaves."""
        operators, structure = flat_operators(self.operators)
        rest = iter(values)
        each = [op.combine([next(rest) for _ in op.leaves], point) for op in operators]
        return jax.tree.unflatten(structure, each)

    def __repr__(self) -> str:
        if self.draw is None:
            return f"exact({self.operators!r})"
        return f"estimate({self.operators!r}, {self.draw.n} × {self.draw.probe.name})"

    def _value(self, u: Function, point: Point) -> PyTree:
        return self._combined(apply_all(self._parts(), u, point), point)

    def _drawn(self, u: Function, point: Point) -> JointDraws:
        parts = self._parts()
        leaves = _by_source(draws(parts, u, point), jax.tree.structure([0] * len(parts)))
        return leaves.of(lambda values: self._combined(values, point))

    def _stats(self, u: Function, point: Point) -> Stats:
        return self._drawn(u, point).stats()

    def draws(
        self, u: Function, *point: Any, chunk: int | None = None, plan: PlanKind = "auto"
    ) -> Callable[..., JointDraws]:
        """The estimates draw by draw, from which the variance of functions of them follows.

        **Arguments:**

        - `u`: a function of arrays or pytrees; traced as under `jax.jit`.
        - `chunk`, `plan` (by keyword): as for `Operator.exact`.

        **Returns:** a function with u's own signature, for one point, to a
        [`diffop.estimators.JointDraws`][].

        **Raises:** `ValueError`, when it is called, for a composition with variable coefficients
        whose inner operator is sampled too.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            joint = do.estimate([do.Laplacian(), do.DiagonalK(4)], jax.random.key(0), 4)
            drawn = joint.draws(lambda x: jnp.sum(x**4))(jnp.ones(9))
            drawn.contributions  # [[[27, 27, 27, 27], [54, 54, 54, 54]]]: one source, 4 draws
            ```
        """
        return applied(u, point, partial(self._drawn, u), chunk, plan)

    def jets(self, *args: Any, plan: PlanKind = "auto") -> Plan | ResolvedPlan:
        """The plan of all the operators, as `Operator.jets` shows that of one."""
        return plan_of(list(self._parts()), args, plan)
