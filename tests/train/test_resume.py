"""Runs that were stopped and go on: the results are those of a run that never stopped."""

import dataclasses
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import threading
import zipfile

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.parallel.processes import Stop
from diffop.runs import directory as runs
from diffop.runs.metrics import Metric, read_metrics
from diffop.storage import disk
from diffop.storage.disk import write_digests
from diffop.streams import VERSION
from diffop.train import checkpoints, progress as report, solving
from diffop.train.loggers import MetricsFile
from diffop.train.model import Keys

from .toy import Killed, Noting, settings

SETTINGS = settings(steps=800)
TIMES = ("it_per_s", "compile_s", "peak_memory_mb", "resumed_at")


def killed_after(step, monkeypatch):
    """Lets a run die after the checkpoint of a step and the dispatch that follows."""
    call = report.Progress.__call__

    def die(self, state):
        call(self, state)
        if state.step > step:
            raise Killed

    monkeypatch.setattr(report.Progress, "__call__", die)


def stopped(directory, monkeypatch, step, every, settings=SETTINGS, **options):
    """A run that has died after the checkpoint of a step."""
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_after(step, patch)
        do.train.solve(settings, directory, checkpoint_every=every, **options)


def numbers(report):
    return {name: value for name, value in dataclasses.asdict(report).items() if name not in TIMES}


def noted(directory):
    return [metric._replace(seconds=0.0) for metric in read_metrics(directory)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that never stopped, with a checkpoint at its end."""
    directory = tmp_path_factory.mktemp("whole")
    return do.train.solve(SETTINGS, directory, checkpoint_every=800), directory


def losses(directory):
    """The loss at each step, from the last checkpoint."""
    like = solving.State.initial(do.train.load(directory), solving.build_optimiser(SETTINGS))
    saved = do.train.Checkpoints(
        directory / "checkpoints", configuration=dataclasses.asdict(SETTINGS)
    ).newest(like)
    assert saved is not None
    return saved.state.losses


def test_every_number_is_that_of_a_run_that_never_stopped(whole, tmp_path, monkeypatch, capsys):
    """Also after a line that was not written to its end, and with other versions, which is said."""
    stopped(tmp_path, monkeypatch, 300, 200, resume=True)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 500, "lo')
    assert [metric.step for metric in read_metrics(tmp_path)] == [100, 200, 300, 400]
    environment = {**checkpoints.environment(), "jax": "0.0.1"}
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "environment", lambda: environment)
        stopped(tmp_path, monkeypatch, 500, 200, resume=True)
    capsys.readouterr()
    report = do.train.solve(SETTINGS, tmp_path, resume=True, checkpoint_every=200)
    assert report.resumed_at == [200, 400]
    assert ", resumed after step 200, 400" in report.as_text()
    said = capsys.readouterr().err
    assert f"going on after step 400 in {tmp_path}." in said
    assert "was made with other versions (jax 0.0.1 before, " in said
    expected, directory = whole
    assert numbers(report) == numbers(expected)
    assert (tmp_path / "model.eqx").read_bytes() == (directory / "model.eqx").read_bytes()
    assert noted(tmp_path) == noted(directory)
    np.testing.assert_array_equal(losses(tmp_path), losses(directory))
    seconds = [metric.seconds for metric in read_metrics(tmp_path)]
    assert seconds == sorted(seconds)
    assert report.compile_s > expected.compile_s / 10 and report.it_per_s > 0


def test_weights_of_terms_are_those_of_a_run_that_never_stopped(tmp_path, monkeypatch):
    terms = {"causal": 1.0, "balance": 30, "optimiser": "adam", "precision": "default"}
    sizes = {"steps": 400, "width": 4, "depth": 1, "batch": 8, "data_batch": 4}
    settings = do.train.Settings("g-kdv-1d", **sizes, **terms)
    whole = do.train.solve(settings, tmp_path / "whole")
    stopped(tmp_path / "stopped", monkeypatch, 200, 100, settings)
    again = do.train.solve(settings, tmp_path / "stopped", resume=True)
    assert again.resumed_at == [200] and numbers(again) == numbers(whole)
    plain = do.train.solve(dataclasses.replace(settings, causal=0.0, balance=0), tmp_path / "plain")
    assert plain.loss != whole.loss


def test_models_of_checkpoints(tmp_path, monkeypatch, whole):
    """While a run goes on, and the best one: the one with the smallest error."""
    stopped(tmp_path, monkeypatch, 600, 100)
    with pytest.raises(FileNotFoundError, match='no report.json; .* ask for a checkpoint="last"'):
        do.train.load(tmp_path)
    errors = {metric.step: metric.error for metric in read_metrics(tmp_path)}
    kept = [int(path.name) for path in (tmp_path / "checkpoints").iterdir()]
    best = min((step for step in errors if step <= 600), key=lambda step: errors[step])
    assert sorted(kept) == sorted({best, 500, 600})

    def error(checkpoint):
        keys = Keys.of(SETTINGS)
        problem = do.pde.make(SETTINGS.problem, 4, key=keys.problem)
        points = do.train.FixedPoints(problem, keys.test)
        return points.errors(do.train.load(tmp_path, checkpoint), 0.1).rel_l2

    assert error("last") == error(600) == errors[600]
    assert error("best") == errors[best]
    with pytest.raises(ValueError, match='a step, "last" or "best" as checkpoint, got \'first\''):
        do.train.load(tmp_path, "first")
    with pytest.raises(FileNotFoundError, match="no checkpoint of step 50; there are"):
        do.train.load(tmp_path, 50)


def test_without_checkpoints(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run; name the directory of one"):
        do.train.load(tmp_path, "last")
    do.train.solve(SETTINGS, tmp_path, checkpoint_every=0)
    assert not (tmp_path / "checkpoints").exists()
    with pytest.raises(FileNotFoundError, match="checkpoints has no checkpoint yet; ask later."):
        do.train.load(tmp_path, "best")


def test_overwriting_removes_checkpoints_and_nothing_else(tmp_path):
    do.train.Checkpoints(tmp_path / "checkpoints").save(
        do.train.State(3, jnp.ones(2), (), np.ones(3), 0.0, 0.0)
    )
    (tmp_path / "checkpoints" / "notes.txt").write_text("mine")
    (tmp_path / "metrics.jsonl").write_text("")
    runs.begin(tmp_path, {}, resume=False)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"checkpoints", "checkpoints/notes.txt", "run.json"}


def test_a_run_that_waits_can_be_resumed_or_overwritten(tmp_path):
    run = {"settings": dataclasses.asdict(SETTINGS), "streams": VERSION}
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(FileExistsError, match="or --resume .resume=True. to go on with its run"):
        do.train.check(SETTINGS, tmp_path)
    do.train.check(SETTINGS, tmp_path, resume=True)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match="run.json is not the JSON file that a run writes"):
        do.train.check(SETTINGS, tmp_path, resume=True)


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_loss_that_is_not_finite_names_the_last_good_checkpoint(tmp_path, monkeypatch):
    """The update of step 251 is not a number; one sees it at step 252, in the third dispatch."""
    bad = optax.scale_by_schedule(lambda made: jnp.where(made == 250, jnp.nan, 1.0))
    monkeypatch.setattr(
        solving, "build_optimiser", lambda settings: optax.chain(optax.adam(1e-3), bad)
    )
    with pytest.raises(
        do.train.NonFiniteLossError,
        match=rf"^the loss became nan at step 252 of 800 \(its terms: residual nan\); the last "
        rf"good checkpoint is {tmp_path}/checkpoints/200; a smaller learning rate usually helps.$",
    ):
        do.train.solve(SETTINGS, tmp_path, checkpoint_every=100)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["100", "200"]
    assert read_metrics(tmp_path)[-1].step == 200


def test_results_on_a_full_disk(tmp_path, monkeypatch, capsys, whole):
    """Of the network, and then of the pictures, without which the run ends."""
    with monkeypatch.context() as patch:
        patch.setattr(runs, "save_model", full)
        with pytest.raises(
            OSError,
            match=f"could not be written to {tmp_path}: .*No space left on device; make room for "
            f"them and give the same command with --resume .*: the last good checkpoint is "
            f"{tmp_path}/checkpoints/800.",
        ):
            do.train.solve(SETTINGS, tmp_path, checkpoint_every=400)
    monkeypatch.setattr(solving, "save_curves", full)
    assert numbers(do.train.solve(SETTINGS, tmp_path, resume=True)) == numbers(whole[0])
    assert f"the pictures in {tmp_path} could not be written: [Errno" in capsys.readouterr().err
    assert (tmp_path / "report.json").is_file() and (tmp_path / "model.eqx").is_file()


def test_metrics_on_a_full_disk(tmp_path, monkeypatch):
    """Said once; what was noted before stays."""
    said = []
    file = MetricsFile(tmp_path, 0, said.append)
    file.log(Metric(1, 0.5, None, 0.1))
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "open", full)
        file.log(Metric(2, 0.5, None, 0.1))
        file.log(Metric(3, 0.5, None, 0.1))
    file.log(Metric(4, 0.5, 0.25, 0.1))
    (sentence,) = said
    assert f"{tmp_path}/metrics.jsonl could not be written: [Errno 28] No space" in sentence
    assert read_metrics(tmp_path) == [Metric(1, 0.5, None, 0.1), Metric(4, 0.5, 0.25, 0.1)]


def test_a_signal_stops_the_run_with_a_checkpoint(tmp_path, whole):
    """Listeners are closed, and know of it when the run goes on."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")

    class Interrupting(Noting):
        def after(self, state):
            super().after(state)
            if state.step == 200:
                signal.raise_signal(signal.SIGTERM)

    before, listener, again = signal.getsignal(signal.SIGTERM), Interrupting(), Interrupting()
    with pytest.raises(KeyboardInterrupt) as caught:
        do.train.solve(SETTINGS, tmp_path, listeners=[listener])
    assert listener.told == [100, 200, "failed"]
    error = caught.value
    assert isinstance(error, do.train.Interrupted) and error.signal == signal.SIGTERM
    assert re.match(
        rf"stopped by SIGTERM after step (\d+) of 800 \(the last good checkpoint is {tmp_path}/"
        rf"checkpoints/\1\); the same command with --resume",
        str(error),
    )
    assert signal.getsignal(signal.SIGTERM) is before
    ended = do.train.solve(SETTINGS, tmp_path, resume=True, listeners=[again])
    assert numbers(ended) == numbers(whole[0]) and ended.resumed_at == [200]
    assert again.resumed == {"sum": 300} and again.told[0] == 300


def test_signals_outside_the_main_thread_are_left_alone():
    before, stops = signal.getsignal(signal.SIGINT), []

    def listen():
        with Stop(stops.append) as stop:
            stops.append(stop.signal)

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert stops == [None] and signal.getsignal(signal.SIGINT) is before


def begun(directory):
    """The settings of a run, which is put there as its process left it."""
    with zipfile.ZipFile(pathlib.Path(__file__).with_name("begun.zip")) as archive:
        archive.extractall(directory)
    return settings(dim=3, steps=200, width=4, batch=4)


@pytest.mark.parametrize("streams", [None, 1])
def test_a_run_of_other_random_numbers_does_not_go_on(tmp_path, streams):
    """One that was begun when a seed was another problem and other points."""
    settings, path = begun(tmp_path), tmp_path / "run" / "run.json"
    known = json.loads(path.read_text())
    del known["streams"]
    path.write_text(json.dumps(known if streams is None else {**known, "streams": streams}))
    message = "run was begun by another version of diffop, which draws other random numbers from a"
    with pytest.raises(do.train.CheckpointMismatchError, match=message):
        do.train.solve(settings, tmp_path / "run", resume=True)
    assert not (tmp_path / "run" / "report.json").exists()


def test_a_run_begun_before(tmp_path):
    """One that was killed after its checkpoint of step 100, with the settings and the layout of
    checkpoints of November 2026: it goes on to what a run from beginning to end reaches now.
    """
    settings = begun(tmp_path)
    before = noted(tmp_path / "run")
    now = do.train.solve(settings, tmp_path / "run", resume=True)
    whole = do.train.solve(settings, tmp_path / "whole")
    assert now.resumed_at == [100] and whole.resumed_at == []
    assert [metric.step for metric in before] == [100, 200]
    for name in ("rel_l1", "rel_l2", "null_rel_l2", "loss"):
        np.testing.assert_allclose(getattr(now, name), getattr(whole, name), rtol=1e-4)
    for run in (before, noted(tmp_path / "run")):
        for found, expected in zip(run, noted(tmp_path / "whole"), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_two_runs_into_one_directory(tmp_path, monkeypatch, capsys):
    """The second one is refused, however it is asked for, and the first goes on as if alone."""
    call, refused = report.Progress.__call__, []

    def again(self, state):
        call(self, state)
        for how in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(
                FileExistsError,
                match=f"^another run is writing into {tmp_path}; wait until it has ended, or name",
            ):
                do.train.solve(SETTINGS, tmp_path, **how)
            refused.append(state.step)

    settings = dataclasses.replace(SETTINGS, steps=200)
    with monkeypatch.context() as patch:
        patch.setattr(report.Progress, "__call__", again)
        do.train.solve(settings, tmp_path)
    assert refused == [100, 100, 200, 200]
    assert [metric.step for metric in noted(tmp_path)] == [100, 200]
    do.train.solve(settings, tmp_path, overwrite=True)


def test_file_systems_without_locks(tmp_path, monkeypatch):
    """As some over a network are: a run is made there, too; other failures are not passed over."""

    def fails(number):
        def flock(*_):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(runs.fcntl, "flock", flock)

    fails(errno.ENOSYS)
    with runs.claimed(tmp_path):
        pass
    fails(errno.EIO)
    with pytest.raises(OSError, match="Input/output error"), runs.claimed(tmp_path):
        pass


def test_room_is_known_before_the_run(tmp_path, monkeypatch, capsys, whole):
    """For the network and four checkpoints, each of which has it thrice: Adam has two moments."""
    usage, numbers = shutil.disk_usage(tmp_path), 4 * (4 * 8 + 8 + 8 + 1)
    needed = 13 * numbers + 4 * (800 * 8 + 2 * 4) + 5 * 2**20

    def free(size):
        monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: usage._replace(free=size))

    free(needed)
    do.train.check(SETTINGS, tmp_path / "new")
    free(needed - 1)
    with pytest.raises(
        OSError,
        match=f"^there is room for 5 MB in {tmp_path}/new, and the run may need 5 for its network "
        r"and checkpoints; make room, or say --checkpoint-every 0 \(checkpoint_every=0\) for no",
    ):
        do.train.solve(SETTINGS, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    do.train.check(SETTINGS, tmp_path / "new", checkpoint_every=0)
    assert do.train.solve(SETTINGS, whole[1], resume=True) == whole[0]  # which has ended
    words = ["--dim", "4", "--steps", "800", "--out", str(tmp_path / "new")]
    free(2**20)
    assert main(["solve", "allen-cahn-two-body", *words]) == 2
    assert "there is room for 1 MB in" in capsys.readouterr().err


def aged(text):
    """A file of a run as it was before there were some settings."""

    def older(found):
        if isinstance(found, dict):
            later = ("output_scale", "anchor", "curvature", "fan_in_rate", "weights", "precision")
            return {name: older(each) for name, each in found.items() if name not in later}
        return [older(each) for each in found] if isinstance(found, list) else found

    return json.dumps(older(json.loads(text)))


def test_a_run_from_before_some_settings(tmp_path, monkeypatch, whole):
    """In the run's own file and in its checkpoints."""
    stopped(tmp_path, monkeypatch, 400, 200)
    checkpoint = tmp_path / "checkpoints" / "400"
    files = [tmp_path / "run.json", *filter(pathlib.Path.is_file, checkpoint.rglob("*"))]
    older = [path for path in files if b'"probes"' in path.read_bytes()]
    assert len(older) == 2
    for path in older:
        path.write_text(aged(path.read_text()))
    (checkpoint / "SHA256SUMS").unlink()
    write_digests(checkpoint)
    do.train.load(tmp_path, checkpoint="last")
    other = dataclasses.replace(SETTINGS, probes="rademacher")
    with pytest.raises(do.train.CheckpointMismatchError, match="probes: sparse in the checkpoint"):
        do.train.solve(other, tmp_path, resume=True)
    report = do.train.solve(SETTINGS, tmp_path, resume=True, checkpoint_every=0)
    assert report.resumed_at == [400]
    assert numbers(report) == numbers(whole[0])
    (tmp_path / "report.json").write_text(aged((tmp_path / "report.json").read_text()))
    assert do.train.load(tmp_path)(jnp.zeros(4)) == do.train.load(whole[1])(jnp.zeros(4))
