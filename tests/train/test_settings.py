"""Settings that cannot be used are refused with the setting's name."""

import argparse
import dataclasses
import inspect

import pytest

import diffop as do
from diffop.__main__ import _add_solve
from diffop.train.settings import stated

INTEGERS = [
    "dim",
    "steps",
    "n",
    "batch",
    "width",
    "depth",
    "block",
    "channels",
    "pool",
    "gpinn_terms",
]
NAME = "allen-cahn-two-body"


@pytest.mark.parametrize("name", [NAME, "sine-gordon-two-body"])
def test_defaults_on_the_ball_are_the_papers(name):
    assert dataclasses.asdict(do.train.Settings(name)) == {
        "problem": name,
        "dim": 1000,
        "steps": 10_000,
        "n": 16,
        "seed": 0,
        "learning_rate": 1e-3,
        "batch": 100,
        "data_batch": None,
        "pool": 1,
        "width": 128,
        "depth": 3,
        "block": 1,
        "channels": 1,
        "sharing": "joined",
        "input_scale": 1.0,
        "output_scale": 1.0,
        "anchor": None,
        "probes": "sparse",
        "square": "biased",
        "data_weight": 1.0,
        "weights": None,
        "gpinn": 0.0,
        "gpinn_terms": None,
        "causal": 0.0,
        "balance": 0,
        "optimiser": "adam",
        "fan_in_rate": 0.0,
        "schedule": "linear",
        "precision": "default",
    }


@pytest.mark.parametrize("name", do.pde.names())
def test_defaults_are_what_the_problem_recommends(name):
    settings, recommended = do.train.Settings(name), do.pde.recommended(name)
    for field in dataclasses.fields(recommended):
        assert getattr(settings, field.name) == getattr(recommended, field.name)


def test_explicit_settings_override():
    settings = do.train.Settings("biharmonic", steps=7, optimiser="adam", square="product")
    assert (settings.steps, settings.optimiser, settings.square) == (7, "adam", "product")
    assert settings.dim == 5 and settings.probes == "exact"


def test_unknown_problem():
    with pytest.raises(ValueError, match="no problem called 'kvd-2d'; the nearest names are: kdv"):
        do.train.Settings("kvd-2d")


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("value", [0, -1, True])
def test_sizes(name, value):
    with pytest.raises(
        ValueError,
        match=f"^{name.replace('_', '-')} must be an integer of at least 1, got {value}.$",
    ):
        do.train.Settings(**{"problem": NAME, name: value})


def test_seed():
    with pytest.raises(ValueError, match="^seed must be a non-negative integer, got -1.$"):
        do.train.Settings(NAME, seed=-1)


@pytest.mark.parametrize("name", ["learning_rate", "input_scale"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_numbers(name, value):
    option = name.replace("_", "-")
    with pytest.raises(ValueError, match=f"^{option} must be a finite positive number, got"):
        do.train.Settings(**{"problem": NAME, name: value})


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("data_weight", float("nan"), "a finite positive number, or a list with one for each cond"),
        ("data_weight", [1.0, 0.0], "a finite positive number, or a list with one for each cond"),
        ("data_weight", {"u": 1.0}, "a finite positive number, or a list with one for each cond"),
        ("weights", 2.0, "none, or a dict or a list of finite non-negative numbers, one for each"),
        ("weights", {}, "none, or a dict or a list of finite non-negative numbers, one for each"),
        ("weights", {"mass": -1}, "none, or a dict or a list of finite non-negative numbers, one"),
    ],
)
def test_weights(name, value, expected):
    option = name.replace("_", "-")
    with pytest.raises(ValueError, match=f"^{option} must be {expected}.*, got"):
        do.train.Settings(NAME, **{name: value})


@pytest.mark.parametrize("name", ["gpinn", "fan_in_rate"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), True])
def test_what_may_be_zero(name, value):
    option = name.replace("_", "-")
    with pytest.raises(ValueError, match=f"^{option} must be a finite non-negative number, got"):
        do.train.Settings(NAME, **{name: value})


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "sauce"])
def test_output_scale(value):
    assert do.train.Settings(NAME, output_scale="source").output_scale == "source"
    with pytest.raises(
        ValueError, match="^output-scale must be a finite positive number, or source, got"
    ):
        do.train.Settings(NAME, output_scale=value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "sauce", True])
def test_anchor(value):
    for anchor in (None, "source", 0.0, -3):
        assert do.train.Settings(NAME, anchor=anchor).anchor == anchor
    with pytest.raises(ValueError, match="^anchor must be a finite number, source or none, got"):
        do.train.Settings(NAME, anchor=value)


@pytest.mark.parametrize("name", ["l-bfgs", "gauss-newton"])
def test_a_rate_that_there_is_not(name):
    expected = f"^fan-in-rate must be 0 for the optimiser {name}, which has no learning rate, got"
    with pytest.raises(ValueError, match=expected):
        do.train.Settings(NAME, optimiser=name, fan_in_rate=0.1)


def test_data_batch():
    assert do.train.Settings(NAME, data_batch=7).data_batch == 7
    assert do.train.Settings("kovasznay").data_batch == 50
    assert do.train.Settings("kovasznay", data_batch=None).data_batch is None
    with pytest.raises(ValueError, match="^data-batch must be an integer of at least 1, got 0.$"):
        do.train.Settings(NAME, data_batch=0)


def test_estimator():
    with pytest.raises(
        ValueError, match="^probes must be one of exact, auto, sparse, .* got 'dense'.$"
    ):
        do.train.Settings(NAME, probes="dense")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("optimiser", "acprop, adabelief, .*, muon, nadam"),
        ("schedule", "linear, cosine, exponential, const"),
        ("precision", "default, double"),
    ],
)
def test_training(name, known):
    with pytest.raises(ValueError, match=f"^{name} must be one of {known}.*, got 'lbfgs'.$"):
        do.train.Settings(NAME, **{name: "lbfgs"})


@pytest.mark.parametrize(
    ("name", "word", "near"),
    [
        ("optimiser", "lbfgs", "l-bfgs"),
        ("optimiser", "gaus-newton", "gauss-newton"),
        ("probes", "radmacher", "rademacher"),
    ],
)
def test_the_nearest_name_is_told(name, word, near):
    expected = rf"^{name} must be one of .* \(nearest: {near}\), got '{word}'.$"
    with pytest.raises(ValueError, match=expected):
        do.train.Settings(NAME, **{name: word})


def test_square():
    expected = "^square must be one of biased, product, pairs, got 'both'.$"
    with pytest.raises(ValueError, match=expected):
        do.train.Settings(NAME, square="both")


def test_every_setting_is_documented():
    """In the docstring, and on the command line, by what is stated of it."""
    for field in dataclasses.fields(do.train.Settings):
        assert f"`{field.name}`" in inspect.getdoc(do.train.Settings)
    names = {field.name for field in dataclasses.fields(do.train.Settings)}
    assert {"problem", *stated()} == names
    parser, helps = argparse.ArgumentParser(), {}
    _add_solve(parser)
    for action in parser._actions:
        helps[action.dest] = action.help
    for name, field in stated().items():
        assert field["help"] and helps[name] == field["help"]


@pytest.mark.parametrize("name", stated())
def test_defaults_are_what_they_are_expected_to_be(name):
    kind = stated()[name]["kind"]
    kind.check(name, 0 if name == "seed" else getattr(do.pde.Recommended(), name))
