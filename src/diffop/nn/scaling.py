"""Wrappers that scale the inputs and outputs of networks, or change their form."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jax.core import Tracer
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Inexact, Int, PyTree

from ..scalars import plain, several
from .point import as_net, check_point


@final
class ScaledInput(eqx.Module):
    """A network that sees a multiple of the point: `u(x) = net(scale * x)`.

    The coordinates of a point of the unit ball in $R^d$ are about $1/√d$, while networks are
    initialised for inputs of about 1, so they learn slowly along single coordinates. Scaling the
    input makes those directions faster, without knowledge of the solution.

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, such as `equinox.nn.MLP`. Its array leaves
        stay learnable.
    - `scale`: a finite positive number. It is a setting, not a parameter: it is not trained.

    **Returns:** called at a point `x`, whatever `net(scale * x)` returns.

    **Raises:** `ValueError` if `scale` is not finite and positive.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(100, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(net, 10.0))
        u(jnp.full(100, 0.05))
        ```
    """

    net: Callable
    scale: int | float = eqx.field(static=True, converter=plain)

    def __check_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"ScaledInput expects a finite positive scale, got {self.scale}; 1.0 leaves the "
                f"point as it is."
            )

    def __call__(self, *args: PyTree) -> PyTree:
        return self.net(*jax.tree.map(lambda x: self.scale * x, args))


@final
class ScaledOutput(eqx.Module):
    """A network whose values are multiplied by a power of two: `u(x) = 2^k net(x)`.

    Networks are initialised for values of about 1, and learn values of about 1; solutions may have
    any size. A power of two rounds nothing. Its exponent is an integer, which no optimiser takes
    for a parameter.

    **Arguments:**

    - `net`: any callable from a point to an array, such as `equinox.nn.MLP`.
    - `scale`: the size of the values, a finite positive number, which may be traced. The nearest
        power of two is used, by the ratio: 4 for 2.9.

    **Returns:** called at a point `x`, `2^k net(x)`.

    **Raises:** `ValueError` if `scale` is known and not finite and positive, or too small for a
    power of two in the default precision.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(100, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.ScaledOutput(net, 1000.0)
        u(jnp.full(100, 0.05))  # 1024 net(x)
        ```
    """

    net: Callable
    exponent: Int[Array, ""]

    def __init__(self, net: Callable, scale: int | float | Float[Array, ""]):
        kind = jnp.finfo(jnp.result_type(float))
        least, most = float(kind.tiny), float(kind.max)
        if not isinstance(scale, Tracer) and not least <= float(scale) <= most:
            raise ValueError(
                f"ScaledOutput expects a finite positive scale, of {least:.2g} to {most:.2g} "
                f"in {kind.dtype}, got {scale}; 1.0 leaves the values as they are."
            )
        self.net = net
        largest = jnp.asarray(kind.maxexp - 1, kind.dtype)  # whose power of two is finite
        self.exponent = jnp.minimum(jnp.round(jnp.log2(scale)), largest).astype(int)

    def unit(self, dtype: DTypeLike | None = None) -> Float[Array, ""]:
        """The factor of the network's values.

        **Arguments:**

        - `dtype`: a real type; by default as JAX is configured.

        **Returns:** the power of two.
        """
        return jnp.ldexp(jnp.ones((), dtype or float), self.exponent)

    def __call__(self, *args: PyTree) -> Inexact[Array, "..."]:
        value = self.net(*args)
        return self.unit(jnp.real(value).dtype) * value


@final
class Anchored(eqx.Module):
    """A network whose value at the origin is a separate parameter: `u(x) = c + net(x) − net(0)`.

    In many dimensions a solution is nearly one number, and the remainder is a thousandth of it or
    less. In a network all parameters move that number: a step of Adam that is small for each of
    them moves it by the sum of all. Here only the parameter c moves it, at the rate of one
    parameter.

    **Arguments:**

    - `net`: any callable from a point to an array, such as `equinox.nn.MLP`. Its array leaves stay
        learnable.
    - `value`: the initial c, of the shape of the network's values: a finite number for a scalar. It
        may be traced, and is learnable.

    **Returns:** called at a point `x`, `c + net(x) − net(0)`.

    **Raises:** `ValueError` if `value` is known and not finite, and at the call if the network's
    values have another shape.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(100, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.Anchored(net, 3.0)
        u(jnp.zeros(100))  # 3.0
        ```
    """

    net: Callable
    value: Float[Array, "..."]

    def __init__(self, net: Callable, value: int | float | Float[Array, "..."]):
        self.net = net
        self.value = _finite(value, "Anchored", "value at the origin")

    def __call__(self, *args: PyTree) -> Inexact[Array, "..."]:
        u = self.net(*args)
        _check_shape(u, self.value, "Anchored", "value at the origin")
        return self.value + (u - self.net(*jax.tree.map(jnp.zeros_like, args)))


@final
class Curved(eqx.Module):
    """A network plus a multiple of the squared distance from the origin: `u(x) = net(x) + m |x|²`.

    A second-order term $½ x·Hx$ in d coordinates has, in random directions, the mean
    $½ (tr H / d) |x|²$. If the second derivatives have one sign, the rest is smaller by $√d$. A
    network would have to find that one number with all units of its first layer, which have to
    learn the slope. Here a separate parameter learns it.

    **Arguments:**

    - `net`: any callable from a point to an array, such as `equinox.nn.MLP`. Its array leaves stay
        learnable.
    - `curvature`: the initial m, of the shape of the network's values: a finite number for a
        scalar. It may be traced, and is learnable.

    **Returns:** called at a point `x`, `net(x) + m |x|²`; with several arguments, such as `x` and
    `t`, all contribute to $|x|²$.

    **Raises:** `ValueError` if `curvature` is known and not finite, and at the call if the
    network's values have another shape.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(100, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.Curved(net, 3.0)
        u(jnp.ones(100)) - net(jnp.ones(100))  # 300.0
        ```
    """

    net: Callable
    curvature: Float[Array, "..."]

    def __init__(self, net: Callable, curvature: int | float | Float[Array, "..."] = 0.0):
        self.net = net
        self.curvature = _finite(curvature, "Curved", "curvature")

    def __call__(self, *args: PyTree) -> Inexact[Array, "..."]:
        u = self.net(*args)
        _check_shape(u, self.curvature, "Curved", "curvature")
        squares = [jnp.sum(x * x) for x in jax.tree.leaves(args)]
        return u + self.curvature * sum(squares)


@final
class BoxInput(eqx.Module):
    """A network that sees a box as the cube [−1, 1]^d: `u(x) = net((x - centre) / half_width)`.

    The sides of a box in space and time differ in length and unit, while networks are initialised
    for inputs of about 1.

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, such as `equinox.nn.MLP`. Its array leaves
        stay learnable.
    - `lower`, `upper`: the ends of the box, one number for each coordinate.

    **Returns:** called at a point `x` of shape `(d,)`, whatever `net` returns there.

    **Raises:** `TypeError` if `net` is not callable; `ValueError` if a lower end is not below its
    upper end, and at the call for a point of another shape.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(2, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.BoxInput(net, lower=(-10.0, 0.0), upper=(10.0, 5.0))
        u(jnp.array([-10.0, 5.0]))  # net of (-1, 1)
        ```
    """

    net: Callable = eqx.field(converter=partial(as_net, "BoxInput"))
    lower: tuple[int | float, ...] = eqx.field(static=True, converter=several)
    upper: tuple[int | float, ...] = eqx.field(static=True, converter=several)

    def __check_init__(self) -> None:
        ends = itertools.zip_longest(self.lower, self.upper, fillvalue=math.nan)
        if not all(math.isfinite(b - a) and a < b for a, b in ends):
            raise ValueError(
                f"BoxInput expects finite ends lower < upper, as many below as above, got "
                f"lower={self.lower} and upper={self.upper}."
            )

    def __call__(self, x: Inexact[Array, " d"]) -> PyTree:
        x = check_point("BoxInput", x, len(self.lower))
        # in Python's doubles: the type of x may not tell the ends apart
        ends = list(zip(self.lower, self.upper, strict=True))
        centre = jnp.asarray([a + (b - a) / 2 for a, b in ends], x.dtype)
        slope = jnp.asarray([2 / (b - a) for a, b in ends], x.dtype)
        return self.net((x - centre) * slope)


@final
class JoinedInput(eqx.Module):
    """A function of several arguments from a network of one vector: `u(x, t) = net((x, t))`.

    The coordinates of all arguments are concatenated, as `jax.flatten_util.ravel_pytree` numbers
    them.

    **Arguments:**

    - `net`: any callable from a vector, such as `equinox.nn.MLP`, or a network in a
        [`diffop.nn.BoxInput`][]. Its array leaves stay learnable.

    **Returns:** called with any arguments, arrays or pytrees of arrays, the value of `net` at all
    their entries.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(3, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.JoinedInput(net)
        heat = do.Partial(argnum=1) - do.Laplacian()
        heat.exact(u)(jnp.ones(2), jnp.array(0.5))  # u_t − Δu, of x and t
        ```
    """

    net: Callable

    def __call__(self, *args: PyTree) -> PyTree:
        return self.net(jax.flatten_util.ravel_pytree(args)[0])


def _finite(value: int | float | Array, name: str, what: str) -> Float[Array, "..."]:
    """The initial value of a parameter.

    **Raises:** `ValueError` if it is known and not finite.
    """
    if not isinstance(value, Tracer) and not jnp.all(jnp.isfinite(value)):
        raise ValueError(f"{name} expects a finite {what}, got {value}; 0.0 if none is known.")
    return jnp.asarray(value, float)


def _check_shape(u: Inexact[Array, "..."], parameter: Array, name: str, what: str) -> None:
    """**Raises:** `ValueError` if a network's values and a parameter differ in shape."""
    if jnp.shape(u) != parameter.shape:
        raise ValueError(
            f"{name} expects a network with values of shape {parameter.shape}, which its {what} "
            f"has, got {jnp.shape(u)}; give it one number for each."
        )
