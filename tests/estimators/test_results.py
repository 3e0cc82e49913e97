"""Whatever estimates returns the value, the standard error and the jets by these names."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
X = np.linspace(0.2, 1.0, 20)


def u(x):
    return jnp.sum(x**4) + x[0] * x[1]


E = do.Laplacian().estimate(KEY, 4)
OPERATORS = {"lap": do.Laplacian(), "fourth": do.DiagonalK(4)}
STATS = {
    "estimate": E.stats(u),
    "joint": do.estimate(OPERATORS, KEY, 4).stats(u),
    "exact": do.exact(OPERATORS).stats(u),
    "deflated": do.Laplacian().deflate(KEY, 6).stats(u),
    "controlled": E.controlled(u).stats(u),
    "adaptive": do.Laplacian().estimate_to(KEY, rtol=0.5, batch=4)(u),
}


@pytest.mark.parametrize("name", STATS)
def test_estimates(name):
    found = STATS[name](jnp.asarray(X))
    kinds = (do.estimators.Adaptive,) if name == "adaptive" else (do.estimators.Stats,)
    assert isinstance(found, kinds)
    value, error, jets, *_ = found
    assert (found.value, found.standard_error, found.jets) == (value, error, jets)
    assert jax.tree.structure(value) == jax.tree.structure(error)


def test_variances():
    """The standard error of an estimate is the root of its variance, whatever it is told by."""
    drawn = do.estimate(OPERATORS, KEY, 4).draws(u)(jnp.asarray(X))
    stats = STATS["joint"](jnp.asarray(X))
    variance = drawn.variance()
    for name in OPERATORS:
        np.testing.assert_array_equal(drawn.value[name], stats.value[name])
        np.testing.assert_allclose(variance[name], stats.standard_error[name] ** 2, rtol=1e-14)
    found = do.variance(do.Laplacian(), n=4)(u)(jnp.asarray(X))
    np.testing.assert_allclose(found.standard_error**2, found.variance, rtol=1e-14)


MAPS = {  # what applies to functions: a map from them to functions of a point
    "exact": do.Laplacian().exact,
    "exact of several": do.exact(OPERATORS),
    "gradient": do.Gradient().exact,
    "estimate": E,
    "stats": E.stats,
    "estimate of several": do.estimate(OPERATORS, KEY, 4),
    "draws": do.estimate(OPERATORS, KEY, 4).draws,
    "deflate": do.Laplacian().deflate(KEY, 6),
    "controlled": E.controlled(u),
    "estimate_to": do.Laplacian().estimate_to(KEY, rtol=0.5, batch=4),
    "variance": do.variance(do.Laplacian()),
    "observe": do.Laplacian()
    .estimate(KEY, 4, probes=do.probes.RunningMagnitudes(20).probe())
    .observe(do.probes.RunningMagnitudes(20)),
    "baseline": do.baselines.estimate("sdgd", OPERATORS["lap"], KEY, 4),
    "choose": do.choose(do.Laplacian(), KEY, 4),
}


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("name", MAPS)
def test_all_that_applies_to_functions_takes_them_alone(name):
    x = jnp.asarray(X)
    with pytest.raises(
        TypeError, match=r"a function u alone, .* got 1 more argument\(s\) beside u"
    ):
        MAPS[name](u, x)
    with pytest.raises(TypeError, match="an operator is applied to a function u"):
        MAPS[name](x)


@pytest.mark.parametrize("name", sorted(MAPS.keys() - {"baseline", "choose"}))
def test_chunk_and_plan_stand_beside_the_function(name):
    x = jnp.asarray(X)
    whole, divided = MAPS[name](u)(x), MAPS[name](u, chunk=7, plan="power")(x)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(divided), strict=True):
        if not isinstance(one, str):
            np.testing.assert_allclose(one, other, rtol=1e-9)
