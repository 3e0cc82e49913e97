"""What `do.evaluate` decides, and that what it returns is unbiased whatever it decides."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop.operators import choice

pytestmark = pytest.mark.usefixtures("x64")

Z = 4.5
RNG = np.random.default_rng(0)


def u(x):
    return jnp.sum(jnp.sin(x)) ** 2


# By rule


def explained(E, x):
    """Nothing is drawn to count jets."""
    found = []
    jax.eval_shape(lambda x: found.append(E.explain(x)), x)
    return found[0]


@pytest.mark.parametrize("n", [3, 6])
def test_without_a_pilot(n):
    """What `estimate` draws, or all where n terms are enough; several operators share draws."""
    ops = {"a": do.Laplacian(), "b": [do.DiagonalK(3), do.Partial(0)]}
    x = jnp.linspace(0.1, 1.0, 6)

    def both(x):
        estimates = jax.tree.map(
            lambda op: op.exact(u)(x) if n >= 6 else op.estimate(jr.key(0), n, "sparse")(u)(x),
            ops,
            is_leaf=lambda op: isinstance(op, do.Operator),
        )
        return do.evaluate(ops, jr.key(0), n)(u)(x), estimates

    got, expected = jax.jit(both)(x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), got, expected)
    explanation = explained(do.evaluate(ops, jr.key(0), n), x)
    assert explanation.chosen.name == ("exact" if n >= 6 else "sparse")
    terms = ["sparse", "stratified", "systematic"]
    assert [way.name for way in explanation.ways] == ["exact", *terms, "roots"]


C = np.ones((10, 10)) + np.eye(10)


def test_explained_is_what_is_done():
    """Entries are drawn of a matrix, but all of it takes no more jets than it has rows."""
    operator = do.SecondOrder(jnp.asarray(C))
    drawn = explained(do.evaluate(operator, jr.key(0), 9), jnp.ones(10))
    assert drawn.ways[0].jets == 10
    assert drawn.chosen == do.Way("sparse", 9, 9, None, None)
    whole = explained(do.evaluate(operator, jr.key(0), 10), jnp.ones(10))
    assert whole.chosen == do.Way("exact", 0, 10, None, None)


def test_prints_as_a_table():
    text = repr(
        do.evaluate(do.Laplacian(), jr.key(0), 3).explain(jax.ShapeDtypeStruct((5,), float))
    )
    (marked,) = [line for line in text.splitlines() if line.startswith("→")]
    assert marked.split() == ["→", "sparse", "3", "3"]
    assert text.endswith("a pilot tells what has least variance.")
    assert {"exact", "rademacher", "xtrace"} <= set(text.split())
    exact = explained(do.evaluate(do.Laplacian(), jr.key(0), 5), jnp.ones(5))
    assert repr(exact).endswith("all are exact.")


def test_explain_needs_a_point():
    with pytest.raises(ValueError, match="explain counts jets at a point"):
        do.evaluate(do.Laplacian(), jr.key(0), 3).explain()


# With a pilot

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


def few_ways(monkeypatch, names, methods):
    """Each way is a compilation: not all of them in each test."""
    kept = {name: probe for name, probe in choice.NAMED.items() if name in names}
    monkeypatch.setattr(choice, "NAMED", kept)
    monkeypatch.setattr(choice, "LEAST", {m: k for m, k in choice.LEAST.items() if m in methods})


@pytest.mark.parametrize(
    ("name", "n", "best"),
    [("diagonal", 6, "rademacher"), ("constant diagonal", 6, "sparse"), ("low rank", 24, "xtrace")],
)
def test_the_least_variance_is_taken(monkeypatch, name, n, best):
    methods = ["xtrace"] if name == "low rank" else []
    few_ways(monkeypatch, ["sparse", "rademacher"], methods)
    pilot = do.Pilot(FUNCTIONS[name], *map(jnp.asarray, POINTS), repeats=2)
    E = do.evaluate(do.Laplacian(), jr.key(0), n, pilot)
    explanation = E.explain()
    assert [way.name for way in explanation.ways] == ["exact", "sparse", "rademacher", *methods]
    assert explanation.chosen.name == best
    sparse = explanation.ways[1]
    assert sparse.draws == n
    assert (
        explanation.chosen.operations <= 1.05 * sparse.operations < explanation.ways[0].operations
    )
    worst = max(way.standard_error for way in explanation.ways)
    assert explanation.chosen.standard_error < 1e-9 * worst
    (marked,) = [line for line in repr(explanation).splitlines() if line.startswith("→")]
    assert marked.split()[1:3] == [best, str(explanation.chosen.draws)]


SIZES = (20, 16, 16, 16)
LAYERS = [RNG.normal(size=shape) / 4 for shape in zip(SIZES, SIZES[1:], strict=False)]


def network(x):
    for layer in LAYERS:
        x = jnp.tanh(x @ jnp.asarray(layer))
    return jnp.sum(x) ** 2


def points(count=4):
    return jnp.asarray(np.random.default_rng(1).normal(size=(count, SIZES[0])), jnp.float64)


def test_exact_where_it_costs_no_more(monkeypatch):
    few_ways(monkeypatch, ["sparse"], [])
    E = do.evaluate(do.Laplacian(), jr.key(0), 20, do.Pilot(network, points(), repeats=2))
    assert E.explain().chosen.name == "exact"
    assert E.explain().reason == "exact costs no more than 20 sparse draws."


def test_unbiased_by_what_was_chosen(monkeypatch):
    """The mean over keys; and the spread is about what it says it is."""
    few_ways(monkeypatch, ["sparse", "rademacher"], [])
    pilot = do.Pilot(network, points(), repeats=2)
    explanation = do.evaluate(do.Laplacian(), jr.key(0), 4, pilot).explain()
    assert explanation.chosen.name != "exact"
    x = points()[0]
    of = lambda key: do.Evaluation(do.Laplacian(), key, 4, explanation)(network)(x)
    many = lambda keys: (jax.vmap(of)(keys), do.Laplacian().exact(network)(x))
    values, expected = map(np.asarray, jax.jit(many)(jr.split(jr.key(1), 4000)))
    assert abs(values.mean() - expected) <= Z * values.std() / np.sqrt(len(values))
    assert 0 < values.std() < 10 * explanation.chosen.standard_error


def test_too_few_draws_to_compare(monkeypatch):
    """One draw has no variance: it is what is taken without a pilot."""
    few_ways(monkeypatch, ["sparse"], [])
    pilot = do.Pilot(FUNCTIONS["diagonal"], *map(jnp.asarray, POINTS))
    E = do.evaluate(do.Laplacian(), jr.key(0), 1, pilot)
    assert E.explain().chosen[:2] == ("sparse", 1)
    assert "→" in repr(E.explain())


# Errors


@pytest.mark.parametrize(
    "args", [(), (1.0,), (jnp.ones((3, 2)), jnp.ones((2, 2))), (jnp.ones((3, 2)), 1.0)]
)
def test_arguments_of_a_pilot(args):
    with pytest.raises(ValueError, match="one leading axis of points"):
        do.Pilot(lambda *args: 0.0, *args)


def test_one_repeat_has_no_variance():
    with pytest.raises(ValueError, match="at least 2; got 1"):
        do.Pilot(u, jnp.ones((3, 2)), repeats=1)


def test_pilot_that_is_not_finite(monkeypatch):
    few_ways(monkeypatch, ["sparse"], [])
    pilot = do.Pilot(lambda x: jnp.sum(jnp.log(x)), jnp.zeros((2, 40)))
    with pytest.raises(ValueError, match="pilot's values by sparse are not finite"):
        do.evaluate(do.Laplacian(), jr.key(0), 2, pilot)


NOT_OPERATORS = {
    "an estimate": do.Laplacian().estimate(jr.key(0), 2),
    "a list with one": [do.Laplacian(), do.Laplacian().estimate(jr.key(0), 2)],
    "a function": u,
}


@pytest.mark.parametrize("name", NOT_OPERATORS)
def test_what_is_no_operator(name):
    with pytest.raises(TypeError, match="operator"):
        do.evaluate(NOT_OPERATORS[name], jr.key(0), 2)


PILOTS = {
    "complex": lambda x: jax.lax.complex(jnp.sum(x**4), jnp.sum(x**3) * x[0]),
    "constant": lambda x: jnp.ones(()),
    "integer": lambda x: jnp.ones((), jnp.int32),
    "two types": lambda x: {"a": jnp.sum(x**4), "b": jnp.sum(x.astype(jnp.float32) ** 3)},
}


@pytest.mark.parametrize("name", PILOTS)
def test_values_of_any_type(name):
    """Deflation is among the ways only where u is real and floating."""
    points = jr.normal(jr.key(0), (4, 12))
    pilot = do.Pilot(PILOTS[name], points, repeats=2)
    found = do.evaluate(do.Laplacian(), jr.key(1), 8, pilot).explain()
    names = {way.name for way in found.ways}
    assert "exact" in names and len(names) > 2
    if name in ("complex", "integer"):
        assert not names & {"xtrace", "hutch++"}
