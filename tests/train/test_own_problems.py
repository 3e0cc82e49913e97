"""Your own problems: named on the command line, solved as objects, known by their runs."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.runs.settings import identity
from diffop.streams import stream

from . import own
from .toy import Poisson

pytestmark = pytest.mark.usefixtures("as_users_see_it")

SMALL = ["--steps", "4", "--batch", "8", "--width", "4", "--depth", "1", "--n", "2"]


def read(path):
    return json.loads(path.read_text())


def test_a_class_on_the_command_line(tmp_path, capsys):
    words = ["solve", "tests.train.own:Ball", "--dim", "3", *SMALL, "--out", str(tmp_path / "run")]
    assert main(words) == 0
    report = read(tmp_path / "run" / "report.json")
    assert (report["problem"], report["dim"]) == ("tests.train.own:Ball", 3)
    assert report["skill"] == report["null_rel_l2"] / report["rel_l2"]
    assert main([*words, "--resume"]) == 0
    assert "has ended: nothing to do" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "tests.train.own:Ball dim=3 steps=4" in capsys.readouterr().out
    assert main(["plot", str(tmp_path / "run"), "--out", str(tmp_path / "curves.png")]) == 0
    other = [word.replace("Ball", "Transport") for word in words]
    other[other.index("3")] = "2"
    capsys.readouterr()
    assert main([*other, "--resume"]) == 2
    assert "problem: tests.train.own:Ball in the checkpoint, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "words", "message"),
    [
        ("no.such:Class", [], "there is no module 'no' to import the problem 'no.such:Class' from"),
        ("tests.train.none:C", [], "there is no module 'tests.train.none' to import the problem"),
        (":Class", [], "problem must be a name, or package.module:NAME, got ':Class'."),
        (
            "tests.train.own:Bell",
            [],
            "module 'tests.train.own' has nothing called 'Bell', got 'tests.train.own:Bell' "
            "(nearest: Ball)",
        ),
        ("tests.train.own:nothing", [], "'tests.train.own:nothing' is no class of problems, got 3"),
        (
            "tests.train.own:Column",
            [],
            "u at a point has shape (1,), and the source of the problem",
        ),
        ("tests.train.own:Apart", [], "u takes (x, key), and here it gets 2 arguments of points, "),
        ("tests.train.own:Demanding", [], "Demanding is made with charge, of which nothing is kno"),
        ("tests.train.own:Transport", ["--dim", "3"], "dim must be 2, as the problem's, or left"),
    ],
)
def test_what_is_no_problem(path, words, message, tmp_path, capsys):
    assert main(["solve", path, *words, *SMALL, "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The run of an object: its report and its directory."""
    directory = tmp_path_factory.mktemp("object")
    return do.train.solve(own.Transport(0.5), directory), directory


def test_an_object(solved):
    """With what it recommends; it is known by what it was made with."""
    problem, (report, directory) = own.Transport(0.5), solved
    assert (report.dim, report.steps) == (2, 10)
    known = read(directory / "run.json")["settings"]["problem"]
    assert known == report.problem and known.startswith("tests.train.own:Transport#")
    again = do.train.solve(do.train.Settings(own.Transport(0.5)), directory, resume=True)
    assert again == report
    with pytest.raises(do.train.CheckpointMismatchError, match="problem: tests.train.own:Transpor"):
        do.train.solve(own.Transport(0.25), directory, resume=True)
    u = do.train.load(directory, problem=problem)
    np.testing.assert_allclose(u(jnp.array([0.3, 0.0])), np.sin(0.3), rtol=1e-6)
    errors = do.train.FixedPoints(problem, _test_key()).errors(u)
    assert errors == (report.rel_l1, report.rel_l2)


def test_dimensions_of_classes():
    """A class with a default for it has problems of any dimension."""
    assert do.train.Settings(Poisson).dim == 1000
    assert do.train.Settings(Poisson, dim=1).dim == 1
    assert do.train.Settings(own.Transport).dim == do.train.Settings(own.Transport()).dim == 2
    settings = do.train.Settings
    of_space = settings("wave"), settings(do.pde.WaveEquation), settings(do.pde.WaveEquation(10))
    assert [each.dim for each in of_space] == [10, 10, 10]  # one meaning: without time
    assert settings(do.pde.WaveEquation(4)).dim == settings(do.pde.WaveEquation, dim=4).dim == 4
    with pytest.raises(ValueError, match="dim must be 4, as the problem's, or left out, got 5"):
        settings(do.pde.WaveEquation(4), dim=5)


def _test_key():
    return stream(jax.random.key(0), "test points")


def test_nothing_is_imported_by_what_a_file_says(solved):
    with pytest.raises(ValueError, match="your own problem, tests.train.own:Transport#.*"):
        do.train.load(solved[1])
    with pytest.raises(ValueError, match="is a run of tests.train.own:Transport#.*, got the pro"):
        do.train.load(solved[1], problem=own.Transport)


def test_arrays_tell_objects_apart():
    words = [identity(own.Transport(speed)) for speed in (jnp.ones(()), jnp.zeros(()), 1.0)]
    assert len(set(words)) == 3
    assert identity(own.Transport(jnp.ones(()))) == words[0]
    assert identity("wave") == "wave"


def test_a_system(tmp_path):
    """A network with as many outputs, and errors of each."""
    report = do.train.solve(own.Waves, tmp_path)
    u = do.train.load(tmp_path, problem=own.Waves)
    assert u(jnp.zeros(2)).shape == (2,)
    points = do.train.FixedPoints(own.Waves(), _test_key())
    expected = {name: each.rel_l2 for name, each in points.component_errors(u).items()}
    assert report.components == expected and set(expected) == {"[0]", "[1]"}
    assert f"of the components: [0] {expected['[0]']:.2e}, [1] " in report.as_text()
    assert (tmp_path / "solution.png").is_file()


def test_a_problem_whose_solution_is_not_known(tmp_path, capsys):
    """It has a loss and no errors; runs of it are resumed, compared and drawn all the same."""
    words = ["solve", "tests.train.own:Unsolved", *SMALL, "--checkpoint-every", "2"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    text, report = capsys.readouterr().out, read(tmp_path / "run" / "report.json")
    assert [report[name] for name in ("rel_l1", "rel_l2", "null_rel_l2", "skill")] == [None] * 4
    assert f"loss {report['loss']:.2e}; nothing is known of the solution" in text
    assert (tmp_path / "run" / "curve.png").is_file()
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "not known" in capsys.readouterr().out
    assert main(["plot", str(tmp_path / "run"), "--out", str(tmp_path / "curves.png")]) == 0
    assert main([*words, "--out", str(tmp_path / "run"), "--resume"]) == 0
    best = do.train.load(tmp_path / "run", "best", problem=own.Unsolved)
    assert best(jnp.zeros(2)).shape == ()
