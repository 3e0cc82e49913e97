"""The benchmarks run, in miniature, and the pages say what the result files say."""

import pathlib
import re
import time

import jax
import numpy as np
import pytest

import diffop as do
from benchmarks.__main__ import COMMITTED, main
from benchmarks.gallery import PICTURES
from benchmarks.harness import timing
from benchmarks.harness.case import Case, Scope, matching
from benchmarks.harness.pages import filled, marked
from benchmarks.harness.records import OK, Record, Records, append, append_record, read
from benchmarks.harness.report import PAPER, by_name, sections
from benchmarks.harness.running import measured, run
from benchmarks.harness.slopes import slope
from benchmarks.harness.suite import AbstractTimed
from benchmarks.harness.table import draw, listing
from benchmarks.harness.timing import interleaved, spread
from benchmarks.suites import SUITES, first_use, named
from benchmarks.suites.errors import AbstractTrained, error_columns, errors_table
from diffop.train import solving

from .outcomes import broken, exhausted, fine, killed, slow, without_module

ROOT = pathlib.Path(__file__).parents[2]
PRINTED = read([PAPER])


@pytest.mark.slow("measures, in processes of their own")
@pytest.mark.usefixtures("compiled_quickly")  # what is measured means nothing here
@pytest.mark.parametrize("name", SUITES)
def test_a_miniature_of_every_suite(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(timing, "MOST", timing.FEWEST)
    monkeypatch.setattr(first_use, "TURNS", 1)
    monkeypatch.setattr(solving, "_draw", lambda *_: None)  # `train/test_ends.py` looks
    suite = SUITES[name]
    cases = list(suite.cases(Scope("mini")))
    try:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            records = Records(Record(case, OK, suite.measure(case, tmp_path)) for case in cases)
    except ImportError as error:
        pytest.skip(str(error))  # PyTorch has an environment of its own
    for record in records:
        assert all(np.isfinite(value) for value in record.values.values())
        if isinstance(suite, AbstractTimed):
            assert 0 < record.values["seconds_q1"] <= record.values["seconds"]
            assert record.values["peak_mb"] > 50  # Python and JAX alone take more
        if isinstance(suite, AbstractTrained):
            quotient = record.values["null_rel_l2"] / record.values["rel_l2"]
            assert record.values["skill"] == pytest.approx(quotient, rel=1e-5)
    tables = list(suite.tables(records, PRINTED.of(name.partition("/")[0])))
    assert tables
    for table in tables:
        assert all(len(line) == len(table.header) for line in table.lines)
        if table.name == "error":
            assert {"null model", "skill"} <= set(table.header)
    for picture in suite.pictures(records):
        draw(picture, str(tmp_path / "picture.png"))
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("level", ["short", "full"])
@pytest.mark.parametrize("accelerator", [False, True])
def test_no_case_is_listed_twice(level, accelerator):
    for suite in SUITES.values():
        keys = [case.key for case in suite.cases(Scope(level, accelerator))]
        assert len(keys) == len(set(keys))


def test_every_ratio_is_beside_a_case_of_the_suite():
    for suite in SUITES.values():
        if isinstance(suite, AbstractTimed):
            for case in suite.cases(Scope("full")):
                beside = suite.beside(case)
                assert beside is None or beside.sizes == case.sizes
                assert beside is None or beside.method != case.method


CASE = Case("ablation", "diffop", {"dim": 10, "n": 2})


@pytest.mark.parametrize(
    "function, limit, outcome, reason",
    [
        (killed, 100, "out of memory", "the system ended the process"),
        (slow, 0.5, "timeout", "0.5 s"),
        (without_module, 100, "unavailable", "No module named 'not_there'"),
        (exhausted, 100, "out of memory", "RESOURCE_EXHAUSTED: Out of memory allocating 40 bytes."),
        (broken, 100, "failed", "AssertionError: the methods disagree"),
        (fine, 100, "ok", ""),
    ],
)
def test_what_cannot_be_measured_is_a_result(function, limit, outcome, reason, tmp_path):
    record = measured(CASE, function, tmp_path, limit)
    assert (record.outcome, record.reason) == (outcome, reason)
    assert record.values == ({"seconds": 0.25} if outcome == "ok" else {})


def test_a_stopped_run_goes_on(tmp_path):
    out, suite = tmp_path / "results.jsonl", SUITES["ablation"]
    cases = [CASE, CASE._replace(method="jet")]
    machine = {"device": "a test"}
    append(out, {"machine": machine})
    append_record(out, Record(CASE, "timeout", {}, "9 s"))

    run([suite], lambda _: cases, fine, machine, out, tmp_path, limit=100)
    first, second = read([out])
    assert (first.outcome, second.outcome) == ("timeout", "ok")
    assert second.machine == machine

    lines = out.read_text()
    run([suite], lambda _: cases, broken, machine, out, tmp_path, limit=100)
    assert out.read_text() == lines  # nothing was left to do

    run([suite], lambda _: cases, fine, machine, out, tmp_path, limit=100, again=True)
    assert [record.outcome for record in read([out])] == ["ok", "ok"]

    run([suite], lambda _: cases[:1], fine, {"device": "another"}, out, tmp_path, limit=100)
    assert [record.device for record in read([out])] == ["a test", "a test", "another"]


def test_a_line_that_was_cut_off_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"machine": {}}\n{"suite": "abl')
    with pytest.raises(ValueError, match=f"line 2 of {path} is not a measurement"):
        read([path])


def test_calls_take_turns():
    calls = []

    def call(name):
        return lambda: calls.append(name)

    seconds = interleaved([call("a"), call("b")], budget=1.0)
    assert seconds.shape == (20, 2)
    assert calls[4:] == ["a", "a", "b", "b"] * 20  # each once before it is timed


def test_long_calls_are_timed_at_once():
    assert interleaved([lambda: time.sleep(0.02)], budget=0.05).shape == (3, 1)


def test_quartiles():
    values = spread("t", np.array([4.0, 1.0, 3.0, 2.0, 5.0]))
    assert values == {"t": 3.0, "t_q1": 2.0, "t_q3": 4.0}


def test_slopes():
    assert slope([10, 100, 1000], [3e-1, 3e1, 3e3]) == pytest.approx(2)
    with pytest.raises(ValueError, match="at least two different sizes"):
        slope([10], [1.0])


def test_conditions():
    assert matching(["method=diffop", "dim=10"])(CASE)
    assert not matching(["dim=100"])(CASE)
    with pytest.raises(ValueError, match="such as method=jet or dim=100, got 'dim'"):
        matching(["dim"])


def test_names_of_suites():
    assert [suite.name for suite in named(["two-body"])] == ["two-body/speed", "two-body/error"]
    with pytest.raises(ValueError, match="there is no suite 'two'; there are: ablation"):
        named(["two"])


def test_wrong_input_of_the_command(tmp_path):
    with pytest.raises(SystemExit, match="there is no suite 'nosuch'"):
        main(["run", "nosuch"])
    with pytest.raises(SystemExit, match="No such file"):
        main(["report", str(tmp_path / "missing.jsonl")])
    with pytest.raises(SystemExit, match="no case at level 'short' is dim=7"):
        main(["run", "ablation", "--level", "short", "--where", "dim=7"])


def test_the_papers_numbers():
    """A few cells of its tables, read by eye."""
    jet = PRINTED.of("ablation").one("jet", dim=1_000_000, n=16)
    assert jet is not None and jet.values["steps_per_s"] == 21.34
    shared = PRINTED.of("weight-sharing").one("jet", dim=1_000_000, block=50)
    assert shared is not None and shared.values["parameters"] == 2_593_332
    kdv = PRINTED.of("high-order").one("nested grad", equation="2D KdV", network="L=16")
    assert kdv is not None and kdv.values["steps_per_s"] == 123.20
    forward_laplacian = PRINTED.of("ablation").one("folx", dim=100_000)
    assert forward_laplacian is not None and forward_laplacian.outcome == "out of memory"


def test_empty_columns_are_left_out():
    records = Records(Record(Case("a", "b", {"d": d}), OK, {}) for d in (1, 2))
    cells = {"d": lambda record: str(record.case.sizes["d"]), "nothing": lambda record: ""}
    table = listing("a", records, cells)
    assert (table.header, table.lines) == (["d"], [["1"], ["2"]])
    assert listing("a", Records(), cells).header == ["d", "nothing"]


@pytest.mark.parametrize(
    ("seeds", "header", "about"),
    [
        (("0", "0"), ["problem"], "seed 0"),
        (("0, 1", "0, 1"), ["problem"], "seeds 0, 1"),
        (("0, 1", "0"), ["problem", "seeds"], ""),
    ],
)
def test_equal_seeds_are_said_below(seeds, header, about):
    columns = {name: error_columns()[name] for name in ("problem", "seeds", "options")}
    cases = [Case("a", "b", {"problem": "c", "seeds": each}) for each in seeds]
    table = errors_table(Records(Record(case, OK, {}) for case in cases), columns)
    assert (table.header, table.about) == (header, about)


def test_pages_with_tables():
    names = {str(page.relative_to(ROOT)) for page in marked(ROOT)}
    assert names >= {"README.md", "docs/results.md", "docs/benchmarks.md"}
    assert "docs/devdocs/estimators.md" in names


@pytest.mark.parametrize("page", marked(ROOT), ids=lambda page: page.name)
def test_pages_say_what_the_result_files_say(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text, by_name(sections(SUITES.values(), COMMITTED))) == text


def test_a_table_that_there_is_not():
    with pytest.raises(ValueError, match="no table 'a/b'; the nearest are: c/d"):
        filled("<!-- results: a/b -->\n<!-- end -->", {"c/d": "| |"})


def test_the_gallery_has_every_problem():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in do.pde.names():
        assert f"<!-- results: problems/{name} -->" in page
        assert f"(pictures/gallery/{name}-curve.jpg)" in page
    shown = set(re.findall(r"\(pictures/gallery/(\S+)\)", page))
    assert shown == {path.name for path in PICTURES.iterdir()}
