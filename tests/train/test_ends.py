"""How runs end: with a report, whatever happens to pictures, and with numbers that are not finite
in words that every reader of JSON takes.
"""

import json
import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.runs.metrics import read_metrics
from diffop.runs.pictures import Curve, save_curves
from diffop.storage import stored, strict_json
from diffop.train import solving


class Line(do.pde.AbstractSolvedProblem):
    """u'' = 0, u = size · x; of size 0 the solution is 0."""

    name: ClassVar[str] = "line"
    recommended: ClassVar[do.pde.Recommended] = do.pde.Recommended(
        steps=2, batch=4, width=2, depth=1, probes="exact"
    )
    dim: ClassVar[int] = 1
    size: float = 1.0
    network: float = 1.0

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values

    def sample(self, key, count):
        return do.pde.unit_ball_by_radius(key, count, 1)

    def solution(self, x):
        return self.size * x[0]

    def null_shape(self, x):
        return jnp.ones(())

    def ansatz(self, net):
        """With `network` 0 it is the solution, whatever the network is."""
        return do.nn.HardConstraint(net, self.solution, lambda x: jnp.full((), self.network))


class WrongSections(Line):
    """Points of two coordinates instead of one."""

    def sections(self, resolution):
        return (do.pde.Section("a", ("x", "y"), (0.0, 1.0, 0.0, 1.0), jnp.zeros((3, 3, 2, 1))),)


def strict(text):
    """What a reader that knows no more than JSON makes of a text."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def parsed_strictly(directory):
    """The names of all files of JSON that a run has left, its checkpoints' among them."""
    names = set()
    for path in directory.rglob("*"):
        if path.suffix in (".json", ".jsonl") or path.name == "metadata":
            text = path.read_text()
            for each in text.splitlines() if path.suffix == ".jsonl" else [text]:
                strict(each)
            names.add(path.parent.name if path.name == "metadata" else path.name)
    return names


def test_a_picture_that_cannot_be_drawn(tmp_path, capsys):
    """The report is there, so is the other picture, and one line says what is not."""
    report = do.train.solve(WrongSections(), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"report.json", "curve.png", "model.eqx", "run.json", "metrics.jsonl"}
    assert strict((tmp_path / "report.json").read_text())["rel_l2"] == report.rel_l2
    said = capsys.readouterr().err
    assert said.startswith(f"diffop: the pictures in {tmp_path} could not be written: ValueError: ")
    assert said.endswith("(solution.png).\n") and said.count("\n") == 1


def test_a_network_that_misses_nothing(tmp_path, capsys):
    """Its skill is infinite. The null model is 0, as x is on [-1, 1] in the mean, with error 1."""
    report = do.train.solve(Line(network=0.0), tmp_path, checkpoint_every=1)
    assert (report.rel_l1, report.rel_l2, report.skill) == (0.0, 0.0, math.inf)
    np.testing.assert_allclose(report.null_rel_l2, 1.0, rtol=1e-3)
    assert "relative L2 error 0.00e+00, infinitely many times below the null" in report.as_text()
    assert (tmp_path / "curve.png").is_file() and capsys.readouterr().err == ""
    assert parsed_strictly(tmp_path) == {"report.json", "run.json", "metrics.jsonl", "notes"}
    assert strict((tmp_path / "report.json").read_text())["skill"] == "Infinity"
    assert do.train.solve(Line(network=0.0), tmp_path, resume=True) == report
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:2] == ["1", "inf"]


@pytest.mark.parametrize(
    ("network", "errors", "skill", "said"),
    [
        (1.0, math.inf, 0.0, "relative L2 error inf, no better than the null model's 0.00e+00"),
        (0.0, 0.0, 1.0, "as the null model's: one fitted number is all that there is to learn"),
    ],
)
def test_a_solution_that_is_0(network, errors, skill, said, tmp_path):
    """The null model has no error then; another function is infinitely far off, relatively."""
    problem = Line(size=0.0, network=network)
    report = do.train.solve(problem, tmp_path, checkpoint_every=1)
    assert (report.rel_l1, report.rel_l2) == (errors, errors)
    assert (report.null_rel_l2, report.skill) == (0.0, skill)
    assert said in report.as_text()
    assert parsed_strictly(tmp_path) == {"report.json", "run.json", "metrics.jsonl", "notes"}
    assert do.train.solve(problem, tmp_path, resume=True) == report
    assert {metric.error for metric in read_metrics(tmp_path)} == {errors}
    (tmp_path / "report.json").unlink()
    again = do.train.solve(problem, tmp_path, resume=True)  # reads what its checkpoint has noted
    assert (again.rel_l2, again.resumed_at) == (errors, [2])


def test_a_null_shape_that_is_0(getkey):
    """Any multiple of it misses all of the solution."""

    class Flat(Line):
        def null_shape(self, x):
            return jnp.zeros(())

    assert do.train.FixedPoints(Flat(), getkey(), 10).null_rel_l2 == 1.0


def test_a_table_of_errors_that_are_not_finite(tmp_path, capsys):
    for seed in range(2):
        settings = do.train.Settings(Line(size=0.0), seed=seed)
        do.train.solve(settings, tmp_path / str(seed), checkpoint_every=0)
    assert main(["report", str(tmp_path)]) == 0
    assert "inf ± nan" in capsys.readouterr().out


def test_steps_that_were_made_are_kept(tmp_path, monkeypatch):
    """A report that cannot be made leaves a checkpoint of the last step, though none was due."""

    def fail(*_):
        raise ZeroDivisionError("float division by zero")

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(solving, "summarise", fail)
        do.train.solve(Line(), tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["2"]
    assert do.train.solve(Line(), tmp_path, resume=True).resumed_at == [2]


def test_curves_of_what_has_no_logarithm(tmp_path):
    """Also where nothing is left to draw."""
    curves = [
        Curve("none", np.arange(2), np.zeros(2), [(1, 0.0), (2, math.inf)], 0.0),
        Curve("some", np.arange(2), np.array([0.0, 1.0]), [(1, 0.0), (2, 0.5)], math.inf),
    ]
    for number in (1, 2):
        save_curves(tmp_path / f"{number}.png", curves[:number], "")
        assert (tmp_path / f"{number}.png").is_file()


def test_words_for_numbers():
    value = {"a": [math.inf, 1.5], "b": {"c": -math.inf}, "d": None, "e": "inf", "f": True}
    assert strict(strict_json.dumps(value))["a"] == ["Infinity", 1.5]
    assert strict_json.loads(strict_json.dumps(value)) == value
    assert math.isnan(strict_json.loads(strict_json.dumps(math.nan)))
    words = ["Infinity", "-Infinity", "NaN", "'NaN", "'NaN'", "''Infinity", "it's NaN", "'"]
    assert strict_json.loads(strict_json.dumps(words)) == words
    assert strict_json.loads('["NaN?", "-Infinity"]') == ["NaN?", -math.inf]
    assert strict_json.loads("[Infinity]") == [math.inf]  # of files from before


def test_a_state_of_no_steps_and_arrays_without_entries(tmp_path):
    """They come back; the first checkpoint with a loss is a better one."""
    model = {"w": jnp.ones(3), "none": jnp.zeros((0, 2))}
    start = do.train.State(0, model, (), np.zeros(0), 0.0, 0.0)
    checkpoints = do.train.Checkpoints(tmp_path)
    assert checkpoints.save(start) and checkpoints.steps == (0,) and checkpoints.best() == 0
    first = strict(strict_json.dumps(stored.read_notes(tmp_path / "0")))
    assert first["best"]["score"] == "Infinity"
    saved = do.train.Checkpoints(tmp_path).newest(start)
    assert saved is not None and saved.state.step == 0 and saved.state.losses.shape == (0,)
    np.testing.assert_array_equal(saved.state.model["w"], np.ones(3))
    assert saved.state.model["none"].shape == (0, 2)
    checkpoints.save(start._replace(step=1, losses=np.array([7.0])))
    assert checkpoints.best() == 1


def test_a_score_that_is_no_number_is_not_the_best(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path)
    for step, score in [(1, math.nan), (2, 3.0), (3, math.nan)]:
        state = do.train.State(step, jnp.ones(2), (), np.ones(step), 0.0, 0.0)
        checkpoints.save(state, score=score)
        assert checkpoints.best() == min(step, 2)
