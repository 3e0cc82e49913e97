"""Random streams: each has a name, and nothing that is drawn twice is drawn from one key."""

import ast
import collections
import dataclasses
import functools
import inspect
import pathlib
import sys
import zlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop import streams as module
from diffop.methods.base import step_key
from diffop.streams import stream, streams
from diffop.train.model import Keys, build, build_loss, build_optimiser, build_problem

from .problems import FIXED, PARTS

SOURCE = pathlib.Path(do.__file__).parent
FILES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "streams.py"]
GENERATORS = ["threefry2x32", "rbg"]


def words(keys):
    return np.asarray(jax.random.key_data(keys)).reshape(-1, jax.random.key_data(keys).shape[-1])


def distinct(*keys):
    """How many keys there are among arrays of them."""
    return len(np.unique(np.concatenate([words(each) for each in keys]), axis=0))


# --- the source -------------------------------------------------------------------------------


def of_jax_random(node):
    """The name of a function of `jax.random` that is used there."""
    if isinstance(node, ast.ImportFrom):
        modules = [f"{node.module}.{alias.name}" for alias in node.names]
        return "import" if any(each.startswith("jax.random") for each in modules) else None
    if not isinstance(node, ast.Attribute):
        return None
    owner = getattr(node.value, "attr", getattr(node.value, "id", ""))
    return node.attr if owner == "random" else None


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES}), ids=lambda f: f.name)
def test_keys_are_divided_in_one_place(folder):
    """Under no other name either: the functions of `jax.random` are called by it."""
    forbidden = {"fold_in", "split", "clone", "import"}
    for path in folder.glob("*.py"):
        if path in FILES:
            used = set(map(of_jax_random, ast.walk(ast.parse(path.read_text()))))
            assert not used & forbidden, path


def names_in_source():
    """The name of each call of `stream` and `streams`, with its file."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("stream", "streams"):
                assert isinstance(node.args[1], ast.Constant), (path, node.lineno)
                yield node.args[1].value, (path.name, node.lineno, node.func.id)


def test_names_stand_in_one_place_each():
    """But for those of two streams that are numbered where they are made."""
    places = collections.defaultdict(set)
    for name, place in names_in_source():
        places[name].add((place[0], place[1]))
    assert len(places) > 40
    assert not {name: where for name, where in places.items() if len(where) > 1}
    checksums = {zlib.crc32(f"diffop {name}".encode()) for name in places}
    assert len(checksums) == len(places) and min(checksums) > 10**6


# --- the keys ---------------------------------------------------------------------------------


@pytest.mark.parametrize("generator", GENERATORS)
def test_streams_are_apart_from_what_a_user_makes_of_a_key(generator):
    """By `split` and `fold_in`, of the key and of a stream's key; and from each other."""
    key, count = jax.random.key(3, impl=generator), 5000
    fold = jax.jit(jax.vmap(jax.random.fold_in, (None, 0)))
    names = sorted({name for name, _ in names_in_source()})
    alone = jnp.stack([stream(key, name) for name in names])
    numbered = jnp.concatenate([streams(key, name, 20) for name in names])
    twice = jnp.stack([stream(key, "a", 0, number) for number in range(20)])
    known = jnp.stack([stream(key, "b", 2**32 * number + 7) for number in range(20)])
    of_stream = jax.random.split(stream(key, "c"), 1000)
    made = [fold(key, jnp.arange(count)), of_stream, key[None]]
    every = [alone, numbered, twice, known, *made]
    assert distinct(*every) == sum(each.size for each in every)
    split = jax.random.split(key, count)
    named = np.concatenate([words(each) for each in every[:4]])
    assert not (words(split)[:, None] == named).all(-1).any()


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_stream_is_the_same_wherever_it_is_made(generator):
    """Traced, mapped over numbers or keys, of the words of a key, and in another process."""
    key = jax.random.key(5, impl=generator)
    expected = words(jnp.stack([stream(key, "a", number) for number in range(3)]))
    numbers = jnp.arange(3)
    for each in (numbers, numbers.astype(np.uint32)):
        found = jax.jit(jax.vmap(functools.partial(stream, key, "a")))(each)
        np.testing.assert_array_equal(words(found), expected)
    np.testing.assert_array_equal(words(streams(key, "a", 3)), expected)
    keys = jnp.stack([key, jax.random.key(6, impl=generator)])
    mapped = jax.vmap(lambda key: stream(key, "a", 1))(keys)
    np.testing.assert_array_equal(words(mapped)[:1], expected[1:2])
    assert words(mapped)[1].tolist() != expected[1].tolist()
    raw = jax.random.key_data(key)
    if generator == "threefry2x32":
        np.testing.assert_array_equal(stream(raw, "a", 1), expected[1])
        for number in (zlib.crc32(b"diffop a"), 2):
            key = jax.random.fold_in(key, number)
        np.testing.assert_array_equal(jax.random.key_data(key), expected[2])
    of_two = streams(key, "a", (3, 2))
    assert of_two.shape == (3, 2)
    np.testing.assert_array_equal(words(of_two), words(streams(key, "a", 6)))
    with pytest.raises(OverflowError, match="a number that is not negative, got -1"):
        stream(key, "a", -1)


# --- what is drawn from -----------------------------------------------------------------------

PURPOSES = ("build_problem", "build", "location", "magnitude", "_points", "_data", "_on_chunk")
"""Functions of the library whose draws have nothing to do with those of the others."""


class Recorder:
    """What is drawn from each key while programs run, and which keys others are made of.

    A use of a key is a function of `jax.random`, its other arguments, the line of the library that
    called it, and for which purpose it did.
    """

    def __init__(self, monkeypatch):
        self.uses, self.parents = collections.defaultdict(list), set()
        divide = ("fold_in", "split", "clone")
        for name, function in vars(jax.random).items():
            if callable(function) and first_argument(function) == "key":
                kept = self.dividing if name in divide else self.drawing
                monkeypatch.setattr(jax.random, name, kept(name, function))
        if hasattr(module, "_folded"):
            monkeypatch.setattr(module, "_folded", self.dividing("stream", module._folded))

    def drawing(self, name, function):
        @functools.wraps(function)
        def draw(key, *args, **kwargs):
            told = [repr(each) for each in (*args, *kwargs.items()) if not has_arrays(each)]
            use = (name, *told, *where())
            note = lambda words, _=use: self.uses[tuple(words.tolist())].append(use)  # noqa: E731
            jax.debug.callback(note, jax.random.key_data(key))
            return function(key, *args, **kwargs)

        return draw

    def dividing(self, name, function):
        @functools.wraps(function)
        def divide(key, *args, **kwargs):
            if name == "stream" or innermost() != "streams.py":
                note = lambda words: self.parents.add(tuple(words.tolist()))  # noqa: E731
                jax.debug.callback(note, jax.random.key_data(key))
            return function(key, *args, **kwargs)

        return divide

    def check(self):
        """No key is used in two ways, and none that others are made of is used."""
        jax.effects_barrier()
        several = {key: set(uses) for key, uses in self.uses.items() if len(set(uses)) > 1}
        assert not several
        assert not self.parents & set(self.uses)

    def purposes(self):
        return {use[-1] for uses in self.uses.values() for use in uses}

    def times(self, purpose):
        """How often each key was used for a purpose."""
        uses = [[use for use in uses if use[-1] == purpose] for uses in self.uses.values()]
        return [len(each) for each in uses if each]


def first_argument(function):
    return next(iter(inspect.signature(function).parameters), None)


def has_arrays(value):
    return any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value))


def frames():
    """Those of the library, the innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(str(SOURCE)):
            yield frame
        frame = frame.f_back


def innermost():
    return next((pathlib.Path(each.f_code.co_filename).name for each in frames()), "")


def where():
    """The line that draws, and for what."""
    own = list(frames())
    first = next(iter(own), None)
    line = (first.f_code.co_filename, first.f_lineno) if first else ()
    found = [each.f_code.co_name for each in own if each.f_code.co_name in PURPOSES]
    return line, found[0] if found else "jets"


@pytest.fixture
def recorder(monkeypatch):
    return Recorder(monkeypatch)


SIZES = {"steps": 2, "n": 2, "batch": 3, "width": 3, "depth": 1, "gpinn": 0.0, "seed": 11}
SOURCE_TELLS = {"anchor": "source", "output_scale": "source"}


def small(name, **given):
    """Settings of a size that no other test has: programs that are known draw from no key."""
    own = do.pde.recommended(name)
    fixed = name in FIXED
    dim = own.dim if fixed else 8 if "lattice" in name else 7
    count = {"data_batch": own.data_batch and 3}
    return do.train.Settings(name, dim=dim, **{**SIZES, **count, **given})


@pytest.mark.parametrize("name", PARTS)
def test_all_draws_of_a_problem_are_from_keys_of_their_own(recorder, name):
    """Of the problem, a network, its location and scale, points, data and jets of two steps."""
    settings = small(name, probes="auto", **SOURCE_TELLS)
    keys = Keys.of(settings)
    problem = build_problem(settings, keys.problem)
    u = build(settings, problem, keys.net)
    loss = build_loss(settings, problem)
    call = eqx.filter_jit(lambda u, key: loss(u, key))
    for index in range(2):
        call(u, step_key(keys.training, index))
    recorder.check()
    for purpose in {"build_problem", "build", "location", "magnitude", "_points", "_data"}:
        assert set(recorder.times(purpose)) <= {1}  # nor is anything drawn twice
    assert {"build", "_points"} <= recorder.purposes()


RUNS = {
    "product": (
        "allen-cahn-two-body",
        {"square": "product", "probes": "sparse", "gpinn": 0.3, "gpinn_terms": 2},
    ),
    "pairs": ("biharmonic", {"square": "pairs", "probes": "gaussian", "optimiser": "adam"}),
    "pool": ("g-kdv-1d", {"pool": 2, "causal": 1.0, "data_batch": 6, "probes": "sparse"}),
    "balance": ("poisson-cube", {"balance": 1, "pool": 3}),
    "conjugate gradients": ("kovasznay", {"optimiser": "gauss-newton-cg", "probes": "exact"}),
    "shared weights": ("allen-cahn-two-body-lattice", {"block": 2, "channels": 2, **SOURCE_TELLS}),
    "reference": ("semilinear-heat", {"probes": "sdgd"}),
}


@pytest.mark.parametrize("case", RUNS)
def test_all_draws_of_a_run_are_from_keys_of_their_own(recorder, case):
    """With its test points; the value of a loss and its gradient draw the same."""
    name, given = RUNS[case]
    settings = small(name, **given)
    keys = Keys.of(settings)
    problem = build_problem(settings, keys.problem)
    u, loss = build(settings, problem, keys.net), build_loss(settings, problem)
    fit = do.train.fit(u, loss, build_optimiser(settings), 2, key=keys.training)
    do.train.FixedPoints(problem, keys.test, 21).errors(fit.model)
    recorder.check()
    purposes = {"build", "_points"}
    purposes |= {"_data"} if settings.data_batch else set()
    purposes |= {"_on_chunk"} if case != "reference" else set()
    assert purposes <= recorder.purposes()


@pytest.mark.slow("compiles an estimate of each kind")
@pytest.mark.usefixtures("compiled_quickly")
def test_all_draws_of_estimators_are_from_keys_of_their_own(recorder):
    """Of several kinds with one key: they are different draws, so nothing is shared."""
    key, x = jax.random.key(11), np.arange(13) / 13
    laplacian, biharmonic = do.Laplacian(), do.Biharmonic()
    probes = ("sparse", "rademacher", "gaussian", "orthogonal", "stratified", "roots")
    ways = [laplacian.estimate(key, n, probes=each) for each in probes for n in (2, 3)]
    ways += [biharmonic.estimate(key, 2, probes="sparse")]
    ways += [laplacian.deflate(key, 6, method) for method in ("hutch++", "xtrace")]
    ways += [laplacian.estimate_to(key, rtol=0.5, batch=2, max_n=8)]
    jax.jit(lambda x: [way(lambda x: jnp.sin(x @ x))(x) for way in ways])(x)
    recorder.check()
    assert len(recorder.uses) >= len(ways)


# --- the problem's coefficients ---------------------------------------------------------------


COUPLED = (
    "allen-cahn-two-body",
    "sine-gordon-three-body",
    "biharmonic",
    "poisson-cube",
    "heat-cube",
)


@pytest.mark.parametrize("name", COUPLED)
def test_no_points_lie_along_the_coefficients(name, monkeypatch):
    """Nor against them: of training, of tests, and where the source is asked; in 1000 dimensions
    correlations are of size 0.03.
    """
    settings, points = small(name, **SOURCE_TELLS), []
    settings = dataclasses.replace(settings, dim=1000, batch=20)
    keys = Keys.of(settings)
    problem = build_problem(settings, keys.problem)
    sample = type(problem).sample

    def noted(self, key, count):
        points.append(sample(self, key, count))
        return points[-1]

    monkeypatch.setattr(type(problem), "sample", noted)
    build(settings, problem, keys.net)
    asked = len(points)
    loss = build_loss(settings, problem)
    loss._drawn(jnp.sum, step_key(keys.training, 0))
    noted(problem, stream(keys.test, "chunk", 0), 20)
    noted(problem, jax.random.key(settings.seed), 20)
    noted(problem, keys.problem, 20)
    assert len(points) == asked + 4 and asked == 2 * hasattr(problem, "bodies")
    coefficients = np.ravel(problem.coefficients)[:998]
    for each in np.concatenate(points):
        for shift in range(3):
            x = each[shift : shift + len(coefficients)]
            assert abs(np.corrcoef(x, coefficients)[0, 1]) < 0.2


class Own(do.pde.AbstractProblem):
    """Whose points and conditions are drawn as a user may draw them."""

    name, dim = "own", 2
    recommended = do.pde.Recommended(steps=1)

    def operators(self):
        return {"u": do.Identity()}

    def residual(self, values, x):
        return values["u"]

    def sample(self, key, count):
        first, second = jax.random.split(key)
        uniform = jax.random.uniform
        return jnp.stack([uniform(first, (count,)), uniform(second, (count,))], 1)

    def conditions(self, key, count):
        x = jax.random.uniform(key, (count,))
        points = jnp.stack([x, jnp.zeros(count)], 1)
        return [do.equations.Condition(do.Identity(), points, jnp.zeros(count))]


def test_conditions_are_not_at_the_points_of_the_equation():
    loss = do.losses.ResidualLoss(Own(), batch=4, probes="exact", data_batch=4)
    drawn = loss._drawn(lambda x: x[0], jax.random.key(0))
    inside, ends = np.asarray(drawn.points), np.asarray(drawn.data[0].points[:, 0])
    assert not np.isin(ends, inside).any()
