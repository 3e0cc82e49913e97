"""Estimates to an accuracy: when they stop, what they are then, and their derivatives."""

import inspect
import re

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

import diffop as do

from ..draws import check_errors, check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

LEVEL = 1e-5  # of each statistical test: the chance that a correct library fails it (fixed keys)
D = 20
NEVER = 1e-15  # no estimate is as accurate as that
ones, key = jnp.ones, jr.key(0)


def separable(terms):
    """A function whose Hessian is diag(terms) everywhere."""
    return lambda x: 0.5 * jnp.sum(jnp.asarray(terms) * x**2)


def lognormal(number):
    """Skewed terms: quantiles of exp(N(0, 1))."""
    return np.exp(scipy.stats.norm.ppf((np.arange(number) + 0.5) / number))


def symmetric(number):
    H = jr.normal(jr.key(7), (number, number)) + 3 * jnp.eye(number)
    return H, lambda x: 0.5 * x @ H @ x


def laplacian(u, x, seed=0, **options):
    return jax.jit(do.Laplacian().estimate_to(jr.key(seed), **options)(u))(x)


def over_keys(count, operator, u, x, **options):
    return many(lambda key: operator.estimate_to(key, **options)(u)(x), count)


# When it stops


@pytest.mark.parametrize("probes", ["sparse", "rademacher"])
def test_converged_results_are_as_accurate_as_they_say(probes):
    """±2 standard errors of a normal mean hold the value with probability 0.954."""
    H, u = symmetric(300)
    exact = float(jnp.trace(H))
    got = over_keys(500, do.Laplacian(), u, ones(300), rtol=0.03, probes=probes)
    assert got.converged.all()
    assert (got.standard_error <= 0.03 * np.abs(got.value)).all()
    assert len(np.unique(got.n)) > 1
    held = int(np.sum(np.abs(got.value - exact) <= 2 * got.standard_error))
    assert scipy.stats.binomtest(held, 500, 0.954).pvalue > LEVEL


def test_it_stops_as_soon_as_it_may():
    """One round less would not do: the same draws, ended one round earlier."""
    H, u = symmetric(200)
    got = laplacian(u, ones(200), rtol=0.02, batch=8, probes="rademacher")
    assert bool(got.converged) and int(got.n) > 24
    before = laplacian(u, ones(200), rtol=0.02, batch=8, max_n=int(got.n) - 8, probes="rademacher")
    assert not bool(before.converged) and int(before.n) == int(got.n) - 8


@pytest.mark.parametrize("batch, n", [(2, 16), (5, 20), (16, 32), (32, 64)])
def test_the_least_number_of_draws(batch, n):
    """Two rounds, and 16 draws: also where all draws agree."""
    got = laplacian(separable(np.ones(100)), ones(100), batch=batch)
    assert (int(got.n), int(got.jets), float(got.standard_error)) == (n, n, 0.0)
    np.testing.assert_allclose(got.value, 100)


def test_absolute_tolerance():
    """A mean of zero has no relative accuracy."""
    u = separable(np.tile([1.0, -1.0], 250))
    relative = laplacian(u, ones(500), rtol=0.01, max_n=200)
    assert not bool(relative.converged)
    absolute = laplacian(u, ones(500), rtol=0.0, atol=60.0, max_n=200)
    assert bool(absolute.converged) and 50 < float(absolute.standard_error) <= 60


@pytest.mark.parametrize("batch, jets", [(8, 40), (16, 48), (19, 57)])
def test_all_terms_are_exact(batch, jets):
    """40 terms without repetition; the last round is filled up with jets that do not count."""
    terms = lognormal(40)
    got = laplacian(separable(terms), ones(40), rtol=NEVER, batch=batch, max_n=64)
    np.testing.assert_allclose(got.value, terms.sum(), rtol=1e-13)
    assert bool(got.converged) and float(got.standard_error) == 0.0
    assert (int(got.n), int(got.jets)) == (40, jets)


@pytest.mark.parametrize("number", [41, 49, 50, 55])
def test_all_terms_are_exact_in_single_precision(number):
    terms = lognormal(number).astype(np.float32)
    got = laplacian(separable(terms), jnp.ones(number, jnp.float32), rtol=NEVER, max_n=64)
    np.testing.assert_allclose(got.value, terms.sum(), rtol=1e-5)
    assert bool(got.converged) and float(got.standard_error) == 0.0


def test_all_terms_of_a_composition_are_exact():
    """The inner operator has one term: only the outer one is sampled."""
    c = lambda x: jnp.sum(jnp.sin(x))
    operator = (c * do.Laplacian()) @ (c * do.Partial(0))
    u, x = lambda x: jnp.sum(x**4) * x[0], jnp.linspace(0.1, 1, 50)
    got = jax.jit(operator.estimate_to(key, NEVER, max_n=64)(u))(x)
    np.testing.assert_allclose(got.value, jax.jit(operator.exact(u))(x), rtol=1e-10)
    assert bool(got.converged) and int(got.n) == 50


@pytest.mark.parametrize("d", [5, 100])
def test_what_is_not_a_number_does_not_converge(d):
    """Whether all terms are computed, or some are drawn."""
    got = laplacian(lambda x: jnp.sum(x**4) * jnp.nan, ones(d), rtol=0.1, max_n=40)
    assert jnp.isnan(got.value) and not bool(got.converged)


@pytest.mark.parametrize(
    "probes, n", [("sparse", 40), ("rademacher", 40), ("stratified", 32), ("orthogonal", 32)]
)
def test_the_budget(probes, n):
    """Of strata and orthogonal directions only whole rounds are of use."""
    _, u = symmetric(100)
    got = laplacian(u, ones(100), rtol=NEVER, max_n=40, probes=probes)
    assert not bool(got.converged)
    assert int(got.n) == n


def test_jets_are_counted():
    x, t = ones(100), jnp.array(1.0)
    u = lambda x, t: jnp.sum(jnp.cos(jnp.arange(100.0) * x)) * t**2
    heat = do.Laplacian() + do.Partial(argnum=1, order=2)
    got = jax.jit(heat.estimate_to(key, NEVER, max_n=32)(u))(x, t)
    assert (int(got.n), int(got.jets)) == (32, 33)
    fourth = do.DiagonalK(4).estimate_to(key, NEVER, max_n=32, probes="roots")
    got = jax.jit(fourth(lambda x: jnp.sum(jnp.cos(x)) ** 2))(x)
    assert (int(got.n), int(got.jets)) == (32, 4 * 32)


def test_what_is_not_a_number_never_converges():
    got = laplacian(lambda x: jnp.sum(x) ** 2 * jnp.nan, ones(30), max_n=32, probes="rademacher")
    assert not bool(got.converged) and int(got.n) == 32


# What it is


def second_moment(probes):
    """M with (estimate of Δu) = tr(M Hess u), for a number of draws that does not depend on u."""
    options = {"rtol": NEVER, "batch": 2, "max_n": 16, "probes": probes}
    pairs = do.Laplacian().estimate_to(jr.key(3), **options)(lambda x: jnp.outer(x, x))
    return jax.jit(pairs)(jnp.zeros(D)).value / 2, options


def test_draws_without_replacement():
    """16 of 20 coordinates, once each, with weight 20/16."""
    M, _ = second_moment("sparse")
    np.testing.assert_allclose(M, np.diag(np.diag(M)), atol=1e-14)
    assert sorted(np.diag(M).round(12)) == [0.0] * 4 + [1.25] * 16


def test_every_round_is_a_random_subset():
    """The first 4 of 5 terms: each left out equally often, whatever comes first in Floyd's draw."""
    u = lambda x: x**2 / 2
    options = {"rtol": NEVER, "batch": 2, "max_n": 4}
    one = lambda key: do.Laplacian().estimate_to(key, **options)(u)(ones(5)).value
    drawn = np.asarray(jax.jit(jax.vmap(one))(jr.split(jr.key(2), 2000)))
    np.testing.assert_allclose(drawn.sum(1), 5.0)
    assert scipy.stats.chisquare((drawn == 0).sum(0)).pvalue > LEVEL


CASES = {
    "sparse": (do.Laplacian(), "sparse"),
    "rademacher": (do.Laplacian(), "rademacher"),
    "stratified": (do.Laplacian(), do.probes.Stratified(2)),
    "orthogonal": (do.Laplacian(), "orthogonal"),
    "importance": (do.Laplacian(), do.probes.Importance(jnp.arange(1.0, 1.0 + D))),
    "split": (do.Laplacian(), do.probes.Split((0, 3))),
    "two designs": (do.Laplacian() + 0.1 * do.Biharmonic(), "sparse"),
    "unlike terms": (do.Laplacian() + do.Laplacian(dims=tuple(range(9))), "sparse"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fixed_number_of_rounds_is_unbiased_and_knows_its_variance(name):
    operator, probes = CASES[name]
    H, _ = symmetric(D)
    u = lambda x: 0.5 * x @ H @ x + jnp.sum(x**5)
    x = jnp.linspace(0.5, 1.0, D)
    got = over_keys(4000, operator, u, x, rtol=NEVER, batch=4, max_n=16, probes=probes)
    check_mean(got.value, float(jax.jit(operator.exact(u))(x)))
    check_errors(got.value, got.standard_error)


def test_optional_stopping_is_biased_a_little():
    """Skewed terms: where the large ones are missing the error looks small, and it stops. The bias
    is there, downwards, and less than the tolerance by far.
    """
    terms, rtol = lognormal(400), 0.1
    got = over_keys(4000, do.Laplacian(), separable(terms), ones(400), rtol=rtol)
    assert got.converged.all()
    relative = got.value / terms.sum() - 1
    bias, chance = relative.mean(), 4.5 * relative.std() / np.sqrt(4000)
    assert bias + chance < 0
    assert abs(bias) + chance <= 0.25 * rtol


def test_exact_parts_are_added():
    """The exact parts cost no draws, and have no standard error."""
    terms = lognormal(200)
    u = lambda x, t: separable(terms)(x) * t**3
    x, t = ones(200), jnp.array(2.0)
    options = {"rtol": 0.0, "atol": 200.0}
    alone = jax.jit(do.Laplacian().estimate_to(key, **options)(u))(x, t)
    operator = do.Laplacian() + do.Partial(argnum=1, order=2) - 2 * do.Identity()
    both = jax.jit(operator.estimate_to(key, **options)(u))(x, t)
    exact = separable(terms)(x) * (6 * t - 2 * t**3)
    np.testing.assert_allclose(both.value, alone.value + exact, rtol=1e-12)
    np.testing.assert_allclose(both.standard_error, alone.standard_error, rtol=1e-12)
    assert int(both.n) == int(alone.n) < 200


@pytest.mark.parametrize(
    "operator",
    [
        do.Laplacian(),
        do.Partial(0) + do.Identity(),
        do.Mixed({0: 1, 1: 1}),
        0 * do.Laplacian(),
        (lambda x: x[0]) * do.Partial(0) @ ((lambda x: x[1]) * do.Partial(1)),
        do.Gradient(),
    ],
    ids=str,
)
def test_nothing_to_sample(operator):
    x = jnp.arange(1.0, 6.0)
    u = lambda x: jnp.sum(x**4) * x[0] * x[1]
    got = jax.jit(operator.estimate_to(key)(u))(x)
    jax.tree.map(np.testing.assert_array_equal, got.value, jax.jit(operator.exact(u))(x))
    assert bool(got.converged) and int(got.n) == 0
    assert not np.any(got.standard_error)


def test_outputs_of_every_kind():
    """Every entry is accurate; the slowest one decides."""
    terms = lognormal(300)
    outputs = lambda x: {
        "skewed": separable(terms)(x),
        "even": (separable(np.ones(300))(x), x[:3] ** 2 + jnp.sum(x**2)),
        "complex": jax.lax.complex(separable(np.ones(300))(x), separable(terms)(x)),
    }
    got = laplacian(outputs, ones(300), rtol=0.1)
    assert bool(got.converged)
    assert jax.tree.structure(got.value) == jax.tree.structure(outputs(ones(300)))
    assert got.value["even"][1].shape == got.standard_error["even"][1].shape == (3,)
    assert got.standard_error["complex"].dtype == jnp.float64
    error = jax.tree.map(lambda m, s: np.all(s <= 0.1 * np.abs(m)), got.value, got.standard_error)
    assert all(jax.tree.leaves(error))
    alone = laplacian(separable(terms), ones(300), rtol=0.1)
    assert int(alone.n) >= int(laplacian(lambda x: outputs(x)["even"][0], ones(300)).n)
    assert int(got.n) >= int(alone.n)
    np.testing.assert_allclose(got.value["complex"].real, 300.0, rtol=1e-12)


@pytest.mark.parametrize("probes", ["rademacher", "orthogonal"])
def test_complex_outputs(probes):
    """Real and imaginary parts are estimated with the same draws, and their variances add."""
    H, first = symmetric(30)
    second = lambda x: 0.5 * x @ (H @ H) @ x
    options = {"rtol": NEVER, "max_n": 48, "probes": probes}
    got = laplacian(lambda x: jax.lax.complex(first(x), second(x)), ones(30), **options)
    parts = laplacian(lambda x: jnp.stack([first(x), second(x)]), ones(30), **options)
    np.testing.assert_allclose([got.value.real, got.value.imag], parts.value, rtol=1e-12)
    total = jnp.sqrt(jnp.sum(parts.standard_error**2))
    np.testing.assert_allclose(got.standard_error, total, rtol=1e-12)


def test_divergence_has_one_output():
    field = lambda x: jnp.asarray(lognormal(60)) * x**2 + jnp.roll(x, 1)
    got = jax.jit(do.Divergence().estimate_to(key, max_n=64)(field))(ones(60))
    assert got.value.shape == got.standard_error.shape == ()
    np.testing.assert_allclose(got.value, 2 * lognormal(60).sum(), rtol=0.05)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_types_are_kept(dtype):
    x = jnp.ones(100, dtype)
    got = laplacian(lambda x: jnp.sum(x**4), x)
    assert got.value.dtype == got.standard_error.dtype == x.dtype
    np.testing.assert_allclose(float(got.value), 1200.0, rtol=1e-2)


# Transformations


def test_each_point_stops_by_itself():
    """Under vmap as one by one, with the same draws at all points."""
    u = lambda x: jnp.sum(x**4)
    points = jnp.linspace(0.0, 1.0, 300)[None] ** jnp.array([[0.1], [1.0], [2.0], [4.0]])
    one = do.Laplacian().estimate_to(key, rtol=0.1)(u)
    got = jax.jit(jax.vmap(one))(points)
    assert len(np.unique(got.n)) > 2
    for i, x in enumerate(points):
        alone = jax.jit(one)(x)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-10)


def model(w):
    """A function of parameters, whose Hessian depends on them and on the point."""
    return lambda x: jnp.sum(jnp.sin(w @ x)) + jnp.sum(x**4) * w[0, 0]


def parameters_and_points():
    return jr.normal(jr.key(5), (4, D)) / 4, jr.normal(jr.key(6), (3, D))


@pytest.mark.parametrize("probes", ["sparse", "rademacher", "orthogonal"])
def test_the_gradient_is_that_of_the_draws(probes):
    M, options = second_moment(probes)
    W, X = parameters_and_points()
    method = do.Laplacian().estimate_to(jr.key(3), **options)
    mapped = lambda w: jnp.sum(jax.vmap(lambda x: method(model(w))(x).value)(X) ** 2)
    reference = lambda w: jnp.sum(jax.vmap(lambda x: jnp.sum(M * jax.hessian(model(w))(x)))(X) ** 2)
    got, expected = (jax.jit(jax.value_and_grad(f))(W) for f in (mapped, reference))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_the_gradient_after_an_early_stop():
    """∂/∂terms says which terms were drawn: n of them, each with the weight N/n."""
    terms = jnp.asarray(lognormal(200))

    @jax.jit
    def point(terms, x):
        def mean(terms):
            estimate = do.Laplacian().estimate_to(key, 0.1)(separable(terms))(x)
            return estimate.value, estimate

        return jax.grad(mean, has_aux=True)(terms)

    for x in (ones(200), 2 * ones(200)):
        slope, got = point(terms, x)
        assert 32 < int(got.n) < 200
        weight = 200 / int(got.n)
        np.testing.assert_allclose(sorted(set(np.asarray(slope).round(9))), [0, round(weight, 9)])
        assert int(jnp.sum(slope > 0)) == int(got.n)
        np.testing.assert_allclose(slope @ terms, got.value, rtol=1e-12)


def test_gradients_of_points_that_stop_at_different_rounds():
    """vmap of grad and grad of vmap as one point after the other."""
    u = lambda power: lambda x: jnp.sum(x**power)
    points = jnp.linspace(0.1, 1.0, 300)[None] ** jnp.array([[0.1], [1.0], [2.0], [4.0]])
    method = do.Laplacian().estimate_to(key, rtol=0.1)
    value = lambda power, x: method(u(power))(x).value
    power = jnp.array(4.0)
    slope = jax.jit(jax.grad(value))
    alone = jnp.stack([slope(power, x) for x in points])
    each = jax.jit(jax.vmap(jax.grad(value), (None, 0)))(power, points)
    np.testing.assert_allclose(each, alone, rtol=1e-10)
    together = lambda power: jnp.sum(jax.vmap(lambda x: value(power, x))(points))
    np.testing.assert_allclose(jax.jit(jax.grad(together))(power), alone.sum(), rtol=1e-10)


def test_the_gradient_is_finite_where_nothing_varies():
    def total(scale):
        estimate = do.Laplacian().estimate_to(key)(lambda x: scale * jnp.sum(x**2))
        return sum(jax.tree.leaves(estimate(ones(50))[:2]))

    np.testing.assert_allclose(jax.jit(jax.grad(total))(jnp.array(3.0)), 100.0, rtol=1e-12)


def test_an_integer_argument_and_a_keyword_pass_through():
    u = lambda x, k, *, scale: scale * k * jnp.sum(x**2)
    got = jax.jit(do.Laplacian().estimate_to(key)(u))(ones(50), 3, scale=2.0)
    np.testing.assert_allclose(got.value, 600.0)


# On several devices


ROUNDS = {"rtol": 0.07, "max_n": 64, "batch": 4}
OVER_DEVICES = {
    "rule and draws": do.Integral(do.pde.Box((0.0, 0.0), (1.0, 1.0))) + do.Laplacian(),
    "kernel": do.Integral(do.quadrature.Limits(0.0, 1.0), lambda x, y: jnp.exp(-x @ y)),
    "disc": do.Integral(do.quadrature.Disc(1.0)),
    "jumps": do.JumpGenerator(
        do.quadrature.PoissonJumps(0.5, lambda key, x: 0.1 * jr.normal(key, (2,)))
    ),
    "fractional": do.FractionalLaplacian(1.5, radius=lambda x: 2 - jnp.linalg.norm(x)),
    "derivatives": do.Laplacian(),
}
POINTS = np.linspace(0.1, 1.0, 8).reshape(4, 2) ** 2


def one_by_one(function):
    return lambda x: jax.lax.map(function, x)


def near_the_origin(x):
    return jnp.exp(-x @ x)


def of_each_device(function, x):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(function, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(x)


@pytest.mark.parametrize(
    ("name", "over"), [*((name, jax.vmap) for name in OVER_DEVICES), ("rule and draws", one_by_one)]
)
def test_shard_map_changes_nothing(name, over):
    x = np.tile(POINTS, 3) if name == "derivatives" else POINTS  # more terms than in a round
    each = over(OVER_DEVICES[name].estimate_to(key, **ROUNDS)(near_the_origin))
    got = jax.jit(lambda x: of_each_device(each, x))(x)
    expected = jax.jit(each)(x)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    if name == "kernel":  # a device that needs fewer rounds waits for the other
        assert got.n[:2].max() < got.n[2:].max()


def test_gradients_in_shard_map():
    """Not within `jax.jit`: a device evaluates one operation after the other."""
    operator = OVER_DEVICES["kernel"].estimate_to(key, **ROUNDS)
    each = jax.vmap(jax.grad(lambda x: operator(near_the_origin)(x).value))
    np.testing.assert_allclose(of_each_device(each, POINTS), jax.jit(each)(POINTS), rtol=1e-10)


def test_explicit_axes_with_a_value_that_is_not_sampled():
    """The exact part is divided over devices, and the draws of the integral are not."""
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
    each = jax.vmap(OVER_DEVICES["rule and draws"].estimate_to(key, **ROUNDS)(near_the_origin))
    with jax.set_mesh(mesh):
        got = jax.device_get(jax.jit(each)(jax.device_put(POINTS, jax.P("i"))))
    for a, b in zip(got, jax.jit(each)(POINTS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def refused(*arguments, **options):
    return lambda: do.Laplacian().estimate_to(*arguments or (key,), **options)


COMPOSED = (lambda x: x[0]) * do.Laplacian() @ ((lambda x: x[0]) * do.Laplacian())
test_refused = refusals(
    {
        "rtol must be finite and not negative; got -0.1": refused(rtol=-0.1),
        "rtol must be finite and not negative; got nan": refused(rtol=np.nan),
        "atol must be finite and not negative; got inf": refused(atol=np.inf),
        "one of rtol and atol must be positive; got 0 for both": refused(rtol=0.0),
        "batch, the draws in a round, must be at least 2; got 1": refused(batch=1),
        r"2·batch = 32 draws; got 31": refused(max_n=31),
        "needs a standard error, but systematic draws have no": refused(probes="systematic"),
        "standard error, but one draw from each stratum": refused(probes=do.probes.Stratified(1)),
        "probes must be one of auto, sparse": refused(probes="roulette"),
        "rademacher probes are biased for Δ²": lambda: do.Biharmonic().estimate_to(
            key, probes="rademacher"
        ),
        "no standard error from one estimate": lambda: COMPOSED.estimate_to(key)(
            lambda x: jnp.sum(x**4)
        )(ones(30)),
    },
    {
        "needs a JAX random key": refused(0),
        "rtol must be a Python number; got '0.1' of str": refused(key, "0.1"),
        "max_n, the number of draws in all, must be an integer": refused(key, max_n=10.5),
        "compose operators write A @ B": lambda: do.Laplacian().estimate_to(key)(do.Identity()),
    },
)


def test_the_example_of_the_docstring():
    text = inspect.getdoc(do.Laplacian.estimate_to) or ""
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    with jax.enable_x64(False):
        lines = inspect.cleandoc(block).splitlines()
        exec("\n".join([*lines[:-1], f"result = {lines[-1]}"]), names)
    (said,) = re.findall(r"# (\d+) of 1000 terms", block)
    assert bool(names["result"].converged) and int(names["result"].n) == int(said)
