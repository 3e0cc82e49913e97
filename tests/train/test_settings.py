"""Settings that cannot be used are refused with the setting's name."""

import argparse
import dataclasses
import inspect
import re

import jax
import pytest

import diffop as do
from diffop.__main__ import _add_solve, main
from diffop.train import solving
from diffop.train.report import memory_bytes, peak_memory_mb
from diffop.train.runs import settings_of, up_to_date
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
        "curvature": None,
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


@pytest.mark.parametrize("seed", [2**32, 2**63, 2**64])
def test_seeds_that_keys_do_not_tell_apart(seed):
    """That of 2³² was that of 0, bit for bit; of 2⁶³ no key could be made."""
    assert do.train.Settings(NAME, seed=2**32 - 1).seed == 2**32 - 1
    with pytest.raises(
        ValueError,
        match=r"^seed must be below 2\*\*32 = 4294967296, as random keys tell no others apart, "
        rf"got {seed}.$",
    ):
        do.train.Settings(NAME, seed=seed)


@pytest.mark.parametrize("name", [*INTEGERS, "data_batch", "balance"])
def test_counts_that_no_array_has(name):
    option = name.replace("_", "-")
    with pytest.raises(
        ValueError, match=rf"^{option} must be below 2\*\*31 = 2147483648, got 10000"
    ):
        do.train.Settings(NAME, **{"gpinn": 1.0, name: 10**11})


@pytest.mark.usefixtures("as_users_see_it")
def test_settings_without_an_effect():
    """Refused where they are given, and not where a problem recommends them."""
    settings = do.train.Settings
    assert settings(NAME, gpinn=0.1, gpinn_terms=2).gpinn_terms == 2
    assert settings(NAME, block=4, sharing="summed").sharing == "summed"
    assert settings(NAME, channels=2, sharing="summed").sharing == "summed"
    with pytest.raises(
        ValueError,
        match="^gpinn-terms must be none where gpinn is 0, and there is no gradient to take "
        "components of, got 2.$",
    ):
        settings(NAME, gpinn_terms=2)
    with pytest.raises(
        ValueError,
        match="^sharing must be joined where block and channels are 1, and there is nothing to be "
        "summed, got 'summed'.$",
    ):
        settings(NAME, sharing="summed")


def test_settings_without_an_effect_in_files_from_before():
    """Such runs are read, and go on, without them."""
    given = do.train.Settings(NAME).as_json()
    before = {**given, "gpinn_terms": 2, "sharing": "summed"}
    assert up_to_date(before) == given
    assert settings_of({"settings": before}) == do.train.Settings(NAME)


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("changes", "needed", "lower"),
    [
        # 4 bytes of each number; of the network those of the gradient, too
        ({"batch": 2 * 10**9, "dim": 10**4}, "8e+04", "--batch, --pool or --dim"),
        ({"data_batch": 2 * 10**9, "dim": 10**4}, "8e+04", "--data-batch or --dim"),
        ({"width": 10**8}, "1.6e+08", "--width, --depth or --dim"),
        ({"depth": 10**9, "width": 1000}, "8e+06", "--width, --depth or --dim"),
        ({"steps": 2 * 10**9}, "8", "--steps"),
    ],
)
def test_memory_that_surely_does_not_suffice(changes, needed, lower, tmp_path, monkeypatch):
    """It is known before anything is made, and says what to lower."""
    monkeypatch.setattr(solving, "memory_bytes", lambda: 4 * 10**9)
    given = do.train.Settings(NAME, **{"dim": 10, **changes})
    with pytest.raises(
        MemoryError,
        match=rf"^the run needs {re.escape(needed)} GB of memory or more, and there are 4; lower "
        rf"{lower}.$",
    ):
        do.train.check(given, tmp_path / "run")
    monkeypatch.setattr(solving, "memory_bytes", lambda: None)  # where the system does not tell
    do.train.check(do.train.Settings(NAME, dim=10), tmp_path / "run")


def test_memory_that_turns_out_not_to_suffice(tmp_path, monkeypatch, capsys):
    """As XLA says it of a batch of 2·10⁹."""

    def loss(u, key):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.")

    monkeypatch.setattr(solving, "build_loss", lambda *_: loss)
    words = ["--dim", "4", "--width", "4", "--depth", "1", "--steps", "2", "--out", str(tmp_path)]
    assert main(["solve", NAME, *words]) == 1
    error = capsys.readouterr().err
    assert re.match(
        rf"^diffop: error: the run in {tmp_path} needs more memory than there is "
        r"\(JaxRuntimeError: RESOURCE_EXHAUSTED: .* 9 bytes\); lower --batch, --n, --width or ",
        error,
    )
    assert error.count("\n") == 1


def test_how_much_memory_there_is():
    """At least what this process has taken."""
    there = memory_bytes()
    assert there is None or there > 1e6 * peak_memory_mb() > 0


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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True])
def test_curvature(value):
    for curvature in (None, 0.0, -3):
        assert do.train.Settings(NAME, curvature=curvature).curvature == curvature
    with pytest.raises(ValueError, match="^curvature must be a finite number or none, got"):
        do.train.Settings(NAME, curvature=value)


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
