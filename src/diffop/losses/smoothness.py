"""A warning for networks that lack the derivatives that an equation needs."""

import warnings
from collections.abc import Callable
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..equations.points import Points, arguments, chosen
from ..terms.arguments import is_operator
from ..terms.inner import order_in_u


@final
class PiecewiseLinearWarning(UserWarning):
    """A network is piecewise linear, for example with the activation relu, and an equation takes
    derivatives of order two or more. These are 0 wherever they exist, so the network cannot solve
    the equation.

    The warning looks for structural zeros, in u or in the network inside one of the library's
    wrappers. Use a smooth activation, such as `jnp.tanh`; Equinox's default is relu. Filters
    silence the warning, as below.

    !!! example

        ```python
        import warnings
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        rough = eqx.nn.MLP(2, "scalar", 8, depth=1, key=jax.random.key(0))
        poisson = do.equations.Equation.linear(do.Laplacian(), lambda x: -4.0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=do.losses.PiecewiseLinearWarning)
            do.nn.PINN(rough, poisson).loss(jnp.ones((3, 2)))
        ```
    """


def warn_of_kinks(operators: PyTree, u: Callable, points: Points) -> None:
    """Warns if operators of order two or more act on piecewise linear functions."""
    each = jax.tree.leaves(operators, is_leaf=is_operator)
    if max((order_in_u(op.leaves) for op in each), default=0) < 2:
        return
    point = jax.eval_shape(lambda points: arguments(chosen(points, 0)), points)
    for network in _networks(u):
        if _is_piecewise_linear(network, point):
            warnings.warn(
                "the equation takes derivatives of order two or more of a network that is linear "
                "piece by piece, so that they are 0 wherever they exist; give it a smooth "
                "activation, such as eqx.nn.MLP(..., activation=jnp.tanh), since the default is "
                "relu.",
                PiecewiseLinearWarning,
                stacklevel=2,
            )
            return


def _networks(u: Any) -> list[Callable]:
    """u, and the network inside: wrappers of this library hold it under this name; other modules
    may use the name for something else.
    """
    found = [u]
    while type(u).__module__.startswith("diffop.") and callable(inner := getattr(u, "net", None)):
        found.append(u := inner)
    return found


def _is_piecewise_linear(u: Callable, point: tuple[PyTree, ...]) -> bool:
    """Whether, along a line, the second derivative is a structural zero and the first is not
    constant, as it would be for a linear function. The symbolic zeros are those of `jax.jvp`, which
    costs less than an engine that follows all directions.
    """
    if not all(jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in jax.tree.leaves(point)):
        return False

    def slopes(*args: PyTree) -> tuple[list[Any], list[Any]]:
        along = jax.tree.map(jnp.ones_like, args)
        first, second = jax.jvp(lambda *args: jax.jvp(u, args, along)[1], args, along)
        return jax.tree.leaves(first), jax.tree.leaves(second)

    try:
        closed, (first, _) = jax.make_jaxpr(slopes, return_shape=True)(*point)
    except (TypeError, ValueError):
        return False  # other arguments, or no forward mode: the loss will raise the error
    outputs = closed.jaxpr.outvars
    moving = _reached(closed.jaxpr)
    consts = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    made = {variable: eqn for eqn in closed.jaxpr.eqns for variable in eqn.outvars}

    def is_zero(atom: Any) -> bool:
        if isinstance(atom, jex.Literal):
            return not np.any(atom.val)
        if atom in made:
            return bool(made[atom].invars) and all(map(is_zero, made[atom].invars))
        return isinstance(consts.get(atom), np.ndarray) and not np.any(consts[atom])

    bends = any(not isinstance(a, jex.Literal) and a in moving for a in outputs[: len(first)])
    return bends and all(map(is_zero, outputs[len(first) :]))


def _reached(jaxpr: jex.Jaxpr) -> set[Any]:
    """The variables that depend on the point."""
    moving = set(jaxpr.invars)
    for eqn in jaxpr.eqns:
        if any(not isinstance(atom, jex.Literal) and atom in moving for atom in eqn.invars):
            moving.update(eqn.outvars)
    return moving
