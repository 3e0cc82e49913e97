"""Settings that cannot be used are refused with the setting's name."""

import dataclasses
import inspect

import pytest

import diffop as do

INTEGERS = ["dim", "steps", "n", "batch", "width", "depth"]


def test_defaults_are_the_papers():
    settings = do.train.Settings("allen-cahn-two-body", dim=1000)
    assert dataclasses.asdict(settings) == {
        "problem": "allen-cahn-two-body",
        "dim": 1000,
        "steps": 10_000,
        "n": 16,
        "seed": 0,
        "learning_rate": 1e-3,
        "batch": 100,
        "width": 128,
        "depth": 3,
        "input_scale": 1.0,
        "estimator": "sparse",
    }


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("value", [0, -1, True])
def test_sizes(name, value):
    with pytest.raises(
        ValueError, match=f"^{name} must be an integer of at least 1, got {value}.$"
    ):
        do.train.Settings(**{"problem": "p", "dim": 3, name: value})


def test_seed():
    with pytest.raises(ValueError, match="^seed must be a non-negative integer, got -1.$"):
        do.train.Settings("p", dim=3, seed=-1)


@pytest.mark.parametrize("name", ["learning_rate", "input_scale"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_numbers(name, value):
    option = name.replace("_", "-")
    with pytest.raises(ValueError, match=f"^{option} must be a finite positive number, got"):
        do.train.Settings(**{"problem": "p", "dim": 3, name: value})


def test_estimator():
    with pytest.raises(
        ValueError, match="^estimator must be one of sparse, exact, .* got 'dense'.$"
    ):
        do.train.Settings("p", dim=3, estimator="dense")


def test_every_setting_is_documented():
    for field in dataclasses.fields(do.train.Settings):
        assert f"`{field.name}`" in inspect.getdoc(do.train.Settings)
