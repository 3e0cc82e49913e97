"""The Laplace–Beltrami operator: the Laplacian of a metric."""

from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from ..array_types import Vector
from ..jets.field_terms import LinearForm, MatrixForm
from ..jets.fields import Field
from ..jets.point import Point
from ..terms.arguments import checked_argnum, checked_dims, checked_field
from ..terms.derived_fields import matrix_of, row_divergence
from ..terms.first_derivatives import jacobian_of
from ..terms.one_point import noting_point
from ..terms.rewriting import Slope
from ..terms.term import Term, factor_term
from .differential import DifferentialOperator

_NAME = "metric of LaplaceBeltrami"


@final
class LaplaceBeltrami(DifferentialOperator):
    """$Δ_g u = |g|^{−1/2} ∂_i (|g|^{1/2} g^{ij} ∂_j u)$, the Laplacian in coordinates with a metric
    $g$, on surfaces and in curvilinear coordinates. For a Lorentzian metric it is the wave
    operator.

    **Arguments:**

    - `metric`: g, a function of the point with u's signature, or an array: a symmetric matrix, the
        diagonal of one as a vector, or a number that multiplies the unit matrix.
    - `argnum`, `dims`: which argument, and which of its coordinates g refers to.

    It is $g^{ij} ∂_i∂_j + b·∇$ with $b^j = |g|^{−1/2} ∂_i (|g|^{1/2} g^{ij})$. It costs as much as
    [`diffop.SecondOrder`][] of a function with one more direction.

    **Raises:** `ValueError`, when it is applied, for a metric that does not fit the point.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        sphere = do.LaplaceBeltrami(lambda q: jnp.stack([jnp.ones(()), jnp.sin(q[0]) ** 2]))
        sphere.exact(lambda q: jnp.cos(q[0]))(jnp.array([1.0, 0.0]))  # −2 cos θ = -1.0806
        ```
    """

    metric: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(
        self, metric: Any, *, argnum: int = 0, dims: tuple[int, ...] | None = None
    ) -> None:
        forms = "a function of the point, a symmetric matrix, a vector (its diagonal) or a number"
        self.metric = checked_field(metric, _NAME, (0, 1, 2), forms)
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)

    @classmethod
    def embedded(cls, mapping: Callable[[PyTree], PyTree], *, argnum: int = 0) -> "LaplaceBeltrami":
        """The operator on a surface x = mapping(q), with the induced metric $∂x/∂qᵀ ∂x/∂q$.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            circle = lambda q: 2 * jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])])
            do.LaplaceBeltrami.embedded(circle).exact(lambda q: q[0] ** 2)(jnp.ones(1))  # 0.5
            ```
        """
        return cls(_Embedded(mapping, checked_argnum(argnum)), argnum=argnum)

    def terms(self) -> tuple[Term, ...]:
        inverse = _Inverse(self.metric, self.argnum, self.dims)
        second = MatrixForm(self.argnum, self.dims, inverse, name=_NAME)
        return (
            factor_term(second),
            factor_term(LinearForm(self.argnum, self.dims, _Drift(inverse))),
        )


@final
class _Embedded(eqx.Module):
    """The metric induced by a mapping."""

    mapping: Callable[[PyTree], PyTree]
    argnum: int = eqx.field(static=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, args[self.argnum]))
        with noting_point("the mapping of LaplaceBeltrami.embedded", args[self.argnum]):
            jacobian = jacobian_of(lambda q: ravel_pytree(self.mapping(unravel(q)))[0], flat)
        return jacobian.T @ jacobian


@final
class _Inverse(eqx.Module):
    """g⁻¹, as a matrix or as the diagonal of one."""

    metric: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        g = self.value(*args, **kwargs)
        return 1 / g if g.ndim == 1 else jnp.linalg.inv(g)

    def value(self, *args: Any, **kwargs: Any) -> Array:
        """g, in one of these forms."""
        return matrix_of(self.metric, Point(args, kwargs), self.argnum, self.dims, _NAME)

    def log_volume(self, *args: Any, **kwargs: Any) -> Array:
        """½ log |det g|."""
        g = self.value(*args, **kwargs)
        if g.ndim == 1:
            return jnp.sum(jnp.log(jnp.abs(g))) / 2
        return jnp.linalg.slogdet(g)[1] / 2


@final
class _Drift(eqx.Module):
    """b^j = ∂_i g^{ij} + g^{ij} ∂_i ½ log |g|."""

    inverse: _Inverse

    def __call__(self, *args: Any, **kwargs: Any) -> Vector:
        point, inverse = Point(args, kwargs), self.inverse
        slope = Slope(inverse.log_volume, inverse.argnum, inverse.dims)(*args, **kwargs)
        value = inverse(*args, **kwargs)
        first = value * slope if value.ndim == 1 else value @ slope
        return row_divergence(inverse, point, inverse.argnum, inverse.dims) + first
