"""Settings that cannot be used are refused with the setting's name."""

import argparse
import dataclasses
import inspect
import re

import jax
import numpy as np
import pytest

import diffop as do
from diffop.__main__ import _add_solve, main
from diffop.kinds import as_word, from_word
from diffop.runs.settings import meanings, stated
from diffop.train import checking, solving
from diffop.train.memory import memory_bytes, peak_memory_mb

from ..problems import FIXED
from .own import Ball

INTEGERS = "dim steps n batch width depth block channels pool gpinn_terms".split()
NAME = "allen-cahn-two-body"


ON_THE_BALL = {"allen-cahn", "poisson", "sine-gordon"}
PAPERS_BALL = {f"{name}-{bodies}-body" for name in ON_THE_BALL for bodies in ("two", "three")}
PAPERS_IN_TIME = {"semilinear-heat", "semilinear-allen-cahn", "semilinear-sine-gordon"}


@pytest.mark.parametrize("name", sorted(PAPERS_BALL))
def test_the_papers_settings_on_the_ball(name):
    """Of its appendix "Experiment setup"."""
    assert dataclasses.asdict(do.train.Settings.of_paper(name)) == {
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


@pytest.mark.parametrize("name", sorted(PAPERS_IN_TIME))
def test_the_papers_settings_in_time(name):
    """Of the same appendix; the number of jets is that of its tables."""
    ball, settings = do.train.Settings.of_paper(NAME), do.train.Settings.of_paper(name)
    assert dataclasses.asdict(settings) == dataclasses.asdict(ball) | {
        "problem": name,
        "dim": 10,
        "n": 10,
        "batch": 2000,
        "data_batch": 100,
        "width": 1024,
        "data_weight": 20.0,
        "schedule": "exponential",
    }


def test_the_papers_settings_but_for_those_that_are_given():
    settings = do.train.Settings.of_paper("semilinear-heat", dim=100, steps=5, data_batch=None)
    paper = do.pde.paper("semilinear-heat", 100)
    assert (settings.dim, settings.steps, settings.data_batch) == (100, 5, None)
    assert dataclasses.replace(paper, steps=5, data_batch=None) == do.pde.Recommended(
        **{field.name: getattr(settings, field.name) for field in dataclasses.fields(paper)}
    )


@pytest.mark.parametrize("name", sorted({*do.pde.names(), "mine:Transport"}))
def test_what_the_paper_trains(name):
    if name in PAPERS_BALL | PAPERS_IN_TIME:
        assert do.pde.paper(name, 5).dim == 5
        return
    for ask in (do.pde.paper, do.train.Settings.of_paper):
        with pytest.raises(
            ValueError, match=f"^the paper trains no network on {name}; it does on allen-cahn-"
        ):
            ask(name)


@pytest.mark.parametrize("name", do.pde.names())
def test_defaults_are_what_the_problem_recommends(name):
    """In every dimension. All that is recommended can be used."""
    for dim in (None,) if name in FIXED else (None, 5, 17, 1000, 12_345):
        given = {} if dim is None else {"dim": dim}
        settings, recommended = do.train.Settings(name, **given), do.pde.recommended(name, dim)
        assert recommended.dim == (dim or do.pde.recommended(name).dim)
        for field in dataclasses.fields(recommended):
            assert getattr(settings, field.name) == getattr(recommended, field.name)


def test_what_is_recommended_depends_on_the_dimension():
    """Of a name, and of objects, whose dimension is their own."""
    for dim, steps in ((100, 3000), (100_000, 400)):
        problem = do.pde.ManyBody("poisson", 2, dim, key=jax.random.key(0))
        for settings in (
            do.train.Settings(NAME, dim=dim),
            do.train.Settings(problem),
            do.train.Settings(problem, dim=dim),
        ):
            assert (settings.dim, settings.steps) == (dim, steps)
    first_layer = [
        do.pde.recommended(NAME, dim).fan_in_rate / dim**0.5 for dim in (10**4, 10**5, 10**6)
    ]
    assert first_layer == pytest.approx([3e-3] * 3, rel=1e-2)


class ByClass(Ball):
    recommended = do.pde.ByDimension(3, lambda dim: do.pde.Recommended(width=10 * dim))


def test_a_class_of_ones_own_recommends_by_dimension():
    assert (do.train.Settings(ByClass).dim, do.train.Settings(ByClass).width) == (3, 30)
    assert do.train.Settings(ByClass, dim=7).width == 70
    assert do.train.Settings(ByClass(7)).width == 70
    assert do.train.Settings(ByClass, dim=7, width=5).width == 5


def test_a_class_whose_objects_recommend_each_its_own(tmp_path):
    with pytest.raises(ValueError, match="ManyBody is made with equation, bodies, of which nothin"):
        do.train.check(do.train.Settings(do.pde.ManyBody, dim=10), tmp_path / "run")


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("dim", [0, -1, "x", 2.5, True, 10**400])
@pytest.mark.parametrize(
    "ask",
    [
        do.pde.recommended,
        do.pde.paper,
        lambda name, dim: do.train.Settings(name, dim=dim),
        lambda name, dim: do.train.Settings.of_paper(name, dim=dim),
        lambda _, dim: do.pde.ByDimension(dim, lambda _: do.pde.Recommended()).at(),
        lambda _, dim: do.pde.Recommended().at(dim),
    ],
    ids=["recommended", "paper", "Settings", "of_paper", "ByDimension", "Recommended"],
)
def test_what_is_no_dimension(ask, dim):
    expected = "below 2**31 = 2147483648" if dim == 10**400 else "an integer of at least 1"
    with pytest.raises(ValueError, match=f"^dim must be {re.escape(expected)}, got {dim!r}.$"):
        ask(NAME, dim)


@pytest.mark.usefixtures("as_users_see_it")
def test_numbers_of_other_types_are_dimensions():
    assert do.pde.recommended(NAME, np.int64(5)) == do.pde.recommended(NAME, 5)
    assert type(do.pde.recommended(NAME, np.int64(5)).dim) is int


def test_what_is_recommended_and_cannot_go_with_what_is_given():
    """It is left out; where it is given itself it is refused."""
    assert do.train.Settings(NAME).fan_in_rate and do.train.Settings(NAME).gpinn
    assert do.train.Settings(NAME, optimiser="gauss-newton").fan_in_rate == 0
    assert do.train.Settings(NAME, probes="sdgd").gpinn == 0
    assert do.train.Settings(NAME, probes="sdgd", gpinn=1.0).gpinn == 1


def test_explicit_settings_override():
    settings = do.train.Settings("biharmonic", steps=7, optimiser="adam", square="product")
    assert (settings.steps, settings.optimiser, settings.square) == (7, "adam", "product")
    assert settings.dim == 5 and settings.probes == "exact"


NAN, INF = float("nan"), float("inf")
POSITIVE = "a finite positive number"
NUMBERS = "a dict or a list of finite non-negative numbers, one for each.*"
REFUSED = [
    (INTEGERS, [0, -1, True], "an integer of at least 1(, or none)?"),
    (["data_batch"], [0], "an integer .*, or none"),
    ([*INTEGERS, "data_batch", "balance"], [10**11], "below 2[*]{2}31 = 2147483648"),
    (["seed", "balance"], [-1], "a non-negative integer"),
    # that of 2³² was that of 0, bit for bit; of 2⁶³ no key could be made
    (
        ["seed"],
        [2**32, 2**63, 2**64],
        "below 2[*]{2}32 = 4294967296, as random keys tell no other.*",
    ),
    (["learning_rate", "input_scale"], [0.0, -1.0, NAN, INF], POSITIVE),
    (["output_scale"], [0.0, -1.0, NAN, "sauce"], f"{POSITIVE}, or source"),
    (
        ["data_weight"],
        [NAN, [1.0, 0.0], {"u": 1.0}],
        f"{POSITIVE}, or a list with one for each c.*",
    ),
    (["weights"], [2.0, {}, {"mass": -1}], f"none, or {NUMBERS}"),
    (["gpinn", "fan_in_rate", "causal"], [-0.1, NAN, INF, True], "a finite non-negative number"),
    (["anchor"], [NAN, INF, "sauce", True], "a finite number, or source, or none"),
    (["curvature"], [NAN, INF, True], "a finite number, or none"),
    (["probes"], ["dense"], "one of exact, auto, sparse, .*"),
    (["probes"], ["radmacher"], r"one of .* \(nearest: rademacher\)"),
    (["optimiser"], ["lbfgs"], r"one of acprop, adabelief, .*, muon, nadam.* \(nearest: l-bfgs\)"),
    (["optimiser"], ["gaus-newton"], r"one of .* \(nearest: gauss-newton\)"),
    (["schedule"], ["lbfgs"], "one of linear, cosine, exponential, const.*"),
    (["precision"], ["lbfgs"], "one of default, double"),
    (["square"], ["both"], "one of biased, product, pairs"),
]


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [(name, each, what) for names, values, what in REFUSED for name in names for each in values],
)
def test_settings_out_of_range(name, value, expected):
    got = re.escape(repr(value))
    with pytest.raises(
        ValueError, match=f"^{name.replace('_', '-')} must be {expected}, got {got}.$"
    ):
        do.train.Settings(NAME, **{"gpinn": 1.0, name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("seed", [2**32 - 1]),
        ("output_scale", ["source"]),
        ("anchor", [None, "source", 0.0, -3]),
        ("curvature", [None, 0.0, -3]),
        ("data_batch", [7]),
    ],
)
def test_settings_within_range(name, values):
    for value in values:
        assert getattr(do.train.Settings(NAME, **{name: value}), name) == value


def test_data_that_is_recommended():
    assert do.train.Settings("kovasznay").data_batch == 50
    assert do.train.Settings("kovasznay", data_batch=None).data_batch is None


def test_unknown_problem():
    with pytest.raises(ValueError, match="no problem called 'kvd-2d'; the nearest names are: kdv"):
        do.train.Settings("kvd-2d")


@pytest.mark.usefixtures("as_users_see_it")
def test_settings_without_an_effect():
    """Refused where they are given, and not where a problem recommends them."""
    settings = do.train.Settings
    assert settings(NAME, gpinn=0.1, gpinn_terms=2).gpinn_terms == 2
    assert settings(NAME, block=4, sharing="summed").sharing == "summed"
    assert settings(NAME, channels=2, sharing="summed").sharing == "summed"
    assert settings(NAME, sharing="sliding").sharing == "sliding"  # a function of each coordinate
    assert settings("poisson-cube", block=1, channels=1, sharing="joined").block == 1
    assert settings(NAME, gpinn_terms=2).gpinn_terms == 2  # of the gradient that is recommended
    with pytest.raises(
        ValueError,
        match="^gpinn-terms must be none where gpinn is 0, and there is no gradient to take "
        "components of, got 2.$",
    ):
        settings(NAME, gpinn=0, gpinn_terms=2)
    with pytest.raises(
        ValueError,
        match="^sharing must be joined where block and channels are 1, and there is nothing to be "
        "summed, got 'summed'.$",
    ):
        settings(NAME, sharing="summed")


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("changes", "needed", "lower"),
    [
        # 4 bytes of each number; of the network those of the gradient, too
        ({"batch": 2 * 10**9, "dim": 10**4}, "8e+04", "--batch, --pool or --dim"),
        ({"data_batch": 2 * 10**9, "dim": 10**4}, "8e+04", "--data-batch or --dim"),
        ({"width": 10**8, "depth": 3}, "1.6e+08", "--width, --depth or --dim"),
        ({"depth": 10**9, "width": 1000}, "8e+06", "--width, --depth or --dim"),
        ({"steps": 2 * 10**9}, "8", "--steps"),
    ],
)
def test_memory_that_surely_does_not_suffice(changes, needed, lower, tmp_path, monkeypatch):
    """It is known before anything is made, and says what to lower."""
    monkeypatch.setattr(checking, "memory_bytes", lambda: 4 * 10**9)
    given = do.train.Settings(NAME, **{"dim": 10, **changes})
    with pytest.raises(
        MemoryError,
        match=rf"^the run needs {re.escape(needed)} GB of memory or more, and there are 4; lower "
        rf"{lower}.$",
    ):
        do.train.check(given, tmp_path / "run")
    monkeypatch.setattr(checking, "memory_bytes", lambda: None)  # where the system does not tell
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


@pytest.mark.parametrize("name", ["l-bfgs", "gauss-newton"])
def test_a_rate_that_there_is_not(name):
    expected = f"^fan-in-rate must be 0 for the optimiser {name}, which has no learning rate, got"
    with pytest.raises(ValueError, match=expected):
        do.train.Settings(NAME, optimiser=name, fan_in_rate=0.1)


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
    for name, kind in stated().items():
        assert meanings()[name] in helps[name]
        assert all(word in helps[name] for word in kind.choices)
    assert helps["n"] == (
        "how many draws of jets are made of each homogeneous part of an operator at each step"
    )
    assert helps["schedule"].endswith(" (linear, cosine, exponential, constant)")


@pytest.mark.parametrize("name", stated())
def test_defaults_are_what_they_are_expected_to_be(name):
    stated()[name].check(name, 0 if name == "seed" else getattr(do.pde.Recommended(), name))


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("none", None),
        ("5", 5),
        ("-1e-3", -1e-3),
        ("1,2.5", [1, 2.5]),
        ("a=1,b=2e3", {"a": 1, "b": 2e3}),
        ("a=1", {"a": 1}),
        ("adam", "adam"),
        ("my.module:adam", "my.module:adam"),
        *((word, word) for word in ("a=1,2", "a=1,a=2", "a=b", "1,x", "=1,2", "")),
    ],
)
def test_words_of_the_command_line(word, value):
    found = from_word(word)
    assert found == value and type(found) is type(value)
    if value != word:
        assert from_word(as_word(found)) == found
