"""Derivatives with respect to all coordinates, also of complex functions, in folx's shapes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree


def jacfwd(f: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """`folx.ad.jacfwd`: derivatives with respect to all coordinates of the arguments, in forward
    mode.

    **Arguments:**

    - `f`: a function of arrays or pytrees. If these are complex, it has to be holomorphic.

    **Returns:** a function of the same arguments. It returns f's output with an axis of coordinates
    after the axes of each array.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat.folx import ad

        ad.jacfwd(lambda x: jnp.sum(x**2))(jnp.ones(3))  # [2, 2, 2]
        ```
    """

    def jacobian(*primals: PyTree) -> PyTree:
        flat, unravel = ravel_pytree(primals)

        def along(v: Array) -> PyTree:
            return jax.jvp(f, primals, unravel(v))[1]

        return jax.vmap(along, out_axes=-1)(jnp.eye(flat.size, dtype=flat.dtype))

    return jacobian


def jacrev(f: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """`folx.ad.jacrev`: derivatives of all entries of the output, in reverse mode.

    **Arguments:**

    - `f`: a function of arrays or pytrees. If these are complex, it has to be holomorphic.

    **Returns:** a function of the same arguments. It returns a value with their structure (that of
    the only one, if there is one), with an axis in front for the entries of the output.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat.folx import ad

        ad.jacrev(lambda x: x**2)(jnp.ones(2))  # [[2, 0], [0, 2]]
        ```
    """

    def jacobian(*primals: PyTree) -> PyTree:
        flat, unravel = ravel_pytree(primals)

        def function(x: Array) -> Array:
            return ravel_pytree(f(*unravel(x)))[0]

        rows = jax.vmap(unravel)(_rows(function, flat))
        return rows[0] if len(primals) == 1 else rows

    return jacobian


def _rows(function: Callable[[Array], Array], x: Array) -> Array:
    kind: Any = jax.eval_shape(function, x)
    if jnp.iscomplexobj(kind) and not jnp.iscomplexobj(x):
        real, imaginary = (
            jax.jacrev(lambda x, part=part: part(function(x)))(x) for part in (jnp.real, jnp.imag)
        )
        return jax.lax.complex(real, imaginary)
    (rows,) = jax.vmap(jax.vjp(function, x)[1])(jnp.eye(kind.size, dtype=kind.dtype))
    return rows


def hessian(f: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """`folx.ad.hessian`: second derivatives, by [`diffop.compat.folx.ad.jacfwd`][] of
    [`diffop.compat.folx.ad.jacrev`][].

    **Arguments:**

    - `f`: a function of arrays or pytrees. If these are complex, it has to be holomorphic.

    **Returns:** a function of the same arguments.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat.folx import ad

        ad.hessian(lambda x: jnp.sum(x**3))(jnp.ones(2))  # [[[6, 0], [0, 6]]]
        ```
    """
    return jacfwd(jacrev(f))
