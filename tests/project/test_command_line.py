"""The command line: what it prints, its exit codes, and its messages for input it cannot use."""

import dataclasses
import errno
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios

import pytest

import diffop as do
from diffop.__main__ import main
from diffop.runs import settings
from diffop.train import checking, loggers, solving

SIZES = ["--dim", "4", "--width", "8", "--n", "2", "--steps", "10"]
SOLVE = ["solve", "allen-cahn-two-body", "--paper", *SIZES]


def test_list_names_every_problem(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(do.pde.names())
    (line,) = (each for each in lines if each.startswith("allen-cahn-two-body "))
    assert "Allen-Cahn, Δu + u − u³ = f" in line
    assert len({line.index(line.split(maxsplit=1)[1]) for line in lines}) == 1  # one column


def refused(command, message, capsys):
    """With one line, and 2."""
    try:
        code = main(command)
    except SystemExit as exit:
        code = exit.code
    error = capsys.readouterr().err
    assert code == 2
    assert message in error and error.count("\n") == 1


def test_solve_prints_what_the_result_means(tmp_path, capsys, monkeypatch):
    """And checks its settings once."""
    out, asked = tmp_path / "run", []
    monkeypatch.setattr(checking, "memory_bytes", lambda: asked.append("how much memory"))
    assert main([*SOLVE, "--seed", "3", "--input-scale", "2", "--out", str(out)]) == 0
    text, errors = capsys.readouterr()
    assert "\r" not in errors  # no progress bar where there is no terminal
    report = json.loads((out / "report.json").read_text())
    assert f"{report['rel_l2']:.2e}" in text and f"{report['null_rel_l2']:.2e}" in text
    assert f"skill = {report['skill']:.2f}" in text and str(out) in text
    assert (report["seed"], report["settings"]["input_scale"]) == (3, 2.0)
    assert len(asked) == 1


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dim", "0"], "dim must be an integer of at least 1, got 0."),
        (["--dim", "ten"], "dim must be an integer of at least 1, got 'ten'."),
        (["--dim", "1"], "expects a dimension of at least 2, got 1"),
        (["--learning-rate", "nan"], "learning-rate must be a finite positive number, got nan."),
        (["--data-weight", "1,2"], "data_weight has 2 numbers, and the equation 0 condition(s); g"),
        (["--data-weight", "2"], "expects a data_weight for an equation with conditions, got 2"),
        (
            ["--weights", "mass=1,energy=2"],
            "the weights have 'energy', 'mass', and the residual of the",
        ),
        (["--weights", "1,2"], "the weights have an array of shape (2,), and the residual of the"),
        (["--weights", "a=1,2"], "weights must be none, or a dict or a list of finite non-negati"),
        (["--weights", "a=1,a=2"], "one for each residual, got 'a=1,a=2'"),
        (["--gpinn-terms", "0"], "gpinn-terms must be an integer of at least 1, or none, got 0."),
        (["--causal", "1"], "expect the time of a point, got None, which is that of an equation"),
        (
            ["--balance", "5", "--optimiser", "l-bfgs"],
            "balance must be 0 for the optimiser l-bfgs, whose loss has to stay the same, got 5.",
        ),
        (["--data-batch", "some"], "data-batch must be an integer of at least 1, or none, got"),
        (["--square", "product", "--probes", "exact"], "random jets, got the probes 'exact'"),
        (["--square", "pairs", "--n", "1"], "a standard error needs at least 2 draws"),
        (
            ["--gpinn", "1", "--gpinn-terms", "2", "--probes", "gaussian"],
            "gaussian probes are biased for",
        ),
        (["--probes", "sdgd", "--square", "pairs"], "and not of those by a baseline."),
        (["--probes", "sdgd", "--gpinn", "1"], "got gpinn=1 and the probes 'sdgd'; leave"),
        (["--optimiser", "adm"], "(nearest: adam), got 'adm'."),
        (["--schedule", "none"], "one of linear, cosine, exponential, constant, got None."),
        (["--checkpoint-every", "-1"], "checkpoint-every must be a number of steps, or 0 for"),
        (["--log", "paper"], "argument --log: invalid choice: 'paper'"),
        (["--overwrite", "--resume"], "begins anew and --resume (resume=True) goes on, got both"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_bad_sizes_are_one_line_and_exit_2(words, message, tmp_path, capsys):
    """What a setting may be is in the tests of settings; here is one of each kind."""
    refused([*SOLVE, *words, "--out", str(tmp_path / "run")], message, capsys)
    assert not (tmp_path / "run").exists()


def test_what_is_not_given_is_as_the_problem_recommends(tmp_path, capsys):
    words = ["--steps", "2", "--batch", "8", "--width", "8", "--depth", "1"]
    assert main(["solve", "g-kdv-1d", *words, "--out", str(tmp_path / "run")]) == 0
    assert f"{tmp_path}/run/report.json, curve.png, solution.png, model" in capsys.readouterr().out
    settings = json.loads((tmp_path / "run" / "report.json").read_text())["settings"]
    recommended = do.pde.recommended("g-kdv-1d")
    assert settings["batch"] == 8
    for name in ("learning_rate", "probes", "data_weight", "gpinn"):
        assert settings[name] == getattr(recommended, name)


@pytest.mark.parametrize("name", ["data_batch", "gpinn_terms", "weights"])
def test_none_is_said_where_a_problem_recommends_a_number(name, tmp_path, monkeypatch):
    value = [1.0, 2.0, 3.0] if name == "weights" else 7
    recommended = dataclasses.replace(do.pde.recommended("kovasznay"), **{name: value})
    monkeypatch.setattr(settings, "recommended_settings", lambda *_: recommended)
    words, seen = ["solve", "kovasznay", "--out", str(tmp_path)], []
    monkeypatch.setattr(do.train, "check", lambda settings, *_, **__: stop(seen.append(settings)))
    for more in ([], [f"--{name.replace('_', '-')}", "none"]):
        assert main([*words, *more]) == 2
    assert [getattr(settings, name) for settings in seen] == [value, None]
    again = do.train.Settings(**seen[1].as_json())  # as a run that goes on reads it
    assert getattr(again, name) is None


def stop(_):
    raise ValueError("enough was seen")


DEPENDS = "diffop: what {} recommends depends on --dim; this is for {}.\n"


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["allen-cahn-two-body", "--dim", "5"], DEPENDS.format("allen-cahn-two-body", 5)),
        (["allen-cahn-two-body", "--dim", "3500"], DEPENDS.format("allen-cahn-two-body", 3500)),
        (["allen-cahn-two-body", "--dim", "5", "--paper"], ""),
        (["poisson-two-body-lattice", "--dim", "9"], ""),
        (["kovasznay"], ""),
        (["tests.train.own:Transport"], ""),
    ],
    ids=" ".join,
)
def test_recommend_prints_what_solve_takes(words, note, tmp_path, capsys, monkeypatch):
    assert main(["recommend", *words]) == 0
    shown, said = capsys.readouterr()
    assert said == note
    seen, out = [], ["--out", str(tmp_path)]
    monkeypatch.setattr(do.train, "check", lambda settings, *_, **__: stop(seen.append(settings)))
    assert main(["solve", *words, *out]) == main(["solve", words[0], *shown.split(), *out]) == 2
    plain, told = (settings.as_json() for settings in seen)
    assert told == plain
    assert [line.split()[0] for line in shown.splitlines()] == [
        f"--{name.replace('_', '-')}" for name in plain if name not in ("problem", "seed")
    ]


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["allen-cahn-two-body", "--dim", "0"], "dim must be an integer of at least 1, got 0."),
        (["allen-cahn-two-body", "--dim", "1"], "expects a dimension of at least 2, got 1"),
        (["allen-cahn-two-body", "--dim", "2.5"], "dim must be an integer of at least 1, got 2.5."),
        (["kp-2d", "--dim", "4"], "kp-2d has 3 coordinates, time among them, got dim 4; leave"),
        (["poisson-two-body-lattice", "--dim", "4"], "a period from 2 to the 3 terms of its sum"),
        (
            ["alen-cahn"],
            "no problem called 'alen-cahn'; the nearest names are: allen-cahn-1d, allen-cahn-cube",
        ),
        (["kp-2d", "--paper"], "the paper trains no network on kp-2d; it does on allen-cahn-"),
        (["tests.train.own:Ball", "--paper"], "the paper trains no network on tests.train.own:B"),
        (["tests.train.own:Demanding"], "Demanding is made with charge, of which nothing is know"),
        (["nowhere:Ball"], "there is no module 'nowhere' to import the problem"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_recommended(words, message, tmp_path, capsys):
    """Nor solved: the same sentence."""
    for command in (["recommend", *words], ["solve", *words, "--out", str(tmp_path / "run")]):
        refused(command, message, capsys)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A command whose run has ended, and its directory."""
    directory = tmp_path_factory.mktemp("ended")
    command = [*SOLVE, "--n", "3", "--resume", "--out", str(directory)]
    assert main(command) == 0
    return command, directory


def test_options_beside_the_papers_settings(ended):
    settings = json.loads((ended[1] / "run.json").read_text())["settings"]
    given = {"dim": 4, "width": 8, "n": 3, "steps": 10}
    assert settings == do.train.Settings.of_paper("allen-cahn-two-body", **given).as_json()
    assert (settings["batch"], settings["learning_rate"], settings["gpinn"]) == (100, 1e-3, 0.0)


def test_it_runs_without_docstrings():
    """`python -OO` leaves them out, and with them what settings mean."""
    command = [sys.executable, "-OO", "-m", "diffop", "solve", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "--learning-rate" in done.stdout, done.stderr


def test_help_says_where_to_see_what_problems_recommend(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "What is not given is as `diffop recommend PROBLEM --dim DIM` shows it." in text
    assert "roots, shifted, sdgd-loop, sdgd, forward" in text


def test_solving_with_a_baseline(tmp_path):
    words = ["--probes", "sdgd", "--square", "product", "--out", str(tmp_path / "run")]
    assert main([*SOLVE, *words]) == 0
    settings = json.loads((tmp_path / "run" / "report.json").read_text())["settings"]
    assert (settings["probes"], settings["square"]) == ("sdgd", "product")


def test_results_are_not_overwritten_unless_told(tmp_path, capsys):
    (tmp_path / "report.json").write_text("old")
    assert main([*SOLVE, "--out", str(tmp_path)]) == 2
    assert "is not empty; name another directory, or say --overwrite" in capsys.readouterr().err
    assert (tmp_path / "report.json").read_text() == "old"
    assert main([*SOLVE, "--out", str(tmp_path), "--overwrite"]) == 0


def test_a_directory_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*SOLVE, "--out", str(tmp_path / "file" / "run")]) == 1
    assert capsys.readouterr().err.startswith("diffop: error: ")


def test_a_loss_that_explodes_names_the_step(tmp_path, capsys):
    assert main([*SOLVE, "--learning-rate", "1e38", "--out", str(tmp_path / "run")]) == 1
    error = capsys.readouterr().err
    assert re.search(r"at step 2 of 10 \(its terms: residual (nan|inf)\); there is no check", error)
    assert "a smaller learning rate usually helps" in error and error.count("\n") == 1


def test_the_same_command_again(tmp_path, capsys):
    """As clusters do it: nothing is there, then the run has ended; other settings are refused."""
    command = [*SOLVE, "--resume", "--out", str(tmp_path / "run")]
    assert main(command) == 0
    report, said = capsys.readouterr()
    assert f"there is no checkpoint in {tmp_path}/run to go on from: starting at step 0." in said
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    assert main(command) == 0
    again, said = capsys.readouterr()
    assert again == report and f"the run in {tmp_path}/run has ended: nothing to do." in said
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    assert main([*command, "--dim", "5", "--optimiser", "lion"]) == 2
    error = capsys.readouterr().err
    assert "is of another run (dim: 4 in the checkpoint, 5 now; optimiser: adam in the" in error


def test_nothing_to_resume_among_other_files(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main([*SOLVE, "--resume", "--out", str(tmp_path)]) == 2
    assert "is not empty and holds no run to resume; name another" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["tqdm", "matplotlib", "orbax.checkpoint"])
def test_missing_extra(package, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert main([*SOLVE, "--out", str(tmp_path / "run")]) == 1
    error = capsys.readouterr().err
    assert f"solving needs {package}" in error and "pip install 'diffop-jax[train]'" in error
    assert main(["list"]) == 0


@pytest.mark.slow("starts a process")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_wants_no_more(unbuffered):
    """As `diffop list | head` does: no traceback, and the exit code that shells give for it."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "diffop", "list"]
    how = {"env": os.environ | {"PYTHONUNBUFFERED": unbuffered}, "text": True}
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, **how) as process:
        os.close(writer)
        said = process.stderr.read() if process.stderr else ""
    assert (process.returncode, said) == (128 + signal.SIGPIPE, "")


class Full(io.StringIO):
    """A stream that takes no more."""

    number = errno.ENOSPC

    def write(self, _):
        raise OSError(self.number, os.strerror(self.number))


class Gone(Full):
    """One whose reader has gone."""

    number = errno.EPIPE


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        (Full(), 1, "[Errno 28] No space left on device"),
        (Gone(), 141, "[Errno 32] Broken pipe"),
        (None, 1, "[Errno 9] it is closed"),
    ],
    ids=["full", "gone", "closed"],
)
def test_an_output_that_takes_no_more(output, code, reason, ended, monkeypatch, capsys):
    """The run's results are on the disk, and one line says where; a reader of a list is left."""
    command, directory = ended
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(loggers, "tell", lambda _: None)
    monkeypatch.setattr(solving, "tell", lambda _: None)
    assert main(command) == code
    assert capsys.readouterr().err == (
        f"diffop: error: the output could not be written: {reason}; the results: "
        f"{directory}/report.json, curve.png, model.eqx.\n"
    )
    for words in (["list"], ["report", str(directory)]):
        assert main(words) == code
        said = capsys.readouterr().err
        assert said == ("" if code == 141 else f"{COULD_NOT} {reason}.\n")


COULD_NOT = "diffop: error: the output could not be written:"


def test_nobody_is_told(tmp_path, monkeypatch):
    """An error stream that takes no more, such as that of a terminal that was closed, ends no run;
    what is wrong with the words is in the exit code.
    """
    monkeypatch.setattr(sys, "stderr", Full())
    assert main([*SOLVE, "--steps", "1", "--out", str(tmp_path / "run"), "--resume"]) == 0
    assert (tmp_path / "run" / "report.json").is_file()
    assert main([*SOLVE, "--dim", "0", "--out", str(tmp_path / "other")]) == 2


@pytest.mark.slow("starts processes")
def test_streams_of_a_process():
    """Letters that are not in a code page, and streams that are full or closed: no traceback, and
    nothing after the line that says what is wrong. What is full is noticed when it is written to,
    or in the end.
    """

    def ended(words, encoding="utf-8", unbuffered=""):
        more = {"PYTHONUNBUFFERED": unbuffered, "PYTHONIOENCODING": encoding}
        command = ["sh", "-c", f"{sys.executable} -m diffop {words}"]
        done = subprocess.run(command, capture_output=True, env=os.environ | more)
        return done.returncode, done.stdout.decode("cp1252"), done.stderr.decode("cp1252")

    code, out, said = ended("list", "cp1252")
    assert (code, said) == (0, "") and r"\u0394u + u \u2212 u³ = f" in out
    full = f"{COULD_NOT} [Errno 28] No space left on device.\n"
    for unbuffered in ("", "1"):
        assert ended("list >/dev/full", unbuffered=unbuffered) == (1, "", full)
        assert ended("list 2>&- >/dev/full", unbuffered=unbuffered) == (1, "", "")
    assert ended("list >&-") == (1, "", f"{COULD_NOT} [Errno 9] it is closed.\n")
    assert ended("list --dim 2>/dev/full") == (2, "", "")


@pytest.mark.slow("starts a process that trains")
def test_progress_bar_on_a_terminal(tmp_path):
    """As a person runs it: a bar with steps per second, time left and loss."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 120))
    command = [sys.executable, "-m", "diffop", *SOLVE, "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        out = process.stdout.read().decode() if process.stdout else ""
    bar = _read_all(leader)
    assert process.returncode == 0
    assert re.search(r"10/10 \[\d\d:\d\d<00:00, .*(step/s|s/step), loss=\d", bar)
    assert "relative L2 error" in out


def _read_all(descriptor):
    chunks = []
    try:
        while chunk := os.read(descriptor, 4096):
            chunks.append(chunk)
    except OSError:  # how Linux says that the other end of a terminal is closed
        pass
    finally:
        os.close(descriptor)
    return b"".join(chunks).decode(errors="replace")
