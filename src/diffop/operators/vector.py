"""Operators that change the shape of the output: gradient, Hessian, divergence, curl, component."""

from typing import Any, final

import equinox as eqx

from ..jets.arranged_terms import CurlTerms, HessianTerms
from ..jets.fields import Field
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from ..terms.arguments import checked_argnum, checked_dims, checked_entry, checked_field
from ..terms.entries import Entry
from ..terms.term import Term, entry_term, factor_term
from .coordinates import AbstractOfCoordinates
from .differential import DifferentialOperator


@final
class Gradient(DifferentialOperator):
    """$∇u$, or $σᵀ∇u$, in reverse mode: there d derivatives cost as much as one.

    **Arguments:**

    - `sigma`: $σ$: a matrix (d, d'), a vector for a diagonal one, a scalar, a sparse matrix
        ([`diffop.operators.SparseColumns`][] or a constant `jax.experimental.sparse.BCOO`), a
        callable sigma(*args), or a matrix known by its products ([`diffop.operators.MatVec`][]).
        None for $∇u$ itself.
    - `argnum`, `dims`: which argument, and which of its coordinates.

    **Returns** (when applied): without sigma and dims, the structure of the argument, as `jax.grad`
    does; otherwise a vector. If u is not scalar, these axes follow u's own: for a vector-valued u
    it is the Jacobian $J_ij = ∂_j u_i$, and `J @ u` in a residual is the advection $u·∇u$.

    Each derivative has the digits of a jet, as `Partial` has: those that `jax.grad` loses in the
    tails of functions such as tanh are there. In reverse mode, as always, derivatives with respect
    to the values in between have to be in the range of their type. If u has no fewer values than
    there are coordinates, forward mode is used.

    Like other operators it differentiates functions with a `jax.custom_vjp` as they are written. It
    uses the rule only if there is no other derivative, as for a callback.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Gradient().exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # [2, 2, 2]
        ```
    """

    sigma: Field | None
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(
        self, sigma: Any = None, *, argnum: int = 0, dims: tuple[int, ...] | None = None
    ) -> None:
        forms = "a matrix, a vector (its diagonal), a scalar, a callable of the point or a MatVec"
        self.sigma = (
            None if sigma is None else checked_field(sigma, "sigma of Gradient", (0, 1, 2), forms)
        )
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(GradientTerms(self.argnum, self.dims, self.sigma)),)


@final
class Divergence(AbstractOfCoordinates):
    """$Σ_i ∂_i u_i$ of a vector-valued u, or $Σ_j ∂_j T_ij$ of a tensor.

    **Arguments:**

    - `argnum`, `dims`: which argument, and which of its coordinates to sum over. u returns one
        value for each coordinate of the argument, as an array or a pytree like the argument; or one
        for each of `dims`, in their order. If u returns more, such as (u, v, p), say which entries
        are meant: `Divergence() @ Component((0, 1))`. If it returns an array whose last axis has
        one value for each coordinate, such as a stress, that axis is contracted, and the others
        remain: with the convention of [`diffop.Gradient`][], `Divergence() @ Gradient()` of a
        vector is its Laplacian.

    Exact: d first-order jets; in up to four coordinates `Curl`, `Gradient` and other first
    derivatives beside it are read from them. Estimated: n of the d terms, or dense $vᵀ(∂u)v$.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Divergence().exact(lambda x: x**2)(jnp.ones(3))  # 6.0
        stress = do.FunctionOf(lambda g: g + g.T, do.Gradient())
        viscous = do.Divergence() @ stress
        viscous.exact(lambda x: x**2)(jnp.ones(3))  # Δu + ∇(∇·u) = [4, 4, 4]
        ```
    """

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(DivergenceTerms(self.argnum, self.dims)),)


@final
class Hessian(AbstractOfCoordinates):
    """The matrix of all $∂_i∂_j u$, symmetric.

    **Arguments:**

    - `argnum`, `dims`: which argument, and which of its coordinates, numbered as
        `jax.flatten_util.ravel_pytree` numbers the argument.

    **Returns** (when applied): shape (d, d), behind u's own axes: (m, d, d) for a u with m values.

    Up to four coordinates it takes one jet with a parameter for each, which is $d + d(d+1)/2$
    coefficients, planned together with other derivatives with respect to single coordinates; first
    derivatives come for free. In more coordinates it is the gradient of the gradient: d directions
    through reverse mode. It is exact in estimates too, since its entries are not sums. For a sum
    over its entries, such as $C:∇²u$, use [`diffop.SecondOrder`][], which needs no matrix of
    derivatives; for products with it `Directional(v) @ Gradient()`.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Hessian().exact(lambda x: x[0] ** 2 * x[1])(jnp.ones(2))  # [[2, 2], [2, 0]]
        ```
    """

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(HessianTerms(self.argnum, self.dims)),)


@final
class Curl(DifferentialOperator):
    """curl u of a vector-valued u: in three coordinates a vector, in two $∂_0 u_1 − ∂_1 u_0$.

    **Arguments:**

    - `argnum`, `dims`: which argument, and which two or three of its coordinates. u returns one
        value for each of them; if it returns more, say which are meant:
        `Curl() @ Component((0, 1, 2))`.

    **Returns** (when applied): shape (3,), or a scalar for two coordinates.

    It takes a jet of order one for each coordinate, shared with other derivatives with respect to
    single coordinates. It is exact in estimates too.

    **Raises:** `ValueError` for another number of coordinates or, when it is applied, of values.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        rotation = lambda x: jnp.stack([-x[1], x[0], jnp.zeros(())])
        do.Curl().exact(rotation)(jnp.ones(3))  # [0, 0, 2]
        do.Curl(dims=(0, 1)).exact(lambda x: rotation(x)[:2])(jnp.ones(2))  # 2.0
        ```
    """

    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, *, argnum: int = 0, dims: tuple[int, ...] = (0, 1, 2)) -> None:
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims) or ()
        if len(self.dims) not in (2, 3):
            raise ValueError(
                f"Curl is taken in two or three coordinates; got dims={dims}. In the plane write "
                "Curl(dims=(0, 1))."
            )

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(CurlTerms(self.argnum, self.dims)),)


@final
class Component(DifferentialOperator):
    """An entry $u_i$ of a vector-valued u, or several: `A @ Component(i)` is A of that entry.

    Taking an entry is linear, so it is an operator and composes like others. Unlike an index into
    the value of `A.exact(u)`, it can stand before a divergence or in a sum with other terms.
    Entries of one u share its jets.

    **Arguments:**

    - `entry`: the index of an entry along the first axis of u's value, counted from 0, or its key
        if u returns a dict; or a tuple of these for several entries, as a vector (of a dict or a
        tuple, as a tuple) in this order.

    **Raises:** `TypeError` for another kind of entry; `ValueError`, when it is applied, for an
    entry that u does not have.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        flow = lambda x: jnp.stack([x[1] ** 2, x[0], x[0] * x[1]])  # u, v, p
        velocity, pressure = do.Component((0, 1)), do.Component(2)
        stokes = {
            "viscous": do.Laplacian() @ velocity,
            "force": do.Gradient() @ pressure,
            "mass": do.Divergence() @ velocity,
            "vorticity": do.Partial(0) @ do.Component(1) - do.Partial(1) @ do.Component(0),
        }
        values = do.exact(stokes)(flow)(jnp.ones(2))
        values["viscous"], values["force"]  # [2, 0], [1, 1]
        values["mass"], values["vorticity"]  # 0.0, -1.0
        ```
    """

    entry: Entry = eqx.field(static=True)

    def __init__(self, entry: Entry) -> None:
        self.entry = checked_entry(entry)

    def terms(self) -> tuple[Term, ...]:
        return (entry_term(self.entry),)
