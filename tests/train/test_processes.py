"""Two processes that train together: one run, one set of files, and the same decisions."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.train import solving
from diffop.train.model import Keys
from diffop.train.progress import Progress

from .toy import Killed
from .two_processes import PER_DISPATCH, SETTINGS

pytestmark = pytest.mark.slow("starts two processes")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def both(command):
    """Starts two processes; `command` makes the words of one from the port and its number."""
    port = free_port()
    words = [[sys.executable, "-m", *command(port, process)] for process in range(2)]
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": "1"}
    return [
        subprocess.Popen(each, env=environment, stdout=-1, stderr=-1, text=True) for each in words
    ]


def ended(processes, timeout=120):
    """What they say, when both have ended."""
    try:
        return [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:
            process.kill()


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """By each process, in one life of both; and their directory."""
    directory = tmp_path_factory.mktemp("processes")
    processes = both(lambda port, k: ["tests.train.two_processes", f"{port}", f"{k}", directory])
    said = ended(processes)
    assert [process.returncode for process in processes] == [0, 0], said
    return [json.loads((directory / f"{k}.json").read_text()) for k in range(2)], directory


def test_a_signal_to_one_stops_both(seen):
    (first, second), directory = seen
    path = directory / "run" / "checkpoints" / "4"
    assert first["stopped"] == second["stopped"]
    assert (
        f"stopped by SIGTERM after step 4 of 8 (the last good checkpoint is {path});"
        in (first["stopped"])
    )


def test_ctrl_c_under_fit_stops_both(seen):
    """And the same call goes on from there; x is multiplied by 0.98 at each step."""
    (first, second), directory = seen
    path = directory / "fit" / "20"
    stopped = f"stopped by SIGINT after step 20 of 40 (the last good checkpoint is {path}); the"
    for (message, number), made, _ in (first["fit stopped"], second["fit stopped"]):
        assert message == f"{stopped} same call goes on." and number == signal.SIGINT
        assert made == [30, 40]
    np.testing.assert_allclose(first["fit stopped"][-1], 0.98**40, rtol=1e-5)


def test_both_go_on_to_the_result_of_one(seen, tmp_path, monkeypatch):
    (first, second), directory = seen
    assert first["resumed"] == second["resumed"]
    error, resumed_at, mesh = first["resumed"]
    assert resumed_at == [4] and mesh == {"data": 1, "model": 2}
    monkeypatch.setattr(solving, "_COORDINATES_PER_DISPATCH", PER_DISPATCH)
    alone = do.train.solve(SETTINGS, tmp_path)
    np.testing.assert_allclose(error, alone.rel_l2, rtol=1e-5)
    own, theirs = (
        [json.loads(line)["loss"] for line in (path / "metrics.jsonl").read_text().splitlines()]
        for path in (tmp_path, directory / "run")
    )
    assert len(own) == 4
    np.testing.assert_allclose(theirs, own, rtol=1e-5)


def test_the_network_is_written_as_a_whole(seen):
    (first, _), directory = seen
    keys = Keys.of(SETTINGS)
    problem = do.pde.make(SETTINGS.problem, SETTINGS.dim, key=keys.problem)
    errors = do.train.FixedPoints(problem, keys.test).errors(do.train.load(directory / "run"))
    np.testing.assert_allclose(errors.rel_l2, first["resumed"][0], rtol=1e-6)


def test_both_see_what_goes_wrong(seen):
    (first, second), _ = seen
    assert first["not finite"] == second["not finite"] > 1
    division = "ZeroDivisionError: integer division or modulo by zero"
    assert first["failed first"] == second["failed second"] == division
    assert second["failed first"] == "OSError: process 0 failed; its message says why"
    assert first["failed second"] == "OSError: process 1 failed; its message says why"


def test_arrays_are_gathered_in_the_first(seen):
    (first, second), _ = seen
    assert (first["whole"], second["whole"]) == (15.0, 0.0)


def solve(directory):
    """The words of a long run."""
    settings = ["--dim", "16", "--width", "4", "--depth", "1", "--n", "2", "--batch", "4"]
    words = ["diffop", "solve", "allen-cahn-two-body", "--paper", *settings, "--steps", "100000"]
    return [*words, "--out", f"{directory}/run"]


def under_way(directory):
    """Two processes of the command line, when they have made steps."""

    def command(port, process):
        words = f"--distributed --coordinator 127.0.0.1:{port} --processes 2 --process {process}"
        return [*solve(directory), "--mesh", "model=2", *words.split()]

    processes = both(command)
    metrics = directory / "run" / "metrics.jsonl"
    while not (metrics.is_file() and metrics.read_text()):
        assert all(process.poll() is None for process in processes), ended(processes)
        time.sleep(0.2)
    return processes


def test_a_signal_on_the_command_line(tmp_path, monkeypatch, capsys):
    """Both end with its exit code, a checkpoint and one set of files; one device goes on."""
    processes = under_way(tmp_path)
    processes[1].send_signal(signal.SIGTERM)
    (_, first), (_, second) = ended(processes)
    assert [process.returncode for process in processes] == [143, 143]
    assert "stopped by SIGTERM after step" in first and "stopped by" not in second
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1
    assert not (tmp_path / "run" / "report.json").exists()

    def die(*_):
        raise Killed

    monkeypatch.setattr(Progress, "__call__", die)
    with pytest.raises(Killed):
        main([*solve(tmp_path)[1:], "--resume"])
    going_on = "was made on model=2, and the fit goes on on one device"
    assert going_on in capsys.readouterr().err


def test_a_process_that_dies_ends_the_other(tmp_path):
    """With a sentence and its own exit code: the runtime would abort it half a minute later."""
    processes = under_way(tmp_path)
    processes[1].kill()
    (_, first), _ = ended(processes)
    assert "diffop: error: another process has ended, or a device has failed (" in first
    assert processes[0].returncode == 1 and "Traceback" not in first
