"""Tables and pictures over runs, from files written here."""

import dataclasses
import json
import re

import numpy as np
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.runs import tables as runs

NAME = "allen-cahn-two-body"


def write_run(directory, seed, *, rel_l2=None, null=0.6, metrics=(), **changes):
    """A run as `solve` leaves it, ended if it has an error."""
    directory.mkdir(parents=True)
    settings = do.train.Settings(NAME, seed=seed, **changes)
    given = dataclasses.asdict(settings)
    (directory / "run.json").write_text(json.dumps({"settings": given, "null_rel_l2": null}))
    lines = [json.dumps({"step": s, "loss": a, "error": e, "seconds": 1.0}) for s, a, e in metrics]
    (directory / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    if rel_l2 is None:
        return
    top = ("problem", "dim", "steps", "n", "seed")
    report = do.train.Report(
        **{name: given[name] for name in top},
        rel_l1=rel_l2 / 2,
        rel_l2=rel_l2,
        null_rel_l2=null,
        skill=null / rel_l2,
        it_per_s=100.0 + seed,
        compile_s=1.0,
        peak_memory_mb=1.0,
        parameters=1,
        settings={name: value for name, value in given.items() if name not in top},
        environment={},
    )
    (directory / "report.json").write_text(json.dumps(dataclasses.asdict(report)))


def test_a_table_over_seeds(tmp_path, capsys):
    """Of errors 0.1, 0.2 and 0.6 the mean is 0.3 and the standard deviation √((4 + 1 + 9)/2)/10."""
    for seed, error in enumerate([0.1, 0.6, 0.2]):
        write_run(tmp_path / "a" / str(seed), seed, rel_l2=error)
    write_run(tmp_path / "b", 0, rel_l2=0.3, null=0.3, dim=10, probes="rademacher")
    write_run(tmp_path / "c", 0, metrics=[(10, 1.0, 0.5), (20, 0.5, None)], steps=100)
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "c")]) == 0
    names, first, row, second, other, waits, _ = capsys.readouterr().out.splitlines()
    titles = "runs,skill,rel. L2 error,mean ± std,rel. L1 error,null model,steps/s"
    assert re.split(r"\s{2,}", names.strip()) == titles.split(",")
    assert first == f"{NAME} dim=1000 steps=400"
    assert re.split(r"\s{2,}", row.strip()) == [
        "3",
        "3 (1 – 6)",
        "2.00e-01 (1.00e-01 – 6.00e-01)",
        "3.00e-01 ± 2.6e-01",
        "1.00e-01 (5.00e-02 – 3.00e-01)",
        "6.00e-01 (6.00e-01 – 6.00e-01)",
        "101 (100 – 102)",
    ]
    assert second == f"{NAME} dim=10 steps=3000 probes=rademacher"
    assert re.split(r"\s{2,}", other.strip()) == [
        "1", "1", "3.00e-01", "one run", "1.50e-01", "3.00e-01", "100",
    ]  # fmt: skip
    assert waits == f"{tmp_path}/c has not ended: step 20 of 100"


def test_equal_seeds_are_one_run(tmp_path, capsys):
    """Also in several directories; what differs in a setting is another row."""
    write_run(tmp_path / "a", 0, rel_l2=0.2)
    write_run(tmp_path / "b", 0, rel_l2=0.2)
    write_run(tmp_path / "c", 1, rel_l2=0.4)
    write_run(tmp_path / "d", 0, rel_l2=0.1, n=5)
    assert main(["report", str(tmp_path)]) == 0
    _, _, first, _, second, twice, _ = capsys.readouterr().out.splitlines()
    assert first.split()[0] == "2" and "2.00e-01 – 4.00e-01" in first
    assert second.split()[0] == "1"
    assert twice == f"{tmp_path}/b has the settings and the seed of {tmp_path}/a: not counted"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"problem": ', "broken/report.json is not the JSON file that a run writes: "),
        ("[]", "broken/report.json is not the JSON file that a run writes: it holds a list."),
        ("{}", "broken/report.json is not as a run writes it ("),
    ],
    ids=["cut", "a list", "empty"],
)
@pytest.mark.parametrize("command", ["report", "plot"])
def test_a_broken_report_leaves_the_others(command, content, said, tmp_path, capsys):
    """It is said, and in the exit code."""
    lines = [(10, 4.0, 0.5), (20, 2.0, 0.4)]
    write_run(tmp_path / "runs" / "whole", 0, rel_l2=0.2, metrics=lines)
    write_run(tmp_path / "runs" / "broken", 1, rel_l2=0.4, metrics=lines)
    (tmp_path / "runs" / "broken" / "report.json").write_text(content)
    more = ["--out", str(tmp_path / "p.png")] if command == "plot" else []
    assert main([command, str(tmp_path / "runs"), *more]) == 2
    out, error = capsys.readouterr()
    assert said in error and error.count("\n") == 1
    assert (tmp_path / "p.png").is_file() if command == "plot" else "2.00e-01" in out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.json", "{}", "run.json is not as a run writes it: it has no settings"),
        ("report.json", '{"problem": ', "report.json is not the JSON file that a run writes: "),
        ("report.json", "{}", "report.json is not as a run writes it ("),
    ],
)
def test_a_damaged_run_is_not_resumed(name, content, said, tmp_path, capsys):
    """In one sentence, as input that cannot be used."""
    write_run(tmp_path / "run", 0, rel_l2=0.2)
    (tmp_path / "run" / name).write_text(content)
    command = ["solve", NAME, "--seed", "0", "--out", str(tmp_path / "run"), "--resume"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_lines_of_metrics_that_are_no_text_are_left_out(tmp_path, capsys):
    write_run(tmp_path / "run", 0, rel_l2=0.2, metrics=[(10, 4.0, 0.5), (20, 2.0, 0.4)])
    with (tmp_path / "run" / "metrics.jsonl").open("ab") as file:
        file.write(b"\xa5\xff\n")
    assert main(["plot", str(tmp_path / "run"), "--out", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").is_file() and "error" not in capsys.readouterr().err


def test_runs_that_have_not_ended_only(tmp_path, capsys):
    write_run(tmp_path / "c", 0, steps=100)
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/c has not ended: step 0 of 100\n"


def test_a_real_run_in_both(tmp_path, capsys):
    """Also after `run.json` was lost: reports of old runs are without."""
    words = ["--dim", "4", "--width", "8", "--depth", "1", "--n", "2", "--steps", "10"]
    assert main(["solve", NAME, *words, "--out", str(tmp_path / "run")]) == 0
    (tmp_path / "run" / "run.json").unlink()
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    capsys.readouterr()
    assert main(["report", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert f"{report['skill']:.3g}" in text and f"{report['rel_l2']:.2e}" in text
    assert f"{NAME} dim=4 steps=10 n=2 width=8 depth=1" in text
    picture = tmp_path / "curves.png"
    assert main(["plot", str(tmp_path / "run"), "--out", str(picture)]) == 0
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_run_from_when_other_settings_were_recommended(tmp_path, capsys):
    """It had the paper's; what is not recommended now, in its dimension, is named."""
    write_run(tmp_path / "a", 0, rel_l2=0.1)
    before = dataclasses.asdict(do.train.Settings.of_paper(NAME, dim=10_000))
    write_run(tmp_path / "b", 0, rel_l2=0.1, **{k: v for k, v in before.items() if k in SET})
    assert main(["report", str(tmp_path)]) == 0
    _, first, _, second, *_ = capsys.readouterr().out.splitlines()
    assert first == f"{NAME} dim=1000 steps=400"
    assert second == (
        f"{NAME} dim=10000 steps=10000 n=16 learning-rate=0.001 batch=100 width=128 depth=3 "
        "output-scale=1.0 anchor=None curvature=None gpinn=0.0 optimiser=adam fan-in-rate=0.0"
    )


SET = {field.name for field in dataclasses.fields(do.pde.Recommended)}


def test_what_is_drawn(tmp_path, monkeypatch):
    write_run(tmp_path / "a", 0, rel_l2=0.1, metrics=[(10, 4.0, 0.5), (20, 2.0, None)])
    write_run(tmp_path / "b", 1, null=0.7, metrics=[(10, 3.0, None)])
    drawn = []
    monkeypatch.setattr(runs, "save_curves", lambda *args: drawn.append(args))
    assert main(["plot", str(tmp_path), "--out", str(tmp_path / "p.png")]) == 0
    ((path, (a, b), title),) = drawn
    assert path == tmp_path / "p.png" and title == f"{NAME} dim=1000 steps=400"
    assert (a.label, a.errors, a.null_rel_l2) == (str(tmp_path / "a"), [(10, 0.5)], 0.6)
    np.testing.assert_array_equal(a.loss_steps, [10, 20])
    np.testing.assert_array_equal(a.losses, [4.0, 2.0])
    assert (b.errors, b.null_rel_l2) == ([], 0.7)


def test_pictures_are_not_overwritten_unless_told(tmp_path, capsys):
    write_run(tmp_path / "a", 0, metrics=[(10, 4.0, 0.5)])
    write_run(tmp_path / "b", 1, metrics=[(10, 3.0, None), (20, 2.0, 0.4)])
    picture = tmp_path / "p.png"
    picture.write_text("mine")
    command = ["plot", str(tmp_path), "--out", str(picture)]
    assert main(command) == 2
    assert (
        "p.png exists; name another file with --out, or say --overwrite" in capsys.readouterr().err
    )
    assert picture.read_text() == "mine"
    assert main([*command, "--overwrite"]) == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("runs", "words", "said"),
    [
        ([], ["report"], "{0} holds no run; name a directory that was"),
        ([], ["plot"], "{0} holds no run; name a directory that was"),
        ([()], ["plot", "--out", "p.png"], "a has nothing in its metrics.jsonl to draw yet."),
        ([[(10, 4.0, 0.5)]], ["plot", "--out", "p.txt"], "txt"),
    ],
)
def test_what_is_no_table_or_picture(runs, words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for metrics in runs:
        write_run(tmp_path / "a", 0, metrics=metrics)
    assert main([words[0], str(tmp_path), *words[1:]]) == 2
    assert said.format(tmp_path) in capsys.readouterr().err
