"""What `do.choose` decides, and that what it makes is unbiased whatever it decides."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from ..draws import check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

RNG = np.random.default_rng(0)


def u(x):
    return jnp.sum(jnp.sin(x)) ** 2


D = 100
Q = np.linalg.qr(RNG.normal(size=(D, D)))[0]
UNIT = RNG.normal(size=(D, D))
UNIT = UNIT / np.linalg.norm(UNIT, axis=0)
LOW = RNG.normal(size=(1, D)) * np.arange(1, D + 1)


def costly(x, t):
    """x, through two dense matrices: directions differ from point to point behind the first."""
    return (((x @ jnp.asarray(Q)) * t) @ jnp.asarray(Q.T)) / t


FUNCTIONS = {
    "diagonal": lambda x, t: jnp.arange(1.0, D + 1) ** 2 @ costly(x, t) ** 2,
    "constant diagonal": lambda x, t: jnp.sum((jnp.asarray(UNIT) @ costly(x, t)) ** 2),
    "low rank": lambda x, t: jnp.sum((jnp.asarray(LOW) @ costly(x, t)) ** 2),
}
POINTS = RNG.normal(size=(2, D)), np.array([0.5, 1.5])


@pytest.mark.parametrize(
    ("name", "n", "best"),
    [("diagonal", 6, "rademacher"), ("constant diagonal", 6, "sparse"), ("low rank", 24, "xtrace")],
)
def test_the_least_variance_is_taken(name, n, best):
    kinds = ["rademacher", "xtrace"] if name == "low rank" else ["rademacher"]
    choose = do.choose(do.Laplacian(), jr.key(0), n, kinds, repeats=2)
    choice = choose(FUNCTIONS[name])(*map(jnp.asarray, POINTS))
    assert [way.name for way in choice.ways] == ["exact", "sparse", *kinds]
    assert choice.chosen.name == best
    exact, sparse = choice.ways[:2]
    assert sparse.draws == n
    assert choice.chosen.operations <= 1.05 * sparse.operations < exact.operations
    worst = max(way.standard_error for way in choice.ways)
    assert choice.chosen.standard_error < 1e-9 * worst
    (marked,) = [line for line in repr(choice).splitlines() if line.startswith("→")]
    assert marked.split()[1:3] == [best, str(choice.chosen.draws)]
    assert repr(choice).endswith(f"for what {n} sparse draws cost, on these points.")


SIZES = (20, 16, 16, 16)
LAYERS = [RNG.normal(size=shape) / 4 for shape in zip(SIZES, SIZES[1:], strict=False)]


def network(x):
    for layer in LAYERS:
        x = jnp.tanh(x @ jnp.asarray(layer))
    return jnp.sum(x) ** 2


def points(count=4):
    return jnp.asarray(np.random.default_rng(1).normal(size=(count, SIZES[0])), jnp.float64)


def test_exact_where_it_costs_no_more():
    choice = do.choose(do.Laplacian(), jr.key(0), 20, [], repeats=2)(network)(points())
    assert choice.chosen.name == "exact"
    assert choice.reason == "exact costs no more than 20 sparse draws."
    x = points()[0]
    made, exact = choice.estimate(jr.key(1)), do.Laplacian().exact
    got, expected = jax.jit(lambda x: (made(network)(x), exact(network)(x)))(x)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def values_of(choice):
    """Over keys, at a point, with the exact value."""
    x = points()[0]
    values = many(lambda key: choice.estimate(key)(network)(x)["lap"], 4000)
    return values, float(jax.jit(do.Laplacian().exact(network))(x))


OPS = {"lap": do.Laplacian()}


def test_unbiased_by_what_was_chosen():
    """The mean over keys; and the spread is about what it says it is."""
    choice = do.choose(OPS, jr.key(0), 4, ["rademacher"], repeats=2)(network)(points())
    assert choice.chosen.name != "exact" and choice.chosen in choice.ways
    values, expected = values_of(choice)
    check_mean(values, expected)
    assert values.std() < 10 * choice.chosen.standard_error


@pytest.mark.parametrize("method", ["xtrace", "hutch++"])
def test_unbiased_by_deflation(method):
    choice = do.estimators.Choice(OPS, method, do.estimators.Way(method, 6, 0.0, 0.0), (), "")
    check_mean(*values_of(choice))


def test_too_few_draws_to_compare():
    """One draw has no variance: it is what is taken."""
    choose = do.choose(do.Laplacian(), jr.key(0), 1, [])
    choice = choose(FUNCTIONS["diagonal"])(*map(jnp.asarray, POINTS))
    assert choice.chosen[:2] == ("sparse", 1)
    assert "→" in repr(choice)


def test_probes_of_ones_own_and_those_without_a_standard_error():
    weights = 1.0 + np.arange(12.0)
    kinds = [do.probes.Importance(weights), "systematic", do.probes.Stratified(1)]
    f = lambda x: jnp.sum(jnp.asarray(weights) * x**4)
    choice = do.choose(do.Laplacian(), jr.key(1), 4, kinds)(f)(jr.normal(jr.key(0), (3, 12)))
    names = [way.name for way in choice.ways]
    assert names == ["exact", "sparse", "importance", "systematic", "stratified"]
    assert all(way.standard_error > 0 for way in choice.ways[1:])


def test_probes_of_one_name_are_all_compared():
    """Weights that follow the terms have no variance, and are found before and behind others."""
    weights = 1.0 + np.arange(12.0)
    right, wrong = do.probes.Importance(weights), do.probes.Importance(weights[::-1].copy())
    f = lambda x: jnp.sum(jnp.asarray(weights) * x**4)
    for kinds, best in [([wrong, right, right, "sparse"], 3), ([right, wrong], 2)]:
        choice = do.choose(do.Laplacian(), jr.key(1), 4, kinds)(f)(jnp.ones((2, 12)))
        names = [way.name for way in choice.ways]
        assert names == ["exact", "sparse", "importance", "importance 2"]
        errors = [way.standard_error for way in choice.ways]
        assert errors[best] < 1e-9 * errors[1] < errors[5 - best]


# Errors


@pytest.mark.parametrize(
    "args",
    [
        (),
        (1.0,),
        (jnp.ones((0, 2)),),
        (jnp.ones((3, 2)), jnp.ones((2, 2))),
        (jnp.ones((3, 2)), 1.0),
    ],
)
def test_arguments_of_points(args):
    with pytest.raises(ValueError, match="one leading axis, with at least one point; got leading"):
        do.choose(do.Laplacian(), jr.key(0), 2)(lambda *args: 0.0)(*args)


def choose(operator=None, draws=2, *args, **options):
    return do.choose(operator or do.Laplacian(), jr.key(0), draws, *args, **options)


test_refused = refusals(
    {
        "repeats of choose must be at least 2; got 1": lambda: choose(repeats=1),
        "values by sparse are not finite": lambda: choose(None, 2, [])(
            lambda x: jnp.sum(jnp.log(x))
        )(jnp.zeros((2, 40))),
        r"got one point, of shape \(3,\): give it as x\[None\]": lambda: choose()(
            lambda x: x[0] ** 2
        )(jnp.ones(3)),
    },
    {
        r"got 1 more argument\(s\) beside u": lambda: choose()(u, jnp.ones((3, 2))),
        "operator": [
            lambda: choose(do.Laplacian().estimate(jr.key(0), 2)),
            lambda: choose([do.Laplacian(), do.Laplacian().estimate(jr.key(0), 2)]),
            lambda: choose(u),
        ],
    },
)


VALUES = {
    "complex": lambda x: jax.lax.complex(jnp.sum(x**4), jnp.sum(x**3) * x[0]),
    "constant": lambda x: jnp.ones(()),
    "integer": lambda x: jnp.ones((), jnp.int32),
    "two types": lambda x: {"a": jnp.sum(x**4), "b": jnp.sum(x.astype(jnp.float32) ** 3)},
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_any_type(name):
    """Deflation is among the ways only where u is real and floating."""
    points = jr.normal(jr.key(0), (4, 12))
    found = do.choose(do.Laplacian(), jr.key(1), 8, repeats=2)(VALUES[name])(points)
    names = {way.name for way in found.ways}
    assert "exact" in names and len(names) > 2
    if name in ("complex", "integer"):
        assert not names & {"xtrace", "hutch++"}


def test_costs_are_those_of_the_whole_computation(monkeypatch):
    """On a lone CPU, too, where points are taken in parts, and the compiler would count one."""

    def operations():
        choice = do.choose(do.Laplacian(), jr.key(0), 6, ["rademacher"], repeats=2)
        found = choice(FUNCTIONS["diagonal"])(*map(jnp.asarray, POINTS))
        return [way.operations for way in found.ways]

    several = operations()
    monkeypatch.setattr(jax, "device_count", lambda: 1)
    assert operations() == several
