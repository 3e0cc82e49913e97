"""Ansätze: wrappers that make a network satisfy boundary or initial data by construction."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, PyTree

from ..equations.points import as_function, check_arguments
from ..scalars import is_number, plain
from ..terms.one_point import explaining_mistakes
from ..terms.shapes import check_shape
from .point import as_net, check_point


@final
class ZeroOnUnitSphere(eqx.Module):
    """A network made zero on the unit sphere: `u(x) = (1 - |x|²) net(x)`.

    The boundary condition holds exactly, so no loss term has to enforce it. Source: Lu et al. 2021,
    "Physics-informed neural networks with hard constraints"; used for every problem on the unit
    ball in Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "Experiment setup".

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, to an array of any shape, such as
        `equinox.nn.MLP`. Its array leaves stay learnable.

    **Returns:** called at a point `x` of shape `(d,)`, an array shaped like `net(x)`, zero wherever
    |x| = 1. Use `jax.vmap` for many points.

    **Raises:** `ValueError` if `x` is not a vector; `TypeError` if `net` is not callable or returns
    anything but an array.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(3, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.ZeroOnUnitSphere(net)
        u(jnp.array([0.0, 0.6, 0.8]))  # 0 up to rounding
        ```
    """

    net: Callable = eqx.field(converter=partial(as_net, "ZeroOnUnitSphere"))

    def __call__(self, x: Inexact[Array, "*point"]) -> Inexact[Array, "*out"]:
        x = check_point("ZeroOnUnitSphere", x)
        with explaining_mistakes():
            return (1 - jnp.sum(x * x)) * _array_of("ZeroOnUnitSphere", self.net(x))


@final
class HardConstraint(eqx.Module):
    """A network with prescribed values wherever a factor vanishes: `u(x) = g(x) + φ(x) net(x)`.

    g is any function with the boundary values, and $φ$ is zero on the boundary and nowhere else. u
    then has these values exactly and is free inside. Where $φ$ has a simple zero the slopes of u
    are free; $φ²$ prescribes the slopes of g as well.

    Sources: Lagaris, Likas and Fotiadis 1998, "Artificial neural networks for solving ordinary and
    partial differential equations"; Lu et al. 2021, "Physics-informed neural networks with hard
    constraints for inverse design".

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, such as `equinox.nn.MLP`, or from several
        arguments, x and t.
    - `value`: g, a function of the same arguments to an array shaped like `net(x)`, or to a scalar;
        or a number for a constant.
    - `factor`: $φ$, a function of the same arguments to a scalar, or to an array shaped like
        `net(x)`.

    The array leaves of all three are learnable, as in any module. To keep a trained g or $φ$ fixed,
    use `jax.lax.stop_gradient`.

    **Returns:** called as `net` is, an array shaped like `net(x)`.

    **Raises:** `ValueError` if a single argument is not a vector, or g or $φ$ has another shape;
    `TypeError` if `net` is not callable or returns anything but an array, or g or $φ$ is neither a
    function nor a number.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(2, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        edges = lambda x: jnp.prod(x * (1 - x))  # zero on the boundary of the unit square
        u = do.nn.HardConstraint(net, value=lambda x: x[0] + x[1], factor=edges)
        u(jnp.array([1.0, 0.3]))  # 1.3
        ```
    """

    net: Callable = eqx.field(converter=partial(as_net, "HardConstraint"))
    value: Callable = eqx.field(converter=as_function)
    factor: Callable = eqx.field(converter=as_function)

    def __call__(self, *args: PyTree) -> Inexact[Array, "*out"]:
        if len(args) == 1:
            args = (check_point("HardConstraint", *args),)
        check_arguments("the network", self.net, args)
        with explaining_mistakes():
            net = _array_of("HardConstraint", self.net(*args))
            value, factor = self.value(*args), self.factor(*args)
        _check_like_net("the value of HardConstraint", value, net)
        _check_like_net("the factor of HardConstraint", factor, net)
        return value + factor * net


@final
class InitialCondition(eqx.Module):
    """A network with prescribed values at one time: `u(x) = g(x) + (t − start) net(x)`.

    Time is one of the coordinates of the point, or a separate argument: u(x, t) = g(x, t) + (t −
    start) $net(x, t)$. g is a function of the whole point, but only its values at t = start matter
    for the condition. Set start to the last time to prescribe terminal data.

    Source: Lagaris, Likas and Fotiadis 1998, "Artificial neural networks for solving ordinary and
    partial differential equations".

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, such as `equinox.nn.MLP`, or from several
        arguments.
    - `value`: g, a function of the same arguments to an array shaped like `net(x)`, or to a scalar;
        or a number.
    - `time`: the number of the time coordinate; by default the last.
    - `start`: the time of the data, a setting that is not trained.
    - `argnum`: which argument is time, a scalar; None if time is a coordinate of the only argument.

    **Returns:** called as `net` is, an array shaped like `net(x)`.

    **Raises:** `ValueError` if `start` is not a finite number; at the call if a single argument is
    not a vector or has no coordinate `time`, if argument `argnum` does not exist or is not a
    scalar, or if g has another shape; `TypeError` if `net` returns anything but an array.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(2, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.InitialCondition(net, value=lambda x: jnp.sin(x[0]))
        u(jnp.array([0.5, 0.0]))  # 0.4794, sin 0.5 at time 0
        ```
    """

    net: Callable = eqx.field(converter=partial(as_net, "InitialCondition"))
    value: Callable = eqx.field(converter=as_function)
    time: int = eqx.field(static=True, converter=plain, default=-1)
    start: int | float = eqx.field(static=True, converter=plain, default=0.0)
    argnum: int | None = eqx.field(static=True, converter=plain, default=None)

    def __check_init__(self) -> None:
        if not (is_number(self.start) and math.isfinite(self.start)):
            raise ValueError(
                f"InitialCondition expects a finite number for start, the time; got {self.start!r}."
            )

    def __call__(self, *args: PyTree) -> Inexact[Array, "*out"]:
        if self.argnum is None and len(args) == 1:
            args = (check_point("InitialCondition", *args),)
        time = self._time(*args)
        check_arguments("the network", self.net, args)
        with explaining_mistakes():
            net, value = _array_of("InitialCondition", self.net(*args)), self.value(*args)
        _check_like_net("the value of InitialCondition", value, net)
        return value + (time - self.start) * net

    def _time(self, *args: PyTree) -> Inexact[Array, ""]:
        if self.argnum is None and len(args) == 1:
            return self._coordinate(*args)
        shapes = ", ".join(str(jnp.shape(leaf)) for leaf in jax.tree.leaves(args))
        if self.argnum is None:
            raise ValueError(
                "InitialCondition expects argnum, which argument is time, where there are several, "
                f"got {len(args)} of shape {shapes}; say for instance argnum=1."
            )
        if self.argnum not in range(len(args)) or jnp.shape(args[self.argnum]):
            raise ValueError(
                f"InitialCondition with argnum={self.argnum} expects time there, a scalar, got "
                f"{len(args)} argument(s) of shape {shapes}."
            )
        return args[self.argnum]

    def _coordinate(self, x: Inexact[Array, " dim"]) -> Inexact[Array, ""]:
        if not -x.size <= self.time < x.size:
            raise ValueError(
                f"InitialCondition with time={self.time} expects a point with that coordinate, got "
                f"one of shape {x.shape}."
            )
        return x[self.time]


def _array_of(name: str, value: Any) -> Array:
    """What a network returned, as an array.

    **Raises:** `TypeError` for a pytree of them.
    """
    if jax.tree.structure(value) != jax.tree.structure(0):
        raise TypeError(
            f"{name} expects a network that returns an array, got {type(value).__name__}; let the "
            "network return an array, and give its entries names afterwards."
        )
    return jnp.asarray(value)


def _check_like_net(what: str, got: Any, net: Array) -> None:
    if jnp.shape(got):  # a number holds for each entry
        check_shape(what, jnp.shape(got), "the network", jnp.shape(net))
