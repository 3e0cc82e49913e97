"""When values of oracles are computed, and when they are read."""

import numpy as np
import pytest

from . import kept


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """`ask(mode, value)` is what a test gets, and whether its oracle was called."""
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    (tmp_path / "test_it.py").write_text("from . import helper")
    (tmp_path / "helper.py").write_text("number = 1")

    def of(mode, value):
        calls = []
        values = kept.Kept(tmp_path / "test_it.py", mode)
        got = values.value("name", lambda: calls.append(1) or {"a": [np.float64(value)]})
        values.write()
        return got["a"][0], bool(calls)

    return of


def test_what_is_computed_from_the_same_is_not_computed_again(ask, tmp_path):
    assert ask("write", 1.0) == (1.0, True)
    assert ask("check", 2.0) == ask("read", 2.0) == (1.0, False)
    assert ask("compute", 2.0) == (2.0, True)
    (tmp_path / "other.py").write_text("")  # nobody imports it
    assert ask("check", 2.0) == (1.0, False)


@pytest.mark.parametrize("file", ["test_it.py", "helper.py"])
def test_a_change_of_what_it_is_computed_from(ask, tmp_path, file):
    ask("write", 1.0)
    (tmp_path / file).write_text((tmp_path / file).read_text() + "  # changed")
    assert ask("check", 1.0) == (1.0, True)
    with pytest.raises(AssertionError, match="make oracles"):
        ask("check", 2.0)
    assert ask("read", 2.0) == (1.0, False)
    assert ask("write", 2.0) == (2.0, True)
    assert ask("check", 3.0) == (2.0, False)


def test_another_version_of_jax(ask, monkeypatch):
    ask("write", 1.0)
    monkeypatch.setattr(kept.jax, "__version__", "9.9")
    with pytest.raises(AssertionError, match="make oracles"):
        ask("check", 2.0)


def test_what_agrees_is_not_written_again(ask, tmp_path):
    ask("write", 1.0)
    assert ask("write", 1.0 + 1e-12) == (1.0 + 1e-12, True)
    assert ask("read", 0.0) == (1.0, False)


def test_nothing_kept(ask):
    with pytest.raises(KeyError, match="make oracles"):
        ask("read", 1.0)
    with pytest.raises(AssertionError):
        ask("check", 1.0)
