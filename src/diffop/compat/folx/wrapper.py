"""Functions as folx's rules: some of their arguments are arrays with derivatives."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
from jaxtyping import PyTree

from .arrays import FwdLaplArray, is_forward
from .flags import FunctionFlags
from .interpreter import forward_laplacian
from .wrapped_functions import say_that_rules_are_not_needed

WrappedFunction: TypeAlias = Callable[..., PyTree]


def wrap_forward_laplacian(
    fn: Callable[..., PyTree],
    in_axes: Any = None,
    flags: FunctionFlags = FunctionFlags.GENERAL,
    name: str | None = None,
    index_static_args: tuple[int, ...] | slice | None = None,
    custom_jac_hessian_jac: Callable[..., PyTree] | None = None,
) -> WrappedFunction:
    """`folx.wrap_forward_laplacian`: makes a rule of a function. It takes arrays and results of
    [`diffop.compat.folx.forward_laplacian`][] and returns such results.

    **Arguments:**

    - `fn`: a function of arrays.
    - `in_axes`, `flags`, `name`, `index_static_args`: without effect. diffop finds these properties
        of a function while it traces it.
    - `custom_jac_hessian_jac`: without effect, with a warning, once: the function itself is
        differentiated.

    **Returns:**

    A function of `(args, kwargs, sparsity_threshold)`: the tuple of fn's arguments, a dict of its
    keywords, and a number without effect. Arguments that are not results are constants. If none is
    a result, it is `fn(*args, **kwargs)`.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        x = folx.forward_laplacian(lambda x: x**2)(jnp.ones(3))
        rule = folx.wrap_forward_laplacian(jnp.sum)
        rule((x,), {"axis": 0}, sparsity_threshold=0).laplacian  # 6
        ```
    """
    del in_axes, flags, name, index_static_args
    if custom_jac_hessian_jac is not None:
        say_that_rules_are_not_needed()

    @functools.wraps(fn)
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], sparsity_threshold: Any = 0) -> PyTree:
        del sparsity_threshold
        function = functools.partial(fn, **kwargs)
        if not any(map(is_forward, jax.tree.leaves(args, is_leaf=is_forward))):
            return function(*args)
        return forward_laplacian(function, disable_jit=True)(*args)

    return rule


def warp_without_fwd_laplacian(fn: Callable[..., PyTree]) -> WrappedFunction:
    """`folx.warp_without_fwd_laplacian`: makes a rule of a function that drops derivatives, as if
    the function had none.

    **Arguments:**

    - `fn`: a function of arrays.

    **Returns:** a function of `(args, kwargs, sparsity_threshold)`: fn of the values.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        x = folx.forward_laplacian(lambda x: x**2)(jnp.ones(3))
        folx.warp_without_fwd_laplacian(jnp.sum)((x,), {}, sparsity_threshold=0)  # 3
        ```
    """

    @functools.wraps(fn)
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], sparsity_threshold: Any = 0) -> PyTree:
        del sparsity_threshold
        values, named = jax.tree.map(_value, (tuple(args), dict(kwargs)), is_leaf=is_forward)
        return fn(*values, **named)

    return rule


def _value(leaf: Any) -> Any:
    return leaf.x if isinstance(leaf, FwdLaplArray) else leaf
