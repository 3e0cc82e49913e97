"""Networks that see sines and cosines of a point, or another function of it."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, PRNGKeyArray, PyTree

from ..scalars import checked_integer, plain
from ..terms.arguments import is_function
from .point import as_net, check_point


def _as_map(given: Any) -> Callable:
    if is_function(given):
        return given
    raise TypeError(
        f"MappedInput expects a map, a function of the point, got {given!r}; write "
        "MappedInput(net, lambda x: …)."
    )


@final
class MappedInput(eqx.Module):
    """A network that sees a function of the point: `u(x) = net(map(x))`.

    The function says what is known of the solution: a symmetry, by numbers that are equal at points
    where the solution is, or where it is steep, by a coordinate that is steep there. The network
    itself then has to be neither symmetric nor steep. For example $log(1 + (x/δ)²)$ is the same for
    x and −x, and sees the neighbourhood of 0 of size $δ$ as large as all the rest.

    **Arguments:**

    - `net`: any callable from an array of the shape of `map(x)`, such as `equinox.nn.MLP`. Its
        array leaves stay learnable.
    - `map`: a function of a point, shape `(d,)`, or of several arguments, x and t. If it is a
        module its arrays are learnable, too.

    **Returns:** called as `map` is, whatever `net` returns.

    **Raises:** `TypeError` if `net` or `map` is not callable.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(2, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.MappedInput(net, lambda x: jnp.stack([jnp.log1p((x[0] / 0.01) ** 2), x[1]]))
        u(jnp.array([-0.5, 0.3])), u(jnp.array([0.5, 0.3]))  # equal
        ```
    """

    net: Callable = eqx.field(converter=partial(as_net, "MappedInput"))
    map: Callable = eqx.field(converter=_as_map)

    def __call__(self, *args: PyTree) -> PyTree:
        return self.net(self.map(*args))


@final
class FourierFeatures(eqx.Module):
    """A network that sees random Fourier features: `u(x) = net(concat(sin 2πBx, cos 2πBx))`.

    The m × d entries of B are drawn from $N(0, σ²)$. Networks learn low frequencies first; $σ$ sets
    which frequencies are low, in periods per unit of the coordinates. B is fixed by
    `jax.lax.stop_gradient`. It is still an array: use a mask for optimisers that change arrays
    without a gradient, by weight decay.

    Source: Tancik et al. 2020, "Fourier features let networks learn high frequency functions in low
    dimensional domains"; for equations Wang, Wang and Perdikaris 2021, "On the eigenvector bias of
    Fourier feature networks".

    **Arguments:**

    - `net`: any callable from an array of shape `(2m,)`, such as `equinox.nn.MLP`. Its array leaves
        stay learnable.
    - `dim`: the number of coordinates d.
    - `features`: m.
    - `sigma`: $σ$, finite and positive.
    - `key`: a key from `jax.random.key`.

    **Returns:** called at a point of shape `(d,)`, whatever `net` returns.

    **Raises:** `ValueError` for sizes less than 1, for a $σ$ that is not finite and positive, and
    at the call for a point of another shape.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        key = jax.random.key(0)
        net = eqx.nn.MLP(2 * 32, "scalar", 64, 2, activation=jnp.tanh, key=jax.random.key(1))
        u = do.nn.FourierFeatures(net, dim=2, features=32, sigma=3.0, key=key)
        u(jnp.array([0.3, 0.4]))
        ```
    """

    net: Callable
    frequencies: Float[Array, "features dim"]

    def __init__(
        self, net: Callable, dim: int, features: int, sigma: float = 1.0, *, key: PRNGKeyArray
    ):
        for name, value in {"dim": dim, "features": features}.items():
            checked_integer(value, f"{name} of FourierFeatures", 1)
        if not (math.isfinite(sigma) and sigma > 0):
            raise ValueError(
                f"FourierFeatures expects a finite positive sigma, got {sigma}; it is the standard "
                "deviation of the frequencies."
            )
        self.net = as_net("FourierFeatures", net)
        self.frequencies = sigma * jax.random.normal(key, (features, dim))

    def __call__(self, x: Inexact[Array, "*point"]) -> PyTree:
        x = check_point("FourierFeatures", x, self.frequencies.shape[1])
        phases = 2 * math.pi * (jax.lax.stop_gradient(self.frequencies) @ x)
        return self.net(jnp.concatenate([jnp.sin(phases), jnp.cos(phases)]))


def _pairs(periods: Any) -> tuple[tuple[int, float], ...]:
    if not isinstance(periods, Mapping):
        raise TypeError(
            "PeriodicInput expects the period of each periodic coordinate, such as {0: 2.0}, got "
            f"{periods!r}."
        )
    return tuple(sorted(plain(tuple(periods.items()))))


@final
class PeriodicInput(eqx.Module):
    """A network that is periodic in some coordinates by construction.

    It sees the other coordinates in their order, then $sin(2πk x_i / p_i)$ for the periodic
    coordinates in their order, for k = 1 … K one after the other, and then the cosines likewise.
    With m periodic coordinates these are d − m + 2Km numbers. All derivatives are periodic too.

    Sources: Dong and Ni 2021, "A method for representing periodic functions and enforcing exactly
    periodic boundary conditions with deep neural networks"; Lu et al. 2021, "Physics-informed
    neural networks with hard constraints for inverse design", for these features.

    **Arguments:**

    - `net`: any callable from an array of shape `(d − m + 2Km,)`, such as `equinox.nn.MLP`. Its
        array leaves stay learnable.
    - `periods`: the period of each periodic coordinate, `{i: p_i}`.
    - `harmonics`: K.

    **Returns:** called at a point of shape `(d,)`, whatever `net` returns.

    **Raises:** `TypeError` for periods that are not a mapping; `ValueError` if there is no period,
    for one that is not finite and positive, for fewer than one harmonic, and at the call for a
    point that lacks a periodic coordinate.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(1 + 2 * 3, "scalar", 16, 2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.PeriodicInput(net, {0: 2.0}, harmonics=3)  # of x and t
        u(jnp.array([-1.0, 0.5])), u(jnp.array([1.0, 0.5]))  # equal up to rounding
        ```
    """

    net: Callable
    periods: tuple[tuple[int, float], ...] = eqx.field(static=True, converter=_pairs)
    harmonics: int = eqx.field(static=True, converter=plain, default=1)

    def __check_init__(self) -> None:
        checked_integer(self.harmonics, "harmonics of PeriodicInput", 1)
        for i, _ in self.periods:
            checked_integer(i, "a periodic coordinate", 0)
        if not self.periods or not all(math.isfinite(p) and p > 0 for _, p in self.periods):
            raise ValueError(
                "PeriodicInput expects a finite positive period for at least one coordinate, such "
                f"as {{0: 2.0}}, got {dict(self.periods)}."
            )

    def __call__(self, x: Inexact[Array, "*point"]) -> PyTree:
        x = check_point("PeriodicInput", x)
        periodic = np.asarray([i for i, _ in self.periods])
        if periodic[-1] >= x.size:
            raise ValueError(
                f"PeriodicInput with a period of coordinate {periodic[-1]} expects points with at "
                f"least {periodic[-1] + 1} coordinates, got one of shape {x.shape}."
            )
        others = np.setdiff1d(np.arange(x.size), periodic, assume_unique=True)
        turns = x[periodic] / jnp.asarray([p for _, p in self.periods], x.dtype)
        whole = jax.lax.stop_gradient(jnp.round(jnp.real(turns)))  # 2π times many has few digits
        turns = turns - whole.astype(turns.dtype)
        multiples = 2 * math.pi * jnp.arange(1, self.harmonics + 1, dtype=x.dtype)
        phases = jnp.ravel(multiples[:, None] * turns[None, :])
        return self.net(jnp.concatenate([x[others], jnp.sin(phases), jnp.cos(phases)]))
