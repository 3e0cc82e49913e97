"""What a run keeps is whole at every moment: after a kill, and after a power cut.

Each call that forces something to the disk or renames it is recorded, with all that lies in the
folder right before and after it: what a kill there would leave.
"""

import errno
import os
import pathlib
import shutil

import jax.numpy as jnp
import pytest

import diffop as do
from diffop.runs import directory as runs
from diffop.runs.metrics import METRICS
from diffop.storage import disk
from diffop.train.loggers import MetricsFile

from .toy import settings, state


class Recorded:
    """The calls, in order, and copies of a folder around each of them."""

    def __init__(self, folder, copies, monkeypatch):
        self._folder, self._copies = folder, copies
        self.calls, self.moments = [], []
        fsync, replace = os.fsync, os.replace

        def recorded_fsync(descriptor):
            path = pathlib.Path(os.readlink(f"/proc/self/fd/{descriptor}"))
            self._around(lambda: fsync(descriptor), ("fsync", self._name(path)))

        def recorded_replace(source, target):
            names = (self._name(pathlib.Path(source)), self._name(pathlib.Path(target)))
            self._around(lambda: replace(source, target), ("replace", *names))

        monkeypatch.setattr(os, "fsync", recorded_fsync)
        monkeypatch.setattr(os, "replace", recorded_replace)

    def forget(self):
        self.calls.clear()
        self.moments.clear()
        shutil.rmtree(self._copies)

    def _name(self, path):
        inside = path.is_relative_to(self._folder)
        return path.relative_to(self._folder).as_posix() if inside else "outside"

    def _around(self, act, call):
        if "outside" in call:  # what JAX compiles, for instance
            return act()
        self._keep()
        act()
        self._keep()
        self.calls.append(call)

    def _keep(self):
        moment = self._copies / str(len(self.moments))
        shutil.copytree(self._folder, moment)
        self.moments.append(moment)


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "copies").mkdir()
    return Recorded(folder, tmp_path / "copies", monkeypatch), folder


def write_model(folder, number):
    runs.save_model(folder, {"w": jnp.full(3, float(number))})


def write_run(folder, number):
    runs._write_json(folder / "run.json", {"number": number})


def write_metrics(folder, number):
    """Goes on from a step: earlier lines are kept."""
    if number == 1:
        lines = '{"step": 1, "loss": 1.0, "error": null, "seconds": 0.0}\n' * 2
        (folder / METRICS).write_text(lines)
    MetricsFile(folder, 2 - number, print)


@pytest.mark.parametrize(
    ("name", "write"),
    [("model.eqx", write_model), ("run.json", write_run), (METRICS, write_metrics)],
)
def test_a_file_is_the_old_one_or_the_new_one(name, write, recorded):
    record, folder = recorded
    write(folder, 1)
    old = (folder / name).read_bytes()
    record.forget()
    write(folder, 2)
    new = (folder / name).read_bytes()
    unfinished = f"{name}.tmp"
    assert record.calls == [("fsync", unfinished), ("replace", unfinished, name), ("fsync", ".")]
    found = [(moment / name).read_bytes() for moment in record.moments]
    assert old != new and found == [old] * 3 + [new] * 3
    assert (record.moments[1] / f"{name}.tmp").read_bytes() == new  # all of it is on the disk


def failing(number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    write_model(tmp_path, 1)
    old = (tmp_path / "model.eqx").read_bytes()
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        write_model(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["model.eqx"]
    assert (tmp_path / "model.eqx").read_bytes() == old


def test_folders_that_keep_no_names_back(tmp_path, monkeypatch):
    """A file system may say that it cannot sync a folder; nothing else is passed over."""
    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    disk.sync(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Invalid argument"):
        disk.sync(tmp_path / "file")


def test_new_folders_have_their_names_on_the_disk(recorded):
    record, folder = recorded
    disk.make_folder(folder / "a" / "b")
    disk.make_folder(folder / "a" / "b")
    assert record.calls == [("fsync", "."), ("fsync", "a")]


def test_a_checkpoint_is_there_as_a_whole_or_not_at_all(recorded):
    """At each moment a kill leaves the one before or the new one, and none that is damaged."""
    record, folder = recorded
    checkpoints = do.train.Checkpoints(folder, keep=1)
    checkpoints.save(state(1))
    record.forget()
    checkpoints.save(state(2))
    files = {path.relative_to(folder / "2").as_posix() for path in (folder / "2").rglob("*")}
    assert "SHA256SUMS" in files
    renamed = record.calls.index(("replace", "2.unfinished", "2"))
    before = record.calls[:renamed]
    assert {("fsync", f"2.unfinished/{name}") for name in files} < set(before)
    assert before[-1] == ("fsync", "2.unfinished")
    assert record.calls[renamed + 1 :] == [("fsync", ".")]
    newest = []
    for moment in record.moments:
        said = []
        saved = do.train.Checkpoints(moment, tell=said.append).newest(state(0))
        assert saved is not None and not said
        newest.append(saved.state.step)
    assert newest == [1] * (2 * renamed + 1) + [2] * 3


def test_the_metrics_are_on_the_disk_before_the_checkpoint(recorded):
    record, folder = recorded
    do.train.solve(settings(n=16, width=4, batch=4), folder / "new", checkpoint_every=2)
    calls = [call for call in record.calls if call[0] == "replace" or "metrics" in call[1]]
    commit = calls.index(("replace", "new/checkpoints/2.unfinished", "new/checkpoints/2"))
    assert calls[commit - 1] == ("fsync", f"new/{METRICS}")
    moment = record.moments[2 * record.calls.index(calls[commit])]
    assert (moment / "new" / METRICS).read_text().count("\n") == 1
    assert calls[-1] == ("replace", "new/report.json.tmp", "new/report.json")
