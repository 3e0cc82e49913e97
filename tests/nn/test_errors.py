"""Bad input: one clear error at the call, told by its essential words."""

import jax
import jax.numpy as jnp
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY = jax.random.key(0)
X = jnp.ones(3)
POISSON = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0)


def shared(dim=6, block=2, **kwargs):
    return do.nn.WeightSharedMLP(dim, block, 4, 1, key=KEY, **kwargs)


def sliding(block=2, **kwargs):
    return do.nn.SlidingMLP(6, block, 4, 1, key=KEY, **kwargs)


def fourier(dim=3, features=2, sigma=1.0):
    return do.nn.FourierFeatures(jnp.sum, dim, features, sigma, key=KEY)


def periodic(periods, harmonics=1):
    return do.nn.PeriodicInput(jnp.sum, periods, harmonics)


def pinn(equation=POISSON, **kwargs):
    return do.nn.PINN(lambda x: jnp.sum(x**4), equation, **kwargs)


def loss(*args, **kwargs):
    return pinn().loss(jnp.ones((4, 3)), *args, **kwargs)


PARAMETERS = {"Anchored": "value at the origin", "Curved": "curvature"}
ONE_POINT = "one point of shape %s, got shape %s; use jax.vmap"
SIZES = (
    "a block of 2 to 6 coordinates, or a block of 1 with 1 channel, .* got block=%d and chan.*=%d"
)
PERIOD = "a finite positive period for at least one coordinate, such as {0: 2.0}, got %s"
ENDS = "finite ends lower < upper, as many below as above, got"
BOTH = "both a key and a number of draws n .* or neither, and no probes, for the exact one, got"
SQUARE = "a square among biased, product, pairs, and 'biased' for the exact residual, got '%s'"


test_bad_input = refusals(
    {
        **{
            f"finite positive scale, got {scale}": lambda scale=scale: do.nn.ScaledInput(
                jnp.sum, scale
            )
            for scale in (0.0, -1.0, float("nan"), float("inf"))
        },
        **{
            rf"ScaledOutput expects a finite positive scale, .* got {scale};".replace("+", r"\+"): (
                lambda scale=scale: do.nn.ScaledOutput(jnp.sum, scale)
            )
            for scale in (0.0, -1.0, float("nan"), float("inf"), 1e-40, 1e39)
        },
        **{
            f"{name} expects a finite {what}, got {value}; 0.0 if none is known": (
                lambda name=name, value=value: getattr(do.nn, name)(jnp.sum, value)
            )
            for name, what in PARAMETERS.items()
            for value in (float("nan"), float("inf"))
        },
        **{
            rf"{name} expects a network with values of shape \(\), which its {what} has, "
            r"got \(3,\); give it one": lambda name=name: getattr(do.nn, name)(jnp.cumsum, 1.0)(
                jnp.ones(3)
            )
            for name, what in PARAMETERS.items()
        },
        ENDS: [
            lambda: do.nn.BoxInput(jnp.sum, (0.0,), (0.0,)),
            lambda: do.nn.BoxInput(jnp.sum, (0.0, 0.0), (1.0,)),
            lambda: do.nn.BoxInput(jnp.sum, (0.0,), (float("inf"),)),
        ],
        ONE_POINT % (r"\(d,\)", r"\(4, 3\)"): lambda: do.nn.ZeroOnUnitSphere(jnp.sum)(
            jnp.ones((4, 3))
        ),
        "HardConstraint expects " + ONE_POINT % (r"\(d,\)", r"\(\)"): lambda: do.nn.HardConstraint(
            jnp.sum, jnp.sum, jnp.sum
        )(jnp.ones(())),
        "InitialCondition expects " + ONE_POINT % (r"\(d,\)", r"\(4, 3\)"): lambda: (
            do.nn.InitialCondition(jnp.sum, jnp.sum)(jnp.ones((4, 3)))
        ),
        "SharedMLP expects " + ONE_POINT % (r"\(6,\)", r"\(3,\)"): lambda: shared()(X),
        "ModifiedMLP expects " + ONE_POINT % (r"\(2,\)", r"\(3,\)"): lambda: do.nn.ModifiedMLP(
            2, 4, 1, key=KEY
        )(X),
        "Features expects " + ONE_POINT % (r"\(3,\)", r"\(3, 3\)"): lambda: fourier()(
            jnp.ones((3, 3))
        ),
        "PeriodicInput expects " + ONE_POINT % (r"\(d,\)", r"\(3, 3\)"): lambda: periodic({0: 1.0})(
            jnp.ones((3, 3))
        ),
        r"time=3 expects a point with that coordinate, got one of shape \(3,\)": lambda: (
            do.nn.InitialCondition(jnp.sum, jnp.sum, time=3)(X)
        ),
        r"BoxInput expects one point of shape \(1,\), got shape \(3,\)": lambda: do.nn.BoxInput(
            jnp.sum, (0.0,), (1.0,)
        )(X),
        r"finite number for start, the time; got \(1, 2\)": lambda: do.nn.InitialCondition(
            jnp.sum, 1.0, start=(1, 2)
        ),
        "time=-4": lambda: do.nn.InitialCondition(jnp.sum, jnp.sum, -4)(X),
        r"of coordinate 3 expects points with at least 4 coordinates, got .* \(3,\)": lambda: (
            periodic({1: 2.0, 3: 2.0})(X)
        ),
        r"value of HardConstraint .* has shape \(3,\), and the network shape \(\);": lambda: (
            do.nn.HardConstraint(jnp.sum, lambda x: x, jnp.sum)(X)
        ),
        r"factor of HardConstraint at a point has shape \(3,\), and the network shape": lambda: (
            do.nn.HardConstraint(lambda x: x[:1], jnp.sum, lambda x: x)(X)
        ),
        r"value of InitialCondition at a point has shape \(3,\), and the network shape": lambda: (
            do.nn.InitialCondition(lambda x: x[:1], lambda x: x)(X)
        ),
        r"u at a point has shape \(1,\), and the source shape \(\); .* let it be a sc": lambda: (
            do.nn.PINN(lambda x: x[:1], POISSON).loss(jnp.ones((4, 3)))
        ),
        "u at a point has the structure .*'u'.*, and the source .*; give both the": lambda: (
            do.nn.PINN(lambda x: {"u": x[0]}, POISSON).loss(jnp.ones((4, 3)))
        ),
        "dim of WeightSharedMLP must be at least 1; got 0": lambda: shared(0),
        "a block of 1 with 1 channel, .* got block=1 and channels=1, summed": lambda: shared(
            block=1, summed=True
        ),
        "block of WeightSharedMLP must be at least 1; got 0": lambda: shared(block=0),
        SIZES % (7, 1): lambda: shared(block=7),
        SIZES % (1, 3): lambda: shared(block=1, channels=3),
        "block of SlidingMLP must be at least 1; got 0": lambda: sliding(block=0),
        "at most its 6 coordinates together, got block=5 and common=2": lambda: sliding(
            common=2, block=5
        ),
        "got block=2 and common=7": lambda: sliding(common=7),
        "width of SlidingMLP must be at least 1; got 0": lambda: do.nn.SlidingMLP(
            6, 2, 0, 1, key=KEY
        ),
        "depth of SlidingMLP must be at least 0; got -1": lambda: do.nn.SlidingMLP(
            6, 2, 4, -1, key=KEY
        ),
        "width of WeightSharedMLP must be at least 1; got 0": lambda: do.nn.WeightSharedMLP(
            6, 2, 0, 1, key=KEY
        ),
        "depth of WeightSharedMLP must be at least 0; got -1": lambda: do.nn.WeightSharedMLP(
            6, 2, 4, -1, key=KEY
        ),
        ONE_POINT % (r"\(6,\)", r"\(3,\)"): lambda: sliding()(X),
        "width of ModifiedMLP must be at least 1; got 0": lambda: do.nn.ModifiedMLP(
            3, 0, 2, key=KEY
        ),
        "depth of ModifiedMLP must be at least 1; got 0": lambda: do.nn.ModifiedMLP(
            3, 4, 0, key=KEY
        ),
        "features of FourierFeatures must be at least 1; got 0": lambda: fourier(features=0),
        "a finite positive sigma, got 0.0": lambda: fourier(sigma=0.0),
        PERIOD % "{0: 1.0, 1: -1.0}": lambda: periodic({0: 1.0, 1: -1.0}),
        PERIOD % "{}": lambda: periodic({}),
        "coordinate must be at least 0; got -1": lambda: periodic({-1: 1.0}),
        "harmonics of PeriodicInput must be at least 1; got 0": lambda: periodic(
            {0: 1.0}, harmonics=0
        ),
        BOTH + " a key, n=None": lambda: pinn().residual(X, KEY),
        BOTH + " no key, n=2": lambda: pinn().residual(X, n=2),
        BOTH + " no key, n=None and probes='gaussian'": lambda: loss(probes="gaussian"),
        SQUARE % "cubic": lambda: loss(KEY, 2, square="cubic"),
        SQUARE % "pairs" + " with no key; pass": lambda: loss(square="pairs"),
        "at least 2 draws; got .* n = 1": lambda: loss(KEY, 1, square="pairs"),
    },
    {
        "or a pytree of operators; got .*sum.*u comes after them": lambda: do.equations.Equation(
            {"u": jnp.sum}, lambda v, x: v["u"]
        ),
        r"a residual that is a function \(values, x\), got 0.0 of type float": lambda: (
            do.equations.Equation(do.Laplacian(), 0.0)
        ),
        r"a residual that is a function \(values, x\), got .* of type Identity": lambda: (
            do.equations.Equation(do.Laplacian(), do.Identity())
        ),
        r"a function of the point, such as .* or a number, got '0.0' of type str": lambda: (
            do.equations.Equation.linear(do.Laplacian(), "0.0")
        ),
        "PINN expects a diffop.equations.Equation, or .* derived from "
        "diffop.equations.AbstractEquation, got a Laplacian": lambda: pinn(do.Laplacian()),
        "a diffop.equations.Equation, or a problem": lambda: pinn(do.pde.KdV1D),
        **{
            f"{name} expects a network that returns an array, got dict": (
                lambda wrapped=wrapped: wrapped(lambda x: {"u": x[0]})(X)
            )
            for name, wrapped in {
                "ZeroOnUnitSphere": do.nn.ZeroOnUnitSphere,
                "HardConstraint": lambda net: do.nn.HardConstraint(net, 0.0, jnp.sum),
                "InitialCondition": lambda net: do.nn.InitialCondition(net, 0.0),
            }.items()
        },
        "BoxInput expects a network, a function of one point, got None": lambda: do.nn.BoxInput(
            None, (0.0,), (1.0,)
        ),
        "FourierFeatures expects a network.* got None": lambda: do.nn.FourierFeatures(
            None, 2, 3, key=KEY
        ),
        r"expected several numbers, such as \(0.0, 1.0\), got 0.0": lambda: do.nn.BoxInput(
            jnp.sum, 0.0, 1.0
        ),
        r"PeriodicInput expects the period of each periodic coordinate, .* got \[2.0\]": lambda: (
            periodic([2.0])
        ),
    },
)
