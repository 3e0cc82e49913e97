"""The real command, killed and given again, ends as if it had never stopped."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from diffop.runs.metrics import read_metrics

pytestmark = pytest.mark.slow("starts and kills processes")

OFTEN = ("--checkpoint-every", "50")  # after each dispatch
SOLVE = [
    *(sys.executable, "-m", "diffop", "solve", "allen-cahn-two-body", "--paper"),
    *("--dim", "4", "--width", "8", "--depth", "1", "--n", "2", "--batch", "10", "--steps", "2000"),
]
TIMES = ("it_per_s", "compile_s", "peak_memory_mb", "resumed_at")
ROOT = pathlib.Path(__file__).parents[2]


def start(directory, *words, **environment):
    how = {"cwd": ROOT, "env": os.environ | environment, "text": True}
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([*SOLVE, "--out", str(directory), *words], **how, **output)


def steps_noted(directory):
    metrics = read_metrics(directory)
    return metrics[-1].step if metrics else 0


def wait_until_it_goes_on(process, directory):
    """Until the process has noted a step, and not one before it."""
    before = steps_noted(directory)
    moved = False
    while process.poll() is None and not moved:
        time.sleep(0.01)
        moved = steps_noted(directory) not in (0, before)


def finish(process):
    """The exit code, and what was said."""
    _, said = process.communicate(timeout=300)
    return process.returncode, said


def ended(directory):
    """The final network, the numbers of the report and of the metrics, without times."""
    report = json.loads((directory / "report.json").read_text())
    metrics = [(each.step, each.loss, each.error) for each in read_metrics(directory)]
    numbers = {name: value for name, value in report.items() if name not in TIMES}
    return (directory / "model.eqx").read_bytes(), numbers, metrics


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was never killed, nor saved so often."""
    directory = tmp_path_factory.mktemp("whole")
    code, said = finish(start(directory))
    assert code == 0, said
    return ended(directory)


def kill_and_resume(directory, moments):
    """Kills the run some seconds after it has begun to train, again and again; then lets it end."""
    for seconds in moments:
        process = start(directory, "--resume", *OFTEN)
        wait_until_it_goes_on(process, directory)
        time.sleep(seconds)
        process.kill()
        assert finish(process)[0] in (-signal.SIGKILL, 0)
    code, said = finish(start(directory, "--resume", *OFTEN))
    assert code == 0, said


def test_killed_many_times(whole, tmp_path):
    """Most of the time a checkpoint is being written then: there are 20 in a second or two."""
    chance = random.Random(1)
    early = [chance.expovariate(3.0) for _ in range(6)]
    kill_and_resume(tmp_path, [*early, *(chance.uniform(0.0, 1.0) for _ in range(2))])
    assert ended(tmp_path) == whole
    assert json.loads((tmp_path / "report.json").read_text())["resumed_at"]


def test_stopped_by_sigterm(whole, tmp_path):
    process = start(tmp_path)
    wait_until_it_goes_on(process, tmp_path)
    process.terminate()
    code, said = finish(process)
    assert code == 128 + signal.SIGTERM
    stopped = re.search(
        rf"^diffop: stopped by SIGTERM after step (\d+) of 2000 \(the last good checkpoint is "
        rf"{tmp_path}/checkpoints/\1\); the same command with --resume",
        said,
        re.MULTILINE,
    )
    assert stopped and steps_noted(tmp_path) == int(stopped[1])
    code, said = finish(start(tmp_path, "--resume"))
    assert code == 0 and f"diffop: going on after step {stopped[1]} in {tmp_path}.\n" in said
    assert ended(tmp_path) == whole


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_the_second_ctrl_c_stops_at_once(tmp_path):
    """Even while it compiles, which no handler of Python's could interrupt. What was compiled
    before is not read, and a hundred such steps take ten seconds: they do not end before the
    second Ctrl-C, however busy the machine is.
    """
    large = ("--width", "64", "--depth", "9", "--batch", "10000")
    process = start(tmp_path, *large, JAX_ENABLE_COMPILATION_CACHE="false")
    while process.poll() is None and not (tmp_path / "metrics.jsonl").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.stderr.readline() if process.stderr else ""
    assert said == "diffop: SIGINT: stopping after the running steps; Ctrl-C stops at once.\n"
    process.send_signal(signal.SIGINT)
    interrupted = "diffop: error: interrupted; `solve` with --resume goes on with its run.\n"
    assert finish(process) == (128 + signal.SIGINT, interrupted)
    assert steps_noted(tmp_path) == 0  # the first hundred steps were not waited for
