"""Linear operators given by their terms, and the methods that apply and transform them."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, final, overload

from jaxtyping import Array, Bool, PyTree

from ..array_types import Key
from ..estimators.adaptive import Adaptive, adaptive, checked_accuracy, make_round
from ..estimators.deflation import Deflated, deflated
from ..estimators.draws import check_probes, make_draw
from ..estimators.together import Joint
from ..jets.point import Point
from ..probes import AbstractProbe
from ..schemes.names import PlanKind
from ..terms.adjoint import adjoint
from ..terms.arguments import Function, checked_argnum
from ..terms.changed_coordinates import in_coordinates
from ..terms.one_point import applied
from ..terms.term import Part, Term, merged
from . import symbols
from .base import Operator
from .estimate import Estimate


class DifferentialOperator(Operator):
    """An operator with known terms: every linear operator except an `Estimate`. A subclass
    defines `terms`, most easily as the terms of an expression.

    !!! example

        ```python
        import equinox as eqx
        import jax.numpy as jnp
        import diffop as do

        class Helmholtz(do.operators.DifferentialOperator):
            wavenumber: float = eqx.field(static=True)

            def terms(self):
                return (do.Laplacian() + self.wavenumber**2 * do.Identity()).terms()

        Helmholtz(2.0).exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # 6 + 4 · 3 = 18
        ```
    """

    if TYPE_CHECKING:  # sums and multiples of operators with known terms have known terms

        @overload
        def __add__(self, other: "DifferentialOperator") -> "DifferentialOperator": ...
        @overload
        def __add__(self, other: Any) -> Operator: ...
        def __add__(self, other: Any) -> Operator: ...

        @overload
        def __sub__(self, other: "DifferentialOperator") -> "DifferentialOperator": ...
        @overload
        def __sub__(self, other: Any) -> Operator: ...
        def __sub__(self, other: Any) -> Operator: ...

        def __neg__(self) -> "DifferentialOperator": ...
        def __rmul__(self, other: Any) -> "DifferentialOperator": ...
        def __truediv__(self, other: Any) -> "DifferentialOperator": ...
        def __pow__(self, exponent: Any) -> "DifferentialOperator": ...

    @abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """The operator as a sum of terms."""

    @property
    def leaves(self) -> tuple[tuple[tuple[Part, ...], int | None], ...]:
        terms = self.terms()
        if not (isinstance(terms, tuple) and all(isinstance(each, Term) for each in terms)):
            raise TypeError(
                f"{type(self).__name__}.terms must return a tuple of terms, such as those of an "
                f"expression, (A + B).terms(); got {terms!r}."
            )
        return (((Part(merged(terms), None),), 0),)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises an error that asks for `exact` or `estimate`."""
        raise TypeError(
            "an operator is applied exactly, L.exact(u)(x), or estimated, "
            f"L.estimate(key, n)(u)(x); got a call of the operator L = {self} itself."
        )

    @property
    def order(self) -> int:
        """The highest order of a derivative. It is one less if all derivatives of that order
        cancel, as in a commutator. If lower orders cancel too and coefficients vary, it is an upper
        bound.
        """
        return symbols.highest_order(self.parts[0].terms)

    def adjoint(self) -> "DifferentialOperator":
        r"""The formal adjoint in the space of square-integrable complex functions: without boundary
        terms, $\int \bar v L u = \int \overline{L^* v} u$. The adjoint of $\sum_α C_α ∂^α$ is
        $v \mapsto \sum_α (−1)^{|α|} ∂^α (\bar{C}_α v)$. Derivatives of coefficients are exact.

        Scalars and coefficient functions are conjugated. The library cannot know that a function is
        real, so its conjugate never compares equal to it; for real coefficients use `transpose`.
        Coordinates, and fields of vectors and matrices, are known to be real.

        **Returns:** an operator; `(A @ B).adjoint()` is `B.adjoint() @ A.adjoint()`.

        **Raises:** `ValueError` for operators that need u's shape or a number of columns: a
        `Component`, a `Hessian`, a `Gradient` whose sigma is a function.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            L = (lambda x: jnp.exp(x[0])) * do.Partial(0)
            L.adjoint().exact(lambda x: x[0] ** 2)(jnp.zeros(1))  # −(eˣ x²)′ = 0.0
            (1j * do.Partial(0)).adjoint() == 1j * do.Partial(0)  # True
            ```
        """
        return Sum(merged(adjoint(self.parts[0].terms, True)))

    def transpose(self) -> "DifferentialOperator":
        r"""The formal transpose, $v \mapsto \sum_α (−1)^{|α|} ∂^α (C_α v)$. It is the adjoint if
        coefficients are real. Nothing is conjugated: $\int v L u = \int (L^T v) u$.

        **Raises:** as `adjoint`.

        !!! example

            ```python
            import diffop as do

            c = lambda x: x[0]
            (c * do.Identity()).transpose() == c * do.Identity()  # True
            do.Gradient().transpose()  # −div
            ```
        """
        return Sum(merged(adjoint(self.parts[0].terms, False)))

    def symbol(self, xi: PyTree, *point: Any, values: tuple[int, ...] = ()) -> Any:
        r"""The symbol $σ(x, ξ) = e^{−iξ·x} L e^{iξ·x} = \sum_α C_α(x) (iξ)^α$.

        **Arguments:**

        - `xi`: $ξ$, with the structure of the point; a tuple if u has several arguments.
        - `*point`: u's arguments; none for an operator with constant coefficients.
        - `values` (by keyword): the shape of u's value. The result has these axes last, so the
            symbol of a system is a matrix.

        **Returns:** a complex array of the shape of the operator's value.

        **Raises:** `ValueError` for a frequency without the structure of the point.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            L = do.Laplacian() + do.Partial(0)
            L.symbol(jnp.array([1.0, 2.0]))  # -5 + 1j
            do.Divergence().symbol(jnp.array([1.0, 2.0]), values=(2,))  # [1j, 2j]
            ```
        """
        at = self._where(xi, point)
        return symbols.symbol(self.parts[0].terms, xi, at, values)

    def principal_symbol(self, xi: PyTree, *point: Any, values: tuple[int, ...] = ()) -> Any:
        r"""The part of the symbol of the highest order, m = `L.order`: $\sum_{|α| = m} C_α (iξ)^α$.

        **Arguments:**, **Returns:**, **Raises:** as `symbol`.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            L = do.Laplacian() + do.Partial(0)
            L.principal_symbol(jnp.array([1.0, 2.0]))  # -5 + 0j
            ```
        """
        at = self._where(xi, point)
        return symbols.principal_symbol(self.parts[0].terms, xi, at, values)

    def is_elliptic(self, *point: Any) -> Bool[Array, ""]:
        """Whether the principal symbol is nonzero for every real $ξ ≠ 0$. All coordinates of all
        arguments count, so a heat operator is not elliptic if time is among them.

        **Arguments:**

        - `*point`: u's arguments, arrays.

        **Returns:** a truth value, up to rounding; it may be traced and mapped.

        **Raises:** `ValueError` in three or more coordinates for a sum of order three or more, and
        for complex coefficients that are not a common factor.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            tricomi = (lambda x: x[1]) * do.Partial(0, order=2) + do.Partial(1, order=2)
            tricomi.is_elliptic(jnp.array([0.0, 1.0]))  # True
            tricomi.is_elliptic(jnp.array([0.0, -1.0]))  # False
            ```
        """
        return symbols.is_elliptic(self.parts[0].terms, Point(point))

    def in_coordinates(
        self, mapping: Callable[[PyTree], PyTree], *, argnum: int = 0
    ) -> "DifferentialOperator":
        """The operator in other coordinates. With $v(q) = u(x)$ and x = mapping(q), the new
        operator applied to v at q gives L u at x, up to rounding. u is scalar, or each of its
        values is treated separately.

        In a sum or a composition each factor is changed. Derivatives of order one become
        `Directional`s, those of order two a `SecondOrder` and a `Directional`. Their coefficients
        are computed at the point from derivatives of the mapping. A `Gradient` keeps its entries,
        $∂u/∂x_i$. A `DivergenceForm` stays one, $|J|^{-1} ∇_q·(|J| J^{-1} a J^{-T} ∇_q v)$.

        **Arguments:**

        - `mapping`: from q to x, with as many coordinates and an invertible Jacobian, such as
            `lambda q: q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])])`. On a surface use
            [`diffop.LaplaceBeltrami`][].
        - `argnum`: which argument of u is mapped.

        **Returns:** an operator, with `exact` and `estimate` as usual.

        **Raises:** `ValueError` for a divergence of anything but a gradient and similar operators,
        and for sums over coordinates of order three or more; when it is applied, for another number
        of coordinates, and for a gradient of points that are not vectors.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            polar = lambda q: q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])])
            L = do.Laplacian().in_coordinates(polar)
            L.exact(lambda q: q[0] ** 2)(jnp.array([2.0, 0.5]))  # Δ|x|² = 4.0
            ```
        """
        if not callable(mapping):
            raise TypeError(
                "in_coordinates expects a map, a function from the new coordinates q to the point "
                f"x; got {mapping!r}."
            )
        argnum = checked_argnum(argnum)
        return Sum(merged(in_coordinates(self.parts[0].terms, mapping, argnum)))

    def _where(self, xi: PyTree, point: tuple[Any, ...]) -> Point:
        if point:
            return Point(point)
        if not symbols.has_constant_terms(self.parts[0].terms):
            raise ValueError(
                f"the symbol of {self}, whose coefficients vary, is one at a point: give it after "
                "the frequency, L.symbol(xi, x)."
            )
        return Point(symbols.at_zero(xi))

    @property
    def exact(self) -> Joint:
        """The operator as a map from functions to functions: `L.exact(u)(x)` is (L u)(x), up to
        rounding.

        **Arguments:**

        - `u`: a function of arrays or pytrees; traced as under `jax.jit`.
        - `chunk` (by keyword): how many directions are pushed together at most. This bounds memory,
            in reverse mode too, but pushes u's primal once for each chunk. By default all
            directions are pushed together, or as many as fit if a point would need more than about
            a thousandth of the device's memory.
        - `plan` (by keyword): how mixed derivatives are computed: "auto" for jets with a parameter
            for each variable, and powers of operators in few variables as one polynomial; "nested"
            for the same jets term by term; "power" for powers of single directions; a
            [`diffop.schemes.Scheme`][], or a function that makes one, such as
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
        return Joint(self, None)

    def estimate(self, key: Key, n: int, probes: str | AbstractProbe = "auto") -> Estimate:
        """An unbiased estimate from n random draws: an operator with fixed jets.

        **Arguments:**

        - `key`: a JAX random key. The draw depends only on it, on `n` and on the number of
            coordinates, so the same estimate uses the same jets on every function and at every
            point.
        - `n`: draws for each set of terms of the operator (of one order, in one argument). Sets
            with at most n terms, and those of order one, are exact.
        - `probes`: how the jets are drawn. By name: "sparse" (also "auto"), "stratified" and
            "systematic" sample terms; "rademacher", "gaussian", "spherical", "orthogonal", "roots"
            and "shifted" draw dense directions. Or an object of `diffop.probes`, which has more.

        **Returns:**

        An [`diffop.operators.Estimate`][]: `E(u)(x)` is the estimate of (L u)(x), `E.stats(u)(x)`
        adds its standard error.

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
        matrices. The large part of each matrix is computed exactly, which is better than n draws if
        eigenvalues decay.

        **Arguments:**

        - `key`: a JAX random key.
        - `n`: products for each second-order term; exact if its matrix has at most n rows.
        - `method`: "xtrace" or "hutch++".

        **Returns:** a [`diffop.estimators.Deflated`][]: `D(u)(x)`, and `D.stats(u)(x)` with a
        standard error.

        **Raises:** `TypeError` for something that is not a key. `ValueError` for an unknown method,
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
        """An estimate with as many draws as an accuracy needs. Rounds of `batch` draws are added
        until the standard error of every entry of the result is at most max(atol, rtol |mean|), and
        there are at least two rounds and 16 draws.

        It can be jitted, mapped (each point stops by itself) and differentiated in reverse mode,
        as the estimate with the draws that were used. It has no forward mode.

        The draws also decide when to stop, so the mean is biased: if the large draws of skewed
        terms are missing, both the mean and its standard error are too small. The bias is of order
        rtol². For 400 log-normal terms ($σ = 1$), over 4000 keys, rtol = 0.1 had a bias of
        −1.6 ± 0.2 %, and ±2 standard errors contained the value 90 % of the time (93 % for 128
        draws).

        **Arguments:**

        - `key`: a JAX random key. The rounds depend only on it, on `batch`, `max_n` and the number
            of coordinates.
        - `rtol`, `atol`: the accuracy, not both zero.
        - `max_n`: draws for each set of terms of the operator at most. Probes with strata make
            whole rounds only.
        - `batch`: draws in a round. Sets with at most this many terms, and those of order one, are
            exact and computed once.
        - `probes`: as for `estimate`. "sparse" draws without replacement across rounds too: with
            `max_n` of at least N it ends when all N terms were used, and is then exact.

        **Returns:**

        A map from functions to functions, which takes `chunk=` and `plan=` beside u as `exact`
        does: `L.estimate_to(key)(u)(*args)` is a [`diffop.estimators.Adaptive`][], `(value,
        standard_error, jets, n, converged)`.

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
            u: Function, *point: Any, chunk: int | None = None, plan: PlanKind = "auto"
        ) -> Callable[..., Adaptive]:
            at = partial(adaptive, self.parts, first, accuracy, u)
            return applied(u, point, at, chunk, plan)

        return estimated


@final
class Sum(DifferentialOperator):
    """A flat sum of terms, like terms added up: the result of operators' arithmetic."""

    collected: tuple[Term, ...]

    def terms(self) -> tuple[Term, ...]:
        return self.collected
