"""PINNs: a network and its equation in one module."""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, final

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.equation import AbstractEquation, as_equation, has_unknowns, learnable
from ..equations.points import (
    OnePoint,
    Points,
    arguments,
    check_arguments,
    coordinates_per_point,
    count_of,
)
from ..equations.residual import residual_of
from ..estimators.draws import AbstractProbe
from ..losses.causal import Causal
from ..losses.loss import ResidualLoss
from ..losses.misfit import check_conditions
from ..losses.probes import as_probes, joint
from ..losses.squares import SQUARES, data_key, draw_keys
from ..streams import checked_key
from ..terms.arguments import is_function, kind_of
from ..terms.one_point import works_mapped
from .boundary import HardConstraint, InitialCondition, ZeroOnUnitSphere
from .point import as_net

ANSATZE = (HardConstraint, InitialCondition, ZeroOnUnitSphere)


@final
class PINN(eqx.Module):
    """A physics-informed neural network: a network in its ansatz, and an equation.

    Its array leaves are the parameters to be learnt: those of the network, and those of the
    equation that are `trainable`, such as an unknown coefficient of an operator (an inverse
    problem). By default these are all arrays of a [`diffop.equations.AbstractEquation`][], and none
    of a problem of `diffop.pde`.

    Sources: Raissi, Perdikaris and Karniadakis 2019, "Physics-informed neural networks"; the
    estimates of the residual are those of Shi et al. 2024, "Stochastic Taylor Derivative
    Estimator".

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, such as `equinox.nn.MLP`; for an equation in
        $u(x, t)$ a callable of both, such as `diffop.nn.JoinedInput` makes.
    - `equation`: a [`diffop.equations.Equation`][], or another
        [`diffop.equations.AbstractEquation`][], such as a problem of `diffop.pde`.
    - `ansatz`: a map from a network to the function u with known values built in, such as
        `diffop.nn.ZeroOnUnitSphere`. By default that of the equation: a problem has one. An ansatz
        with arrays, such as a module or that of an equation with unknowns, is applied at each call,
        so its arrays are learnt too.

    **Attributes:** `u`, the network in its ansatz, and `equation`, with what has been learnt.

    **Returns:** called as u is, `u(x)`.

    **Raises:** `TypeError` if `equation` is not an equation, or `ansatz` has already been applied
    to a network. `ValueError` if the equation declares something `trainable` that has no arrays, if
    a network already has the equation's ansatz, or when it is called with many points.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp, optax
        import diffop as do

        net = eqx.nn.MLP(2, "scalar", 8, depth=1, activation=jnp.tanh, key=jax.random.key(0))
        poisson = do.equations.Equation.linear(do.Laplacian(), source=lambda x: -4.0)
        pinn = do.nn.PINN(net, poisson, ansatz=do.nn.ZeroOnUnitSphere)
        optimiser = optax.sgd(1e-3)

        @eqx.filter_jit
        def step(pinn, state, points):
            loss, gradient = eqx.filter_value_and_grad(lambda pinn: pinn.loss(points))(pinn)
            updates, state = optimiser.update(gradient, state)
            return eqx.apply_updates(pinn, updates), state, loss

        state = optimiser.init(eqx.filter(pinn, eqx.is_inexact_array))
        pinn, state, loss = step(pinn, state, jnp.ones((10, 2)) / 3)
        ```
    """

    _net: Callable
    _ansatz: Callable | None
    equation: AbstractEquation
    _by_equation: bool = eqx.field(static=True)

    def __init__(
        self,
        net: Callable,
        equation: AbstractEquation,
        ansatz: Callable[[Callable], Callable] | None = None,
    ):
        self.equation = learnable(as_equation("PINN", equation))
        net = as_net("PINN", net)
        self._by_equation = ansatz is None and has_unknowns(self.equation)
        _check_ansatz(ansatz)
        self._ansatz = ansatz if _has_arrays(ansatz) else None
        wrap = self.equation.ansatz if ansatz is None else ansatz
        applied_later = self._by_equation or self._ansatz is not None
        self._net = net if applied_later else _wrapped(wrap, net)

    @property
    def u(self) -> Callable:
        """The network in its ansatz."""
        if self._by_equation:
            return self.equation.ansatz(self._net)
        return self._net if self._ansatz is None else self._ansatz(self._net)

    def __call__(self, *args: PyTree) -> PyTree:
        try:
            return self.u(*args)
        except Exception as error:
            if not works_mapped(self.u, *args):
                raise
            shapes = ", ".join(str(leaf.shape) for leaf in jax.tree.leaves(args))
            raise ValueError(
                f"PINN expects one point, got arrays of shape {shapes}; for many points write "
                "jax.vmap(pinn)(points)."
            ) from error

    def residual(
        self,
        x: OnePoint,
        key: PRNGKeyArray | None = None,
        n: int | None = None,
        probes: str | AbstractProbe = "auto",
    ) -> PyTree:
        """The equation's residual at a point: exact, or estimated if there is a key.

        **Arguments:**

        - `x`: one point: an array, or a tuple of u's arguments.
        - `key`, `n`, `probes`: as for `diffop.estimate`.

        **Returns:** the value of the equation's residual, usually a scalar.

        **Raises:** `ValueError` if some of `key`, `n` and `probes` are given without `key` or
        without `n`, and as `diffop.estimate`.
        """
        u = self.u
        check_arguments("u", u, x)
        values = self._joint(key, n, probes)(u)(*arguments(x))
        return residual_of(self.equation, u)(values, x)

    def loss(
        self,
        points: Points,
        key: PRNGKeyArray | None = None,
        n: int | None = None,
        square: str = "biased",
        probes: str | AbstractProbe = "auto",
        *,
        data_weight: int | float | Sequence[int | float] = 1.0,
        gpinn: int | float = 0.0,
        gpinn_terms: int | None = None,
        data_batch: int | None = None,
        weights: PyTree = None,
        causal: Causal | None = None,
    ) -> Float[Array, ""]:
        """The mean over points of the squared residual, exact, or estimated if there is a key, plus
        the misfits of the equation's conditions. It is a [`diffop.losses.ResidualLoss`][] at given
        points.

        One draw of jets serves all points. Without a key the loss is a function of the network
        alone: the random points of conditions are the same at each call.

        **Arguments:**

        - `points`: shape `(points, d)`; for $u(x, t)$ a tuple of arrays, points along the first
          axes.
        - `key`, `n`, `probes`: as for `diffop.estimate`; with the probes `"exact"` the key is for
            the points of conditions and the components of gPINN.
        - `square`: `"biased"`, the square of the estimate, whose mean includes the estimate's
            variance; `"product"` of two independent draws, twice the jets; or `"pairs"` of
            different draws of one estimate. If the residual is affine in the estimated values, the
            last two have the exact loss and its gradient as their means; they may be negative.
        - `data_weight`, `gpinn`, `gpinn_terms`, `weights`, `causal`: as for
            `diffop.losses.ResidualLoss`; without a key all terms of gPINN are computed.
        - `data_batch`: how many points each condition has; by default as many as `points`.

        **Returns:** a scalar.

        **Raises:** `ValueError` for an unknown square, for one other than `"biased"` without a key,
        for `"pairs"` without a standard error, such as a single draw, and as `residual`.
        """
        if square not in SQUARES or (square != "biased" and key is None):
            raise ValueError(
                f"PINN.loss expects a square among {', '.join(SQUARES)}, and 'biased' for the "
                f"exact residual, got {square!r} with {_told(key)}; pass key and n to estimate."
            )
        loss = ResidualLoss(
            self.equation,
            n=n,
            probes=_probes(key, n, probes),
            data_weight=data_weight,
            gpinn=gpinn,
            gpinn_terms=gpinn_terms
            and (coordinates_per_point(points) if key is None else gpinn_terms),
            square=square,
            points=points,
            weights=weights,
            causal=causal,
        )
        key = jax.random.key(0) if key is None else key
        data = self.equation.conditions(data_key(key), data_batch or count_of(points))
        check_conditions(data, loss.data_weight)
        return reduce(operator.add, loss.terms_at(self.u, points, data, key).values())

    def _joint(
        self, key: PRNGKeyArray | None, n: int | None, probes: str | AbstractProbe
    ) -> Callable[[Callable], Callable]:
        """The equation's operators, with their draw of jets if there is one: the draw of a loss
        with the same key.
        """
        how = as_probes(_probes(key, n, probes))
        if key is not None:
            key, _ = draw_keys(checked_key(key, "an estimate"))
        return joint(how, self.equation.operators(), key, n)


def _check_ansatz(ansatz: Any) -> None:
    """Refuses an ansatz that has already been applied to a network."""
    if ansatz is not None and (isinstance(ansatz, ANSATZE) or not is_function(ansatz)):
        raise TypeError(
            "PINN expects an ansatz that makes u of a network, such as the class "
            "diffop.nn.ZeroOnUnitSphere or lambda net: diffop.nn.HardConstraint(net, g, φ), got "
            f"{kind_of(ansatz)}; or give PINN(u, equation) a network in its ansatz."
        )


def _wrapped(ansatz: Callable[[Callable], Callable], net: Callable) -> Callable:
    """A network in the ansatz of its equation; an ansatz is not applied twice."""
    u = ansatz(net)
    if isinstance(net, ANSATZE) and type(u) is type(net) and u is not net:
        raise ValueError(
            f"PINN expects a network without its ansatz where the equation has one, got "
            f"{kind_of(net)}, which would be applied twice; give it the network alone."
        )
    return u


def _has_arrays(ansatz: Callable | None) -> bool:
    """Whether an ansatz is a module with arrays. The arrays of a method belong to its object."""
    method = hasattr(ansatz, "__self__")
    return not method and bool(jax.tree.leaves(eqx.filter(ansatz, eqx.is_inexact_array)))


def _probes(key: PRNGKeyArray | None, n: int | None, probes: str | AbstractProbe) -> Any:
    """How operators are evaluated: exactly, unless an estimate is asked for."""
    if probes == "exact" or (key is None and n is None and probes == "auto"):
        return "exact"
    if key is None or n is None:
        raise ValueError(
            "PINN expects both a key and a number of draws n to estimate its residual, or "
            f"neither, and no probes, for the exact one, got {_told(key)}, n={n} and "
            f"probes={probes!r}."
        )
    return probes


def _told(key: PRNGKeyArray | None) -> str:
    return "no key" if key is None else "a key"
