"""The algebra of operators: what every operator can do, whatever it is."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, ClassVar, NoReturn, final

import equinox as eqx
from jaxtyping import PyTree

from ..array_types import Key
from ..estimators.adaptive import Adaptive, adaptive, checked_accuracy, make_round
from ..estimators.control import Controlled, Scale
from ..estimators.deflation import Deflated, deflated
from ..estimators.draws import check_probes, make_draw
from ..estimators.estimator import AbstractEstimator
from ..estimators.observation import observe
from ..estimators.statistics import Stats, statistics
from ..jets.fields import Number
from ..jets.planner import Kind
from ..jets.point import Point
from ..jets.probes import AbstractProbe, RunningMagnitudes
from ..jets.probes.base import Draw
from ..jets.table import Plan, ResolvedPlan
from ..renamed import warn_of
from ..terms.arguments import Function
from ..terms.coefficients import ScalarCoefficient, as_coefficient, multiply
from ..terms.equality import same
from ..terms.evaluate import apply
from ..terms.one_point import applied
from ..terms.plans import plan_of
from ..terms.term import Part, Term, compose, function_term, merged, text


class Operator(eqx.Module):
    """A linear differential operator, or a fixed sample of one.

    Operators add (`A + B`, `A - B`, `sum`), scale (`2 * A`, `A / 3`, `theta * A` for a 0-d array),
    take variable coefficients on the left (`c * A` for a callable `c(*args)`) and compose (`A @ B`,
    `A ** m`). They are pytrees: array coefficients are leaves and can be learnt, Python numbers are
    part of the structure. They compare with `==` as polynomials and print as mathematics.
    """

    __array_ufunc__ = None
    is_operator: ClassVar[bool] = True
    """What `arguments.is_function` tells operators by, which cannot import them."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The operator's terms, those that are exact and those of each draw."""

    @property
    @abstractmethod
    def exact(self) -> Callable[..., Function]:
        """The operator without sampling: a map from functions to functions, like `jax.grad`."""

    @abstractmethod
    def jets(self, *args: Any, plan: Kind = "auto") -> "Plan | ResolvedPlan":
        """Which jets compute the operator."""

    def __add__(self, other: Any) -> "Operator":
        if not isinstance(other, Operator):
            return NotImplemented
        return _from_parts((*self.parts, *other.parts))

    def __radd__(self, other: Any) -> "Operator":
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Any) -> "Operator":
        return self + (-other) if isinstance(other, Operator) else NotImplemented

    def __neg__(self) -> "Operator":
        return _scale(Number(-1), self)

    def __mul__(self, other: Any) -> "Operator":
        if isinstance(other, Operator):
            raise TypeError("operators compose with @, as functions do; got A * B, write A @ B.")
        scalar = as_coefficient(other)
        if scalar is not None:
            return _scale(scalar, self)
        if callable(other):
            raise TypeError(
                "A * c is ambiguous for a function c: write c * A to multiply A's result by "
                "c(x), or A @ (c * Identity()) to apply A to the product c(x) u(x)."
            )
        return NotImplemented

    def __rmul__(self, other: Any) -> "Operator":
        scalar = as_coefficient(other)
        if scalar is not None:
            return _scale(scalar, self)
        if not callable(other):
            return NotImplemented
        factor = function_term(other)
        return _map_terms(lambda term: compose(factor, term), self)

    def __truediv__(self, other: Any) -> "Operator":
        scalar = as_coefficient(other)
        if scalar is None:
            return NotImplemented
        inverse = Number(1 / scalar.value) if isinstance(scalar, Number) else 1 / scalar
        return _scale(inverse, self)

    def __matmul__(self, other: Any) -> "Operator":
        if not isinstance(other, Operator):
            return NotImplemented
        _refuse_estimates(self, other)
        return Sum(
            merged(
                compose(a, b)
                for left in self.parts
                for a in left.terms
                for right in other.parts
                for b in right.terms
            )
        )

    def __pow__(self, exponent: Any) -> "Operator":
        if not isinstance(exponent, int) or isinstance(exponent, bool):
            return NotImplemented
        if exponent < 0:
            raise ValueError(f"an operator's power must be 0, 1, 2, …; got {exponent}.")
        _refuse_estimates(self)
        result: Operator = Sum((Term(Number(1), ()),))
        for _ in range(exponent):
            result = result @ self
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operator):
            return NotImplemented
        return same(self.parts, other.parts)

    def __hash__(self) -> int:
        return hash(Operator)  # equal operators may be written in different ways

    def __repr__(self) -> str:
        return " + ".join(_part_text(part) for part in self.parts) or "0"

    def __str__(self) -> str:
        return repr(self)


class DifferentialOperator(Operator):
    """An operator whose terms are known: everything but an `Estimate`. A subclass says what they
    are; most easily those of an expression.

    !!! example

        ```python
        import equinox as eqx
        import jax.numpy as jnp
        import diffop as do

        class Helmholtz(do.DifferentialOperator):
            wavenumber: float = eqx.field(static=True)

            def terms(self):
                return (do.Laplacian() + self.wavenumber**2 * do.Identity()).terms()

        Helmholtz(2.0).exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # 6 + 4 · 3 = 18
        ```
    """

    @abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """The operator as a sum of terms."""

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(merged(self.terms()), None),)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Whether it is exact or estimated has to be said."""
        raise TypeError(
            "an operator is applied exactly, L.exact(u)(x), or estimated, "
            f"L.estimate(key, n)(u)(x); got a call of the operator L = {self} itself."
        )

    @property
    def exact(self) -> "Exact":
        """The operator as a map from functions to functions: `L.exact(u)(x)` is (L u)(x), up to
        rounding.

        **Arguments:**

        - `u`: a function of arrays or pytrees; traced as under `jax.jit`.
        - `chunk` (by keyword): how many directions to push together at most. It bounds memory,
            in reverse mode too, at the price of pushing u's primal once for each chunk. By default
            all, or as many as fit where a point would need more than about a thousandth of the
            device's memory.
        - `plan` (by keyword): how mixed derivatives are computed: "auto" for the plan of least
            cost, "nested" for jets with a parameter for each variable, "power" for powers of single
            directions, a [`diffop.jets.Scheme`][], or a function that makes one, such as
            [`diffop.baselines.paper`][].

        **Returns:**

        A function with u's own signature, for one point: map it over points with `jax.vmap`.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            u = lambda x: jnp.sum(x**4)
            do.Laplacian().exact(u)(jnp.array([1.0, 2.0]))  # 12 + 48 = 60
            ```
        """
        return Exact(self)

    def estimate(self, key: Key, n: int, probes: str | AbstractProbe = "auto") -> "Estimate":
        """An unbiased estimate from n random draws: an operator with fixed jets.

        **Arguments:**

        - `key`: a JAX random key. The draw depends on it, on `n` and on the number of coordinates
            alone, so the same estimate uses the same jets on every function and at every point.
        - `n`: draws for each set of terms of the operator (of one order, in one argument). Sets
            with at most n terms, and those of order one, are exact.
        - `probes`: how the jets are drawn. By name: "sparse" (also "auto"), "stratified" and
            "systematic" sample terms; "rademacher", "gaussian", "sphere", "orthogonal", "roots" and
            "shifted" draw dense directions. Or one of `diffop.probes`, which has some more.

        **Returns:**

        An [`diffop.Estimate`][]: `E(u)(x)` is the estimate of (L u)(x), `E.stats(u)(x)` adds its
        standard error.

        **Raises:**

        `TypeError` for something that is not a key, `ValueError` for n < 1, unknown probes, or
        probes that are biased for this operator.

        Source: STDE, equation `eqn:stde-unbiased`.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            E = do.Laplacian().estimate(jax.random.key(0), 16)
            E(lambda x: jnp.sum(x**2))(jnp.zeros(1000))  # 2000.0
            ```
        """
        draw = make_draw(key, n, probes)
        check_probes(self.parts, draw.probe)
        return Estimate(tuple(Part(part.terms, draw) for part in self.parts))

    def deflate(self, key: Key, n: int, method: str = "xtrace") -> Deflated:
        """An unbiased estimate of second-order parts and the divergence from n products with their
        matrices, its large part exact: better than n draws where eigenvalues decay.

        **Arguments:**

        - `key`: a JAX random key.
        - `n`: products for each second-order term, exact where its matrix has at most n rows.
        - `method`: "xtrace" or "hutch++".

        **Returns:** a [`diffop.Deflated`][]: `D(u)(x)`, and `D.stats(u)(x)` with a standard error.

        **Raises:** `TypeError` for something that is not a key, `ValueError` for an unknown method,
        an n that is too small for it, or a part that is not a trace (of order 3, for example).
        """
        return deflated(self.parts[0].terms, key, n, method)

    def estimate_to(
        self,
        key: Key,
        rtol: float = 1e-2,
        atol: float = 0.0,
        max_n: int = 1024,
        batch: int = 16,
        probes: str | AbstractProbe = "auto",
    ) -> Callable[..., Callable[..., Adaptive]]:
        """An estimate with as many draws as an accuracy needs: rounds of `batch` draws are added
        until the standard error of every entry of the result is at most max(atol, rtol |mean|), two
        rounds and 16 draws at least.

        It can be jitted, mapped (each point stops by itself) and differentiated in reverse mode,
        as the estimate with the draws that were used. It has no forward mode.

        The standard error knows what the draws have seen: terms that are few and large may be
        missed by all of them. And the draws also decide when to stop, so that their mean is not
        unbiased. Where the large ones of skewed terms are missing, the mean and its standard error
        are small together, and that is when it stops: the bias is away from the tail, of order 1/n
        and so of order rtol². For 400 log-normal terms (σ = 1), over 4000 keys, rtol = 0.1 had a
        bias of −1.6 ± 0.2 % and ±2 standard errors held the value 90 % of the time (93 % for 128
        draws).

        **Arguments:**

        - `key`: a JAX random key. The rounds depend on it, on `batch`, `max_n` and the number of
            coordinates alone.
        - `rtol`, `atol`: the accuracy, not both zero.
        - `max_n`: draws for each set of terms of the operator at most. Probes with strata make
            whole rounds only.
        - `batch`: draws in a round. Sets with at most so many terms, and those of order one, are
            exact and computed once.
        - `probes`: as for `estimate`. What "sparse" draws without replacement is not repeated in
            later rounds either: with max_n ≥ N it ends, exactly, when all N terms were used.

        **Returns:**

        A map from functions to functions, which takes `chunk=` and `plan=` beside u as `exact`
        does: `L.estimate_to(key)(u)(*args)` is a [`diffop.Adaptive`][], `(value, standard_error,
        jets, n, converged)`.

        **Raises:**

        As `estimate`; `ValueError` for tolerances that are negative, not finite or both zero, fewer
        than 2 draws in a round or 2 rounds in `max_n`, and probes without a standard error.

        Source: Chow and Robbins, On the asymptotic theory of fixed-width sequential confidence
        intervals for the mean, 1965.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            u = lambda x: jnp.sum(x**4)
            x = jnp.linspace(0, 1, 1000)
            do.Laplacian().estimate_to(jax.random.key(0), rtol=0.05)(u)(x)  # 240 of 1000 terms
            ```
        """
        accuracy = checked_accuracy(rtol, atol, max_n, batch)
        first = make_round(key, accuracy.batch, probes)
        check_probes(self.parts, first.probe)

        def estimated(
            u: Function, *point: Any, chunk: int | None = None, plan: Kind = "auto"
        ) -> Callable[..., Adaptive]:
            at = partial(adaptive, self.parts, first, accuracy, u)
            return applied(u, point, at, chunk, plan)

        return estimated

    def jets(self, *args: Any, plan: Kind = "auto") -> Plan | ResolvedPlan:
        """The plan: which jets compute the operator.

        **Arguments:**

        - `*args`: nothing for the plan as a formula in d; u's arguments (or their
            `jax.ShapeDtypeStruct`) to resolve it.
        - `plan` (by keyword): as for `exact`.

        **Returns:**

        A [`diffop.jets.Plan`][], or a [`diffop.jets.ResolvedPlan`][] with structured directions and
        weights. Both print as a table.
        """
        return plan_of(self.parts, args, plan)


@final
class Sum(DifferentialOperator):
    """A flat, merged sum of terms: the result of the algebra."""

    collected: tuple[Term, ...]

    def terms(self) -> tuple[Term, ...]:
        return self.collected


@final
class Estimate(Operator, AbstractEstimator):
    """A random sample of an operator with fixed jets. It is an operator: linear, reusable, addable.

    Made by `L.estimate(key, n)`; call it on a function: `E(u)(x)`.
    """

    samples: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.samples

    @property
    def exact(self) -> "Estimate":
        """The estimate itself: its jets are fixed already."""
        return self

    def _value(self, u: Function, point: Point) -> PyTree:
        return apply(self.samples, u, point)

    def _stats(self, u: Function, point: Point) -> Stats:
        return statistics(self.samples, u, point)

    def controlled(
        self,
        control: Function,
        value: Function | None = None,
        scale: Scale = 1.0,
    ) -> Controlled:
        """The estimate with a control variate: E(u) + s (L g − E(g)) for a function g with a known
        L g, from one push of both functions.

        **Arguments:**

        - `control`: g, a function like u: an exact solution that u approaches, a smaller network,
            the network of some steps ago.
        - `value`: L g as a function of the point; by default it is computed, exactly.
        - `scale`: s; 1 estimates L(u − g). "fitted" takes for each draw the best s of the other
            draws, which is unbiased where draws are independent (dense probes, importance), and has
            a bias of relative size 1/N for n of N terms without replacement.

        **Returns:**

        A [`diffop.Controlled`][]: call it on u, or ask for its `.stats(u)`.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            g = lambda x: jnp.sum(x**4)
            u = lambda x: g(x) + 0.01 * jnp.prod(x)
            E = do.Laplacian().estimate(jax.random.key(0), 4)
            E.controlled(g, lambda x: 12 * jnp.sum(x**2))(u)(jnp.arange(20.0))
            ```
        """
        return Controlled(self.samples, control, value, scale)

    def observe(self, memory: RunningMagnitudes, u: Function | None = None) -> Callable[..., Any]:
        """What a [`diffop.probes.RunningMagnitudes`][] has learnt from this estimate at a point:
        `memory = E.observe(memory)(u)(*args)`. For estimates of a single sum over coordinates, made
        with `probes=memory.probe()`.
        """

        def observed(
            u: Function, *point: Any, chunk: int | None = None, plan: Kind = "auto"
        ) -> Callable[..., RunningMagnitudes]:
            return applied(u, point, partial(observe, memory, self.samples, u), chunk, plan)

        if u is None:
            return observed
        warn_of("E.observe(memory, u) is E.observe(memory)(u) now")
        return observed(u)

    def jets(self, *args: Any, plan: Kind = "auto") -> Plan | ResolvedPlan:
        """The plan with its draws; resolved at a point, the directions that were drawn."""
        return plan_of(self.samples, args, plan)


@final
class Exact(eqx.Module):
    """What `Operator.exact` is: called with a function u, how many directions to push together at
    most, and a plan, it returns the function that the operator makes of u. A pytree, as the
    operator is.
    """

    operator: Operator

    def __repr__(self) -> str:
        return f"({self.operator}).exact"

    def __call__(
        self, u: Function, *point: Any, chunk: int | None = None, plan: Kind = "auto"
    ) -> Function:
        return applied(u, point, partial(apply, self.operator.parts, u), chunk, plan)


def _from_parts(parts: tuple[Part, ...]) -> Operator:
    """Parts of one draw together; an operator where nothing is sampled, an estimate otherwise."""
    groups: dict[Hashable, tuple[Draw | None, list[Term]]] = {}
    for part in parts:
        key = None if part.draw is None else part.draw.identity
        groups.setdefault(key, (part.draw, []))[1].extend(part.terms)
    merged([term for _, terms in groups.values() for term in terms])  # outputs of one shape
    collected = tuple(Part(merged(terms), draw) for draw, terms in groups.values())
    if all(part.draw is None for part in collected):
        return Sum(tuple(term for part in collected for term in part.terms))
    return Estimate(tuple(part for part in collected if part.terms))


def _map_terms(function: Callable[[Term], Term], operator: Operator) -> Operator:
    return _from_parts(
        tuple(Part(tuple(map(function, part.terms)), part.draw) for part in operator.parts)
    )


def _scale(coefficient: ScalarCoefficient, operator: Operator) -> Operator:
    return _map_terms(
        lambda term: Term(multiply(coefficient, term.coefficient), term.word), operator
    )


def _refuse_estimates(*operators: Operator) -> None:
    if any(isinstance(operator, Estimate) for operator in operators):
        raise TypeError(
            "estimates do not compose: with one draw the product would be biased. Compose the "
            "operators first, then estimate: (A @ B).estimate(key, n)."
        )


def _part_text(part: Part) -> str:
    if part.draw is None:
        return text(part.terms)
    return f"[{text(part.terms)}; {part.draw.n} × {part.draw.probe.name}]"
