"""The simplest operators: the identity, one derivative, one mixed derivative, one direction."""

from typing import Any, final

import equinox as eqx
import jax
from jax.core import Tracer
from jaxtyping import Shaped

from ..jets.field_terms import LinearForm
from ..jets.fields import Field, Number, as_floating
from ..jets.index_terms import Monomial, at_coordinates
from ..jets.terms import Factor
from ..scalars import checked_integer
from ..terms.arguments import (
    checked_alpha,
    checked_argnum,
    checked_coordinate,
    checked_dims,
    checked_field,
    checked_order,
)
from ..terms.term import Term, factor_term
from .differential import DifferentialOperator


@final
class Identity(DifferentialOperator):
    """u itself. `c * Identity()` is multiplication by $c(x)$.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        helmholtz = do.Laplacian() + 4.0 * do.Identity()
        ```
    """

    def terms(self) -> tuple[Term, ...]:
        return (Term(Number(1), ()),)


@final
class Partial(DifferentialOperator):
    """$∂_i^order$, the derivative with respect to one coordinate.

    **Arguments:**

    - `i`: the coordinate, numbered as `jax.flatten_util.ravel_pytree` numbers the argument. It may
        be left out only for a scalar argument. It may be traced, such as a coordinate drawn at
        random under `jax.jit`; then it is a leaf and must be one of the argument's coordinates.
    - `order`: how often to differentiate, at least 1.
    - `argnum`: which argument of u: `Partial(argnum=1)` of $u(x, t)$ is $u_t$. If time is the last
        coordinate of a point (x, t), $u_t$ is `Partial(1)`, and operators in space take
        `dims=(0,)`.

    **Raises:** `ValueError`, when it is applied, for a coordinate that the argument does not have,
    or if `i` is left out and the argument has several coordinates.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        heat = do.Partial(argnum=1) - do.Laplacian()
        heat.exact(lambda x, t: jnp.exp(-t) * jnp.sin(x[0]))(jnp.array([1.0]), 0.5)  # 0.0
        ```
    """

    factor: Factor

    def __init__(
        self, i: int | Shaped[jax.Array, ""] | None = None, order: int = 1, *, argnum: int = 0
    ) -> None:
        order, argnum = checked_order(order, "order of Partial"), checked_argnum(argnum)
        if isinstance(i, Tracer):
            self.factor = at_coordinates(checked_coordinate(i), order, argnum)
        elif i is None:
            self.factor = Monomial((((argnum, 0), order),), frozenset({argnum}))
        else:
            place = checked_integer(i, "the coordinate i of Partial", 0)
            self.factor = Monomial((((argnum, place), order),))

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(self.factor),)


def _once(coordinates: list[Any]) -> str:
    """The coordinates of a multi-index, each repeated as often as its order."""
    different = [i for n, i in enumerate(coordinates) if i not in coordinates[:n]]
    return "{" + ", ".join(f"{i}: {coordinates.count(i)}" for i in different) + "}"


@final
class Mixed(DifferentialOperator):
    """$∂^α$, one mixed derivative: always exact.

    **Arguments:**

    - `alpha`: a dict {coordinate: order}; or a full multi-index such as `(2, 1, 0)`, a tuple
        with the order of each coordinate, as many as the point has; or, across arguments, a
        dict {(argnum, coordinate): order}.
    - `argnum`: the argument that plain coordinates belong to.

    **Raises:** `TypeError` for a list, which may be meant as coordinates. `ValueError`, when it is
    applied, for a multi-index with another number of entries than the argument has coordinates, or
    a coordinate that the argument does not have.

    By default it is computed by one jet with a parameter for each coordinate. `.jets()` shows this
    and the other plans. `diffop.exact` plans several derivatives together.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Mixed({0: 2, 1: 1}).exact(lambda x: x[0] ** 2 * x[1])(jnp.ones(2))  # 2.0
        do.Mixed({(1, 0): 1, (0, 1): 1})  # u_ty of u(x, t)
        ```
    """

    factor: Factor

    def __init__(self, alpha: Any, *, argnum: int = 0) -> None:
        if isinstance(alpha, list):
            raise TypeError(
                "Mixed's alpha must be a tuple of orders, one for each coordinate, or a dict "
                f"{{coordinate: order}}; got the list {alpha!r}, which may be either. For orders "
                f"write Mixed(tuple({alpha!r})), for coordinates Mixed({_once(alpha)})."
            )
        self.factor = checked_alpha(alpha, checked_argnum(argnum), "Mixed")

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(self.factor),)


@final
class Directional(DifferentialOperator):
    """$b·∇$, the derivative along a vector field: one jet. With the outward normal of a part of a
    boundary, `part.normal` of a [`diffop.pde.AbstractPart`][], it is the normal derivative.

    **Arguments:**

    - `b`: as many numbers as there are coordinates: an array, a pytree like the argument, or a
        callable b(*args) of the point that returns one.
    - `argnum`, `dims`: which argument, and which of its coordinates b refers to.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        rotation = do.Directional(lambda x: jnp.array([-x[1], x[0]]))
        rotation.exact(lambda x: jnp.sum(x**2))(jnp.ones(2))  # 0.0
        ```
    """

    b: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(self, b: Any, *, argnum: int = 0, dims: tuple[int, ...] | None = None) -> None:
        forms = "an array or a callable of the point"
        if isinstance(b, dict | tuple):  # a pytree like the argument
            self.b = jax.tree.map(lambda leaf: as_floating(leaf, "b of Directional"), b)
        else:
            self.b = checked_field(b, "b of Directional", tuple(range(9)), forms)
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(LinearForm(self.argnum, self.dims, self.b)),)
