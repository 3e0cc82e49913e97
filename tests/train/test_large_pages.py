"""Processes that begin again with large pages."""

import os
import subprocess
import sys

import pytest

import diffop as do
from diffop.__main__ import main
from diffop.train.large_pages import wanted

NAME = "allen-cahn-two-body"
LARGE = ["--dim", str(2**23), "--batch", "1"]


def _settings(dim, batch):
    return do.train.Settings(NAME, dim=dim, batch=batch)


@pytest.mark.parametrize(("dim", "batch"), [(2**23, 1), (2**16, 2**7), (83_887, 100)])
def test_from_32_mib_on(dim, batch, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert wanted(_settings(dim, batch), {"A": "b"}) == {
        "A": "b",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }
    assert wanted(_settings(dim - 1, batch), {"A": "b"}) is None


def test_what_the_environment_says_stays(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    large, other = _settings(10**6, 100), "glibc.malloc.arena_max=1"
    found = wanted(large, {"GLIBC_TUNABLES": other})
    assert found == {"GLIBC_TUNABLES": f"{other}:glibc.malloc.hugetlb=1"}
    assert wanted(large, found) is None
    assert wanted(large, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}) is None


def test_on_linux_only(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert wanted(_settings(10**6, 100), {}) is None


def test_a_process_of_somebody_else_goes_on(tmp_path, monkeypatch):
    """Where words are given, this may be no process of the command line."""
    (tmp_path / "mine").touch()
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("began again"))
    assert main(["solve", NAME, *LARGE, "--out", str(tmp_path)]) == 2


@pytest.mark.slow("starts processes")
@pytest.mark.skipif(sys.platform != "linux", reason="the GNU C library's")
@pytest.mark.parametrize("options", [[], ["-u", "-W", "error"]])
def test_a_command_begins_again_with_its_words(options, tmp_path):
    """The problem's module says in which environment it is; a directory that is not empty ends what
    would have been a run.
    """
    (tmp_path / "mine").touch()
    words = ["tests.train.environment:Ball", *LARGE, "--out", str(tmp_path)]
    command = [sys.executable, *options, "-m", "diffop", "solve", *words]
    environment = {name: os.environ[name] for name in os.environ if name != "GLIBC_TUNABLES"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 2 and f"{tmp_path} is not empty" in run.stderr
    assert run.stdout.split() == ["None", "glibc.malloc.hugetlb=1"]
