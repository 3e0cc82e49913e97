"""Optimisers and learning rates by name."""

import importlib
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.methods.optimisers import OPTIMISERS, SCHEDULES
from diffop.train.model import build_optimiser

LEAST_SQUARES = [name for name, named in OPTIMISERS.items() if named.needs == "squares"]


def settings(**changes):
    given = {"dim": 4, "steps": 200, "learning_rate": 0.1, **changes}
    return do.train.Settings.of_paper("allen-cahn-two-body", **given)


CURVES = {
    "linear": lambda t: 0.1 * (1 - t),
    "cosine": lambda t: 0.1 * (1 + math.cos(math.pi * t)) / 2,
    "exponential": lambda t: 0.1 * 0.9995 ** (10_000 * t),
    "constant": lambda t: 0.1,
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_against_their_formulas(name):
    rate = SCHEDULES[name](0.1, 200)
    for step in (0, 50, 100, 199, 200):
        np.testing.assert_allclose(rate(step), CURVES[name](step / 200), rtol=1e-5, atol=1e-8)


MODEL = {"w": jnp.zeros((4, 3)), "b": jnp.zeros(4), "c": jnp.zeros(())}
TARGET = {"w": jnp.full((4, 3), 0.5), "b": jnp.full(4, -0.5), "c": jnp.array(0.25)}


RATES = {
    **dict.fromkeys(["adan", "dadapt-adamw", "dog", "dowg", "fromage", "prodigy"], 1.0),
    **dict.fromkeys(["adadelta", "lars"], 10.0),
}
"""Other first rates than 0.1, where an optimiser finds it by itself or measures it otherwise."""
SLOW = {"dog": 0.15, "simplified-ademamix": 0.1, "adan": 0.03}
"""How far from the target others are after so few steps; 0.5 is where they begin."""


def test_the_optimisers_of_optax_are_there():
    there = {"adabelief", "adam", "adamw", "lion", "muon", "nadamw", "prodigy", "sgd"}
    assert there <= OPTIMISERS.keys()
    assert not {"lbfgs", "scale-by-rprop", "schedule-free-sgd", "sophia"} & OPTIMISERS.keys()


@pytest.mark.parametrize("name", [name for name in OPTIMISERS if name not in LEAST_SQUARES])
def test_every_optimiser_minimises(name):
    """A matrix, a vector and a number, as a network has them, by a noisy gradient."""
    model, target = MODEL, TARGET

    def loss(model, key):
        noise = 0.01 * jax.random.normal(key)
        gaps = jax.tree.map(lambda a, b: jnp.sum((a - b) ** 2), model, target)
        return sum(jax.tree.leaves(gaps)) + noise * jnp.sum(model["b"])

    rate = RATES.get(name, 0.1)
    optimiser = build_optimiser(settings(optimiser=name, schedule="cosine", learning_rate=rate))
    result = do.train.fit(model, loss, optimiser, 200, key=jax.random.key(0))
    for leaf, expected in zip(*map(jax.tree.leaves, (result.model, target)), strict=True):
        np.testing.assert_allclose(leaf, expected, atol=SLOW.get(name, 0.02))


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_every_method_of_least_squares_minimises(name):
    class Distance:
        def residuals(self, model, key):
            return jax.tree.map(lambda a, b: jnp.exp(a) - jnp.exp(b), model, TARGET)

    optimiser = build_optimiser(settings(optimiser=name, schedule="cosine"))
    result = do.train.fit(MODEL, Distance(), optimiser, 60, key=jax.random.key(0))
    for leaf, expected in zip(*map(jax.tree.leaves, (result.model, TARGET)), strict=True):
        np.testing.assert_allclose(leaf, expected, atol=1e-3)


def test_the_sizes_of_a_schedule():
    """Those of spring begin at 1, whatever the learning rate, and follow the schedule."""
    method = build_optimiser(
        settings(optimiser="spring", schedule="linear", steps=4, learning_rate=1e-3)
    )
    assert isinstance(method, do.methods.GaussNewton) and callable(method.learning_rate)
    np.testing.assert_allclose([method.learning_rate(k) for k in range(4)], [1, 0.75, 0.5, 0.25])


def test_a_run_by_least_squares(tmp_path):
    """Five steps of it, and of Adam, on a problem with conditions."""
    given = {"steps": 30, "width": 8, "depth": 1, "batch": 40, "data_batch": 20}
    given |= {"learning_rate": 5e-3, "data_weight": 0.1, "precision": "default"}
    errors = {}
    for name in ("gauss-newton", "adam"):
        chosen = do.train.Settings("g-kdv-1d", optimiser=name, square="biased", **given)
        errors[name] = do.train.solve(chosen, tmp_path / name).rel_l2
    assert errors["gauss-newton"] < 0.3 * errors["adam"]


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_other_squares_are_no_sum_of_squares(name):
    expected = f"square must be biased, a sum of squares, for the optimiser {name}, got 'pairs'"
    with pytest.raises(ValueError, match=expected):
        settings(optimiser=name, square="pairs")


def test_rates_by_fan_in():
    """The first update of Adam is its rate in each entry: a matrix of m inputs has 0.1 / √m, where
    that is less, and what is no matrix has the rate.
    """
    optimiser = build_optimiser(settings(learning_rate=0.01, fan_in_rate=0.1))
    wide, narrow, bias = jnp.ones((2, 400)), jnp.ones((2, 9)), jnp.ones(900)
    gradient = [wide, narrow, bias]
    with jax.numpy_dtype_promotion("standard"):  # as fit has it
        update, _ = optimiser.update(gradient, optimiser.init(gradient))
    for found, rate in zip(update, [0.1 / 20, 0.01, 0.01], strict=True):
        np.testing.assert_allclose(found, -rate, rtol=1e-4)


def mine(schedule):
    """Your own optimiser, from optax's parts."""
    return optax.chain(optax.clip(1.0), optax.sgd(schedule))


def test_an_optimiser_of_ones_own(tmp_path, monkeypatch):
    """By the command line, which imports it; files have its path, and import nothing."""
    path = "tests.train.test_optimisers:mine"
    words = "solve allen-cahn-two-body --paper --dim 4 --width 8 --steps 2 --depth 1 --n 2"
    words += f" --batch 5 --learning-rate 0.01 --checkpoint-every 1 --out {tmp_path}"
    assert main([*words.split(), "--optimiser", path]) == 0
    given = {"dim": 4, "width": 8, "steps": 2, "depth": 1, "n": 2, "batch": 5}
    chosen = settings(**given, optimiser=mine, learning_rate=0.01)
    assert json.loads((tmp_path / "run.json").read_text())["settings"] == chosen.as_json()
    assert chosen.as_json()["optimiser"] == path
    whole = do.train.solve(chosen, tmp_path, resume=True)
    (tmp_path / "report.json").unlink()
    assert do.train.solve(chosen, tmp_path, resume=True).rel_l2 == whole.rel_l2
    found, seen = importlib.import_module, []
    monkeypatch.setattr(importlib, "import_module", lambda name: seen.append(name) or found(name))
    x = jnp.ones(4) / 4
    assert do.train.load(tmp_path)(x) == do.train.load(tmp_path, "last", optimiser=mine)(x)
    with pytest.raises(ValueError, match=f"your own optimiser, {path}; give it: optimiser="):
        do.train.load(tmp_path, "last")
    assert __name__ not in seen


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("nowhere:mine", "there is no module 'nowhere' to import the optimiser"),
        ("tests.train.test_optimisers:yours", "has nothing called 'yours'"),
        ("tests.train.test_optimisers:CURVES", "optimiser must be one of acprop, "),
    ],
)
def test_an_optimiser_that_is_not_there(word, message, tmp_path, capsys):
    words = ["solve", "allen-cahn-two-body", "--optimiser", word, "--out", str(tmp_path / "run")]
    assert main(words) == 2
    assert message in capsys.readouterr().err
