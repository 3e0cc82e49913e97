"""Bad input: one clear error at the call, told by its essential words."""

import re

import jax
import jax.numpy as jnp
import pytest

import diffop as do

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

CASES = {
    # scales
    **{
        f"scale_{scale}": (
            lambda scale=scale: do.nn.ScaledInput(jnp.sum, scale),
            f"finite positive scale, got {scale}",
        )
        for scale in (0.0, -1.0, float("nan"), float("inf"))
    },
    **{
        f"output_{scale}": (
            lambda scale=scale: do.nn.ScaledOutput(jnp.sum, scale),
            rf"ScaledOutput expects a finite positive scale, of .*, got {re.escape(str(scale))};",
        )
        for scale in (0.0, -1.0, float("nan"), float("inf"), 1e-40, 1e39)
    },
    **{
        f"{name}_{value}": (
            lambda name=name, value=value: getattr(do.nn, name)(jnp.sum, value),
            f"{name} expects a finite {what}, got {value}; 0.0 if none is known",
        )
        for name, what in PARAMETERS.items()
        for value in (float("nan"), float("inf"))
    },
    **{
        f"{name}_of_a_vector": (
            lambda name=name: getattr(do.nn, name)(jnp.cumsum, 1.0)(jnp.ones(3)),
            rf"{name} expects a network with values of shape \(\), which its {what} has, "
            r"got \(3,\); give it one",
        )
        for name, what in PARAMETERS.items()
    },
    "empty_box": (lambda: do.nn.BoxInput(jnp.sum, (0.0,), (0.0,)), ENDS),
    "ends_of_a_box": (lambda: do.nn.BoxInput(jnp.sum, (0.0, 0.0), (1.0,)), ENDS),
    "infinite_box": (lambda: do.nn.BoxInput(jnp.sum, (0.0,), (float("inf"),)), ENDS),
    # batches, and points of another dimension
    "sphere": (
        lambda: do.nn.ZeroOnUnitSphere(jnp.sum)(jnp.ones((4, 3))),
        ONE_POINT % (r"\(d,\)", r"\(4, 3\)"),
    ),
    "hard": (
        lambda: do.nn.HardConstraint(jnp.sum, jnp.sum, jnp.sum)(jnp.ones(())),
        "HardConstraint expects " + ONE_POINT % (r"\(d,\)", r"\(\)"),
    ),
    "initial": (
        lambda: do.nn.InitialCondition(jnp.sum, jnp.sum)(jnp.ones((4, 3))),
        "InitialCondition expects " + ONE_POINT % (r"\(d,\)", r"\(4, 3\)"),
    ),
    "shared": (lambda: shared()(X), "SharedMLP expects " + ONE_POINT % (r"\(6,\)", r"\(3,\)")),
    "modified": (
        lambda: do.nn.ModifiedMLP(2, 4, 1, key=KEY)(X),
        "ModifiedMLP expects " + ONE_POINT % (r"\(2,\)", r"\(3,\)"),
    ),
    "fourier": (
        lambda: fourier()(jnp.ones((3, 3))),
        "Features expects " + ONE_POINT % (r"\(3,\)", r"\(3, 3\)"),
    ),
    "periodic": (
        lambda: periodic({0: 1.0})(jnp.ones((3, 3))),
        "PeriodicInput expects " + ONE_POINT % (r"\(d,\)", r"\(3, 3\)"),
    ),
    # coordinates that a point does not have
    "no_time": (
        lambda: do.nn.InitialCondition(jnp.sum, jnp.sum, time=3)(X),
        r"time=3 expects a point with that coordinate, got one of shape \(3,\)",
    ),
    "no_time_from_behind": (lambda: do.nn.InitialCondition(jnp.sum, jnp.sum, -4)(X), "time=-4"),
    "no_periodic_coordinate": (
        lambda: periodic({1: 2.0, 3: 2.0})(X),
        r"period of coordinate 3 expects points with at least 4 coordinates, got .* \(3,\)",
    ),
    # shapes that would be broadcast
    "hard_value": (
        lambda: do.nn.HardConstraint(jnp.sum, lambda x: x, jnp.sum)(X),
        r"value of HardConstraint at a point has shape \(3,\), and the network shape \(\); no",
    ),
    "hard_factor": (
        lambda: do.nn.HardConstraint(lambda x: x[:1], jnp.sum, lambda x: x)(X),
        r"factor of HardConstraint at a point has shape \(3,\), and the network shape \(1,\); no",
    ),
    "initial_value": (
        lambda: do.nn.InitialCondition(lambda x: x[:1], lambda x: x)(X),
        r"value of InitialCondition at a point has shape \(3,\), and the network shape \(1,\); no",
    ),
    "source_of_another_shape": (
        lambda: do.nn.PINN(lambda x: x[:1], POISSON).loss(jnp.ones((4, 3))),
        r"operator of u at a point has shape \(1,\), and the source shape \(\); .* let it be a sc",
    ),
    "source_of_another_structure": (
        lambda: do.nn.PINN(lambda x: {"u": x[0]}, POISSON).loss(jnp.ones((4, 3))),
        "operator of u at a point has the structure .*'u'.*, and the source .*; give both the same",
    ),
    # sizes
    "no_coordinates": (lambda: shared(0), "dim of WeightSharedMLP must be at least 1; got 0"),
    "summed_blocks_of_one": (
        lambda: shared(block=1, summed=True),
        "a block of 1 with 1 channel, .* got block=1 and channels=1, summed",
    ),
    "no_block": (lambda: shared(block=0), "block of WeightSharedMLP must be at least 1; got 0"),
    "large_block": (lambda: shared(block=7), SIZES % (7, 1)),
    "nothing_to_share": (lambda: shared(block=1, channels=3), SIZES % (1, 3)),
    "no_window": (lambda: sliding(block=0), "block of SlidingMLP must be at least 1; got 0"),
    "large_window": (
        lambda: sliding(common=2, block=5),
        "at most its 6 coordinates together, got block=5 and common=2",
    ),
    "nothing_to_slide_along": (lambda: sliding(common=7), "got block=2 and common=7"),
    "no_width_of_a_window": (
        lambda: do.nn.SlidingMLP(6, 2, 0, 1, key=KEY),
        "width of SlidingMLP must be at least 1; got 0",
    ),
    "negative_depth_of_a_window": (
        lambda: do.nn.SlidingMLP(6, 2, 4, -1, key=KEY),
        "depth of SlidingMLP must be at least 0; got -1",
    ),
    "no_width_behind_blocks": (
        lambda: do.nn.WeightSharedMLP(6, 2, 0, 1, key=KEY),
        "width of WeightSharedMLP must be at least 1; got 0",
    ),
    "negative_depth_behind_blocks": (
        lambda: do.nn.WeightSharedMLP(6, 2, 4, -1, key=KEY),
        "depth of WeightSharedMLP must be at least 0; got -1",
    ),
    "sliding_point": (lambda: sliding()(X), ONE_POINT % (r"\(6,\)", r"\(3,\)")),
    "no_width": (
        lambda: do.nn.ModifiedMLP(3, 0, 2, key=KEY),
        "width of ModifiedMLP must be at least 1; got 0",
    ),
    "no_depth": (
        lambda: do.nn.ModifiedMLP(3, 4, 0, key=KEY),
        "depth of ModifiedMLP must be at least 1; got 0",
    ),
    "no_features": (
        lambda: fourier(features=0),
        "features of FourierFeatures must be at least 1; got 0",
    ),
    "sigma": (lambda: fourier(sigma=0.0), "a finite positive sigma, got 0.0"),
    "period": (lambda: periodic({0: 1.0, 1: -1.0}), PERIOD % "{0: 1.0, 1: -1.0}"),
    "no_period": (lambda: periodic({}), PERIOD % "{}"),
    "periodic_coordinate": (lambda: periodic({-1: 1.0}), "coordinate must be at least 0; got -1"),
    "harmonics": (
        lambda: periodic({0: 1.0}, harmonics=0),
        "harmonics of PeriodicInput must be at least 1; got 0",
    ),
    # equations
    "not_operators": (
        lambda: do.equations.Equation({"u": jnp.sum}, lambda v, x: v["u"]),
        "or a pytree of operators; got .*sum.*u comes after them",
    ),
    "not_a_residual": (
        lambda: do.equations.Equation(do.Laplacian(), 0.0),
        r"a residual that is a function \(values, x\), got 0.0 of type float",
    ),
    "an_operator_as_residual": (
        lambda: do.equations.Equation(do.Laplacian(), do.Identity()),
        r"a residual that is a function \(values, x\), got .* of type Identity",
    ),
    "not_a_source": (
        lambda: do.equations.Equation.linear(do.Laplacian(), "0.0"),
        r"a function of the point, such as lambda x: x\[0\], or a number, got '0.0' of type str",
    ),
    "not_an_equation": (
        lambda: pinn(do.Laplacian()),
        "PINN expects a diffop.equations.Equation, or .* derived from "
        "diffop.equations.AbstractEquation, got a Laplacian",
    ),
    "a_class_of_problems": (
        lambda: pinn(do.pde.KdV1D),
        "a diffop.equations.Equation, or a problem",
    ),
    # estimates
    "no_draws": (lambda: pinn().residual(X, KEY), BOTH + " a key, n=None"),
    "no_key": (lambda: pinn().residual(X, n=2), BOTH + " no key, n=2"),
    "no_estimate": (
        lambda: loss(probes="gaussian"),
        BOTH + " no key, n=None and probes='gaussian'",
    ),
    "square": (lambda: loss(KEY, 2, square="cubic"), SQUARE % "cubic"),
    "square_of_what_is_exact": (
        lambda: loss(square="pairs"),
        SQUARE % "pairs" + " with no key; pass",
    ),
    "pairs_of_one": (lambda: loss(KEY, 1, square="pairs"), "at least 2 draws; got .* n = 1"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name):
    call, message = CASES[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call()
