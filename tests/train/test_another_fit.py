"""A fit goes on from its own checkpoints only: what it is made of is kept with them."""

import dataclasses
import functools
import json
import pathlib
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.storage import disk
from diffop.storage.identity import digest_with_code
from diffop.train import checkpoints

START, KEY = jnp.zeros(2), jax.random.key(0)
TARGET = 3.0


def loss(x, key):
    return jnp.sum((x - TARGET) ** 2)


def to(target):
    return lambda x, key: jnp.sum((x - target) ** 2)


def default(x, key, target=3.0):
    return jnp.sum((x - target) ** 2)


class Distance(eqx.Module):
    """A loss whose target is an array of it."""

    target: jax.Array

    def __call__(self, x, key):
        return jnp.sum((x - self.target) ** 2)


class Static(eqx.Module):
    """A model with something static: a function, a set, or an object with either."""

    w: jax.Array
    kept: object = eqx.field(static=True)


@dataclasses.dataclass(frozen=True)
class Options:
    tags: frozenset
    act: object


TAGS = frozenset({"alpha", "beta", "gamma", "delta"})
STATIC = [
    *(TAGS, TAGS - {"delta"}, Options(TAGS, to(3.0)), Options(TAGS, to(4.0))),
    *(to(3.0), to(4.0), functools.partial(to, 3.0), (to(3.0), 1), (to(4.0), 1)),
    *(Options(TAGS, np.arange(n)) for n in (5000, 5001)),
    Options(TAGS, np.arange(5000) + (np.arange(5000) == 2500)),  # printed like the first of them
    *("alpha", 1, 1.0, None, jnp.dtype("float32"), jnp.dtype("int32")),
]


class Plain:
    """A loss that is no pytree, and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x, key):
        self.calls += 1
        return jnp.sum(x**2)


def fit(directory, steps=4, **changes):
    given = {"model": START, "loss": loss, "optimiser": optax.sgd(0.1), "key": KEY, **changes}
    saved = do.train.Checkpoints(directory, every=2, tell=lambda _: None)
    return do.train.fit(**given, steps=steps, steps_per_dispatch=2, checkpoints=saved)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The checkpoints of a fit."""
    directory = tmp_path_factory.mktemp("made")
    return fit(directory), directory


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": jnp.full(2, 9.0)}, "the model differs"),
        ({"key": jax.random.key(1)}, "the key differs"),
        ({"optimiser": optax.sgd(0.2)}, "the optimiser differs"),
        ({"loss": to(4.0)}, "the loss differs"),
        ({"loss": lambda x, key: jnp.sum((x + 5.0) ** 2)}, "the loss differs"),
        (
            {"model": START + 1, "loss": to(4.0), "key": jax.random.key(1)},
            "the model, the loss, the key differ",
        ),
    ],
)
def test_another_fit_is_refused(changes, named, made):
    """The old model was returned, and nothing said."""
    _, directory = made
    with pytest.raises(
        do.train.CheckpointMismatchError,
        match=rf"^{directory}/4 is of another fit: {named} from what it was made with; start anew "
        r"in another directory, or call the clear\(\) of these Checkpoints first, or go on with "
        r"equal arguments.$",
    ):
        fit(directory, **changes)


@pytest.mark.parametrize("optimiser", [optax.adam(0.1), do.methods.LBFGS()])
def test_another_state_of_the_optimiser(optimiser, made):
    _, directory = made
    with pytest.raises(
        do.train.CheckpointMismatchError,
        match=rf"^{directory}/4 is of a fit with another optimiser, whose state has other arrays "
        r"\(\[1\].*\); start anew in another directory, or go on with equal settings\.$",
    ):
        fit(directory, optimiser=optimiser)
    with pytest.raises(
        do.train.CheckpointMismatchError, match=r"4 is of another run \(\[0\].*\[1\]"
    ):
        fit(directory, model=jnp.zeros(3), optimiser=optimiser)


def test_the_same_fit_and_more_steps(made, tmp_path, capsys):
    """Of the loss (x − 3)² with the rate 0.1: x = 3 − 3 · 0.8^steps. It is said in one line."""
    first, directory = made
    again = fit(directory)
    np.testing.assert_array_equal(again.model, first.model)
    assert capsys.readouterr().err == f"diffop: the fit in {directory} has ended: nothing to do.\n"
    fit(tmp_path)
    capsys.readouterr()
    longer = fit(tmp_path, 6)
    np.testing.assert_allclose(longer.model, 3 - 3 * 0.8**6, rtol=1e-6)
    assert capsys.readouterr().err == f"diffop: going on after step 4 in {tmp_path}.\n"


def test_what_is_outside_of_a_function(monkeypatch):
    """Numbers of its module, defaults, what is around it, and what it calls, are of a loss."""
    words = [digest_with_code(each) for each in (loss, to(3.0), default, to(np.ones(2)))]
    monkeypatch.setattr(sys.modules[__name__], "TARGET", 4.0)
    words += [digest_with_code(loss)]
    monkeypatch.setattr(default, "__defaults__", (4.0,))
    words += [digest_with_code(each) for each in (default, to(4.0), to(2 * np.ones(2)))]
    rates = [optax.linear_schedule(0.1, 0.0, steps) for steps in (4, 8)]
    words += [digest_with_code(optax.adam(rate)) for rate in rates]
    words += [digest_with_code(functools.partial(default, target=t)) for t in (1.0, 2.0)]
    words += [digest_with_code(jax.jit(to(t))) for t in (3.0, 4.0)]
    words += [digest_with_code(Distance(jnp.array(t))) for t in (3.0, 4.0)]
    words += [digest_with_code(to(Distance(jnp.array(t)))) for t in (3.0, 4.0)]
    words += [digest_with_code(Distance(jnp.array(t)).__call__) for t in (3.0, 4.0)]
    words += [digest_with_code(Static(jnp.ones(2), each)) for each in STATIC]
    assert len(set(words)) == len(words)
    assert digest_with_code(Static(jnp.ones(2), STATIC[0])) == words[-len(STATIC)]
    assert digest_with_code(to(4.0)) == words[6]


PLATE = do.pde.Box((0.0, 0.0), (1.0, 1.0))


def residual_loss(source=0.0, wall=0.0, points=PLATE.sample):
    """Of known coefficients, conditions and functions."""
    conditions = do.pde.Conditions(do.pde.Dirichlet(wall, on=PLATE.boundary))
    equation = do.equations.Equation.linear(do.Laplacian(), source, conditions=conditions)
    return do.losses.ResidualLoss(equation, 4, probes="exact", points=points, data_batch=3)


def test_equations_are_told_apart():
    """By what is known in them, which is no array of theirs."""
    clouds = [do.pde.PointCloud(np.full((4, 2), where)).sample for where in (0.5, 0.6)]
    rows = [np.array([[0, 1], [1, each]]) for each in (0, 1)]
    changed = [
        *(residual_loss(), residual_loss(1.0), residual_loss(wall=1.0)),
        *(residual_loss(lambda x: x[0]), residual_loss(lambda x: x[1])),
        *(residual_loss(wall=lambda x: x[0]), residual_loss(wall=lambda x: x[1])),
        *(residual_loss(points=each) for each in clouds),
        *(do.TensorOperator.from_coordinates(each, np.ones(2)) for each in rows),
    ]
    words = list(map(digest_with_code, changed))
    assert len(set(words)) == len(words)
    assert digest_with_code(residual_loss()) == words[0]


def test_a_schedule_is_the_same_after_its_first_call():
    """That of a cosine then has floats for its integers."""
    schedules = [optax.cosine_decay_schedule(0.1, steps) for steps in (400, 400, 500)]
    optimisers = list(map(optax.adam, schedules))
    before = list(map(digest_with_code, optimisers))
    for schedule in (schedules[0], schedules[2]):
        schedule(3)
    assert before[0] == before[1] != before[2]
    assert list(map(digest_with_code, optimisers)) == before


def test_what_changes_while_it_is_used_is_not_looked_at():
    """A loss that counts, or notes what it sees, is the same loss."""
    seen, plain = [], Plain()

    def noting(x, key):
        seen.append(x)
        return plain(x, key)

    def itself(x, key):
        return itself(x, key) if x is None else jnp.sum(x)

    before = [digest_with_code(each) for each in (noting, plain, itself, plain.__call__)]
    noting(jnp.ones(2), KEY)
    assert before == [digest_with_code(each) for each in (noting, plain, itself, plain.__call__)]


@pytest.mark.slow("starts two processes")
def test_another_process_gives_the_same_words():
    """Whatever order it has sets and addresses in."""
    program = (
        "import jax, optax; import diffop as do; from tests.train import test_another_fit as t; "
        "from diffop.storage.identity import digest_with_code as d; "
        "print(d(t.loss), d(t.to(3.0)), d(optax.adam(1e-3)), d(t.KEY), "
        "d(do.methods.GaussNewton()), d(optax.contrib.muon(1e-3)), "
        "d(do.losses.ResidualLoss(do.pde.WaveEquation(2), 5, 1, 'exact')), "
        "d(do.nn.WeightSharedMLP(4, 2, 3, 1, key=t.KEY)), "
        "d(t.Static(t.START, t.TAGS)), d(t.Static(t.START, t.Options(t.TAGS, t.loss))))"
    )
    words = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", program]
        root = pathlib.Path(__file__).parents[2]
        how = {"cwd": root, "env": {**disk.os.environ, "PYTHONHASHSEED": seed}}
        done = subprocess.run(command, capture_output=True, text=True, check=True, **how)
        words.add(done.stdout)
    (only,) = words
    assert len(set(only.split())) == 10


def test_other_versions_and_devices(made, tmp_path, monkeypatch):
    """Code and networks may have other bits then: the key alone is compared."""
    environment = {**checkpoints.environment(), "jax": "0.0.1"}
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "environment", lambda: environment)
        fit(tmp_path)
    fit(tmp_path, loss=to(3.0))
    with pytest.raises(do.train.CheckpointMismatchError, match="4 is of another fit: the key diff"):
        fit(tmp_path, loss=to(3.0), key=jax.random.key(1))


def test_checkpoints_from_before(made, tmp_path, monkeypatch):
    """They do not say what they are of, and are gone on from."""
    _, directory = made
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "digest_with_code", lambda _: "")
        fit(tmp_path)
        notes = next(path for path in (tmp_path / "4" / "notes").rglob("metadata"))
    told = json.loads(notes.read_text())
    del told["made_of"]
    notes.write_text(json.dumps(told))
    (tmp_path / "4" / "SHA256SUMS").unlink()
    disk.write_digests(tmp_path / "4")
    longer = fit(tmp_path, 6)
    np.testing.assert_allclose(longer.model, 3 - 3 * 0.8**6, rtol=1e-6)
